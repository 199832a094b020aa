"""Memory: settings of the allocator and of threads, sharing with NumPy and through DLPack, and which tensors overlap.

Layer: owns the location of a tensor's bytes, and the sharing of them.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


def _tune_allocator() -> None:
    """Ask for huge pages and keep freed memory; otherwise large arrays spend their time in page faults.

    torch reads ``THP_MEM_ALLOC_ENABLE`` before its first allocation. glibc gives every large block back to the kernel
    on free, and the next one faults all its pages in again; without mmap and with a high trim threshold it keeps up to
    1 GiB of freed memory for reuse. ``TNP_ALLOCATOR=system`` leaves both as they are.
    """
    if os.environ.get("TNP_ALLOCATOR") == "system":
        return
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:  # musl has none
            trim_threshold, top_pad, mmap_max = -1, -2, -4  # <malloc.h>
            mallopt(trim_threshold, 1 << 30)
            mallopt(top_pad, 64 << 20)
            mallopt(mmap_max, 0)


def _tunes_threads() -> bool:
    """Let torch's threads look for work, and for each other, for about 0.2 ms before they sleep; False if told already.

    GNU's OpenMP reads the number of looks when torch loads it, and by default looks for 10 ms. Beside the threads of
    NumPy's BLAS, or another program on the same cores, an operation then took up to ten times as long. It takes 25 µs
    to wake a thread.
    """
    if {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
        return False
    os.environ["GOMP_SPINCOUNT"] = "5000"
    return True


_tune_allocator()
_has_told = _tunes_threads()

import torch  # noqa: E402  after the settings that it reads

if _has_told:
    del os.environ["GOMP_SPINCOUNT"]  # programs that this one starts have threads of their own
from torch.utils.weak import WeakTensorKeyDictionary  # noqa: E402

from backend_torch.tensors import out_of_memory, trace_state  # noqa: E402
from backend_torch.tensors.dtypes import REAL_OF, to_torch  # noqa: E402
from backend_torch.tensors.dtypes import to_numpy as numpy_dtype_of  # noqa: E402
from backend_torch.torch_private import functorch, modes  # noqa: E402
from backend_torch.torch_private.autograd import unseen_by_modes  # noqa: E402
from backend_torch.torch_private.modes import no_dispatch  # noqa: E402
from backend_torch.torch_private.tensor_internals import storage_of, version_of  # noqa: E402

Tensor = torch.Tensor


host_computes = True
"""Whether NumPy may compute over the memory of eager CPU tensors where it is faster (`host`, sorting, some writes).

Switched off, torch computes as it does on an accelerator: that changes speed, no result."""


def is_tensor(value: object) -> bool:
    """Whether ``value`` is a torch.Tensor."""
    return isinstance(value, Tensor)


sharded: dict[type, Callable[[Any], object]] = {}
"""torch's class of tensors over several processes, once that is loaded, which takes a second; and what takes in one."""


def is_sharded(tensor: Tensor) -> bool:
    """Whether the tensor is sharded over several processes."""
    return type(tensor) in sharded


def mixed_error(*tensors: Tensor) -> ValueError:
    """Return the error for operands of which some are sharded and others not."""
    texts = [f"{'sharded' if is_sharded(tensor) else 'ordinary'} {tuple(tensor.shape)}" for tensor in tensors]
    named = f": {', '.join(texts)}" if texts else ""
    return ValueError(
        f"operands are sharded over processes and not{named}; tnp.distributed.replicate(x, mesh) or "
        "shard(x, mesh, axis) the ordinary one, or gather(x) the other"
    )


def is_readable(tensor: Tensor) -> bool:
    """Whether the tensor's values are known: it is not batched by vmap or on the meta device, and nothing is traced.

    While a function is traced, a tensor from outside has values, but the graph may find others when it runs.
    """
    return (
        not trace_state.is_tracing()
        and not torch.compiler.is_compiling()  # Dynamo can't trace the last check but one
        and type(tensor) in (Tensor, torch.nn.Parameter)
        and not functorch.is_wrapped(tensor)
        and not tensor.is_meta  # the modes of a batch see the check
    )


def from_numpy(array: np.ndarray, *, read_only: bool = False) -> Tensor:
    """Return a tensor over the array's memory; a copy if torch can't describe it.

    torch has no negative strides, no foreign byte order and no read-only memory. With ``read_only`` the caller ensures
    that nothing writes to the tensor.
    """
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if not array.flags.aligned or not (array.flags.writeable or read_only):
        array = array.copy("K")
    elif array.ndim and any(s < 0 or s % array.itemsize for s in array.strides):
        array = array.copy("K")
    if not array.flags.writeable:
        array = np.asarray(_Place({**array.__array_interface__, "data": (array.ctypes.data, False)}, array))
    if array.dtype.char == "Q":  # torch knows C's unsigned long, but not unsigned long long of the same width
        array = array.view(np.uint64)
    if to_torch.get(array.dtype) is torch.bfloat16:  # torch.from_numpy does not know NumPy's
        return torch.from_numpy(array.view(np.uint16)).view(torch.bfloat16)
    if trace_state.is_tracing():
        with no_dispatch(), functorch.disabled():  # torch would treat it as new memory, but NumPy's owner has it
            return _part_of_whole(array)
    if functorch.innermost() is None:
        return torch.from_numpy(array)
    with functorch.disabled():  # a transform would treat it as new memory, too
        return _part_of_whole(array)


def _part_of_whole(array: np.ndarray) -> Tensor:
    """Return a tensor over the array's memory, with that of the array's owner as its own.

    Each conversion makes another storage; transforms know those of one memory by their addresses.
    """
    tensor, owner = torch.from_numpy(array), array
    while isinstance(base := owner.base.owner if isinstance(owner.base, _Place) else owner.base, np.ndarray):
        owner = base
    low, high = np.lib.array_utils.byte_bounds(owner)
    start, rest = divmod(array.ctypes.data - low, array.itemsize)
    if owner is array or rest or not array.size or not low <= array.ctypes.data < high:
        return tensor
    whole = torch.from_numpy(placed(array, low, (high - low,), (1,), "|u1"))
    with unseen_by_modes():
        return tensor.set_(whole.untyped_storage(), start, tensor.shape, tensor.stride())


def note_known(tensor: Tensor, values: Tensor | Callable[[], Tensor | None] | None) -> None:
    """Note that a tensor of a trace was made of Python's data, which never changes; None withdraws the note.

    A function that returns the values says that they depend on symbolic sizes alone: to call it decides the sizes.
    """
    tensor.known = version_of(tensor), values  # type: ignore[attr-defined]


def noted(tensor: Tensor) -> Any:
    """Return what `note_known` noted; None for other tensors, and after a write to the tensor."""
    version, values = getattr(tensor, "known", (None, None))
    return None if values is None or version_of(tensor) != version else values


def is_known(tensor: Tensor) -> bool:
    """Whether the tensor's values are the same at each run of the graph."""
    return isinstance(noted(tensor), Tensor)


def is_of_sizes(tensor: Tensor) -> bool:
    """Whether the tensor's values depend on symbolic sizes alone."""
    return not isinstance(noted(tensor), Tensor | None)


def may_be_asked(tensor: Tensor) -> bool:
    """Whether Python may read the tensor's values now: they exist, or a trace knows them."""
    return is_readable(tensor) or noted(tensor) is not None


def known(tensor: Tensor) -> np.ndarray | None:
    """Return the values that are the same at each run of the graph; None for other tensors."""
    return asked(tensor) if is_known(tensor) else None


def asked(tensor: Tensor) -> np.ndarray | None:
    """Return the values that a trace knows, for Python to read: sizes that they depend on are decided by it."""
    values = noted(tensor)
    if not isinstance(values, Tensor | None):
        values = values()
    if values is None:
        return None
    with no_dispatch():
        array = _shared(values).copy()
    array.flags.writeable = False
    return array


def to_numpy(tensor: Tensor) -> np.ndarray:
    """Return a NumPy array over a CPU tensor's memory, without its gradient."""
    if trace_state.is_tracing():
        array = asked(tensor)
        if array is None:
            raise trace_state.value_error()
        return array
    return _shared(tensor)


def _unwrapped_by(function: Callable[[Tensor], Any], tensor: Tensor) -> Any:
    """Call ``function(tensor)``; hide the call from torch.func's transforms, which would wrap a tensor from outside."""
    if functorch.innermost() is None or functorch.is_wrapped(tensor):
        return function(tensor)
    with functorch.disabled():
        return function(tensor)


def _shared(tensor: Tensor) -> np.ndarray:
    return _unwrapped_by(_viewed, tensor)


def _viewed(tensor: Tensor) -> np.ndarray:
    if tensor.requires_grad:
        tensor = tensor.detach()
    tensor = tensor.resolve_conj().resolve_neg()
    if tensor.dtype is torch.bfloat16:
        return tensor.view(torch.uint16).numpy().view(numpy_dtype_of[torch.bfloat16])
    return tensor.numpy()


def fresh(tensor: Tensor) -> Tensor:
    """Return a tensor with its own memory as a new one, for a trace or a transform of torch.func."""
    if modes.number() or functorch.innermost() is not None:
        return torch.ops.aten.lift_fresh.default(tensor)
    return tensor


def to_host(tensor: Tensor) -> Tensor:
    """Return the tensor in CPU memory, copied there if it is elsewhere."""
    return tensor if tensor.is_cpu else _unwrapped_by(Tensor.cpu, tensor)


def brought(number: Tensor, tensor: Tensor) -> Tensor:
    """Return a 0-d host tensor on ``tensor``'s device: the fill kernel carries the value, so no memory is copied."""
    if is_readable(number):
        return torch.full((), number.item(), dtype=number.dtype, device=tensor.device)
    return torch.zeros((), dtype=number.dtype, device=tensor.device).fill_(number)


def extent(tensor: Tensor) -> tuple[int, int]:
    """Return the address of a tensor's first byte, and of the byte after its last."""
    start = tensor.data_ptr()
    if tensor.is_contiguous() or tensor.numel() == 0:
        return start, start + tensor.nbytes
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return start, start + (last + 1) * tensor.itemsize


def may_overlap(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors may share bytes: their extents meet (NumPy's ``may_share_memory``).

    torch itself looks only at dense tensors: torch misses ``x[::2][1:].copy_(x[::2][:-1])``
    (https://github.com/pytorch/pytorch/issues/60010).
    """
    if one.device != other.device:
        return False
    if not (is_readable(one) and is_readable(other)):
        return True
    return overlaps(one, other)


def overlaps(one: Tensor, other: Tensor) -> bool:
    """`may_overlap` of tensors on one device that are readable."""
    (a, b), (c, d) = extent(one), extent(other)
    return a < d and c < b


def addresses(tensor: Tensor, start: int | None = None, is_read_only: bool = True) -> np.ndarray:
    """Return a NumPy array with the tensor's addresses, on any device, for comparisons of addresses only.

    ``start`` is the address of its memory, if it has none.
    """
    first = tensor.data_ptr() if start is None else start + tensor.storage_offset() * tensor.itemsize
    strides = tuple(stride * tensor.itemsize for stride in tensor.stride())
    place = {"shape": tuple(tensor.shape), "strides": strides, "typestr": f"|V{tensor.itemsize}", "version": 3}
    return np.asarray(_Place({**place, "data": (first, is_read_only)}))


class _Place:
    """An array interface for NumPy, which does not read the memory, and the memory's owner."""

    def __init__(self, interface: dict[str, object], owner: np.ndarray | None = None) -> None:
        self.__array_interface__ = interface
        self.owner = owner


def placed(owner: np.ndarray, start: int, shape: tuple[int, ...], strides: tuple[int, ...], typestr: str) -> np.ndarray:
    """Return an array at an address within the memory of ``owner``, read-only if that is; strides are in bytes."""
    place = {"shape": shape, "strides": strides, "typestr": typestr, "version": 3}
    return np.asarray(_Place({**place, "data": (start, not owner.flags.writeable)}, owner))


def is_writeable(tensor: Tensor) -> bool:
    """Whether each element has its own place; a broadcast view does not, and counts as read-only."""
    return not tensor.numel() or all(s or n <= 1 for n, s in zip(tensor.shape, tensor.stride(), strict=True))


def is_tensor_type(cls: type) -> bool:
    """Whether a class is torch.Tensor or derives from it."""
    return issubclass(cls, Tensor)


def stacked(tensors: list[Tensor], axis: int = 0) -> Tensor:
    """Stack tensors of one shape and dtype along a new axis, by default the first."""
    return torch.stack(tensors, axis)


def same_start(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors begin at one address, or are one."""
    if one is other:
        return True
    if one.device != other.device or one.dtype is not other.dtype or torch.compiler.is_compiling():
        return False  # Dynamo can't trace the checks
    if is_readable(one) and is_readable(other):
        return one.data_ptr() == other.data_ptr()
    return same_storage(one, other) and unwrapped(one).storage_offset() == unwrapped(other).storage_offset()


def same_storage(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors are views of one memory, or one tensor; a transform's tensor has that of the tensor below."""
    one, other = unwrapped(one), unwrapped(other)
    return one is other or storage_of(one) == storage_of(other)


def with_source(tensor: Tensor, source: object) -> Tensor:
    """Note on the tensor the other owner of its memory: an array that it is a view of, or a buffer."""
    tensor.source = source  # type: ignore[attr-defined]
    return tensor


def source_of(tensor: Tensor) -> object:
    """Return the owner that `with_source` noted, or None."""
    return getattr(tensor, "source", None)


def holder_of(tensor: Tensor, kind: type) -> Any:
    """Return the object of a class whose attribute ``tensor`` is this tensor, if there is one.

    A tensor has no reference to its holder, so this asks Python's garbage collector, once for each tensor. That takes
    some milliseconds, only for callers of this function.
    """
    if not is_readable(tensor):
        return None
    if tensor in _holders:
        return _holders[tensor]()
    for holder in gc.get_referrers(tensor):
        if isinstance(holder, kind) and getattr(holder, "tensor", None) is tensor:
            return held_by(tensor, holder)
    for find in uncollected:
        if (holder := find(tensor, kind)) is not None:
            return held_by(tensor, holder)
    return None


uncollected: list[Callable[[Tensor, type], Any]] = []
"""What finds holders that the garbage collector does not know: those of the native core."""


def held_by(tensor: Tensor, holder: Any) -> Any:
    """Note the holder for `holder_of`, and return it."""
    if is_readable(tensor):
        _holders[tensor] = weakref.ref(holder)
    return holder


_holders = WeakTensorKeyDictionary()


def lock(tensor: Tensor, locked: bool = True) -> None:
    """Note that the array with this tensor is read-only, or writeable again."""
    tensor.locked = locked  # type: ignore[attr-defined]


def is_locked(tensor: Tensor) -> bool:
    """Whether `lock` marked the tensor as read-only."""
    return getattr(tensor, "locked", False)


def shares(tensor: Tensor, array: np.ndarray) -> bool:
    """Whether a CPU tensor and a NumPy array share their first element, or have none."""
    if not array.size:
        return True
    try:
        with unseen_by_modes():  # a derivative may have a stand-in for this memory
            below = unwrapped(tensor)
            has_address = tensor.is_cpu and type(below) in (Tensor, torch.nn.Parameter)  # a fake tensor has none
            return has_address and below.data_ptr() == array.__array_interface__["data"][0]
    except RuntimeError:  # torch.compile's fake tensors have no memory: each is a separate constant
        return False


def unwrapped(tensor: Tensor) -> Tensor:
    """Return the tensor below all wrappers of torch.func's transforms; slices are along further dimensions."""
    while functorch.is_wrapped(tensor):
        tensor = functorch.get_unwrapped(tensor)
    return tensor


def sliced(tensor: Tensor, key: tuple[Any, ...]) -> Tensor:
    """``tensor[key]``, of slices, integers, None and Ellipsis: a view.

    For all elements torch returns an alias. Through it, and no other view, a transform of torch.func lets programs
    write to tensors from outside, without a derivative (torch 2.13).
    """
    view = tensor[key]
    if functorch.innermost() is not None and view.shape == tensor.shape:
        one, other = unwrapped(view), unwrapped(tensor)
        if one.storage_offset() == other.storage_offset() and one.stride() == other.stride():
            return tensor.expand(tensor.shape)
    return view


def with_history(tensor: Tensor) -> Tensor:
    """Return the tensor, ready for a write.

    After a write to another view, torch treats a view as a leaf and refuses to write to it, until its history is read
    once at each level of derivatives of derivatives.
    """
    below = tensor
    _ = below.grad_fn
    while functorch.is_wrapped(below):
        below = functorch.get_unwrapped(below)
        with unseen_by_modes():  # a function mode knows the tensor as the transforms have wrapped it
            _ = below.grad_fn
    return tensor


def reversed_axes(tensor: Tensor) -> Tensor:
    """Return the tensor with its axes in reverse order, a view."""
    return tensor.permute(tuple(reversed(range(tensor.dim()))))


def owned(view: Tensor) -> Tensor:
    """Return a view of all of a new tensor as a tensor of its own, which is no view of another."""
    if view.requires_grad or not modes.only_watch() or functorch.innermost() is not None:
        return view
    return view.data


def in_order(tensor: Tensor, order: str) -> Tensor:
    """Return the tensor's values in C or Fortran order: itself if they are, else a copy."""
    try:
        if order == "C":
            return tensor.contiguous()
        backwards = reversed_axes(tensor)
        return tensor if backwards.is_contiguous() else owned(reversed_axes(backwards.contiguous()))
    except RuntimeError as error:
        raise out_of_memory.explained(error) from None


def copied(tensor: Tensor, order: str = "K") -> Tensor:
    """A copy in C or Fortran order; 'A' and 'K' keep the tensor's own where torch can."""
    try:
        if order == "F" or (order == "A" and is_fortran(tensor)):
            return owned(reversed_axes(reversed_axes(tensor).clone(memory_format=torch.contiguous_format)))
        if order == "K":
            return tensor.clone(memory_format=torch.preserve_format)
        return tensor.clone(memory_format=torch.contiguous_format)
    except RuntimeError as error:
        raise out_of_memory.explained(error) from None


def is_fortran(tensor: Tensor) -> bool:
    """Whether the values are in Fortran order and not in C order; those of a view with negative strides in neither."""
    view = getattr(tensor, "stands_for", None)  # the array of which this tensor is a copy
    return has_fortran_strides(tensor) and (view is None or bool(view.host.flags.fnc))


def has_fortran_strides(tensor: Tensor) -> bool:
    """Whether the tensor's own elements are in Fortran order and not in C order."""
    return not tensor.is_contiguous() and reversed_axes(tensor).is_contiguous()


def real(tensor: Tensor) -> Tensor:
    """The real part as a view; a real tensor is its own."""
    return torch.view_as_real(tensor.resolve_conj())[..., 0] if tensor.is_complex() else tensor


def imag(tensor: Tensor) -> Tensor:
    """The imaginary part as a view; zeros that can't be written for a real tensor."""
    if tensor.is_complex():
        return torch.view_as_real(tensor.resolve_conj())[..., 1]
    return torch.zeros((), dtype=tensor.dtype, device=tensor.device).expand(tensor.shape)


def viewed(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the tensor's bytes under another dtype, a view; the last axis absorbs a difference in size.

    Gradients flow between complex numbers and pairs of real ones, but not through bits. In torch none flow through a
    view in the tensor's own dtype.
    """
    if tensor.dtype is dtype:
        return tensor.view_as(tensor)
    tensor = tensor.resolve_conj().resolve_neg()
    if not tensor.numel():  # torch checks strides and offsets even of no bytes
        shape = (*tensor.shape[:-1], tensor.shape[-1] * tensor.itemsize // dtype.itemsize)
        return tensor.as_strided((0,), (1,), 0).view(dtype).view(shape)
    if tensor.itemsize != dtype.itemsize and tensor.shape[-1] == 1:
        tensor = tensor[..., 0, None]  # torch wants the last stride to be 1, even of one element
    if REAL_OF.get(tensor.dtype) is dtype:
        return torch.view_as_real(tensor).flatten(-2)
    if REAL_OF.get(dtype) is tensor.dtype:
        return torch.view_as_complex(tensor.unflatten(-1, (-1, 2)))
    return tensor.view(dtype)


def same_values(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors are equal, NaNs too."""
    return bool(((one == other) | ((one != one) & (other != other))).all())


def byteswapped(tensor: Tensor) -> Tensor:
    """A copy with the bytes of each element (of each part, if complex) reversed."""
    if not tensor.numel():
        return tensor.clone()
    parts = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    width = parts.itemsize
    flat = parts.contiguous().as_strided((parts.numel(),), (1,))  # one element is contiguous with any stride
    octets = flat.view(torch.uint8).reshape(-1, width).flip(1)
    swapped = octets.reshape(-1).view(parts.dtype).reshape(parts.shape)
    return torch.view_as_complex(swapped) if tensor.is_complex() else swapped


def repeated(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Repeat each element over further axes, which come last; a view."""
    return tensor[(..., *[None] * len(shape))].expand(*tensor.shape, *shape)


@out_of_memory.explaining
def resized(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return the elements in C order in another shape, truncated or padded with zeros."""
    result = torch.zeros(shape, dtype=tensor.dtype, device=tensor.device)
    count = min(result.numel(), tensor.numel())
    result.view(-1)[:count] = tensor.reshape(-1)[:count]
    result.former = tensor  # type: ignore[attr-defined]  # a reader of __array_interface__ may have its address still
    return result


def strided(tensor: Tensor, shape: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
    """Return a view with other strides, in elements, from the tensor's first element on."""
    return tensor.as_strided(shape, strides)


class Layout(NamedTuple):
    """Where a view lies in the memory of another tensor."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: Any

    @classmethod
    def of(cls, view: Tensor, tensor: Tensor) -> Layout:
        """Return the place of a view in the memory of a tensor."""
        start = view.storage_offset() - _under(tensor, view.dtype).storage_offset()
        return cls(view.dtype, tuple(view.shape), view.stride(), start)

    def get(self, tensor: Tensor) -> Tensor:
        """Return a copy of the elements in the same place of a tensor."""
        return self.view(tensor).clone()

    def put(self, tensor: Tensor, values: Tensor) -> None:
        """Write values of the view's shape and dtype to the same place of a tensor."""
        with_history(self.view(tensor)).copy_(values)

    def view(self, tensor: Tensor) -> Tensor:
        """Return the view of a tensor in the same place."""
        tensor = _under(tensor, self.dtype)
        return tensor.as_strided(self.shape, self.strides, tensor.storage_offset() + self.offset)


def _under(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """Return a view of a tensor's memory in a dtype, of any shape: it begins where the tensor does."""
    if tensor.dtype is dtype:
        return tensor
    if tensor.numel():  # by its axes it may not be viewed without a copy
        span = 1 + sum((length - 1) * step for length, step in zip(tensor.shape, tensor.stride(), strict=True))
        tensor = tensor.as_strided((span,), (1,))
    return viewed(tensor, dtype)
