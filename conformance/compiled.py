"""Compare compiled results with eager ones: every function that torch computes, in several dtypes.

Layer: owns the command ``python -m conformance compiled``. The calls are those of the coverage table. Their arrays have
each dtype, and hold ordinary numbers, then edge cases (NaN, infinities, negative zero, the largest integers). Many
calls are compiled as one graph, because starting the compiler takes longer than compiling a call.
"""

from __future__ import annotations

import argparse
import fnmatch
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tnp
from backend_torch.graphs import compiling
from conformance import coverage, samples, trials

DTYPES = ("float32", "float64", "int64", "bool", "complex64", "complex128")
TOGETHER = 40
"""The number of calls in a graph."""
EPSILONS = 1024
"""The tolerance in units of rounding, relative to a result or to the largest result."""

Arrays = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A call of the coverage table, with arrays of one dtype."""

    name: str
    dtype: str
    edges: bool
    code: str

    def __str__(self) -> str:
        return f"{self.name}, {self.dtype}{', edges' if self.edges else ''}: {self.code}"


@dataclass(frozen=True)
class Result:
    """A case's outcome: "same", "refused" by NumPy, "values" (it reads values), "known", "differs", "not compiled"."""

    case: Case
    outcome: str
    detail: str = ""


EDGES = {
    "f": [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e15, 3.0, 1e-38],
    "c": [complex(np.nan, 1), complex(np.inf, 0), 0.0, -0.0, 1j, -1j, 1, -2.5 + 1j, 2, 1e15, -3.0, 0.5],
    "i": [2**63 - 1, -(2**63), 0, 1, -1, 2, -2, 7, -7, 100, 2**53 + 1, 3],
    "b": [True, False, True, True, False, False, True, False, True, False, False, True],
}
"""Kind of a dtype -> its edge cases, and ordinary numbers beside them."""


KNOWN = {
    "conformance/known_differences.toml has it: real eigenvalues are complex numbers": "linalg.eig linalg.eigvals",
    "it is about memory or bytes, which a trace has not": "from_dlpack random.bytes",
    "eager functions do not call LAPACK with NaN; compiled code does, and LAPACK refuses": "linalg.cholesky polyfit",
}
"""Reason -> names of functions that behave differently when they are compiled."""


def arrays(dtype: str, edges: bool) -> dict[str, np.ndarray]:
    """Return NumPy's arrays of the samples, with floats cast to a dtype; indices and masks stay as they are."""
    found = samples.values(np)
    kind = np.dtype(dtype).kind
    for name in "xyvme":
        array = found[name]
        if kind == "b":
            array = array > 0.5
        elif kind == "i":
            array = np.rint(array * 20 - (name in "xy") * 7)
        elif kind == "c" and name in "xyv":
            array = array + 1j * np.flip(array)
        found[name] = array.astype(dtype if kind != "c" or name != "e" else "float64")
    if edges:
        numbers = np.array(EDGES[kind], dtype)
        found |= {"x": numbers.reshape(3, 4), "y": numbers[::-1].reshape(3, 4).copy(), "v": numbers[3:7].copy()}
    return found


def cases(patterns: Sequence[str] = (), dtypes: Sequence[str] = DTYPES, once: bool = False) -> list[Case]:
    """Return the calls of every name that torch computes; with ``once``, each name in one dtype only."""
    codes = samples.samples()
    names = [name for name, cells in coverage.read().items() if cells[0].startswith("torch") and codes.get(name)]
    if patterns:
        names = [name for name in names if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]
    kinds = [(dtype, edges) for dtype in dtypes for edges in (False, True)]
    found = []
    for turn, name in enumerate(names):
        own = [("float64", False)] if name.startswith("random.") else kinds  # random functions take none of the arrays
        if once:
            accepted = [kind for kind in own if refusal(Case(name, *kind, codes[name])) is None]
            own = accepted[turn % len(accepted) :][:1] if accepted else []
        found += [Case(name, *kind, codes[name]) for kind in own]
    return found


def refusal(case: Case) -> Exception | None:
    """Return NumPy's error for a case."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            trials.sample_function(case.code, np)(**arrays(case.dtype, case.edges))
    except Exception as error:
        return error
    return None


def leaves(value: Any) -> list[np.ndarray]:
    """Return the arrays in a result of tnp as NumPy's arrays."""
    return [tnp.asnumpy(tnp.asarray(tensor)) for tensor in trials.leaves(value)]


def difference(case: Case, expected: list[np.ndarray], found: list[np.ndarray]) -> str:
    """Return how compiled results differ from eager ones; an empty text if they are equal."""
    if len(expected) != len(found):
        return f"{len(found)} arrays, eagerly {len(expected)}"
    for one, other in zip(expected, found, strict=True):
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            return f"{other.dtype} {other.shape}, eagerly {one.dtype} {one.shape}"
        if "random." in case.code or np.array_equal(one, other, equal_nan=one.dtype.kind in "fc"):
            continue
        if one.dtype.kind in "fc":
            rounding = EPSILONS * float(np.finfo(one.dtype).eps)
            finite = np.abs(one[np.isfinite(one)])
            if np.allclose(other, one, rounding, rounding * float(finite.max(initial=0.0)), equal_nan=True):
                continue
        return " ".join(f"{other!r}, eagerly {one!r}".split())
    return ""


def tried(group: Sequence[Case], backend: str) -> Iterator[Result]:
    """Run cases as parts of one graph; if the compiler fails, run each half of them."""
    if not group:
        return
    expected, traced = [], []
    for case in group:
        given = arrays(case.dtype, case.edges)
        error = refusal(case)
        if error is not None:
            yield Result(case, "refused", repr(error))
            continue
        sample = trials.sample_function(case.code, tnp)
        ours = {name: tnp.asarray(array) for name, array in given.items()}
        try:
            wanted = leaves(sample(**ours))
            problem = difference(case, wanted, leaves(tnp.compile(sample, backend="eager", fullgraph=True)(**ours)))
        except tnp.TracedValueError:
            yield Result(case, "values")
            continue
        except Exception as error:
            yield Result(case, "differs", f"traced: {error!r}")
            continue
        if problem:
            yield Result(case, "differs", f"traced: {problem}")
            continue
        expected.append(wanted)
        traced.append((case, sample, ours))
    yield from compared(traced, expected, backend)


def compared(
    traced: Sequence[tuple[Case, Callable[..., Any], Arrays]], expected: Sequence[list[np.ndarray]], backend: str
) -> Iterator[Result]:
    """Compile cases that can be traced as one graph, and compare the results."""
    if not traced:
        return

    def together(arrays: list[Arrays]) -> list[Any]:
        return [sample(**own) for (_, sample, _), own in zip(traced, arrays, strict=True)]

    compiling.warned.clear()
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "tnp.compile runs the traced operations one by one", RuntimeWarning)
            compiled = tnp.compile(together, backend=trials.backend(backend), fullgraph=True)
            values = compiled([own for _, _, own in traced])
    except Exception as error:
        if len(traced) == 1:
            yield Result(traced[0][0], "not compiled", repr(error))
            return
        half = len(traced) // 2
        yield from compared(traced[:half], expected[:half], backend)
        yield from compared(traced[half:], expected[half:], backend)
        return
    for (case, _, _), wanted, value in zip(traced, expected, values, strict=True):
        problem = difference(case, wanted, leaves(value))
        yield Result(case, "differs" if problem else "same", problem)


def run(chosen: Sequence[Case], backend: str, together: int = TOGETHER) -> Iterator[Result]:
    """Run all cases; the cases of a graph have one dtype."""
    kinds = dict.fromkeys((case.dtype, case.edges) for case in chosen)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for kind in kinds:
            own = [case for case in chosen if (case.dtype, case.edges) == kind]
            for start in range(0, len(own), together):
                yield from tried(own[start : start + together], backend)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    command.add_argument("--functions", default="", help="comma-separated patterns: sum,linalg.*,ndarray.sort")
    command.add_argument("--dtypes", default=",".join(DTYPES))
    command.add_argument("--backend", default="inductor", help="'default', 'inductor' or 'eager', which runs the graph")
    command.add_argument("--once", action="store_true", help="each function in one of the dtypes, by turns")
    command.add_argument("--together", type=int, default=TOGETHER, help="calls that are compiled as one graph")


def main(options: argparse.Namespace) -> int:
    """Run and report; return 1 if a result differs or was not compiled."""
    patterns = tuple(filter(None, options.functions.split(",")))
    chosen = cases(patterns, options.dtypes.split(","), options.once)
    known = {name for names in KNOWN.values() for name in names.split()}
    start = time.monotonic()
    counts: Counter[tuple[str, str]] = Counter()
    for result in run(chosen, options.backend, options.together):
        wrong = result.outcome in ("differs", "not compiled")
        outcome = "known" if wrong and result.case.name in known else result.outcome
        counts[result.case.dtype, outcome] += 1
        if wrong:
            print(f"{outcome}: {result.case}\n    {result.detail[:600]}", flush=True)
    outcomes = ("same", "values", "refused", "known", "differs", "not compiled")
    print(" | ".join(("dtype", *outcomes)))
    for dtype in dict.fromkeys(case.dtype for case in chosen):
        print(" | ".join((dtype, *(str(counts[dtype, outcome]) for outcome in outcomes))))
    names = len({case.name for case in chosen})
    print(f"{len(chosen)} calls of {names} functions in {time.monotonic() - start:.0f} s, backend {options.backend}")
    return 1 if any(counts[dtype, outcome] for dtype, outcome in counts if outcome in outcomes[-2:]) else 0
