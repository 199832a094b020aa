"""Transfers: what is recorded and what is forbidden, on a fake accelerator and, where there is one, on CUDA."""

from __future__ import annotations

import inspect
import threading
from typing import Any

import numpy as np
import pytest
import torch

import tnp
from backend_torch.tensors import transfers
from tests import fake_device
from tests.expressions import OF_ARRAYS, split

NUMBER = ["_local_scalar_dense", "fake:0", "cpu", 8, True]
OUT = ["_to_copy", "fake:0", "cpu", 96, True]
IN = ["_to_copy", "cpu", "fake:0", 24, True]
ALLOWED = "(lambda scope: (scope.__enter__(), numpy.asarray(x).sum(), scope.__exit__(None, None, None))[1])"

SEEN = {
    # Copies of arrays, both ways.
    'x.to_device("cpu")': [OUT],
    "np.asnumpy(x)": [OUT],
    "repr(x)": [OUT],
    "str(x)": [OUT],
    f"{ALLOWED}(np.allow_host_copies())": [OUT],
    'h.to_device("fake")': [IN],
    'h.to_device("fake", non_blocking=True)': [["_to_copy", "cpu", "fake:0", 24, False]],
    'x.to_device("cpu", non_blocking=True)': [["_to_copy", "fake:0", "cpu", 96, False]],
    'np.asarray([1.0, 2.0, 3.0], device="fake")': [IN],
    'np.asarray(h, "f4", device="fake")': [["_to_copy", "cpu", "fake:0", 12, True]],
    "x.tensor.to('cpu', torch.float32)": [["_to_copy", "fake:0", "cpu", 48, True]],
    "x.tensor[0, :3].copy_(h.tensor)": [["copy_", "cpu", "fake:0", 24, True]],
    "h.tensor.copy_(v.tensor[:3])": [["copy_", "fake:0", "cpu", 24, True]],
    "h.tensor.copy_(v.tensor[:3], non_blocking=True)": [["copy_", "fake:0", "cpu", 24, False]],
    "torch.zeros(0).to('fake')": [],
    # Numbers that Python reads.
    "float(x[0, 0])": [NUMBER],
    "x.sum().item()": [NUMBER],
    "bool(x[0, 0])": [NUMBER],
    "1 if b.any() else 0": [["_local_scalar_dense", "fake:0", "cpu", 1, True]],
    "range(10)[i[0]]": [NUMBER],
    "f'{x[0, 0]:.1f}'": [["_to_copy", "fake:0", "cpu", 8, True]],
    # Shapes that depend on values.
    "np.nonzero(x)": [["nonzero", "fake:0", "cpu", 8, True]],
    "x[b]": [["nonzero", "fake:0", "cpu", 8, True]],
    "x.tensor[b.tensor]": [["index", "fake:0", "cpu", 8, True]],
    "torch.masked_select(x.tensor, b.tensor)": [["masked_select", "fake:0", "cpu", 8, True]],
    "torch.unique(v.tensor)": [["_unique2", "fake:0", "cpu", 8, True]],
    "torch.bincount(i.tensor)": [["bincount", "fake:0", "cpu", 8, True]],
    "torch.repeat_interleave(v.tensor[:3], i.tensor)": [["repeat_interleave", "fake:0", "cpu", 8, True]],
    "torch.equal(x.tensor, x.tensor)": [["equal", "fake:0", "cpu", 8, True]],
    "torch.allclose(x.tensor, x.tensor)": [["allclose", "fake:0", "cpu", 8, True]],
    "np.linalg.inv(s)": [["_linalg_check_errors", "fake:0", "cpu", 8, True]],
    # Indices and values that torch brings to the device itself.
    "x.tensor[torch.tensor([1, 2])]": [["index", "cpu", "fake:0", 16, True]],
    "x.tensor[torch.tensor([True, False, True])]": [
        ["index", "cpu", "fake:0", 3, True],
        ["index", "fake:0", "cpu", 8, True],
    ],
    "torch.ops.aten.index_put_(v.tensor, [i.tensor], torch.zeros(3).double())": [
        ["index_put_", "cpu", "fake:0", 24, True]
    ],
    "torch.ops.aten.index_put_(x.tensor, [b.tensor], torch.zeros(()))": [],
    "torch.ops.aten.index_put_(x.tensor, [b.tensor], v.tensor[0])": [["index_put_", "fake:0", "cpu", 8, True]],
    # Waiting.
    "np.synchronize()": [["synchronize", "fake:0", "cpu", 0, True]],
    'np.synchronize("fake")': [["synchronize", "fake:0", "cpu", 0, True]],
    'np.synchronize("cpu")': [],
    # What stays where it is.
    "x * 2 + h[0]": [],
    "x @ x.T": [],
    "x.__setitem__(0, 1.0)": [],
    "x.__setitem__(..., 1.0)": [],
    "x.fill(3.0)": [],
    "x.__setitem__(b, 1.0)": [],
    "x[x > 1e9].shape == (0,) and None": [["nonzero", "fake:0", "cpu", 8, True]],
    'np.zeros((2, 3), device="fake")': [],
    'np.arange(5, device="fake")': [],
    "h.sum().item()": [],
    "np.nonzero(h)": [],
    "x.shape, x.dtype, x.nbytes, x.device, len(x)": [],
    'x.to_device("meta")': [],
}

# What Python has to know before the device can go on: a shape, an error to raise, or numbers that come from the host.
# The others touch the host not at all.
TOUCH_THE_HOST = """
x[i]; x[:, i]; x[i[:, None], i]; np.average(x, weights=v, axis=1); np.nanargmax(x, 0); np.quantile(x, 0.3)
np.quantile(x, 0.3, axis=0); np.percentile(x, [10, 50], axis=1); np.nanpercentile(x, 10, axis=0); np.interp(v, v, v)
np.insert(x, 1, 0.0, axis=0); np.delete(x, 1, axis=1); np.pad(x, 1); np.searchsorted(v, x); np.take(x, i, axis=1)
np.take_along_axis(x, i[:, None], 1); np.choose(i, [i, i, i]); np.digitize(x, v); np.isin(x, v); np.linalg.inv(s)
np.linalg.solve(s, v[:3]); np.linalg.cholesky(s); np.linalg.norm(s, 2); np.linalg.matrix_rank(x)
np.ravel_multi_index((i, i), (3, 3)); np.unravel_index(i, (3, 3)); np.nanmean(x, 1); np.nanstd(x); np.nanvar(x)
np.pad(x, 2, mode="reflect"); np.linalg.pinv(x, rcond=np.asarray(0.1)); np.linalg.matrix_rank(x, rtol=np.asarray(0.1))
np.max(x.astype("u8"), axis=0, initial=0, where=b); np.r_[v, 2.5]
np.add(v, 1, where=[True, False, True, True], out=v * 2)
"""


@pytest.fixture(scope="module")
def answers() -> dict[str, dict[str, Any]]:
    return fake_device.ask([*SEEN, *split(OF_ARRAYS)])


@pytest.mark.parametrize("expression", SEEN)
def test_what_is_seen(expression: str, answers: dict[str, Any]) -> None:
    assert answers[expression]["error"] is None
    assert answers[expression]["transfers"] == SEEN[expression]


def test_nothing_moves_where_no_copy_is_wanted() -> None:
    """NumPy asks so for a buffer, before it asks for an array: two copies were made."""
    scope = ALLOWED.replace("numpy.asarray(x).sum()", "x.__array__(copy=False)")
    (answer,) = fake_device.ask([f"{scope}(np.allow_host_copies())"]).values()
    assert answer["error"].startswith("ValueError: Unable to avoid copy") and answer["transfers"] == []


@pytest.mark.parametrize("expression", split(OF_ARRAYS))
def test_functions_stay_on_the_device(expression: str, answers: dict[str, Any]) -> None:
    if expression not in split(TOUCH_THE_HOST):
        assert answers[expression]["transfers"] == []


@pytest.fixture
def accelerator(device: str) -> str:
    """A real accelerator, if the suite runs on one."""
    if device == "cpu":
        pytest.skip("the suite runs on the CPU")
    return device


def test_real_copies_are_seen(accelerator: str) -> None:
    x = tnp.ones(3, device="cpu")
    with tnp.transfers() as log:
        y = x.to_device(accelerator)
        total = float(y.sum())
        listed = y.tolist()
    assert total == 3.0 and listed == [1.0, 1.0, 1.0]
    assert [(each.nbytes, each.target == "cpu") for each in log] == [(24, False), (8, True), (24, True)]
    with tnp.transfers(forbid=True):
        y = y * 2 + 1
        with pytest.raises(tnp.TransferError):
            y.tolist()


class Elsewhere:
    """Stands for a tensor on an accelerator in rules that ask for no more than this."""

    def __init__(self, device: str, numel: int = 3, dtype: torch.dtype = torch.float64) -> None:
        self.device = torch.device(device)
        self.dtype, self.itemsize, self.nbytes = dtype, dtype.itemsize, numel * dtype.itemsize
        self._numel = numel

    def numel(self) -> int:
        return self._numel

    def dim(self) -> int:
        return 1


def events(rule: transfers.Rule, *args: Any, **kwargs: Any) -> list[tuple[str, str, int, bool]]:
    return [(str(source), str(target), nbytes, waits) for source, target, nbytes, waits in rule(args, kwargs)]


def test_rules_of_several_accelerators() -> None:
    first, second, host = Elsewhere("cuda:0"), Elsewhere("cuda:1"), Elsewhere("cpu")
    to_copy, copy = transfers.RULES[torch.ops.aten._to_copy], transfers.RULES[torch.ops.aten.copy_]
    assert events(to_copy, first, device=torch.device("cuda:1")) == [("cuda:0", "cuda:1", 24, False)]
    assert events(to_copy, first, device=torch.device("cuda")) == []
    assert events(to_copy, first, device=torch.device("cuda:0"), dtype=torch.float32) == []
    assert events(to_copy, first, dtype=torch.float32) == []
    for tensor in (host, first):
        assert events(to_copy, tensor, device=torch.device("meta")) == []
    assert events(copy, second, first) == [("cuda:0", "cuda:1", 24, False)]
    assert events(copy, host, first, True) == [("cuda:0", "cpu", 24, False)]
    lift = transfers.RULES[torch.ops.aten.lift_fresh]
    assert events(lift, first) == [("cpu", "cuda:0", 24, True)] and events(lift, host) == []
    assert events(transfers.RULES[torch.ops.aten.nonzero], first) == [("cuda:0", "cpu", 8, True)]
    assert events(transfers.RULES[torch.ops.aten.repeat_interleave], first, output_size=3) == []


@pytest.mark.host
def test_the_cpu_and_meta_have_no_transfers() -> None:
    x, far = tnp.arange(6.0).reshape(2, 3), tnp.ones((2, 3), device="meta")
    with tnp.transfers(forbid=True) as log:
        assert float(x.sum()) == 15.0 and x[x > 2].tolist() == [3.0, 4.0, 5.0]
        assert tnp.asnumpy(x).sum() == 15 and repr(x) and np.asarray(x).shape == (2, 3)
        assert (far @ far.T).shape == (2, 2) and x.to_device("meta").shape == (2, 3)
        tnp.synchronize("cpu")
    assert log == []


FORBIDDEN = {
    "float(x[0, 0])": "8 bytes from fake:0 to cpu, waited for (aten._local_scalar_dense.default)",
    "np.asnumpy(x)": "96 bytes from fake:0 to cpu, waited for (aten._to_copy.default)",
    "h.to_device('fake')": "24 bytes from cpu to fake:0, waited for (aten._to_copy.default)",
    "h.to_device('fake', non_blocking=True)": "24 bytes from cpu to fake:0 (aten._to_copy.default)",
    "x[b]": "8 bytes from fake:0 to cpu, waited for (aten.nonzero.default)",
    "np.synchronize()": "waited for fake:0 (synchronize)",
}


@pytest.fixture(scope="module")
def forbidden() -> dict[str, dict[str, Any]]:
    return fake_device.ask([*FORBIDDEN, "np.sqrt(x @ x.T + 1)"], forbid=True)


@pytest.mark.parametrize("expression", FORBIDDEN)
def test_a_forbidden_transfer_raises(expression: str, forbidden: dict[str, Any]) -> None:
    error = forbidden[expression]["error"]
    assert error.startswith("TransferError: a transfer where none is allowed: ") and "fake_device.py:" in error
    assert error.endswith(FORBIDDEN[expression])
    assert forbidden[expression]["transfers"] == []


def test_what_stays_on_the_device_is_not_forbidden(forbidden: dict[str, Any]) -> None:
    answer = forbidden["np.sqrt(x @ x.T + 1)"]
    assert answer["error"] is None and answer["difference"] is None


def test_the_line_is_the_users(answers: dict[str, Any]) -> None:
    lines = {line for expression in SEEN for line in answers[expression]["lines"]}
    assert len(lines) == 1 and "fake_device.py:" in lines.pop()


@pytest.mark.host
def test_a_line_of_this_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfers, "NOWHERE", "none")  # so that meta counts as an accelerator
    x = tnp.ones(3)
    with tnp.transfers() as log:
        x.to_device("meta")
    here = inspect.currentframe()
    assert here is not None
    assert [each.line for each in log] == [f"{__file__}:{here.f_lineno - 3}"]
    assert str(log[0]) == f"{log[0].line}: 24 bytes from cpu to meta, waited for (aten._to_copy.default)"
    expected = pytest.raises(tnp.TransferError, match=r"test_transfers\.py:\d+: 24 bytes from cpu to meta")
    with expected, tnp.transfers(forbid=True):
        x.to_device("meta")
    assert x.to_device("meta").shape == (3,)  # the scope has ended


def test_scopes_nest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfers, "NOWHERE", "none")
    x = tnp.ones(3)
    with tnp.transfers() as outer:
        x.to_device("meta")
        with tnp.transfers() as inner:
            x.to_device("meta")
        x.to_device("meta")
    assert (len(outer), len(inner)) == (3, 1)
    with tnp.transfers() as log, pytest.raises(tnp.TransferError), tnp.transfers(forbid=True):
        x.to_device("meta")
    assert log == []


def test_each_thread_sees_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfers, "NOWHERE", "none")
    x = tnp.ones(3)
    with tnp.transfers() as log:
        thread = threading.Thread(target=lambda: x.to_device("meta"))
        thread.start()
        thread.join()
    assert log == []


def test_gradients_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfers, "NOWHERE", "none")
    leaf = torch.ones(3, device="meta", requires_grad=True)
    y = leaf * torch.ones((), requires_grad=True)  # whose gradient goes back to the host
    with tnp.transfers() as log, pytest.raises(NotImplementedError, match="no data"):
        y.sum().backward()
    assert [(each.source, each.target, each.nbytes) for each in log] == [("meta", "cpu", 4)]


def test_compiled_functions_run_in_a_scope() -> None:
    @tnp.compile
    def twice(x: Any) -> Any:
        return x * 2 + 1

    x = tnp.ones(4)
    with tnp.transfers(forbid=True) as log:
        results = [twice(x), twice(x)]
    assert log == [] and [result.tolist() for result in results] == [[3.0] * 4] * 2


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_other_modes(mode: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfers, "NOWHERE", "none")
    with mode(), tnp.transfers() as log:
        tnp.ones(3).to_device("meta")
    assert [each.nbytes for each in log] == [24]
