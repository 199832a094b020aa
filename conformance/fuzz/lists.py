"""Programs of loops that append to lists, compiled as they are written, against the same programs by NumPy.

Layer: owns how such a program is drawn. What is appended, read, set again, written to in place and given other names
is drawn from few variables, so that items often share memory with them.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import tnp
from conformance.fuzz import branches
from conformance.fuzz.compare import Disagreement

KINDS = {
    "numbers": ("s", "s * 2", "a[i % 3, 1]", "s + a[0, 0]", "abs(s)"),
    "arrays": ("y", "y * 2", "y.copy()", "a[i % 3]", "y[::-1]", "a[0] + s"),
    "pairs": ("(s, y)", "(s * 2, y.copy())", "(a[0, 1], a[1] * 1)"),
    "counts": ("i", "i * 2", "n"),
}
"""The items of the list ``out``."""
FIRST = {
    "numbers": ("", "s", "a[0, 1]", "0.5", "s, s"),
    "arrays": ("", "y", "a[1] * 2", "y * 1, y"),
    "pairs": ("", "(s, y)"),
    "counts": ("", "1", "n, 2"),
}
STEPS = (
    *("s = s * 0.5 + b[i % 3, 0]", "y = y * 0.5 + a[i % 3]", "y[1] = s", "y += 1", "n += 2", "y, z = z, y", "z = y"),
    *("a[i % 3] += 0.5", "b[0, 0] = s", "s += len(out) * 0.125", "z = y + b[i % 3]", "y = z * 0.5"),
)
OF_OUT = {
    "numbers": ("s += out[-1]", "s = s * 0.5 + out[i // 2]", "out[-1] = s", "out[-1] *= 0.5", "s += out[0]"),
    "arrays": (
        "y = out[-1]",
        "s += out[-1][0]",
        "out[-1][1] = s",
        "out[-1] = y * 2",
        "z = out[0] + 1",
        "out[0][2] += 1",
    ),
    "pairs": ("s += out[-1][0]", "y = y + out[-1][1]"),
    "counts": ("n += out[-1]", "s += out[-1]", "out[-1] = i"),
}
RESULTS = (
    "np.array(out)",
    "out",
    "out[-1]",
    "len(out)",
    "out[1:]",
    "y",
    "z",
    "s",
    "n",
    "more",
    "np.array(more)",
    "out[2]",
)


def _block(rng: random.Random, kind: str, depth: int) -> list[str]:
    lines = []
    for _ in range(rng.randint(1, 3)):
        drawn = rng.random()
        if drawn < 0.3:
            lines.append(f"out.append({rng.choice(KINDS[kind])})")
        elif drawn < 0.38:
            lines.append(f"more.append({rng.choice(('s', 's * 3', 'a[i % 3, 0]'))})")
        elif drawn < 0.62 or depth == 2:
            lines.append(rng.choice(STEPS))
        elif drawn < 0.75:
            lines.append(rng.choice(OF_OUT[kind]))
        elif drawn < 0.9 or depth:
            condition = rng.choice(("s > flag", "i % 3 == 1", "b[i % 3, 1] > 2", "s * flag > 0", "i > 3"))
            lines += [f"if {condition}:", *branches._indented(_block(rng, kind, depth + 1))]
            if rng.random() < 0.5:
                lines += ["else:", *branches._indented(_block(rng, kind, depth + 1))]
            if rng.random() < 0.15:
                lines += [f"if {condition}:", f"    {rng.choice(('break', 'continue'))}"]
        else:
            count = rng.choice(("3", "9", "i"))
            lines += [f"for k in range({count}):", *branches._indented(_block(rng, kind, depth + 1))]
    return lines


class Program(branches.Program):
    """A function of two arrays and a flag, whose loop appends to lists; ``function`` is what ``out`` holds."""

    def _call(self, program: Any, run: Any, flag: float) -> Disagreement | None:
        """Return how a call disagrees; one of no kind if there are no more calls to compare."""
        theirs = [np.arange(9.0).reshape(3, 3), np.arange(9.0)[::-1].reshape(3, 3) / 4]
        ours = [tnp.asarray(each.copy()) for each in theirs]
        try:
            wanted = program(np, flag, *theirs)
        except Exception as error:
            return self._raised(error, run, flag, ours)
        try:
            results = run(tnp, tnp.asarray(flag), *ours)
        except (NotImplementedError, TypeError, tnp.TracedValueError) as error:
            is_refused = self.fullgraph and ".py:" in str(error)
            return Disagreement("" if is_refused else "error", "", f"{type(error).__name__}: {error}")
        except Exception as error:
            return Disagreement("error", "", f"{type(error).__name__}: {error}")
        for when in ("values", "later writes"):
            one, other = _flat([wanted, theirs]), _flat([results, ours])
            if len(one) != len(other):
                return Disagreement("lengths", str(wanted), str(results))
            for expected, actual in zip(one, other, strict=True):
                if np.shape(expected) != np.shape(actual) or not np.allclose(expected, np.asarray(actual), rtol=1e-10):
                    return Disagreement(when, str(wanted), str(results))
            for number, (expected, actual) in enumerate(zip(one, other, strict=True)):
                if isinstance(expected, np.ndarray) and expected.ndim and expected.size:
                    expected[0] = 100 + number
                    actual[0] = 100 + number
        return None

    def _raised(self, error: Exception, run: Any, flag: float, ours: list[Any]) -> Disagreement | None:
        """Compare what a program raises that NumPy's call has raised."""
        try:
            results = run(tnp, tnp.asarray(flag), *ours)
        except Exception as raised:
            is_refused = self.fullgraph and ".py:" in str(raised)
            return Disagreement(
                "" if is_refused or isinstance(raised, type(error)) else "error", repr(error), repr(raised)
            )
        return Disagreement("no error", repr(error), str(results))


def _flat(value: Any) -> list[Any]:
    return [each for part in value for each in _flat(part)] if isinstance(value, (list, tuple)) else [value]


def drawn(seed: str, machine_code: int = 0, index: int = 0) -> Program:
    """Draw a program; each so many by machine code."""
    rng = random.Random(seed)
    kind = rng.choice(list(KINDS))
    results = rng.sample(RESULTS, rng.randint(1, 4))
    if kind == "pairs":
        results = [each for each in results if each != "np.array(out)"] or ["out"]
    lines = [
        "s, y, z, n = a[0, 0] * 1, a[0] * 1, b[1], 3",
        f"out, more = [{rng.choice(FIRST[kind])}], []",
        f"for i in range({rng.choice((9, 33))}):",
        *branches._indented([*_block(rng, kind, 0), f"out.append({rng.choice(KINDS[kind])})"]),
        f"return {', '.join(results)},",
    ]
    source = "\n".join(["def program(np, flag, a, b):", *branches._indented(lines), ""])
    backend = None if machine_code and index % machine_code == 0 else "eager"
    return Program(source, kind, False, rng.random() < 0.4, backend)
