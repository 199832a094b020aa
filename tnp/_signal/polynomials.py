"""Polynomials by their coefficients, the highest power first, as functions of arrays and as ``poly1d`` objects.

Layer: owns NumPy's formulas, in terms of arrays.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, ClassVar, Literal, overload

import numpy as np
from numpy.exceptions import RankWarning

from backend_torch.tensors import memory
from tnp._core import host_fallback
from tnp._core.base import ndarray, wrap_array
from tnp._core.convert import asarray, asnumpy, tensor_of, without_class
from tnp._core.dtypes import DtypeError
from tnp._core.errors import warn
from tnp._creation import filled
from tnp._creation.filled import ones, zeros_like
from tnp._creation.ranges import arange, vander
from tnp._indexing.diagonals import diag
from tnp._indexing.selection import nonzero
from tnp._manipulation.joining import concatenate
from tnp._manipulation.shape import atleast_1d
from tnp._manipulation.splitting import trim_zeros
from tnp._math.logic import allclose
from tnp._math.products import dot, outer
from tnp._sorting.sorting import sort
from tnp._statistics.correlations import convolve
from tnp._ufunc.table import sqrt
from tnp.linalg._decompositions import real_if_real


def coefficients(p: Any) -> ndarray:
    """The coefficients of a polynomial, as an array of at least one dimension."""
    return p.coeffs if isinstance(p, poly1d) else atleast_1d(asarray(p))


def _numbers(roots: Any) -> Any:
    """The tensor of roots; for text the error of its conversion to numbers, as in NumPy."""
    try:
        return tensor_of(roots)
    except DtypeError:
        np.asarray(roots).astype(float)
        raise


def _check_iterable(p: Any) -> None:
    if not np.iterable(p):
        raise TypeError("dispatcher for __array_function__ did not return an iterable")


def _check_length(p: Any, times: int) -> None:
    if times and not isinstance(p, poly1d) and not np.ndim(p):
        raise TypeError("len() of unsized object")


def _like(result: ndarray, *given: Any) -> Any:
    """The coefficients, or a ``poly1d`` of them if one was given."""
    return poly1d(result) if any(isinstance(p, poly1d) for p in given) else result


def poly(seq_of_zeros: Any) -> ndarray:
    """The coefficients of the polynomial that has given roots, or a matrix's characteristic polynomial.

    Parameters
    ----------
    seq_of_zeros : array_like
        Roots, or a square matrix.

    Returns
    -------
    ndarray
        The first is one. 1.0 if there are no roots.

    Raises
    ------
    ValueError
        The input is neither one-dimensional nor a square matrix.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.poly.html

    Examples
    --------
    >>> import tnp as np
    >>> np.poly(np.asarray([2.0, 3.0]))
    array([ 1., -5.,  6.])
    """
    from tnp import linalg  # imported when it is needed, as tnp.linalg is

    _check_iterable(seq_of_zeros)
    zeros = atleast_1d(wrap_array(_numbers(seq_of_zeros)))
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] != 0:
        zeros = linalg.eigvals(zeros)
    elif zeros.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    elif zeros.dtype.kind in "biu" or zeros.dtype == np.float16:
        zeros = zeros.astype(np.float64)
    if not zeros.size:
        return 1.0  # type: ignore[return-value]  # NumPy's own stubs leave it out
    result = ones(1, zeros.dtype, device=zeros.device)
    one = ones(1, zeros.dtype, device=zeros.device)
    for i in range(zeros.size):
        result = convolve(result, concatenate([one, -zeros[i : i + 1]]))
    if result.dtype.kind == "c" and bool((sort(zeros) == sort(zeros.conj())).all()):
        return result.real.copy()
    return result


def roots(p: Any) -> ndarray:
    """The roots of a polynomial.

    Parameters
    ----------
    p : array_like, one-dimensional
        Its coefficients, the highest power first.

    Returns
    -------
    ndarray
        The eigenvalues of its companion matrix.

    Raises
    ------
    ValueError
        The coefficients are not one-dimensional.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.roots.html

    Examples
    --------
    >>> import tnp as np
    >>> np.sort(np.roots(np.asarray([1, -5, 6])).round(6))
    array([2., 3.])
    """
    from tnp import linalg

    _check_iterable(p)
    line = coefficients(p)
    if line.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    (places,) = nonzero(line)
    if not places.size:
        return filled.zeros(0, device=line.device)
    first, last = int(places[0]), int(places[-1])
    trailing = line.size - last - 1
    line = line[first : last + 1]
    if line.dtype.kind not in "fc":
        line = line.astype(float)
    if line.size > 1:
        companion = diag(ones(line.size - 2, line.dtype, device=line.device), -1)
        companion = concatenate([(-line[1:] / line[0])[None], companion[1:]])
        found = real_if_real(linalg.eigvals(companion), companion.tensor)
    else:
        found = filled.zeros(0, device=line.device)
    return concatenate([found, filled.zeros(trailing, found.dtype, device=line.device)])


@overload
def polyint(p: poly1d, m: Any = 1, k: Any = None) -> poly1d: ...
@overload
def polyint(p: Any, m: Any = 1, k: Any = None) -> ndarray: ...
def polyint(p: Any, m: Any = 1, k: Any = None) -> ndarray | poly1d:
    """The integral of a polynomial.

    Parameters
    ----------
    p : array_like or poly1d
    m : int, optional
        How often to integrate.
    k : scalar or array_like, optional
        Constants of integration, in the order of integration; zeros by default.

    Returns
    -------
    ndarray or poly1d
        As ``p`` is.

    Raises
    ------
    ValueError
        ``m`` is negative, or there are fewer constants.
    RecursionError
        ``m`` is larger than Python's limit of recursion, to which NumPy integrates by recursion.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.polyint.html

    Examples
    --------
    >>> import tnp as np
    >>> np.polyint(np.asarray([3.0, 2.0]))
    array([1.5, 2. , 0. ])
    """
    times = int(m)
    if times < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    line = coefficients(p)
    constants = filled.zeros(1) if k is None else atleast_1d(wrap_array(tensor_of(k)))
    if len(constants) < times and len(constants) != 1:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    if times > sys.getrecursionlimit():  # NumPy makes as many constants, if there may be so many, and recurs
        np.zeros(times)
        raise RecursionError("maximum recursion depth exceeded: so many integrals of a polynomial")
    if len(constants) == 1 and times > 1:
        constants = constants[0] * ones(times)
    if not times and not isinstance(p, poly1d):
        return asarray(p)
    _check_length(p, times)
    for i in range(times):
        powers = arange(len(line), 0, -1, device=line.device)
        line = concatenate([line / powers, constants[i : i + 1].to_device(line.device)])
    return _like(line, p)


@overload
def polyder(p: poly1d, m: Any = 1) -> poly1d: ...
@overload
def polyder(p: Any, m: Any = 1) -> ndarray: ...
def polyder(p: Any, m: Any = 1) -> ndarray | poly1d:
    """The derivative of a polynomial.

    Parameters
    ----------
    p : array_like or poly1d
    m : int, optional
        How often to differentiate.

    Returns
    -------
    ndarray or poly1d
        As ``p`` is.

    Raises
    ------
    ValueError
        ``m`` is negative.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.polyder.html

    Examples
    --------
    >>> import tnp as np
    >>> np.polyder(np.asarray([1, 1, 1, 1]))
    array([3, 2, 1])
    """
    times = int(m)
    if times < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    line = coefficients(p)
    _check_length(p, times)
    times = min(times, len(line) + 1)  # no element is left
    for step in range(times + (line.ndim > 1)):  # NumPy takes one more, which fails for a matrix
        shorter = line[:-1] * arange(len(line) - 1, 0, -1, device=line.device)
        line = shorter if step < times else line
    return _like(line, p)


@overload
def polyfit(
    x: Any,
    y: Any,
    deg: Any,
    rcond: Any = None,
    full: Literal[False] = False,
    w: Any = None,
    cov: Literal[False] = False,
) -> ndarray: ...
@overload
def polyfit(
    x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False
) -> ndarray | tuple[Any, ...]: ...
def polyfit(
    x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False
) -> ndarray | tuple[Any, ...]:
    """Return the polynomial that fits points best, by least squares.

    Parameters
    ----------
    x : array_like, one-dimensional
    y : array_like
        Values at the points; each column is fitted.
    deg : int
        The degree.
    rcond : float, optional
        Singular values smaller than this part of the largest are left out.
    full : bool, optional
        Return also what ``lstsq`` says.
    w : array_like, optional
        How much each point counts.
    cov : bool or str, optional
        Return also the covariance of the coefficients; 'unscaled' without the factor from the residuals.

    Returns
    -------
    ndarray, or tuple
        The coefficients, the highest power first; with ``full`` residuals, rank, singular values and rcond; with
        ``cov`` the covariance matrix.

    Raises
    ------
    TypeError
        Points, values or weights have the wrong number of dimensions or are not as many.
    ValueError
        The degree is negative, or there are too few points for a scaled covariance.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.polyfit.html

    Examples
    --------
    >>> import tnp as np
    >>> np.polyfit(np.asarray([0.0, 1.0, 2.0]), np.asarray([1.0, 3.0, 5.0]), 1).round(6)
    array([2., 1.])
    """
    from tnp import linalg

    order = int(deg) + 1
    points = wrap_array(tensor_of(x)) + 0.0
    values = wrap_array(tensor_of(y, device=points.tensor.device)) + 0.0
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if points.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if not points.size:
        raise TypeError("expected non-empty vector for x")
    if not 1 <= values.ndim <= 2:
        raise TypeError("expected 1D or 2D array for y")
    if points.shape[0] != values.shape[0]:
        raise TypeError("expected x and y to have same length")
    if rcond is None:
        rcond = points.shape[0] * np.finfo(points.dtype).eps
    left, right = vander(points, order), values
    if w is not None:
        weights = wrap_array(tensor_of(w, device=points.tensor.device)) + 0.0
        if weights.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        if weights.shape[0] != values.shape[0]:
            raise TypeError("expected w and y to have the same length")
        left = left * weights[:, None]
        right = right * (weights[:, None] if right.ndim == 2 else weights)
    scale = sqrt((left * left).sum(axis=0))
    left = left / scale
    solution, residuals, rank, singular = linalg.lstsq(left, right, rcond)
    solution = (solution.T / scale).T
    if full:
        return solution, residuals, rank, singular, rcond
    if memory.is_readable(rank.tensor) and int(rank) != order:
        warn("Polyfit may be poorly conditioned", RankWarning)
    if not cov:
        return solution
    covariance = linalg.inv(dot(left.T, left)) / outer(scale, scale)
    factor: Any = 1
    if cov != "unscaled":
        if len(points) <= order:
            raise ValueError("the number of data points must exceed order to scale the covariance matrix")
        factor = residuals / (len(points) - order)
    return solution, (covariance if values.ndim == 1 else covariance[:, :, None]) * factor


@overload
def polyval(p: Any, x: poly1d) -> poly1d: ...
@overload
def polyval(p: Any, x: Any) -> ndarray: ...
def polyval(p: Any, x: Any) -> ndarray | poly1d:
    """The values of a polynomial.

    Parameters
    ----------
    p : array_like or poly1d
    x : array_like or poly1d
        Where to evaluate it; another polynomial is put in its place.

    Returns
    -------
    ndarray or poly1d
        As ``x`` is.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.polyval.html

    Examples
    --------
    >>> import tnp as np
    >>> np.polyval(np.asarray([3, 0, 1]), 5)
    np.int64(76)
    """
    line = coefficients(p)
    if not np.ndim(p):
        raise TypeError("iteration over a 0-d array")
    place = x if isinstance(x, (poly1d, ndarray)) else wrap_array(tensor_of(x, device=line.tensor.device))
    value: Any = 0 if isinstance(x, poly1d) else zeros_like(place)
    for coefficient in line:
        value = value * place + coefficient
    return value


@overload
def polyadd(a1: poly1d, a2: Any) -> poly1d: ...
@overload
def polyadd(a1: Any, a2: poly1d) -> poly1d: ...
@overload
def polyadd(a1: Any, a2: Any) -> ndarray: ...
def polyadd(a1: Any, a2: Any) -> ndarray | poly1d:
    """The sum of two polynomials.

    Parameters
    ----------
    a1, a2 : array_like or poly1d

    Returns
    -------
    ndarray or poly1d
        A ``poly1d`` if one of them is.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.polyadd.html

    Examples
    --------
    >>> import tnp as np
    >>> np.polyadd(np.asarray([1, 2]), np.asarray([9, 5, 4]))
    array([9, 6, 6])
    """
    one, other = _aligned(a1, a2)
    return _like(one + other, a1, a2)


@overload
def polysub(a1: poly1d, a2: Any) -> poly1d: ...
@overload
def polysub(a1: Any, a2: poly1d) -> poly1d: ...
@overload
def polysub(a1: Any, a2: Any) -> ndarray: ...
def polysub(a1: Any, a2: Any) -> ndarray | poly1d:
    """The difference of two polynomials.

    Parameters
    ----------
    a1, a2 : array_like or poly1d

    Returns
    -------
    ndarray or poly1d
        A ``poly1d`` if one of them is.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.polysub.html

    Examples
    --------
    >>> import tnp as np
    >>> np.polysub(np.asarray([2, 10, -2]), np.asarray([3, 10, -4]))
    array([-1,  0,  2])
    """
    one, other = _aligned(a1, a2)
    return _like(one - other, a1, a2)


def _aligned(a1: Any, a2: Any) -> list[ndarray]:
    """Both with as many coefficients."""
    lines = [coefficients(a1), coefficients(a2)]
    size = max(map(len, lines))
    return [
        p if len(p) == size else concatenate([filled.zeros(size - len(p), p.dtype, device=p.device), p]) for p in lines
    ]


@overload
def polymul(a1: poly1d, a2: Any) -> poly1d: ...
@overload
def polymul(a1: Any, a2: poly1d) -> poly1d: ...
@overload
def polymul(a1: Any, a2: Any) -> ndarray: ...
def polymul(a1: Any, a2: Any) -> ndarray | poly1d:
    """The product of two polynomials.

    Parameters
    ----------
    a1, a2 : array_like or poly1d

    Returns
    -------
    ndarray or poly1d
        A ``poly1d`` if one of them is.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.polymul.html

    Examples
    --------
    >>> import tnp as np
    >>> np.polymul(np.asarray([1, 2, 3]), np.asarray([9, 5, 1]))
    array([ 9, 23, 38, 17,  3])
    """
    if any(isinstance(each, ndarray) and each.ndim > 1 for each in (a1, a2)):  # seen before zeros, which have values
        raise ValueError("Polynomial must be 1d only.")
    product = convolve(poly1d(a1).coeffs, poly1d(a2).coeffs)
    return _like(product, a1, a2)


@overload
def polydiv(u: poly1d, v: Any) -> tuple[poly1d, poly1d]: ...
@overload
def polydiv(u: Any, v: poly1d) -> tuple[poly1d, poly1d]: ...
@overload
def polydiv(u: Any, v: Any) -> tuple[ndarray, ndarray]: ...
def polydiv(u: Any, v: Any) -> tuple[ndarray | poly1d, ndarray | poly1d]:
    """The quotient of two polynomials, and the remainder.

    Parameters
    ----------
    u, v : array_like or poly1d
        Dividend and divisor.

    Returns
    -------
    q, r : ndarray or poly1d
        ``poly1d`` if one of the arguments is.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.polydiv.html

    Examples
    --------
    >>> import tnp as np
    >>> np.polydiv(np.asarray([3.0, 5.0, 2.0]), np.asarray([2.0, 1.0]))
    (array([1.5 , 1.75]), array([0.25]))
    """
    dividend, divisor = coefficients(u) + 0.0, coefficients(v) + 0.0
    degree, lower = len(dividend) - 1, len(divisor) - 1
    dtype = (dividend[0] + divisor[0]).dtype
    scale = 1.0 / divisor[0]
    quotient = filled.zeros(max(degree - lower + 1, 1), dtype, device=dividend.device)
    rest = dividend.astype(dtype)
    for k in range(degree - lower + 1):
        factor = scale * rest[k]
        quotient[k] = factor
        rest[k : k + lower + 1] -= factor * divisor
    while len(rest) > 1 and bool(allclose(rest[0], 0, rtol=1e-14)):
        rest = rest[1:]
    return _like(quotient, u, v), _like(rest, u, v)


class poly1d:
    """A polynomial of one variable.

    Parameters
    ----------
    c_or_r : array_like or poly1d
        Its coefficients, the highest power first, or its roots.
    r : bool, optional
        They are roots.
    variable : str, optional
        What to print.

    Notes
    -----
    It prints through NumPy's.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.poly1d.html

    Examples
    --------
    >>> import tnp as np
    >>> p = np.poly1d([1, 2, 3])
    >>> p(2), p * p
    (np.int64(11), poly1d([ 1,  4, 10, 12,  9]))
    """

    __module__ = "tnp"
    __slots__ = ("_coeffs", "_variable")
    __hash__: ClassVar[None] = None  # type: ignore[assignment]
    _coeffs: ndarray
    _variable: str

    def __init__(self, c_or_r: Any, r: bool = False, variable: str | None = None) -> None:
        self._variable = "x" if variable is None else variable
        if isinstance(c_or_r, poly1d):
            self._coeffs = c_or_r._coeffs
            if variable is None:
                self._variable = c_or_r._variable
            return
        line = atleast_1d(wrap_array(tensor_of(poly(c_or_r) if r else without_class(c_or_r))))
        if line.ndim > 1:
            raise ValueError("Polynomial must be 1d only.")
        line = trim_zeros(line, trim="f")
        self._coeffs = line if len(line) else filled.zeros(1, line.dtype, device=line.device)

    @property
    def coeffs(self) -> ndarray:
        """The coefficients, the highest power first."""
        return self._coeffs

    @coeffs.setter
    def coeffs(self, value: Any) -> None:
        if value is not self._coeffs:
            raise AttributeError("Cannot set attribute")

    @property
    def variable(self) -> str:
        """What is printed for the variable."""
        return self._variable

    @property
    def order(self) -> int:
        """The degree."""
        return len(self._coeffs) - 1

    @property
    def roots(self) -> ndarray:
        """The roots."""
        return roots(self._coeffs)

    r = roots
    c = coef = coefficients = coeffs
    o = order

    def __array__(self, t: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._coeffs, t, copy=copy)

    def __repr__(self) -> str:
        return f"poly1d({repr(self._coeffs)[6:-1]})"

    def __str__(self) -> str:
        return str(np.poly1d(asnumpy(self._coeffs), variable=self._variable))

    def __len__(self) -> int:
        return self.order

    @overload
    def __call__(self, val: poly1d) -> poly1d: ...
    @overload
    def __call__(self, val: Any) -> ndarray: ...
    def __call__(self, val: Any) -> ndarray | poly1d:
        try:
            return polyval(self._coeffs, val)
        except DtypeError as error:
            return host_fallback.refused(error, np.polyval, (self._coeffs, val), {})

    def __neg__(self) -> poly1d:
        return poly1d(-self._coeffs)

    def __pos__(self) -> poly1d:
        return self

    def __mul__(self, other: Any) -> poly1d:
        if _is_scalar(other):
            return poly1d(self._coeffs * other)
        return poly1d(polymul(self, other))

    def __rmul__(self, other: Any) -> poly1d:
        if _is_scalar(other):
            return poly1d(other * self._coeffs)
        return poly1d(polymul(other, self))

    def __add__(self, other: Any) -> poly1d:
        return poly1d(polyadd(self, poly1d(other)))

    __radd__ = __add__

    def __sub__(self, other: Any) -> poly1d:
        return poly1d(polysub(self, poly1d(other)))

    def __rsub__(self, other: Any) -> poly1d:
        return poly1d(polysub(poly1d(other), self))

    def __pow__(self, val: Any) -> poly1d:
        if not _is_scalar(val) or int(val) != val or val < 0:
            raise ValueError("Power to non-negative integers only.")
        result: Any = [1]
        for _ in range(int(val)):
            result = polymul(self._coeffs, result)
        return poly1d(result)

    def __truediv__(self, other: Any) -> Any:
        if _is_scalar(other):
            return poly1d(self._coeffs / other)
        return polydiv(self, poly1d(other))

    def __rtruediv__(self, other: Any) -> Any:
        if _is_scalar(other):
            return poly1d(other / self._coeffs)
        return polydiv(poly1d(other), self)

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, poly1d):
            return NotImplemented
        if self._coeffs.shape != other._coeffs.shape:
            return False
        return (self._coeffs == other._coeffs).all()

    def __ne__(self, other: object) -> Any:
        return NotImplemented if not isinstance(other, poly1d) else not self == other

    def __getitem__(self, val: Any) -> Any:
        if val > self.order or val < 0:
            return filled.zeros((), self._coeffs.dtype, device=self._coeffs.device)[()]
        return self._coeffs[self.order - val]

    def __setitem__(self, key: Any, val: Any) -> None:
        if key < 0:
            raise ValueError("Does not support negative powers.")
        if key > self.order:
            more = filled.zeros(key - self.order, self._coeffs.dtype, device=self._coeffs.device)
            self._coeffs = concatenate([more, self._coeffs])
        self._coeffs[self.order - key] = val

    def __iter__(self) -> Iterator[Any]:
        return iter(self._coeffs)

    def integ(self, m: Any = 1, k: Any = 0) -> poly1d:
        """The integral, as ``polyint`` says."""
        return poly1d(polyint(self._coeffs, m, k))

    def deriv(self, m: Any = 1) -> poly1d:
        """The derivative, as ``polyder`` says."""
        return poly1d(polyder(self._coeffs, m))


def _is_scalar(value: Any) -> bool:
    return np.isscalar(value) or (isinstance(value, ndarray) and not value.ndim)
