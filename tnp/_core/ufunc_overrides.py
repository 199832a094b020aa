"""Operands that override a ufunc: derived classes, masked arrays, libraries' arrays.

Layer: owns ``__array_ufunc__`` and ``__array_wrap__``. Every ufunc asks this module once, on its general path.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp._core import host_fallback, interop
from tnp._core.base import ndarray, scalar, subclass, wrap_array
from tnp._core.derived_classes import as_result, plain, ranked, winner
from tnp._core.errors import warn


def overriding(operands: Any, out: Any = None) -> list[Any]:
    """Return the operands and outputs that may override a ufunc: derived classes, masked arrays, libraries' arrays."""
    outs = out if isinstance(out, tuple) else (out,)
    return [x for x in (*operands, *outs) if isinstance(x, subclass) or _has_a_say(x)]


def _has_a_say(x: Any) -> bool:
    return interop.overrides(x) or (isinstance(x, np.ndarray) and interop.is_foreign(x))


def call_ufunc(
    ufunc: Any, method: str, found: list[Any], inputs: tuple[Any, ...], out: Any, options: dict[str, Any]
) -> Any:
    """Run a ufunc or its method for such operands: call an override, or compute and wrap the result."""
    outs = () if out is None else out if isinstance(out, tuple) else (out,)
    if method == "outer":
        for place, x in zip(("first", "second"), inputs, strict=False):
            if not getattr(type(x), "_has_outer", True):
                raise TypeError(
                    f"{ufunc.__name__}.outer() was passed a numpy matrix as {place} argument. Special handling of "
                    "matrix is removed. Convert to a ndarray via 'matrix.A' "
                )
    asked = [x for x in ranked(found) if type(x).__array_ufunc__ is not ndarray.__array_ufunc__]
    if asked and "sig" in options:
        options = {"signature": options["sig"], **{name: each for name, each in options.items() if name != "sig"}}
    for x in asked:
        if type(x).__array_ufunc__ is None:
            raise TypeError(f"operand '{type(x).__name__}' does not support ufuncs (__array_ufunc__=None)")
        if outs:
            options["out"] = outs
        if type(x).__array_ufunc__ is np.ndarray.__array_ufunc__:  # a masked array, which NumPy's ufuncs know
            result = host_fallback.on_host(getattr(ufunc._numpy, method), inputs, options)
            return result if not outs else outs if len(outs) > 1 else outs[0]
        result = x.__array_ufunc__(ufunc, method, *inputs, **options)
        if result is not NotImplemented:
            return result
    if asked:
        types = ", ".join(repr(type(x).__name__) for x in (*inputs, *outs))
        raise TypeError(
            f"operand type(s) all returned NotImplemented from __array_ufunc__({ufunc!r}, {method!r}, ...): {types}"
        )
    return _computed(ufunc, method, inputs, outs, options)


def _computed(ufunc: Any, method: str, inputs: Any, outs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    targets = tuple(map(plain, outs))
    given = {name: plain(value) for name, value in options.items()}
    if targets:
        given["out"] = targets if len(targets) > 1 else targets[0]
    if method == "__call__":
        operands = tuple(map(plain, inputs))
        result = ufunc._computed(operands, **given) if given else ufunc(*operands)
    else:
        result = getattr(ufunc, method)(*map(plain, inputs), **given)
    if result is None:
        return None
    results = result if isinstance(result, tuple) else (result,)
    source = winner(inputs) if options.get("subok", True) else None
    wrapped = []
    for i, each in enumerate(results):
        context = (ufunc, (*inputs, *outs), i) if method == "__call__" else None
        target = outs[i] if i < len(outs) else None
        if target is not None and target is not Ellipsis:
            changed = isinstance(target, subclass) and type(target).__array_wrap__ is not subclass.__array_wrap__
            wrapped.append(wrapped_by(target, target, context, False) if changed else target)
        elif source is None or not isinstance(each, (ndarray, np.ndarray)):
            wrapped.append(each)
        elif isinstance(each, np.ndarray):  # of objects
            wrapped.append(as_result(source, each))
        else:
            wrapped.append(wrapped_by(source, wrap_array(each.tensor), context, isinstance(each, scalar)))
    return wrapped[0] if not isinstance(result, tuple) else tuple(wrapped)


def wrapped_by(x: Any, array: Any, context: Any, return_scalar: bool) -> Any:
    """``x.__array_wrap__``, of whatever number of arguments it is."""
    try:
        return x.__array_wrap__(array, context, return_scalar)
    except TypeError as error:
        for arguments in ((array, context), (array,)):
            try:
                result = x.__array_wrap__(*arguments)
            except TypeError:
                continue
            warn(
                "__array_wrap__ must accept context and return_scalar arguments (positionally) in the future. "
                "(Deprecated NumPy 2.0)",
                DeprecationWarning,
            )
            return result
        raise error
