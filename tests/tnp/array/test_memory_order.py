"""One rule for every size: NumPy computes for small arrays, torch for others, in the same memory order."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tnp
from backend_torch.native import heads
from tests.oracle import compare

CALLS: dict[str, list[tuple[Any, ...]]] = {
    "pad": [(1,), (((1, 0), (0, 2)), "edge"), (1, "reflect"), (1, "wrap"), (1, "symmetric"), (-1,)],
    "repeat": [(2,), (2, 0), (2, 1), ([1, 2], 0), (-1,), (-1, 1), ([-1],), ([1, -1], 0), (2, 5)],
    "tile": [(2,), ((2, 1),), ([],), (1,), (-1,), ((2, 2, 1),), ((1, 1, 1),)],
    "resize": [((5, 7),), (11,), ((-1,),)],
    "insert": [(1, 1, 0), ([0, 1], 0, 0), ([0, 1], 0, 1), (1, 1, 1), (1, 1), (9**9, 0), (slice(0, 2), 5, 1)],
    "delete": [(0, 0), ([0, 1], 1), ([0, 1], 0), ([], 1), ([True, False], 0), (0,), (slice(0, 2), 0), (-1, 1), (9**9,)],
    "unique": [(), (True, True, True), (False, True)],
    "isin": [([1, 2],), (2, False, True), ([1, 2], True), (list(range(50)),)],
    "intersect1d": [([1, 2],)],
    "setdiff1d": [([1, 2],)],
    "setxor1d": [([1, 2],)],
    "union1d": [([1, 2],)],
    "take": [([0, 1], 0), ([0, 1], 1), ([[0, 1], [1, 0]], 1), (1, 0), ([0, 2],), (9**9,)],
    "argmax": [(), (0,), (1,), (7,)],
    "argmin": [(), (0,), (1,)],
    "nonzero": [()],
    "flatnonzero": [()],
    "count_nonzero": [(), (0,)],
    "sort": [(), (0,), (None,), (7,)],
    "nanmax": [(), (0,), (1,)],
    "nanmin": [(), (0,)],
}

LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "C": lambda x: x,
    "F": lambda x: x.T.copy().T,
    "every second row": lambda x: x.repeat(2, 0)[::2],
    "every second column": lambda x: x.repeat(2, 1)[:, ::2],
    "every second row of F": lambda x: x.repeat(2, 0).T.copy().T[::2],
}


@pytest.fixture(params=["small", "large", "small, without NumPy"])
def columns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The number of columns of an array of two rows."""
    if request.param == "small, without NumPy":
        monkeypatch.setattr(heads, "by_numpy", lambda *args, **options: None)
    return 20_001 if request.param == "large" else 5


def values(xp: Any, columns: int, dtype: str) -> Any:
    return xp.asarray(numpy.resize(numpy.array([3, 1, 2, 5, 7, 0, 1], dtype), (2, columns)))


def agree(call: Callable[[Any], Any]) -> None:
    """Compare, whether NumPy refuses the call or not."""
    try:
        call(numpy)
    except Exception as error:
        compare(call, raises=type(error))
    else:
        compare(call)


PERMUTED: dict[str, Callable[[Any, Any], Any]] = {
    "roll": lambda xp, x: (xp.roll(x, 1, 0), xp.roll(x, (1, -1), (0, 2)), xp.roll(x, 2)),
    "concatenate": lambda xp, x: (xp.concatenate([x, x], 0), xp.concatenate([x, x, x], -1)),
    "concatenate of others": lambda xp, x: (
        xp.concatenate([x, x.copy()], 1),
        xp.concatenate([x.copy("F"), x.copy("F")], 1),
        xp.concatenate([x[:1], x[-1:]], 1),
        xp.stack([x, x]),
    ),
    "nan_to_num": lambda xp, x: (xp.nan_to_num(x), xp.nan_to_num(x.astype(int)), xp.nan_to_num(x[:, :1])),
    "fft": lambda xp, x: (xp.fft.fft(x, axis=0), xp.fft.rfft(x, axis=1), xp.fft.ifft(x), xp.fft.fftn(x)),
    "norm": lambda xp, x: (
        [xp.linalg.norm(x, axis=axis) for axis in range(3)],
        [xp.linalg.norm(x, 1, axis=axis, keepdims=True) for axis in range(3)],
        xp.linalg.norm(x, "fro", axis=(0, 2)),
    ),
    "vector_norm": lambda xp, x: (
        [xp.linalg.vector_norm(x, axis=axis, ord=3) for axis in range(3)],
        [xp.linalg.vector_norm(x[None], axis=axes, keepdims=True) for axes in ((0, 1), (3, 1), (2, 3))],
    ),
    "median": lambda xp, x: ([xp.median(x, axis=axis) for axis in (0, 1, 2, (0, 2))], xp.median(x, 1, keepdims=True)),
    "unwrap": lambda xp, x: [xp.unwrap(x, axis=axis) for axis in range(3)],
    "trapezoid": lambda xp, x: [xp.trapezoid(x, axis=axis) for axis in range(3)],
    "average": lambda xp, x: [xp.average(x, axis=axis) for axis in range(3)],
    "nan reductions": lambda xp, x: [
        getattr(xp, name)(x, axis=axis) for name in ("nansum", "nanmean", "nanvar", "nanmin") for axis in range(3)
    ],
    "nan scans": lambda xp, x: [xp.nancumsum(x, axis=0), xp.nancumprod(x % 2, axis=1)],
}


@pytest.mark.parametrize("name", PERMUTED)
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_functions_of_permuted_axes(name: str, order: tuple[int, ...], columns: int) -> None:
    def call(xp: Any) -> Any:
        x = values(xp, columns * 2, "f8").reshape(2, 2, columns)
        return PERMUTED[name](xp, x.transpose(order))

    compare(call, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", ["i4", "f8"])
def test_functions(name: str, dtype: str, columns: int) -> None:
    for layout, options in itertools.product(LAYOUTS.values(), CALLS[name]):
        agree(
            lambda xp, layout=layout, options=options: getattr(xp, name)(layout(values(xp, columns, dtype)), *options)
        )


def test_choose(columns: int) -> None:
    def call(xp: Any, layout: Callable[[Any], Any]) -> Any:
        x = layout(values(xp, columns, "i8"))
        return xp.choose(x % 2, [x, x * 2]), xp.choose(x % 2, [x, 1])

    for layout in LAYOUTS.values():
        agree(lambda xp, layout=layout: call(xp, layout))


def test_grids(columns: int) -> None:
    agree(lambda xp: (xp.indices((2, columns)), xp.tri(2, columns, 1)))


@pytest.mark.parametrize("options", [(), ("right",), ("righ",), ("L",), ("x",), ("",), (b"right",), (b"x",), (3,)])
def test_searchsorted(options: tuple[Any, ...], columns: int) -> None:
    def call(xp: Any, layout: Callable[[Any], Any]) -> Any:
        x = values(xp, columns, "f8")
        return xp.searchsorted(xp.sort(x, None), layout(x), *options)

    for layout in LAYOUTS.values():
        agree(lambda xp, layout=layout: call(xp, layout))


@pytest.mark.parametrize("reps", [-1, (1, -1), (-1, 1), 2])
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_tiles_of_nothing(shape: tuple[int, ...], reps: Any, columns: int) -> None:
    agree(lambda xp: (xp.tile(xp.zeros(shape), reps), xp.tile([], -1), xp.repeat(xp.zeros(0), -1)))


def test_only_views_have_a_base(columns: int) -> None:
    """What owns its memory in NumPy owns it in tnp."""
    x = values(tnp, columns, "f8")
    for name in ("pad", "repeat", "tile", "insert", "take", "sort", "isin"):
        for options in CALLS[name][:3]:
            if getattr(numpy, name)(numpy.asarray(x), *options).base is None:
                assert getattr(tnp, name)(x, *options).base is None, (name, options)


def test_which_results_have_a_base(columns: int) -> None:
    def bases(xp: Any) -> Any:
        x = values(xp, columns, "f8")
        each = [xp.inner(x, x), xp.einsum("ij,ij->i", x, x), xp.cov(x), x.byteswap(), *xp.gradient(x), xp.tile(x, 2)]
        each += [*xp.linalg.lstsq(x.T, x[0])[:2], xp.tile(x[0], (2, 2))]
        return [y.base is None for y in each]

    assert bases(tnp) == bases(numpy)


def test_the_base_of_a_read_only_view_is_the_owner() -> None:
    for xp in (numpy, tnp):
        x = xp.arange(6.0)
        y = x.reshape(2, 3)
        views = [y.diagonal(), xp.broadcast_to(y, (2, 2, 3)), xp.broadcast_to(y, (2, 2, 3))[0], xp.diag(y)]
        assert all(view.base is x for view in [*views, xp.broadcast_to(x, (2, 6))]), xp


def test_arrays_made_in_fortran_order_own_their_memory() -> None:
    def made(xp: Any) -> Any:
        x = xp.ones((2, 3))
        each = [xp.zeros((2, 3), order="F"), xp.full((2, 3), 7, order="F"), xp.asfortranarray(x), x.copy("F")]
        each += [xp.array(x, order="F"), xp.empty((2, 3), order="F"), xp.zeros_like(x.T), xp.asarray(x, order="F")]
        return [(y.flags.owndata, y.base is None, y.flags.f_contiguous, y.strides) for y in each]

    compare(made)


def test_squeeze_of_nothing_is_the_array() -> None:
    compare(lambda xp: [xp.squeeze(x) is x for x in (xp.ones(3), xp.ones((2, 1)), xp.ones((2, 3)))])
    compare(lambda xp: [x.squeeze() is x for x in (xp.ones(3), xp.ones((2, 3)).T, xp.ones((2, 1)))])
