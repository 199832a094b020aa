"""Series of polynomials, as in ``numpy.polynomial``: computed on the host.

Layer: owns nothing but the names.
"""

from numpy.polynomial import set_default_printstyle

from tnp.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polynomial, polyutils
from tnp.polynomial.chebyshev import Chebyshev
from tnp.polynomial.hermite import Hermite
from tnp.polynomial.hermite_e import HermiteE
from tnp.polynomial.laguerre import Laguerre
from tnp.polynomial.legendre import Legendre
from tnp.polynomial.polynomial import Polynomial

__all__ = [
    "Chebyshev", "Hermite", "HermiteE", "Laguerre", "Legendre", "Polynomial", "chebyshev", "hermite", "hermite_e",
    "laguerre", "legendre", "polynomial", "polyutils", "set_default_printstyle",
]  # fmt: skip
