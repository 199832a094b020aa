"""Compiled functions of arrays sharded over processes: each process compiles the operations on its parts.

Layer: owns the conversion of such a function to one of plain arrays. The trace assembles the parts, so that the graph
holds torch's operations on parts and the communication between processes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from backend_torch.distributed import arrays as backend
from tnp._core.base import ndarray, wrap_array
from tnp._core.convert import tensor_of
from tnp._transforms import pytree


class OverParts:
    """One function compiled for each layout of its arguments.

    Parameters
    ----------
    function : callable
    compile : callable
        ``tnp.compile``.
    options : dict
        Options of ``tnp.compile``.
    """

    def __init__(self, function: Callable[..., Any], compile: Callable[..., Any], options: dict[str, Any]) -> None:
        self._function = function
        self._compile = compile
        self._options = options
        self._programs: dict[Any, tuple[Callable[..., Any], list[Any]]] = {}

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of the function, sharded as without compilation."""
        arrays: list[Any] = []
        structure = pytree.flatten((args, kwargs), arrays)
        tensors = [tensor_of(array) for array in arrays]
        if any(tensor.requires_grad for tensor in tensors):
            raise NotImplementedError(
                "no gradient flows through a compiled function of sharded arrays: compile the function that takes the "
                "gradient, tnp.compile(tnp.grad(f))"
            )
        layouts = tuple(map(backend.layout, tensors))
        parts = [wrap_array(backend.held(tensor)) for tensor in tensors]
        key = structure, layouts, tuple([(part.shape, part.dtype) for part in parts])
        if key not in self._programs:
            self._programs[key] = self._program(args, kwargs, arrays, layouts)
        program, made = self._programs[key]
        values = program(*parts)
        return made[-1](values, arrays)

    def _program(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], arrays: list[Any], layouts: tuple[Any, ...]
    ) -> tuple[Callable[..., Any], list[Any]]:
        made: list[Any] = []  # builds the result from parts; known after the trace

        def over_parts(*parts: ndarray) -> list[ndarray]:
            inside = iter(
                [
                    pytree.like(array, backend.put_together(part.tensor, layout))
                    for array, part, layout in zip(arrays, parts, layouts, strict=True)
                ]
            )

            def taken(_: Any) -> Callable[[Any, Any], Any]:
                array = next(inside)
                return lambda values, arrays: array

            given, named = pytree.builder((args, kwargs), taken)((), ())
            results: list[ndarray] = []

            def delivered(array: Any) -> Callable[[Any, Any], Any]:
                index, tensor = len(results), tensor_of(array)
                layout = backend.layout(tensor)
                results.append(wrap_array(backend.held(tensor)))
                return lambda values, arrays: pytree.like(array, backend.put_together(values[index].tensor, layout))

            made.append(pytree.builder(self._function(*given, **named), delivered))
            return results

        return self._compile(over_parts, **self._options), made
