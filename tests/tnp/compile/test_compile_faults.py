"""tnp.compile where something goes wrong: arrays that outlive their trace, a broken cache on disk, an early end."""

from __future__ import annotations

import ast
import contextvars
import copy
import linecache
import operator
import pickle
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import graph_module

import tnp as np
from backend_torch.torch_private import traces
from tests import processes

# Arrays that are kept when their trace is over.


def left_over() -> Any:
    """An array of three elements that a function was traced with."""
    kept: contextvars.ContextVar[Any] = contextvars.ContextVar("kept")

    def function(x: Any) -> Any:
        kept.set(x * 2)
        return x + 1

    # As it is written: converted code would be cut where it sets a context variable.
    np.compile(function, backend="eager", autograph=False)(np.ones(3))
    return kept.get()


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x + 1,
        lambda x: np.ones(3) * x,
        lambda x: x.sum(),
        lambda x: x[0].item(),
        lambda x: float(x[0]),
        lambda x: [1] if x.any() else [],
        lambda x: x.tolist(),
        lambda x: np.asnumpy(x),
        lambda x: numpy.asarray(x),
        lambda x: numpy.add(x, 1),
        lambda x: x.__setitem__(0, 1.0),
        lambda x: np.nonzero(x),
        lambda x: x[x > 0],
        lambda x: np.unique(x),
        lambda x: np.grad(lambda y: (y * x).sum())(np.ones(3)),
        lambda x: np.vectorized_map(lambda y: y * x, np.ones((2, 3))),
        lambda x: np.compile(lambda y: y * x)(np.ones(3)),
        lambda x: np.compile(lambda y: y * 2)(x),
        lambda x: copy.deepcopy(x),
        lambda x: pickle.dumps(x),
    ],
)
def test_a_traced_array_that_is_kept_is_of_no_use(use: Any) -> None:
    """Those who use it are told, at their own line."""
    with pytest.raises(np.TracedValueError, match=r"\.py:\d+: an array is used that was traced.*Return it"):
        use(left_over())


def test_the_line_that_uses_it_is_named() -> None:
    x = left_over()
    line = sys._getframe().f_lineno + 2
    with pytest.raises(np.TracedValueError, match=rf"test_compile_faults\.py:{line}: "):
        x + 1


def test_it_is_not_written_to_an_array() -> None:
    target = np.zeros(3)
    with pytest.raises(np.TracedValueError):
        target[...] = left_over()
    assert target.tolist() == [0, 0, 0]


def test_its_shape_can_be_looked_at() -> None:
    x = left_over()
    assert (x.shape, x.dtype, len(x)) == ((3,), numpy.float64, 3)
    assert "shape=(3,)" in repr(x)


@pytest.mark.parametrize("by", ["cond", "fori_loop"])
def test_what_a_branch_or_a_body_keeps(by: str) -> None:
    kept = SimpleNamespace()

    def body(x: Any) -> Any:
        kept.x = x * 2
        return x + 1

    def function(x: Any) -> Any:
        y = np.cond(x.sum() > 0, body, body, x) if by == "cond" else np.fori_loop(0, 3, lambda i, x: body(x), x)
        return y + kept.x

    with pytest.raises(np.TracedValueError, match="a branch or a loop's body"):
        np.compile(function, backend="eager")(np.ones(3))


# What traces leave behind.


def test_a_trace_that_is_over_leaves_no_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch keeps the source of each graph for ever, and what it has learnt of each operation."""
    monkeypatch.setattr(traces, "_MOST_OPERATIONS", 20)
    sources, lines = dict(graph_module._loader.eval_cache), set(linecache.cache)
    for number in range(30):
        function = np.compile(lambda x, n: x * n, backend="eager")
        assert function(np.ones(3), number).tolist() == [number] * 3
        assert len(FakeTensorMode.cache) < 30
    assert graph_module._loader.eval_cache == sources
    assert not {name for name in set(linecache.cache) - lines if name.startswith("<eval_with_key>")}


# The cache on disk.

_WITH_CACHE = """
import os, resource, signal, sys, warnings
from pathlib import Path
from torch._inductor.utils import clear_caches
import tnp as np

def warned(factor):
    clear_caches()
    function = np.compile(lambda x: x * factor - x.sum() * 0.0 - 0.125, backend="inductor")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert function(np.ones(3)).tolist() == [factor - 0.125] * 3
    return [str(w.message) for w in caught if w.category is RuntimeWarning]

directory = Path(os.environ["TORCHINDUCTOR_CACHE_DIR"])
"""

_FIRST = "print(warned(2.5))"

_BROKEN = """
for path in [path for path in directory.rglob("*") if path.is_file()]:
    path.write_bytes(path.read_bytes()[:30])
print(warned(2.5))
(directory / "file").write_text("no directory")
os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(directory / "file")
print(warned(3.5))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # as a full disk: nothing can be written any more
print(warned(4.5))
print(warned(5.5))
"""


def test_a_cache_that_is_shared_and_then_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes fill it at once; then its files are cut off, it is no directory, and the disk is full."""
    monkeypatch.delenv("TNP_CACHE_DIR", raising=False)  # else what tnp compiles is kept there, and never broken

    def start(code: str) -> processes.Process:
        # A library in the cache says VEC_ISA_OK, and cut off torch 2.11 goes on.
        environment = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path), "TORCHINDUCTOR_VEC_ISA_OK": "1"}
        return processes.Process("-c", _WITH_CACHE + code, after=processes.COMPILERS, **environment)

    for process in [start(_FIRST), start(_FIRST)]:
        out, err = process.communicate()
        assert (process.returncode, out) == (0, "[]\n"), err
    process = start(_BROKEN)
    out, err = process.communicate()
    assert process.returncode == 0, err
    cut_off, no_directory, full, again = map(ast.literal_eval, out.splitlines())
    for found, place in ((cut_off, tmp_path), (no_directory, tmp_path / "file")):
        (message,) = found
        assert f"compiles in a temporary directory, because {place} can't be used: " in message
    assert [message.partition(", ")[0] for message in full] == ["tnp.compile runs the traced operations one by one"]
    assert again == []  # it has been said


@pytest.mark.parametrize("operation", [operator.iadd, operator.iand, operator.ior, operator.ixor, operator.ilshift])
@pytest.mark.parametrize("shapes", [((1,), (3,)), ((2, 1), (2, 0)), ((2,), (1, 2))])
def test_in_place_results_that_do_not_fit(operation: Any, shapes: Any) -> None:
    x, y = [np.ones(shape, int) for shape in shapes]
    with pytest.raises(ValueError, match="broadcast"):
        np.compile(operation, backend="eager")(x, y)
    assert np.all(x == 1)
