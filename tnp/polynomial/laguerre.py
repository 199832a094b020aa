"""Series of Laguerre polynomials: NumPy's functions, computed on the host.

Layer: owns the class; the functions of ``numpy.polynomial.laguerre`` take and return arrays of ours.
"""

import numpy.polynomial.laguerre as numpy_module

from tnp.polynomial._host import Series, names


class Laguerre(Series, numpy_module.Laguerre):  # type: ignore[misc]  # NumPy says that its members are NumPy arrays
    """A series of Laguerre polynomials.

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

    Source: https://numpy.org/doc/stable/reference/generated/numpy.polynomial.laguerre.Laguerre.html
    """


__getattr__, __dir__ = names(numpy_module)
