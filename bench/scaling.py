"""``python -m bench scaling``: weak and strong scaling over processes, what they send, and a model of 1,000 hosts.

Monte Carlo pi, a matrix product and a training step run in processes that torchrun's launcher starts: gloo on the CPU,
or NCCL on CUDA with a GPU for each process. Collectives are counted, not estimated.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import track
from rich.table import Table

from bench import options, plots, report, scaling_model, timing
from bench.scaling_model import Computing, Network, predicted

ROOT = Path(__file__).parent.parent
PROCESSES = [1, 2, 4]
HOSTS = [1, 10, 100, 1000]
MODES = ("strong", "weak")
NOTES = """\
strong: the same work over more processes; weak: as much work for each; time: a step's, of the slowest process
efficiency: of one process' time over (processes times) this; model: the time that bench.scaling_model gives for it
messages: collectives a step; given: bytes that a process gives to them; wire: bytes that it sends in rings
"""


@dataclass(frozen=True)
class Program:
    """A program's sizes for one process, the work of a size, and the bytes of each process for each collective."""

    strong: int
    share: int
    """The size of each process' share when it is weakly scaled."""
    grown: Callable[[int, int], int]
    """The size of several processes with that share each."""
    work: Callable[[int], float]
    messages: Callable[[int, int], list[tuple[str, int]]]


PARAMETERS = [64 * 128, 128, 128 * 10, 10]
PROGRAMS = {
    "pi": Program(4 * 10**6, 10**6, lambda n, p: n * p, float, lambda n, p: [("all_reduce", 8)]),
    "matmul": Program(
        768,
        480,
        lambda n, p: 4 * round(n * math.cbrt(p) / 4),
        lambda n: float(n) ** 3,
        lambda n, p: [("all_gather_into_tensor", 8 * n * n // p)],
    ),
    "digits": Program(
        2048, 512, lambda n, p: n * p, float, lambda n, p: [("all_reduce", 4 * count) for count in PARAMETERS]
    ),
}


@dataclass(frozen=True)
class Row:
    """One program, scaled one way, over one number of processes; times in seconds."""

    program: str
    mode: str
    processes: int
    size: int
    steady: timing.Summary
    efficiency: float
    messages: list[tuple[str, int]]
    wire: float
    model: float
    samples: list[float]


def size_of(program: str, mode: str, processes: int) -> int:
    """How large a run is."""
    chosen = PROGRAMS[program]
    return chosen.strong if mode == "strong" else chosen.grown(chosen.share, processes)


def expected(program: str, size: int, processes: int) -> list[tuple[str, int]]:
    """Return the collectives of a step by the closed formula."""
    return PROGRAMS[program].messages(size, processes) if processes > 1 else []


def launch(processes: int, runs: Sequence[dict[str, Any]], device: str, repeats: int) -> dict[str, Any]:
    """Start processes and return what they measure; raise SystemExit if they fail."""
    with tempfile.TemporaryDirectory() as folder:
        question, answer = Path(folder, "question.json"), Path(folder, "answer.json")
        question.write_text(json.dumps({"device": device, "repeats": repeats, "runs": list(runs)}))
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
        run = subprocess.run(
            [*command, "-m", "bench.scaling_programs", str(question), str(answer)],
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
            capture_output=True,
            text=True,
        )
        if run.returncode:
            raise SystemExit(f"{processes} processes failed:\n{run.stderr[-4000:]}")
        found: dict[str, Any] = json.loads(answer.read_text())
    return found


def checked(row: dict[str, Any], processes: int) -> list[tuple[str, int]]:
    """Return the collectives that were counted; raise SystemExit if the formula gives others."""
    counted = [(kind, nbytes) for kind, nbytes in row["messages"]]
    formula = expected(row["program"], row["size"], processes)
    if sorted(counted) != sorted(formula):
        raise SystemExit(f"{row['program']} over {processes} processes sent {counted}; the formula says {formula}")
    return counted


def computing_of(alone: Sequence[dict[str, Any]], program: str) -> Computing:
    """Fit the computing time of one process to its two sizes."""
    work = PROGRAMS[program].work
    points = sorted((work(row["size"]), median(row)) for row in alone if row["program"] == program)
    return Computing.of(points[0], points[-1])


def median(row: dict[str, Any]) -> float:
    """Seconds of a run."""
    return timing.Summary.of(row["samples"]).median


def measure(
    programs: Sequence[str], processes: Sequence[int], device: str, repeats: int, console: Console
) -> tuple[list[Row], dict[int, Network], dict[str, Computing]]:
    """Measure each program, scaled both ways, over each number of processes; fit networks and computing times."""
    rows: list[Row] = []
    networks: dict[int, Network] = {}
    cores = math.inf if device != "cpu" else float(report.machine()["cores"])
    alone: list[dict[str, Any]] = []
    computing: dict[str, Computing] = {}
    for number in track(sorted({1, *processes}), "scaling", console=console, transient=True):
        runs = [
            {"program": program, "mode": mode, "size": size_of(program, mode, number)}
            for program in programs
            for mode in MODES
        ]
        found = launch(number, runs, device, repeats)
        if number == 1:
            alone = found["rows"]
            computing = {program: computing_of(alone, program) for program in programs}
        else:
            networks[number] = scaling_model.fitted(f"{device}, {number} processes", *found["pings"], number)
        for row, first in zip(found["rows"], alone, strict=True):
            counted, summary = checked(row, number), timing.Summary.of(row["samples"])
            work = PROGRAMS[row["program"]].work
            done = work(row["size"]) / work(first["size"]) / number  # weak sizes are rounded
            rows.append(
                Row(
                    program=row["program"],
                    mode=row["mode"],
                    processes=number,
                    size=row["size"],
                    steady=summary,
                    efficiency=done * median(first) / summary.median,
                    messages=counted,
                    wire=scaling_model.wire(counted, number),
                    model=predicted(
                        computing[row["program"]],
                        work(row["size"]),
                        counted,
                        number,
                        networks.get(number, scaling_model.on_paper(0.0)),
                        cores=cores,
                    ),
                    samples=row["samples"],
                )
            )
    return [row for row in rows if row.processes in processes], networks, computing


@dataclass(frozen=True)
class OnPaper:
    """The model's figures of a program over many hosts."""

    program: str
    mode: str
    hosts: int
    network: str
    seconds: float
    efficiency: float
    overlapped: float
    """The efficiency where sending is hidden behind computing."""
    sending: float


def on_paper(
    computing: dict[str, Computing], network: Network, hosts: Sequence[int], factor: float = 1.0, speed: float = 1.0
) -> list[OnPaper]:
    """Model each program on hosts of one process: ``factor`` times the measured size, ``speed`` times the speed."""
    found = []
    for name, one in computing.items():
        program = PROGRAMS[name]
        for mode in MODES:
            base = round((program.strong if mode == "strong" else program.share) * factor)
            for number in hosts:
                size = base if mode == "strong" else program.grown(base, number)
                sent, work = program.messages(size, number), program.work(size)
                alone = one.seconds(work / number if mode == "weak" else work, 1, speed=speed)
                times = [
                    predicted(one, work, sent, number, network, speed=speed, overlapped=hidden)
                    for hidden in (False, True)
                ]
                share = 1 if mode == "weak" else number
                found.append(
                    OnPaper(
                        program=name,
                        mode=mode,
                        hosts=number,
                        network=network.name,
                        seconds=times[0],
                        efficiency=alone / share / times[0],
                        overlapped=alone / share / times[1],
                        sending=scaling_model.sending(sent, number, network),
                    )
                )
    return found


def table(results: Sequence[Row], title: str) -> Table:
    """The measured rows, grouped by program and mode."""
    out = report.plain_table(title)
    out.add_column("program", no_wrap=True)
    for name in ("processes", "size", "time", "±", "efficiency", "model", "messages", "given", "wire"):
        out.add_column(name, justify="right", no_wrap=True)
    former = None
    for row in sorted(results, key=lambda row: (list(PROGRAMS).index(row.program), row.mode)):
        is_first = (row.program, row.mode) != former
        if is_first and former is not None:
            out.add_section()
        former = row.program, row.mode
        out.add_row(
            f"{row.program}, {row.mode}" if is_first else "",
            str(row.processes),
            f"{row.size:,}",
            report.seconds(row.steady.median),
            f"{row.steady.spread:.0%}",
            f"{row.efficiency:.0%}",
            report.seconds(row.model),
            str(len(row.messages)),
            f"{sum(nbytes for _, nbytes in row.messages):,}",
            f"{row.wire:,.0f}",
        )
    return out


def paper_table(results: Sequence[OnPaper], title: str) -> Table:
    """The model's rows."""
    out = report.plain_table(title)
    out.add_column("program", no_wrap=True)
    for name in ("hosts", "time", "of it sending", "efficiency", "overlapped"):
        out.add_column(name, justify="right", no_wrap=True)
    for number, row in enumerate(results):
        is_first = number == 0 or (results[number - 1].program, results[number - 1].mode) != (row.program, row.mode)
        if is_first and number:
            out.add_section()
        out.add_row(
            f"{row.program}, {row.mode}" if is_first else "",
            f"{row.hosts:,}",
            report.seconds(row.seconds),
            report.seconds(row.sending),
            f"{row.efficiency:.1%}",
            f"{row.overlapped:.1%}",
        )
    return out


COLOURS = {"pi": "#0072B2", "matmul": "#D55E00", "digits": "#009E73"}
LINES = {"strong": "solid", "weak": (0, (4, 2))}


def picture(path: Path, results: Sequence[Row], paper: Sequence[OnPaper], title: str, footnote: str) -> Path:
    """Draw efficiency against processes, measured, and against hosts, on paper."""
    with matplotlib.rc_context(plots.SETTINGS):
        figure = Figure(figsize=(13, 6.2), layout="constrained")
        here, there = figure.subplots(1, 2)
        for program in dict.fromkeys(row.program for row in results):
            for mode in MODES:
                looks: dict[str, Any] = {"color": COLOURS[program], "linestyle": LINES[mode]}
                rows = [row for row in results if (row.program, row.mode) == (program, mode)]
                numbers = [row.processes for row in rows]
                here.plot(numbers, [row.efficiency for row in rows], marker="o", label=f"{program}, {mode}", **looks)
                lines = [row for row in paper if (row.program, row.mode) == (program, mode)]
                there.plot([row.hosts for row in lines], [row.efficiency for row in lines], **looks)
        here.set_title("Measured on this machine")
        here.set_xlabel("processes")
        here.set_xticks(sorted({row.processes for row in results}))
        there.set_title(f"On paper: hosts of one such process each, {paper[0].network}")
        there.set_xlabel("hosts")
        there.set_xscale("log")
        for axis in (here, there):
            axis.set_ylim(0, 1.15)
            axis.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        here.set_ylabel("efficiency")
        here.legend(loc="lower left")
        figure.suptitle(title, x=0.01, ha="left", fontsize=15, fontweight="bold")
        figure.supxlabel(footnote, fontsize=8, color="#666666")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=160)
    return path


def parse_processes(text: str) -> list[int]:
    """``"1,2,4"`` as numbers."""
    numbers = sorted({int(part) for part in text.split(",")})
    if numbers[0] < 1:
        raise argparse.ArgumentTypeError(f"{numbers[0]} processes are none")
    return numbers


def parse_programs(text: str) -> list[str]:
    """``"pi,matmul"`` as names of programs."""
    names = list(dict.fromkeys(part.strip() for part in text.split(",")))
    for name in names:
        if name not in PROGRAMS:
            raise argparse.ArgumentTypeError(f"{name!r} is no program: use {', '.join(PROGRAMS)}")
    return names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("--programs", type=parse_programs, default=list(PROGRAMS), help="of pi,matmul,digits")
    parser.add_argument("--processes", type=parse_processes, default=PROCESSES, help="numbers of them (default: 1,2,4)")
    parser.add_argument("--device", default="cpu", help="cpu (gloo) or cuda (NCCL, a GPU for each process)")
    options.add_repeats(parser, 7)
    options.add_out(parser)


def run(chosen: argparse.Namespace) -> int:
    """Measure, print the tables, and write JSON and the picture; 2 where there is no such device, or too few."""
    import tnp

    there = [device for device in tnp.devices() if device.kind == chosen.device]
    if not there or (chosen.device != "cpu" and len(there) < max(chosen.processes)):
        needed = f"a device for each of {max(chosen.processes)} processes is needed"
        print(f"--device {chosen.device}: {needed}, and this machine has {', '.join(map(str, tnp.devices()))} only")
        return 2
    console = report.console()
    facts = report.machine()
    title = f"Scaling over processes ({chosen.device})"
    results, networks, computing = measure(chosen.programs, chosen.processes, chosen.device, chosen.repeats, console)
    software = networks[min(networks)].software if networks else 0.0
    paper = on_paper(computing, scaling_model.on_paper(software), HOSTS)
    console.print(table(results, title))
    print(NOTES)
    for network in networks.values():
        print(
            f"{network.name}: {report.seconds(network.latency)} a round, {network.bandwidth / 1e9:.2f} GB/s, ", end=""
        )
        print(f"{report.seconds(network.software)} of software a message")
    console.print(paper_table(paper, f"On paper: hosts of one such process each, {paper[0].network}, software as here"))
    print(report.headline(facts))
    more = {
        "networks": {number: asdict(network) for number, network in networks.items()},
        "computing": {name: asdict(one) for name, one in computing.items()},
        "on_paper": [asdict(row) for row in paper],
    }
    print(report.write_json(chosen.out / "scaling.json", results, facts, **more))
    print(picture(chosen.out / "scaling.png", results, paper, title, report.headline(facts)))
    return 0
