"""The processes in which the tests run: a crash, a hang or too much memory costs one case, not its file."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from conformance.numpy_suite.results import Event
from conformance.numpy_suite.selection import HERE, NUMPY, Selection

ROOT = HERE.parent.parent
GRACE = 30  # seconds beyond a test's timeout until its process is killed
LOAD_TIMEOUT = 300  # seconds for loading test files
ENDED = (0, 1, 2, 5)  # exit statuses of pytest after it did what it could


class Workers:
    """Runs pytest on some test files, in processes of their own."""

    def __init__(self, options: argparse.Namespace, selection: Selection, folder: str) -> None:
        self.options = options
        self.selection = selection
        self.folder = Path(folder)
        self.running: set[subprocess.Popen[bytes]] = set()
        self.stopped = False
        self.environ = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.getcwd(), os.environ.get("PYTHONPATH", "")]),
            "PYTHONHASHSEED": "0",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "NPY_AVAILABLE_MEM": f"{options.memory / 4} GB",
        }

    def reference(self, files: list[str]) -> list[Event]:
        """All cases of the files, as NumPy has them."""
        process, record = self._start(files, "numpy", "reference", reference=True)
        process.wait()
        cases = [event for event in read_events(record) if event["event"] == "case"]
        if not cases:
            sys.exit((self.folder / "reference.log").read_text())
        return cases

    def run(self, files: list[str], **job: Any) -> list[Event]:
        """Run test files in one process; go on after a crash.  Returns the events."""
        label = "-".join([files[0].replace("/", "-").removesuffix(".py"), *job])
        numpy_random = self.options.numpy_random and not files[0].startswith("random/")
        done: list[Any] = []
        while True:
            process, record = self._start(
                files, self.options.target, label, done=done, numpy_random=numpy_random, **job
            )
            reason = self._watch(process, record)
            events = read_events(record)
            if not events and process.returncode not in ENDED:
                raise SystemExit((self.folder / f"{label}.log").read_text())
            finished = [event["key"] for event in events if event["event"] == "result"]
            started = [event for event in events if event["event"] == "start"]
            if started and started[-1]["key"] not in finished:
                error = reason or f"crash: exit status {process.returncode}"
                crash = {**started[-1], "event": "result", "outcome": "error", "error": error}
                with record.open("a") as stream:
                    stream.write(json.dumps(crash) + "\n")
                finished.append(crash["key"])
            if self.stopped or len(finished) == len(done) or process.returncode in ENDED:
                return _with_parameters(read_events(record))
            done = finished

    def classify(self, files: list[str]) -> list[Event]:
        """Run test files with NumPy, finding the rules that put cases out of scope."""
        return self.run(files, classify=True)

    def stop(self) -> None:
        """End the processes that still run."""
        self.stopped = True
        for process in self.running:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)

    def logs(self) -> str:
        """What pytest printed."""
        return "\n".join(log.read_text() for log in sorted(self.folder.glob("*tests*.log")))

    def _start(self, files: list[str], target: str, label: str, **job: Any) -> tuple[subprocess.Popen[bytes], Path]:
        """Start a process; returns it and the file in which it records events."""
        record = self.folder / f"{label}.jsonl"
        record.touch()
        job |= {
            "record": str(record),
            "only": self.options.only,
            "timeout": self.options.timeout,
            "native": self.options.native,
            "device": self.options.device,
        }
        job_file = self.folder / f"{label}.job"
        job_file.write_text(json.dumps({**job, "skip": self.selection.skip}))
        command = [
            *(sys.executable, "-m", "pytest", "-p", "conformance.numpy_suite.plugin", "--noconftest"),
            *("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly", "-q", "-rN", "--disable-warnings"),
            *("--import-mode=importlib", "-c", os.devnull, f"--rootdir={NUMPY.parent}", f"--tb={self.options.tb}"),
            *("--continue-on-collection-errors", f"--suite-target={target}", f"--suite-job={job_file}"),
            *(["--collect-only"] if job.get("reference") else []),
            *(str(NUMPY / file) for file in files),
        ]
        with (self.folder / f"{label}.log").open("a") as log:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=self._limit_memory,
            )
        self.running.add(process)
        return process, record

    def _limit_memory(self) -> None:
        limit = int(self.options.memory * 2**30)
        if limit:
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

    def _watch(self, process: subprocess.Popen[bytes], record: Path) -> str | None:
        """Wait for a process; kill it when it is stuck, and say why."""
        limit, size, since = LOAD_TIMEOUT, record.stat().st_size, time.monotonic()
        while process.poll() is None:
            time.sleep(0.2)
            if record.stat().st_size != size:
                size, since = record.stat().st_size, time.monotonic()
                limit = self.options.timeout + GRACE
            elif time.monotonic() - since > limit:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return f"timeout: killed after {limit:.0f} s"
        return None


def read_events(record: Path) -> list[Event]:
    """The events that a process recorded; a line cut short by a crash is left out."""
    events = []
    for line in record.read_text().splitlines():
        with contextlib.suppress(ValueError):
            events.append(json.loads(line))
    return events


def _with_parameters(events: list[Event]) -> list[Event]:
    """The events, with each result's parameters, which its start has."""
    parameters = {tuple(e["key"]): e["parameters"] for e in events if e["event"] == "start"}
    for event in events:
        if event["event"] == "result":
            event["parameters"] = parameters[tuple(event["key"])]
    return events
