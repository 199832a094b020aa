"""What the arguments of a compiled function are to be: shapes, with open lengths, and dtypes.

Layer: owns the check of each call, and arguments that are like the signature.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tnp._core.base import ndarray
from tnp._core.convert import asarray
from tnp._creation.filled import zeros
from tnp._transforms import pytree
from tnp._transforms.array_specs import is_spec

Function = Callable[..., Any]
_OPEN = 12  # a length that stands for all, and that many numbers divide


class InputSignature:
    """A signature: for each positional argument a shape and a dtype, or a container of these.

    Raises
    ------
    TypeError
        It is no list or tuple, or holds something else.
    """

    def __init__(self, fn: Function, specs: Sequence[Any]) -> None:
        if not isinstance(specs, (list, tuple)):
            raise TypeError(f"input_signature is a list or a tuple, of what each argument is to be, not {specs!r}")
        self.fn, self.specs = fn, tuple(specs)
        for path, leaf in _leaves(self.specs):
            if not is_spec(leaf):
                raise TypeError(
                    f"input_signature{path} is {leaf!r}, which has no shape and dtype: tnp.ShapeDtypeStruct"
                )
        self.is_open = any(None in spec.shape for _, spec in _leaves(self.specs))

    def taking(self, function: Function, before: int = 0) -> Function:
        """``function``, which gets arguments that fit, after as many others as ``before``."""

        @functools.wraps(function)
        def taken(*args: Any, **kwargs: Any) -> Any:
            return function(*args[:before], *self.fitted(args[before:], kwargs))

        return taken

    def exemplified(self, function: Function, before: int = 0) -> Function:
        """As `taking`; without arguments, ``function`` gets examples."""
        taken = self.taking(function, before)

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            return taken(*args, **kwargs) if len(args) > before or kwargs else taken(*args, *self.examples())

        return called

    def open_axes(self) -> list[list[int]]:
        """The axes of each array whose lengths are open."""
        return [[axis for axis, length in enumerate(spec.shape) if length is None] for _, spec in _leaves(self.specs)]

    def examples(self) -> tuple[Any, ...]:
        """Arguments that fit."""
        made: tuple[Any, ...] = pytree.mapped(
            lambda spec: zeros([_OPEN if length is None else length for length in spec.shape], spec.dtype),
            self.specs,
            is_spec,
        )
        return made

    def fitted(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments, Python's numbers and lists as arrays.

        Raises
        ------
        TypeError
            There are too many or too few, they are built differently, or an array has another dtype.
        ValueError
            An array has another shape.
        """
        if kwargs:
            args = inspect.signature(self.fn).bind(*args, **kwargs).args
        if len(args) != len(self.specs):
            raise TypeError(f"input_signature is of {len(self.specs)} arguments, but {len(args)} are given")
        return tuple(
            [_fitted(spec, arg, f"argument {n}") for n, (spec, arg) in enumerate(zip(self.specs, args, strict=True))]
        )


def _leaves(specs: Any) -> list[tuple[str, Any]]:
    found: list[Any] = []
    pytree.mapped(found.append, specs, lambda leaf: is_spec(leaf) or not isinstance(leaf, (list, tuple, dict)))
    return [(f" at {number}", leaf) for number, leaf in enumerate(found)]


def _fitted(spec: Any, value: Any, path: str) -> Any:
    if not is_spec(spec):
        inner = pytree.children(spec)
        given = pytree.children(value)
        if inner is None or given is None or type(spec) is not type(value) or list(inner) != list(given):
            raise TypeError(f"{path} is {value!r}, which is not built as input_signature says: {spec!r}")
        made = iter([_fitted(each, given[key], f"{path}[{key!r}]") for key, each in inner.items()])
        return type(spec)(zip(inner, made, strict=True)) if isinstance(spec, dict) else type(spec)(made)
    is_plain = not pytree.is_array(value)
    array = asarray(value, spec.dtype) if is_plain else value
    shape, dtype = tuple(array.shape), np.dtype(pytree.dtype_name(array))
    if dtype != spec.dtype:
        raise TypeError(f"{path} is of dtype {dtype} where input_signature says {np.dtype(spec.dtype)}")
    fits = len(shape) == len(spec.shape) and all(s is None or s == n for n, s in zip(shape, spec.shape, strict=True))
    if not fits:
        raise ValueError(f"{path} is of shape {shape} where input_signature says {tuple(spec.shape)}")
    return array if isinstance(array, ndarray) else asarray(array)
