"""Speed, measured: ``python -m bench`` pairs tnp with NumPy and raw torch in one run."""

import os

# NumPy's BLAS keeps its threads spinning for some 25 ms after a call, which would slow the next contestant.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
