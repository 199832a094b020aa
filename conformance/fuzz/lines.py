"""Programs of lines without branches, compiled to machine code, against NumPy; their gradients against eager ones.

Layer: owns how such a program is drawn. A compiler decides for many operations at once what it fuses, what it computes
in place, and whose memory a result takes: one call is too short to show a mistake there.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tnp
from conformance.fuzz import branches
from conformance.fuzz.compare import Disagreement

VALUES = (
    *("np.sin({0})", "np.tanh({0})", "np.abs({0})", "np.floor({0})", "-{0}", "{0} + {1}", "{0} - {1}", "{0} * {1}"),
    *("{0} < {1}", "{0} == {1}", "~{c}", "np.where({c}, {0}, {1})", "np.clip({0}, -1, v[0])", "{0} / (1 + {1} * {1})"),
    *("np.sum({0}, axis={a})", "np.mean({0}, axis={a}, keepdims=True)", "np.max({0}, axis={a})", "np.median({0}, {a})"),
    *("np.prod(np.tanh({0}), axis={a})", "np.argmax({0}, axis={a}) * 0.5", "np.ptp({0})", "np.linalg.norm({0})"),
    *("np.concatenate([{0}, {1}], axis={a})", "np.concatenate([{0}, {0}[:1]])", "np.stack([{0}, {1}])", "np.diff({0})"),
    *("np.sort({0}, axis={a})", "np.take_along_axis({0}, np.argsort({0}, axis={a}, kind='stable'), axis={a})"),
    *("{0}[{n}:]", "{0}[:{n}]", "{0}[::-1]", "{0}[..., ::2]", "{0}.T", "{0}.reshape(-1)", "{0}[k % len({0})]"),
    *("{0}[0]", "np.cumsum({0}, axis={a})", "np.cumprod(np.tanh({0}), axis={a})", "np.roll({0}, {n}, axis={a})"),
    *("{0} @ {1}", "np.pad({0}, 1, mode='edge')", "np.pad({0}, 1)", "np.broadcast_to({0}, (2, *{0}.shape))"),
    *("np.outer({0}, {1})", "np.nan_to_num({0} / ({0} - {1})) * 0 + {0}", "np.split({0}, [{n}])[1]", "{0}.copy()"),
    "{0} * (k.sum() + {n})",
)
WRITES = (
    *("{0}[{n}] = 1.5", "{0}[{n}:] = np.tanh({1})", "{0}[:{n}] += np.tanh({1})", "{0}[k[0] % len({0})] = v[1]"),
    *("{0}[{c}] = 0.5", "{0}[{c}] *= -1", "{0} += np.tanh({1})", "{0}[1:] = {0}[:-1]"),
    "np.add.at({0}, k % len({0}), 1.5)",
)
SHAPES = (3, 4), (5, 2), (4, 4), (7, 3), (40, 30), (120, 70)
LARGEST, MOST = 1e6, 60_000
"""A program ends before a number or an array is larger."""
KINDS = ("values", "gradient")


@dataclass(frozen=True)
class Program:
    """A function of four arrays; ``function`` says whether its values are compared, or its gradient."""

    source: str
    function: str
    backend: str | None
    seed: str
    shape: tuple[int, int]

    def __str__(self) -> str:
        return f"{self.source}# {self.function} of {self.shape}, {self.backend}, arguments {self.seed}"

    def disagreement(self) -> Disagreement | None:
        """Return how the compiled function disagrees, else None."""
        with tempfile.TemporaryDirectory() as folder:
            program = branches._imported(self.source, Path(folder) / "drawn.py")
            return self._of_values(program) if self.function == "values" else self._of_gradient(program)

    def _of_values(self, program: Callable[..., Any]) -> Disagreement | None:
        theirs = arguments(self.seed, self.shape)
        wanted = [*program(np, *theirs), *theirs]
        for run in (program, tnp.compile(lambda *given: program(tnp, *given), backend=self.backend)):
            ours = list(map(tnp.asarray, arguments(self.seed, self.shape)))
            try:
                found = [*(run(tnp, *ours) if run is program else run(*ours)), *ours]
            except Exception as error:
                return Disagreement("error", "", f"{type(error).__name__}: {error}")
            if (unlike := _unlike(wanted, found)) is not None:
                return Disagreement("eager" if run is program else "compiled", *map(str, unlike))
        return None

    def _of_gradient(self, program: Callable[..., Any]) -> Disagreement | None:
        def total(x: Any, v: Any, k: Any, c: Any) -> Any:
            parts = [each * 1.0 for each in program(tnp, x * 1, v * 1, k, c)]
            return sum([(each * tnp.sin(tnp.arange(each.size) + 1.0).reshape(each.shape)).sum() for each in parts])

        gradient = tnp.grad(total, argnums=(0, 1))
        given = list(map(tnp.asarray, arguments(self.seed, self.shape)))
        try:
            wanted, found = gradient(*given), tnp.compile(gradient, backend=self.backend)(*given)
        except Exception as error:
            return Disagreement("error", "", f"{type(error).__name__}: {error}")
        unlike = _unlike(list(map(tnp.asnumpy, wanted)), found)
        return None if unlike is None else Disagreement("gradient", *map(str, unlike))


def _unlike(wanted: list[Any], found: list[Any]) -> tuple[Any, Any] | None:
    """Return the first pair of arrays that differ by more than rounding, if there is one."""
    for one, other in zip(wanted, map(np.asarray, found), strict=True):
        scale = np.nanmax(np.abs(one), initial=1.0)
        if np.shape(one) != other.shape or not np.allclose(one, other, rtol=1e-9, atol=1e-9 * scale, equal_nan=True):
            return one, other
    return None


def arguments(seed: str, shape: tuple[int, int]) -> list[np.ndarray]:
    """Draw a program's arguments: floats of two axes and of one, integers and booleans."""
    rng = np.random.default_rng([*seed.encode()])
    rows, columns = shape
    return [rng.normal(size=shape), rng.normal(size=columns), rng.integers(0, 9, rows), rng.random(shape) < 0.5]


def _scope(lines: list[str], given: list[np.ndarray]) -> dict[str, Any] | None:
    """Return the variables after some lines; None if NumPy refuses one, or if a number or an array is too large."""
    scope: dict[str, Any] = dict(zip("xvkc", given, strict=True))
    try:
        with np.errstate(all="ignore"):
            exec("\n".join(lines), {"np": np}, scope)
    except (ValueError, IndexError, TypeError):
        return None
    made = map(np.asarray, scope.values())
    is_small = all(0 < each.size <= MOST and np.isfinite(each).all() and np.abs(each).max() < LARGEST for each in made)
    return scope if is_small else None


def _line(rng: random.Random, scope: dict[str, Any]) -> str:
    """Draw a line that writes to an array, or gives a new variable a value."""
    floats = [name for name, value in scope.items() if np.asarray(value).dtype.kind == "f"]
    flags = [name for name, value in scope.items() if np.asarray(value).dtype.kind == "b"]
    is_write = rng.random() < 0.2
    line = rng.choice(WRITES if is_write else VALUES).format(
        *[rng.choice(floats[-4:] * 3 + floats) for _ in range(2)],
        c=rng.choice(flags),
        a=rng.randrange(2),
        n=rng.randint(0, 3),
    )
    return line if is_write else f"t{len(scope)} = {line}"


def drawn(seed: str, machine_code: int = 0, index: int = 0) -> Program:
    """Draw a program; each so many by machine code."""
    rng = random.Random(seed)
    shape, count = rng.choice(SHAPES), rng.randint(5, 16)
    lines: list[str] = []
    scope = dict(zip("xvkc", arguments(seed, shape), strict=True))
    while len(lines) < count:
        line = _line(rng, scope)
        if (after := _scope([*lines, line], arguments(seed, shape))) is not None:
            lines, scope = [*lines, line], after
    made = [name for name in scope if name not in "xvkc" and np.asarray(scope[name]).dtype.kind == "f"] or ["x"]
    lines.append(f"return {', '.join(rng.sample(made, min(len(made), rng.randint(1, 5))))},")
    source = "\n".join(["def program(np, x, v, k, c):", *branches._indented(lines), ""])
    backend = rng.choice([None, "inductor"]) if machine_code and index % machine_code == 0 else "eager"
    return Program(source, rng.choice(KINDS), backend, seed, shape)
