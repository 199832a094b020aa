"""Which devices there are, and whose default is which."""

from __future__ import annotations

import threading

import pytest
import torch

from backend_torch.tensors import devices

META = torch.device("meta")


@pytest.fixture(autouse=True)
def _own_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests begin without a default, whatever the suite's is, and leave the suite's."""
    monkeypatch.setattr(devices, "_initial", None)
    monkeypatch.setattr(devices.state, "default", None)


def in_thread(function: object) -> object:
    """What the function returns in a new thread."""
    results: list[object] = []
    thread = threading.Thread(target=lambda: results.append(function()))  # type: ignore[operator]
    thread.start()
    thread.join()
    return results[0]


def test_parse() -> None:
    default = devices.state.default
    assert devices.parse(None) is default
    assert devices.parse("cpu") == torch.device("cpu") and devices.parse(META) is META
    assert devices.parse("cpu:0") == torch.device("cpu:0")
    assert devices.parse(devices.described()[0]) == torch.device("cpu")
    for wrong in ("nowhere", object(), "cpu:x", [], 1.5):
        with pytest.raises(ValueError, match="is not a device"):
            devices.parse(wrong)


@pytest.mark.parametrize("absent", ["cuda:77", "xpu:77", torch.device("cuda:77")])
def test_an_absent_device(absent: object) -> None:
    with pytest.raises(ValueError, match=r":77' is not available here: this machine has 'cpu'"):
        devices.parse(absent)
    assert not devices.is_present(torch.device(absent))
    assert devices.chosen(absent, "meta") == META
    with pytest.raises(ValueError, match="not available"):
        devices.chosen(absent, None)
    with pytest.raises(ValueError, match="not available"):
        devices.chosen("meta:0" if absent == "meta" else absent, "cuda:78")
    with pytest.raises(ValueError, match="is not a device"):
        devices.chosen("nowhere", "cpu")


def test_the_device_that_is_there_is_chosen() -> None:
    assert devices.chosen("cpu", "meta") == torch.device("cpu")


def test_set_default_holds_for_this_thread_and_later_ones() -> None:
    started, may_look = threading.Event(), threading.Event()
    seen: list[torch.device | None] = []

    def look() -> None:
        before = devices.state.default
        started.set()
        may_look.wait()
        seen.extend([before, devices.state.default])

    earlier = threading.Thread(target=look)
    earlier.start()
    started.wait()
    devices.set_default("meta")
    may_look.set()
    earlier.join()
    assert seen[0] == seen[1]
    assert devices.current() == META == in_thread(lambda: devices.current())
    devices.set_default(None)
    assert devices.current() == torch.device("cpu") == in_thread(devices.current)


def test_scopes_nest_and_are_the_threads_own() -> None:
    assert devices.of_scope() is None
    devices.enter(META)
    assert devices.of_scope() == META == devices.current()
    assert in_thread(devices.of_scope) is None and in_thread(devices.current) == torch.device("cpu")
    devices.enter(torch.device("cpu"))
    assert devices.of_scope() == torch.device("cpu")
    devices.leave()
    assert devices.of_scope() == META
    devices.leave()
    assert devices.of_scope() is None and devices.current() == torch.device("cpu")


def test_present_and_described() -> None:
    found = devices.present()
    assert found[0] == torch.device("cpu") and all(map(devices.is_present, found))
    described = devices.described()
    assert [devices.parse(str(each)) for each in described] == list(found)
    host = described[0]
    assert (host.kind, host.index, str(host)) == ("cpu", 0, "cpu") and host.name
    assert host.memory_total is None or host.memory_total > 1 << 20
    assert host.memory_free is None or 0 < host.memory_free <= (host.memory_total or 0)


def test_dynamo_guards_the_default_and_traces_a_scope() -> None:
    made = []

    def backend(module: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> object:
        made.append(module)
        return module

    @torch.compile(backend=backend, fullgraph=True)
    def zeros(x: torch.Tensor) -> torch.Tensor:
        return torch.zeros(2, device=devices.parse(None)).to(x.dtype)

    x = torch.zeros(1)
    assert zeros(x).device.type == "cpu"
    devices.enter(META)
    assert zeros(x).device == META
    devices.leave()
    assert zeros(x).device.type == "cpu" and len(made) == 2

    @torch.compile(backend=backend, fullgraph=True)
    def inside(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        devices.enter(META)
        y = torch.zeros(2, device=devices.parse(None))
        devices.leave()
        return y, torch.zeros(2, device=devices.parse(None)) + x

    assert [y.device.type for y in inside(x)] == ["meta", "cpu"]
    assert devices.of_scope() is None
