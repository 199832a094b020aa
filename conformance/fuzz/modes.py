"""What is compared with what: tnp with NumPy, compiled code with eager, a vectorised function with the loop, a gradient
with differences.

Layer: owns the two outcomes of a call in each mode, and the line that reproduces it. A mode returns None for a call
without outcomes to compare, such as a gradient of integers.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import tnp
from backend_torch.tensors.dtypes import to_torch
from conformance import trials
from conformance.fuzz import compare
from conformance.fuzz.compare import Disagreement
from conformance.fuzz.program import NAMES, Base, Call, Items, Node, Outcome, Text, View, run_numpy, run_tnp
from tnp._array.ndarray import scalar

KINKED = 1e-3  # if difference quotients differ by more, there is no derivative here
CLOSE = 1e-4  # tolerance between a gradient and the quotient
STEP = 1e-5
_EXTREME = re.compile(r"(?<![\w.])(\d+(\.\d+)?e[-+]\d+|\d{7,}(\.\d+)?)(?![\w.])")  # beside such a number a step is lost

Turn = Callable[[], None]


@dataclass(frozen=True)
class Compared:
    """A mode's finding: the disagreement, and whether the reference side accepts the call."""

    found: Disagreement | None
    accepted: bool


def with_numpy(call: Call, name: str, device: str, turn: Turn) -> Compared | None:
    """tnp against NumPy; ``turn`` is called where tnp's part begins."""
    if call.leaves_unwritten or call.corrupts or call.is_endless:
        return Compared(None, True)
    expected = run_numpy(call)
    turn()
    actual = run_tnp(call, device)
    return Compared(compare.disagreement(call, name, expected, actual), expected.error is None)


def compiled(call: Call, name: str, device: str, backend: str, turn: Turn) -> Compared | None:
    """Compare the function that ``tnp.compile`` makes with the eager one."""
    if call.leaves_unwritten or call.is_endless or call.callee == "{0}.flat":  # an iterator reads later
        return None
    expected = run_tnp(call, device)
    turn()
    actual = run_tnp(call, device, lambda function: tnp.compile(function, backend=trials.backend(backend)))
    actual = replace(actual, value=_as_ours(expected.value, actual.value))
    return Compared(compare.disagreement(call, name, _on_host(expected), actual), expected.error is None)


def _as_ours(expected: Any, actual: Any) -> Any:
    """Convert the NumPy scalars and arrays in an outcome to tnp's."""
    if isinstance(expected, np.generic) and isinstance(actual, np.generic) and actual.dtype in to_torch:
        return tnp.asarray(actual)[()]
    if type(expected) is type(actual) is np.ndarray and actual.dtype in to_torch:
        return tnp.asarray(actual)
    if type(expected) is type(actual) and type(actual) in (list, tuple) and len(expected) == len(actual):
        return type(actual)(map(_as_ours, expected, actual))
    return actual


def _on_host(outcome: Outcome) -> Outcome:
    """An outcome of tnp as one of NumPy over the same memory: what is identical and what overlaps stays so."""
    bases = [tnp.asnumpy(base) for base in outcome.bases]
    same = {id(base): array for base, array in zip(outcome.bases, bases, strict=True)}

    def made(value: Any) -> Any:
        if isinstance(value, scalar):
            return tnp.asnumpy(value)[()]
        if isinstance(value, tnp.ndarray):
            return same[id(value)] if id(value) in same else tnp.asnumpy(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(made, value))
        return type(value)(map(made, value)) if type(value) in (list, tuple) else value

    return Outcome(made(outcome.value), outcome.error, bases)


# Vectorised.


def _function(call: Call, xp: Any) -> Callable[..., Any]:
    function: Callable[..., Any] = eval(call.code, {"np": xp, "operator": operator})
    return function


def vectorised(call: Call, name: str, device: str, batched: str, turn: Turn) -> Compared | None:
    """``vectorized_map`` over the arrays against a loop; ``batched``: over 'all' of them, or the 'first' alone."""
    if not call.bases or call.leaves_unwritten or call.is_endless:
        return None
    axes = _axes(call, batched)
    loop, mapped = [[_stacked(b, a, device) for b, a in zip(call.bases, axes, strict=True)] for _ in range(2)]
    function = _function(call, tnp)
    try:
        rows = [function(*[x if a is None else x[i] for x, a in zip(loop, axes, strict=True)]) for i in range(2)]
        expected = Outcome(_rows(rows), None, loop)
    except Exception as error:
        expected = Outcome(None, error, loop)
    if expected.error is None and expected.value is None and any(row is not None for row in rows):
        return None  # text and dtypes can't be stacked
    turn()
    try:
        value = tnp.vectorized_map(lambda elements: function(*elements), tuple(mapped), in_axes=axes)
        actual = Outcome(value, None, mapped)
    except Exception as error:
        actual = Outcome(None, error, mapped)
    return Compared(compare.disagreement(call, name, _on_host(expected), actual, memory=False), expected.error is None)


def _axes(call: Call, batched: str) -> tuple[int | None, ...]:
    return tuple([0 if batched == "all" or number == 0 else None for number in range(len(call.bases))])


def _stacked(base: Base, axis: int | None, device: str) -> Any:
    """Two elements, the second with the first's values in reverse, or the array itself."""
    array = base.array()
    return tnp.asarray(array if axis is None else np.stack([array, np.flip(array)]), device=device)


def _rows(rows: list[Any]) -> Any:
    """Stack the results of the loop; None if they are not arrays."""
    first = rows[0]
    if isinstance(first, (tnp.ndarray, bool, int, float, complex)):
        return tnp.stack([tnp.asarray(row) for row in rows])
    if isinstance(first, (list, tuple)):
        if len({len(row) for row in rows}) > 1:
            raise ValueError("the function returns another structure for an element than for the first")
        parts = [_rows(list(column)) for column in zip(*rows, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    return None


# Differentiated.


def differentiated(call: Call, name: str, device: str, turn: Turn) -> Compared | None:
    """The gradient of a weighted sum of the results against the difference quotient of NumPy's, along one direction."""
    smooth = _smooth(call)
    if smooth is None or call.leaves_unwritten or call.corrupts:
        return None
    with np.errstate(all="ignore"):
        quotient = _quotient(smooth)
    if quotient is None:
        return None
    turn()
    arrays = [tnp.asarray(base.array(), device=device) for base in smooth.bases]
    moved = [i for i, base in enumerate(smooth.bases) if np.dtype(base.dtype).kind in "fc"]
    function = _function(smooth, tnp)
    try:
        gradients = tnp.grad(lambda *xs: _weighed(tnp, function(*xs), xs), argnums=moved)(*arrays)
    except Exception as error:
        place = compare.raised_at(error)
        return Compared(
            Disagreement("raises", f"{quotient}", f"{type(error).__name__}: {str(error)[:200]}", place), True
        )
    plain = name.rsplit(".", 1)[-1]  # NumPy's quotients may be of another of the right answers
    if plain in compare.UNORDERED or (plain in compare.SPECTRA and _has_another_order(smooth)):
        return Compared(None, True)
    pairs = zip(gradients, moved, strict=True)
    slope = sum(float(np.real(np.vdot(tnp.asnumpy(g), _direction(smooth.bases[i])))) for g, i in pairs)
    if abs(slope - quotient) <= CLOSE * (1 + abs(quotient)):
        return Compared(None, True)
    return Compared(Disagreement("gradient", f"{quotient:.8g}", f"{slope:.8g}"), True)


def _has_another_order(call: Call) -> bool:
    """Whether the eigenvalues of the two sides are not one by one the same: LAPACKs find them in several orders."""
    ours, theirs = [_function(call, xp)(*[xp.asarray(base.array()) for base in call.bases]) for xp in (tnp, np)]
    return not np.allclose(tnp.asnumpy(ours), theirs)


def _quotient(call: Call) -> float | None:
    """The derivative along the direction by differences; None where it has none, or where NumPy raises."""
    function = _function(call, np)

    def value(step: float) -> float:
        arrays = [
            base.array() + (step * _direction(base) if np.dtype(base.dtype).kind in "fc" else 0) for base in call.bases
        ]
        arrays = [np.asarray(array, base.dtype) for array, base in zip(arrays, call.bases, strict=True)]
        return float(_weighed(np, function(*arrays), arrays))

    try:
        low, middle, high = value(-STEP), value(0.0), value(STEP)
        further = value(3 * STEP) - value(-3 * STEP)
    except Exception:
        return None
    if not all(map(math.isfinite, (low, middle, high, further))) or abs(middle) > 1e6:
        return None
    central, sides = (high - low) / (2 * STEP), ((high - middle) / STEP, (middle - low) / STEP)
    if max(abs(sides[0] - sides[1]), abs(central - further / (6 * STEP))) > KINKED * (1 + abs(central)):
        return None
    return central


def _direction(base: Base) -> np.ndarray:
    """Where the arguments are moved: a fixed number for each element, none of them zero."""
    size = math.prod(base.shape)
    line = np.cos(1.0 + np.arange(size)) + (1j * np.sin(2.0 + np.arange(size)) if base.dtype[0] == "c" else 0)
    return line.reshape(base.shape)


def _weighed(xp: Any, result: Any, arrays: Any) -> Any:
    """The sum of all floats of a result and of the arguments, which may have been written to, each with a weight."""
    total: Any = None
    for number, leaf in enumerate([*_leaves(xp, result), *arrays]):
        if leaf.dtype.kind in "fc" and leaf.size:
            line = leaf.reshape(-1)
            weights = xp.asarray(np.sin(0.7 + number + np.arange(line.shape[0])))
            part = xp.sum(xp.real(line) * weights)
            if leaf.dtype.kind == "c":
                part = part + xp.sum(xp.imag(line) * weights[::-1])
            total = part if total is None else total + part
    if total is None:
        raise TypeError("no result is a float")
    return total


def _leaves(xp: Any, value: Any) -> list[Any]:
    if isinstance(value, (xp.ndarray, np.generic)):
        return [value]
    return [leaf for item in value for leaf in _leaves(xp, item)] if isinstance(value, (list, tuple)) else []


def _smooth(call: Call) -> Call | None:
    """The call in float64, on moderate numbers, in arrays no two the same; None if none of its arrays are floats."""
    kinds = [np.dtype(base.dtype).kind for base in call.bases]
    if not set(kinds) & set("fc"):
        if "i" not in kinds and "u" not in kinds:
            return None
        first = next(number for number, kind in enumerate(kinds) if kind in "iu")
        kinds[first] = "f"
    made = {
        base: _near(base)
        if kind in "iu"
        else Base("float64" if kind == "f" else "complex128", base.shape, _moderate(base))
        for base, kind in zip(call.bases, kinds, strict=True)
        if kind in "fciu"
    }

    def changed(node: Node) -> Node:
        if isinstance(node, View):
            layout = "" if "::-" in node.layout else node.layout  # a copy, whose changes stay in it: known
            return View(made.get(node.base, node.base), layout)
        if isinstance(node, Items):
            return Items(node.brackets, tuple([changed(item) for item in node.items]))
        source = re.sub("float(16|32)", "float64", node.source.replace("complex64", "complex128"))
        return Text(_EXTREME.sub(lambda found: "3.5" if re.search("[.e]", found[0]) else "7", source))

    keywords = {key: changed(node) for key, node in call.keywords.items()}
    return replace(call, args=tuple(map(changed, call.args)), keywords=keywords)


def _near(base: Base) -> Base:
    """The integers, where they are not as large as what `_EXTREME` finds."""
    return Base(base.dtype, base.shape, tuple([value if abs(value) < 10**6 else 7 for value in base.values]))


def _moderate(base: Base) -> tuple[Any, ...]:
    """The values where they are of some size, apart from whole numbers and from each other."""
    values = []
    for number, value in enumerate(base.values):
        shift = 0.0137 * (number + 1)
        if base.dtype.startswith("complex"):
            parts = [part if abs(part) < 10 else float(number % 5) for part in (value.real, value.imag)]
            values.append(complex(parts[0] + shift, parts[1] - shift))
        else:
            values.append((float(value) if abs(float(value)) < 10 else float(number % 5)) + shift)
    return tuple(values)


# The line that reproduces it.


def line(call: Call, under: str, batched: str) -> str:
    """The call as one line of Python in this mode."""
    if under == "numpy":
        return str(call)
    shown = (_smooth(call) or call) if under == "grad" else call
    names = list(NAMES[: len(shown.bases)])
    made = "".join(f"{name} = {base}; " for base, name in zip(shown.bases, names, strict=True))
    function = f"lambda {', '.join(names)}: {shown.expression}"
    if under == "compiled":
        return f"{made}np.compile({function})({', '.join(names)})"
    if under == "vmap":
        axes = _axes(call, batched)
        given = [
            name if a is None else f"np.stack([{name}, np.flip({name})])" for name, a in zip(names, axes, strict=True)
        ]
        return f"{made}np.vectorized_map(lambda e: ({function})(*e), ({', '.join(given)},), in_axes={axes})"
    return f"{made}np.vjp({function}, {', '.join(names)})"
