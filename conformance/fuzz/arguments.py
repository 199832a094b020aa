"""The table of argument kinds: which values are drawn for a parameter, by its name, with exceptions by function.

Layer: owns what a parameter's name says about its values: ``KINDS`` by name, ``SPECIAL`` for one function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from conformance.fuzz.program import Items, Node, Text
from conformance.fuzz.values import DTYPES, FLOATS, INTEGERS, Draw, literal

Kind = Callable[[Draw], Node | None]  # None omits the argument


def choice(*sources: str) -> Kind:
    """One of these Python expressions."""
    return lambda draw: Text(draw.one(sources))


def array(draw: Draw) -> Node:
    """An array of any shape and dtype."""
    return draw.array()


def strict(draw: Draw) -> Node:
    """An array of the call's shape and dtype."""
    return draw.array(draw.shape, draw.dtype)


def same_shape(draw: Draw) -> Node:
    """An array of the call's shape."""
    return draw.array(draw.shape, draw.other_dtype())


def integers(low: int, high: int) -> Kind:
    """An integer."""
    return lambda draw: Text(str(draw.number(low, high)))


def _length(draw: Draw) -> int:
    return draw.shape[0] if draw.shape else 1


def vector(draw: Draw) -> Node:
    """A 1-d array as long as the call's first axis."""
    return draw.array((max(_length(draw), draw.number(0, 1)),), draw.other_dtype())


def real_vector(draw: Draw) -> Node:
    """A 1-d array of reals."""
    return draw.array((_length(draw),), draw.one([*INTEGERS, *FLOATS, "float64", "float64"]))


def positive_vector(draw: Draw) -> Node:
    """A 1-d array of small whole numbers."""
    return Text(str([draw.number(0, 6) for _ in range(_length(draw))]))


def increasing(draw: Draw) -> Node:
    """Sorted numbers."""
    return Text(str(sorted(draw.number(-6, 6) for _ in range(draw.number(0, 5)))))


def square(draw: Draw) -> Node:
    """A matrix, or a stack of them."""
    n = draw.number(0, 4)
    stack = (draw.number(0, 3),) if draw.chance(0.25) else ()
    dtype = draw.dtype if draw.chance(0.3) else draw.one(["float64", "float32", "complex128", "int64"])
    return draw.view((*stack, n, n if draw.chance(0.8) else draw.number(0, 4)), dtype)


def list_of(kind: Kind, low: int = 1, high: int = 3, brackets: str = "[]") -> Kind:
    """Several of a kind."""

    def drawn(draw: Draw) -> Node:
        items = [kind(draw) for _ in range(draw.number(low, high))]
        return Items(brackets, tuple([item for item in items if item is not None]))

    return drawn


def nested(draw: Draw) -> Node:
    """An argument of ``block``: nested lists of arrays."""
    return Items("[]", tuple([draw.array(draw.shape) for _ in range(draw.number(1, 2))]))


def axis(draw: Draw) -> Node:
    """An axis, sometimes out of range."""
    ndim = max(len(draw.shape), 1)
    if draw.chance(0.07):
        return Text(draw.one(["None", str(ndim), "(0,)", "1.0"]))
    return Text(str(draw.number(-ndim, ndim - 1)))


def axes(draw: Draw) -> Node:
    """An axis, several, or None."""
    ndim = len(draw.shape)
    if draw.chance(0.5) or ndim < 2:
        return axis(draw)
    chosen = draw.random.sample(range(ndim), draw.number(1, ndim))
    return Text(str(tuple([a - ndim if draw.chance(0.4) else a for a in chosen])))


def permutation(draw: Draw) -> Node:
    """Every axis once."""
    order = list(range(len(draw.shape)))
    draw.random.shuffle(order)
    return Text(str(tuple(order)) if draw.chance(0.9) else "None")


def shape(draw: Draw) -> Node:
    """Lengths of axes."""
    lengths = tuple([draw.number(0, 3) for _ in range(draw.number(0, 3))])
    return Text(str(lengths[0]) if len(lengths) == 1 and draw.chance(0.5) else str(lengths))


def new_shape(draw: Draw) -> Node:
    """Lengths with the same product as those of the call's shape."""
    size = int(np.prod(draw.shape, dtype=int))
    divisors = [d for d in range(1, size + 1) if size % d == 0] or [1]
    d = draw.one(divisors)
    options = [(size,), (-1,), -1, (d, size // d), (d, -1), (-1, d), (1, size, 1), draw.shape[::-1], (2, -1)]
    return Text(str(draw.one(options)))


def dtype(draw: Draw) -> Node:
    """A dtype in one of its spellings."""
    name = draw.one(DTYPES)
    return Text(draw.one([f"'{name}'", f"np.{name}", f"np.dtype('{name}')", "float", "int", "bool", "None"]))


def wide_dtype(draw: Draw) -> Node:
    """A dtype that most results can be computed in."""
    return dtype(draw) if draw.chance(0.4) else Text(draw.one(["'float64'", "'complex128'", "np.float32"]))


def mask(draw: Draw) -> Node:
    """Booleans that broadcast with the call's shape."""
    return Text(draw.one(["True", "False"])) if draw.chance(0.1) else draw.array(draw.other_shape(), "bool")


def full_mask(draw: Draw) -> Node:
    """Booleans of the call's shape."""
    return draw.array(draw.shape, "bool" if draw.chance(0.9) else draw.other_dtype())


def positions(draw: Draw) -> Node:
    """Indices, mostly in range for the first axis."""
    n = max(_length(draw), 1)
    low, high = (-n, n - 1) if draw.chance(0.9) else (-n - 1, n)
    count = draw.one([0, 1, 2, 3, n])
    chosen: Any = [draw.number(low, high) for _ in range(count)]
    return Text(draw.one([str(chosen), str(chosen), str(draw.number(low, high)), f"np.asarray({chosen}, 'int32')"]))


def choices(draw: Draw) -> Node:
    """Indices of two choices in the call's shape."""
    return draw.view(draw.shape, "bool")


def index_array(draw: Draw) -> Node:
    """Zeros and minus ones in the call's dimensions, for ``take_along_axis``."""
    size = int(np.prod(draw.shape, dtype=int))
    values = [draw.one([0, 0, -1]) for _ in range(size)]
    return Text(f"np.asarray({values}, 'int64').reshape({draw.shape})")


def number(draw: Draw) -> Node:
    """A Python number."""
    return Text(literal(draw.scalar(draw.one(["int64", "float64", "float64", "complex128"]))))


def real_number(draw: Draw) -> Node:
    """A Python number on the real line."""
    return Text(draw.one(["0", "1", "2.5", "-3.0", "0.0", "7", "-1", "0.25"]))


def key_item(draw: Draw, length: int) -> str:
    """One item between the brackets of an index."""
    n = length or 1
    kind = draw.random.random()
    if kind < 0.3:
        return str(draw.number(-n, n - 1) if draw.chance(0.93) else n)
    if kind < 0.7:
        start, stop = [draw.one(["", str(draw.number(-n - 1, n + 1))]) for _ in range(2)]
        return f"{start}:{stop}" + draw.one(["", "", ":2", ":-1", ":-2", ":3"])
    chosen = [draw.number(-n, n - 1) for _ in range(draw.one([1, 2, 2, 3]))] if length else []
    if kind < 0.78:
        return str(chosen) if chosen else "np.asarray([], 'int64')"
    if kind < 0.88:
        dtype = "int64" if any(number < 0 for number in chosen) else draw.one(["int64", "int8", "uint8", "int32"])
        return f"np.asarray({chosen}, '{dtype}')"
    return f"np.asarray({[draw.chance(0.5) for _ in range(length)]}, 'bool')"


def key(draw: Draw) -> Node:
    """The key of ``x[...]``."""
    if draw.chance(0.1):
        whole = ["...", "None", "()", "True", "False", "x > 0", "x == x", "[]", "1.0", "'a'", "np.int64(0)"]
        return Text(draw.one(whole))
    items = [key_item(draw, length) for length in draw.shape[: draw.number(0, len(draw.shape))]]
    for extra in ("None", "...", "True"):
        if draw.chance(0.12 if extra != "True" else 0.02):
            items.insert(draw.number(0, len(items)), extra)
    return Text(", ".join(items) if items else "...")


def subscripts(draw: Draw) -> Node:
    """Subscripts for ``einsum``."""
    sums = ["ij,jk->ik", "ij->ji", "ii->i", "ii", "...i,...i->...", "ij,ij", "i,j->ij", "ij->"]
    return Text(repr(draw.one(sums)))


flag = choice("True", "False")
small = integers(-3, 4)
count = integers(0, 5)

KINDS: dict[str, Kind] = {
    **dict.fromkeys(
        ["a", "x", "m", "arr", "x1", "x2", "y", "v", "ary", "b", "a1", "a2", "ar", "ar1", "ar2", "array", "arys", "f"],
        array,
    ),
    **dict.fromkeys(["object", "val", "z", "A", "element", "test_elements", "p", "filt", "values", "prototype"], array),
    **dict.fromkeys(["xi", "vals", "arrays_and_dtypes", "args", "sample", "to_begin", "to_end", "fill_value"], array),
    **dict.fromkeys(["a_min", "a_max", "min", "max", "src", "prepend", "append", "left", "right", "default"], array),
    **dict.fromkeys(["keepdims", "overwrite_input", "equal_nan", "assume_unique", "include_initial", "rowvar"], flag),
    **dict.fromkeys(["increasing", "retstep", "endpoint", "returned", "bias", "hermitian", "density", "sparse"], flag),
    **dict.fromkeys(["wrap", "invert", "return_index", "return_inverse", "return_counts", "sorted", "stable"], flag),
    **dict.fromkeys(["return_indices", "upper", "full_matrices", "compute_uv", "copy", "subok", "optimize"], flag),
    **dict.fromkeys(["axis1", "axis2", "axisa", "axisb", "axisc", "source", "destination", "start"], axis),
    **dict.fromkeys(["n", "num", "M", "N", "count", "minlength", "ndmin"], count),
    **dict.fromkeys(["k", "offset", "decimals", "shift"], small),
    **dict.fromkeys(["initial", "nan", "posinf", "neginf", "rtol", "atol", "tol", "period", "discont"], real_number),
    **dict.fromkeys(["stop", "step", "start_or_stop", "base", "beta", "d", "dx"], real_number),
    **dict.fromkeys(["condition", "mask"], full_mask),
    **dict.fromkeys(["weights", "fweights", "aweights"], positive_vector),
    **dict.fromkeys(["tup", "arrays", "choicelist", "keys"], list_of(strict)),
    **dict.fromkeys(["indices", "ind", "obj", "sorter"], positions),
    "axis": axes,
    "axes": permutation,
    "bins": lambda draw: increasing(draw) if draw.chance(0.5) else Text(str(draw.number(1, 5))),
    "bitorder": choice("'big'", "'little'"),
    "casting": choice("'no'", "'equiv'", "'safe'", "'same_kind'", "'unsafe'", "'unsafe'"),
    "choices": list_of(strict, 2, 2),
    "condlist": list_of(full_mask),
    "correction": choice("0", "1", "2", "0.5"),
    "ddof": choice("0", "1", "2", "0.5"),
    "deg": flag,
    "dimensions": shape,
    "dst": lambda draw: draw.view(draw.shape),
    "dtype": dtype,
    "edge_order": choice("1", "2"),
    "from_": dtype,
    "to": dtype,
    "type1": dtype,
    "type2": dtype,
    "arg1": dtype,
    "arg2": dtype,
    "indexing": choice("'xy'", "'ij'"),
    "indices_or_sections": lambda draw: integers(1, 4)(draw) if draw.chance(0.5) else increasing(draw),
    "kind": choice("'quicksort'", "'stable'", "'mergesort'", "'heapsort'", "None"),
    "kth": lambda draw: Text(str(draw.number(-1, 2))),
    "mean": lambda draw: None,
    "method": choice("'linear'", "'lower'", "'higher'", "'midpoint'", "'nearest'", "'hazen'", "'weibull'"),
    "mode": choice("'raise'", "'wrap'", "'clip'"),
    "ndim": integers(1, 3),
    "new_shape": new_shape,
    "norm": choice("'ortho'", "'forward'", "'backward'", "None"),
    "ord": choice("None", "1", "2", "-1", "-2", "np.inf", "-np.inf", "0", "3", "'fro'", "'nuc'", "2.5"),
    "order": choice("'C'", "'F'", "'A'", "'K'"),
    "pad_width": choice("1", "(1, 2)", "0", "2", "[[1, 0]]", "3"),
    "q": choice("0.5", "0.25", "[0.1, 0.9]", "0", "1", "[]", "[[0.5, 0.25]]"),
    "range": choice("(0, 5)", "(-2.5, 3)", "None", "(1, 1)"),
    "repeats": lambda draw: integers(0, 3)(draw) if draw.chance(0.6) else positive_vector(draw),
    "reps": choice("2", "(2, 1)", "(1, 2, 1)", "0", "()", "3"),
    "requirements": choice("'C'", "'F'", "['C', 'W']", "None", "'A'"),
    "s": choice("None", "(2, 3)", "(4, 4)", "(3,)", "(1, 2)"),
    "shape": shape,
    "side": choice("'left'", "'right'"),
    "trim": choice("'fb'", "'f'", "'b'"),
    "UPLO": choice("'L'", "'U'"),
    "where": mask,
    "xp": increasing,
    "fp": increasing,
}

# Exceptions: functions whose parameters of these names take other values.
SPECIAL: dict[str, dict[str, Kind]] = {
    "np.arange": {"stop": real_number, "dtype": wide_dtype},
    "np.array": {"object": array, "copy": choice("True", "None")},
    "np.asarray": {"copy": choice("True", "None")},
    "np.asanyarray": {"copy": choice("True", "None")},
    "np.astype": {"x": lambda draw: draw.view()},
    "np.bincount": {"x": positive_vector},
    "np.block": {"arrays": nested},
    "np.broadcast_arrays": {"args": array},
    "np.broadcast_shapes": {"args": shape},
    "np.broadcast_to": {"shape": lambda draw: Text(str((draw.number(1, 2), *draw.shape))), "array": strict},
    "np.choose": {"a": choices},
    "np.compress": {"condition": lambda draw: draw.array((_length(draw),), "bool")},
    "np.convolve": {"a": vector, "v": vector, "mode": choice("'full'", "'same'", "'valid'")},
    "np.correlate": {"a": vector, "v": vector, "mode": choice("'full'", "'same'", "'valid'")},
    "np.corrcoef": {"y": same_shape, "x": same_shape},
    "np.cov": {"y": same_shape, "m": same_shape},
    "np.cross": {"a": lambda d: d.array((*d.shape, 3)), "b": lambda d: d.array((*d.shape, d.one([2, 3, 3])))},
    "np.diag_indices": {"n": count},
    "np.diff": {"n": integers(0, 3)},
    "np.digitize": {"bins": increasing, "right": flag},
    "np.einsum": {"subscripts": subscripts, "operands": array},
    "np.extract": {"condition": full_mask, "arr": strict},
    "np.fill_diagonal": {"a": lambda d: d.view((d.number(1, 4),) * d.number(1, 3)), "val": array},
    "np.full": {"fill_value": number},
    "np.geomspace": {"start": choice("1", "0.5", "-2"), "stop": choice("8", "0.25", "-7")},
    "np.gradient": {"varargs": real_number},
    "np.histogram": {"a": real_vector, "weights": real_vector},
    "np.histogram_bin_edges": {"a": real_vector},
    "np.histogram2d": {"x": real_vector, "y": real_vector, "weights": real_vector},
    "np.histogramdd": {"sample": lambda d: d.array((_length(d), 2)), "weights": real_vector},
    "np.i0": {"x": array},
    "np.interp": {"x": array, "xp": lambda d: Text("[-1.5, 0, 1, 2.5]"), "fp": lambda d: d.array((4,))},
    "np.isdtype": {"dtype": lambda d: Text(f"np.dtype('{d.one(DTYPES)}')"), "kind": choice("'integral'", "'bool'")},
    "np.isin": {"kind": choice("None", "'sort'", "'table'")},
    "np.issubdtype": {},
    "np.ix_": {"args": positions},
    "np.kaiser": {"M": count},
    "np.lexsort": {"axis": axis},
    "np.linspace": {"start": real_number, "axis": choice("0", "-1")},
    "np.logspace": {"start": real_number, "base": choice("10.0", "2", "2.5"), "axis": choice("0", "-1")},
    "np.mask_indices": {"mask_func": choice("np.triu", "np.tril")},
    "np.meshgrid": {"xi": vector, "copy": flag},
    "np.pad": {"mode": choice("'constant'", "'edge'", "'wrap'", "'reflect'", "'symmetric'", "'linear_ramp'", "'mean'")},
    "np.percentile": {"q": choice("50", "12.5", "[0, 100]", "99.0", "101")},
    "np.nanpercentile": {"q": choice("50", "12.5", "[0, 100]", "99.0", "101")},
    "np.put_along_axis": {"indices": index_array, "arr": lambda d: d.view(d.shape), "axis": axis},
    "np.ravel_multi_index": {
        "multi_index": choice("([0, 1], [1, 0])", "(1, 1)", "[0, 1]", "(np.asarray([1]), 3)"),
        "dims": choice("(2, 2)", "(3, 4)", "(2, 2, 2)"),
    },
    "np.reshape": {"shape": new_shape, "a": strict},
    "np.resize": {"new_shape": shape},
    "np.roll": {"shift": choice("1", "-2", "(1, 2)", "0", "5"), "axis": axes},
    "np.rot90": {"axes": choice("(0, 1)", "(1, 0)", "(-1, -2)")},
    "np.searchsorted": {"a": lambda d: increasing(d), "v": array},
    "np.select": {"condlist": list_of(full_mask, 2, 2), "choicelist": list_of(strict, 2, 2)},
    "np.size": {},
    "np.split": {"axis": axis},
    "np.squeeze": {"a": lambda d: d.view((*d.shape, 1))},
    "np.take_along_axis": {"indices": index_array, "arr": strict, "axis": axis},
    "np.tensordot": {"a": same_shape, "b": same_shape, "axes": choice("0", "1", "2", "[[0], [0]]", "(0, 0)")},
    "np.trapezoid": {"x": same_shape, "y": same_shape, "axis": axis},
    "np.tri": {"N": count, "M": count},
    "np.unpackbits": {"a": lambda d: d.view(d.shape, "uint8"), "axis": axis},
    "np.packbits": {"a": lambda d: d.view(d.shape, d.one(["bool", "uint8", "int64"])), "axis": axis},
    "np.unravel_index": {
        "indices": choice("3", "[1, 2, 3]", "np.asarray([[0, 5]])", "99"),
        "shape": choice("(2, 3)", "6"),
    },
    "np.vander": {"x": vector},
    "np.where": {"condition": mask, "x": array, "y": array},
    "{0}.astype({rest})": {"dtype": dtype},
    "{0}.reshape({rest})": {"shape": new_shape},
    "{0}.transpose({rest})": {"axes": permutation},
    "{0}.view({rest})": {"args": dtype},
    "{0}.item({rest})": {"args": integers(-1, 3)},
    "{0}.fill({rest})": {"value": array},
    "np.linalg.cross": {"x1": lambda d: d.array((*d.shape, 3)), "x2": lambda d: d.array((*d.shape, 3))},
    "np.linalg.matrix_power": {"n": integers(-2, 4)},
    "np.linalg.multi_dot": {"arrays": list_of(square, 2, 3)},
    "np.linalg.norm": {"x": strict, "axis": axes},
    "np.linalg.vector_norm": {"x": strict, "ord": choice("1", "2", "np.inf", "-np.inf", "0", "3.5", "-1")},
    "np.linalg.outer": {"x1": vector, "x2": vector},
    "np.linalg.qr": {"mode": choice("'reduced'", "'complete'", "'r'", "'raw'")},
    "np.linalg.tensordot": {"x1": same_shape, "x2": same_shape, "axes": choice("0", "1", "2", "[[0], [0]]")},
    "np.linalg.tensorinv": {"ind": choice("1", "2")},
    "np.linalg.vecdot": {"x1": array, "x2": array},
    "np.linalg.lstsq": {"rcond": choice("None", "-1", "1e-3")},
    "np.linalg.pinv": {"rcond": choice("None", "1e-3")},
    "{0}.byteswap({rest})": {"inplace": flag},
    "{0}.dot({rest})": {"other": array},
    "np.linalg.cond": {"p": choice("None", "1", "2", "-2", "np.inf", "'fro'")},
}

# Functions of matrices: their first array parameters are square.
MATRICES = {
    "cholesky", "cond", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matrix_norm", "matrix_power",
    "matrix_rank", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "matrix_transpose", "matmul",
}  # fmt: skip


def kind_of(callee: str, parameter: str) -> Kind | None:
    """Return the kind of a parameter; None if the table does not know it."""
    special = SPECIAL.get(callee, {})
    if parameter in special:
        return special[parameter]
    if callee.startswith("np.linalg.") and callee[10:] in MATRICES and parameter in ("a", "b", "x", "x1", "x2", "A"):
        return square
    if callee.startswith("np.fft.") and parameter == "axes":
        return axes
    return KINDS.get(parameter)
