"""Compiled functions do what they do eagerly: what ``pytest --compiled`` found, each checked without it too."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import tnp
from backend_torch.graphs import code_cache
from backend_torch.kernels import linalg
from tests.oracle import Raised, assert_same, outcome, outcome_compiled


def same(function: Callable[[Any], Any], backend: str = "eager") -> None:
    """Compiled, ``function(xp)`` does what it does on NumPy."""
    assert_same(outcome(function, numpy), outcome_compiled(function, backend))


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_operations_that_fail_and_are_caught_are_none(backend: str) -> None:
    """They were recorded before they failed, and the graph failed with them."""
    x, two = numpy.ones(3), numpy.ones(2)

    def function(xp: Any) -> Any:
        y, other = xp.asarray(x) * 1, xp.asarray(two)
        caught = [
            type(outcome(operation, xp).error)
            for operation in (
                lambda xp: y.__setitem__(slice(None), other),
                lambda xp: xp.asarray(x) + other,
                lambda xp: xp.add(y, 1, out=y, where=xp.ones(7, bool)),
                lambda xp: y @ other,
            )
        ]
        return y + xp.asarray(x), other, caught

    same(function, backend)


def test_a_shape_that_is_assigned() -> None:
    def function(xp: Any) -> Any:
        x = xp.arange(6)
        y = x[2:]
        y.shape = (2, 2)
        y[0] = 9
        return x, y

    def scattered(xp: Any) -> None:
        xp.arange(6)[::2].T.reshape(3, 1).T.shape = (3,)
        xp.ones((2, 3)).T.shape = (6,)

    same(function)
    same(scattered)


@pytest.mark.parametrize("power", [lambda xp, x: x**-1, lambda xp, x: xp.power(x, -2), lambda xp, x: x.__ipow__(-1)])
def test_negative_powers_of_integers_that_are_known(power: Any) -> None:
    """0 and 1 came back, where the exponent is a number of Python's."""
    same(lambda xp: power(xp, xp.asarray([1, 2])))
    assert isinstance(outcome_compiled(lambda xp: power(xp, xp.asarray([1, 2])), "eager"), Raised)
    same(lambda xp: power(xp, xp.asarray([1.0, 2.0])))


# Arrays that Python's own data make are known while a function is traced, until something is written to them.


@pytest.mark.parametrize(
    "function",
    [
        lambda xp, x: x[[True, False, True]],
        lambda xp, x: x[:, [True, False, True, True], None],
        lambda xp, x: x[xp.asarray([False, True, True])],
        lambda xp, x: x[int(xp.asarray(1))],
        lambda xp, x: xp.compress([False, True, True], x, axis=0),
        lambda xp, x: xp.nonzero([0, 3, 0, 5]),
        lambda xp, x: xp.delete(x, [0, 2], axis=1),
        lambda xp, x: xp.repeat(x, [2, 0, 1], axis=0),
        lambda xp, x: x[[0, 99]],
        lambda xp, x: x.__setitem__([0, -7], 1),
        lambda xp, x: x.__setitem__([True, True, False], [[1], [2], [3]]),
        lambda xp, x: xp.place(x, [[True] * 4] * 3, []),
        lambda xp, x: x[[0, 1], [0, 1, 2]],
        lambda xp, x: xp.power(xp.asarray([2, 3]), [1, -1]),
        lambda xp, x: xp.ones(3, "int8").__setitem__(0, xp.asarray([300])[0]),
        lambda xp, x: xp.var(x, ddof=xp.asarray(20, "uint16")),
        lambda xp, x: xp.histogram([1, 2, 4], 3),
        lambda xp, x: xp.histogram([1, 2, numpy.nan]),
        lambda xp, x: xp.busday_count("2024-01-05", xp.asarray([1, 2])),
    ],
)
def test_python_data_are_known(function: Any) -> None:
    same(lambda xp: function(xp, xp.asarray(numpy.arange(12.0).reshape(3, 4))))


def test_python_data_that_are_written_to_are_not_known() -> None:
    x = tnp.ones(3)
    writes: dict[str, Callable[[Any], Any]] = {
        "element": lambda mask: mask.__setitem__(0, x[0] > 5),
        "view": lambda mask: mask[1:].fill(False),
        "out": lambda mask: tnp.logical_not(mask, out=mask),
        "sort": lambda mask: mask.sort(),
        "bits": lambda mask: mask.view("u1").__imul__(0),
        "tensor": lambda mask: mask.tensor.data.zero_(),
        "flat": lambda mask: mask.flat.__setitem__(0, False),
        "batched": lambda mask: tnp.vectorized_map(lambda row: mask.__iand__(False) | (row > 5), x),
    }
    for name, write in writes.items():

        def function(write: Callable[[Any], Any] = write) -> Any:
            mask = tnp.asarray([True, False, True])
            write(mask)
            return tnp.nonzero(mask)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a batched write calls the function for each element
            with pytest.raises(tnp.TracedValueError):
                print(name, tnp.compile(function, backend="eager", fullgraph=True)())


def test_an_element_of_its_own_to_all() -> None:
    """It was refused when the graph ran: torch takes it for a conflict."""

    def function(xp: Any) -> Any:
        x = xp.arange(1.0, 7.0)
        x[:] = x[2, ...]
        return x

    same(function)


def test_one_number_in_an_array_to_an_element() -> None:
    def function(xp: Any) -> Any:
        x = xp.zeros((2, 3), dtype=bool)
        x[0, 1] = xp.ones(1)
        return x

    same(function)


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("count", range(6))
def test_values_where_a_mask_is_true(backend: str, count: int) -> None:
    """Those that were left over were dropped without a word."""

    def function(xp: Any) -> Any:
        x = xp.asarray([1.0, -1, 2, 3]) * 1
        x[x > 0] = xp.arange(count) + 10.0
        return x

    same(function, backend)


@pytest.mark.raises
def test_values_where_a_mask_is_true_under_transforms() -> None:
    def written(x: Any, values: Any) -> Any:
        x = x.copy()
        x[x > 0] = values
        return x

    rows = tnp.asarray([[1.0, -1, 2, 3], [1, 2, -1, 3]])
    pair = tnp.asarray([[10.0, 11, 12, 13]] * 2)
    for wrapped in (lambda function: function, lambda function: tnp.compile(function, backend="eager")):
        for function in (
            wrapped(lambda count: tnp.vectorized_map(lambda row: written(row, pair[0, :count]), rows)),
            wrapped(lambda count: tnp.vectorized_map(lambda both: written(*both), (rows, pair[:, :count]))),
            wrapped(lambda count: tnp.grad(lambda x: written(x, pair[0, :count]).sum())(rows[0])),
        ):
            assert function(3) is not None
            for count in (2, 4):
                with pytest.raises(ValueError, match="another number of true elements"):
                    function(count)


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_norms_of_numbers_are_scalars(backend: str) -> None:
    """A power that may be differentiated made an array of no dimensions."""
    for number in (1, 1.0, [3.0, 4]):
        function = tnp.compile(lambda x: tnp.linalg.vector_norm(x, ord=3.5), backend=backend)
        assert type(function(number)) is type(tnp.linalg.vector_norm(number, ord=3.5)) is not tnp.ndarray


def test_iterators_over_arrays() -> None:
    """They had an array of the trace, without values."""
    function = tnp.compile(lambda x: (x.flat, (x * 2).flat), backend="eager")
    for factor in (1, 3):
        x = tnp.arange(4.0).reshape(2, 2) * factor
        flat, doubled = function(x)
        assert flat.base is x and flat[1:3].tolist() == [factor, 2 * factor]
        assert [float(element) for element in doubled] == [0, 2 * factor, 4 * factor, 6 * factor]


class Holder:
    value: Any = None


class Slotted:
    __slots__ = ("value",)


@pytest.mark.parametrize("kind", [Holder, Slotted])
def test_objects_with_arrays_of_the_trace_can_not_be_returned(kind: Any) -> None:
    outside = kind()
    outside.value = tnp.ones(2)
    assert tnp.compile(lambda: outside, backend="eager")().value is outside.value

    def function(x: Any) -> Any:
        made = kind()
        made.value = x * 2
        return [made]

    with pytest.raises(TypeError, match=r"can't return .*, whose attribute 'value' is an array"):
        tnp.compile(function, backend="eager")(tnp.ones(2))
    for iterator in (iter, tnp.ndenumerate, lambda x: zip(x, x, strict=True)):
        with pytest.raises(TypeError, match=r"can't return .*, an iterator"):
            tnp.compile(iterator, backend="eager")(tnp.ones(2))


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_sums_from_a_negative_zero(backend: str) -> None:
    """Compiled, they were sums from 0.0."""
    x = numpy.asarray([[-0.0, -0.0], [-0.0, 0], [-0.0, 1]])
    same(lambda xp: [xp.signbit(xp.sum(xp.asarray(x), axis=1, initial=initial)) for initial in (-0.0, 0.0)], backend)
    function = tnp.compile(lambda x, initial: tnp.signbit(x.sum(axis=1, initial=initial)), backend=backend)
    for number in (-0.0, 0.0):
        expected = numpy.signbit(x.sum(axis=1, initial=number)).tolist()
        assert function(tnp.asarray(x), tnp.asarray(number)).tolist() == expected


def test_partitions_at_no_position() -> None:
    """They were sorted."""
    x = numpy.asarray([[3.0, 1.0, 2.0], [2.0, 1.0, 3.0]])
    for axis in (0, 1):
        same(lambda xp, axis=axis: xp.partition(xp.asarray(x), [], axis=axis))
        same(lambda xp, axis=axis: xp.argpartition(xp.asarray(x), [], axis=axis))


@pytest.mark.host  # a graph on an accelerator does not look
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_integers_out_of_bounds(backend: str) -> None:
    """They were taken for others where no kernel looks at them."""

    def put(x: Any) -> Any:
        columns = tnp.zeros((2, 1)).T
        tnp.put(columns, x, 1)
        return columns

    functions: dict[Callable[[Any], Any], type[Exception]] = {
        lambda x: tnp.choose(x, [tnp.ones(2), tnp.zeros(2)]): ValueError,
        lambda x: tnp.unravel_index(x, (1, 2)): ValueError,
        lambda x: tnp.ravel_multi_index((x, x), (2, 2)): ValueError,
        lambda x: tnp.take_along_axis(tnp.ones(2), x, 0): IndexError,
        put: IndexError,
    }
    for function, error in functions.items():
        compiled = tnp.compile(function, backend=backend)
        right = tnp.asarray([0, 1])
        assert_same(tnp.asnumpy(tnp.asarray(function(right))), tnp.asarray(compiled(right)))
        for wrong in (2, -3):
            with pytest.raises(error, match="out of bounds"):
                compiled(tnp.asarray([0, wrong]))


@pytest.mark.host  # an accelerator's copy of NumPy's array lies otherwise
@pytest.mark.parametrize("order", ["C", "F"])
def test_shapes_that_need_a_copy(order: str) -> None:
    """Beside an axis of length one the trace saw no need, and torch refused the graph in words of its own."""
    x = numpy.zeros((4, 3, 1, 5))
    for shape in ((4, 9), (36,), (4, 3, 3), (4, 3, 1, 1, 3), (-1, 3)):
        y = x[..., ::2] if order == "C" else x[..., ::2].T
        same(lambda xp, y=y, shape=shape: xp.reshape(xp.asarray(y), shape, order=order, copy=False))


REFUSED: dict[str, tuple[Callable[[Any, Any], Any], Any, Any]] = {  # values that a function takes, and does not take
    "power": (lambda xp, x: xp.asarray([2, 3]) ** x, [0, 2], [0, -2]),
    "power.at": (lambda xp, x: xp.power.at(xp.asarray([2, 3]), [0, 1], x), [0, 2], [0, -2]),
    "power.accumulate": (lambda xp, x: xp.power.accumulate(x), [2, 3], [2, -3]),
    "nanargmax": (lambda xp, x: xp.nanargmax(x, axis=0), [[1, 3], [2, numpy.nan]], [[1, numpy.nan], [2, numpy.nan]]),
    "nanargmin": (lambda xp, x: xp.nanargmin(x), [numpy.nan, 1], [numpy.nan, numpy.nan]),
    "average": (lambda xp, x: xp.average([1, 2], weights=x), [-1, 2], [-1, 1]),
    "geomspace": (lambda xp, x: xp.geomspace(x, 8, 3), [1, 2], [1, 0]),
    "digitize": (lambda xp, x: xp.digitize([1, 2], x), [3, 2, 1], [3, 1, 2]),
    "histogram": (lambda xp, x: xp.histogram([1, 2], x), [1, 2, 2], [1, 3, 2]),
    "histogramdd": (lambda xp, x: xp.histogramdd(xp.asarray([[1], [2]]), [x])[0], [1, 2, 2], [1, 3, 2]),
    "quantile": (lambda xp, x: xp.quantile([1, 2], x), [0, 1], [0, 2]),
    "nanpercentile": (lambda xp, x: xp.nanpercentile([1, 2], x), [0, 100], [0, -1]),
    "take_along_axis": (lambda xp, x: xp.take_along_axis(xp.asarray([1, 2]), x, 0), [1, -2], [0, -3]),
    "eigvals": (lambda xp, x: xp.linalg.eigvals(x), [[1j, 0], [0, 1]], [[1j, numpy.inf], [0, 1]]),
    "eig": (lambda xp, x: xp.linalg.eig(x)[0], [[1j, 0], [0, 1]], [[1j, numpy.nan], [0, 1]]),
}


@pytest.mark.host  # a graph on an accelerator does not look
@pytest.mark.parametrize("name", REFUSED)
def test_values_that_graphs_refuse(name: str) -> None:
    """They gave results of no meaning."""
    function, right, wrong = REFUSED[name]
    compiled = tnp.compile(lambda x: function(tnp, x), backend="eager")
    for values, is_refused in ((numpy.asarray(right), False), (numpy.asarray(wrong), True)):
        expected = outcome(lambda xp, values=values: function(xp, values), numpy)
        assert isinstance(expected, Raised) is is_refused
        assert_same(expected, outcome(lambda xp, values=values: compiled(xp.asarray(values)), tnp), rtol=1e-12)


@pytest.mark.parametrize("name", REFUSED)
def test_values_that_are_refused_in_batches(name: str) -> None:
    function, right, wrong = REFUSED[name]
    expected = outcome(lambda xp: function(xp, xp.asarray(wrong)), numpy)
    assert isinstance(expected, Raised)
    batch = tnp.stack([tnp.asarray(right), tnp.asarray(wrong)])
    assert_same(expected, outcome(lambda xp: xp.vectorized_map(lambda x: function(xp, x), batch), tnp))


@pytest.mark.parametrize(
    "function",
    [
        lambda xp, x: xp.busday_offset(x, 1),
        lambda xp, x: xp.busday_offset("2024-01-05", x[:2], roll="x"),
        lambda xp, x: xp.busday_offset(["2024-01-05"] * 2, [x, x]),
        lambda xp, x: xp.busday_count("2024-01-05", x),
        lambda xp, x: xp.is_busday("2024-01-05", holidays=x),
        lambda xp, x: xp.is_busday("2024-01", x),
        lambda xp, x: xp.format_float_positional(x[0], precision=-3),
        lambda xp, x: xp.format_float_scientific(x, min_digits=2**70),
        lambda xp, x: xp.array_repr(x, precision=2**70),
        lambda xp, x: xp.array2string(x, formatter=True),
        lambda xp, x: xp.linalg.cross(x, 2**70),
    ],
)
def test_what_is_wrong_apart_from_values_is_said_first(function: Any) -> None:
    """That there are none was said first."""
    x = numpy.asarray([1.5, 1, 0])
    expected = outcome(lambda xp: function(xp, x), numpy)
    assert isinstance(expected, Raised)
    compiled = tnp.compile(lambda x: function(tnp, x), backend="eager")
    assert_same(expected, outcome(lambda xp: compiled(xp.asarray(x)), tnp))


LOW_PRECISION: list[Any] = [
    lambda x: x * x / x,
    lambda x: (x * x + 1) - x * x,
    lambda x: tnp.where(x * x / x == x, x * 3.3 / 3.3, -x),
    lambda x: -abs(x * x) * 0.1 / x,
    lambda x: tnp.fori_loop(0, 3, lambda i, carry: carry * carry / carry / 2, x),
]


@pytest.mark.parametrize("dynamic", [True, False])
def test_low_precision_is_rounded_after_each_operation(dynamic: bool) -> None:
    chains = LOW_PRECISION[:1] if dynamic else LOW_PRECISION
    traced = tnp.compile(lambda xs: [chain(x) for x in xs for chain in chains], dynamic=dynamic)
    for length in (1, 35):
        xs = [tnp.asarray(torch.linspace(200, 450, length).to(dtype)) for dtype in (torch.float16, torch.bfloat16)]
        expected = [chain(x) for x in xs for chain in chains]
        for one, found in zip(expected, traced(xs), strict=True):
            assert torch.equal(found.tensor.nan_to_num(-1), one.tensor.nan_to_num(-1))


def test_low_precision_may_be_traded_for_speed() -> None:
    x = tnp.asarray(torch.full((4,), 300.0, dtype=torch.float16))
    traced = tnp.compile(LOW_PRECISION[0], options={"emulate_precision_casts": False})
    assert traced(x).tolist() == [300.0] * 4


def test_searches_of_lines_that_end_with_nan() -> None:
    line = numpy.array([-numpy.inf, 0, 1, 1, numpy.inf, numpy.inf, numpy.nan, numpy.nan])
    values = numpy.array([[numpy.nan, numpy.inf, -numpy.inf, 1], [0.5, 2, -0.0, -1]])

    def function(xp: Any) -> Any:
        lines = [xp.asarray(each) for each in (line, line[:6], line[:0], line.astype("f4"), line[6:])]
        return [xp.searchsorted(each, xp.asarray(values), side) for each in lines for side in ("left", "right")]

    same(function)


def test_small_matrices_are_computed_as_eagerly(monkeypatch: pytest.MonkeyPatch) -> None:
    """By NumPy, and without singular vectors that nothing reads."""
    chosen = []
    choose = linalg.choose

    def noted(module: Any) -> None:
        choose(module)
        chosen.extend([(str(node.target), node.args[1:]) for node in module.graph.nodes])

    monkeypatch.setattr(linalg, "choose", noted)
    monkeypatch.setattr(code_cache, "load", lambda name, sizes: None)
    rng = numpy.random.default_rng(0)
    a, b = rng.random((4, 5, 5)) + 5 * numpy.eye(5), rng.random((4, 5, 2))

    def function(x: Any, y: Any) -> Any:
        np = tnp.linalg
        return np.inv(x), np.det(x), np.solve(x, y), np.cholesky(x @ x.mT), np.svdvals(x), np.eigvalsh(x), np.slogdet(x)

    compiled = tnp.compile(function)
    for one, other in zip(function(tnp.asarray(a), tnp.asarray(b)), compiled(a, b), strict=True):
        for mine, theirs in zip(one, other, strict=True) if isinstance(one, tuple) else [(one, other)]:
            assert_same(numpy.asarray(mine), theirs, rtol=1e-12)
    names = [name for name, _ in chosen]
    assert names.count("tnp.small_matrix.default") == 3
    assert ("aten._linalg_svd.default", (False, False)) in chosen
    assert ("aten._linalg_eigh.default", ("L", False)) in chosen
    assert not any("check_errors" in name for name in names)
    a[1] = 0
    with pytest.raises(tnp.linalg.LinAlgError, match="Singular matrix"):
        compiled(a, b)


REDUCTIONS: dict[str, Callable[[Any], Any]] = {
    "min": lambda x: x.min(axis=1),
    "max": lambda x: x.max(axis=1),
    "min of all": lambda x: x.min(),
    "max of all": lambda x: x.max(),
    "argmin": lambda x: x.argmin(axis=1),
    "argmax": lambda x: x.argmax(axis=1),
    "ptp": lambda x: numpy.ptp(x, axis=1) if isinstance(x, numpy.ndarray) else tnp.ptp(x, axis=1),
    "sum": lambda x: x.sum(axis=1, dtype=x.dtype),
    "prod": lambda x: x.prod(axis=1, dtype=x.dtype),
    "any": lambda x: x.any(axis=1),
}


@pytest.mark.parametrize("backend", ["inductor", None])
def test_reductions_of_more_bytes_than_a_vector_has(backend: str | None) -> None:
    """Inductor's vectors of bytes are filled in part, and it reduced the zeros in the rest, too."""
    numbers = numpy.arange(3 * 67).reshape(3, 67) * 7 % 97
    given = [(numbers + 3).astype("i1"), (-3 - numbers).astype("i1"), (numbers + 150).astype("u1"), numbers % 5 == 0]

    def reduced(arrays: list[Any]) -> list[Any]:
        of_numbers = [[function(x) for function in REDUCTIONS.values()] for x in arrays[:3]]
        return [*of_numbers, [REDUCTIONS[name](arrays[3]) for name in ("min", "max", "argmin", "argmax", "any")]]

    assert_same(reduced(given), tnp.compile(reduced, backend=backend)([*map(tnp.asarray, given)]))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_ufuncs_that_stay_whole_in_graphs(backend: str, dtype: str) -> None:
    """They are NumPy's where arrays are in C order, and have torch's steps where gradients or batches need them."""
    values = numpy.array([0.0, -0.0, 1.0, -7.0, 3.0, 20.0, 1e9, -2.0] * 150)
    first, second = values.astype(dtype), numpy.roll(values, 3).astype(dtype)

    def function(xp: Any) -> Any:
        x, y = xp.asarray(first), xp.asarray(second)
        with xp.errstate(all="ignore"):
            found = [xp.fmod(x, y), xp.remainder(x, y), xp.divmod(x, y), xp.floor_divide(x.reshape(30, -1).T, 3)]
            if dtype == "int64":
                return found, xp.gcd(x, y), xp.lcm(x, y), xp.bitwise_count(x)
            return found, xp.frexp(x), xp.ldexp(y, xp.asarray([1, -1500, 3, 1200] * 300))

    same(function, backend)
    slope = tnp.grad(lambda x: tnp.cosh(x) + tnp.cbrt(x))
    steep = tnp.compile(lambda x: tnp.vectorized_map(slope, x))
    expected = numpy.sinh(values[2:6]) + 1 / (3 * numpy.cbrt(values[2:6]) ** 2)
    numpy.testing.assert_allclose(tnp.asnumpy(steep(tnp.asarray(values[2:6]))), expected)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64", "float32", "float64", "complex128"])
def test_places_of_extremes_of_arrays_in_different_orders(dtype: str) -> None:
    values = (numpy.arange(20000).reshape(100, 200) * 7919 % 1000).astype(dtype)
    x, y = tnp.asarray(values), tnp.asarray(values.T.copy()).T
    for name in ("argmax", "argmin"):
        found = tnp.compile(
            lambda x, y, name=name: tnp.vectorized_map(lambda rows: getattr(tnp, name)(rows[0] + rows[1]), (x, y))
        )
        numpy.testing.assert_array_equal(tnp.asnumpy(found(x, y)), getattr(numpy, name)(values + values, axis=1))


def test_bools_are_shown_as_bytes() -> None:
    def function(xp: Any) -> Any:
        x = xp.arange(5000) % 7
        return (x > 3).view(xp.uint8) * 2, (x % 2).astype(xp.uint8).view(bool) & (x > 2)

    same(function, "inductor")


@pytest.mark.parametrize("dtype", ["bool", "uint8", "uint32", "int64", "float32", "complex128"])
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_reductions_that_stay_whole_in_graphs(backend: str, dtype: str) -> None:
    """They are NumPy's where the layout of the result is known, and torch's elsewhere."""
    values = (numpy.arange(20000).reshape(100, 200) * 7919 % 1000 - 1).astype(dtype)
    values[3, 5] = numpy.nan if dtype == "float32" else 0

    def function(xp: Any) -> Any:
        x = xp.asarray(values)
        found = [reduction(y) for y in (x, x.T, x[::3, 1:]) for reduction in (xp.any, xp.all, xp.argmax, xp.argmin)]
        found += [xp.any(x, axis=0), xp.all(x.T, axis=1, keepdims=True), xp.argmax(x.T, axis=0), xp.any(x, axis=(0, 1))]
        found += [
            xp.argmin(x, axis=1, keepdims=True),
            xp.max(x != 3, axis=0),
            xp.any(xp.broadcast_to(x[0], (9, 200)), 0),
        ]
        return found

    same(function, backend)
    if backend == "inductor" and dtype != "uint32":
        rows = tnp.compile(lambda x: tnp.vectorized_map(lambda row: (tnp.any(row), tnp.argmax(row)), x))
        for found, expected in zip(rows(tnp.asarray(values)), (values.any(1), values.argmax(1)), strict=True):
            numpy.testing.assert_array_equal(tnp.asnumpy(found), expected)


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_sets_and_histograms_that_stay_whole_in_graphs(backend: str) -> None:
    whole = numpy.arange(20000) * 7919 % 1000
    floats, edges = numpy.sin(whole), numpy.linspace(-1, 1, 31)
    floats[7] = numpy.nan

    def function(xp: Any) -> Any:
        x, i, e = xp.asarray(floats), xp.asarray(whole), xp.asarray(edges)
        counts = [xp.histogram(x, e)[0], xp.histogram(x[:9], e)[0], xp.histogram(i, 7), xp.histogram(i, 7, weights=i)]
        return (
            counts,
            xp.isin(i, i[:50]),
            xp.isin(x, x[5:9]),
            xp.isin(i.reshape(100, 200).T, i[:9], invert=True),
            xp.isin(xp.nan, [xp.nan]),
        )

    same(function, backend)


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_bits_along_other_axes(backend: str) -> None:
    octets = (numpy.arange(2000) * 7919 % 256).astype("uint8").reshape(40, 50)

    def function(xp: Any) -> Any:
        x = xp.asarray(octets)
        bits = [xp.packbits(x > 9, axis=0), xp.packbits(x.T > 9, axis=1), xp.packbits(x[:, ::3] > 9, axis=1)]
        return [each + 0 for each in (*bits, xp.unpackbits(x, axis=0), xp.unpackbits(x.T, axis=1, bitorder="little"))]

    found, expected = outcome_compiled(function, backend), outcome(function, numpy)
    for one, other in zip(found, expected, strict=True):
        numpy.testing.assert_array_equal(tnp.asnumpy(one), other)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8"])
def test_truths_of_rows(dtype: str) -> None:
    """Inductor's masks are stored and loaded whole, and the rest of a row in part."""
    rng = numpy.random.default_rng(0)

    def stored(xp: Any, values: Any) -> Any:
        x = xp.asarray(values)
        like, count = xp.asarray(values[0]) == x, values.shape[1]
        return like, (x > 3) & (x[:1] < 9), xp.ones(3 * count, bool), ~like[:, 1:], like.sum(0), xp.where(like, x, 5)

    def loaded(xp: Any, values: Any, truths: Any) -> Any:
        x, m = xp.asarray(values), xp.asarray(truths)
        changed = xp.array(m)
        changed[:, 1:] &= x[:, 1:] > 3
        found = xp.where(m, x, 5), m[:, 3:] & (x[:, 3:] > 2), m * x, m.astype(dtype) + x, ~m, changed
        return *found, m.sum(), m.sum(0), m.sum(1), (m & (x > 1)).sum(axis=0)

    rows = [(numpy.arange(30 * count).reshape(30, count) % 17).astype(dtype) for count in (7, 67, 1003)]
    given = [(values, rng.random(values.shape) > 0.5) for values in rows]
    same(lambda xp: [(stored(xp, values), loaded(xp, values, truths)) for values, truths in given], "inductor")


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_a_diagonal_is_written_in_place(backend: str) -> None:
    start = numpy.arange(40000.0).reshape(200, 200)

    def function(xp: Any) -> Any:
        p, q, r = (xp.asarray(start) + each for each in range(3))
        xp.fill_diagonal(p, 5.0)
        xp.fill_diagonal(q, q[0] * 2)
        xp.fill_diagonal(r, xp.diagonal(r)[::-1] + r[1])
        return p, q, r

    same(function, backend)
    p = tnp.asarray(start)
    tnp.compile(lambda p: tnp.fill_diagonal(p, tnp.diagonal(p)[::-1] + p[1]))(p)
    numpy.fill_diagonal(start, numpy.diagonal(start)[::-1] + start[1])
    numpy.testing.assert_array_equal(tnp.asnumpy(p), start)


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_parts_of_reversed_columns(backend: str) -> None:
    """The parts are a view, by its place in memory, of complex numbers in the order of columns."""
    z = numpy.asarray(numpy.arange(12).reshape(3, 4) * (1 + 2j) + 1, order="F")

    def function(xp: Any) -> Any:
        x = xp.array(z)
        return (x * 2)[::-1].imag, (x + 1)[:, ::-2].real, (x * 1j)[::-1]

    same(function, backend)


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("shape", [(3, 4), (40, 60)])
def test_quantiles_of_what_is_not_nan(shape: tuple[int, ...], axis: int | None) -> None:
    """Each line has its own places, which the compiled code has a partition for; a line of nothing but NaN warns."""
    values = numpy.random.default_rng(0).normal(size=shape)
    values[values > 0.8] = numpy.nan
    values[:, 1] = [1.0, *[numpy.nan] * (shape[0] - 1)]

    def function(xp: Any) -> Any:
        x = xp.asarray(values)
        many = xp.nanpercentile(x, xp.linspace(0, 100, 30), axis=axis)
        return xp.nanmedian(x, axis=axis), xp.nanquantile(x, [0.25, 0.5], axis=axis, method="lower"), many

    same(function, "inductor" if axis is None else "eager")


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_sorts_of_complex_numbers(backend: str) -> None:
    values = numpy.array([[1 + 2j, 1 - 1j, numpy.nan], [complex(0, numpy.nan), 3, 1 - 1j], [2j, 1j, -1]])
    same(lambda xp: [xp.sort(xp.asarray(values) * 1, axis=axis) for axis in (None, 0, 1)], backend)
    same(lambda xp: xp.sort_complex(xp.asarray([3, 1, 2]) + 1), backend)


def test_sorts_in_a_loop() -> None:
    """Lines of many elements in all are NumPy's to sort, of few the loop's."""
    values = numpy.random.default_rng(0).normal(size=(40, 60))

    def function(xp: Any) -> Any:
        x, total = xp.asarray(values), 0.0
        for i in range(30):
            x = xp.sort(x * 1.5 - xp.roll(x, i), axis=i % 2)
            total = total + xp.partition(x, 7, axis=1)[:, 7].sum() + xp.median(x[:4, :5], axis=0).sum()
            if total > 1e9:
                total = total * 0.5
        return x, total

    assert_same(outcome(function, numpy), outcome_compiled(function, "inductor"), rtol=1e-9)
