"""Series of the probabilists' Hermite polynomials: NumPy's functions, computed on the host.

Layer: owns the class; the functions of ``numpy.polynomial.hermite_e`` take and return arrays of ours.
"""

import numpy.polynomial.hermite_e as numpy_module

from tnp.polynomial._host import Series, names


class HermiteE(Series, numpy_module.HermiteE):  # type: ignore[misc]  # NumPy says that its members are NumPy arrays
    """A series of the probabilists' Hermite polynomials.

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

    Source: https://numpy.org/doc/stable/reference/generated/numpy.polynomial.hermite_e.HermiteE.html
    """


__getattr__, __dir__ = names(numpy_module)
