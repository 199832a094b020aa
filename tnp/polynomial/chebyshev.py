"""Series of Chebyshev polynomials: NumPy's functions, computed on the host.

Layer: owns the class; the functions of ``numpy.polynomial.chebyshev`` take and return arrays of ours.
"""

import numpy.polynomial.chebyshev as numpy_module

from tnp.polynomial._host import Series, names


class Chebyshev(Series, numpy_module.Chebyshev):  # type: ignore[misc]  # NumPy says that its members are NumPy arrays
    """A series of Chebyshev polynomials.

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

    Source: https://numpy.org/doc/stable/reference/generated/numpy.polynomial.chebyshev.Chebyshev.html
    """


__getattr__, __dir__ = names(numpy_module)
