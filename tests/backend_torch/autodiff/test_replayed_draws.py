"""Draws: a function that is run again draws the same numbers, whichever generator has them."""

from __future__ import annotations

import pytest
import torch

from backend_torch.autodiff import autodiff
from backend_torch.autodiff.replayed_draws import Draws, note
from backend_torch.random.generators import Stream


def numbers(generator: torch.Generator | None = None) -> list[float]:
    return torch.rand(2, generator=generator).tolist()


def test_again_and_on() -> None:
    with Draws() as drawn:
        first = numbers()
    numbers()  # the generator is further on than the function
    following = torch.default_generator.clone_state()
    with drawn.again():
        assert numbers() == first
    assert numbers() == numbers(following)
    drawn.rewind()
    assert numbers() == first


def test_after_an_error_the_generators_go_on() -> None:
    with Draws() as drawn:
        first = numbers()
    numbers()  # the generator is further on than the function
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


def drawn_from(generator: torch.Generator) -> list[float]:
    note(generator)
    return numbers(generator)


def test_a_generator_is_as_before_its_first_number() -> None:
    generator = torch.Generator()
    with Draws() as drawn:
        first = drawn_from(generator), drawn_from(generator)
    drawn.rewind()
    assert (drawn_from(generator), drawn_from(generator)) == first


def test_an_outer_record_has_what_an_inner_one_draws() -> None:
    generator = torch.Generator()
    with Draws() as outer, Draws():
        first = drawn_from(generator)
    outer.rewind()
    assert drawn_from(generator) == first


def test_an_outer_record_has_what_an_inner_one_repeats() -> None:
    """Not what the generator is inside, where it was taken back."""
    generator = torch.Generator()
    with Draws() as inner:
        first = drawn_from(generator)
    before = generator.clone_state()
    with Draws() as outer, inner.again():
        assert drawn_from(generator) == first
    outer.rewind()
    assert numbers(generator) == numbers(before)


def test_dropout_that_is_computed_again() -> None:
    x = torch.linspace(1, 2, 64, dtype=torch.float64)

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x.exp()
        kept = torch.nn.functional.dropout(y * y)
        y.zero_()
        return (kept,)

    (value,), pull = autodiff.vjp(function, [x], lambda: 1)
    assert torch.allclose(pull((torch.ones_like(x),))[0], 2 * value)
