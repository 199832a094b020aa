"""Floating-point errors: found after each of torch's operations while somebody asks for them, never otherwise.

Layer: owns which operations are looked at, and which error an element that is not finite stands for. torch has no
status flags: the operands tell. Nothing of it is on the way of an
operation outside a scope that asks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode

from backend_torch.memory import is_readable

Tensor = torch.Tensor
Report = Callable[[str, str], None]

# torch's names of the operations whose result follows from one element of each operand, and NumPy's.
NAMES = {
    "add": "add",
    "sub": "subtract",
    "rsub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "reciprocal": "reciprocal",
    "square": "square",
    "pow": "power",
    "sqrt": "sqrt",
    "exp": "exp",
    "exp2": "exp2",
    "expm1": "expm1",
    "log": "log",
    "log2": "log2",
    "log10": "log10",
    "log1p": "log1p",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "asin": "arcsin",
    "acos": "arccos",
    "sinh": "sinh",
    "cosh": "cosh",
    "acosh": "arccosh",
    "atanh": "arctanh",
    "fmod": "fmod",
    "remainder": "remainder",
    "floor_divide": "floor_divide",
    "sum": "reduce",
    "prod": "reduce",
    "cumsum": "accumulate",
    "cumprod": "accumulate",
}
_POLES = {"div", "reciprocal", "log", "log2", "log10", "log1p", "atanh", "pow"}
_REDUCING = {"sum", "prod", "cumsum", "cumprod"}
_VANISHING = {"mul", "div", "exp", "exp2", "square", "pow", "reciprocal"}


class Watch(TorchDispatchMode):
    """While it is on, ``report(kind, name)`` is called after an operation that made an error.

    Kinds are NumPy's: divide, over, under, invalid. ``wanted(kind)`` says whether one is asked for.
    """

    def __init__(self, wanted: Callable[[str], bool], report: Report) -> None:
        super().__init__()
        self.wanted = wanted
        self.report = report

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__.rstrip("_")
        if name in NAMES and isinstance(result, Tensor) and result.is_floating_point() | result.is_complex():
            # An operation in place has written over its operand, and what it was is not known: it counts as finite.
            operands = [a for a in args[:2] if a is not result and isinstance(a, (Tensor, int, float))]
            for kind in _kinds(name, operands, result, self.wanted("under")):
                if self.wanted(kind):
                    self.report(kind, NAMES[name])
        return result

    def is_on(self) -> bool:
        """Whether it is the innermost mode."""
        return _get_current_dispatch_mode() is self


def _kinds(name: str, operands: list[Any], result: Tensor, with_under: bool) -> list[str]:
    """The errors that an operation made."""
    if not is_readable(result) or not result.numel():
        return []
    kinds = []
    if not bool(result.isfinite().all()):
        tensors = [torch.as_tensor(operand) for operand in operands]
        if name in _REDUCING:
            finite = all(bool(t.isfinite().all()) for t in tensors)
            number = not any(bool(t.isnan().any()) for t in tensors)
            new_nan = number and bool(result.isnan().any())
            new_inf = finite and bool(result.isinf().any())
            pole = False
        else:
            nan, unbounded = torch.zeros_like(result, dtype=torch.bool), torch.zeros_like(result, dtype=torch.bool)
            for operand in tensors:
                nan, unbounded = nan | operand.isnan(), unbounded | ~operand.isfinite()
            new_nan = bool((result.isnan() & ~nan).any())
            infinite = result.isinf() & ~unbounded
            new_inf = bool(infinite.any())
            pole = new_inf and name in _POLES
            if pole:
                at_pole = infinite & _at_pole(name, operands)
                pole, new_inf = bool(at_pole.any()), bool((infinite & ~at_pole).any())
        kinds += ["divide"] * pole + ["over"] * new_inf + ["invalid"] * new_nan
    if with_under and name in _VANISHING and not result.is_complex():
        tiny = torch.finfo(result.dtype).tiny
        small = result.abs() < tiny
        for operand in operands:
            if name == "mul" or (name in ("square", "pow", "div") and operand is operands[0]):
                small = small & torch.as_tensor(operand != 0)
            if isinstance(operand, Tensor):
                small = small & operand.isfinite()
        if bool(small.any()):
            kinds.append("under")
    return kinds


def _at_pole(name: str, operands: list[Any]) -> Any:
    """Where an operation has a pole at its operands, rather than a result that is too large."""
    last = operands[-1]
    if name in ("div", "reciprocal", "log", "log2", "log10"):
        return last == 0
    if name == "log1p":
        return last == -1
    if name == "atanh":
        return abs(last) == 1
    return torch.as_tensor(operands[0] == 0)  # pow: zero to a negative power
