"""Floating-point errors: operations are checked only inside of a scope that asks for checks.

Layer: owns the list of checked operations, and the error that an element of a result stands for. torch has no status
flags, so the check compares results with operands. A ufunc is checked as a whole (``of_ufunc``), whatever steps its
kernel takes; other functions are checked step by step, by a mode of torch's dispatcher. Outside of such a scope, an
operation runs none of this code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from backend_torch.kernels.reductions import masked
from backend_torch.tensors.memory import is_readable, unwrapped
from backend_torch.torch_private import modes
from backend_torch.torch_private.modes import Watching

Tensor = torch.Tensor
Report = Callable[[str, str], None]

_SAME = (
    "reciprocal square sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh fmod remainder floor_divide dot"
)
NAMES = {
    "add": "add", "sub": "subtract", "rsub": "subtract", "mul": "multiply", "div": "divide", "pow": "power",
    "asin": "arcsin", "acos": "arccos", "acosh": "arccosh", "atanh": "arctanh", "_to_copy": "cast",
    "sum": "reduce", "mean": "reduce", "prod": "reduce", "cumsum": "accumulate", "cumprod": "accumulate",
    "mv": "matmul", "mm": "matmul", "bmm": "matmul",
} | {name: name for name in _SAME.split()}  # fmt: skip
"""torch's names of the checked steps -> NumPy's names for them."""
_REDUCING = {"reduce", "accumulate", "dot", "matmul"}
_VANISHING = {"multiply", "divide", "exp", "exp2", "square", "power", "float_power", "reciprocal"}
_QUOTIENTS = {"floor_divide", "divmod"}
_MODULI = {"remainder", "fmod", "divmod"}


class Watch(Watching):
    """A mode that calls ``report(kind, name)`` after each step that made an error.

    Kinds are NumPy's: divide, over, under, invalid. ``wanted(kind)`` says whether to check for one.
    """

    def __init__(self, wanted: Callable[[str], bool], report: Report) -> None:
        super().__init__()
        self.wanted = wanted
        self.report = report
        self.is_quiet = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = modes.run(func, args, kwargs)
        if func not in _names:
            _names[func] = NAMES.get(func.overloadpacket.__name__ if func is _TO_COPY else _name_of(func))
        name = _names[func]
        if name is not None and not self.is_quiet and isinstance(result, Tensor):
            # An operation in place has overwritten its operand, whose former value is unknown and counts as finite.
            operands = [a for a in args[:2] if a is not result and isinstance(a, (Tensor, int, float))]
            with self.quiet():
                kinds = _cast(operands[0], result) if name == "cast" else of_step(name, operands, result, self.wanted)
            for kind in kinds:
                if self.wanted(kind):
                    self.report(kind, name)
        return result

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Within the block, steps are not checked, and if possible not sent through the mode."""
        before, self.is_quiet = self.is_quiet, True
        was_on = modes.leave(self)
        try:
            yield
        finally:
            if was_on:
                modes.enter(self)
            self.is_quiet = before

    def is_on(self) -> bool:
        """Whether this is the innermost mode."""
        return modes.is_innermost(self)


_TO_COPY = torch.ops.aten._to_copy.default
_names: dict[Any, str | None] = {}


def _name_of(func: Any) -> str:
    """Return torch's name of an operation, without the underscore of its in-place form."""
    name: str = func.overloadpacket.__name__
    return name.rstrip("_")


def _is_known(tensor: Tensor) -> bool:
    """Whether a tensor has values, those of all slices in a batch; a trace has none."""
    return is_readable(unwrapped(tensor))


def _is_any(tensor: Tensor) -> bool:
    """Whether an element is true, in any slice."""
    return bool(unwrapped(tensor.any()).any())


def _are_all(tensor: Tensor) -> bool:
    return bool(unwrapped(tensor.all()).all())


def of_step(name: str, operands: Sequence[Any], result: Tensor, wanted: Callable[[str], bool]) -> list[str]:
    """Return the errors in a result of one element of each operand, or of all elements of a reduction."""
    if not (result.is_floating_point() or result.is_complex()) or not _is_known(result) or not result.numel():
        return []
    kinds = []
    if not _are_all(result.isfinite()):
        tensors = [torch.as_tensor(operand) for operand in operands]
        if name in _REDUCING:
            finite = all(_are_all(t.isfinite()) for t in tensors)
            number = not any(_is_any(t.isnan()) for t in tensors)
            kinds += ["over"] * (finite and _is_any(result.isinf()))
            kinds += ["invalid"] * (number and _is_any(result.isnan()))
        else:
            kinds += _not_finite(name, tensors, result)
    if name in _VANISHING and wanted("under") and not result.is_complex() and _is_small(name, operands, result):
        kinds.append("under")
    return kinds


def of_ufunc(
    name: str, operands: Sequence[Any], results: Sequence[Tensor], mask: Tensor | None, wanted: Callable[[str], bool]
) -> list[str]:
    """Return the errors of a ufunc for these operands, tensors or numbers, where the mask is true."""
    operands = [torch.as_tensor(operand) for operand in operands]
    if not all(map(_is_known, (*operands, *results))):
        return []
    if mask is not None:
        operands = [masked(operand, mask, 1) for operand in operands]
        results = [masked(result, mask, 1) for result in results]
    integer = not any(t.is_floating_point() or t.is_complex() for t in (*operands, *results))
    if integer:
        return _of_integers(name, operands)
    kinds = [kind for result in results for kind in of_step(name, operands, result, wanted)]
    if name in _QUOTIENTS and "over" in kinds:
        kinds.append("invalid")  # NumPy's rounding subtracts an infinite quotient from itself
    return list(dict.fromkeys(kinds))


def _of_integers(name: str, operands: list[Tensor]) -> list[str]:
    """Return the errors of integers: division by zero, and the one quotient that is too large."""
    if name == "reciprocal":
        return ["divide", "invalid"] * _is_any(operands[0] == 0)  # NumPy casts the infinite quotient
    if name not in _QUOTIENTS | _MODULI:
        return []
    x, y = operands
    kinds = ["divide"] * bool(x.numel() and _is_any(y == 0))
    if name in _QUOTIENTS and x.dtype is not torch.bool and torch.iinfo(x.dtype).min < 0:
        kinds += ["over"] * _is_any((x == torch.iinfo(x.dtype).min) & (y == -1))
    return kinds


def _not_finite(name: str, operands: list[Tensor], result: Tensor) -> list[str]:
    """Return the errors that turned finite operands into elements that are not finite."""
    nan, unbounded = torch.zeros_like(result, dtype=torch.bool), torch.zeros_like(result, dtype=torch.bool)
    for operand in operands:
        nan, unbounded = nan | operand.isnan(), unbounded | ~operand.isfinite()
    infinite = result.isinf() & ~unbounded
    pole = infinite & _at_pole(name, operands)
    found = {"divide": pole, "over": infinite & ~pole, "invalid": result.isnan() & ~nan}
    return [kind for kind, where in found.items() if _is_any(where)]


def _at_pole(name: str, operands: list[Tensor]) -> Tensor:
    """Return where an operation has a pole at its operands, instead of a result that is too large."""
    first, last = operands[0], operands[-1]
    if name in ("divide", "floor_divide", "divmod", "reciprocal", "log", "log2", "log10"):
        return last == 0
    if name == "log1p":
        return last == -1
    if name == "arctanh":
        return torch.ones_like(first, dtype=torch.bool)  # it is infinite nowhere else
    if name in ("power", "float_power"):
        return first == 0
    return torch.zeros_like(first, dtype=torch.bool)


def _is_small(name: str, operands: Sequence[Any], result: Tensor) -> bool:
    """Whether a result is too small for all its digits."""
    small = result.abs() < torch.finfo(result.dtype).tiny
    for operand in operands:
        if name == "multiply" or (name in ("square", "power", "float_power", "divide") and operand is operands[0]):
            small = small & torch.as_tensor(operand != 0)
        if isinstance(operand, Tensor):
            small = small & operand.isfinite()
    return _is_any(small)


def _cast(tensor: Any, result: Tensor) -> list[str]:
    """Return the errors of a cast: a finite number that becomes infinite, or that an integer can't hold."""
    if not isinstance(tensor, Tensor) or not _is_known(tensor) or tensor.dtype is result.dtype:
        return []
    if result.is_floating_point() or result.is_complex():
        narrower = tensor.dtype.itemsize > result.dtype.itemsize or not tensor.is_floating_point()
        return ["over"] * bool(narrower and _is_any(tensor.isfinite() & ~result.isfinite()))
    if not (tensor.is_floating_point() or tensor.is_complex()) or result.dtype is torch.bool:
        return []
    values = (tensor.real if tensor.is_complex() else tensor).to(torch.float64)
    limits = torch.iinfo(result.dtype)
    low, high = max(limits.min, -(2**63)), limits.max
    return ["invalid"] * _is_any(values.isnan() | (values.trunc() < low) | (values.trunc() > high))
