"""A fake accelerator: CPU memory behind another device, to test device rules on a machine without an accelerator.

It is as strict as a GPU: operands on two devices raise, except for 0-d ones on the CPU. Registering it changes the
process for good, so tests use it in a process of its own: ``python -m tests.fake_device`` reads expressions and writes
their outcomes as JSON.
"""

from __future__ import annotations

import contextlib
import functools
import json
import sys
import warnings
from typing import Any

import numpy as np
import torch
import torch.utils.checkpoint
from torch.overrides import enable_reentrant_dispatch
from torch.utils._mode_utils import no_dispatch
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

import tnp
from backend_torch.tensors import memory
from tests import processes
from tests.expressions import arrays
from tests.oracle import assert_same

NAME = "fake"
KEY = "PrivateUse1"  # torch's dispatch key for such devices
DEVICE = torch.device("cpu")  # until `register` has been called
aten = torch.ops.aten
MIXING = {
    aten.copy_,
    aten.fill,
    aten.fill_,
    aten._to_copy,
    aten.index,
    aten.index_put,
    aten.index_put_,
    aten._index_put_impl_,
}
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
LACKING = {
    **dict.fromkeys((aten.mm, aten.bmm, aten.addmm, aten.addmv, aten.mv, aten.dot, aten.vdot, aten.baddbmm), INTEGERS),
    aten.angle: (torch.float16, torch.bfloat16),
    aten.scatter_reduce: (torch.bool,),
    **dict.fromkeys(
        (aten.where, aten.roll, aten.any, aten.all, aten.index, aten.index_select),
        (torch.uint16, torch.uint32, torch.uint64),
    ),
}
"""Operation -> the dtypes for which the CPU has a kernel, but CUDA none."""
REFUSING = {
    **dict.fromkeys((aten.addcdiv, aten.clamp, aten.igamma, aten.igammac, aten.lerp), (0, 1, 2)),
    **dict.fromkeys((aten.clamp_max, aten.clamp_min, aten.gcd, aten.lcm, aten.logaddexp, aten.logaddexp2), (0, 1)),
    **dict.fromkeys((aten.addcmul, aten.masked_fill, aten.nextafter), (0, 1)),
    **dict.fromkeys((aten.sigmoid_backward, aten.tanh_backward, aten.threshold_backward), (0, 1)),
    **dict.fromkeys((aten.logical_and, aten.logical_or, aten.logical_xor), (0,)),
    **dict.fromkeys((aten.addcdiv_, aten.addcmul_, aten.clamp_, aten.lerp_, aten.nextafter_, aten.masked_fill_), (1,)),
}
"""Elementwise operation -> the operands that CUDA refuses as 0-d tensors on the CPU."""


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

    def untyped_storage(self) -> torch.UntypedStorage:
        return self.near.untyped_storage()

    def tolist(self) -> Any:  # torch has none for subclasses; from a GPU's tensor it copies first
        return self.cpu().tolist()

    def __reduce_ex__(self, protocol: Any) -> Any:  # torch would read the storage, which this tensor lacks
        return Far, (self.near,)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with enable_reentrant_dispatch():  # otherwise lazy conjugates on the CPU would not be resolved
            return run(func, args, kwargs or {})


def far(near: torch.Tensor) -> Far:
    """Put a CPU tensor on the device; it stays lazily conjugated or negated if the CPU tensor is."""
    if near._is_zerotensor():  # torch's zeros without memory: a tensor that torch asks can't say that it is one
        near = near.clone()
    made = Far(near)
    torch._C._set_conj(made, near.is_conj())
    torch._C._set_neg(made, near.is_neg())
    return made


def near(value: Any) -> Any:
    if not isinstance(value, Far):
        return value
    if value.is_conj() is not value.near.is_conj():  # torch has changed the lazy conjugation
        value.near = value.near.conj()
    if value.is_neg() is not value.near.is_neg():
        value.near = torch._neg_view(value.near)
    return value.near


def check_devices(func: Any, args: tuple[Any, ...], tensors: list[torch.Tensor]) -> None:
    """Raise for operands on two devices; most elementwise operations take 0-d CPU operands beside a GPU's."""
    if func.overloadpacket in MIXING:
        return
    takes_numbers = torch.Tag.pointwise in func.tags
    refused = {id(args[place]) for place in REFUSING.get(func.overloadpacket, ()) if place < len(args)}
    found = {
        value.device
        for value in tensors
        if not (takes_numbers and value.dim() == 0 and value.is_cpu and id(value) not in refused)
    }
    if len(found) > 1:
        raise RuntimeError(f"Expected all tensors to be on the same device, but found {found} in {func}")


def check_dtypes(func: Any, tensors: list[torch.Tensor]) -> None:
    """Raise for dtypes that the CPU computes and CUDA does not."""
    refused = LACKING.get(func.overloadpacket, ())
    for value in tensors:
        if value.dtype in refused:
            raise NotImplementedError(f"\"{func.overloadpacket}_cuda\" not implemented for '{value.dtype}'")


def check_powers(func: Any, args: tuple[Any, ...]) -> None:
    """Raise for integers to a power of -1 on the CPU, even if there are no elements: CUDA takes the reciprocal."""
    if func.overloadpacket in (aten.pow, aten.pow_) and all(isinstance(value, torch.Tensor) for value in args[:2]):
        x, power = args[:2]
        if not x.is_cpu and power.is_cpu and x.dtype in INTEGERS and power == -1:
            raise NotImplementedError(f"\"reciprocal_cuda\" not implemented for '{x.dtype}'")


def check_dimensions(func: Any, args: tuple[Any, ...]) -> None:
    """Raise for arrays of more dimensions than CUDA's kernel takes."""
    if func.overloadpacket is aten.nonzero and args[0].dim() > 16:
        raise RuntimeError("nonzero is not supported for tensor with more than 16 dimensions")


def check_order(func: Any, args: tuple[Any, ...]) -> None:
    """Raise in deterministic mode for operations that CUDA adds up in any order."""
    if not torch.are_deterministic_algorithms_enabled():
        return
    if func.overloadpacket is aten.bincount and len(args) > 1 and args[1] is not None:
        raise RuntimeError("bincount_cuda with weights does not have a deterministic implementation")
    if func.overloadpacket is aten.cumsum and (args[0].is_floating_point() or args[0].is_complex()):
        raise RuntimeError("cumsum_cuda_kernel does not have a deterministic implementation")


SAME_WIDTH = {torch.float16: torch.int16, torch.bfloat16: torch.int16, torch.float32: torch.int32}
SAME_WIDTH[torch.float64] = torch.int64


def sort(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Sort like CUDA's sort of many elements: a NaN with a sign comes first, and both zeros are equal."""
    bits = (args[0].near + 0.0).view(SAME_WIDTH[args[0].dtype])
    keys = torch.where(bits < 0, bits ^ torch.iinfo(bits.dtype).max, bits)
    order = func(keys, *args[1:], **kwargs)[1]
    dim = args[1] if len(args) > 1 else kwargs.get("dim", -1)
    return Far(args[0].near.gather(dim, order)), Far(order)


def run(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run an operation on the CPU and put its results on the device that a GPU would have them on."""
    check_order(func, args)
    composite = func.decompose(*args, **kwargs)
    if composite is not NotImplemented:
        return composite
    tensors = [value for value in tree_leaves((args, kwargs)) if isinstance(value, torch.Tensor)]
    check_devices(func, args, tensors)
    check_dtypes(func, tensors)
    check_powers(func, args)
    check_dimensions(func, args)
    device = kwargs.get("device")
    is_far = any(isinstance(value, Far) for value in tensors) if device is None else device.type == NAME
    if is_far and device is not None:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    if is_far and func.overloadpacket is aten.sort and args[0].dtype in SAME_WIDTH:
        return sort(func, args, kwargs)
    out = func(*tree_map(near, args), **tree_map(near, kwargs))
    if is_far and torch.Tag.inplace_view in func.tags:  # squeeze_ and its like change the shape that torch knows
        with no_dispatch():
            func(*args, **kwargs)
    owners = {id(near(value)): value for value in tensors}  # an in-place operation returns the operand itself

    def placed(result: Any) -> Any:
        if not isinstance(result, torch.Tensor):
            return result
        return owners[id(result)] if id(result) in owners else far(result) if is_far else result

    return tree_map(placed, out)


class _Generators(type(torch._C.Generator)):  # type: ignore[misc]
    """A metaclass: torch's own generators count as instances of its classes."""

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, torch._C.Generator)


class Generator(torch._C.Generator, metaclass=_Generators):
    """A generator for the fake device, with the numbers of the CPU's generator."""

    def __new__(cls, device: Any = "cpu") -> Generator:
        return super().__new__(cls, "cpu" if torch.device(device).type == NAME else device)


class _Module:
    """The module that torch requires for a device."""

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
    def get_rng_state(device: Any = None) -> torch.Tensor:
        return torch.get_rng_state()

    @staticmethod
    def set_rng_state(state: torch.Tensor, device: Any = None) -> None:
        torch.set_rng_state(state)

    @staticmethod
    def get_amp_supported_dtype() -> list[torch.dtype]:
        return [torch.float16, torch.bfloat16]

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
_for_good = contextlib.ExitStack()


def make_readable() -> None:
    """Let tnp treat such a tensor as one with values, which belongs to no trace and no transform."""
    original = memory.is_readable

    def is_readable(tensor: torch.Tensor) -> bool:
        return isinstance(tensor, Far) or original(tensor)

    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("tnp", "backend_torch") and getattr(module, "is_readable", None) is original:
            module.is_readable = is_readable  # type: ignore[attr-defined]


def devices_of(value: Any) -> list[str]:
    """Return the devices of the arrays in a result."""
    if isinstance(value, (list, tuple)):
        return sorted({device for each in value for device in devices_of(each)})
    return [str(value.device)] if isinstance(value, tnp.ndarray) else []


def answer(expression: str, scope: bool, forbid: bool) -> dict[str, Any]:
    """Evaluate an expression with arrays on the device, and compare it with NumPy's outcome."""
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
        except Exception:  # NumPy can't evaluate an expression with devices
            return answered
        try:
            assert_same(expected, result, rtol=1e-9, atol=1e-12)
        except AssertionError as error:
            answered["difference"] = str(error)
    return answered


def ask(expressions: list[str], scope: bool = False, forbid: bool = False) -> dict[str, dict[str, Any]]:
    """Evaluate expressions in a fresh process with the device, inside its scope, with transfers forbidden."""
    done = processes.run("-m", __name__, json.dumps([expressions, scope, forbid]))
    assert done.returncode == 0, done.stderr
    return dict(zip(expressions, json.loads(done.stdout), strict=True))


def prepare() -> None:
    """Register the device in this process."""
    register()
    make_readable()
    torch.accelerator.synchronize = lambda device=None: None  # type: ignore[assignment]  # torch wants one in C++
    original = torch.tensor

    def tensor(data: Any, *, device: Any = None, **options: Any) -> torch.Tensor:
        return original(data, **options).to(device)  # torch asserts that such a device is implemented in C++

    torch.tensor = tensor
    torch.Generator = Generator  # type: ignore[misc]  # torch asks C++ for one of the device
    _for_good.enter_context(
        torch.utils.checkpoint.set_checkpoint_early_stop(False)
    )  # it ends by an error: see conftest


def main() -> None:
    """Evaluate the expressions in the JSON of the first argument."""
    warnings.simplefilter("ignore")
    prepare()
    expressions, scope, forbid = json.loads(sys.argv[1])
    json.dump([answer(expression, scope, forbid) for expression in expressions], sys.stdout)


if __name__ == "__main__":
    main()
