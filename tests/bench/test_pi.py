"""``python -m bench pi`` and ``transfer``: what they write and refuse, not how fast anything is."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

import tnp
from bench import peak, pi, timing, transfer
from bench.__main__ import main

HAS_CUDA = any(device.kind == "cuda" for device in tnp.devices())


def test_pi(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pi", "--devices", "cpu", "--n", "10^2,10^4", "--repeats", "2", "--out", str(tmp_path)]) == 0
    rows = json.loads((tmp_path / "pi.json").read_text())["rows"]
    assert all(row["peak"] is None for row in rows)
    rows = [row for row in rows if row["curve"].startswith(("NumPy", "tnp"))]  # and peers, where they are installed
    assert [row["curve"] for row in rows] == ["NumPy", "tnp eager (cpu)", "tnp compiled (cpu)"] * 2
    assert [row["size"] for row in rows] == [100] * 3 + [10_000] * 3
    for row in rows:
        assert len(row["samples"]) == 2 and min(row["samples"]) > 0 and row["copied"] == 0
        assert row["error"] == abs(row["estimate"] - math.pi) < pi.TOO_FAR * pi.DEVIATION / math.sqrt(row["size"])
    for numpy, eager in ((rows[0], rows[1]), (rows[3], rows[4])):
        assert numpy["estimate"] == eager["estimate"]  # NumPy's own random numbers
    assert (tmp_path / "pi.png").stat().st_size > 0
    printed = capsys.readouterr().out
    assert "10^4" in printed and "tnp compiled (cpu)" in printed and "pi.png" in printed


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_numbers_are_of_the_dtype(dtype: str) -> None:
    import numpy as np

    assert [array.dtype for array in pi.draw(np.random.default_rng(0), 3, dtype)] == [dtype] * 2
    for curve in pi.curves(["cpu"], dtype):
        assert abs(curve.prepare(10_000)() - math.pi) < pi.TOO_FAR * pi.DEVIATION / 100
    assert pi.eager("cpu", 1000, "float32")() == pi.numpy_call(1000, "float32")()


@pytest.mark.skipif(not peak.IS_KNOWN, reason="the system does not tell")
def test_peaks() -> None:
    found = pi.peaks(["NumPy"], 10**6, "float64")
    assert found["NumPy"] is not None and 16e6 < found["NumPy"] < 64e6  # two arrays and what is made of them
    assert peak.here(lambda: None) < 8e6


def test_a_wrong_estimate_ends_the_run() -> None:
    with pytest.raises(SystemExit, match="curve is wrong with 10,000 points"):
        pi.first_call(pi.Curve("curve", lambda n: lambda: 4.0), lambda: 4.0, 10_000)


@pytest.mark.skipif(HAS_CUDA, reason="the device is here")
@pytest.mark.parametrize("places", ["cuda", "cpu,split"])
def test_absent_devices(places: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pi", "--devices", places, "--n", "100"]) == 2
    assert "this machine has cpu only" in capsys.readouterr().out


def test_places_and_their_looks() -> None:
    assert pi.parse_places("split, cpu,split") == ["split", "cpu"]
    assert pi.style("tnp eager (cpu)") != pi.style("tnp eager (split)") != pi.style("tnp eager (cuda)")
    assert pi.style("NumPy")["color"] != pi.style("tnp compiled (cpu)")["color"]
    names = [curve.name for curve in pi.curves(["cpu", "split"])]
    assert names[:5] == ["NumPy", "tnp eager (cpu)", "tnp compiled (cpu)", "tnp eager (split)", "tnp compiled (split)"]


def test_unknown_places(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["pi", "--devices", "tpu"])
    assert stop.value.code == 2 and "'tpu' is no place" in capsys.readouterr().err


def test_split_is_the_same_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two places that are both the CPU: the copies and the scopes are gone through, and the estimate is the same."""
    monkeypatch.setitem(pi.PLACES, "split", ("cpu", "cpu:0"))
    assert pi.eager("split", 1000)() == pi.eager("cpu", 1000)() == pi.numpy_call(1000)()
    assert abs(pi.compiled("split", 10_000)() - math.pi) < pi.TOO_FAR * pi.DEVIATION / 100


@pytest.mark.skipif(len(tnp.devices()) > 1, reason="there is something to copy to")
def test_transfer_without_an_accelerator(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["transfer"]) == 2
    assert "no accelerator" in capsys.readouterr().err


def test_transfer(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def copies(device: str, nbytes: int) -> Iterator[tuple[str, transfer.Call]]:
        yield "host to host", tnp.zeros(nbytes, tnp.uint8).copy

    monkeypatch.setattr(transfer, "copies", copies)
    monkeypatch.setattr(
        tnp, "devices", lambda: [*tnp._devices.devices.devices(), tnp._devices.devices.Device("fake", 0, "", 0, 0)]
    )
    monkeypatch.setattr(transfer, "programs", lambda device, n: (lambda: None, lambda: None))
    measured = transfer.timing.measure

    def timed(contestants: list[transfer.timing.Contestant], *rounds: int) -> transfer.timing.Samples:
        """The program's times are told: how two short functions compare is another machine's matter."""
        named = {"whole": [4.0, 8.0], "copies": [1.0, 2.0]}
        return named if named.keys() == {each.name for each in contestants} else measured(contestants, *rounds)

    monkeypatch.setattr(transfer.timing, "measure", timed)
    assert main(["transfer", "--sizes", "2^4,2^12", "--repeats", "2", "--out", str(tmp_path)]) == 0
    document = json.loads((tmp_path / "transfer.json").read_text())
    assert [(row["size"], row["copy"]) for row in document["rows"]] == [(16, "host to host"), (4096, "host to host")]
    assert all(row["rate"] == row["size"] / row["steady"]["median"] for row in document["rows"])
    assert (document["program"]["share_of_copies"], document["program"]["seconds"]) == (0.25, 6.0)
    printed = capsys.readouterr().out
    assert "GB/s" in printed and "25% copies" in printed


def test_the_programs_of_transfer() -> None:
    whole, copied = transfer.programs("cpu", 1000)
    assert abs(whole() - math.pi) < pi.TOO_FAR * pi.DEVIATION / math.sqrt(1000)  # type: ignore[operator]
    assert copied() is None
    assert timing.measure([timing.Contestant("copies", copied)], 1, least=0.0)["copies"]
