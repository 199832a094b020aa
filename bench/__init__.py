"""Speed, measured: ``python -m bench`` pairs tnp with NumPy and raw torch in one run."""
