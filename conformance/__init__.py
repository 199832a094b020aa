"""Checks that tnp does what NumPy and the Array API standard say; ``python -m conformance`` runs them."""
