"""The coverage table: who computes each public NumPy name in tnp, and which transforms each sample call goes through.

Every cell is the result of a trial. `run_by` watches a call for values that pass through NumPy. The other columns
differentiate, batch, compile and trace the call, and compare the results with those of the plain call.
"""

from __future__ import annotations

import ast
import contextlib
import os
import subprocess
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy
import torch

import tnp
from backend_torch.native import heads
from backend_torch.tensors import memory
from conformance import accelerator, samples, sharding
from conformance.trials import Sample, leaves, quiet, same, sample_function

PATH = Path(__file__).parent.parent / "docs" / "coverage.md"
FEW = 3
"""At most so many values may pass through NumPy (shapes, tolerances, ends of a range); more means that it computes."""

PLAIN = {"TNP_NATIVE": "0", "ATEN_CPU_CAPABILITY": "avx2"}
"""The environment in which the page is written: without the native core, and without AVX-512, for which NumPy computes
exp and others."""
COMPUTED = ("torch", "torch, NumPy on the CPU", "NumPy")
COLUMNS = ("run by", "gradient", "vmap", "compile", "fullgraph", "accelerator", "sharded")


@dataclass(frozen=True)
class Row:
    """A name and its cells: yes, no, or - if the column does not apply."""

    name: str
    run_by: str
    gradient: str = "-"
    vmap: str = "-"
    compile: str = "-"
    fullgraph: str = "-"
    accelerator: str = "-"
    sharded: str = "-"

    def cells(self) -> tuple[str, ...]:
        """Return the cells in the order of the columns."""
        return self.run_by, self.gradient, self.vmap, self.compile, self.fullgraph, self.accelerator, self.sharded


ABSENT = {
    "iterators that advance each other's pointers": "nested_iters",
    "about NumPy's build": "test",
}
"""Reason -> the names that tnp leaves out."""


HOST = {"dates, strings and structures": "busday_count busday_offset datetime_as_string fromregex is_busday"}
"""Reason -> the functions that only the CPU runs, which may return NumPy's arrays."""


NOT_NUMERIC = {
    **HOST,
    "text": "array2string array_repr array_str fromstring genfromtxt loadtxt savetxt",
    "files and bytes": "fromfile load memmap save savez savez_compressed "
    "ndarray.data ndarray.dump ndarray.dumps ndarray.tobytes ndarray.tofile",
    "Python's own objects, one by one": "fromiter ndarray.item ndarray.tolist nditer",
}
"""Kind of work other than computing with numbers -> the functions that do it, which NumPy runs."""


def names() -> dict[str, Any]:
    """Return dotted name -> NumPy's object, for all public names except modules."""
    found = {name: getattr(numpy, name) for name in numpy.__all__}
    for module in (numpy.linalg, numpy.fft, numpy.random):
        prefix = module.__name__.removeprefix("numpy.")
        found |= {f"{prefix}.{name}": getattr(module, name) for name in module.__all__}
    found |= {f"ndarray.{name}": getattr(numpy.ndarray, name) for name in dir(numpy.ndarray) if name[0] != "_"}
    return {name: value for name, value in sorted(found.items()) if not isinstance(value, types.ModuleType)}


def lookup(name: str) -> Any:
    """Return tnp's object of a dotted name, or None."""
    value: Any = tnp
    for part in name.split("."):
        try:
            value = getattr(value, part)
        except (AttributeError, ImportError):
            return None
    return value


def why_absent(name: str) -> str:
    """Return why tnp has no such name."""
    return next((reason for reason, listed in ABSENT.items() if name in listed.split()), "not written yet")


# ---- What runs it.


class Watch:
    """Counts the calls that pass more than a few values from a tensor to NumPy or back."""

    def __init__(self) -> None:
        self.calls = 0

    def reading(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a method of tensors that returns their values, and count its calls."""

        def read(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            self.calls += tensor.numel() > FEW
            return original(tensor, *args, **kwargs)

        return read

    def writing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function that makes a tensor from NumPy's values, and count its calls."""

        def write(array: Any, *args: Any, **kwargs: Any) -> Any:
            self.calls += numpy.size(array) > FEW
            return original(array, *args, **kwargs)

        return write


@contextlib.contextmanager
def watched() -> Iterator[Watch]:
    """Count the values that pass between tensors and NumPy within the block."""
    watch = Watch()
    with contextlib.ExitStack() as stack:
        for method in ("numpy", "tolist", "__array__"):
            original = getattr(torch.Tensor, method)
            stack.enter_context(mock.patch.object(torch.Tensor, method, watch.reading(original)))
        stack.enter_context(mock.patch.object(torch, "from_numpy", watch.writing(torch.from_numpy)))
        for name in ("by_numpy", "write_by_numpy", "tolist"):  # the Python path makes the same calls
            stack.enter_context(mock.patch.object(heads, name, lambda *call, **options: None))
        yield watch


def run_by(name: str, theirs: Any, code: str | None) -> str:
    """Return who computes: one of the words that the page explains, or ``absent`` with the reason."""
    ours = lookup(name)
    if ours is None and theirs is not None:
        return f"absent: {why_absent(name)}"
    if ours is theirs:
        return "NumPy's own"
    if any(name in listed.split() for listed in HOST.values()):
        return "NumPy"
    if not code:
        return "tnp"
    sample = sample_function(code, tnp)
    if not host_calls(sample):
        return "torch"
    result = sample(**samples.values(tnp))
    if not leaves(result) and not isinstance(result, bool):
        return "NumPy"
    for elsewhere in (tnp.compile(sample, backend="eager"), unread(sample), waited_for(sample)):
        with contextlib.suppress(Exception):
            if not host_calls(elsewhere):
                return "torch, NumPy on the CPU"
    return "NumPy"


def host_calls(sample: Sample) -> int:
    """Count how often the call passes values to NumPy or back."""
    arrays = samples.values(tnp)
    with quiet(), watched() as watch:
        sample(**arrays)
    return watch.calls


def unread(sample: Sample) -> Sample:
    """Return the sample without the shortcuts that read values, as in a batch or a trace."""

    def call(**arrays: Any) -> Any:
        with contextlib.ExitStack() as stack:
            stack.enter_context(mock.patch.object(memory, "host_computes", False))
            for name, module in list(sys.modules.items()):
                if name.startswith("backend_torch.") and hasattr(module, "is_readable"):
                    stack.enter_context(mock.patch.object(module, "is_readable", lambda tensor: False))
            return sample(**arrays)

    return call


def waited_for(sample: Sample) -> Sample:
    """Return the sample without NumPy computing on the memory of arrays, as on an accelerator."""

    def call(**arrays: Any) -> Any:
        with mock.patch.object(memory, "host_computes", False):
            return sample(**arrays)

    return call


# ---- What it can be part of.


def same_result(traced: Sample, sample: Sample, arrays: dict[str, Any]) -> bool:
    """Whether the traced sample returns the sample's results; of random numbers only the shape has to agree."""
    found, wanted = leaves(traced(**arrays)), leaves(sample(**arrays))
    if "random" in sample.__code__.co_names:
        return [(t.shape, t.dtype) for t in found] == [(t.shape, t.dtype) for t in wanted]
    return same(found, wanted)


def has_gradient(sample: Sample, arrays: dict[str, Any]) -> bool | None:
    """Whether the gradient equals the difference quotient; None if no result is a float."""

    def results(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found = leaves(sample(**{**arrays, "x": tnp.asarray(x)}))
        return tuple(tensor for tensor in found if tensor.is_floating_point() or tensor.is_complex())

    x = arrays["x"].tensor.clone().requires_grad_()
    outputs = results(x)
    if not outputs:
        return None
    return any(output.requires_grad for output in outputs) and torch.autograd.gradcheck(
        results, x, atol=1e-4, rtol=1e-3
    )


def can_be_batched(sample: Sample, arrays: dict[str, Any]) -> bool | None:
    """Whether torch.vmap gives the results of a loop; None if the result has no arrays."""
    batch = torch.stack([arrays["x"].tensor * scale for scale in (1.0, 0.9, 1.05)])

    def results(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(leaves(sample(**{**arrays, "x": tnp.asarray(x)})))

    looped = [results(x) for x in batch]
    if not looped[0]:
        return None
    return same(list(torch.vmap(results)(batch)), [torch.stack(parts) for parts in zip(*looped, strict=True)])


def can_be_compiled(sample: Sample, arrays: dict[str, Any]) -> bool:
    """Whether tnp.compile traces the sample, and the trace gives the same results."""
    return same_result(tnp.compile(sample, fullgraph=True, backend="eager"), sample, arrays)


def can_be_traced(sample: Sample, arrays: dict[str, Any]) -> bool:
    """Whether torch.compile traces the sample as one graph, and the graph gives the same results."""
    torch._dynamo.reset()
    return same_result(torch.compile(sample, fullgraph=True, backend="eager"), sample, arrays)


def tried(question: Callable[[Sample, dict[str, Any]], bool | None], code: str) -> str:
    """Run a trial of a sample; an error counts as no."""
    try:
        with quiet():
            answer = question(sample_function(code, tnp), samples.values(tnp))
    except Exception:
        return "no"
    return {True: "yes", False: "no", None: "-"}[answer]


def row(name: str, theirs: Any, code: str | None) -> Row:
    """Return all cells of a name."""
    by = run_by(name, theirs, code)
    if by not in COMPUTED or not code:
        return Row(name, by)
    uses_x = "x" in {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    if not uses_x:
        return Row(name, by, "-", "-", tried(can_be_compiled, code), tried(can_be_traced, code))
    questions = (has_gradient, can_be_batched, can_be_compiled, can_be_traced)
    return Row(name, by, *(tried(question, code) for question in questions))


def rows(quick: bool = False) -> list[Row]:
    """Return the table; ``quick`` fills the first column only."""
    codes = samples.samples()
    entries = names().items()
    if quick:
        return [Row(name, run_by(name, theirs, codes.get(name))) for name, theirs in entries]
    table = [row(name, theirs, codes.get(name)) for name, theirs in entries]
    tried_elsewhere = {
        entry.name: codes[entry.name] for entry in table if entry.run_by in COMPUTED and codes.get(entry.name)
    }
    there, over = accelerator.ask(tried_elsewhere), sharding.ask(tried_elsewhere)
    return [
        replace(entry, accelerator=there.get(entry.name, "-"), sharded=over.get(entry.name, "-")) for entry in table
    ]


# ---- The page.


def numeric(table: list[Row]) -> list[Row]:
    """Return the functions of the table that compute with numbers or move them: torch should run all of these."""
    others = {name for listed in NOT_NUMERIC.values() for name in listed.split()}
    return [entry for entry in table if entry.run_by in COMPUTED and entry.name not in others]


def share(table: list[Row]) -> str:
    """Return the share of the numeric functions that torch runs, as text."""
    functions = numeric(table)
    rest = [f"`{entry.name}`" for entry in functions if entry.run_by == "NumPy"]
    percent = 100 * (1 - len(rest) / len(functions)) if functions else 100.0
    return (
        f"Of {len(functions)} numeric functions torch runs {len(functions) - len(rest)}, {percent:.1f} %; "
        f"NumPy runs the rest: {', '.join(rest) or 'none'}. The others that NumPy runs are about "
        f"{'; '.join(NOT_NUMERIC)}."
    )


def markdown(table: list[Row]) -> str:
    """Return the page ``docs/coverage.md``."""
    counts = Counter(entry.run_by.partition(":")[0] for entry in table)
    summary = "; ".join(f"{by}: {count}" for by, count in counts.most_common())
    hosts = ", ".join(f"`{name}`" for listed in HOST.values() for name in listed.split())
    head = f"""\
# Coverage

Written by `python -m conformance coverage`, which tries each call of `conformance/samples.py`. {len(table)} public
names of `numpy`, `numpy.linalg`, `numpy.fft`, `numpy.random` and `numpy.ndarray`. {summary}.

{share(table)}

- run by: "torch"; "torch, NumPy on the CPU": NumPy on the memory of eager CPU arrays, torch on accelerators and in
  compiled code; "NumPy": on the host; "NumPy's own": a dtype, a constant, a type or a function of strings; "tnp":
  nothing is computed. No tensor holds the data of these, so only the host runs them: {hosts}.
- gradient: autograd's derivative by the sample's `x` equals the difference quotient.
- vmap: `torch.vmap` gives the results of a loop.
- compile: `tnp.compile` traces the call; fullgraph: `torch.compile(fullgraph=True)` does.
- accelerator, tried on {accelerator.device_name()}: "yes", without a copy to or from the host; "waits", the host
  reads or writes a few values on the way (a size, a bound, a check); "copies", the host reads or writes more; "no", the
  call is about the host's memory, or torch has no generator for what it draws.
- sharded, with all arrays cut along their first axis over two processes (`tnp.distributed`): "yes", the bits of one
  process; "rounds", the same up to rounding; "sends", processes send parts, which `tnp.transfers()` lists; "raises",
  with an error that says what to do; "layout", a text of shape and sharding, for which nothing is sent.
- A dash: the call has no float array to differentiate by, or no array at all.

"""
    titles = ("name", *COLUMNS)
    lines = [" | ".join(titles), " | ".join("---" for _ in titles)]
    lines += [" | ".join((f"`{entry.name}`", *entry.cells())) for entry in table]
    return head + "\n".join(f"| {line} |" for line in lines) + "\n"


def read(path: Path = PATH) -> dict[str, tuple[str, ...]]:
    """Read name -> cells from the page."""
    lines = [line for line in path.read_text().splitlines() if line.startswith("| `")]
    cells = ([cell.strip() for cell in line.strip("|").split(" | ")] for line in lines)
    return {name.strip("`"): tuple(rest) for name, *rest in cells}


def main() -> int:
    """Write the page, in a process with the environment that the page describes."""
    if not os.environ.items() >= PLAIN.items():
        command = [sys.executable, "-m", "conformance", "coverage"]
        return subprocess.run(command, env={**os.environ, **PLAIN}).returncode
    PATH.write_text(markdown(rows()))
    print(f"wrote {PATH.name}")
    return 0
