"""``python -m conformance ... --device``: refused where there is no such device, and told to the suites' processes."""

from __future__ import annotations

import pytest

import tnp
from conformance import __main__ as conformance
from conformance import device
from tests import fake_device


@pytest.mark.parametrize("command", ["numpy", "array-api", "fuzz", "ulp"])
def test_a_device_that_is_not_there_is_refused(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert conformance.main([command, "--device", "cuda:77"]) == 2
    assert "--device cuda:77: device 'cuda:77' is not available here: this machine has" in capsys.readouterr().err


def test_the_suites_processes_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert device.environment("cpu") == {} and device.environment("cuda") == {device.VARIABLE: "cuda"}
    chosen: list[str] = []
    monkeypatch.setattr(tnp, "set_default_device", chosen.append)
    device.pytest_configure(None)  # type: ignore[arg-type]
    monkeypatch.setenv(device.VARIABLE, "meta")
    device.pytest_configure(None)  # type: ignore[arg-type]
    assert chosen == ["meta"]


def test_this_suite_runs_on_the_stand_in() -> None:
    """``pytest --device fake`` is ``pytest --device cuda`` on a machine without one."""
    answers = fake_device.ask(["np.zeros(3).device.type", "np.asarray([1.0]).device.type"], scope=True)
    assert [answer["text"] for answer in answers.values()] == ["fake", "fake"]
