"""NumPy's own loops on the memory of CPU tensors, where torch is many times slower.

Layer: owns the condition under which NumPy may compute: on the CPU, in eager code, with no gradient recorded. Otherwise
torch computes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from backend_torch.kernels import graph_operations
from backend_torch.kernels.kernel import Function
from backend_torch.native import heads
from backend_torch.tensors import memory, trace_state
from backend_torch.tensors.memory import from_numpy
from backend_torch.tensors.shape import has_sizes
from backend_torch.torch_private.functorch import current_level, is_wrapped

Tensor = torch.Tensor
Report = Callable[[str, int], None]  # takes an error's name and the flags of all
FEW = 1 << 12
"""With so many elements several calls of torch take longer than one of NumPy's."""
MANY = 1 << 15
"""For more elements torch's kernels use several threads; as in the native core."""
HAS_VECTORS = sys.platform == "linux" and torch.backends.cpu.get_cpu_capability() == "AVX512"
"""Whether NumPy's transcendental functions use vectors: they take half of the time of torch's then, or less."""
_PLAIN = (Tensor, torch.nn.Parameter)


def computes(*tensors: Tensor, bfloat16: bool = False) -> bool:
    """Whether NumPy can compute on the tensors' memory; bfloat16, which NumPy lacks, has to be allowed."""
    if not memory.host_computes or torch.compiler.is_compiling() or trace_state.is_tracing():
        return False
    if current_level() is not None:  # inside vmap, grad and the like no tensor shows its memory
        return False
    for tensor in tensors:
        if not tensor.is_cpu or type(tensor) not in _PLAIN or (tensor.dtype is torch.bfloat16 and not bfloat16):
            return False
        if is_wrapped(tensor) or (tensor.requires_grad and torch.is_grad_enabled()):
            return False
    return True


def array(tensor: Tensor) -> np.ndarray:
    """Return a tensor's memory for NumPy; a copy if the tensor is lazily negated or conjugated."""
    try:
        return tensor.numpy()
    except RuntimeError:  # lazily negated or conjugated, or may have a gradient
        return tensor.detach().resolve_conj().resolve_neg().numpy()
    except TypeError:  # bfloat16
        return memory.to_numpy(tensor)


def small(*tensors: Tensor, most: int = FEW) -> list[np.ndarray] | None:
    """Return the tensors' memory if they have few elements: several calls of torch take longer than one of NumPy's.

    None if they have more elements, or torch has to compute.
    """
    for tensor in tensors:
        if (count := tensor.numel()).__class__ is not int or count > most:  # a symbolic size would be decided
            return None
    return arrays(*tensors)


def arrays(*tensors: Tensor) -> list[np.ndarray] | None:
    """Return the tensors' memory; None if torch has to compute."""
    if found := heads.numpy_of(*tensors):
        return found
    return list(map(array, tensors)) if computes(*tensors) else None


def to_write(
    target: Tensor, *others: Tensor, most: int | None = None, bfloat16: bool = False
) -> list[np.ndarray] | None:
    """Return the tensors' memory, and tell autograd that the first is written to.

    None if torch has to compute, or a tensor has more elements than ``most``.
    """
    can = computes(target, *others, bfloat16=True) if bfloat16 else computes(target, *others)  # a keyword takes time
    if not can or trace_state.state.overwrites:
        return None
    if target.is_conj() or target.is_neg() or target.is_inference():
        return None
    if most is not None:
        for tensor in (target, *others):
            if tensor.numel() > most:
                return None
    torch.autograd.graph.increment_version(target)
    return list(map(array, (target, *others)))


def errors_to(report: Report | None) -> np.errstate:
    """A scope in which NumPy calls ``report`` for floating-point errors, or ignores them if it is None."""
    return np.errstate(all="ignore") if report is None else np.errstate(all="call", call=report)


def wrapped(result: Any) -> Any:
    """Return NumPy's result as a tensor over its memory, or as a tuple of tensors."""
    if type(result) is not np.ndarray:
        return tuple(map(wrapped, result)) if isinstance(result, tuple) else from_numpy(np.asarray(result))
    try:
        return torch.from_numpy(result)
    except (TypeError, ValueError):  # a dtype that torch knows by another name, a foreign byte order, negative strides
        return from_numpy(result)


def called(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Return what NumPy computes of tensors, for the kernel of an operation: new memory, and in C order."""
    if (found := heads.tensors_by_numpy(function, *args, **options)) is not None:
        return found
    given = [array(each) if isinstance(each, Tensor) else each for each in args]
    with np.errstate(all="ignore"):
        found = wrapped(function(*given, **options))
    return tuple([each.contiguous() for each in found]) if isinstance(found, tuple) else found.contiguous()


def hosted(ufunc: np.ufunc, otherwise: Function, warns: bool = True, is_whole: bool = False) -> Function:
    """Return a function that calls ``ufunc`` if NumPy can compute, and ``otherwise`` if not.

    ``is_whole`` is for many steps of torch, or slow ones: compiled functions call the ufunc then, too.
    """
    if is_whole:
        otherwise = _whole(ufunc, otherwise)

    def on_host(*tensors: Tensor) -> Any:
        given = arrays(*tensors)
        if given is None:
            return otherwise(*tensors)
        if not warns:
            return wrapped(ufunc(*given))
        with np.errstate(all="ignore"):  # tnp checks the result itself, if a check is on
            return wrapped(ufunc(*given))

    on_host.ufunc = ufunc  # type: ignore[attr-defined]  # whose loops the native core calls
    on_host.otherwise = otherwise  # type: ignore[attr-defined]
    return on_host


WHOLE: dict[str, tuple[np.ufunc, Function]] = {}
"""Name -> a ufunc that is one operation in graphs, and the steps that compute the same."""


def _whole(ufunc: np.ufunc, steps: Function) -> Function:
    """Return a function that is one operation in a plain trace of lines or of C order, and ``steps`` elsewhere."""
    name = f"{ufunc.__name__} {steps.__name__}"
    WHOLE[name] = ufunc, steps
    operation = _one_result if ufunc.nout == 1 else _two_results

    def computed(x: Tensor, y: Tensor | None = None) -> Any:
        operands = (x,) if y is None else (x, y)
        if trace_state.is_tracing() and all(is_plain(each) or _is_line(each) for each in operands):
            return operation(x, y, name)
        return steps(*operands)

    return computed


def is_plain(tensor: Tensor) -> bool:
    """Whether a tensor of a trace is in C order on the CPU, and no size is open."""
    return tensor.is_cpu and has_sizes(tensor) and tensor.is_contiguous()


def _is_line(tensor: Tensor) -> bool:
    """As `is_plain`, for an axis with any step, of which results have none."""
    return tensor.is_cpu and tensor.dim() == 1 and has_sizes(tensor)


def _by_ufunc(x: Tensor, y: Tensor | None, name: str) -> Any:
    ufunc, _ = WHOLE[name]
    given = (x.contiguous(),) if y is None else (x.contiguous(), y.contiguous())
    # The native core has loops of its own, which are faster than some of NumPy's.
    if ufunc.nout == 1 and (found := heads.on_tensors(heads.ufunc, ufunc, *given)) is not None:
        return found
    return called(ufunc, *given)


def _by_steps(x: Tensor, y: Tensor | None, name: str) -> Any:
    _, steps = WHOLE[name]
    return steps(*[each for each in (x, y) if each is not None])


_one_result = graph_operations.operation("ufunc(Tensor x, Tensor? y, str name) -> Tensor", _by_ufunc, _by_steps)
_two_results = graph_operations.operation(
    "ufunc_of_two(Tensor x, Tensor? y, str name) -> (Tensor, Tensor)", _by_ufunc, _by_steps
)
