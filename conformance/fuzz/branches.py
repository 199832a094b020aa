"""Programs of branches, loops, views and writes, compiled as they are written, against the same programs by NumPy.

Layer: owns how such a program and its arguments are drawn. Its arrays share memory in all ways that views can, so what
is compared is as much which memory is written as the values. Some programs run for each element of a batch, whose
flags take different branches.
"""

from __future__ import annotations

import importlib.util
import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tnp
from conformance.fuzz.compare import Disagreement

VALUES = (
    *("{}", "{}[:]", "{}[::-1]", "{}[:, ::-1]", "{}[::-1, ::-1]", "{}.T", "{}.T[::-1]", "{}[::-1].T"),
    *("{}.swapaxes(0, 1)", "np.flip({})", "np.asarray({})", "{}.reshape(9)[::-1].reshape(3, 3)"),
    *("{}.copy()", "{} + 1", "{} * 2"),
)
WRITES = (
    *("{}[0, 1] = {n}", "{}[1] = {n}", "{}.T[0] = {n}", "{}[:, ::-1][0, 0] = {n}", "{}.fill({n})", "{}.sort()"),
    *("{} += {n}", "{} *= 2", "{}[1:] += {}[:-1]", "np.add({}, {n}, out={})", "np.multiply({}, {}, out={}[::-1])"),
)
ARGUMENTS: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "apart": lambda x: (x, x * 1),
    "one array": lambda x: (x, x),
    "reversed": lambda x: (x, x[::-1]),
    "reversed first": lambda x: (x[::-1], x),
    "transposed": lambda x: (x.T, x),
    "both are views": lambda x: (x[::-1].T, x[:, ::-1]),
    "reversed and apart": lambda x: (x[::-1], x * 1),
}
"""Two arguments of an array of 3 x 3."""

FLAGS = (0.5, -2.0, 1.5, 3.0, 0.5)


def _block(rng: random.Random, names: list[str], depth: int) -> list[str]:
    """Draw the statements of a block; those of the function itself may give new names a value."""
    lines = []
    for _ in range(rng.randint(1, 3) * (1 if depth else 2)):
        kind = rng.random()
        if kind < 0.4:
            name = rng.choice(names if depth else ["a", "b", "c", "d"])
            lines.append(f"{name} = {rng.choice(VALUES).format(rng.choice(names))}")
            names += [] if name in names else [name]
        elif kind < 0.75 or depth == 2:
            write = rng.choice(WRITES).replace("{n}", str(rng.randint(3, 9)))
            lines.append(write.format(*[rng.choice(names) for _ in range(write.count("{}"))]))
        elif kind < 0.93:
            lines += [f"if flag > {rng.randint(-1, 2)}:", *_indented(_block(rng, names, depth + 1))]
            if rng.random() < 0.6:
                lines += ["else:", *_indented(_block(rng, names, depth + 1))]
        elif kind < 0.97:
            lines.append(f"float({rng.choice(names)}.sum())")  # the graph is cut here
        else:
            lines += ["for i in range(3):", *_indented(_block(rng, names, depth + 1))]
    return lines


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


@dataclass(frozen=True)
class Program:
    """A function of two arrays and a flag, with arguments that may share memory.

    Attributes
    ----------
    source : str
        The function's text.
    function : str
        How the arguments share memory, which the report counts.
    is_numpys : bool
        Whether the arguments are NumPy's arrays.
    fullgraph : bool
        Whether it has to be one graph. Only then may it be refused.
    backend : str or None
        Of ``tnp.compile``.
    is_batched : bool
        Whether it runs for each element of a batch, in which every element has a flag of its own.
    """

    source: str
    function: str
    is_numpys: bool
    fullgraph: bool
    backend: str | None
    is_batched: bool = False

    def __str__(self) -> str:
        kind = "NumPy's" if self.is_numpys else "tnp's"
        batch = ", in a batch" if self.is_batched else ""
        return f"{self.source}# {kind} arrays, {self.function}, fullgraph={self.fullgraph}, {self.backend}{batch}"

    def disagreement(self) -> Disagreement | None:
        """Return how a call of the compiled function disagrees, else None."""
        with tempfile.TemporaryDirectory() as folder:
            program = _imported(self.source, Path(folder) / "drawn.py")
            if self.is_batched:
                return self._batch(program)
            run = tnp.compile(program, backend=self.backend, fullgraph=self.fullgraph)
            for flag in FLAGS:
                found = self._call(program, run, flag)
                if found is not None:
                    return found if found.kind else None
        return None

    def _call(self, program: Any, run: Any, flag: float) -> Disagreement | None:
        """Return how a call disagrees; one of no kind if there are no more calls to compare."""
        expected, actual = np.arange(9.0).reshape(3, 3), (np if self.is_numpys else tnp).arange(9.0).reshape(3, 3)
        pairs = [(expected, actual), *zip(*map(ARGUMENTS[self.function], (expected, actual)), strict=True)]
        theirs, ours = zip(*pairs[1:], strict=True)
        wanted = program(np, flag, *theirs)
        results = self._results(lambda: run(tnp, tnp.asarray(flag), *ours))
        if isinstance(results, Disagreement):
            return results
        for when in ("values", "later writes"):
            found = _differ(when, [*zip(wanted, results, strict=True), *pairs])
            if found is not None:
                return found
            for number, (one, other) in enumerate(zip(wanted, results, strict=True)):
                one[0] = other[0] = 100 + number
        return None

    def _batch(self, program: Any) -> Disagreement | None:
        """Return how a batch disagrees with the program run for each element, if it does."""
        elements = np.arange(9.0 * len(FLAGS)).reshape(len(FLAGS), 3, 3)
        batch, flags = (each if self.is_numpys else tnp.asarray(each) for each in (elements.copy(), np.array(FLAGS)))

        def of_element(element: tuple[Any, Any]) -> Any:
            return program(tnp, element[0], *ARGUMENTS[self.function](element[1]))

        wanted = [program(np, flag, *ARGUMENTS[self.function](x)) for flag, x in zip(FLAGS, elements, strict=True)]
        run = tnp.compile(
            lambda *both: tnp.vectorized_map(of_element, both), backend=self.backend, fullgraph=self.fullgraph
        )
        results = self._results(lambda: run(flags, batch))
        if isinstance(results, Disagreement):
            return results if results.kind else None
        stacked = map(np.stack, zip(*wanted, strict=True))
        return _differ("values", [*zip(stacked, results, strict=True), (elements, batch)])

    def _results(self, call: Callable[[], Any]) -> Any:
        """Return a call's results, or the disagreement if it raises: of no kind where it may."""
        try:
            return call()
        except (NotImplementedError, tnp.TracedValueError) as error:
            says_where = self.fullgraph and ".py:" in str(error)
            return Disagreement("" if says_where else "error", "", f"{type(error).__name__}: {error}")
        except Exception as error:
            return Disagreement("error", "", f"{type(error).__name__}: {error}")


def _differ(when: str, pairs: list[tuple[Any, Any]]) -> Disagreement | None:
    """Return the first pair of arrays that differ, if there is one."""
    unlike = ((one, other) for one, other in pairs if not np.array_equal(one, np.asarray(other)))
    return next((Disagreement(when, str(one), str(other)) for one, other in unlike), None)


def _imported(source: str, file: Path) -> Any:
    """Return the function that a file has, whose source Python finds."""
    file.write_text(source)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.program


def drawn(seed: str, machine_code: int = 0, index: int = 0) -> Program:
    """Draw a program; each so many by machine code."""
    rng = random.Random(seed)
    names = ["a", "b"]
    lines = _block(rng, names, 0)
    results = rng.sample(names, rng.randint(1, len(names)))
    source = "\n".join(["def program(np, flag, a, b):", *_indented([*lines, f"return {', '.join(results)},"]), ""])
    backend = None if machine_code and index % machine_code == 0 else "eager"
    how, is_numpys = rng.choice(list(ARGUMENTS)), rng.random() < 0.3
    fullgraph, is_batched = rng.random() < 0.4, rng.random() < 0.3
    return Program(source, how, is_numpys, fullgraph, backend, is_batched)
