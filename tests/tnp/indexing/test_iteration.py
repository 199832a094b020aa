"""nditer and broadcast do what NumPy's do."""

from __future__ import annotations

import inspect
import operator
from typing import Any

import numpy as np
import pytest

import tnp
from tests.oracle import agrees, compare, sample


@pytest.mark.parametrize("shapes", [[(3,)], [(3, 1), (4,)], [(), (2, 2)], [(2,), (3,)], [(0, 2), (1,)], []])
def test_broadcast(shapes: list[tuple[int, ...]]) -> None:
    def described(xp: Any) -> Any:
        b = xp.broadcast(*[sample(xp, shape, "float64", i) for i, shape in enumerate(shapes)])
        first = [b.shape, b.ndim, b.nd, b.size, b.numiter, b.index, len(b.iters)]
        rows = list(b)
        last = b.index
        b.reset()
        return first, rows, last, b.index

    compare(described, may_raise=ValueError)


@agrees
def test_broadcast_of_broadcast(xp: Any) -> Any:
    return xp.broadcast(xp.broadcast([1, 2], [[1], [2]]), 3).shape


@pytest.mark.host
@pytest.mark.parametrize("order", ["C", "F", "K", "A"])
@pytest.mark.parametrize("flags", [[], ["external_loop"], ["multi_index"], ["c_index"], ["buffered"]])
def test_nditer(order: str, flags: list[str]) -> None:
    def visited(xp: Any) -> Any:
        it = xp.nditer(xp.arange(6).reshape(2, 3).T, flags=flags, order=order)
        values = [it.shape if "multi_index" in flags else 0, it.ndim, it.nop, it.itersize, it.has_multi_index]
        while not it.finished:
            values.append(it[0].copy())
            if "multi_index" in flags:
                values.append(it.multi_index)
            if "c_index" in flags:
                values.append(it.index)
            it.iternext()
        it.reset()
        return values, [x.copy() for x in it]

    compare(visited)


@pytest.mark.host
@agrees
def test_nditer_is_moved_and_changed(xp: Any) -> Any:
    x = xp.arange(6.0).reshape(2, 3)
    it = xp.nditer(x, flags=["multi_index"], op_flags=["readwrite"])
    it.multi_index = (1, 2)
    seen = [it.value.copy(), it.iterindex, it.iterrange, it.has_index, it.has_delayed_bufalloc, it.iterationneedsapi]
    it.iterindex = 1
    it[0] = xp.asarray(7.0)
    seen += [it.multi_index, len(it), it.dtypes, [view.copy() for view in it.itviews], next(it).copy(), next(it).copy()]
    it.remove_axis(0)
    it.remove_multi_index()
    seen.append([each.copy() for each in it])
    it.close()
    flat = xp.nditer(x, flags=["c_index", "ranged"], order="F")
    flat.index = 4
    seen += [flat.iterindex, flat[0].copy()]
    flat.iterrange = (2, 4)
    seen.append([each.copy() for each in flat])
    chunks = xp.nditer(x)
    chunks.enable_external_loop()
    return seen, [each.copy() for each in chunks], x


@pytest.mark.host
def test_nditer_prints_its_state(capfd: pytest.CaptureFixture[str]) -> None:
    tnp.nditer(tnp.arange(3)).debug_print()
    assert "NDim: 1" in capfd.readouterr().out


@pytest.mark.host
@agrees
def test_nditer_writes(xp: Any) -> Any:
    x = xp.arange(6.0).reshape(2, 3)
    with xp.nditer(x, op_flags=["readwrite"]) as it:
        for element in it:
            element[...] = element * 2
    y = xp.arange(3)
    allocating = xp.nditer([y, None])
    for one, other in allocating:
        other[...] = one + 1
    z = xp.zeros(3)
    with xp.nditer([y, z], op_flags=[["readonly"], ["writeonly"]]) as it:
        for one, other in it:
            other[...] = one * one
    return x, allocating.operands[1], z


@pytest.mark.host
def test_nditer_gives_back_the_very_operands() -> None:
    x = tnp.arange(3)
    assert tnp.nditer([x, None]).operands[0] is x
    assert tnp.nditer(x).copy().operands[0] is x


@pytest.mark.host
def test_errors() -> None:
    compare(lambda xp: xp.nditer([xp.ones(2), xp.ones(3)]), raises=ValueError)
    compare(lambda xp: xp.nditer(xp.ones(2), flags=["no_such"]), raises=ValueError)
    compare(lambda xp: xp.nditer(xp.ones(2)).multi_index, raises=ValueError)
    compare(lambda xp: xp.broadcast(1, x=1), raises=ValueError)


@pytest.mark.host
def test_numpy_iterates_over_the_same_memory() -> None:
    x = tnp.zeros(4)
    for chunk in tnp.nditer(x, flags=["external_loop"], op_flags=["readwrite"]):
        chunk[:] = 1
    np.testing.assert_array_equal(np.asarray(x), np.ones(4))


@pytest.mark.parametrize("shapes", [[(1, 3), (2, 1), (2,)], [(2,), (3,)], [(2, 3), (1, 3), (3, 3)], [()] * 65])
def test_broadcast_names_what_does_not_fit(shapes: list[tuple[int, ...]]) -> None:
    for xp in (np, tnp):
        with pytest.raises(ValueError) as raised:
            xp.broadcast(*map(xp.ones, shapes))
        if xp is np:
            expected = str(raised.value)
    assert str(raised.value) == expected


def test_the_iterators_of_a_broadcast_know_their_arrays() -> None:
    for xp in (np, tnp):
        one, other = xp.ones((2, 1)), xp.ones(3)
        nested = xp.broadcast(xp.broadcast(one), xp.broadcast(other))
        assert [each.base is array for each, array in zip(nested.iters, (one, other), strict=True)] == [True, True]
        assert [len(list(each)) for each in nested.iters] == [6, 6]


@pytest.mark.host
def test_the_elements_of_an_iterator_as_an_array() -> None:
    for xp in (np, tnp):
        x = xp.arange(20.0).reshape(4, 5)
        assert x.flat.__array__().flags.writeable
        assert not x[::2, ::2].flat.__array__().flags.writeable  # a copy, to which nothing is to be written


def test_signatures() -> None:
    for function in ("broadcast", "broadcast.reset"):
        ours, theirs = (inspect.signature(operator.attrgetter(function)(xp)) for xp in (tnp, np))
        assert [(each.name, each.kind) for each in ours.parameters.values()] == [
            (each.name, each.kind) for each in theirs.parameters.values()
        ]
