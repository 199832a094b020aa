"""What a saved function takes and returns: trees of arrays as JSON, and a function that has them.

Layer: owns the text; the program itself is the backend's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from backend_torch.graphs import compiling
from backend_torch.tensors.dtypes import to_numpy
from tnp._core.base import ndarray, scalar, wrap, wrap_array
from tnp._core.convert import tensor_of
from tnp._transforms import pytree

Tensor = Any
_VERSION = 1
_PLAIN = (type(None), bool, int, float, str)
_SLOT = re.compile(r"(value|argument) \d+")


class _Slot(str):
    """Stands in a result for what a call puts there: ``"value 0"`` or ``"argument 2"``."""


def text(args: tuple[Any, ...], kwargs: dict[str, Any], arguments: int, values: int, build: Callable[..., Any]) -> str:
    """The arguments and the result of a function whose result ``build`` makes, as JSON.

    Raises
    ------
    TypeError
        There is something in them that JSON can't hold: an object of a class of its own.
    """
    result = build([_Slot(f"value {i}") for i in range(values)], [_Slot(f"argument {i}") for i in range(arguments)])
    document = {"version": _VERSION, "arguments": _encoded((args, kwargs)), "result": _encoded(result)}
    return json.dumps(document)


def _encoded(tree: Any) -> Any:
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
    """A function that a file holds."""

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

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        arrays = list(_matched(self._arguments["tuple"][0], args, "argument "))
        arrays += _matched(self._arguments["tuple"][1], kwargs, "argument ")
        tensors = [
            _checked(array, path, example) for (path, array), example in zip(arrays, self._examples, strict=True)
        ]
        values = self._run(*tensors)
        return _decoded(self._result, values, [array for _, array in arrays])


def _is_call(spec: Any) -> bool:
    """Whether a text from a file, which anybody may have written, describes arguments."""
    return _is_spec(spec, "given") and [list(part) for part in spec.get("tuple", ())] == [["tuple"], ["dict"]]


def _is_result(spec: Any) -> bool:
    return _is_spec(spec, "slot")


def _is_spec(spec: Any, leaf: str) -> bool:
    """Whether it is of the form that ``_encoded`` gives trees, with such leaves."""
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
    """The arrays of a value, and where they are; TypeError if it is built differently."""
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


def _checked(array: Any, path: str, example: Tensor) -> Tensor:
    """An array's tensor, laid out as the program expects it."""
    tensor = compiling.physical(tensor_of(array))
    if tensor.dtype is not example.dtype:
        raise TypeError(f"{path} is {to_numpy[tensor.dtype]} where {to_numpy[example.dtype]} is expected")
    if tensor.shape != example.shape:
        raise ValueError(f"{path} has shape {tuple(tensor.shape)} where {tuple(example.shape)} is expected")
    if tensor.device != example.device:
        raise ValueError(f"{path} is on {tensor.device} where {example.device} is expected")
    return compiling.with_strides(tensor, tuple(example.stride()))


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
