"""`bench scaling`: what is counted is what the formulas say, the model's arithmetic, and what is printed and drawn."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import pytest
from rich.console import Console

from bench import __main__ as bench
from bench import scaling, scaling_model
from bench.scaling_model import Computing, Network
from bench.timing import Summary

NETWORK = Network("slow", 1e-3, 1e6, 5e-4)
PAPER = scaling_model.on_paper(0.0)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of a size that takes no time, of which the formulas hold as well."""
    sizes = {"pi": (1000, 500), "matmul": (24, 16), "digits": (64, 32)}
    programs = {
        name: scaling.Program(*sizes[name], one.grown, one.work, one.messages) for name, one in scaling.PROGRAMS.items()
    }
    monkeypatch.setattr(scaling, "PROGRAMS", programs)


def test_what_is_counted_is_what_the_formulas_say(small: None) -> None:
    pytest.importorskip("sklearn")
    rows, networks, computing = scaling.measure(["pi", "matmul", "digits"], [1, 2], "cpu", 1, Console(quiet=True))
    assert [(row.program, row.mode, row.processes) for row in rows] == [
        (program, mode, number) for number in (1, 2) for program in scaling.PROGRAMS for mode in scaling.MODES
    ]
    counted = {(row.program, row.mode): row for row in rows if row.processes == 2}
    assert counted["pi", "strong"].messages == [("all_reduce", 8)] and counted["pi", "strong"].wire == 8
    assert counted["matmul", "strong"].messages == [("all_gather_into_tensor", 24 * 24 * 8 // 2)]
    given = [nbytes for _, nbytes in counted["digits", "weak"].messages]
    assert sorted(given) == [40, 512, 5120, 32768]
    assert all(not row.messages and row.efficiency == 1 for row in rows if row.processes == 1)
    assert all(row.steady.median > 0 and row.model > 0 for row in rows)
    assert networks.keys() == {2} and networks[2].bandwidth > 0 and computing.keys() == scaling.PROGRAMS.keys()


def test_other_messages_than_the_formulas_are_an_error() -> None:
    row = {"program": "pi", "size": 10, "messages": [["all_reduce", 8], ["all_reduce", 4]]}
    with pytest.raises(SystemExit, match="the formula says"):
        scaling.checked(row, 2)


@pytest.mark.parametrize("processes", [2, 3, 8, 1000])
def test_rings_send_what_is_known_of_them(processes: int) -> None:
    sent = scaling_model.wire([("all_reduce", 1000), ("all_gather_into_tensor", 10)], processes)
    assert math.isclose(sent, 2 * 1000 * (processes - 1) / processes + 10 * (processes - 1))


def test_the_faster_way_is_taken() -> None:
    few, many = [("all_reduce", 8)], [("all_reduce", 10**9)]
    assert math.isclose(scaling_model.sending(few, 1024, NETWORK), 5e-4 + 10 * (1e-3 + 8 / 1e6))  # by doubling
    assert math.isclose(scaling_model.sending(many, 4, NETWORK), 5e-4 + 6 * 1e-3 + 1.5e9 / 1e6)  # in a ring
    assert scaling_model.sending(many, 1, NETWORK) == 0


@pytest.mark.parametrize("processes", [2, 4])
def test_a_network_is_found_again(processes: int) -> None:
    pings, bare = {}, {}
    for kind, ways in scaling_model.WAYS.items():
        way = ways["ring"]
        pings[kind] = [
            (nbytes, 7e-4 + 2e-4 * way.rounds(processes) + way.wire(processes, nbytes) / 3e9)
            for nbytes in (8, 10**4, 10**7)
        ]
        bare[kind] = [(8, 2e-4 * way.rounds(processes))]
    found = scaling_model.fitted("", pings, bare, processes)
    assert [found.latency, found.bandwidth, found.software] == pytest.approx([2e-4, 3e9, 7e-4])


def test_computing_is_shared_among_cores() -> None:
    computing = Computing.of((100, 3.0), (200, 5.0))
    assert computing == Computing(1.0, 0.02)
    assert computing.seconds(200, 2) == 3 and computing.seconds(200, 4, cores=2) == 4
    assert computing.seconds(200, 2, speed=10) == pytest.approx(1.2)
    assert Computing.of((100, 3.0), (200, 2.0)) == Computing(3.0, 0.0)


def test_on_paper() -> None:
    computing = {name: Computing(1e-3, 1e-9) for name in scaling.PROGRAMS}
    rows = scaling.on_paper(computing, PAPER, [1, 1000])
    of = {(row.program, row.mode, row.hosts): row for row in rows}
    assert all(row.efficiency == row.overlapped == 1 for row in rows if row.hosts == 1)
    assert all(row.efficiency < row.overlapped <= 1 + 1e-9 for row in rows if row.hosts == 1000)
    assert of["digits", "weak", 1000].efficiency > of["digits", "strong", 1000].efficiency
    seconds = of["pi", "weak", 1000].seconds
    assert seconds == pytest.approx(2e-3 + 10 * (10e-6 + 8 / 12.5e9))


def test_tables_and_picture(tmp_path: Path) -> None:
    rows = [
        scaling.Row(
            program, mode, number, 10, Summary(1.0, 0.9, 1.1, 0.8, 3), 0.5, [("all_reduce", 8)], 8.0, 1.0, [1.0]
        )
        for program in scaling.PROGRAMS
        for mode in scaling.MODES
        for number in (1, 2)
    ]
    paper = scaling.on_paper({name: Computing(1e-3, 1e-9) for name in scaling.PROGRAMS}, PAPER, [1, 10])
    console = Console(record=True, width=120, quiet=False, file=(tmp_path / "text").open("w"))
    console.print(scaling.table(rows, "measured"), scaling.paper_table(paper, "on paper"))
    text = console.export_text()
    assert "matmul, weak" in text and "50%" in text and "…" not in text
    path = scaling.picture(tmp_path / "scaling.png", rows, paper, "title", "note")
    assert path.stat().st_size > 10_000


def test_a_device_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["scaling", "--device", "xpu"]) == 2
    assert (
        "--device xpu: a device for each of 4 processes is needed, and this machine has cpu" in capsys.readouterr().out
    )


def test_arguments() -> None:
    assert scaling.parse_processes("4,1") == [1, 4] and scaling.parse_programs("matmul, pi") == ["matmul", "pi"]
    for parse, text in ((scaling.parse_processes, "0"), (scaling.parse_programs, "tea")):
        with pytest.raises(argparse.ArgumentTypeError):
            parse(text)
