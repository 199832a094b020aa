"""shares_memory and may_share_memory against NumPy's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import tnp


@given(st.data())
def test_views_drawn_at_random(data: st.DataObject) -> None:
    values = np.arange(24).reshape(2, 3, 4)
    x = tnp.asarray(values)

    def key() -> tuple[slice, ...]:
        return tuple(
            slice(data.draw(st.integers(0, n)), data.draw(st.integers(0, n)), data.draw(st.integers(1, 3)))
            for n in (2, 3, 4)
        )

    one, other = key(), key()
    for name in ("shares_memory", "may_share_memory"):
        expected = getattr(np, name)(values[one], values[other])
        assert getattr(tnp, name)(x[one], x[other]) is expected
        assert getattr(np, name)(x[one], x[other]) is expected  # through NumPy's own function
        assert getattr(tnp, name)(x[one], values[other]) is expected


def test_what_has_no_common_memory() -> None:
    x = tnp.arange(6)
    assert (
        not tnp.shares_memory(x, x.copy()) and not tnp.shares_memory(x, [1, 2]) and not tnp.may_share_memory(x, x[:0])
    )
    assert tnp.shares_memory(x, x.view(np.int8)[1:2]) and tnp.shares_memory(x[2:4], x.tensor)


def test_what_has_no_address() -> None:
    with pytest.raises(TypeError, match="no values"):
        tnp.shares_memory(tnp.asarray(torch.ones(2, device="meta")), tnp.ones(2))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an accelerator")
def test_memory_of_an_accelerator() -> None:
    x = tnp.ones(6, device="cuda")
    assert (
        tnp.shares_memory(x, x[1:]) and not tnp.shares_memory(x[::2], x[1::2]) and not tnp.shares_memory(x, tnp.ones(6))
    )


@pytest.mark.parametrize(
    "function",
    [
        lambda xp, x: xp.shares_memory(x, x[1:]),
        lambda xp, x: xp.shares_memory(x[::2], x[1::2]),
        lambda xp, x: xp.may_share_memory(x[:2], x[2:]),
        lambda xp, x: xp.shares_memory(x, x * 2),
        lambda xp, x: (lambda y: xp.shares_memory(y[:2], y[1:]))(x * 2),
    ],
)
def test_in_compiled_functions_it_is_known_of_what_they_make(function: Callable[..., bool]) -> None:
    x = np.arange(4.0)
    compiled = tnp.compile(lambda y: function(tnp, y), backend="eager")
    assert compiled(tnp.asarray(x)) is function(np, x)


def test_in_compiled_functions_it_is_not_known_of_two_arguments() -> None:
    x = tnp.arange(4.0)
    with pytest.raises(tnp.TracedValueError):
        tnp.compile(tnp.shares_memory, backend="eager", fullgraph=True)(x, x[1:])
    with pytest.raises(tnp.TracedValueError):
        tnp.compile(tnp.grad(lambda y: y.sum() * tnp.shares_memory(y, y[1:])), backend="eager", fullgraph=True)(x)


@pytest.mark.parametrize("n", [6, 5000, 70000])
@pytest.mark.parametrize(
    "operation",
    [
        lambda xp, x, y: y.__iadd__(x),
        lambda xp, x, y: y.__isub__(x[:1]),
        lambda xp, x, y: xp.multiply(x, y, out=y),
        lambda xp, x, y: xp.negative(x, out=y),
        lambda xp, x, y: y.__setitem__(..., x),
        lambda xp, x, y: y.__setitem__(slice(None, None, -1), x),
        lambda xp, x, y: xp.add(x[::-1], y, out=y),
        lambda xp, x, y: xp.clip(x, 1, 3, out=y),
        lambda xp, x, y: xp.cumsum(x, out=y),
    ],
)
def test_arrays_of_numpy_that_overlap(operation: Callable[..., object], n: int) -> None:
    """torch does not see it: each is a tensor with its own storage."""
    for one, other in ((slice(-1), slice(1, None)), (slice(1, None), slice(-1)), (slice(None), slice(None))):
        expected, memory = np.arange(float(n)), np.arange(float(n))
        operation(np, expected[one], expected[other])
        operation(tnp, tnp.asarray(memory[one]), tnp.asarray(memory[other]))
        np.testing.assert_array_equal(memory, expected)
