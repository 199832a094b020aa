"""torch.export.export, strict and not, over code with arrays: of functions, of transforms, and over the whole table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import tnp as np
from backend_torch.autodiff.transform_levels import EXPORTS_FORWARD_MODE
from conformance import coverage
from tests.oracle import placed
from tests.tnp.array.test_torch_compile import FUNCTIONS, TRANSFORMED
from tests.tnp.compile.test_every_full_graph import CODES, NATIVE
from tests.tnp.compile.test_every_full_graph import REFUSED as NO_FULL_GRAPH

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
    return placed(np, x.numpy()), placed(np, (2 * x + 1).numpy())


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", ["operators", "captured", "in place", "out", "joined", "made", "lists as indices"])
def test_arrays_in_and_out(name: str, strict: bool) -> None:
    example, x = inputs()
    program = exported(lambda x: {"result": FUNCTIONS[name](x)}, strict, example)
    assert_same(program(x), {"result": FUNCTIONS[name](x)})


FOLLOWED = ["vectorized_map", "vectorized_map of vectorized_map", *["jvp"] * EXPORTS_FORWARD_MODE]
PLAIN_GRADIENTS = ["grad", "grad of grad", "grad of what overwrites its argument", "value and aux"]


DONE = [(name, False) for name in FOLLOWED + PLAIN_GRADIENTS] + [(name, True) for name in FOLLOWED]


@pytest.mark.parametrize(("name", "strict"), DONE)
def test_transforms(name: str, strict: bool) -> None:
    example, x = inputs()
    assert_same(exported(TRANSFORMED[name], strict, example)(x), TRANSFORMED[name](x))


REFUSED = [(name, True) for name in PLAIN_GRADIENTS]
REFUSED += [
    (name, strict)
    for name in (
        *("vectorized_map of grad", "vjp", "jacobian", "jacobian forward", "hessian"),
        *["jvp"] * (not EXPORTS_FORWARD_MODE),
    )
    for strict in (False, True)
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


NO_PROGRAM = {
    "the shape of its result, or the way to it, depends on values": (
        "asarray_chkfinite bincount compress extract linalg.eig linalg.eigvals ndarray.compress "
        "polydiv roots setxor1d"
    ),
    "its result is a Python value that depends on values": (
        "allclose array_equal array_equiv may_share_memory ndenumerate shares_memory"
    ),
    "its result is a Python object that a program can't return": "asmatrix bmat common_type matrix ndarray.device",
    "exported memory is not there while it is traced": "from_dlpack",
    "makes a polynomial, which trims zeros": "poly1d polymul trim_zeros",
}
"""Reason -> names of functions that torch.export.export(strict=False) refuses; by Dynamo, strict=True refuses more."""

NAMES = {name for names in NO_PROGRAM.values() for name in names.split()}


# Strict export is Dynamo's full graph, which has a table of its own, and then the rest: every fourth shows that.
EVERY = [(name, False) for name in NATIVE] + [(name, True) for name in NATIVE[::4]]


@pytest.mark.walk
@pytest.mark.parametrize(("name", "strict"), EVERY)
def test_every_native_function(name: str, strict: bool) -> None:
    class Sample(torch.nn.Module):
        def __init__(self, sample: Function) -> None:
            super().__init__()
            self.sample = sample

        def forward(self, **arrays: Any) -> Any:
            return self.sample(**arrays)

    def can_be_exported(sample: Function, arrays: dict[str, Any]) -> bool:
        torch._dynamo.reset()
        program = torch.export.export(Sample(sample), (), arrays, strict=strict)
        return coverage.same_result(program.module(), sample, arrays)

    refused = NAMES | NO_FULL_GRAPH if strict else NAMES
    assert coverage.tried(can_be_exported, CODES[name]) == ("no" if name in refused else "yes")


def test_every_refusal_is_of_a_native_function() -> None:
    assert set(NATIVE) >= NAMES
