"""``poly1d``: a polynomial as an object with operators.

Layer: owns the class; what it computes is in ``_polynomial``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, overload

import numpy as np

import tnp
from tnp._array.ndarray import ndarray, wrap_array
from tnp._core.convert import tensor_of
from tnp.polynomial import _functions


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
        line = tnp.atleast_1d(wrap_array(tensor_of(_functions.poly(c_or_r) if r else c_or_r)))
        if line.ndim > 1:
            raise ValueError("Polynomial must be 1d only.")
        line = tnp.trim_zeros(line, trim="f")
        self._coeffs = line if len(line) else tnp.zeros(1, line.dtype, device=line.device)

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
        return _functions.roots(self._coeffs)

    r = roots
    c = coef = coefficients = coeffs
    o = order

    def __array__(self, t: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._coeffs, t, copy=copy)

    def __repr__(self) -> str:
        return f"poly1d({repr(self._coeffs)[6:-1]})"

    def __str__(self) -> str:
        return str(np.poly1d(tnp.asnumpy(self._coeffs), variable=self._variable))

    def __len__(self) -> int:
        return self.order

    @overload
    def __call__(self, val: poly1d) -> poly1d: ...
    @overload
    def __call__(self, val: Any) -> ndarray: ...
    def __call__(self, val: Any) -> ndarray | poly1d:
        return _functions.polyval(self._coeffs, val)

    def __neg__(self) -> poly1d:
        return poly1d(-self._coeffs)

    def __pos__(self) -> poly1d:
        return self

    def __mul__(self, other: Any) -> poly1d:
        if _is_scalar(other):
            return poly1d(self._coeffs * other)
        return poly1d(_functions.polymul(self, other))

    def __rmul__(self, other: Any) -> poly1d:
        if _is_scalar(other):
            return poly1d(other * self._coeffs)
        return poly1d(_functions.polymul(other, self))

    def __add__(self, other: Any) -> poly1d:
        return poly1d(_functions.polyadd(self, poly1d(other)))

    __radd__ = __add__

    def __sub__(self, other: Any) -> poly1d:
        return poly1d(_functions.polysub(self, poly1d(other)))

    def __rsub__(self, other: Any) -> poly1d:
        return poly1d(_functions.polysub(poly1d(other), self))

    def __pow__(self, val: Any) -> poly1d:
        if not _is_scalar(val) or int(val) != val or val < 0:
            raise ValueError("Power to non-negative integers only.")
        result: Any = [1]
        for _ in range(int(val)):
            result = _functions.polymul(self._coeffs, result)
        return poly1d(result)

    def __truediv__(self, other: Any) -> Any:
        if _is_scalar(other):
            return poly1d(self._coeffs / other)
        return _functions.polydiv(self, poly1d(other))

    def __rtruediv__(self, other: Any) -> Any:
        if _is_scalar(other):
            return poly1d(other / self._coeffs)
        return _functions.polydiv(poly1d(other), self)

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
            return tnp.zeros((), self._coeffs.dtype, device=self._coeffs.device)[()]
        return self._coeffs[self.order - val]

    def __setitem__(self, key: Any, val: Any) -> None:
        if key < 0:
            raise ValueError("Does not support negative powers.")
        if key > self.order:
            more = tnp.zeros(key - self.order, self._coeffs.dtype, device=self._coeffs.device)
            self._coeffs = tnp.concatenate([more, self._coeffs])
        self._coeffs[self.order - key] = val

    def __iter__(self) -> Iterator[Any]:
        return iter(self._coeffs)

    def integ(self, m: Any = 1, k: Any = 0) -> poly1d:
        """The integral, as ``polyint`` says."""
        return poly1d(_functions.polyint(self._coeffs, m, k))

    def deriv(self, m: Any = 1) -> poly1d:
        """The derivative, as ``polyder`` says."""
        return poly1d(_functions.polyder(self._coeffs, m))


def _is_scalar(value: Any) -> bool:
    return np.isscalar(value) or (isinstance(value, ndarray) and not value.ndim)
