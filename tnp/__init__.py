"""NumPy's namespace, run by PyTorch: ``import tnp as np``.

Layer: how NumPy spells it. One file a NumPy chapter; each public name below comes from the chapter that owns it.
"""

import importlib
import sys
from typing import TYPE_CHECKING, Any

# fmt: off
# isort: off
from numpy import (
    False_, ScalarType, True_, base_repr, binary_repr, bool, bool_, busdaycalendar, byte, bytes_, cdouble, character,
    clongdouble, complex64, complex128, complexfloating, csingle, datetime64, datetime_data, double, dtype, dtypes, e,
    euler_gamma, finfo, flexible, float16, float32, float64, floating, frompyfunc, generic, get_include,
    get_printoptions, getbufsize, half, iinfo, inexact, inf, info, int8, int16, int32, int64, int_, intc, integer, intp,
    isdtype, isscalar, issubdtype, iterable, little_endian, long, longdouble, longlong, mintypecode, nan, newaxis,
    number, object_, pi, printoptions, promote_types, recarray, record, sctypeDict, set_printoptions, setbufsize, short,
    show_runtime, signedinteger, single, str_, timedelta64, typecodes, typename, ubyte, uint, uint8, uint16, uint32,
    uint64, uintc, uintp, ulong, ulonglong, unsignedinteger, ushort, void,
)

from tnp._array import native_slots as _native_slots
from tnp._array import readonly as _readonly  # noqa: F401  completes its class, as the next do
from tnp._array import strided as _strided  # noqa: F401
from tnp._array import subclass as _subclass  # noqa: F401
from tnp._array import torch_compile as _torch_compile
from tnp._array.concatenator import c_, r_
from tnp._array.flat import flatiter
from tnp._array.matrix import asmatrix, bmat, matrix, row_stack
from tnp._array.memmap import memmap
from tnp._array.ndarray import ndarray
from tnp._array.printing import array2string, array_repr, array_str, format_float_positional, format_float_scientific
from tnp._autograph.iteration import unroll
from tnp._compile.compile import EagerCheckError, TracedValueError, compile, load_compiled
from tnp._core.convert import array, asarray, asnumpy, astype, copy
from tnp._core.interop import allow_host_copies
from tnp._core.memory_overlap import may_share_memory, shares_memory
from tnp._core.namespace_info import NamespaceInfo as __array_namespace_info__
from tnp._core.promotion import can_cast, common_type, min_scalar_type, result_type
from tnp._core.public import publish
from tnp._creation.filled import empty, empty_like, eye, full, full_like, identity, ones, ones_like, zeros, zeros_like
from tnp._creation.from_data import (
    asanyarray, asarray_chkfinite, ascontiguousarray, asfortranarray, from_dlpack, frombuffer, fromiter, fromstring,
    isfortran, require,
)
from tnp._creation.grids import fromfunction, indices, ix_, mgrid, ogrid
from tnp._creation.ranges import arange, geomspace, linspace, logspace, meshgrid, vander
from tnp._devices.config import show_config
from tnp._devices.determinism import use_deterministic
from tnp._devices.devices import device, devices, pin_memory, set_default_device, synchronize
from tnp._devices.transfers import TransferError, transfers
from tnp._functional.busdays import busday_count, is_busday
from tnp._functional.functional import apply_along_axis, apply_over_axes, piecewise, vectorize
from tnp._functional.host_names import busday_offset, datetime_as_string, fromregex
from tnp._indexing.assignment import copyto, place, put, put_along_axis, putmask
from tnp._indexing.diagonals import (
    diag, diag_indices, diag_indices_from, diagflat, diagonal, fill_diagonal, mask_indices, tri, tril, tril_indices,
    tril_indices_from, triu, triu_indices, triu_indices_from,
)
from tnp._indexing.index_tricks import index_exp, ndenumerate, ndindex, ravel_multi_index, s_, unravel_index
from tnp._indexing.iteration import broadcast, nditer
from tnp._indexing.selection import (
    argwhere, choose, compress, extract, flatnonzero, nonzero, select, take, take_along_axis, where,
)
from tnp._io.files import fromfile, genfromtxt, load, loadtxt, save, savetxt, savez, savez_compressed
from tnp._manipulation.broadcasting import broadcast_arrays, broadcast_shapes, broadcast_to
from tnp._manipulation.joining import (
    block, column_stack, concat, concatenate, dstack, hstack, repeat, stack, tile, vstack,
)
from tnp._manipulation.packing import packbits, unpackbits
from tnp._manipulation.rearranging import (
    flip, fliplr, flipud, matrix_transpose, moveaxis, permute_dims, roll, rollaxis, rot90, swapaxes, transpose,
)
from tnp._manipulation.shape import (
    atleast_1d, atleast_2d, atleast_3d, expand_dims, ndim, ravel, reshape, resize, shape, size, squeeze,
)
from tnp._manipulation.splitting import (
    append, array_split, delete, dsplit, hsplit, insert, split, trim_zeros, unstack, vsplit,
)
from tnp._math.einsum import einsum, einsum_path
from tnp._math.logic import (
    allclose, array_equal, array_equiv, isclose, iscomplex, iscomplexobj, isneginf, isposinf, isreal, isrealobj,
)
from tnp._math.mathematics import angle, around, clip, fix, i0, imag, nan_to_num, real, real_if_close, round, sinc
from tnp._math.products import cross, dot, inner, kron, matmul, matvec, outer, tensordot, trace, vdot, vecdot, vecmat
from tnp._math.reductions import all, amax, amin, any, argmax, argmin, count_nonzero, max, min, prod, ptp, sum
from tnp._math.scans import cumprod, cumsum, cumulative_prod, cumulative_sum, diff
from tnp._signal.calculus import ediff1d, gradient, interp, trapezoid, unwrap
from tnp._signal.padding import pad
from tnp._signal.polynomials import (
    poly, poly1d, polyadd, polyder, polydiv, polyfit, polyint, polymul, polysub, polyval, roots,
)
from tnp._signal.windows import bartlett, blackman, hamming, hanning, kaiser
from tnp._sorting.sets import (
    intersect1d, isin, setdiff1d, setxor1d, union1d, unique, unique_all, unique_counts, unique_inverse, unique_values,
)
from tnp._sorting.sorting import argpartition, argsort, lexsort, partition, searchsorted, sort, sort_complex
from tnp._statistics.averages import average, mean, median, std, var
from tnp._statistics.correlations import convolve, corrcoef, correlate, cov
from tnp._statistics.histograms import bincount, digitize, histogram, histogram2d, histogram_bin_edges, histogramdd
from tnp._statistics.nanfunctions import (
    nanargmax, nanargmin, nancumprod, nancumsum, nanmax, nanmean, nanmedian, nanmin, nanprod, nanstd, nansum, nanvar,
)
from tnp._statistics.quantiles import nanpercentile, nanquantile, percentile, quantile
from tnp._transforms.array_specs import ShapeDtypeStruct
from tnp._transforms.callbacks import pure_callback
from tnp._transforms.collectives import all_gather, axis_index, pmax, pmean, pmin, psum
from tnp._transforms.control_flow import associative_scan, cond, fori_loop, scan, switch, while_loop
from tnp._transforms.custom_gradients import checkpoint, custom_gradient, custom_jvp, stop_gradient
from tnp._transforms.dynamic_slices import dynamic_slice, dynamic_update_slice
from tnp._transforms.gradients import grad, hessian, jacobian, jvp, linearize, value_and_grad, vjp
from tnp._transforms.registered_pytrees import register_dataclass, register_pytree_node
from tnp._transforms.tape import GradientTape
from tnp._transforms.vectorized_map import map_fn, vectorized_map, vmap
from tnp._ufunc.errstate import errstate, geterr, geterrcall, seterr, seterrcall
from tnp._ufunc.table import (
    abs, absolute, acos, acosh, add, arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh, asin, asinh, atan,
    atan2, atanh, bitwise_and, bitwise_count, bitwise_invert, bitwise_left_shift, bitwise_not, bitwise_or,
    bitwise_right_shift, bitwise_xor, cbrt, ceil, conj, conjugate, copysign, cos, cosh, deg2rad, degrees, divide,
    divmod, equal, exp, exp2, expm1, fabs, float_power, floor, floor_divide, fmax, fmin, fmod, frexp, gcd, greater,
    greater_equal, heaviside, hypot, invert, isfinite, isinf, isnan, isnat, lcm, ldexp, left_shift, less, less_equal,
    log, log1p, log2, log10, logaddexp, logaddexp2, logical_and, logical_not, logical_or, logical_xor, maximum, minimum,
    mod, modf, multiply, negative, nextafter, not_equal, positive, pow, power, rad2deg, radians, reciprocal, remainder,
    right_shift, rint, sign, signbit, sin, sinh, spacing, sqrt, square, subtract, tan, tanh, true_divide, trunc,
)
from tnp._ufunc.ufunc import Ufunc as ufunc
# fmt: on
# isort: on

if TYPE_CHECKING:  # __getattr__ imports them on first use
    from numpy import char as char
    from numpy import f2py as f2py
    from numpy import ma as ma
    from numpy import rec as rec
    from numpy import strings as strings

    from . import (  # noqa: F401  # public by this spelling
        ctypeslib,
        debug,
        distributed,
        emath,
        exceptions,
        fft,
        lib,
        linalg,
        polynomial,
        random,
        special,
        testing,
        typing,
    )

_SUBMODULES = frozenset(
    {
        "ctypeslib",
        "debug",
        "distributed",
        "emath",
        "exceptions",
        "fft",
        "lib",
        "linalg",
        "polynomial",
        "random",
        "special",
        "testing",
    }
    | {"typing"}
)

_NUMPYS = frozenset({"char", "f2py", "ma", "rec", "strings"})
"""Submodules about what no tensor holds: NumPy's own, which take and return NumPy's arrays."""

_NUMPYS_TOO = frozenset({"chararray", "complex256", "core", "float128", "matlib", "version"})
"""More names of NumPy's own, some of which a platform or a release lacks."""

_ABSENT = {
    "nested_iters": "broadcast the operands into one nditer, or make one nditer of each in the loop over the other",
    "test": "python -m conformance numpy, in a checkout, runs NumPy's tests on tnp; numpy.test() runs them on NumPy",
}
"""What is not there, and what to do instead."""


def __getattr__(name: str) -> Any:
    """Import NumPy's submodules, and the functions of ``%load_ext tnp``, on first use."""
    if name in _SUBMODULES:
        return importlib.import_module(f"tnp.{name}")
    if name in ("load_ipython_extension", "unload_ipython_extension"):
        return getattr(importlib.import_module("tnp._program.import_hook"), name)
    if name == "_numba_type_":  # numba asks, for a compiled function that names this module
        return importlib.import_module("tnp._array.numba_types").type_of_module(sys.modules[__name__])
    if name in _ABSENT:
        raise AttributeError(f"module 'tnp' has no attribute {name!r}: {_ABSENT[name]}")
    try:
        found = getattr(importlib.import_module("numpy"), name)
    except AttributeError as error:  # NumPy names the replacement of a removed name
        raise AttributeError(str(error).replace("module 'numpy'", "module 'tnp'")) from None
    if name in _NUMPYS or name in _NUMPYS_TOO:
        return found
    raise AttributeError(f"module 'tnp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_SUBMODULES.union(_NUMPYS, __all__))


__version__ = "0.1.0"
__array_api_version__ = "2025.12"

__all__ = [
    "EagerCheckError", "False_", "GradientTape", "ScalarType", "ShapeDtypeStruct", "TracedValueError", "TransferError",
    "True_", "__array_namespace_info__", "abs", "absolute", "acos", "acosh", "add", "all", "all_gather", "allclose",
    "allow_host_copies", "amax", "amin", "angle", "any", "append", "apply_along_axis", "apply_over_axes", "arange",
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "argmax", "argmin", "argpartition",
    "argsort", "argwhere", "around", "array", "array2string", "array_equal", "array_equiv", "array_repr", "array_split",
    "array_str", "asanyarray", "asarray", "asarray_chkfinite", "ascontiguousarray", "asfortranarray", "asin", "asinh",
    "asmatrix", "asnumpy", "associative_scan", "astype", "atan", "atan2", "atanh", "atleast_1d", "atleast_2d",
    "atleast_3d", "average", "axis_index", "bartlett", "base_repr", "binary_repr", "bincount", "bitwise_and",
    "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "blackman", "block", "bmat", "bool", "bool_", "broadcast", "broadcast_arrays", "broadcast_shapes",
    "broadcast_to", "busday_count", "busday_offset", "busdaycalendar", "byte", "bytes_", "c_", "can_cast", "cbrt",
    "cdouble", "ceil", "character", "checkpoint", "choose", "clip", "clongdouble", "column_stack", "common_type",
    "compile", "complex64", "complex128", "complexfloating", "compress", "concat", "concatenate", "cond", "conj",
    "conjugate", "convolve", "copy", "copysign", "copyto", "corrcoef", "correlate", "cos", "cosh", "count_nonzero",
    "cov", "cross", "csingle", "cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "custom_gradient",
    "custom_jvp", "datetime64", "datetime_as_string", "datetime_data", "deg2rad", "degrees", "delete", "device",
    "devices", "diag", "diag_indices", "diag_indices_from", "diagflat", "diagonal", "diff", "digitize", "divide",
    "divmod", "dot", "double", "dsplit", "dstack", "dtype", "dtypes", "dynamic_slice", "dynamic_update_slice", "e",
    "ediff1d", "einsum", "einsum_path", "empty", "empty_like", "equal", "errstate", "euler_gamma", "exp", "exp2",
    "expand_dims", "expm1", "extract", "eye", "fabs", "fft", "fill_diagonal", "finfo", "fix", "flatiter", "flatnonzero",
    "flexible", "flip", "fliplr", "flipud", "float16", "float32", "float64", "float_power", "floating", "floor",
    "floor_divide", "fmax", "fmin", "fmod", "fori_loop", "format_float_positional", "format_float_scientific", "frexp",
    "from_dlpack", "frombuffer", "fromfile", "fromfunction", "fromiter", "frompyfunc", "fromregex", "fromstring",
    "full", "full_like", "gcd", "generic", "genfromtxt", "geomspace", "get_include", "get_printoptions", "getbufsize",
    "geterr", "geterrcall", "grad", "gradient", "greater", "greater_equal", "half", "hamming", "hanning", "heaviside",
    "hessian", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd", "hsplit", "hstack", "hypot", "i0",
    "identity", "iinfo", "imag", "index_exp", "indices", "inexact", "inf", "info", "inner", "insert", "int8", "int16",
    "int32", "int64", "int_", "intc", "integer", "interp", "intersect1d", "intp", "invert", "is_busday", "isclose",
    "iscomplex", "iscomplexobj", "isdtype", "isfinite", "isfortran", "isin", "isinf", "isnan", "isnat", "isneginf",
    "isposinf", "isreal", "isrealobj", "isscalar", "issubdtype", "iterable", "ix_", "jacobian", "jvp", "kaiser", "kron",
    "lcm", "ldexp", "left_shift", "less", "less_equal", "lexsort", "linalg", "linearize", "linspace", "little_endian",
    "load", "load_compiled", "loadtxt", "log", "log1p", "log2", "log10", "logaddexp", "logaddexp2", "logical_and",
    "logical_not", "logical_or", "logical_xor", "logspace", "long", "longdouble", "longlong", "map_fn", "mask_indices",
    "matmul", "matrix", "matrix_transpose", "matvec", "max", "maximum", "may_share_memory", "mean", "median", "memmap",
    "meshgrid", "mgrid", "min", "min_scalar_type", "minimum", "mintypecode", "mod", "modf", "moveaxis", "multiply",
    "nan", "nan_to_num", "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian",
    "nanmin", "nanpercentile", "nanprod", "nanquantile", "nanstd", "nansum", "nanvar", "ndarray", "ndenumerate", "ndim",
    "ndindex", "nditer", "negative", "newaxis", "nextafter", "nonzero", "not_equal", "number", "object_", "ogrid",
    "ones", "ones_like", "outer", "packbits", "pad", "partition", "percentile", "permute_dims", "pi", "piecewise",
    "pin_memory", "place", "pmax", "pmean", "pmin", "poly", "poly1d", "polyadd", "polyder", "polydiv", "polyfit",
    "polyint", "polymul", "polysub", "polyval", "positive", "pow", "power", "printoptions", "prod", "promote_types",
    "psum", "ptp", "pure_callback", "put", "put_along_axis", "putmask", "quantile", "r_", "rad2deg", "radians", "ravel",
    "ravel_multi_index", "real", "real_if_close", "recarray", "reciprocal", "record", "register_dataclass",
    "register_pytree_node", "remainder", "repeat", "require", "reshape", "resize", "result_type", "right_shift", "rint",
    "roll", "rollaxis", "roots", "rot90", "round", "row_stack", "s_", "save", "savetxt", "savez", "savez_compressed",
    "scan", "sctypeDict", "searchsorted", "select", "set_default_device", "set_printoptions", "setbufsize", "setdiff1d",
    "seterr", "seterrcall", "setxor1d", "shape", "shares_memory", "short", "show_config", "show_runtime", "sign",
    "signbit", "signedinteger", "sin", "sinc", "single", "sinh", "size", "sort", "sort_complex", "spacing", "split",
    "sqrt", "square", "squeeze", "stack", "std", "stop_gradient", "str_", "subtract", "sum", "swapaxes", "switch",
    "synchronize", "take", "take_along_axis", "tan", "tanh", "tensordot", "tile", "timedelta64", "trace", "transfers",
    "transpose", "trapezoid", "tri", "tril", "tril_indices", "tril_indices_from", "trim_zeros", "triu", "triu_indices",
    "triu_indices_from", "true_divide", "trunc", "typecodes", "typename", "ubyte", "ufunc", "uint", "uint8", "uint16",
    "uint32", "uint64", "uintc", "uintp", "ulong", "ulonglong", "union1d", "unique", "unique_all", "unique_counts",
    "unique_inverse", "unique_values", "unpackbits", "unravel_index", "unroll", "unsignedinteger", "unstack", "unwrap",
    "use_deterministic", "ushort", "value_and_grad", "vander", "var", "vdot", "vecdot", "vecmat", "vectorize",
    "vectorized_map", "vjp", "vmap", "void", "vsplit", "vstack", "where", "while_loop", "zeros", "zeros_like",
]  # fmt: skip

publish(sys.modules[__name__], sys.modules["numpy"])
_torch_compile.start()
_native_slots.install()
