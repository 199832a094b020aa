"""tnp.lib, tnp.exceptions and tnp.testing do what NumPy's do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tnp
from tests.oracle import agrees, compare


@pytest.mark.parametrize("window", [1, 3, (2,), (2, 2), (5, 1), (-1, 1), ()])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1), (1, 1), 2])
def test_sliding_window_view(window: Any, axis: Any) -> None:
    def windows(xp: Any) -> Any:
        return xp.lib.stride_tricks.sliding_window_view(xp.arange(12).reshape(3, 4)[:, ::2], window, axis)

    compare(windows, may_raise=ValueError)


@agrees
def test_as_strided(xp: Any) -> Any:
    x = xp.arange(10)
    view = xp.lib.stride_tricks.as_strided(x[1:], (3, 2), (16, 8))
    view[0, 0] = 99
    return view, x, xp.lib.stride_tricks.as_strided(x, (2,), (0,)), xp.lib.stride_tricks.as_strided(x)


@pytest.mark.parametrize("shape, strides", [((2,), (-8,)), ((10,), (3,)), ((100,), (8,)), ((2, 2), (8,))])
def test_strides_beyond_the_memory(shape: Any, strides: Any) -> None:
    with pytest.raises(ValueError):
        tnp.lib.stride_tricks.as_strided(tnp.arange(4), shape, strides, check_bounds=True)


@agrees
def test_array_utils(xp: Any) -> Any:
    utils = xp.lib.array_utils
    low, high = utils.byte_bounds(xp.ones((3, 4))[:, ::2])
    return high - low, utils.normalize_axis_index(-1, 3), utils.normalize_axis_tuple((0, -1), 3)


def test_exceptions() -> None:
    assert tnp.exceptions.AxisError is np.exceptions.AxisError
    with pytest.raises(tnp.exceptions.AxisError):
        tnp.sum(tnp.ones(2), axis=3)


@pytest.mark.reads
def test_testing() -> None:
    tnp.testing.assert_allclose(tnp.ones(3), tnp.ones(3) + 1e-9)
    tnp.testing.assert_array_equal(tnp.ones(3), 1)
    tnp.testing.assert_equal({"a": tnp.arange(2)}, {"a": tnp.arange(2)})
    for name in ("assert_allclose", "assert_array_equal", "assert_almost_equal", "assert_array_less"):
        with pytest.raises(AssertionError):
            getattr(tnp.testing, name)(tnp.ones(2), tnp.zeros(2))
    with pytest.raises(AttributeError):
        tnp.testing.no_such_assertion  # noqa: B018


def test_the_stride_of_one_element_is_nobodys_business() -> None:
    for xp in (np, tnp):
        x = xp.ones((4, 4, 1))[::2]
        seen = xp.lib.stride_tricks.as_strided(x, strides=(*x.strides[:2], -123))
        assert seen.shape == (2, 4, 1) and not seen.flags.c_contiguous and seen[0].flags.c_contiguous
