"""Compare calls over the whole Array API standard with array-api-strict, the standard's reference implementation.

Each call is drawn with arrays of any dtype and shape, and with valid or invalid arguments. Dtype, shape, value and
exception class must agree. If array-api-strict raises, NumPy's outcome is right too: NumPy accepts more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tnp
from tests.oracle import Raised, outcome

Draw = Callable[[Any], Any]

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
DTYPES = ["bool", *INTEGERS, *FLOATS, *COMPLEX]


@dataclass(frozen=True)
class Dtype:
    """A dtype by name, since each namespace has its own dtype objects."""

    name: str


@dataclass
class Call:
    """A call of a function by name; NumPy arrays and dtypes in it are converted for the namespace."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)

    def __call__(self, xp: Any) -> Any:
        function = xp
        for part in self.name.split("."):
            function = getattr(function, part)
        return function(*self._own(xp, self.args), **self._own(xp, self.kwargs))

    def _own(self, xp: Any, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return xp.asarray(value.copy())
        if isinstance(value, Dtype):
            return getattr(xp, value.name)
        if isinstance(value, (tuple, list)):
            return type(value)([self._own(xp, each) for each in value])
        if isinstance(value, dict):
            return {key: self._own(xp, each) for key, each in value.items()}
        return value


# Drawing calls.

SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
AXIS = st.integers(-4, 3)


def elements(dtype: str) -> Any:
    """Small values, and for floats all special ones; a subnormal complex number has no reciprocal in torch."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return st.booleans()
    if kind in "iu":
        return st.integers(-4 if kind == "i" else 0, 5)
    width = 8 * np.dtype(dtype).itemsize
    if kind == "f":
        special = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, np.inf, -np.inf, np.nan]
        return st.sampled_from(special) | st.floats(-8, 8, width=width, allow_subnormal=False)
    return st.builds(complex, *[st.floats(-8, 8, width=width // 2, allow_subnormal=False)] * 2)


def array(draw: Draw, dtypes: list[str] | None = None, shapes: Any = SHAPES) -> np.ndarray:
    """An array of a drawn dtype and shape."""
    dtype = draw(st.sampled_from(dtypes or DTYPES))
    return draw(hnp.arrays(dtype, shapes, elements=elements(dtype)))


def square(draw: Draw) -> np.ndarray:
    """A well-conditioned matrix, or a stack of them."""
    size, dtype = draw(st.integers(1, 3)), draw(st.sampled_from(FLOATS + COMPLEX))
    shape = (*draw(hnp.array_shapes(min_dims=0, max_dims=1, max_side=2)), size, size)
    values = draw(hnp.arrays(dtype, shape, elements=st.integers(-2, 2).map(float)))
    return (values + 8 * np.eye(size)).astype(dtype)


def options(draw: Draw, **strategies: Any) -> dict[str, Any]:
    """Some of the options."""
    return {name: draw(strategy) for name, strategy in strategies.items() if draw(st.booleans())}


def unary(draw: Draw, name: str) -> Call:
    return Call(name, (array(draw),))


def binary(draw: Draw, name: str) -> Call:
    """Two arrays that often have one dtype and shapes that fit, or an array and a Python scalar."""
    first = array(draw)
    if draw(st.integers(0, 3)) == 0:
        scalar = draw(elements(draw(st.sampled_from(["bool", "int64", "float64", "complex128"]))))
        return Call(name, (first, scalar) if draw(st.booleans()) else (scalar, first))
    dtypes = [str(first.dtype)] if draw(st.booleans()) else None
    shapes = hnp.broadcastable_shapes(first.shape, max_side=3, max_dims=3) if draw(st.integers(0, 4)) else SHAPES
    return Call(name, (first, array(draw, dtypes, shapes)))


def shift(draw: Draw, name: str) -> Call:
    first = array(draw, INTEGERS)
    return Call(name, (first, np.abs(array(draw, [str(first.dtype)], st.just(first.shape)))))


def reduction(draw: Draw, name: str) -> Call:
    x = array(draw)
    axis = st.none() | AXIS | st.tuples(AXIS) | st.tuples(AXIS, AXIS)
    if name in ("argmax", "argmin"):
        axis = st.none() | AXIS
    extra = {"correction": st.sampled_from([0, 1, 0.5])} if name in ("std", "var") else {}
    if name in ("sum", "prod"):
        extra = {"dtype": st.sampled_from(["int64", "float64", "complex128"]).map(Dtype)}
    return Call(name, (x,), options(draw, axis=axis, keepdims=st.booleans(), **extra))


def scan(draw: Draw, name: str) -> Call:
    return Call(name, (array(draw),), options(draw, axis=AXIS, include_initial=st.booleans()))


def with_axis(draw: Draw, name: str) -> Call:
    return Call(name, (array(draw),), {"axis": draw(AXIS)})


def clip(draw: Draw, name: str) -> Call:
    x = array(draw, INTEGERS + FLOATS)
    bound = st.none() | elements(str(x.dtype))
    return Call(name, (x,), options(draw, min=bound, max=bound))


def diff(draw: Draw, name: str) -> Call:
    return Call(name, (array(draw),), options(draw, axis=AXIS, n=st.integers(0, 3)))


def sorting(draw: Draw, name: str) -> Call:
    x = array(draw, INTEGERS + FLOATS, hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4))
    x[np.isnan(x) | (x == 0)] = 1  # the standard does not define the results for NaN and zeros
    return Call(name, (x,), options(draw, axis=AXIS, descending=st.booleans(), stable=st.just(True)))


def several(draw: Draw, name: str) -> Call:
    shape = draw(SHAPES)
    dtypes = [draw(st.sampled_from(DTYPES))] if draw(st.booleans()) else None
    shapes = st.just(shape) if draw(st.integers(0, 3)) else SHAPES
    arrays = [array(draw, dtypes, shapes) for _ in range(draw(st.integers(1, 3)))]
    if name in ("broadcast_arrays", "result_type"):
        return Call(name, tuple(arrays))
    return Call(name, (arrays,), options(draw, axis=AXIS))


def shaped(draw: Draw, name: str) -> Call:
    x = array(draw)
    if name == "broadcast_to":
        return Call(name, (x, draw(hnp.broadcastable_shapes(x.shape, max_dims=4, max_side=3) | SHAPES)))
    if name == "reshape":
        factors = draw(st.permutations(x.shape)) if draw(st.booleans()) else (-1,)
        return Call(name, (x, draw(st.just(tuple(factors)) | SHAPES)))
    if name == "permute_dims":
        return Call(name, (x, draw(st.permutations(range(x.ndim)).map(tuple) | st.tuples(AXIS, AXIS))))
    if name == "moveaxis":
        return Call(name, (x, draw(AXIS), draw(AXIS)))
    if name == "flip":
        return Call(name, (x,), options(draw, axis=AXIS | st.tuples(AXIS, AXIS)))
    if name == "roll":
        return Call(name, (x, draw(st.integers(-4, 4))), options(draw, axis=AXIS))
    if name == "repeat":
        return Call(name, (x, draw(st.integers(0, 3))), options(draw, axis=AXIS))
    if name == "tile":
        return Call(name, (x, draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=2))))
    if name == "unstack":
        return Call(name, (x,), options(draw, axis=AXIS))
    assert name in ("expand_dims", "squeeze"), name
    return Call(name, (x,), {"axis": draw(AXIS | st.tuples(AXIS, AXIS))})


def creation(draw: Draw, name: str) -> Call:
    number = st.integers(-3, 6) | st.sampled_from([0.5, -1.5])
    dtype = st.sampled_from(DTYPES).map(Dtype)
    if name == "arange":
        step = number.filter(bool)
        return Call(name, (draw(number),), options(draw, stop=number, step=step, dtype=st.just(Dtype("float64"))))
    if name == "linspace":
        keywords = options(draw, dtype=st.sampled_from(FLOATS).map(Dtype), endpoint=st.booleans())
        return Call(name, (draw(number), draw(number), draw(st.integers(0, 5))), keywords)
    if name == "eye":
        sizes = (draw(st.integers(0, 4)), *draw(st.just(()) | st.tuples(st.integers(0, 4) | st.none())))
        return Call(name, sizes, options(draw, k=st.integers(-4, 4), dtype=dtype))
    if name == "full":
        return Call(name, (draw(SHAPES), draw(elements(draw(st.sampled_from(["bool", "int64", "float64"]))))))
    if name == "full_like":
        x = array(draw)
        return Call(name, (x, draw(elements(str(x.dtype)))))
    if name in ("tril", "triu"):
        return Call(name, (array(draw),), options(draw, k=st.integers(-4, 4)))
    if name == "meshgrid":
        line = hnp.array_shapes(min_dims=1, max_dims=1, max_side=3)
        first = array(draw, shapes=line)
        others = [array(draw, [str(first.dtype)], line) for _ in range(draw(st.integers(0, 2)))]
        return Call(name, (first, *others), options(draw, indexing=st.sampled_from(["ij", "xy"])))
    if name == "asarray":
        return Call(name, (draw(st.lists(st.integers(-3, 3) | st.booleans() | st.floats(-2, 2), min_size=1)),))
    if name.endswith("_like"):
        return Call(name, (array(draw),), options(draw, dtype=dtype))
    return Call(name, (draw(SHAPES),), options(draw, dtype=dtype))


def dtypes(draw: Draw, name: str) -> Call:
    one, other = [Dtype(draw(st.sampled_from(DTYPES))) for _ in range(2)]
    if name == "astype":
        x = array(draw, ["bool", *INTEGERS, "float64"])
        x[~np.isfinite(x)] = 0
        return Call(name, (x if one.name[0] != "u" else np.abs(x), one), options(draw, copy=st.booleans()))
    if name == "isdtype":
        kinds = ["bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating"]
        kind = st.sampled_from([*kinds, "numeric"])
        return Call(name, (one, draw(kind | st.tuples(kind, kind) | st.just(other) | st.just("other"))))
    if np.dtype(one.name).kind != np.dtype(other.name).kind:
        other = one  # NumPy casts between kinds, array-api-strict does not
    return Call(name, (one, other))


def taking(draw: Draw, name: str) -> Call:
    x = array(draw)
    if name == "take":
        indices = draw(hnp.arrays("int64", hnp.array_shapes(max_dims=1), elements=st.integers(-3, 3)))
        return Call(name, (x, indices), options(draw, axis=AXIS))
    axis = draw(AXIS)
    ends = max(x.shape[axis] if -x.ndim <= axis < x.ndim else 1, 1) + draw(st.integers(0, 1)) - 1
    indices = draw(hnp.arrays("int64", st.just(x.shape) | SHAPES, elements=st.integers(-ends, max(ends - 1, 0))))
    return Call(name, (x, indices), {"axis": axis})


def searching(draw: Draw, name: str) -> Call:
    if name == "where":
        call = binary(draw, name)
        return Call(name, (array(draw, ["bool"]), *call.args))
    if name == "isin":
        x = array(draw, INTEGERS)  # array-api-strict forgets invert
        return Call(name, (x, array(draw, [str(x.dtype)])))
    line = np.sort(array(draw, INTEGERS + FLOATS, hnp.array_shapes(max_dims=1, max_side=4)))
    line = np.where(np.isnan(line), 0, line).astype(line.dtype)
    line.sort()
    values = array(draw, [str(line.dtype)], hnp.array_shapes(max_dims=2, max_side=3))
    values[np.isnan(values)] = 0
    return Call(name, (line, values), options(draw, side=st.sampled_from(["left", "right"])))


def product(draw: Draw, name: str) -> Call:
    numeric = INTEGERS + FLOATS + COMPLEX
    first = array(draw, numeric)
    dtypes = [str(first.dtype)]
    first[~np.isfinite(first)] = 0  # NumPy's BLAS makes 0 * inf 0 or nan, by shape
    name_ = name.rpartition(".")[2]
    if name_ == "matmul":
        second = array(draw, dtypes, st.just((*first.shape[:-2], first.shape[-1], 2)) if first.ndim > 1 else SHAPES)
        return Call(name, (first, second))
    if name_ == "tensordot":
        return Call(name, (first, array(draw, dtypes)), options(draw, axes=st.integers(0, 2)))
    if name_ == "vecdot":
        first = np.atleast_1d(first)
        shapes = st.just(first.shape) | st.just(first.shape[-1:])  # NumPy broadcasts no vectors
        return Call(name, (first, array(draw, dtypes, shapes)), options(draw, axis=st.just(-1)))
    if name_ == "outer":
        line = hnp.array_shapes(max_dims=1, max_side=3)
        return Call(name, (array(draw, dtypes, line), array(draw, dtypes, line)))
    assert name_ == "cross", name_
    three = st.just((2, 3))
    return Call(name, (array(draw, dtypes, three), array(draw, dtypes, three)), options(draw, axis=st.just(-1)))


def linear(draw: Draw, name: str) -> Call:
    x = square(draw)
    name_ = name.rpartition(".")[2]
    if name_ in ("cholesky", "eigvalsh", "eigh"):
        x = (x + np.conj(x.swapaxes(-1, -2))).astype(x.dtype)
    if name_ == "solve":
        return Call(name, (x, array(draw, [str(x.dtype)], st.just(x.shape)).clip(-2, 2)))
    if name_ == "matrix_power":
        return Call(name, (x, draw(st.integers(-2, 3))))
    if name_ == "matrix_norm":
        orders = st.sampled_from(["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
        return Call(name, (x,), options(draw, keepdims=st.booleans(), ord=orders))
    if name_ == "vector_norm":
        x, axis = array(draw, FLOATS), AXIS | st.just(()) | st.tuples(AXIS, AXIS)
        orders = st.sampled_from([0, 1, 2, 3, np.inf, -np.inf])
        return Call(name, (x,), options(draw, axis=axis, keepdims=st.booleans(), ord=orders))
    if name_ in ("diagonal", "trace"):
        return Call(name, (array(draw, INTEGERS + FLOATS + COMPLEX),), options(draw, offset=st.integers(-3, 3)))
    if name_ in ("svd", "qr"):
        keyword = {"svd": {"full_matrices": st.booleans()}, "qr": {"mode": st.sampled_from(["reduced", "complete"])}}
        return Call(name, (x,), options(draw, **keyword[name_]))
    return Call(name, (x,))


def transform(draw: Draw, name: str) -> Call:
    name_ = name.rpartition(".")[2]
    if name_ in ("fftfreq", "rfftfreq"):
        return Call(name, (draw(st.integers(1, 8)),), options(draw, d=st.sampled_from([0.5, 2.0])))
    dtypes = FLOATS if name_ in ("rfft", "rfftn", "ihfft") else COMPLEX
    x = array(draw, dtypes, hnp.array_shapes(max_dims=3, max_side=4))
    x[~np.isfinite(x)] = 0
    if name_ in ("fftshift", "ifftshift"):
        return Call(name, (x,), options(draw, axes=AXIS | st.tuples(AXIS, AXIS)))
    norm = st.sampled_from(["backward", "ortho", "forward", "other"])
    if name_.endswith("n"):
        axes = draw(st.none() | st.tuples(AXIS) | st.tuples(AXIS, AXIS))
        sizes = {} if axes is None else options(draw, s=st.tuples(*[st.integers(1, 4)] * len(axes)))
        return Call(name, (x,), {"axes": axes, **sizes, **options(draw, norm=norm)})
    return Call(name, (x,), options(draw, n=st.integers(1, 5), axis=AXIS, norm=norm))


UNARY = """abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite isinf
isnan log log10 log1p log2 logical_not negative positive real reciprocal round sign signbit sin sinh sqrt square tan
tanh trunc nonzero unique_all unique_counts unique_inverse unique_values matrix_transpose"""
BINARY = """add atan2 bitwise_and bitwise_or bitwise_xor copysign divide equal floor_divide greater greater_equal hypot
less less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply nextafter not_equal pow remainder
subtract"""
GROUPS: dict[Callable[[Draw, str], Call], str] = {
    unary: UNARY,
    binary: BINARY,
    shift: "bitwise_left_shift bitwise_right_shift",
    reduction: "all any argmax argmin count_nonzero max mean min prod std sum var",
    scan: "cumulative_prod cumulative_sum",
    clip: "clip",
    diff: "diff",
    sorting: "argsort sort",
    several: "broadcast_arrays concat result_type stack",
    shaped: "broadcast_to expand_dims flip moveaxis permute_dims repeat reshape roll squeeze tile unstack",
    creation: """arange asarray empty empty_like eye full full_like linspace meshgrid ones ones_like tril triu zeros
        zeros_like""",
    dtypes: "astype can_cast isdtype",
    taking: "take take_along_axis",
    searching: "isin searchsorted where",
    product: """linalg.cross linalg.matmul linalg.outer linalg.tensordot linalg.vecdot matmul tensordot vecdot""",
    linear: """linalg.cholesky linalg.det linalg.diagonal linalg.eigh linalg.eigvalsh linalg.inv linalg.matrix_norm
        linalg.matrix_power linalg.matrix_rank linalg.matrix_transpose linalg.pinv linalg.qr linalg.slogdet linalg.solve
        linalg.svd linalg.svdvals linalg.trace linalg.vector_norm""",
    transform: """fft.fft fft.fftfreq fft.fftn fft.fftshift fft.hfft fft.ifft fft.ifftn fft.ifftshift fft.ihfft
        fft.irfft fft.irfftn fft.rfft fft.rfftfreq fft.rfftn""",
}
CALLS = {name: group for group, names in GROUPS.items() for name in names.split()}

SHAPE_ONLY = {"empty", "empty_like", "linalg.eigh", "linalg.qr", "linalg.svd"}
"""Functions whose values the standard leaves open: uninitialised memory, or the signs of vectors."""

ELSEWHERE = {
    "__array_namespace_info__", "broadcast_shapes", "finfo", "from_dlpack", "iinfo", "linalg.eig", "linalg.eigvals",
}  # fmt: skip
"""Functions of the standard that take or return no arrays, or for which tnp follows NumPy: other tests cover them."""


# How outcomes are compared.


def numpy_values(result: Any) -> np.ndarray | None:
    """Return an array of either namespace as NumPy's; None for anything else."""
    if isinstance(result, strict._array_object.Array):
        return np.asarray(result._array)
    return tnp.asnumpy(result) if isinstance(result, tnp.ndarray) else None


def assert_alike(expected: Any, actual: Any, values: bool) -> None:
    """Assert that ``actual``, from tnp, has the dtypes, shapes and values of ``expected``, from another library."""
    if isinstance(expected, tuple | list):
        assert isinstance(actual, tuple | list) and len(actual) == len(expected), (expected, actual)
        assert getattr(expected, "_fields", None) == getattr(actual, "_fields", None)
        for one, other in zip(expected, actual, strict=True):
            assert_alike(one, other, values)
        return
    wanted = np.asarray(expected) if isinstance(expected, np.generic | np.ndarray) else numpy_values(expected)
    if wanted is None:
        own = expected._np_dtype if isinstance(expected, strict._dtypes.DType) else expected
        assert actual == own, (own, actual)
        return
    found = numpy_values(actual)
    assert found is not None, f"{type(actual)} is no tnp.ndarray"
    assert found.dtype == wanted.dtype, (wanted.dtype, found.dtype)
    assert found.shape == wanted.shape, (wanted.shape, found.shape)
    if values and wanted.dtype.kind in "fc":
        tolerance = 32 * float(np.finfo(wanted.dtype).eps)
        size = np.abs(wanted[np.isfinite(wanted)]).max(initial=1.0)
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * float(size))
    elif values:
        np.testing.assert_array_equal(found, wanted)


def check(call: Call) -> None:
    """Assert that a call does what array-api-strict does; if that raises, tnp may also do what NumPy does."""
    expected, actual = outcome(call, strict), outcome(call, tnp)
    if isinstance(expected, Raised):
        if isinstance(actual, Raised) and isinstance(actual.error, type(expected.error)):
            return
        expected = outcome(call, np)
    if isinstance(expected, Raised):
        assert isinstance(actual, Raised), f"tnp returned {actual!r}; it should raise {expected!r}"
        assert isinstance(actual.error, type(expected.error)), f"tnp raised {actual!r}; it should raise {expected!r}"
        return
    if call.name.startswith("cumulative_") and isinstance(actual, Raised):  # strict counts a negative axis wrongly
        expected = outcome(call, np)
        assert isinstance(expected, Raised), f"tnp raised {actual!r}; NumPy returns {expected!r}"
        assert isinstance(actual.error, type(expected.error)), f"tnp raised {actual!r}; NumPy {expected!r}"
        return
    assert not isinstance(actual, Raised), f"tnp raised {actual!r}; it should return {expected!r}"
    assert_alike(expected, actual, call.name not in SHAPE_ONLY)


@pytest.mark.parametrize("name", sorted(CALLS))
@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_call(name: str, data: st.DataObject) -> None:
    check(CALLS[name](data.draw, name))


@pytest.mark.parametrize(
    "call",
    [
        Call("tensordot", (np.array(3), np.array([1, 2])), {"axes": ((), ())}),
        Call("tensordot", (np.zeros((0, 0)), np.zeros(1)), {"axes": 2}),
        Call("take", (np.zeros((1, 0)), np.array([1])), {"axis": 0}),
        Call("take", (np.zeros((0, 0)), np.array([0])), {"axis": 1}),
        Call("take", (np.zeros((3, 0, 0)), np.array([0])), {"axis": 1}),
        Call("linalg.vector_norm", (np.array([[3.0, -4.0]]),), {"axis": (), "keepdims": True}),
        Call("linalg.vector_norm", (np.array([[3.0, -4.0]]),), {"axis": ()}),
        Call("eye", (2, 3), {"k": 2**63}),
        Call("eye", (2, 3), {"k": -(2**70)}),
        Call("max", (np.array(0j),), {"axis": 1}),
        Call("argmin", (np.array(0j),), {"axis": 1}),
        Call("sign", (np.array([complex(-0.0, -0.0)]),)),
        Call("argsort", (np.zeros(40, np.uint8),)),
        Call("cumulative_sum", (np.zeros((0, 0), np.int8),), {"axis": -4, "include_initial": True}),
        Call("cumulative_prod", (np.zeros((0, 0), np.int8),), {"axis": -4, "include_initial": True}),
    ],
    ids=lambda call: call.name,
)
def test_call_that_once_differed(call: Call) -> None:
    check(call)


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_getitem(data: st.DataObject) -> None:
    x = array(data.draw, shapes=hnp.array_shapes(min_dims=1, max_dims=3, max_side=3))
    key = data.draw(hnp.basic_indices(x.shape, allow_newaxis=True, allow_ellipsis=True))

    def get(xp: Any) -> Any:
        return xp.asarray(x.copy())[key]

    expected, actual = outcome(get, strict), outcome(get, tnp)
    if isinstance(expected, Raised):
        expected = outcome(get, np)
    assert_alike(expected, actual, True)


def test_every_function_of_the_standard_is_called() -> None:
    names = {name for name in strict.__all__ if callable(getattr(strict, name)) and not name.startswith("_")}
    for extension in ("linalg", "fft"):
        names |= {f"{extension}.{name}" for name in getattr(strict, extension).__all__}
    functions = {name for name in names if not isinstance(_found(name), type | strict._dtypes.DType)}
    flags = {"set_array_api_strict_flags", "get_array_api_strict_flags", "reset_array_api_strict_flags"}
    assert functions - flags - ELSEWHERE - {"ArrayAPIStrictFlags", "Device"} == set(CALLS) - ELSEWHERE


def _found(name: str) -> Any:
    found: Any = strict
    for part in name.split("."):
        found = getattr(found, part)
    return found
