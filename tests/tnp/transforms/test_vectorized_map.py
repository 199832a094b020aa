"""``vectorized_map``: what a loop over the elements gives, computed at once; and the loop where that can't be."""

from __future__ import annotations

import contextlib
import operator
import warnings
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import tnp as np
from tests.oracle import assert_same, placed

Pair = namedtuple("Pair", "x y")


def rows() -> Any:
    return np.arange(6.0).reshape(3, 2)


def same(actual: Any, expected: Any) -> None:
    assert type(actual) is np.ndarray and actual.dtype == expected.dtype
    numpy.testing.assert_allclose(np.asnumpy(actual), np.asnumpy(expected), rtol=1e-14)
    actual[...] = 0  # its memory is its own


def written(row: Any) -> Any:
    out = np.zeros(3)
    out[0] = row.sum()
    out[1:] = row
    return out


def in_place(row: Any) -> Any:
    y = row.copy()
    y += 1
    y *= row
    y[y > 2] = 0.0
    return y


def literal(row: Any) -> Any:
    out = np.array([0.0, 1.0, 2.0])
    out[1] = row[0]
    out[-1] += row[1]
    return out


def through_views(row: Any) -> Any:
    out = np.zeros((2, 2))
    second = out[1]
    second[...] = row
    out.T[0, 0] = row[1]
    return out


def into_a_result(row: Any) -> Any:
    out = np.ones(2) * np.full(2, 3.0)
    out[0] = row[1]
    return out


def into_a_result_of_shared_arrays(row: Any) -> Any:
    out = SHARED * 2
    out[0] = row[1]
    view = out[1:]
    view += row[0]
    return out


SHARED = placed(np, [1.0, 2.0])


def into_a_range(row: Any) -> Any:
    out = np.arange(2.0)
    out[0] = row[1]
    return out


def shared_work(row: Any) -> Any:
    table = np.asarray([1.0, 2.0]) * 2
    table[0] = 7.0
    return row @ table + np.linspace(0, 1, 2)


def with_out(row: Any) -> Any:
    out = np.empty(2)
    np.add(row, 1, out=out)
    np.multiply(out, out, out=out, where=row > 1)
    np.sqrt(out, out)
    return out


def added_at(row: Any) -> Any:
    out = np.zeros(3)
    np.add.at(out, [0, 0, 2], row[0])
    np.add.at(out, np.array([1, 1]), row)
    return out


def masked(row: Any) -> Any:
    out = np.zeros_like(row)
    out[row > 2] = row[0]
    out[np.array([True, False])] -= 1
    return out


def selected(row: Any) -> Any:
    out = np.zeros(2)
    out[np.argmax(row)] = row[np.argmin(row)]
    return out


def filled(row: Any) -> Any:
    out = np.zeros(4)
    out.fill(row[0])
    out[::2] = row
    out.reshape(2, 2).T[1] += row
    out.flat[1] = row[1]
    return out


def by_function(row: Any) -> Any:
    out = np.zeros(4)
    np.put(out, [0, 3], row)
    np.copyto(out[1:3], row)
    np.fill_diagonal(out.reshape(2, 2), row[0])
    np.putmask(out, out > 2, 9.0)
    return out


def sorted_in_place(row: Any) -> Any:
    out = row[::-1].copy()
    out.sort()
    return out


def in_a_scalar(row: Any) -> Any:
    total = np.zeros(())
    total[...] = row.sum()
    total += row[0]
    return total


def in_a_shared_element(row: Any) -> Any:
    total = np.array(SHARED[0])
    total[...] += row.sum()
    return total


def by_values_of_all(row: Any) -> Any:
    """An element of an array from outside is the same for all, and may be asked for."""
    count = SHARED[1]
    total = sum(row[i] for i in range(int(count))) if SHARED[0] > 0 and SHARED[...][0].item() else 0
    return total * row[int(count) - 1] + np.arange(count) + np.zeros(count.astype(int)) + float(SHARED[0])


def over_elements(row: Any) -> Any:
    total = 0.0
    for value in row:
        total += value
    return total


@pytest.mark.parametrize(
    "function",
    [
        written,
        in_place,
        literal,
        through_views,
        into_a_result,
        into_a_result_of_shared_arrays,
        into_a_range,
        shared_work,
        with_out,
        added_at,
        masked,
        selected,
        filled,
        by_function,
        sorted_in_place,
        in_a_scalar,
        in_a_shared_element,
        by_values_of_all,
        over_elements,
        lambda row: row / row.sum(),
        lambda row: row,
        lambda row: 3.0,
        lambda row: True,
        lambda row: np.stack([row, row[::-1]]),
        lambda row: np.array([row[0], row[1] * 2, 1.0]),
        lambda row: np.where(row > 1, row, -row),
        lambda row: np.median(row) + np.percentile(row, 30),
        lambda row: row.astype(np.int32) // 2,
        lambda row: (row > 1) & (row < 4),
        lambda row: np.outer(row, row) @ row,
        lambda row: np.linalg.solve(np.eye(2) + np.outer(row, row), row),
        lambda row: np.cumsum(row)[::-1],
        lambda row: np.concatenate([row, np.ones(1), [2.0]]),
        lambda row: np.einsum("i,j->ij", row, row),
    ],
)
@pytest.mark.parametrize("chunk_size", [None, 2])
def test_it_is_the_loop(function: Callable[[Any], Any], chunk_size: int | None) -> None:
    expected = np.map_fn(function, rows())
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        actual = np.vectorized_map(function, rows(), chunk_size=chunk_size)
    same(actual, expected)
    numpy.testing.assert_array_equal(np.asnumpy(SHARED), [1, 2])


@pytest.mark.parametrize("function", [written, in_place, literal, through_views, added_at, filled, with_out])
def test_compiled(function: Callable[[Any], Any]) -> None:
    expected = np.map_fn(function, rows())
    around = np.compile(lambda x: np.vectorized_map(function, x) * 1, backend="eager")
    same(around(rows()), expected)
    same(np.vectorized_map(np.compile(function, backend="eager"), rows()), expected)


def test_compiled_to_machine_code() -> None:
    around = np.compile(lambda x: np.vectorized_map(written, x))
    same(around(rows()), np.map_fn(written, rows()))
    same(around(rows() + 1), np.map_fn(written, rows() + 1))
    assert around.cache_info().traces == 1


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_map_fn_is_one_loop_of_a_graph(backend: str) -> None:
    shared = np.asarray([2.0, 3.0])

    def function(tree: Any) -> Any:
        x, whole = tree
        return {"sum": (x * shared).sum() + whole, "row": [x + 1, 3.5]}

    def mapped(x: Any, whole: Any) -> Any:
        return np.map_fn(function, (x, whole), in_axes=(1, None), out_axes={"sum": 0, "row": [1, 0]})

    around = np.compile(mapped, backend=backend)
    counts = []
    for n in (20, 200):
        arguments = np.arange(2.0 * n).reshape(2, n), np.asarray(5.0)
        expected, actual = mapped(*arguments), around(*arguments)
        same(actual["sum"], expected["sum"])
        for one, other in zip(actual["row"], expected["row"], strict=True):
            same(one, other)
        counts.append(len(list(around.graph(*arguments))))
    assert counts[0] == counts[1] < 20


@pytest.mark.parametrize("function", [written, in_place, literal, through_views, added_at, filled, with_out])
def test_map_fn_writes_in_a_graph(function: Callable[[Any], Any]) -> None:
    def x() -> Any:
        return np.arange(30.0).reshape(15, 2) - 9

    ours, theirs = x(), x()
    same(np.compile(lambda x: np.map_fn(function, x), backend="eager")(ours), np.map_fn(function, theirs))
    same(ours, theirs)


# Trees and axes.


def test_trees_in_and_out() -> None:
    def function(tree: Any) -> Any:
        assert type(tree["pair"]) is Pair and tree["name"] == "n"
        return [tree["pair"].x + tree["whole"], {"sum": (tree["pair"].y.sum(), 2), "name": tree["name"]}]

    elems = {"pair": Pair(rows(), numpy.ones((3, 4))), "whole": np.asarray([10.0, 20.0]), "name": "n"}
    first, second = np.vectorized_map(function, elems, in_axes={"pair": 0, "whole": None, "name": None})
    same(first, rows() + np.asarray([10.0, 20.0]))
    assert second["name"] == "n"
    same(second["sum"][0], np.full(3, 4.0))
    same(second["sum"][1], np.full(3, 2))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_axes_in(axis: int) -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    expected = np.stack([m.T @ m for m in np.moveaxis(x, axis, 0)])
    same(np.vectorized_map(lambda m: m.T @ m, x, in_axes=axis), expected)
    same(np.map_fn(lambda m: m.T @ m, x, in_axes=axis), expected)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_axes_out(axis: int) -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    same(np.vectorized_map(lambda m: m + 1, x, out_axes=axis), np.stack(list(x + 1), axis))
    first, second = np.vectorized_map(lambda m: (m, m[0]), x, out_axes=(axis, 0))
    same(second, x[:, 0])
    same(first, np.stack(list(x), axis))


def test_nested() -> None:
    def function(row: Any) -> Any:
        out = np.zeros(2)

        def inner(element: Any) -> Any:
            buffer = np.zeros(2)
            buffer[0] = element
            buffer[1] = row.sum()
            return buffer

        both = np.vectorized_map(inner, row)
        out[:] = both[:, 0]
        return out, both

    out, both = np.vectorized_map(function, rows())
    expected_out, expected_both = np.map_fn(function, rows())
    same(out, expected_out)
    same(both, expected_both)


def test_a_sum_over_the_outer_elements_from_inside() -> None:
    def function(row: Any) -> Any:
        total = np.zeros(())

        def inner(element: Any) -> Any:
            total[...] += element
            return total + 0.0

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return np.vectorized_map(inner, row)

    same(np.vectorized_map(function, rows()), np.cumsum(rows(), axis=1))


def test_dtypes() -> None:
    for dtype in ("bool", "uint8", "uint16", "uint64", "int64", "float16", "complex64"):
        x = np.asarray(rows(), dtype=dtype)

        def function(row: Any) -> Any:
            out = np.zeros(3, dtype=row.dtype)
            out[1:] = row
            return out + out

        same(np.vectorized_map(function, x, fallback=False), np.map_fn(function, x))


# Writes that are seen outside.


def test_an_element_is_a_view() -> None:
    x = rows()

    def function(row: Any) -> Any:
        row *= 2
        row[0] = -1
        return row.sum()

    same(np.vectorized_map(function, x, fallback=False), np.asarray([1.0, 5.0, 9.0]))
    numpy.testing.assert_array_equal(np.asnumpy(x), [[-1, 2], [-1, 6], [-1, 10]])


def test_a_write_to_an_array_of_all_elements_is_a_loop() -> None:
    total, count = np.zeros(2), np.zeros(1)
    x = rows()

    def function(row: Any) -> Any:
        row += 1
        np.add(count, 1, out=count)
        total[...] += row
        return total * count

    with pytest.warns(RuntimeWarning, match=r"test_vectorized_map\.py:\d+: .*the same for all elements is written to"):
        result = np.vectorized_map(function, x)
    numpy.testing.assert_array_equal(np.asnumpy(count), [3])
    numpy.testing.assert_array_equal(np.asnumpy(total), [9, 12])
    numpy.testing.assert_array_equal(np.asnumpy(x), np.asnumpy(rows() + 1))  # each row once
    same(result, np.cumsum(rows() + 1, axis=0) * np.asarray([[1], [2], [3]]))


# The loop.


def test_values_make_a_loop_with_one_warning() -> None:
    def function(row: Any) -> Any:
        return row if row[0] > 1 else -row

    with pytest.warns(RuntimeWarning) as caught:
        result = np.vectorized_map(function, rows())
    (warning,) = caught
    line = function.__code__.co_firstlineno + 1
    assert f"{__file__}:{line}: " in str(warning.message)
    assert warning.filename == __file__
    same(result, np.asarray([[0.0, -1.0], [2.0, 3.0], [4.0, 5.0]]))
    with pytest.raises(RuntimeError, match=f"test_vectorized_map.py:{line}: .* can't be done for all elements at once"):
        np.vectorized_map(function, rows(), fallback=False)


@pytest.mark.parametrize(
    "function", [lambda row: row[row > 1][:1].sum(), lambda row: float(row[0]), lambda r: len(np.unique(r))]
)
def test_what_depends_on_values(function: Callable[[Any], Any]) -> None:
    with pytest.warns(RuntimeWarning, match="once for each element"):
        result = np.vectorized_map(function, rows())
    same(result, np.map_fn(function, rows()))


def test_results_of_several_shapes() -> None:
    with (
        pytest.warns(RuntimeWarning),
        pytest.raises(ValueError, match=r"of shape \(0,\) for the first .* \(2,\) for el"),
    ):
        np.vectorized_map(lambda row: row[row > 1], rows())


def test_results_of_several_structures() -> None:
    with pytest.raises(ValueError, match="another structure for element 1"):
        np.map_fn(lambda row: (row,) if row[0] == 0 else [row], rows())


def test_an_error_of_the_function_is_no_loop() -> None:
    calls = []

    def function(row: Any) -> Any:
        calls.append(row)
        return row @ np.ones(5)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="size 5 is different from 2"):
            np.vectorized_map(function, rows())
    assert len(calls) == 1


# Random numbers.


def test_random_numbers() -> None:
    def draw(row: Any) -> Any:
        return np.random.normal(size=4)

    different = np.asnumpy(np.vectorized_map(draw, rows()))
    assert len(numpy.unique(different)) == 12
    for chunk_size in (None, 1, 2):
        shared = np.asnumpy(np.vectorized_map(draw, rows(), randomness="same", chunk_size=chunk_size))
        assert len(numpy.unique(shared)) == 4
    with pytest.raises(RuntimeError, match="randomness"):
        np.vectorized_map(draw, rows(), randomness="error")


# Errors.


def test_no_elements() -> None:
    assert np.vectorized_map(lambda row: row.sum(), np.zeros((0, 2))).shape == (0,)
    with pytest.raises(ValueError, match="there are no elements"):
        np.map_fn(lambda row: row, np.zeros((0, 2)))
    with pytest.raises(ValueError, match="nothing to map over"):
        np.vectorized_map(lambda row: row, rows(), in_axes=None)
    with pytest.raises(ValueError, match="nothing to map over"):
        np.vectorized_map(lambda row: row, 3.0)


def test_axes_in_a_container_like_the_arrays() -> None:
    found = np.vectorized_map(lambda pair: pair.x * pair.y, Pair(rows(), np.arange(2.0)), in_axes=Pair(0, None))
    assert found.tolist() == (rows() * np.arange(2.0)).tolist()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"in_axes": 2}, numpy.exceptions.AxisError, "in_axes: axis 2 is out of bounds"),
        ({"in_axes": (0, 0)}, ValueError, r"in_axes \(0, 0\) is built differently"),
        ({"out_axes": 3}, numpy.exceptions.AxisError, "out_axes: axis 3"),
        ({"out_axes": {"a": 0}}, ValueError, "out_axes"),
        ({"out_axes": None}, ValueError, "out_axes is None for an array"),
        ({"randomness": "some"}, ValueError, "randomness must be one of"),
        ({"chunk_size": 0}, ValueError, "chunk_size must be at least 1"),
    ],
)
def test_wrong_options(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        np.vectorized_map(lambda row: row, rows(), **options)


def test_different_numbers_of_elements() -> None:
    with pytest.raises(ValueError, match=r"\[3, 2\]: elems\[0\]: ndarray float64 \(3, 2\), elems\[1\]: ndarray"):
        np.vectorized_map(lambda pair: pair[0], (rows(), np.ones(2)))


def test_per_example_gradients_of_torch(device: str) -> None:
    w = torch.tensor([1.0, 2.0], dtype=torch.float64, device=device)

    def function(row: Any) -> Any:
        return np.asarray(torch.func.grad(lambda w: (written(np.asarray(w) * row)[0] ** 2).tensor)(w))

    result = np.vectorized_map(function, rows())
    x = np.asnumpy(rows())
    numpy.testing.assert_allclose(np.asnumpy(result), 2 * (x @ [1, 2])[:, None] * x)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: np.argmin(x, keepdims=True),
        lambda x, y: np.argmax(x > 1, keepdims=True),
        lambda x, y: np.nonzero(np.ones_like(x)),
        lambda x, y: np.unique_values(x[:0]),
        lambda x, y: np.sin.at(x, -1),
        lambda x, y: np.sum(x, out=y),
        lambda x, y: np.linalg.matrix_norm(x[None], keepdims="abc"),
        lambda x, y: np.float_power(1e250j * x, 1),
        lambda x, y: np.float_power(x + 2j * x, 7.0),
    ],
)
def test_found_by_the_fuzzer(function: Any) -> None:
    x, y = np.asarray([[3.0, 1.0], [2.0, 5.0]]), np.asarray(0.0)
    rows = [function(row, y) for row in np.copy(x)]
    found = np.vectorized_map(lambda each: function(*each), (x, y), in_axes=(0, None))
    if isinstance(found, tuple):
        rows, found = [row[0] for row in rows], found[0]
    if found is not None:
        assert found.tolist() == [row.tolist() for row in rows]


@pytest.mark.parametrize("dtype", [bool, float])
def test_choices_written_to_what_all_slices_share(dtype: Any) -> None:
    """The second attempt makes all memory for each slice, that of the question after the indices too."""
    shared = np.zeros(2, dtype)
    with pytest.warns(RuntimeWarning, match="once for each"):
        found = np.vectorized_map(lambda x: np.choose(x, [[1], [2]], out=shared[::2]), np.asarray([[False], [True]]))
    assert found.tolist() == np.asarray([[2], [2]]).astype(dtype).tolist()  # each result is that memory, as in a loop
    with pytest.raises(ValueError, match="invalid entry"):
        np.vectorized_map(lambda x: np.choose(x, [[1], [2]], out=shared[::2]), np.asarray([[0], [2]]))


@pytest.mark.parametrize("operation", [operator.iadd, operator.itruediv, operator.ifloordiv, operator.ipow])
@pytest.mark.parametrize("shape", [(1, 3), (1, 1, 3), (2, 3), (4,)])
def test_in_place_results_that_do_not_fit(operation: Any, shape: tuple[int, ...]) -> None:
    x, y = np.full((2, 3), 4.0), np.full((2, *shape), 2.0)
    with pytest.raises(ValueError, match="broadcast"):
        np.vectorized_map(lambda each: operation(*each), (x, y))
    with pytest.raises(ValueError, match="broadcast"):
        np.vectorized_map(lambda each: operation(*each), (x, y[0]), in_axes=(0, None))
    assert np.all(x == 4.0)


@pytest.mark.parametrize("name", ["percentile", "quantile", "nanquantile"])
def test_quantiles_without_a_place(name: str) -> None:
    function, x = getattr(np, name), np.ones((2, 3))
    assert np.vectorized_map(lambda each: function(*each), (x, np.ones((2, 0)))).shape == (2, 0)
    with pytest.raises(ValueError, match="zero-size array"):
        np.vectorized_map(lambda each: function(*each), (x, np.ones((2, 0, 2))))


def _set_columns(xp: Any, t: Any, i: Any, v: Any) -> None:
    t.reshape(2, 2)[:, i % 2] = v


def _set_apart(xp: Any, t: Any, i: Any, v: Any) -> None:
    t.reshape(2, 1, 2)[i % 2, :, i // 2] = v[:, None]


WRITES_AT: dict[str, Callable[..., None]] = {
    "elements": lambda xp, t, i, v: t.__setitem__(i, v),
    "columns": _set_columns,
    "apart": _set_apart,
    "add.at": lambda xp, t, i, v: xp.add.at(t, i // 2, v),
    "multiply.at": lambda xp, t, i, v: xp.multiply.at(t, i // 2, v),
    "put": lambda xp, t, i, v: xp.put(t, i, v),
    "put_along_axis": lambda xp, t, i, v: xp.put_along_axis(t, i, v, 0),
}


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("length", [1, 2, 4])  # 4 is the number of slices too
@pytest.mark.parametrize("name", WRITES_AT)
def test_writes_in_batches_of_batches(name: str, length: int, shared: bool) -> None:
    rng = numpy.random.default_rng(0)
    targets, values = rng.normal(size=(3, 4, 4)), rng.normal(size=(3, 4, length))
    indices = rng.permuted(numpy.tile(numpy.arange(4), (3, 4, 1)), axis=-1)[..., :length]
    if shared:
        indices[:] = indices[:, :1]

    def written(xp: Any, target: Any, index: Any, value: Any) -> Any:
        target = target * 1
        WRITES_AT[name](xp, target, index, value)
        return target

    def each(batch: Any) -> Any:
        targets, indices, values = batch
        if shared:
            return np.vectorized_map(lambda pair: written(np, pair[0], indices[0], pair[1]), (targets, values))
        return np.vectorized_map(lambda triple: written(np, *triple), batch)

    expected = [[written(numpy, targets[a, b], indices[a, b], values[a, b]) for b in range(4)] for a in range(3)]
    batch = tuple([placed(np, array) for array in (targets, indices, values)])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # that it is done one by one
        assert_same(numpy.array(expected), np.vectorized_map(each, batch), rtol=1e-12)


@pytest.mark.parametrize("shape", [(1, 0), (1, 2)])
def test_no_index_writes_nothing_to_an_argument(shape: tuple[int, ...]) -> None:
    def written(row: Any) -> Any:
        return np.put_along_axis(row, np.zeros((3 if not shape[1] else 0, shape[1]), int), 5, 0)

    rows = np.stack([np.ones(shape, int)] * 2)
    np.vectorized_map(written, rows)
    assert_same(numpy.ones((2, *shape), int), rows)


WRITES_TO_ONE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "put": lambda xp, total, r: total.put(0, r),
    "index": lambda xp, total, r: operator.setitem(total.reshape(1), xp.asarray([0]), r),
    "mask": lambda xp, total, r: operator.setitem(total, xp.asarray(True), r),
    "at": lambda xp, total, r: xp.add.at(total, (), r),
    "ellipsis": lambda xp, total, r: operator.setitem(total, ..., total + r),
}


@pytest.mark.parametrize("name", WRITES_TO_ONE)
def test_a_copy_of_one_element_from_outside_is_written_to(name: str) -> None:
    def total(xp: Any, row: Any, start: Any) -> Any:
        result = start.copy()
        for number in row:
            WRITES_TO_ONE[name](xp, result, number)
        return result

    table = numpy.arange(6.0).reshape(2, 3)
    expected = numpy.array([total(numpy, row, numpy.asarray(1.0)) for row in table])
    start = placed(np, numpy.asarray(1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # that it is done one by one
        assert_same(expected, np.vectorized_map(lambda row: total(np, row, start), placed(np, table)))


SEEDED: dict[str, Callable[[Any], Any]] = {
    "default_rng": lambda v: v + np.random.default_rng(0).random(2),
    "twice": lambda v: v + (lambda rng: rng.normal() + rng.integers(9))(np.random.default_rng([1, 2])),
    "RandomState": lambda v: v + np.random.RandomState(3).rand(),
    "seed": lambda v: v + (np.random.seed(4), np.random.random())[1],
    "permutation": lambda v: np.random.default_rng(0).permutation(v),
}


@pytest.mark.parametrize("name", SEEDED)
@pytest.mark.host  # elsewhere such a generator is refused
def test_a_generator_that_the_function_seeds(name: str) -> None:
    """It draws the same numbers for each element, NumPy's, as in a loop."""
    x = np.arange(6.0).reshape(3, 2)
    expected = np.map_fn(SEEDED[name], x)
    assert np.array_equal(np.vectorized_map(SEEDED[name], x, fallback=False), expected)
    compiled = np.compile(lambda x: np.vectorized_map(SEEDED[name], x, fallback=False), backend="eager")
    if name != "seed":  # which is done once, while tracing
        assert np.array_equal(compiled(x), expected)


def test_generators_that_differ_from_element_to_element() -> None:
    outer = np.random.default_rng(0)
    for function in (lambda v: v + outer.random(), lambda v: v + np.random.default_rng().random()):
        assert len(set(np.vectorized_map(function, np.zeros(5), fallback=False).tolist())) == 5
    bits = np.random.PCG64(0)
    assert len(set(np.vectorized_map(lambda v: v + np.random.Generator(bits).random(), np.zeros(5)).tolist())) == 5


@pytest.mark.parametrize("made", [np.random.PCG64, np.random.MT19937, numpy.random.Philox])
@pytest.mark.host
def test_a_bit_generator_that_the_function_makes(made: Any) -> None:
    def function(v: Any) -> Any:
        return v + np.random.Generator(made(0)).random()

    with pytest.warns(RuntimeWarning, match="may be from outside"):
        found = np.vectorized_map(function, np.zeros(3))
    assert np.array_equal(found, np.map_fn(function, np.zeros(3)))


def divided(v: Any) -> Any:
    with np.errstate(divide="raise"):
        return 1 / v


def divided_or_none(v: Any) -> Any:
    try:
        return divided(v)
    except FloatingPointError:
        return v * 0 - 1


def test_floating_point_errors_of_elements() -> None:
    with pytest.raises(FloatingPointError, match="divide by zero encountered in divide"):
        np.vectorized_map(divided, np.arange(3.0))
    with pytest.raises(FloatingPointError, match="divide by zero encountered in divide"):
        np.grad(divided)(0.0)
    assert np.vectorized_map(divided, np.arange(1.0, 3.0), fallback=False).tolist() == [1.0, 0.5]
    with pytest.warns(RuntimeWarning, match="except FloatingPointError can't be done"):
        assert np.vectorized_map(divided_or_none, np.arange(3.0)).tolist() == [-1.0, 1.0, 0.5]


def inverted(matrix: Any) -> Any:
    try:
        return np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.full((2, 2), -1.0)


def inverted_or_none(matrix: Any) -> Any:
    with contextlib.suppress(np.linalg.LinAlgError):
        return np.linalg.inv(matrix)
    return matrix * 0


def element(matrix: Any) -> Any:
    index = (2 * matrix[0, 1]).astype(int)
    try:
        return np.arange(2.0)[index]
    except IndexError:
        return np.asarray(-1.0)
    finally:
        index += 1


def positive(matrix: Any) -> Any:
    try:
        if matrix[0, 1] > 0:
            return matrix[matrix > 0].reshape(4)
    except ValueError:
        return np.zeros(4)
    return np.ones(4)


def as_number(matrix: Any) -> Any:
    def inner() -> Any:
        return float(matrix[0, 1]) * matrix

    try:
        return inner()
    except Exception:  # as programs do
        return matrix * 0


def as_numpy(matrix: Any) -> Any:
    try:
        return np.asarray(numpy.asarray(matrix)) * 2
    except Exception:
        return matrix * 0


@pytest.mark.parametrize("function", [inverted, inverted_or_none, element, positive, as_number, as_numpy])
def test_an_error_of_one_element_that_the_function_catches(function: Callable[[Any], Any]) -> None:
    matrices = np.asarray([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]])
    expected = np.map_fn(function, matrices)
    with pytest.warns(RuntimeWarning, match=r"test_vectorized_map.py:\d+: "):
        assert np.array_equal(np.vectorized_map(function, matrices), expected)
    with pytest.raises(RuntimeError, match="can't be done for all elements"):
        np.vectorized_map(function, matrices, fallback=False)


def written_in_a_block(x: Any) -> Any:
    with np.errstate(all="ignore"):
        try:
            y = np.zeros(3)
            y[0] = x
            y[[1, 2]] = x * 2
            y[y > 2] *= 2
            return np.sin(y)
        finally:
            x += 1


def test_a_handler_that_catches_nothing_makes_no_loop() -> None:
    x = np.asarray([1.0, 2.0])
    expected = np.map_fn(written_in_a_block, x.copy())
    assert np.array_equal(np.vectorized_map(written_in_a_block, x, fallback=False), expected)


@pytest.mark.filterwarnings("ignore:vectorized_map calls the function")
@pytest.mark.parametrize("key", [..., slice(None), (slice(None),)])
def test_a_shared_array_is_written_to_in_a_trace(key: Any) -> None:
    total, rows = np.zeros(2), np.asarray([[1.0, 2.0], [3.0, 4.0]])

    def adding(row: Any) -> Any:
        total[key] += row
        return row.sum()

    compiled = np.compile(lambda rows: np.vectorized_map(adding, rows), backend="eager")
    assert compiled(rows).tolist() == [3.0, 7.0] and total.tolist() == [4.0, 6.0]


@pytest.mark.parametrize("chunk_size", [None, 1])
def test_an_array_that_was_kept_is_not_an_element_of_the_next_batch(chunk_size: int | None) -> None:
    """Neither of the next chunk: torch takes it for one, as both have the same level."""
    kept: Any = np.zeros(2)

    def keeps(row: Any) -> Any:
        nonlocal kept
        kept = np.concatenate([kept[:1] * 0.5, row[1:]]) + row
        return kept * 2

    with pytest.raises(np.TracedValueError, match="stood for one element"):
        for _ in range(2):
            np.vectorized_map(keeps, rows(), chunk_size=chunk_size)
    seen: list[Any] = []
    found = np.vectorized_map(lambda row: np.vectorized_map(lambda x: seen.append(row * 2) or x, row) + seen[0], rows())
    same(found, rows() * 3)  # of the batch around


@pytest.mark.parametrize(
    "use",
    [
        lambda kept, x: np.jacobian(lambda x: x * kept, mode="forward")(x),
        lambda kept, x: np.jacobian(lambda x: x * kept, mode="reverse")(x),
        lambda kept, x: np.hessian(lambda x: (x**2 * kept).sum())(x),
        lambda kept, x: np.linearize(lambda x: x * kept, x)[1](x),
        lambda kept, x: np.linearize(lambda x: np.linearize(np.jacobian(lambda x: x**2 * kept), x)[1](x), x)[1](x),
        lambda kept, x: np.map_fn(lambda x: x * kept, np.stack([x, x])),
        lambda kept, x: x * kept,
    ],
)
def test_an_array_that_was_kept_is_of_no_use_to_a_derivative(use: Callable[[Any, Any], Any]) -> None:
    """Jacobians took its elements for those of their rows."""
    kept: list[Any] = []
    np.vectorized_map(lambda row: kept.append(row * 2) or row, rows())
    assert kept[0].shape == rows()[0].shape
    with pytest.raises(np.TracedValueError, match="stood for one element"):
        use(kept[0], rows()[0])


@pytest.mark.parametrize(
    "view",
    [
        lambda x: np.rot90(x[::-1].T),
        lambda x: x[::-1].T.T[:, ::-1],
        lambda x: np.flip(x.T[::-1].swapaxes(0, 1), 1),
        lambda x: x[:, ::-1].T.reshape(3, 2).T[::-1],
        lambda x: x[::-1].T.real,
        lambda x: x[::-1].T.ravel("A"),
        lambda x: np.reshape(x.T[::-1], 6, order="A"),
        lambda x: x[::-1].T.copy("A").ravel("K"),
        lambda x: x[:, ::-1].T[1:].imag,
        lambda x: x[::-1].swapaxes(0, 1).real.view("i8")[::-1],
        lambda x: x[::-1].view("f8").view("c16").T.imag.T,
    ],
)
def test_reversed_views_of_views(view: Any) -> None:
    x = np.arange(12.0).reshape(2, 2, 3) + np.arange(5, 17).reshape(2, 2, 3) * 1j
    assert_same(np.asnumpy(np.stack([view(each) for each in x])), np.vectorized_map(view, x))

    def written(each: Any) -> Any:
        each = each * 1
        view(each)[0] += 9
        return each

    assert_same(np.asnumpy(np.stack([written(each) for each in x])), np.vectorized_map(written, x))


def _grown(x: Any) -> Any:
    return np.while_loop(lambda v: (v * v).sum() < 100, lambda v: v * 1.1 + 0.01, x)


def _grown_in_place(x: Any) -> Any:
    def body(v: Any) -> Any:
        made = np.zeros(2)
        made[0] = v
        made += 1
        v *= made[0]
        return v

    return np.while_loop(lambda v: v < 50, body, x)


def _collatz(x: Any) -> Any:
    following = lambda s: (np.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1)  # noqa: E731
    return np.while_loop(lambda s: s[0] != 1, following, ((x * 10).astype(int) + 1, 0))[1]


def _limited(x: Any) -> Any:
    return np.while_loop(lambda v: v < 50, lambda v: v * 2, x, maximum_iterations=3)


def _counted(x: Any) -> Any:
    return np.fori_loop(0, x.astype(int), lambda i, v: v * 2 + i, x)


@pytest.mark.parametrize("function", [_grown, _grown_in_place, _collatz, _limited, _counted, np.grad(_grown)])
@pytest.mark.parametrize("compiled", [False, True])
def test_loops_of_different_lengths(
    function: Callable[[Any], Any], compiled: bool, recwarn: pytest.WarningsRecorder
) -> None:
    if compiled and function not in (_grown, _grown_in_place, _collatz, _limited, _counted):
        function = np.grad(lambda x: np.while_loop(lambda v: v * v < 100, lambda v: v * 1.1 + 0.01, x, 200))
    x = np.asarray([0.5, 1.0, 3.0, 20.0])
    expected = numpy.stack([np.asnumpy(function(each)) for each in x])
    batched = lambda x: np.vectorized_map(function, x)  # noqa: E731
    result = np.compile(batched, backend="eager")(x) if compiled else batched(x)
    assert_same(expected, result, rtol=1e-14)
    assert_same(np.asnumpy(x), np.asarray([0.5, 1.0, 3.0, 20.0]))
    assert not [each for each in recwarn if "once for each" in str(each.message)]


def test_a_loop_that_ends_earlier_for_some_does_not_write_around_it() -> None:
    def run(x: Any) -> Any:
        count = np.zeros(2) + x

        def body(v: Any) -> Any:
            count[0] += 1
            return v * 2

        return np.while_loop(lambda v: v < 50, body, x) + count

    x = np.asarray([0.5, 1.0, 60.0])
    with pytest.warns(RuntimeWarning, match="more steps for some elements than for others writes to an array"):
        result = np.vectorized_map(run, x)
    assert_same(numpy.stack([np.asnumpy(run(each)) for each in x]), result)


def _chosen_and_written(flag: Any, a: Any, b: Any) -> Any:
    b.T[0] = 6
    for _ in range(3):
        a = b[::-1, ::-1]
        b = b * 2
        if flag > 0:
            a = b
            b[1] = 3
    c = a.swapaxes(0, 1)
    d = np.asarray(c)
    b.T[0] = 6
    if flag > 0:
        b[1] = 9
    else:
        b[0, 1] = 6
        d = c.swapaxes(0, 1)
    return d, b


def _written_in_one_branch(flag: Any, a: Any, b: Any) -> Any:
    a[:, ::-1][0, 0] = 6
    b[:, ::-1][0, 0] = 7
    a *= 2
    b[0, 1] = 9
    c = b[::-1]
    for _ in range(3):
        a = a.swapaxes(0, 1)
        if flag > 1:
            c[0, 1] = 5
        else:
            b = b.T[::-1]
            a = a[:, ::-1]
            a[0, 1] = 6
        np.add(c, 4, out=c)
    return c, a


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # which of them run for each element does not matter
@pytest.mark.parametrize("program", [_chosen_and_written, _written_in_one_branch])
def test_what_a_branch_in_a_batch_chose_sees_writes(program: Callable[[Any, Any, Any], Any]) -> None:
    x, flags = numpy.random.default_rng(0).random((3, 3, 3)), numpy.array([1.0, -1.0, 1.0])

    def run(each: Any) -> Any:
        x, flag = each
        x = x * 1.0
        return program(flag, x, x[::-1] * 2)

    batch = np.compile(lambda x, flags: np.vectorized_map(run, (x, flags)), backend="eager")
    loop = [run((np.asarray(one), np.asarray(flag))) for one, flag in zip(x, flags, strict=True)]
    for results, wanted in zip(batch(np.asarray(x), np.asarray(flags)), zip(*loop, strict=True), strict=True):
        assert_same(numpy.stack([np.asnumpy(each) for each in wanted]), results)


REFUSED: dict[str, tuple[Any, Any]] = {
    "bincount": (lambda r: np.bincount(r, minlength=4).sum(), [[1, 2], [1, -2]]),
    "choose": (lambda r: np.choose(r[0], [r[0] * 10, r[1] * 10]), [[0, 2], [5, 2]]),
    "histogram": (lambda r: np.histogram(r, bins=3)[0].sum(), [[1.0, 2.0], [np.nan, 1.0]]),
    "quantile": (lambda r: np.quantile(np.arange(3.0), r[0]), [[0.5], [2.0]]),
    "nanargmax": (lambda r: np.nanargmax(r), [[1.0, 2.0], [np.nan, np.nan]]),
    "unravel_index": (lambda r: np.unravel_index(r[0], (2, 2))[0], [[1], [9]]),
    "ravel_multi_index": (lambda r: np.ravel_multi_index((r[0], r[1]), (3, 3)), [[1, 2], [1, 7]]),
    "power": (lambda r: np.asarray(2) ** r[0], [[3], [-3]]),
    "average": (lambda r: np.average(np.ones(2), weights=r), [[1.0, 1.0], [1.0, -1.0]]),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", REFUSED)
def test_an_error_of_some_elements_that_the_function_catches(name: str, compiled: bool) -> None:
    function, elements = REFUSED[name]

    def caught(row: Any) -> Any:
        try:
            return function(row) * 1.0
        except (ValueError, ZeroDivisionError):
            return np.asarray(-99.0)

    def mapped(rows: Any) -> Any:
        return np.vectorized_map(caught, rows)

    rows = np.asarray(elements)
    with pytest.warns(RuntimeWarning, match="once for each element"):
        found = np.compile(mapped, backend="eager")(rows) if compiled else mapped(rows)
    expected = [np.asnumpy(caught(row)) for row in rows]
    assert expected[1] == -99.0 != expected[0]
    numpy.testing.assert_array_equal(np.asnumpy(found), expected)


def doubled(row: Any) -> Any:
    row *= 2
    return row.sum()


def doubled_below(row: Any) -> Any:
    if row.sum() < 100:
        row *= 2
    return row.sum()


OF_NO_TENSOR: dict[str, Callable[[], Any]] = {
    "rows backwards": lambda: numpy.arange(6.0).reshape(3, 2)[::-1],
    "columns backwards": lambda: numpy.arange(6.0).reshape(3, 2)[:, ::-1],
    "not aligned": lambda: numpy.arange(49, dtype="u1")[1:].view("f8").reshape(3, 2),
    "other byte order": lambda: numpy.arange(6.0).astype(">f8").reshape(3, 2),
    "tnp, backwards": lambda: rows()[::-1],
}
RUNS: dict[str, Callable[[Any, Any], Any]] = {
    "vectorized_map": np.vectorized_map,
    "map_fn": np.map_fn,
    "columns": lambda fn, a: np.vectorized_map(fn, a, in_axes=1),
    "chunks": lambda fn, a: np.vectorized_map(fn, a, chunk_size=2),
    "in a batch": lambda fn, a: np.vectorized_map(lambda k: k * np.vectorized_map(fn, a), np.ones(2)),
    "in a derivative": lambda fn, a: np.grad(lambda x: x * np.vectorized_map(fn, a).sum())(2.0),
    "compiled": lambda fn, a: np.compile(lambda a: np.vectorized_map(fn, a), backend="eager")(a),
}


@pytest.mark.filterwarnings("ignore:vectorized_map calls:RuntimeWarning")
@pytest.mark.parametrize("fn", [doubled, doubled_below])
@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("made", OF_NO_TENSOR)
def test_writes_to_elements_reach_memory_that_no_tensor_has(made: str, run: str, fn: Callable[[Any], Any]) -> None:
    array, twin = OF_NO_TENSOR[made](), numpy.array(numpy.asarray(OF_NO_TENSOR[made]()))
    RUNS[run](fn, array)
    numpy.testing.assert_array_equal(numpy.asarray(array), twin * (4 if run == "in a batch" else 2))


@pytest.mark.filterwarnings("ignore:vectorized_map calls:RuntimeWarning")
def test_repeats_by_counts_of_each_element() -> None:
    counts = np.asarray([[1, 2], [0, 3], [2, 2]])
    for function in (lambda n: np.repeat(np.arange(2.0), n).sum(), lambda n: np.repeat(np.arange(1.0, 3.0), n).mean()):
        assert np.vectorized_map(function, counts).tolist() == np.map_fn(function, counts).tolist()
    with pytest.raises(ValueError, match="the function returns an array of shape"):
        np.vectorized_map(lambda n: np.repeat(np.arange(2.0), n), counts)


def windows(a: Any) -> Any:
    return np.lib.stride_tricks.sliding_window_view(a[0], 2, writeable=True)


def also_reads(a: Any) -> Any:
    def function(row: Any) -> Any:
        before = a.sum()
        row *= 2
        return row.sum() + before

    return function


def doubles_first(pair: Any) -> Any:
    pair[0][...] = pair[0] * 2
    return pair[0].sum() + pair[1].sum()


IN_ORDER: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], Any]] = {
    "windows": (lambda a: doubled, windows, 0),
    "read as a whole": (also_reads, lambda a: a, 0),
    "shifted": (lambda a: doubles_first, lambda a: (a[:-1], a[1:]), 0),
    "along two axes": (lambda a: doubles_first, lambda a: (a[:3], a[:3]), (0, 1)),
    "as an element and as a whole": (lambda a: doubles_first, lambda a: (a, a), (0, None)),
}


@pytest.mark.parametrize("of", ["tnp", "NumPy"])
@pytest.mark.parametrize("name", IN_ORDER)
def test_elements_of_which_others_see_writes_are_computed_in_order(name: str, of: str) -> None:
    made, elements, axes = IN_ORDER[name]
    xp = np if of == "tnp" else numpy
    results = []
    for run in (np.map_fn, np.vectorized_map):
        a = xp.arange(12.0).reshape(4, 3)
        known = np.asarray(a)
        with pytest.warns(RuntimeWarning, match="others see") if run is np.vectorized_map else contextlib.nullcontext():
            results.append((run(made(known), elements(a), in_axes=axes).tolist(), a.tolist()))
    assert results[0] == results[1]


PAIRS: dict[str, Callable[[Any], Any]] = {
    "reversed": lambda a: (a, a[::-1]),
    "reversed before": lambda a: (a[:, ::-1], a),
    "both reversed": lambda a: (a[::-1], a[::-1]),
    "reversed in two ways": lambda a: (a[::-1], a[:, ::-1]),
    "apart": lambda a: (a[:2], a[:1:-1]),
    "shown at one place": lambda a: (np_or_numpy(a).lib.stride_tricks.as_strided(a, (3, 3), (0, 8)), a[1:]),
}


def np_or_numpy(a: Any) -> Any:
    return numpy if isinstance(a, numpy.ndarray) else np


def writes_both(pair: Any) -> Any:
    pair[0][0] += 1
    pair[1][0] *= 10
    return pair[0][0] * 1


@pytest.mark.filterwarnings("ignore:vectorized_map calls", "ignore:tnp.compile")
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("xp", [np, numpy])
@pytest.mark.parametrize("compiled", [False, True])
def test_writes_to_elements_of_views_that_no_tensor_has(name: str, xp: Any, compiled: bool) -> None:
    expected = numpy.arange(12.0).reshape(4, 3)
    results = [writes_both(pair) for pair in zip(*PAIRS[name](expected), strict=True)]
    a = xp.arange(12.0).reshape(4, 3)
    run: Any = lambda *pair: np.vectorized_map(writes_both, pair)  # noqa: E731
    if compiled:
        run = np.compile(run, backend="eager")
    if compiled and name == "shown at one place":  # a graph takes such an array for what broadcast_to gives
        with pytest.raises(ValueError, match="read-only"):
            run(*PAIRS[name](a))
        return
    found = run(*PAIRS[name](a))
    assert (found.tolist(), a.tolist()) == (numpy.asarray(results).tolist(), expected.tolist())


@pytest.mark.parametrize("xp", [np, numpy])
def test_a_compiled_batch_that_writes_to_arguments_that_overlap_runs_uncompiled(xp: Any) -> None:
    def function(a: Any, b: Any) -> Any:
        return np.vectorized_map(doubles_first, (a, b))

    compiled = np.compile(function, backend="eager")
    a, b = xp.arange(12.0).reshape(4, 3), xp.arange(12.0).reshape(4, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled(a[1:] + 0, b[:-1])
    expected = np.map_fn(doubles_first, (a[1:], a[:-1]))
    with pytest.warns(RuntimeWarning, match="runs uncompiled"):
        found = compiled(b[1:], b[:-1])
    assert (found.tolist(), b.tolist()) == (expected.tolist(), a.tolist())


def test_parts_of_one_array_that_do_not_meet_are_computed_at_once() -> None:
    for elements in (lambda a: (a[:2], a[2:]), lambda a: (a, a)):
        a = np.arange(12.0).reshape(4, 3)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.vectorized_map(doubles_first, elements(a))
