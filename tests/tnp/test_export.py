"""torch.export.export, strict and not, over code with arrays: of functions, of transforms, and over the whole table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import tnp as np
from tests.tnp.test_dynamo import FUNCTIONS, TRANSFORMED

Function = Callable[..., Any]


class Module(torch.nn.Module):
    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def exported(function: Function, strict: bool, *args: Any) -> Any:
    torch._dynamo.reset()
    return torch.export.export(Module(function), args, strict=strict).module()


def assert_same(found: Any, expected: Any) -> None:
    leaves, spec = torch.utils._pytree.tree_flatten(found)
    others, other_spec = torch.utils._pytree.tree_flatten(expected)
    assert spec == other_spec
    for one, other in zip(leaves, others, strict=True):
        assert type(one) is torch.Tensor
        torch.testing.assert_close(one, other)


def inputs() -> tuple[Any, Any]:
    """What a program is exported with, and what it is run with."""
    x = torch.linspace(0.1, 1, 6).reshape(2, 3)
    return np.asarray(x), np.asarray(2 * x + 1)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", ["operators", "captured", "in place", "out", "joined", "made", "lists as indices"])
def test_arrays_in_and_out(name: str, strict: bool) -> None:
    example, x = inputs()
    program = exported(lambda x: {"result": FUNCTIONS[name](x)}, strict, example)
    assert_same(program(x), {"result": FUNCTIONS[name](x)})


FOLLOWED = ["vectorized_map", "vectorized_map of vectorized_map", "jvp"]
PLAIN_GRADIENTS = ["grad", "grad of grad", "grad of what overwrites its argument", "value and aux"]


DONE = [(name, False) for name in FOLLOWED + PLAIN_GRADIENTS] + [(name, True) for name in FOLLOWED]


@pytest.mark.parametrize(("name", "strict"), DONE)
def test_transforms(name: str, strict: bool) -> None:
    example, x = inputs()
    assert_same(exported(TRANSFORMED[name], strict, example)(x), TRANSFORMED[name](x))


REFUSED = [(name, True) for name in PLAIN_GRADIENTS]
REFUSED += [
    (name, strict) for name in ("vectorized_map of grad", "vjp", "jacobian", "hessian") for strict in (False, True)
]


@pytest.mark.parametrize(("name", "strict"), REFUSED)
def test_derivatives_that_a_program_would_not_compute_are_refused(name: str, strict: bool) -> None:
    """torch's own come out as tensors without data."""
    with pytest.raises(Exception, match=r"torch.export holds no derivatives but"):
        exported(TRANSFORMED[name], strict, inputs()[0])


def test_a_tape() -> None:
    def gradient(x: Any) -> Any:
        with np.GradientTape() as tape:
            tape.watch(x)
            y = np.sum(np.sin(x) * x)
        return tape.gradient(y, x)

    example, x = inputs()
    assert_same(exported(gradient, False, example)(x), gradient(x))
