"""Run the samples: a sample's code as a function, and what two of its results have in common."""

from __future__ import annotations

import ast
import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import torch

import tnp
from conformance import samples

Sample = Callable[..., Any]


def sample_function(code: str, xp: Any) -> Sample:
    """Return the sample as a function of its arrays, with ``np`` bound to ``xp``; no eval, which Dynamo can't trace."""
    body = ast.parse(code).body
    if isinstance(body[-1], ast.Expr):
        body[-1] = ast.Return(body[-1].value)
    module = ast.parse(f"def sample({', '.join(samples.values(numpy))}): pass")
    definition = module.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.body = body
    namespace = {"np": xp}
    exec(compile(ast.fix_missing_locations(module), f"<{code}>", "exec"), namespace)
    return namespace["sample"]


def quiet() -> contextlib.AbstractContextManager[Any]:
    """Ignore warnings within the block."""
    stack = contextlib.ExitStack()
    stack.enter_context(warnings.catch_warnings())
    warnings.simplefilter("ignore")
    return stack


def leaves(value: Any) -> list[torch.Tensor]:
    """Return the tensors in a result."""
    if isinstance(value, tnp.ndarray):
        return [value.tensor]
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [tensor for item in value for tensor in leaves(item)] if isinstance(value, (list, tuple)) else []


def same(one: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
    """Whether two results are equal within rounding."""
    return len(one) == len(other) and all(
        a.shape == b.shape and a.dtype == b.dtype and torch.allclose(a, b, equal_nan=True)
        for a, b in zip(one, other, strict=True)
    )


def backend(name: str | None) -> str | None:
    """Return the ``backend`` of tnp.compile that a command's option names: "default" stands for None."""
    return None if name == "default" else name
