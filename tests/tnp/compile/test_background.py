"""Compiling beside the program: operations one by one until the code is there, and many signatures at once."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
import torch

import tnp as np
from backend_torch.graphs import compile_workers, compiling
from tests import processes

ROOT = Path(__file__).parents[3]


class Later:
    """Stands in for the threads: what they are given runs when a test says so."""

    def __init__(self) -> None:
        self.given: list[tuple[Callable[[], Any], Future[Any]]] = []

    def take(self, run: Callable[[], Any]) -> Future[Any]:
        future: Future[Any] = Future()
        self.given.append((run, future))
        return future

    def work(self) -> None:
        """Run all that was given."""
        while self.given:
            run, future = self.given.pop(0)
            try:
                future.set_result(run())
            except Exception as error:
                future.set_exception(error)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Iterator[Later]:
    made = Later()
    monkeypatch.setattr(compile_workers, "in_background", made.take)
    monkeypatch.setattr(compile_workers, "compiled_elsewhere", lambda *task: False)
    yield made
    assert not made.given


def test_operations_run_until_the_code_is_there(later: Later) -> None:
    ran = []

    @np.compile(background=True)
    def function(x: Any, y: Any) -> Any:
        ran.append("traced")
        y += 1
        return {"sum": (x * y).sum(), "view": x[1:]}

    x, y = np.arange(3.0), np.ones(3)
    for call in range(3):
        found = function(x, y)
        assert found["sum"] == 3 * (call + 2)
        assert found["view"].base is x or np.shares_memory(found["view"], x)
    assert (ran, len(later.given), function.cache_info()[:2]) == (["traced"], 1, (1, 0))
    assert function.cache_info().compile_seconds > 0
    later.work()
    assert function(x, y)["sum"] == 15
    assert function(x, y)["sum"] == 18
    assert (ran, function.cache_info()[:2]) == (["traced"], (1, 2))


def test_without_it_the_first_call_waits(later: Later) -> None:
    function = np.compile(lambda x: x + 1)
    function(np.ones(2))
    assert function(np.ones(2)).tolist() == [2, 2]
    assert function.cache_info().hits == 1


def test_operations_run_while_another_thread_traces_symbolically() -> None:
    """Each import of Inductor traces so, and torch's trace replaces the call of modules in all threads."""
    function = np.compile(lambda x: np.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, x), backend="eager")
    x = np.ones(3)
    function(x)
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(function(x)))

    def traced(x: Any) -> Any:
        thread.start()
        thread.join()
        return x

    torch.fx.symbolic_trace(traced)
    assert found[0].tolist() == [2, 2, 2]


def test_each_set_of_gradients_is_compiled(later: Later) -> None:
    function = np.compile(lambda x: (x * x).sum(), background=True)
    for work in (False, True):
        x = torch.arange(3.0, requires_grad=True)
        function(np.asarray(x)).tensor.backward()
        assert x.grad is not None and x.grad.tolist() == [0, 2, 4]
        with torch.no_grad():
            assert function(np.asarray(torch.ones(3, requires_grad=True))) == 3
        assert function(np.ones(3, dtype=np.float32)) == 3
        assert len(later.given) == (0 if work else 2)
        later.work()


def test_open_sizes(later: Later) -> None:
    function = np.compile(lambda x: x.sum() / x.shape[0], background=True, dynamic=True)
    assert [function(np.ones(n)) for n in (2, 3, 9)] == [1, 1, 1]
    assert len(later.given) == 1
    later.work()
    assert [function(np.ones(n)) for n in (2, 30, 9)] == [1, 1, 1]
    assert function.cache_info()[:2] == (1, 3)


def test_a_failing_compiler_is_told_once(later: Later, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any) -> Any:
        raise RuntimeError("no compiler of the background")

    monkeypatch.setattr(compiling.Executable, "_compiled", fail)
    function = np.compile(lambda x: x + 1, background=True)
    assert function(np.ones(2)).tolist() == [2, 2]
    with pytest.warns(RuntimeWarning, match="runs the traced operations one by one.*no compiler of the back") as told:
        later.work()
        assert function(np.ones(2)).tolist() == [2, 2]
        assert function(np.zeros(2)).tolist() == [1, 1]
    assert len(told) == 1
    assert not later.given


def test_a_warning_that_is_an_error_is_raised_where_the_function_is_called(
    later: Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any) -> Any:
        raise RuntimeError("a warning as an error")

    function = np.compile(lambda x: x + 1, background=True)
    function(np.ones(2))
    with monkeypatch.context() as patch:
        patch.setattr(compiling.Executable, "program", fail)
        later.work()
    with pytest.raises(RuntimeError, match="a warning as an error"):
        function(np.ones(2))
    assert function(np.ones(2)).tolist() == [2, 2]  # the next call begins anew
    later.work()


def test_warmup_waits_and_save_does_not(later: Later, tmp_path: Path) -> None:
    function = np.compile(lambda x: x * 2, background=True)
    function.warmup(np.ones(2))
    assert function(np.ones(2)).tolist() == [2, 2]
    assert function.cache_info()[:2] == (1, 1)
    function.save(tmp_path / "f.pt2", np.ones(3))
    assert np.load_compiled(tmp_path / "f.pt2", backend="eager")(np.ones(3)).tolist() == [2, 2, 2]
    assert not later.given


def test_derivatives_are_compiled_there_too(later: Later) -> None:
    derivative = np.grad(np.compile(lambda x: (x**2).sum(), background=True))
    assert derivative(np.ones(2)).tolist() == [2, 2]
    assert len(later.given) == 1
    later.work()
    assert derivative(np.ones(2)).tolist() == [2, 2]


def test_many_signatures_at_once() -> None:
    traced = []

    @np.compile
    def function(x: Any, n: int) -> Any:
        traced.append(n)
        return x * n

    function.warmup_all([(np.ones(size), n) for size in (2, 3) for n in (4, 5)])
    assert function.cache_info()[:2] == (4, 0)
    assert [function(np.ones(3), n).tolist() for n in (4, 5)] == [[4] * 3, [5] * 3]
    assert (traced, function.cache_info()[:2]) == ([4, 5, 4, 5], (4, 2))
    function.warmup_all([])
    with pytest.raises(TypeError, match="takes tuples of arguments"):
        function.warmup_all([np.ones(2)])


def test_many_signatures_of_static_arguments() -> None:
    function = np.compile(lambda x, scale: x * scale, static_argnames="scale")
    function.warmup_all([(np.ones(2), 0.5), (np.ones(2), 1.5)])
    assert function(np.ones(2), 1.5).tolist() == [1.5, 1.5]
    assert function.cache_info()[:2] == (2, 1)


PROGRAM = """
import logging, os, pathlib, signal, sys, time, warnings
import tnp as np
from backend_torch.graphs import compile_workers

logging.getLogger("tnp.compile").disabled = True
way = sys.argv[1]
functions = [
    np.compile(lambda x: np.tanh(x @ x).sum(axis=0), background=True, backend="inductor"),
    np.compile(lambda x: np.cumsum(np.exp(-x), axis=1), background=True, backend="inductor"),
    np.compile(lambda x: np.exp(x) / x.sum(axis=1), background=True),
]
x = np.arange(16.0).reshape(4, 4) / 16
first = [function(x) for function in functions]
begin = time.monotonic()
if way == "killed":
    while not compile_workers._busy:
        time.sleep(0.01)
    for worker in list(compile_workers._busy):
        os.kill(worker.pid, signal.SIGKILL)
if way != "ended":
    while any(not function.cache_info().hits for function in functions) and time.monotonic() < begin + 500:
        assert all(np.allclose(function(x), value) for function, value in zip(functions, first))
        time.sleep(0.01)
    print([function.cache_info().hits > 0 for function in functions], "torch._inductor.graph" in sys.modules)
    print(sorted({path.suffix for path in pathlib.Path(os.environ["TNP_CACHE_DIR"]).rglob("*.*")}))
"""


@pytest.mark.parametrize(
    ("way", "imports"),
    [("compiled", False), ("killed", True)],
)
def test_another_process_compiles(tmp_path: Path, way: str, imports: bool) -> None:
    """The program itself imports Inductor only if the other process is killed."""
    run = started(tmp_path, way)
    lines = run.stdout.splitlines()
    assert lines == [f"[True, True, True] {imports}", "['.json', '.py', '.so']"], run.stderr
    assert "Traceback" not in run.stderr


def test_a_program_that_ends_waits_for_no_compiler(tmp_path: Path) -> None:
    run = started(tmp_path, "ended")
    assert (run.stdout, run.stderr) == ("", "")
    assert not list((tmp_path / "tnp").glob("[0-9a-f]*"))


def started(place: Path, way: str) -> subprocess.CompletedProcess[str]:
    folders = {"TNP_CACHE_DIR": str(place / "tnp"), "TORCHINDUCTOR_CACHE_DIR": str(place / "inductor")}
    return processes.run("-c", PROGRAM, way, **folders)
