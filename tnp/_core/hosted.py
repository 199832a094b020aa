"""The functions that NumPy computes for small arrays, one row each: what NumPy is given, and under which condition.

Layer: owns the table. The native core calls NumPy on the arrays' memory (`by_numpy`, `write_by_numpy`), where nothing
watches and each array is small and on the CPU. Otherwise the function's own code computes. NumPy's result has the same
bits: these functions move, compare, count or round once, or the backend lets NumPy compute them at these sizes too.
"""

from __future__ import annotations

HOSTED = {
    "append": "arr, values, axis",
    "argpartition": "a, kth, axis, kind if order is None",
    "argsort": "a, axis, 'stable' if kind is order is stable is descending is None",
    "argwhere": "a",
    "choose": "a, choices, None, mode if out is None",
    "column_stack": "tup",
    "delete": "arr, obj, axis",
    "diff": "a, n, axis if n.__class__ is int and n < 9 and prepend is append is _no_value",  # NumPy loops n times
    "digitize": "x, bins, right",
    "dstack": "tup",
    "ediff1d": "ary, to_end, to_begin",
    "gradient": "f, *varargs, axis=axis, edge_order=edge_order",
    "hstack": "tup if dtype is None and casting == 'same_kind'",
    "identity": "n if dtype is device is like is None",
    "indices": "dimensions if dtype is int and device is None and sparse is False",
    "insert": "arr, obj, values, axis",
    "interp": "x, xp, fp, left, right if period is None",
    "intersect1d": "ar1, ar2 if assume_unique is return_indices is False",
    "isin": "element, test_elements, False, invert if kind is None and assume_unique is False",
    "lexsort": "keys, axis",
    "packbits": "a, axis, bitorder if axis is None",
    "pad": "array, pad_width, mode if not kwargs and mode.__class__ is str and mode in _copying",
    "partition": "a, kth, axis, kind if order is None",
    "ravel_multi_index": "multi_index, dims, mode, order",
    "repeat": "a, repeats, axis",
    "resize": "a, new_shape",
    "searchsorted": "a, v, side if sorter is None",
    "setdiff1d": "ar1, ar2 if assume_unique is False",
    "setxor1d": "ar1, ar2 if assume_unique is False",
    "sort": "a, axis if kind is order is stable is descending is None",
    "stack": "arrays, axis if out is dtype is None and casting == 'same_kind'",
    "take": "a, indices, axis, None, mode if out is None",
    "tile": "A, reps",
    "tri": "N, M, k if dtype is float and like is device is None",
    "tril": "m, k",
    "triu": "m, k",
    "unique": "ar, return_index, return_inverse, return_counts if axis is None and equal_nan is sorted is True",
    "unpackbits": "a, axis, count, bitorder if axis is count is None",
    "unravel_index": "indices, shape, order",
    "vstack": "tup if dtype is None and casting == 'same_kind'",
    "linalg.cholesky": "a, upper=upper",
    "linalg.det": "a",
    "linalg.inv": "a",
    "linalg.solve": "a, b",
}
"""Function -> NumPy's arguments, and ``if`` with a condition."""

COPYING = frozenset({"constant", "edge", "reflect", "symmetric", "wrap"})
"""The modes of ``pad`` that compute nothing."""

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
    head, row = ("write_by_numpy", WRITTEN[name]) if name in WRITTEN else ("by_numpy", HOSTED.get(name, ""))
    arguments, _, condition = row.partition(" if ")
    if not row:
        return ""
    if first:
        arguments = ", ".join([first, *arguments.split(", ")[1:]])
    asked = f"(_found := _heads.{head}(_theirs, {arguments})) is not None"
    return f"""
    if {condition and f"{condition} and "}{asked}:
        return {"_found" if name in HOSTED else None}"""
