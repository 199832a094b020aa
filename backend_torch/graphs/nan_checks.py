"""Find the first operation that makes a NaN from numbers, and its line, in eager code and in graphs.

Layer: owns which results count. An operation that has a NaN operand, or that fills or allocates memory, makes none.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Interpreter, Node

from backend_torch.graphs.compiling import Executable
from backend_torch.tensors import memory, trace_state
from backend_torch.torch_private import modes, traces, trees
from backend_torch.torch_private.modes import Watching
from backend_torch.torch_private.operators import schema_of

Tensor = torch.Tensor
aten = torch.ops.aten
_UNDEFINED = {aten.empty_like.default, aten.new_empty.default, aten.new_empty_strided.default}


def _error(what: str, operation: str, line: str) -> FloatingPointError:
    """Return the error for an operation that made a NaN or an infinity; its attribute ``made`` holds both names."""
    error = FloatingPointError(f"invalid value ({what}) encountered in {operation} at {line}")
    error.made = what, operation  # type: ignore[attr-defined]
    return error


class _Check(Watching):
    def __init__(self, infinities: bool) -> None:
        super().__init__()
        self.infinities = infinities

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        schema = schema_of(func)
        operands = trees.leaves((args, kwargs))
        given = any(map(self._kind, operands)) if schema is None or schema.is_mutable else None
        result = modes.run(func, args, kwargs)
        if func in _UNDEFINED or not any(isinstance(operand, Tensor) for operand in operands):
            return result
        kind = next(filter(None, map(self._kind, trees.leaves(result))), "")
        if kind and not (any(map(self._kind, operands)) if given is None else given):
            name = str(getattr(func, "overloadpacket", func)).rpartition(".")[2]
            raise _error(kind, name, trace_state.user_line())
        return result

    def _kind(self, value: Any) -> str:
        """Return ``"nan"`` or ``"inf"`` if a tensor or a number holds one that is checked for; else ``""``."""
        if isinstance(value, float):
            value = torch.full((), value)
        if not isinstance(value, Tensor) or not (value.is_floating_point() or value.is_complex()):
            return ""
        if traces.is_fake(value) or value.device.type == "meta":
            return ""
        if bool(value.isnan().any()):
            return "nan"
        return "inf" if self.infinities and bool(value.isinf().any()) else ""


class _ByLine(Interpreter):
    """Runs a graph's operations one by one; an error names the line at which the operation was traced."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.extra_traceback = False  # else torch adds the node to the error's text

    def run_node(self, node: Node) -> Any:
        try:
            return super().run_node(node)
        except FloatingPointError as error:
            made, line = getattr(error, "made", None), node.meta.get("line")
            if made is None or line is None:
                raise
            what, operation = made
            # Without ``made``: an outer graph must not put its own line in place of this one.
            raise FloatingPointError(*_error(what, operation, line).args) from None

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        found = super().get_attr(target, args, kwargs)
        return _ByLine(found).run if isinstance(found, GraphModule) else found


_on: list[_Check] = []


@contextlib.contextmanager
def checked(infinities: bool) -> Iterator[None]:
    """A scope in which an operation that makes a NaN, or with ``infinities`` an infinity, raises FloatingPointError."""
    mode, around = _Check(infinities), memory.host_computes
    memory.host_computes = False  # modes don't see operations that NumPy computes
    with mode:
        _on.append(mode)
        try:
            yield
        finally:
            _on.remove(mode)
            memory.host_computes = around


def is_on() -> bool:
    """Whether checks are on in this thread, as the innermost mode."""
    return bool(_on) and any(map(modes.is_innermost, _on))


def run(executable: Executable, tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    """Run a graph's operations one by one; return its results."""
    values: Sequence[Tensor] = _ByLine(executable.operations(tensors)).run(*tensors)
    return values


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """A scope without checks, for tracing: fake tensors have no values."""
    mode = next(filter(modes.leave, _on), None)
    try:
        yield
    finally:
        if mode is not None:
            modes.enter(mode)
