"""The pytest plugin that runs in the worker processes."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Generator
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

import hypothesis
import numpy
import pytest

from conformance.numpy_suite import scope
from conformance.numpy_suite.binding import Binding
from conformance.numpy_suite.broken import broken_test, error_in
from conformance.numpy_suite.harden import GUARD

NUMPY = Path(numpy.__file__).parent
MARKERS = (
    "slow",
    "slow_pypy",
    "leaks_references",
    "valgrind_error",
    "thread_unsafe",
    "parallel_threads(n)",
    "iterations(n)",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("numpy suite")
    group.addoption("--suite-target", default="numpy", help="module to test")
    group.addoption("--suite-job", help="JSON file: what to run and where to record it")


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    hypothesis.settings.register_profile(
        "suite", deadline=None, database=None, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck)
    )
    hypothesis.settings.load_profile("suite")
    job = json.loads(Path(config.getoption("--suite-job")).read_text())
    binding = Binding(config.getoption("--suite-target"), job.get("numpy_random", False))
    if hasattr(binding.target, "seterr"):  # the tests expect NumPy's default, which a library may have off
        binding.target.seterr(**numpy.geterr())
    if job.get("device", "cpu") != "cpu" and hasattr(binding.target, "set_default_device"):
        binding.target.set_default_device(job["device"])
    if job.get("native"):
        from backend_torch.tensors import memory

        memory.host_computes = False
    config.pluginmanager.register(Suite(binding, job), "numpy-suite-run")


class SuiteModule(pytest.Module):
    """A test module that sees the target in place of NumPy."""

    binding: Binding

    def _getobj(self) -> ModuleType:
        parts = self.path.relative_to(NUMPY.parent).with_suffix("").parts
        return self.binding.load(self.path, ".".join(parts), self.config)


class Suite:
    """Selects the cases of a job, runs them and records what came of them.

    A case is identified by its file, its function and its place among the function's
    cases, because the names of parameters can differ between NumPy and the target.
    """

    def __init__(self, binding: Binding, job: dict[str, Any]) -> None:
        self.binding = binding
        self.job = job
        self.record_file = Path(job["record"])
        self.done = {tuple(key) for key in job.get("done", ())}
        self.counts: dict[tuple[str, str], int] = {}
        self.result: dict[str, Any] = {}
        self.scopes: scope.Scopes | None = None
        if job.get("classify"):
            self.scopes = scope.Scopes()
            binding.observer = self.observe

    def record(self, **entry: Any) -> None:
        with self.record_file.open("a") as stream:
            stream.write(json.dumps(entry) + "\n")

    # ---- collection

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> SuiteModule:
        module = SuiteModule.from_parent(parent, path=module_path)
        module.binding = self.binding
        return module

    @pytest.hookimpl(wrapper=True)
    def pytest_pycollect_makeitem(self, collector: pytest.Collector, name: str, obj: Any) -> Generator[None, Any, Any]:
        """Keep a test that cannot be collected from taking its class along."""
        try:
            return (yield)
        except (Exception, pytest.fail.Exception) as error:
            test = broken_test(name, getattr(obj, "broken_by", error))
            return [pytest.Function.from_parent(collector, name=name, callobj=test)]

    def pytest_itemcollected(self, item: Any) -> None:
        names = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
        function = "::".join([*names, getattr(item, "originalname", None) or item.name])
        file = item.path.relative_to(NUMPY).as_posix()
        place = self.counts.get((file, function), 0)
        self.counts[file, function] = place + 1
        item.suite_key = file, function, place
        if item.config.getoption("tbstyle") == "no":  # tracebacks take time to format
            item.repr_failure = lambda excinfo, style=None: describe(excinfo.value)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items.sort(key=lambda item: item.suite_key[0])
        if self.job.get("reference"):
            for item in items:
                self.record(event="case", key=item.suite_key, parameters=parameters(item), selected=self.selected(item))
        items[:] = [i for i in items if i.suite_key not in self.done and self.selected(i)]

    def selected(self, item: Any) -> bool:
        file, function, _ = item.suite_key
        if function.partition("::")[0] in self.job["skip"].get(file, ()):
            return False
        return self.job.get("only", "") in f"{file}::{item.name}::{function}"

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.record(event="uncollected", node=report.nodeid, error=str(report.longrepr).strip().splitlines()[-1])

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.binding.collecting = False
        for module in self.binding.modules.values():
            file = Path(str(module.__file__)).relative_to(NUMPY).as_posix()
            for name, error in getattr(module, GUARD).errors.items():
                self.record(event="unloaded", file=file, name=name, error=describe(error))

    # ---- running

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, Any]:
        self.record(event="start", key=item.suite_key, parameters=parameters(item))
        self.binding.seed()
        self.result = {"outcome": "passed", "seconds": 0.0}
        if self.scopes is not None:
            self.result["rule"] = self.scopes.rule(item)
        try:
            return (yield)
        finally:
            self.record(event="result", key=item.suite_key, **self.result)

    def observe(self, value: Any) -> None:
        """Note what a test hands to NumPy, or gets from it."""
        if "rule" in self.result:
            self.result["rule"] = self.result["rule"] or scope.array_rule(value)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: Any) -> Generator[None, Any, Any]:
        callspec = getattr(item, "callspec", None)
        error = error_in(callspec.params) if callspec else None
        if error is not None:
            raise error
        seconds = self.job["timeout"]
        previous = signal.signal(signal.SIGALRM, lambda *_: pytest.fail(f"timeout after {seconds} s", pytrace=False))
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, Any]:
        report = yield
        self.result["seconds"] = round(self.result["seconds"] + call.duration, 3)
        outcome = report.outcome
        if hasattr(report, "wasxfail"):
            outcome = "xpassed" if report.passed else "xfailed"
        elif report.failed and report.when != "call":
            outcome = "error"
        if outcome != "passed" and self.result["outcome"] == "passed":
            self.result["outcome"] = outcome
            if report.failed:
                self.result["error"] = describe(call.excinfo.value)
                self.result["where"] = locate(call.excinfo.tb, item.path)
        return report


def parameters(item: Any) -> str | None:
    """The name of a case's parameters; None if it has none."""
    callspec = getattr(item, "callspec", None)
    return callspec.id if callspec else None


def describe(error: BaseException) -> str:
    """An exception in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:300]


def locate(traceback: TracebackType | None, path: Path) -> dict[str, Any]:
    """Line of the test and innermost line at which an exception was raised."""
    line, inner = None, None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        inner = f"{os.path.basename(code.co_filename)}:{traceback.tb_lineno}"
        if code.co_filename == str(path):
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return {"line": line, "inner": inner}
