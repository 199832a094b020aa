"""What a compiled function may write to is what the function itself may: read-only arrays, memory of NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from numpy.testing import assert_array_equal

import tnp as np


def compiled(function: Any) -> Any:
    return np.compile(function, backend="eager")


def add_in_place(x: Any) -> Any:
    x += 5
    return x


def set_element(x: Any) -> Any:
    x[0] = 3
    return x


def set_element_of_view(x: Any) -> Any:
    x[1:][0] = 3
    return x


def add_out(x: Any) -> Any:
    return np.add(x, 1, out=x)


def sort(x: Any) -> Any:
    x.sort()
    return x


def put(x: Any) -> Any:
    np.put(x, [0], [1])
    return x


def read_only(array: Any) -> Any:
    array.flags.writeable = False
    return array


def memory_map(tmp_path: Path) -> Any:
    numpy.zeros(4).tofile(tmp_path / "zeros")
    return numpy.memmap(tmp_path / "zeros", mode="r")


ARRAYS: dict[str, Callable[[Path], Any]] = {
    "flags": lambda path: read_only(np.ones(4)),
    "broadcast": lambda path: np.broadcast_to(np.ones(()), (4,)),
    "expanded tensor": lambda path: np.asarray(torch.ones(()).expand(4)),
    "NumPy": lambda path: read_only(numpy.ones(4)),
    "NumPy, shared": lambda path: np.asarray(read_only(numpy.ones(4))),
    "bytes": lambda path: np.frombuffer(bytes(32)),
    "memory map": memory_map,
    "memory map, shared": lambda path: np.asarray(memory_map(path)),
}


@pytest.mark.parametrize("write", [add_in_place, set_element, set_element_of_view, add_out, sort, put])
@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.host  # what may not be written to is NumPy's memory
def test_read_only_arrays_are_not_written_to(write: Callable[[Any], Any], name: str, tmp_path: Path) -> None:
    array = ARRAYS[name](tmp_path)
    before = numpy.array(array)
    with pytest.raises(ValueError, match="read-only") as expected:
        write(np.asarray(array))
    with pytest.raises(ValueError, match="read-only") as found:
        compiled(write)(array)
    assert str(found.value) == str(expected.value)
    assert_array_equal(before, numpy.array(array))


def test_machine_code_writes_to_no_read_only_array() -> None:
    function = np.compile(add_in_place)
    x = np.ones(3)
    function(x)
    for _ in range(2):
        with pytest.raises(ValueError, match="output array is read-only"):
            function(np.broadcast_to(np.ones(()), (3,)))
        with pytest.raises(ValueError, match="output array is read-only"):
            function(read_only(np.ones(3)))
    x.flags.writeable = False
    with pytest.raises(ValueError, match="output array is read-only"):
        function(x)
    assert_array_equal(numpy.full(3, 6.0), np.asnumpy(x))
    x.flags.writeable = True
    function(x)
    assert_array_equal(numpy.full(3, 11.0), np.asnumpy(x))


@pytest.mark.parametrize("kind", [numpy.asarray, np.asarray])
def test_results_are_read_only_as_they_are_eagerly(kind: Any) -> None:
    def function(x: Any) -> Any:
        return x, x[1:], x.T, x.reshape(3, 1), x[1:][1:], x + 1, np.broadcast_to(x, (2, 3))

    traced = compiled(function)
    for array in (kind(numpy.ones(3)), kind(read_only(numpy.ones(3))), read_only(kind(numpy.ones(3)))):
        for _ in range(3):
            for found, expected in zip(traced(array), function(np.asarray(array)), strict=True):
                assert found.flags.writeable is expected.flags.writeable
                refused: list[str | None] = []
                for result in (found, expected):
                    refused.append(None)
                    try:
                        result.flags.writeable = True
                    except ValueError as error:
                        refused[-1] = str(error)
                assert refused[0] == refused[1]


def test_an_array_that_is_read_only_has_a_trace_of_its_own() -> None:
    function = compiled(lambda x: x.flags.writeable)
    x = np.ones(3)
    for _ in range(2):
        assert function(x) is True
        assert function(read_only(np.ones(3))) is False
        assert function(numpy.ones(3)) is True
        assert function(read_only(numpy.ones(3))) is False
    assert (function.cache_info().traces, function.cache_info().hits) == (4, 4)


@pytest.mark.parametrize(
    "array", [lambda: numpy.zeros(4)[::-1], lambda: numpy.zeros(4, ">f8"), lambda: numpy.zeros((2, 8))[:, ::2][0, ::-1]]
)
def test_writes_reach_arrays_of_numpy_that_no_tensor_shares(array: Callable[[], Any]) -> None:
    found, expected = array(), array()
    for backend in ("eager", "inductor"):
        np.compile(add_in_place, backend=backend)(found)
        expected += 5
        assert_array_equal(expected, found)


def lock(x: Any) -> Any:
    x.flags.writeable = False
    return x, x[1:]


def unlock(x: Any) -> Any:
    x.flags.writeable = True
    return x


def reshape(x: Any) -> Any:
    x.shape = (2, 2)
    x += 1
    return x, x.T


def resize(x: Any) -> Any:
    x.resize(2, 2, refcheck=False)
    return x * 2


def to_integers(x: Any) -> Any:
    x.dtype = "i4"
    return x + 1


@pytest.mark.parametrize("function", [lock, unlock, reshape, resize, to_integers])
@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.filterwarnings("ignore:Setting the:DeprecationWarning")
@pytest.mark.reads
def test_attributes_of_arguments_are_set_at_each_call(function: Any, backend: str) -> None:
    traced = np.compile(function, backend=backend)
    for _ in range(3):
        given, expected = (read_only(np.arange(4.0)) if function is unlock else np.arange(4.0) for _ in range(2))
        result, wanted = traced(given), function(expected)
        for found, one in [(given, expected), (result[0], wanted[0]), (result[1], wanted[1])]:
            assert_array_equal(numpy.asarray(one), numpy.asarray(found), strict=True)
            assert found.flags.writeable is one.flags.writeable
        assert isinstance(result, tuple) is isinstance(wanted, tuple)
        assert not isinstance(result, tuple) or result[0] is given
    if function is not unlock:
        with pytest.raises(NotImplementedError, match="can't set the shape, dtype or flags of a NumPy array"):
            traced(numpy.arange(4.0))


class Scaled(np.ndarray):
    """Whose product is another, and which has an attribute."""

    factor: float = 1.0

    def __array_finalize__(self, source: Any) -> None:
        self.factor = getattr(source, "factor", 1.0)

    def __mul__(self, other: Any) -> Any:
        return super().__mul__(other) * self.factor if self.factor != 1 else super().__mul__(other)


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.reads
def test_classes_of_arguments_stay(backend: str) -> None:
    def product(x: Any) -> Any:
        return x * x, x[0], x

    traced: Any = np.compile(product, backend=backend)
    for array in (np.matrix([[1.0, 2.0], [3.0, 4.0]]), np.eye(2).view(Scaled), np.eye(2)):
        for _ in range(2):
            for found, expected in zip(traced(array), product(array), strict=True):
                assert type(found) is type(expected)
                assert getattr(found, "factor", 1) == getattr(expected, "factor", 1)
                assert_array_equal(numpy.asarray(expected), numpy.asarray(found))
    assert traced.cache_info().traces == 3


@pytest.mark.parametrize("xp", [np, numpy])
@pytest.mark.parametrize("view", [lambda x: x[::-1], lambda x: x[::-1][:2], lambda x: x.T[:, ::-1].T])
@pytest.mark.parametrize("first", [lambda x: x, lambda x: x[:]])
def test_a_reversed_view_sees_writes_to_the_array(xp: Any, view: Any, first: Any) -> None:
    """The compiled function took a copy of the view."""

    def function(x: Any, y: Any) -> Any:
        x[0, 1] = 9
        return y * 2

    run = compiled(function)
    expected, actual = numpy.arange(6.0).reshape(3, 2), xp.arange(6.0).reshape(3, 2)
    apart = numpy.arange(6.0).reshape(3, 2), xp.arange(6.0).reshape(3, 2)
    for _ in range(3):
        found = run(first(actual), view(actual))
        assert_array_equal(function(first(expected), view(expected)), found)
        found = run(view(actual), first(actual))
        assert_array_equal(function(view(expected), first(expected)), found)
        assert_array_equal(function(first(expected), view(apart[0])), run(first(actual), view(apart[1])))
        expected += 1
        actual += 1
    assert_array_equal(expected, actual)


RETURNED: dict[str, Any] = {
    "itself": lambda x: x,
    "reversed": lambda x: x[::-1],
    "transposed": lambda x: x.T,
    "transposed and reversed": lambda x: x.T[::-1, 1:],
    "diagonal": lambda x: x.diagonal(),
    "row": lambda x: x[1],
    "reshaped": lambda x: x[:1].reshape(-1),
    "copied": lambda x: x.ravel(),
    "written": lambda x: (x.__setitem__((0, 1), 5), x[:, ::-1])[1],
    "sorted": lambda x: (x.sort(), x[1:])[1],
}


@pytest.mark.parametrize("backend", ["eager", None])
@pytest.mark.parametrize("xp", [np, numpy])
@pytest.mark.parametrize("returned", RETURNED.values(), ids=RETURNED)
def test_views_of_reversed_arguments_are_views(returned: Any, xp: Any, backend: Any) -> None:
    """They were copies, or read-only: writes to them got lost."""
    run = np.compile(returned, backend=backend, fullgraph=True)
    for view in (lambda x: x[::-1], lambda x: x[:, ::-1], lambda x: x[::2, ::-1].T, lambda x: x[::-1, ::-1]):
        expected, actual = numpy.arange(12.0).reshape(3, 4), xp.arange(12.0).reshape(3, 4)
        for _ in range(2):
            there, here = returned(view(expected)), run(view(actual))
            assert_array_equal(there, here)
            assert there.strides == here.strides and there.flags.writeable == here.flags.writeable
            if there.flags.writeable:
                there[...] = here[...] = 50
            assert_array_equal(expected, actual)


def test_a_reversed_argument_that_is_given_twice() -> None:
    for xp in (np, numpy):
        whole = xp.arange(3.0)
        view = whole[::-1]
        first, second = compiled(lambda x, y: (set_element(x), y))(view, view)
        assert_array_equal(whole, [0, 1, 3])
        assert_array_equal(first, [3, 1, 0])
        second[1] = 7
        assert_array_equal(whole, [0, 7, 3])


@pytest.mark.parametrize("part", [lambda x: x[::-1], lambda x: x.view("u1")[1:17].view("f8"), lambda x: x[::-1, None]])
def test_open_sizes_of_reversed_arguments(part: Any) -> None:
    run = np.compile(lambda x: (x * 2, x[::-1], set_element(x)), backend="eager", dynamic=True)
    for n in (3, 4, 5):
        expected, actual = numpy.arange(float(n)), np.arange(float(n))
        there, here = part(expected), part(actual)
        for one, other in zip((there * 2, there[::-1], set_element(there)), run(here), strict=True):
            assert_array_equal(one, other)
        assert_array_equal(expected, actual)


def test_fields_of_records_are_arguments() -> None:
    """Their elements are not aligned."""
    records = numpy.zeros(4, dtype=[("a", "u1"), ("x", "f8")])
    run = compiled(lambda x: (add_in_place(x), x[1:]))
    for _ in range(2):
        _, rest = run(records["x"])
    assert records["x"].tolist() == [10, 10, 10, 10]
    rest[0] = 1
    assert records["x"].tolist() == [10, 1, 10, 10]


def overlapping() -> Any:
    return numpy.lib.stride_tricks.as_strided(numpy.arange(4.0), (3, 4), (0, 8))


def test_elements_that_share_a_place_are_not_written_to() -> None:
    assert_array_equal(compiled(lambda x: x * 2)(overlapping()), overlapping() * 2)
    with pytest.raises(ValueError, match="read-only"):
        compiled(set_element)(overlapping())


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_a_transposed_reversed_argument_of_complex_numbers(backend: str) -> None:
    def function(z: Any, w: Any) -> Any:
        w.T[...] = -w - z
        z *= 2
        return z.imag, w.astype(bool), z.real + 1

    z, w = numpy.arange(3) + 1j, numpy.arange(6) * 10 + 2j
    given, written = np.array(z), np.array(w)
    results = np.compile(function, backend=backend)(given, written[::-2])
    for expected, actual in zip(function(z, w[::-2]), results, strict=True):
        assert_array_equal(actual, expected)
        assert actual.dtype == expected.dtype
    assert_array_equal(given, z)
    assert_array_equal(written, w)
