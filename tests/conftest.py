"""Options of the whole suite: ``--device`` sets the default device, ``--compiled`` runs each test compiled, too.

``--thorough`` runs every combination, and 1000 examples of each property, which takes hours.
"""

from __future__ import annotations

import contextlib
import functools
import gc
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from hypothesis import settings

from backend_torch.tensors import memory

gc.disable()  # until all tests are there: what is imported and collected is no garbage
settings.register_profile("default", deadline=None)  # a slow machine must not fail a test
settings.load_profile("default")
pytest.register_assert_rewrite("tests.oracle")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--device",
        default="cpu",
        help="default device of every array that a test makes: cpu, cuda ..., or fake, the stand-in for an accelerator",
    )
    parser.addoption(
        "--compiled",
        choices=["eager", "inductor"],
        help="run each function over xp compiled too: traced and run one by one, or as machine code",
    )
    parser.addoption("--thorough", action="store_true", help="every combination, and many more drawn examples")


@pytest.fixture(scope="module", params=["NumPy", "torch"])
def computed_by(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run each test twice: with NumPy computing on CPU memory where tnp lets it, and with torch alone."""
    memory.host_computes = request.param == "NumPy"
    yield request.param
    memory.host_computes = True


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--thorough"):
        settings.register_profile("thorough", deadline=None, max_examples=1000)
        settings.load_profile("thorough")
    device = str(config.getoption("--device"))
    if device != "cpu":
        import tnp
        from tests import fake_device, oracle

        if device == fake_device.NAME:
            fake_device.prepare()
        try:
            tnp.device(device)
        except ValueError as error:
            raise pytest.UsageError(f"--device {device}: {error}") from None
        oracle.device = device
    backend = config.getoption("--compiled")
    if backend:
        from tests import oracle

        oracle.compiled_backend = backend


BEYOND_THE_STAND_IN = {
    "an error inside torch's autograd engine ends a process whose device is one of Python": (
        "test_tape.py::test_overwritten_after_the_recording"
    ),
    "Dynamo knows no class of tensors in Python": (
        "test_export.py test_every_full_graph.py test_dynamo.py "
        "test_compile.py::test_a_backend_of_ones_own_is_told_what_torch_compile_tells_it"
    ),
}
"""Reason -> tests, or files, that ``--device fake`` skips, besides those that Inductor compiles; CUDA runs them."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what only ``--thorough`` runs; skip what the fake device can't do."""
    if not config.getoption("--thorough"):
        # The diagonals of a matrix, so that each row and column has some.
        walks = [item for item in items if item.get_closest_marker("walk")]
        left_out = {item for item in walks if sum(item.callspec.indices.values()) % 5}  # type: ignore[attr-defined]
        if left_out and not any("[" in arg for arg in config.args):
            config.hook.pytest_deselected(items=[item for item in items if item in left_out])
            items[:] = [item for item in items if item not in left_out]
    device = str(config.getoption("--device"))
    if device.startswith("cuda"):
        for item in items:
            if item.get_closest_marker("raises"):
                item.add_marker(pytest.mark.skip(reason="a failed check of a graph takes the device from the process"))
    if device != "fake":
        return
    for reason, tests in BEYOND_THE_STAND_IN.items():
        for item in items:
            file, function = item.path.name, getattr(item, "originalname", item.name)
            if {file, f"{file}::{function}"} & set(tests.split()):
                item.add_marker(pytest.mark.skip(reason=reason))
    for item in items:
        if item.get_closest_marker("stores"):
            item.add_marker(pytest.mark.skip(reason="the stand-in's memory is its own"))
        parameters = getattr(getattr(item, "callspec", None), "params", {}).values()
        if any(isinstance(value, str) and value == "inductor" for value in parameters):
            item.add_marker(pytest.mark.skip(reason="Inductor has no code for the stand-in"))


def pytest_collection_finish() -> None:
    """Freeze torch's modules and the tests: the garbage collector would spend a tenth of the time on them."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Freeze what a file's tests imported, torch's compilers above all, and their reports."""
    if nextitem is not None and nextitem.path != item.path:
        pytest_collection_finish()


# A listed difference that does not occur fails a run of whole files that passes otherwise.


def _lists() -> list[Any]:
    from tests import oracle

    return [oracle.differences, oracle.compiled_gaps]


def _stale(config: pytest.Config, exitstatus: int) -> list[str]:
    from tests import oracle

    parts_only = any(config.getoption(name, None) for name in ("keyword", "markexpr", "lf", "deselect"))
    if parts_only or any("::" in arg for arg in config.args) or exitstatus != pytest.ExitCode.OK:
        return []
    gaps = oracle.compiled_gaps.stale() if oracle.compiled_backend == "eager" else []
    return [f"listed in compiled_gaps.toml, and agrees when it is compiled: {test}" for test in gaps] + [
        f"listed in differences.toml, and agrees with NumPy: {test}" for test in oracle.differences.stale()
    ]


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Have a process of pytest-xdist send only what is printed or counted: six messages a test took minutes in all."""
    for plugin in session.config.pluginmanager.get_plugins():
        if type(plugin).__name__ == "WorkerInteractor":
            plugin.sendevent = functools.partial(_send, plugin.sendevent)


def _send(send: Any, name: str, **message: Any) -> None:
    data = message.get("data", {})
    is_routine = name == "testreport" and data["when"] != "call" and data["outcome"] == "passed"
    if name not in ("logstart", "logfinish") and not is_routine:
        send(name, **message)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: Any) -> None:
    """Take over the results of a process of pytest-xdist."""
    found = getattr(node, "workeroutput", {})  # a process that has crashed leaves none
    for listed, (ran, differed) in zip(_lists(), found.get("listed", ()), strict=False):
        listed.ran.update(ran)
        listed.differed.update(differed)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail if a listed difference did not occur."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["listed"] = [(list(listed.ran), list(listed.differed)) for listed in _lists()]
    elif _stale(session.config, exitstatus):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int, config: pytest.Config) -> None:
    """Print the listed differences that did not occur."""
    for line in _stale(config, exitstatus):
        terminalreporter.write_line(line, red=True)


@pytest.fixture(scope="session")
def thorough(request: pytest.FixtureRequest) -> bool:
    """Whether a test should try all combinations."""
    return bool(request.config.getoption("--thorough"))


@pytest.fixture(scope="session")
def device(request: pytest.FixtureRequest) -> str:
    """The device that the suite runs on."""
    return str(request.config.getoption("--device"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Apply a test's marks about the CPU when the suite runs on another device; restore NumPy's error state after it.

    ``tnp.seterr`` sets that too. It is no fixture: each takes a tenth of the time that pytest takes for a small test.
    """
    device = str(item.config.getoption("--device"))
    with numpy.errstate(), contextlib.ExitStack() as scopes:
        if device != "cpu":
            import tnp
            from tests import oracle

            if item.get_closest_marker("host"):
                scopes.enter_context(tnp.device("cpu"))
                scopes.enter_context(pytest.MonkeyPatch.context()).setattr(oracle, "device", None)
            if item.get_closest_marker("reads"):
                scopes.enter_context(tnp.allow_host_copies())
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Make ``--device`` the default when the tests are collected, and before the first runs."""
    device = str(session.config.getoption("--device"))
    if device != "cpu":
        import tnp

        tnp.set_default_device(device)
