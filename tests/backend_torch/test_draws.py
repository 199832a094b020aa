"""Draws: a function that is run again draws the same numbers, whichever generator has them."""

from __future__ import annotations

import pytest
import torch

from backend_torch import autodiff
from backend_torch.draws import Draws
from backend_torch.random import Stream


def numbers(generator: torch.Generator | None = None) -> list[float]:
    return torch.rand(2, generator=generator).tolist()


def test_again_and_on() -> None:
    with Draws() as drawn:
        first = numbers()
    following = torch.default_generator.clone_state()
    with drawn.again():
        assert numbers() == first
    assert numbers() == numbers(following)
    drawn.rewind()
    assert numbers() == first


def test_after_an_error_the_generators_go_on() -> None:
    with Draws() as drawn:
        first = numbers()
    following = torch.default_generator.clone_state()
    with pytest.raises(KeyError), drawn.again():
        assert numbers() == first
        raise KeyError
    assert numbers() == numbers(following)


def test_a_stream_made_inside() -> None:
    with Draws() as drawn:
        stream = Stream(None, 3)
        first = numbers(stream.generator)
    with drawn.again():
        assert numbers(stream.generator) == first


def test_an_outer_record_has_what_an_inner_one_repeats() -> None:
    with Draws() as inner:
        numbers()
    before = torch.default_generator.clone_state()
    with Draws() as outer:
        with inner.again():
            numbers()
        numbers()
    outer.rewind()
    assert numbers() == numbers(before)


def test_dropout_that_is_computed_again() -> None:
    x = torch.linspace(1, 2, 64, dtype=torch.float64)

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x.exp()
        kept = torch.nn.functional.dropout(y * y)
        y.zero_()
        return (kept,)

    (value,), pull = autodiff.vjp(function, [x], lambda: 1)
    assert torch.allclose(pull((torch.ones_like(x),))[0], 2 * value)
