"""Series of the physicists' Hermite polynomials: NumPy's functions, computed on the host.

Layer: owns the class; the functions of ``numpy.polynomial.hermite`` take and return arrays of ours.
"""

import numpy.polynomial.hermite as numpy_module

from tnp.polynomial._host import Series, names


class Hermite(Series, numpy_module.Hermite):  # type: ignore[misc]  # NumPy says that its members are NumPy arrays
    """A series of the physicists' Hermite polynomials.

    Parameters
    ----------
    coef : array_like
        The coefficients, the lowest degree first.
    domain, window : (2,) array_like, optional
        The domain is mapped to the window before the series is evaluated.
    symbol : str, optional
        What is printed for the variable.

    Notes
    -----
    Computed on the host: NumPy's class, whose coefficients and values are arrays of ours.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.polynomial.hermite.Hermite.html
    """


__getattr__, __dir__ = names(numpy_module)
