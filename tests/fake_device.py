"""A fake accelerator: CPU memory behind a device of its own, to test device rules on a machine that has none.

It is strict where a GPU is: operands on two devices raise, but for 0-d ones of the host. Registering it changes the
process for good, so tests run it in one of their own: ``python -m tests.fake_device`` reads expressions and writes what
became of them as JSON.
"""

from __future__ import annotations

import contextlib
import functools
import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

import tnp
from backend_torch import memory
from tests.expressions import arrays
from tests.oracle import assert_same

NAME = "fake"
KEY = "PrivateUse1"  # what torch dispatches such devices by
DEVICE = torch.device("cpu")  # until `register` has been called
aten = torch.ops.aten
MIXING = {aten.copy_, aten._to_copy, aten.index, aten.index_put, aten.index_put_, aten._index_put_impl_}


class Far(torch.Tensor):
    """A tensor on the fake device; ``near`` has its values."""

    near: torch.Tensor

    @staticmethod
    def __new__(cls, near: torch.Tensor) -> Far:
        layout = {"strides": near.stride(), "storage_offset": near.storage_offset()}
        far = torch.Tensor._make_wrapper_subclass(cls, near.shape, dtype=near.dtype, device=DEVICE, **layout)
        far.near = near
        return far

    def data_ptr(self) -> int:
        return self.near.data_ptr()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return run(func, args, kwargs or {})


def near(value: Any) -> Any:
    return value.near if isinstance(value, Far) else value


def run(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run an operation on the host and put its results where they belong."""
    composite = func.decompose(*args, **kwargs)
    if composite is not NotImplemented:
        return composite
    tensors = [value for value in tree_leaves((args, kwargs)) if isinstance(value, torch.Tensor)]
    mixed = {value.device for value in tensors if value.dim()}
    if len(mixed) > 1 and func.overloadpacket not in MIXING:
        raise RuntimeError(f"Expected all tensors to be on the same device, but found {mixed} in {func}")
    device = kwargs.get("device")
    is_far = any(isinstance(value, Far) for value in tensors) if device is None else device.type == NAME
    if is_far and device is not None:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    out = func(*tree_map(near, args), **tree_map(near, kwargs))
    owners = {id(near(value)): value for value in tensors}  # what is written in place is the very tensor that was given

    def placed(result: Any) -> Any:
        if not isinstance(result, torch.Tensor):
            return result
        return owners[id(result)] if id(result) in owners else Far(result) if is_far else result

    return tree_map(placed, out)


class _Module:
    """What torch asks of a device's module."""

    @staticmethod
    def is_available() -> bool:
        return True

    @staticmethod
    def device_count() -> int:
        return 1

    @staticmethod
    def is_initialized() -> bool:
        return True

    @staticmethod
    def current_device() -> int:
        return 0

    @staticmethod
    def synchronize(device: Any = None) -> None:
        pass

    @staticmethod
    def get_device_name(device: Any = None) -> str:
        return "CPU memory in disguise"

    @staticmethod
    def mem_get_info(device: Any = None) -> tuple[int, int]:
        return 1000, 2000


def register() -> None:
    """Add the device ``fake`` to this process."""
    global DEVICE
    _setup_privateuseone_for_python_backend(NAME, backend_module=_Module())
    DEVICE = torch.device(NAME, 0)
    every, ranges = torch.library.Library("_", "IMPL"), torch.library.Library("aten", "IMPL")
    every.fallback(lambda func, *args, **kwargs: run(func, args, kwargs), KEY)
    for overload in (aten.arange.default, aten.arange.start, aten.arange.start_step):  # torch's own resizes in place
        ranges.impl(overload, functools.partial(lambda func, *args, **kwargs: run(func, args, kwargs), overload), KEY)
    _libraries.extend([every, ranges])


_libraries: list[Any] = []  # a library is unregistered when it is collected


def make_readable() -> None:
    """Let tnp take such a tensor for what it stands for: one with values, and no tracer's or transform's."""
    original = memory.is_readable

    def is_readable(tensor: torch.Tensor) -> bool:
        return isinstance(tensor, Far) or original(tensor)

    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("tnp", "backend_torch") and getattr(module, "is_readable", None) is original:
            module.is_readable = is_readable  # type: ignore[attr-defined]


def devices_of(value: Any) -> list[str]:
    """The devices of the arrays in a result."""
    if isinstance(value, (list, tuple)):
        return sorted({device for each in value for device in devices_of(each)})
    return [str(value.device)] if isinstance(value, tnp.ndarray) else []


def answer(expression: str, scope: bool, forbid: bool) -> dict[str, Any]:
    """What becomes of an expression with arrays on the device, next to what NumPy says."""
    far = {"np": tnp, "numpy": np, "torch": torch, "h": tnp.arange(3.0), **arrays(tnp, device=NAME)}
    answered: dict[str, Any] = {"error": None, "devices": [], "text": None, "difference": None}
    with tnp.transfers(forbid=forbid) as log, tnp.device(NAME) if scope else contextlib.nullcontext():
        try:
            result = eval(expression, far)
        except Exception as error:
            answered["error"] = f"{type(error).__name__}: {error}"
    answered["transfers"] = [
        [each.operation.removeprefix("aten.").partition(".")[0], each.source, each.target, each.nbytes, each.waits]
        for each in log
    ]
    answered["lines"] = [each.line for each in log]
    if answered["error"] is None:
        answered["devices"] = devices_of(result)
        answered["text"] = None if isinstance(result, torch.Tensor) else str(result)
        try:
            expected = eval(expression, {"np": np, "numpy": np, "h": np.arange(3.0), **arrays(np)})
        except Exception:  # an expression that NumPy has no word of: devices
            return answered
        try:
            assert_same(expected, result, rtol=1e-9, atol=1e-12)
        except AssertionError as error:
            answered["difference"] = str(error)
    return answered


def ask(expressions: list[str], scope: bool = False, forbid: bool = False) -> dict[str, dict[str, Any]]:
    """The answers of a fresh process that has the device: in a scope of it, and with transfers forbidden."""
    command, question = [sys.executable, "-m", __name__], json.dumps([expressions, scope, forbid])
    root = Path(__file__).parent.parent
    process = subprocess.run(command, input=question, capture_output=True, text=True, cwd=root, check=False)
    assert process.returncode == 0, process.stderr
    return dict(zip(expressions, json.loads(process.stdout), strict=True))


def prepare() -> None:
    """Make this process one that has the device."""
    register()
    make_readable()
    torch.accelerator.synchronize = lambda device=None: None  # type: ignore[assignment]  # torch wants one in C++
    original = torch.tensor

    def tensor(data: Any, *, device: Any = None, **options: Any) -> torch.Tensor:
        return original(data, **options).to(device)  # torch asserts that such devices are of C++

    torch.tensor = tensor


def main() -> None:
    """Answer the expressions of the JSON on standard input."""
    warnings.simplefilter("ignore")
    prepare()
    expressions, scope, forbid = json.load(sys.stdin)
    json.dump([answer(expression, scope, forbid) for expression in expressions], sys.stdout)


if __name__ == "__main__":
    main()
