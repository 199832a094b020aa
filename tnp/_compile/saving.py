"""Saved functions: their arguments and results as JSON, and the function that a file holds.

Layer: owns the text. The backend writes the program.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from backend_torch.autodiff import transform_levels
from backend_torch.graphs import compiling, symbolic
from backend_torch.tensors.dtypes import to_numpy
from tnp._compile.static_arguments import Static
from tnp._core.base import ndarray, scalar, wrap, wrap_array
from tnp._core.convert import tensor_of
from tnp._transforms import pytree

Tensor = Any
_VERSION = 1
_PLAIN = (type(None), bool, int, float, str)
_SLOT = re.compile(r"(value|argument) \d+")


class _Slot(str):
    """The place of an array in a result: ``"value 0"`` or ``"argument 2"``."""


def text(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    arguments: int,
    values: int,
    build: Callable[..., Any],
    conditions: Any = None,
    rules: Sequence[str] = (),
) -> tuple[str, list[Tensor]]:
    """Return the arguments and the result of a function as JSON; ``build`` makes the result.

    The result may hold arrays from outside: the tensors are those that the program has to return after its values.

    Raises
    ------
    TypeError
        JSON can't hold a value: an object of a class of its own.
    """
    given = [_Slot(f"argument {i}") for i in range(arguments)]
    slots = iter(given)
    held = pytree.mapped(lambda _: next(slots), (args, kwargs))
    result = build([_Slot(f"value {i}") for i in range(values)], given, *held)
    outer: list[Tensor] = []
    place = itertools.count(values)

    def held_by_result(leaf: Any) -> Any:
        if isinstance(leaf, _Slot) or (isinstance(leaf, ndarray) and isinstance(leaf.tensor, _Slot)):
            return leaf
        outer.append(tensor_of(leaf))
        return pytree.like(leaf, _Slot(f"value {next(place)}"))

    result = pytree.mapped(held_by_result, result)
    document = {"version": _VERSION, "arguments": _encoded((args, kwargs)), "result": _encoded(result)}
    if conditions is not None:
        document["conditions"] = conditions
    if rules:
        document["rules"] = list(rules)
    return json.dumps(document), outer


def _encoded(tree: Any) -> Any:
    if isinstance(tree, Static):
        tree = tree.value
    if isinstance(tree, _Slot):
        return {"slot": tree}
    if isinstance(tree, ndarray) and isinstance(tree.tensor, _Slot):
        return {"slot": tree.tensor, "array": isinstance(tree, scalar)}
    if pytree.is_array(tree):
        return {"given": None}
    if type(tree) in (list, tuple):
        return {type(tree).__name__: [_encoded(item) for item in tree]}
    if type(tree) is dict and all(type(key) is str for key in tree):
        return {"dict": {key: _encoded(item) for key, item in tree.items()}}
    if type(tree) in _PLAIN:
        return {"is": tree}
    raise TypeError(f"what is saved has lists, tuples, dictionaries by name and plain values, not {tree!r}")


class Loaded:
    """A function that was read from a file."""

    __qualname__ = __name__ = "loaded"

    def __init__(self, run: Callable[..., Any], examples: list[Tensor], document: str) -> None:
        content = json.loads(document)
        version = content.get("version") if isinstance(content, dict) else None
        if type(version) is int and version > _VERSION:
            raise ValueError(f"the file is of version {version}, this tnp reads up to {_VERSION}")
        if type(version) is not int or not _is_call(content.get("arguments")) or not _is_result(content.get("result")):
            raise ValueError("the file says nothing that fn.save writes of arguments and a result")
        self._run = run
        self._examples = examples
        self._arguments = content["arguments"]
        self._result = content["result"]
        self._conditions = content.get("conditions", ("True", ()))
        self._holds = symbolic.checked(*self._conditions)
        self._rules = content.get("rules")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        arrays = list(_matched(self._arguments["tuple"][0], args, "argument "))
        arrays += _matched(self._arguments["tuple"][1], kwargs, "argument ")
        lengths: dict[str, int] = {}
        tensors = [
            _checked(array, path, example, lengths)
            for (path, array), example in zip(arrays, self._examples, strict=True)
        ]
        shapes = [tuple(tensor.shape) for tensor in tensors]
        if not self._holds(shapes):
            raise ValueError(
                f"the arrays have shapes {shapes}, but the program was saved for lengths of which holds: "
                f"{self._conditions[0]}"
            )
        if self._rules and any(map(transform_levels.is_differentiated, tensors)):
            raise NotImplementedError(
                f"the saved function has no derivatives: {self._rules[0]} calls one that has a custom_gradient or "
                "custom_jvp, which a file can't hold. Save tnp.grad of the function, too"
            )
        values = self._run(*tensors)
        return _decoded(self._result, values, [array for _, array in arrays])


def _is_call(spec: Any) -> bool:
    """Whether a text from a file describes arguments; anybody may have written the file."""
    return _is_spec(spec, "given") and [list(part) for part in spec.get("tuple", ())] == [["tuple"], ["dict"]]


def _is_result(spec: Any) -> bool:
    return _is_spec(spec, "slot")


def _is_spec(spec: Any, leaf: str) -> bool:
    """Whether a value has the form of trees from ``_encoded``, with such leaves."""
    if not isinstance(spec, dict) or not spec:
        return False
    ((kind, content), *more) = spec.items()
    if kind == leaf == "slot":
        return bool(_SLOT.fullmatch(str(content))) and all(name == "array" for name, _ in more)
    if more:
        return False
    if kind == "dict":
        return isinstance(content, dict) and all(_is_spec(item, leaf) for item in content.values())
    if kind in ("list", "tuple"):
        return isinstance(content, list) and all(_is_spec(item, leaf) for item in content)
    return (kind == "is" and type(content) in _PLAIN) or (kind == "given" and content is None)


def _matched(spec: Any, value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the arrays of a value and their paths; TypeError if it has another structure."""
    ((kind, content), *_) = spec.items()
    if kind == "given":
        if not pytree.is_array(value):
            raise TypeError(f"{path} is {value!r} where an array is expected")
        yield path, value
    elif kind == "is":
        if type(value) is not type(content) or value != content:
            raise TypeError(f"{path} is {value!r} where {content!r} is expected: the function was saved for that")
    elif type(value).__name__ != kind or len(value) != len(content):
        raise TypeError(f"{path.strip()} is {value!r} where a {kind} of {len(content)} is expected")
    elif kind == "dict":
        if list(value) != list(content):
            raise TypeError(f"{path.strip()} has {list(value)} where {list(content)} are expected")
        for key, item in content.items():
            yield from _matched(item, value[key], f"{path}[{key!r}]")
    else:
        for index, item in enumerate(content):
            yield from _matched(item, value[index], f"{path}[{index}]")


def _checked(array: Any, path: str, example: Tensor, lengths: dict[str, int]) -> Tensor:
    """Return an array's tensor in the layout that the program expects."""
    tensor = compiling.physical(tensor_of(array))
    if tensor.dtype is not example.dtype:
        raise TypeError(f"{path} is {to_numpy[tensor.dtype]} where {to_numpy[example.dtype]} is expected")
    if not _fits(tensor.shape, example.shape, lengths):
        expected = tuple([lengths.get(str(n)) if symbolic.is_symbol(n) else n for n in example.shape])
        raise ValueError(f"{path} has shape {tuple(tensor.shape)} where {expected} is expected")
    if tensor.device != example.device:
        raise ValueError(f"{path} is on {tensor.device} where {example.device} is expected")
    if any(map(symbolic.is_symbol, example.shape)):
        return compiling.in_c_order(tensor)
    return compiling.with_strides(tensor, tuple(example.stride()))


def _fits(shape: Any, expected: Any, lengths: dict[str, int]) -> bool:
    """Whether a shape is the expected one, in which an open length has a name and is the same wherever that stands."""
    known = [
        lengths.setdefault(str(m), n) if symbolic.is_symbol(m) else m for n, m in zip(shape, expected, strict=False)
    ]
    return len(shape) == len(expected) and all(n == m for n, m in zip(shape, known, strict=True))


def _decoded(spec: Any, values: Any, arrays: list[Any]) -> Any:
    ((kind, content), *_) = spec.items()
    if kind == "slot":
        place, _, index = content.partition(" ")
        if place == "argument":
            return arrays[int(index)]
        if "array" not in spec:
            return values[int(index)]
        return (wrap if spec["array"] else wrap_array)(values[int(index)])
    if kind == "dict":
        return {key: _decoded(item, values, arrays) for key, item in content.items()}
    if kind in ("list", "tuple"):
        items = [_decoded(item, values, arrays) for item in content]
        return items if kind == "list" else tuple(items)
    return content
