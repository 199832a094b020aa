"""Speed, measured: ``python -m bench`` pairs tnp with NumPy and raw torch in one run."""

import os

# NumPy's BLAS lets its threads spin for some 25 ms after each call: whoever computes next would compute beside them.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
