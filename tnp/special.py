"""Special functions under the names of ``scipy.special``: those that torch has, differentiable and on any device.

Layer: owns SciPy's names, signatures and dtypes; the functions are the backend's. SciPy's own functions find these here
when they are given arrays and ``SCIPY_ARRAY_API=1``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from backend_torch.kernels import special as kernels
from backend_torch.tensors.casting import cast
from backend_torch.tensors.constants import constant
from backend_torch.tensors.dtypes import to_numpy, to_torch
from tnp._core.base import wrap
from tnp._core.convert import asarray, home_of, output_tensor, tensor_of
from tnp._core.errors import explain, normalize_axes
from tnp._indexing.selection import where
from tnp._manipulation.shape import squeeze
from tnp._math import mathematics, reductions
from tnp._ufunc import table
from tnp._ufunc.table import exp, isfinite, log, sign
from tnp._ufunc.ufunc import WEAK

Tensor = Any

__all__ = [
    "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1", "gammainc", "gammaincc", "gammaln",
    "i0", "i0e", "i1", "i1e", "j0", "j1", "k0", "k0e", "k1", "k1e", "log1p", "log_expit", "log_ndtr", "log_softmax",
    "logit", "logsumexp", "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "sinc", "softmax", "xlog1py", "xlogy",
    "y0", "y1", "zeta",
]  # fmt: skip


_DOCSTRING = """{summary}

Parameters
----------
{operands} : array_like
    Real numbers.
out : ndarray, optional
    Where to put the result.

Returns
-------
ndarray
    float32 if all operands are, else float64.

Raises
------
TypeError
    An operand is complex.

Notes
-----
Differences from SciPy: complex numbers are refused, because torch computes these functions for real numbers only.

Source: https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.{name}.html

Examples
--------
>>> import tnp as np
>>> np.special.{name}({arguments}).round(4)
np.float64({example})
"""


class SpecialFunction:
    """An elementwise function of one or two real operands, computed in float32 if they have it, else in float64.

    Parameters
    ----------
    name : str
    kernel : callable
        The function of tensors.
    operands : str
        The operands' names.
    summary : str
        The docstring's first line.
    example : float
        The result at 0.5, or at 2 and 0.5, rounded to four places, for the docstring.
    """

    def __init__(self, name: str, kernel: Callable[..., Tensor], operands: str, summary: str, example: float) -> None:
        self.__name__ = self.__qualname__ = name
        self.__module__ = "tnp.special"
        self.nin = len(operands.split(", "))
        self.__doc__ = _DOCSTRING.format(
            name=name,
            operands=operands,
            summary=summary,
            arguments="0.5" if self.nin == 1 else "2.0, 0.5",
            example=example,
        )
        self._kernel = kernel

    def __repr__(self) -> str:
        return f"<special function '{self.__name__}'>"

    def __reduce__(self) -> str:
        return self.__name__

    def __call__(self, *operands: Any, out: Any = None) -> Any:
        """Apply the function to each element of the broadcast operands."""
        if len(operands) == self.nin + 1 and out is None:
            *operands, out = operands  # type: ignore[assignment]
        if len(operands) != self.nin:
            raise TypeError(f"{self.__name__}() takes {self.nin} operands and out, but {len(operands)} were given")
        tensors = floats(self.__name__, *operands)
        try:
            result = self._kernel(*tensors)
        except RuntimeError as error:
            raise explain(error, *tensors) from None
        return _delivered(result, out)


def floats(name: str, *operands: Any) -> list[Tensor]:
    """The operands as tensors of one float dtype; Python scalars take the others'."""
    device = home_of(operands)
    tensors = [x if type(x) in WEAK else tensor_of(x, device=device) for x in operands]
    given = [to_numpy[t.dtype] for t in tensors if type(t) not in WEAK]
    if any(type(t) is complex for t in tensors) or any(dtype.kind == "c" for dtype in given):
        raise TypeError(f"{name} of complex numbers is not there: torch has it for real ones alone")
    wanted = np.dtype(np.float32 if given and all(dtype == np.float32 for dtype in given) else np.float64)
    return [constant(t, wanted) if type(t) in WEAK else cast(t, to_torch[wanted]) for t in tensors]


def _delivered(result: Tensor, out: Any) -> Any:
    """The result as a new array, or written to ``out``."""
    if out is None:
        return wrap(result)
    output_tensor(out)
    out[...] = wrap(result)
    return out


def _axes(x: Tensor, axis: Any) -> tuple[int, ...]:
    return normalize_axes(axis, x.dim())


digamma = SpecialFunction("digamma", kernels.digamma, "x", "The logarithmic derivative of the gamma function.", -1.9635)
psi = SpecialFunction("psi", kernels.digamma, "x", "The logarithmic derivative of the gamma function.", -1.9635)
entr = SpecialFunction("entr", kernels.entr, "x", "-x log(x): the elements of an entropy.", 0.3466)
erf = SpecialFunction("erf", kernels.erf, "x", "The error function.", 0.5205)
erfc = SpecialFunction("erfc", kernels.erfc, "x", "The complementary error function, 1 - erf(x).", 0.4795)
erfcx = SpecialFunction(
    "erfcx", kernels.erfcx, "x", "The scaled complementary error function, exp(x ** 2) erfc(x).", 0.6157
)
erfinv = SpecialFunction("erfinv", kernels.erfinv, "x", "The inverse of the error function.", 0.4769)
exp2 = SpecialFunction("exp2", kernels.exp2, "x", "2 ** x.", 1.4142)
expit = SpecialFunction("expit", kernels.expit, "x", "The logistic sigmoid, 1 / (1 + exp(-x)).", 0.6225)
expm1 = SpecialFunction("expm1", kernels.expm1, "x", "exp(x) - 1, exact near 0.", 0.6487)
gammainc = SpecialFunction(
    "gammainc", kernels.gammainc, "a, x", "The regularized lower incomplete gamma function.", 0.0902
)
gammaincc = SpecialFunction(
    "gammaincc", kernels.gammaincc, "a, x", "The regularized upper incomplete gamma function.", 0.9098
)
gammaln = SpecialFunction(
    "gammaln", kernels.gammaln, "x", "The logarithm of the gamma function's absolute value.", 0.5724
)
i0 = SpecialFunction("i0", kernels.i0, "x", "The modified Bessel function of the first kind of order 0.", 1.0635)
i0e = SpecialFunction("i0e", kernels.i0e, "x", "exp(-abs(x)) i0(x).", 0.645)
i1 = SpecialFunction("i1", kernels.i1, "x", "The modified Bessel function of the first kind of order 1.", 0.2579)
i1e = SpecialFunction("i1e", kernels.i1e, "x", "exp(-abs(x)) i1(x).", 0.1564)
j0 = SpecialFunction("j0", kernels.j0, "x", "The Bessel function of the first kind of order 0.", 0.9385)
j1 = SpecialFunction("j1", kernels.j1, "x", "The Bessel function of the first kind of order 1.", 0.2423)
k0 = SpecialFunction(
    "k0", kernels.k0, "x", "The modified Bessel function of the second kind of order 0; no gradient.", 0.9244
)
k0e = SpecialFunction("k0e", kernels.k0e, "x", "exp(x) k0(x); no gradient.", 1.5241)
k1 = SpecialFunction(
    "k1", kernels.k1, "x", "The modified Bessel function of the second kind of order 1; no gradient.", 1.6564
)
k1e = SpecialFunction("k1e", kernels.k1e, "x", "exp(x) k1(x); no gradient.", 2.731)
log1p = SpecialFunction("log1p", kernels.log1p, "x", "log(1 + x), exact near 0.", 0.4055)
log_expit = SpecialFunction("log_expit", kernels.log_expit, "x", "The logarithm of the logistic sigmoid.", -0.4741)
log_ndtr = SpecialFunction("log_ndtr", kernels.log_ndtr, "x", "The logarithm of ndtr(x).", -0.3689)
logit = SpecialFunction("logit", kernels.logit, "x", "log(x / (1 - x)): the inverse of expit.", 0.0)
ndtr = SpecialFunction(
    "ndtr", kernels.ndtr, "x", "The distribution function of the standard normal distribution.", 0.6915
)
ndtri = SpecialFunction("ndtri", kernels.ndtri, "x", "The inverse of ndtr.", 0.0)
xlog1py = SpecialFunction("xlog1py", kernels.xlog1py, "x, y", "x log(1 + y), 0 where x is.", 0.8109)
xlogy = SpecialFunction("xlogy", kernels.xlogy, "x, y", "x log(y), 0 where x is.", -1.3863)
y0 = SpecialFunction("y0", kernels.y0, "x", "The Bessel function of the second kind of order 0.", -0.4445)
y1 = SpecialFunction("y1", kernels.y1, "x", "The Bessel function of the second kind of order 1.", -1.4715)
_hurwitz = SpecialFunction("zeta", kernels.zeta, "x, q", "The Hurwitz zeta function.", 4.9348)


def zeta(x: Any, q: Any = 1, out: Any = None) -> Any:
    """The Riemann or Hurwitz zeta function.

    Parameters
    ----------
    x : array_like
        Exponent, above 1; elsewhere the result is nan.
    q : array_like, optional
        Where the sum starts: at 1 it is Riemann's.
    out : ndarray, optional
        Where to put the result.

    Returns
    -------
    ndarray

    Notes
    -----
    Differences from SciPy: no analytic continuation to ``x < 1``.

    Source: https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.zeta.html

    Examples
    --------
    >>> import tnp as np
    >>> np.special.zeta(np.asarray([2.0, 4.0]))
    array([1.64493407, 1.08232323])
    """
    return _hurwitz(x, q, out=out)


def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x); see `tnp.sinc`.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    ndarray

    Notes
    -----
    Source: https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.sinc.html

    Examples
    --------
    >>> import tnp as np
    >>> np.special.sinc(np.asarray([0.0, 0.5]))
    array([1.        , 0.63661977])
    """
    return mathematics.sinc(x)


def polygamma(n: Any, x: Any) -> Any:
    """Derivatives of the digamma function.

    Parameters
    ----------
    n : array_like
        The orders; where one is negative or no whole number the result is NaN.
    x : array_like

    Returns
    -------
    ndarray
        float32 if both operands are, else float64.

    Notes
    -----
    Source: https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.polygamma.html

    Examples
    --------
    >>> import tnp as np
    >>> np.special.polygamma(1, np.asarray([1.0]))
    array([1.64493407])
    """
    orders, tensor = floats("polygamma", asarray(n), asarray(x))
    return wrap(kernels.polygamma(orders, tensor))


def multigammaln(a: Any, d: int) -> Any:
    """The logarithm of the multivariate gamma function.

    Parameters
    ----------
    a : array_like
        Above ``(d - 1) / 2``.
    d : int
        The dimension of the space of integration.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        ``d`` is no positive integer.

    Notes
    -----
    Differences from SciPy: where ``a`` is too small the result is nan; SciPy raises ValueError.

    Source: https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.multigammaln.html

    Examples
    --------
    >>> import tnp as np
    >>> np.special.multigammaln(np.asarray([2.5]), 2)
    array([0.85704781])
    """
    if int(d) != d or d < 1:
        raise ValueError("d should be a positive integer (dimension)")
    (tensor,) = floats("multigammaln", a)
    return wrap(kernels.multigammaln(tensor, int(d)))


def softmax(x: Any, axis: Any = None) -> Any:
    """Exponentials divided by their sum.

    Parameters
    ----------
    x : array_like
    axis : int or tuple of int, optional
        The axes that are summed over; None is all.

    Returns
    -------
    ndarray

    Notes
    -----
    Source: https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.softmax.html

    Examples
    --------
    >>> import tnp as np
    >>> np.special.softmax(np.zeros(4))
    array([0.25, 0.25, 0.25, 0.25])
    """
    (tensor,) = floats("softmax", x)
    return wrap(kernels.softmax(tensor, _axes(tensor, axis)))


def log_softmax(x: Any, axis: Any = None) -> Any:
    """The logarithm of the softmax.

    Parameters
    ----------
    x : array_like
    axis : int or tuple of int, optional
        The axes that are summed over; None is all.

    Returns
    -------
    ndarray

    Notes
    -----
    Source: https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.log_softmax.html

    Examples
    --------
    >>> import tnp as np
    >>> np.special.log_softmax(np.zeros(4))
    array([-1.38629436, -1.38629436, -1.38629436, -1.38629436])
    """
    (tensor,) = floats("log_softmax", x)
    return wrap(kernels.log_softmax(tensor, _axes(tensor, axis)))


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """The logarithm of a sum of exponentials, which may themselves overflow.

    Parameters
    ----------
    a : array_like
    axis : int or tuple of int, optional
        The axes that are summed over; None is all.
    b : array_like, optional
        Factors of the exponentials.
    keepdims : bool, optional
        Whether the axes stay, with length 1.
    return_sign : bool, optional
        Whether to give the sign of the sum as well; without it a negative sum is nan.

    Returns
    -------
    ndarray, or a tuple of two

    Notes
    -----
    Source: https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.logsumexp.html

    Examples
    --------
    >>> import tnp as np
    >>> np.special.logsumexp(np.asarray([1000.0, 1000.0]))
    np.float64(1000.6931471805599)
    """
    if b is None and not return_sign:
        (tensor,) = floats("logsumexp", a)
        return wrap(kernels.logsumexp(tensor, _axes(tensor, axis), keepdims))
    exponents, factors = map(wrap, floats("logsumexp", a, 1 if b is None else b))
    exponents = where(factors == 0, -np.inf, exponents)  # what is not there does not set the scale
    largest = reductions.max(exponents, axis, keepdims=True, initial=-np.inf)
    largest = where(isfinite(largest), largest, 0.0)
    total = reductions.sum(factors * exp(exponents - largest), axis, keepdims=keepdims)
    result = log(table.abs(total)) + (largest if keepdims else squeeze(largest, _axes(exponents.tensor, axis)))
    if return_sign:
        return result, sign(total)
    return where(total < 0, np.nan, result)[()]
