"""tnp.lib, tnp.exceptions and tnp.testing do what NumPy's do."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import tnp
from tests.oracle import agrees, compare, placed


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


def wrapped(xp: Any) -> Any:
    """Operators of a class that derives from NumPy's mixin, over arrays."""

    class Wrapped(xp.lib.mixins.NDArrayOperatorsMixin):  # type: ignore[misc]
        def __init__(self, values: Any) -> None:
            self.values = values

        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = (), **options: Any) -> Any:
            values = [each.values if isinstance(each, Wrapped) else each for each in inputs]
            if out:
                options["out"] = tuple([each.values for each in out])
            return Wrapped(getattr(ufunc, method)(*values, **options))

    x = Wrapped(placed(xp, np.asarray([1.0, 2.0])))
    x += 5
    return [each.values for each in (x + 1, 1 - x, x * x, x < 7, -x, xp.exp(x), xp.add.reduce(x))]


@pytest.mark.host
def test_parts_that_are_numpys() -> None:
    assert set(np.lib.__all__) == set(tnp.lib.__all__)
    compare(wrapped, rtol=1e-14)
    x = np.arange(6.0).reshape(2, 3)
    compare(lambda xp: xp.lib.scimath.sqrt(-1.0))
    compare(lambda xp: [part.sum() for part in xp.lib.Arrayterator(placed(xp, x), 3)])
    for order in (x, x.T):
        files = io.BytesIO(), io.BytesIO()
        np.lib.format.write_array(files[0], order)
        tnp.lib.format.write_array(files[1], placed(tnp, order))
        assert files[0].getvalue() == files[1].getvalue()
