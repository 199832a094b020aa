"""Helpers for series of polynomials: NumPy's functions, computed on the host.

Layer: owns nothing; the functions of ``numpy.polynomial.polyutils`` take and return arrays of ours.
"""

from typing import Any

import numpy.polynomial.polyutils as numpy_module

from tnp.polynomial._host import member


def __getattr__(name: str) -> Any:
    return member(numpy_module, name)


def __dir__() -> list[str]:
    return list(numpy_module.__all__)
