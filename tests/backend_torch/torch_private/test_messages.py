"""Whose error it is: a program's own decides nothing, whatever it says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import tnp as np
from backend_torch.tensors import out_of_memory
from backend_torch.torch_private import messages


def raised(function: Callable[[], Any]) -> BaseException:
    with pytest.raises(Exception) as caught:
        function()
    return caught.value


def refuse(text: str, kind: type[Exception] = RuntimeError) -> Any:
    raise kind(text)


def asserted() -> None:
    assert torch.zeros(1), "vmap"


def raised_again() -> None:
    try:
        torch.zeros(2).view(3)
    except RuntimeError as error:
        raise error


@pytest.mark.parametrize("function", [lambda: refuse("vmap"), asserted])
def test_an_error_of_the_program(function: Callable[[], Any]) -> None:
    error = raised(function)
    assert messages.is_of_program(error) and not messages.says(error, ("vmap",))


@pytest.mark.parametrize(
    "function",
    [
        lambda: torch.zeros(2).view(3),  # raised in C++
        lambda: torch.zeros(2) @ torch.zeros(3),
        lambda: torch.einsum("ij,jk", torch.zeros(2)),  # in torch's Python
        lambda: torch.vmap(lambda x: x.item())(torch.zeros(2)),
        raised_again,
    ],
)
def test_an_error_of_torchs(function: Callable[[], Any]) -> None:
    error = raised(function)
    assert not messages.is_of_program(error) and messages.says(error, (str(error),))


def test_an_error_that_was_never_raised() -> None:
    assert not messages.is_of_program(RuntimeError("vmap"))


WORDS = [
    "vmap", "Batching rule", "being batched", "a leaf Variable that requires grad", "modified by an inplace operation",
    "forward mode AD", "out of memory", "index out of bounds: ", "numel: integer multiplication overflow",
]  # fmt: skip


@pytest.mark.parametrize("text", WORDS)
@pytest.mark.parametrize(
    "transform",
    [
        lambda f: np.vectorized_map(f, np.ones((2, 3))),
        lambda f: np.grad(f)(np.ones(3)),
        lambda f: np.jvp(f, (np.ones(3),), (np.ones(3),)),
        lambda f: np.vjp(f, np.ones(3)),
        lambda f: np.compile(f, backend="eager")(np.ones(3)),
    ],
    ids=["vectorized_map", "grad", "jvp", "vjp", "compile"],
)
def test_a_function_is_called_once_and_its_error_stays(transform: Callable[[Any], Any], text: str) -> None:
    calls = []

    def function(x: Any) -> Any:
        calls.append(x)
        refuse(text)

    error = raised(lambda: transform(function))
    assert type(error) is RuntimeError and str(error) == text and len(calls) == 1


@pytest.mark.parametrize(
    ("kind", "text"), [(IndexError, "no rows for dimension 3"), (RuntimeError, "tnp.IndexError: 3")]
)
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_an_error_inside_of_a_compiled_call_stays(kind: type[Exception], text: str, backend: str) -> None:
    """Also where a loop may fail, whose own errors come with their class in their text."""
    number = np.ShapeDtypeStruct((), np.float64)

    def function(x: Any) -> Any:
        total = np.fori_loop(0, 5, lambda i, carry: carry + x[i], np.zeros(()))
        return np.pure_callback(lambda each: refuse(text, kind), number, total)

    error = raised(lambda: np.compile(function, backend=backend)(np.ones(5)))
    assert type(error) is kind and str(error) == text


def test_memory_errors_are_torchs() -> None:
    error = raised(lambda: refuse("out of memory"))
    assert out_of_memory.explained(error) is error  # type: ignore[arg-type]
    assert isinstance(out_of_memory.explained(raised(lambda: torch.empty(1 << 60))), MemoryError)  # type: ignore[arg-type]


def test_an_error_of_array_protocol_stays() -> None:
    class Given:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return refuse("object __array__ method not producing an array", ValueError)

    for xp in (numpy, np):
        assert str(raised(lambda xp=xp: xp.asarray(Given()))) == "object __array__ method not producing an array"
