"""Each sample on an accelerator: on CUDA where this machine has it, else on the stand-in of tests/fake_device.py."""

from __future__ import annotations

import pytest

from conformance import accelerator, coverage, samples

NATIVE = ("torch", "torch, NumPy on the CPU")
OF_THE_HOST = {"from_dlpack", "frombuffer", "ndarray.to_device"}  # what they are about is its memory


@pytest.fixture(scope="module")
def page() -> dict[str, tuple[str, ...]]:
    """The cells of each function that computes."""
    codes = samples.samples()
    return {name: cells for name, cells in coverage.read().items() if cells[0] in coverage.COMPUTED and codes.get(name)}


@pytest.fixture(scope="module")
def answers(page: dict[str, tuple[str, ...]]) -> dict[str, str]:
    codes = samples.samples()
    return accelerator.ask({name: codes[name] for name in page})


def test_no_native_function_copies_an_array(page: dict[str, tuple[str, ...]], answers: dict[str, str]) -> None:
    native = {name for name, cells in page.items() if cells[0] in NATIVE}
    moved = {name for name in native if answers[name] not in ("yes", "waits")}
    assert len(native) > 400 and moved == OF_THE_HOST


def test_the_page_says_how_each_runs(page: dict[str, tuple[str, ...]], answers: dict[str, str]) -> None:
    column = coverage.COLUMNS.index("accelerator")
    assert {name: cells[column] for name, cells in page.items()} == answers
