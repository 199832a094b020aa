"""Helpers for series of polynomials: NumPy's functions, computed on the host.

Layer: owns nothing; the functions of ``numpy.polynomial.polyutils`` take and return arrays of ours.
"""

import numpy.polynomial.polyutils as numpy_module

from tnp.polynomial._host import names

__getattr__, __dir__ = names(numpy_module)
