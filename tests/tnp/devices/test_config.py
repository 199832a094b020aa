"""``show_config`` says what is there."""

from __future__ import annotations

import importlib.metadata
import json

import numpy
import pytest
import torch

import tnp


def test_dicts() -> None:
    facts = tnp.show_config(mode="dicts")
    assert facts is not None
    assert facts["tnp"]["version"] == tnp.__version__
    assert facts["NumPy"]["version"] == numpy.__version__
    assert facts["Torch"]["version"] == torch.__version__
    assert facts["Threads"]["within operations"] == torch.get_num_threads()
    assert [device["kind"] for device in facts["Devices"]] == [device.kind for device in tnp.devices()]


def test_printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert tnp.show_config() is None
    printed = json.loads(capsys.readouterr().out)
    assert printed["Compilers"]["c++"] is None
    assert list(printed) == ["tnp", "NumPy", "Python", "Torch", "Devices", "Threads", "Allocator", "Compilers"]


def test_other_modes_raise_as_numpys() -> None:
    for show in (tnp.show_config, numpy.show_config):
        with pytest.raises(AttributeError, match="Invalid `mode`, use one of: "):
            show("text")  # type: ignore[arg-type]


def test_one_version() -> None:
    assert importlib.metadata.version("tnp") == tnp.__version__
