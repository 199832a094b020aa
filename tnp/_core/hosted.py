"""The functions that NumPy computes for small arrays, one row each: what NumPy is given, and under which condition.

Layer: owns the table. The native core calls NumPy on the arrays' memory (`by_numpy`, `write_by_numpy`), where nothing
watches and each array is small and on the CPU. Otherwise the function's own code computes. NumPy's result has the same
bits: these functions move, compare, count or round once, or the backend lets NumPy compute them at these sizes too.
The last bits of statistics, products, polynomials, ``lstsq`` and transforms may differ: their sums have another order.
"""

from __future__ import annotations

import inspect
import warnings
from types import FunctionType
from typing import Any

_WHOLE = "out is None and keepdims is False"
_NANS = f"{_WHOLE} and dtype is None and where is True"
_SPREAD = f"{_NANS} and mean is correction is _no_value"
_NO_AXES = "out is None and (keepdims is False or keepdims is _no_value)"
_QUANTILES = f"{_NO_AXES} and weights is None and method.__class__ is str and method == 'linear'"
_STABLE = "(stable is None or stable.__class__ is bool)"
_TOLERANCES = "rtol.__class__ is atol.__class__ is float and 0 <= rtol + atol < 1e300"  # NumPy warns of infinite ones

HOSTED = {
    "allclose": f"a, b, rtol, atol, equal_nan if {_TOLERANCES}",
    "angle": "z, deg",
    "append": "arr, values, axis",
    "argpartition": "a, kth, axis, kind if order is None",
    "argsort": f"a, axis, 'stable' if kind is order is descending is None and {_STABLE}",
    "argwhere": "a",
    "average": "a, axis, weights, returned if keepdims is False",
    "block": "arrays",
    "choose": "a, choices, None, mode if out is None",
    "clip": "a, min, max if out is None and not kwargs and a_min is a_max is _no_value",
    "column_stack": "tup",
    "corrcoef": "x, y, rowvar if dtype is None",
    "cov": "m, y, rowvar, bias, ddof, fweights, aweights if dtype is None",
    "cross": "a, b, axisa, axisb, axisc, axis",
    "delete": "arr, obj, axis",
    "diag": "v, k if v.__class__ is _array and v.ndim == 1",
    "diff": "a, n, axis if n.__class__ is int and n < 9 and prepend is append is _no_value",  # NumPy loops n times
    "digitize": "x, bins, right",
    "dstack": "tup",
    "ediff1d": "ary, to_end, to_begin",
    "einsum": "*operands, order=order, casting=casting if len(operands) < 4 and out is dtype is None and not optimize",
    "geomspace": "start, stop, num, endpoint, axis=axis if dtype is device is None",
    "gradient": "f, *varargs, axis=axis, edge_order=edge_order",
    "histogram": "a, bins, range, density, weights if bins.__class__ in (int, str)",
    "histogram_bin_edges": "a, bins, range, weights if bins.__class__ in (int, str)",
    "hstack": "tup if dtype is None and casting == 'same_kind'",
    "histogramdd": "sample, bins, range, density, weights if bins.__class__ is int and hasattr(sample, '__iter__')",
    "histogram2d": "x, y, bins, range, density, weights if bins.__class__ is int",
    "identity": "n if dtype is device is like is None",
    "indices": "dimensions, dtype if device is None and sparse is False",
    "insert": "arr, obj, values, axis",
    "interp": "x, xp, fp, left, right if period is None",
    "intersect1d": "ar1, ar2 if assume_unique is return_indices is False",
    "isclose": f"a, b, rtol, atol, equal_nan if {_TOLERANCES}",
    "isin": "element, test_elements, False, invert if kind is None and assume_unique is False",
    "lexsort": "keys, axis",
    "median": f"a, axis if {_WHOLE}",
    "nanargmax": f"a, axis if {_WHOLE}",
    "nanargmin": f"a, axis if {_WHOLE}",
    "nancumprod": "a, axis if dtype is out is None",
    "nancumsum": "a, axis if dtype is out is None",
    "nanmean": f"a, axis if {_NANS}",
    "nanmedian": f"a, axis if {_WHOLE}",
    "nanpercentile": f"a, q, axis if {_QUANTILES}",
    "nanquantile": f"a, q, axis if {_QUANTILES}",
    "nanstd": f"a, axis, None, None, ddof if {_SPREAD}",
    "nanvar": f"a, axis, None, None, ddof if {_SPREAD}",
    "packbits": "a, axis, bitorder if axis is None",
    "pad": "array, pad_width, mode if not kwargs and mode.__class__ is str and mode in _copying",
    "partition": "a, kth, axis, kind if order is None",
    "percentile": f"a, q, axis if {_QUANTILES}",
    "poly": "seq_of_zeros if hasattr(seq_of_zeros, '__iter__') and getattr(seq_of_zeros, 'ndim', 1)",
    "polyadd": "a1, a2",
    "polyder": "p, m if m.__class__ is int and m < 20",
    "polydiv": "u, v",
    "polyfit": "x, y, deg, rcond, full, w, cov",
    "polyint": "p, m, k if m.__class__ is int and m < 20",
    "polymul": "a1, a2",
    "polysub": "a1, a2",
    "polyval": "p, x",
    "quantile": f"a, q, axis if {_QUANTILES}",
    "ravel_multi_index": "multi_index, dims, mode, order",
    "repeat": "a, repeats, axis",
    "resize": "a, new_shape",
    "roots": "p if hasattr(p, '__iter__') and getattr(p, 'ndim', 1)",
    "searchsorted": "a, v, side if sorter is None",
    "setdiff1d": "ar1, ar2 if assume_unique is False",
    "setxor1d": "ar1, ar2 if assume_unique is False",
    "sort": "a, axis if kind is order is stable is descending is None",
    "sort_complex": "a",
    "stack": "arrays, axis if out is dtype is None and casting == 'same_kind'",
    "take": "a, indices, axis, None, mode if out is None",
    "tensordot": "a, b, axes",
    "tile": "A, reps",
    "trace": "a, offset, axis1, axis2 if dtype is out is None",
    "tri": "N, M, k if dtype is float and like is device is None",
    "tril": "m, k",
    "triu": "m, k",
    "union1d": "ar1, ar2",
    "unique": "ar, return_index, return_inverse, return_counts, axis if equal_nan is sorted is True",
    "unique_all": "x",
    "unique_counts": "x",
    "unique_inverse": "x",
    "unpackbits": "a, axis, count, bitorder if axis is count is None",
    "unravel_index": "indices, shape, order",
    "vander": "x, N, increasing",
    "vstack": "tup if dtype is None and casting == 'same_kind'",
    "fft.fft": "a, n, axis, norm if out is None",
    "fft.fft2": "a, s, axes, norm if out is None",
    "fft.fftfreq": "n, d if dtype is device is None",
    "fft.fftn": "a, s, axes, norm if out is None",
    "fft.fftshift": "x, axes",
    "fft.hfft": "a, n, axis, norm if out is None",
    "fft.ifft": "a, n, axis, norm if out is None",
    "fft.ifft2": "a, s, axes, norm if out is None",
    "fft.ifftn": "a, s, axes, norm if out is None",
    "fft.ifftshift": "x, axes",
    "fft.ihfft": "a, n, axis, norm if out is None",
    "fft.irfft": "a, n, axis, norm if out is None",
    "fft.irfft2": "a, s, axes, norm if out is None",
    "fft.irfftn": "a, s, axes, norm if out is None",
    "fft.rfft": "a, n, axis, norm if out is None",
    "fft.rfft2": "a, s, axes, norm if out is None",
    "fft.rfftfreq": "n, d if dtype is device is None",
    "fft.rfftn": "a, s, axes, norm if out is None",
    "linalg.cholesky": "a, upper=upper",
    "linalg.cond": "x, p",
    "linalg.cross": "x1, x2, axis=axis",
    "linalg.det": "a",
    "linalg.eig": "a",
    "linalg.eigh": "a, UPLO",
    "linalg.eigvalsh": "a, UPLO",
    "linalg.inv": "a",
    "linalg.lstsq": "a, b, rcond",
    "linalg.matrix_norm": "x, keepdims=keepdims, ord=ord",
    "linalg.matrix_rank": "A, tol, hermitian, rtol=rtol",
    "linalg.multi_dot": "arrays if out is None",
    "linalg.qr": "a, mode if mode != 'raw'",
    "linalg.slogdet": "a",
    "linalg.solve": "a, b",
    "linalg.svd": "a, full_matrices, compute_uv, hermitian",
    "linalg.tensordot": "x1, x2, axes=axes",
    "linalg.trace": "x, offset=offset if dtype is None",
    "linalg.vecdot": "x1, x2, axis=axis",
    "linalg.vector_norm": "x, axis=axis, keepdims=keepdims, ord=ord",
}
"""Function -> NumPy's arguments, and ``if`` with a condition."""

COPYING = frozenset({"constant", "edge", "reflect", "symmetric", "wrap"})
"""The modes of ``pad`` that compute nothing."""

NAMED = {
    "linalg.eig": "EigResult",
    "linalg.eigh": "EighResult",
    "linalg.qr": "QRResult",
    "linalg.slogdet": "SlogdetResult",
    "linalg.svd": "SVDResult",
    "unique_all": "UniqueAllResult",
    "unique_counts": "UniqueCountsResult",
    "unique_inverse": "UniqueInverseResult",
}
"""Function -> the class of its results, if that is a named tuple."""

HEADS = {
    **dict.fromkeys([name for name in NAMED if name.startswith("linalg.")], "few_by_numpy"),
    **dict.fromkeys(["linalg.cond", "linalg.eigvalsh", "linalg.matrix_rank"], "few_by_numpy"),
    "argsort": "some_by_numpy",
    **dict.fromkeys(["einsum", "unique"], "few_by_numpy"),
    **dict.fromkeys(["delete", "linalg.trace", "packbits", "pad", "trace", "unpackbits"], "any_by_numpy"),
}
"""Function -> the head that it calls: for arrays of any size, or because it is faster otherwise from some thousand, or
some hundred, elements on."""

MANY = {"einsum": "_is_by_element(operands)", "unique": "axis is None"}
"""Of these the condition under which it is slower otherwise, and calls ``by_numpy``."""


def is_by_element(operands: tuple[Any, ...]) -> bool:
    """Whether ``einsum`` multiplies no more often than an operand has elements."""
    text = operands[0] if operands else None
    if text.__class__ is not str or "." in text:
        return False
    letters = len(set(text).difference(", ->"))
    return any(letters == getattr(x, "ndim", None) for x in operands[1:])


WRITTEN = {
    "copyto": "dst, src, casting, where",
    "place": "arr, mask, vals",
    "put_along_axis": "arr, indices, values, axis",
    "putmask": "a, mask, values",
}
"""Function that writes to its first argument -> the same."""


def call(name: str, first: str = "") -> str:
    """Return the lines of generated code that ask the native core for a function; none for a function without a row.

    ``first`` is the first argument's name, if it is another than in the row.
    """
    head = "_heads.write_by_numpy" if name in WRITTEN else f"_heads.{HEADS.get(name, 'by_numpy')}"
    if name in MANY:
        head = f"(_heads.by_numpy if {MANY[name]} else {head})"
    row = WRITTEN[name] if name in WRITTEN else HOSTED.get(name, "")
    arguments, _, condition = row.partition(" if ")
    if not row:
        return ""
    if first:
        arguments = ", ".join([first, *arguments.split(", ")[1:]])
    asked = f"(_found := {head}(_hosted, {arguments})) is not None"
    result = "_found" if name in HOSTED else None
    if name in NAMED:
        result = f"_ours.__globals__[{NAMED[name]!r}](*_found) if _found.__class__ is tuple else _found"
    return f"""
    if {condition and f"{condition} and "}{asked}:
        return {result}"""


def function(theirs: Any) -> Any:
    """Return what computes in place of NumPy's function: the same code, but what would warn raises the warning.

    The native core then lets the function of tnp compute, which warns at the program's line. The code of NumPy's module
    is bound to a copy of its globals, without NumPy's dispatch to other arrays.
    """
    found = inspect.unwrap(theirs)
    if not isinstance(found, FunctionType):
        return theirs
    names = found.__globals__
    if id(names) not in _raising:
        _raising[id(names)] = made = {**names, "warnings": _Warnings()}
        for name, each in names.items():
            each = inspect.unwrap(each) if callable(each) else each
            if isinstance(each, FunctionType) and each.__globals__ is names:
                made[name] = FunctionType(each.__code__, made, each.__name__, each.__defaults__, each.__closure__)
                made[name].__kwdefaults__ = each.__kwdefaults__
    return _raising[id(names)].get(found.__name__, theirs)


class _Warnings:
    """The module ``warnings``, but ``warn`` raises."""

    def __getattr__(self, name: str) -> Any:
        return getattr(warnings, name)

    @staticmethod
    def warn(message: Any, category: type[Warning] = UserWarning, *place: Any, **options: Any) -> None:
        raise message if isinstance(message, Warning) else category(message)


_raising: dict[int, dict[str, Any]] = {}  # by the identity of a module's globals
