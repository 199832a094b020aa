"""Foreign protocols: NumPy's functions and ufuncs, torch's functions and Array API consumers.

Layer: owns the mapping from NumPy's functions to tnp's, by name in the public namespace.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from backend_torch.tensors import memory
from backend_torch.tensors.dtypes import to_torch
from backend_torch.torch_private import traces
from tnp._array import array_function
from tnp._core import host_fallback, public
from tnp._core.base import ndarray, wrap
from tnp._core.convert import asarray, asnumpy, tensor_of, with_sizes
from tnp._core.dtypes import DtypeError
from tnp._core.errors import call
from tnp._core.interop import API_VERSIONS, WRITERS, is_foreign, overrides
from tnp._core.trees import replaced
from tnp._ufunc.ufunc import Ufunc


def numpy_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``numpy.add(x, y)`` is ``tnp.add(x, y)``; another library's ufunc runs on the host's memory."""
    if isinstance(ufunc, Ufunc):
        outs = kwargs.get("out", ())
        if any(map(overrides, (*inputs, *(outs if isinstance(outs, tuple) else (outs,))))):
            return NotImplemented
        return getattr(ufunc, method)(*inputs, **kwargs)
    outs = kwargs.pop("out", ())

    def on_host(refusal: DtypeError) -> Any:
        options = {**kwargs, "out": outs} if outs else kwargs
        return host_fallback.refused(refusal, getattr(ufunc, method), inputs, options)

    if any(map(is_foreign, (*inputs, *outs))):
        if any(map(overrides, (*inputs, *outs))):
            return NotImplemented
        refusal = DtypeError("no tensor has what makes a class of NumPy's arrays, such as a mask")
        return on_host(refusal)
    name: str = ufunc.__name__
    if getattr(np, name, None) is not ufunc:
        return _host_ufunc(ufunc, method, inputs, outs, kwargs)
    ours = getattr(public.namespace(), name, None)
    if ours is None:
        raise TypeError(f"tnp has no {name}: call numpy.{name} on tnp.asnumpy(x)")
    try:
        targets = tuple([_over(out) for out in (inputs[:1] if method == "at" else outs)])
    except DtypeError as error:
        return on_host(error)
    if method == "at":
        ours.at(*targets, *inputs[1:])
        _write_back(inputs[0], *targets)
        return None
    function = ours if method == "__call__" else getattr(ours, method)
    if targets:
        kwargs["out"] = targets if len(targets) > 1 else targets[0]
    result = function(*inputs, **kwargs) if kwargs else function(*inputs)
    for out, written in zip(outs, targets, strict=True):
        _write_back(out, written)
    return _results(result, outs)


def _ufunc_of_sizes(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """NumPy's ufuncs of symbolic sizes beside NumPy's scalars: ours, where tensors have the scalars' dtypes."""
    operands = with_sizes(inputs)
    if not any(isinstance(each, ndarray) for each in operands):
        return getattr(ufunc, method)(*operands, **kwargs)
    return numpy_ufunc(ufunc, method, operands, kwargs)


traces.use_ufuncs(_ufunc_of_sizes)


def _over(array: Any) -> Any:
    """Return a NumPy array that is written to as a tnp array, over its memory where possible."""
    return array if array is None or isinstance(array, ndarray) else asarray(array)


def _write_back(given: Any, written: Any) -> None:
    """Copy a result into the NumPy array that was given for it, if ``_over`` had to copy."""
    if isinstance(given, np.ndarray) and not memory.shares(written.tensor, given):
        given[...] = asnumpy(written)


def _results(result: Any, outs: tuple[Any, ...]) -> Any:
    """Return a ufunc's results, with the objects that were given as ``out`` in their places."""
    if not outs:
        return result
    results = result if isinstance(result, tuple) else (result,)
    chosen = tuple([new if out is None else out for new, out in zip(results, outs, strict=True)])
    return chosen if len(chosen) > 1 else chosen[0]


def _host_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], outs: Any, kwargs: dict[str, Any]) -> Any:
    """Call a ufunc that is not NumPy's (``scipy.special``) on the host; raise if a gradient would be lost."""
    if any(isinstance(x, ndarray) and x.tensor.requires_grad for x in inputs):
        raise TypeError(f"ufunc '{ufunc.__name__}' is not tnp's and would lose the gradient: call it on tnp.asnumpy(x)")
    inputs = tuple([x.__array__() if isinstance(x, ndarray) else x for x in inputs])
    if outs:
        kwargs["out"] = tuple([x.__array__() if isinstance(x, ndarray) else x for x in outs])
    result = call(getattr(ufunc, method), *inputs, **kwargs)
    if result is None:
        return None
    results = result if isinstance(result, tuple) else (result,)
    wrapped = tuple([_wrapped(each) for each in results])
    return _results(wrapped if len(wrapped) > 1 else wrapped[0], outs)


def _wrapped(result: Any) -> Any:
    """Convert another library's array or scalar to tnp's, unless no tensor can hold it."""
    is_held = isinstance(result, (np.ndarray, np.generic)) and result.dtype in to_torch
    return wrap(tensor_of(result)) if is_held else result


def numpy_function(func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``numpy.linalg.norm(x)`` is ``tnp.linalg.norm(x)``."""
    if not all(issubclass(t, (ndarray, np.ndarray)) for t in types):
        return NotImplemented
    if array_function.is_dispatching(func):
        return array_function.array_function(func, args, kwargs)
    name = f"{func.__module__}.{func.__name__}"
    ours: Any = public.namespace()
    for part in name.split(".")[1:]:
        ours = getattr(ours, part, None)
    if ours is func:  # of strings, such as char.mod
        return host_fallback.on_host(func._implementation, args, kwargs)
    if ours is None or not name.startswith("numpy."):
        return host_fallback.refused(TypeError(f"tnp has no {name}: call it on tnp.asnumpy(x)"), func, args, kwargs)
    try:
        return _in_place_of(func, ours, args, kwargs)
    except DtypeError as error:
        return host_fallback.refused(error, func, args, kwargs)


def _in_place_of(func: Any, ours: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call tnp's function with NumPy's arguments, which may be NumPy arrays to write to."""
    if func.__name__ in WRITERS and args and isinstance(args[0], np.ndarray):
        target = _over(args[0])
        ours(target, *args[1:], **kwargs)
        return _write_back(args[0], target)
    out = kwargs.get("out")
    if not isinstance(out, np.ndarray):
        return ours(*args, **kwargs)
    target = _over(out)
    ours(*args, **{**kwargs, "out": target})
    _write_back(out, target)
    return out


# torch.


def torch_function(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
    """``torch.relu(x)`` is ``torch.relu(x.tensor)``: tensors in, tensors out."""
    args, kwargs = replaced(lambda leaf: leaf.tensor if isinstance(leaf, ndarray) else leaf, (args, kwargs or {}))
    return func(*args, **kwargs)


# The Array API standard.


def namespace(api_version: str | None) -> Any:
    """``x.__array_namespace__()``."""
    if api_version is not None and api_version not in API_VERSIONS:
        raise ValueError(
            f'Version "{api_version}" of the Array API Standard is not supported: use one of {", ".join(API_VERSIONS)}'
        )
    return public.namespace()
