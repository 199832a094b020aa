"""Symbolic sizes of a trace: the trace's assumptions about them are checked at each call.

Layer: owns which sizes are symbols, the conditions on them, and numbers that are computed from them. torch's symbolic
shapes do the algebra; they are imported once they are asked for.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import torch

from backend_torch.tensors import aliasing
from backend_torch.torch_private import symbolic_shapes, traces
from backend_torch.torch_private.guards import same_signature

Tensor = torch.Tensor
Shapes = Sequence[Sequence[int]]
_KNOWN = 1024  # sizes for which the algebra is computed once
Symbol = (torch.SymInt, torch.SymFloat, torch.SymBool)


def is_symbol(value: object) -> bool:
    """Whether a value is a symbolic number of a trace."""
    return isinstance(value, Symbol)


def is_size(kind: type) -> bool:
    """Whether a type is that of symbolic sizes, which act as Python integers."""
    return kind is torch.SymInt


def decided(value: Any) -> Any:
    """Return the current number of a symbol; the trace is then valid for this number only."""
    if isinstance(value, torch.SymBool):
        return bool(value)
    return float(value) if isinstance(value, torch.SymFloat) else int(value)


def tensor(value: Any) -> Tensor:
    """Return a symbolic size, or what is computed from one, as a 0-d tensor of the trace."""
    dtype = torch.float64 if isinstance(value, torch.SymFloat) else torch.int64
    return torch.ops.aten.full.default([], value, dtype=dtype)  # torch.full of a batch has an element for each


def pattern(tensors: Sequence[Tensor]) -> tuple[Any, ...]:
    """Return the properties that a trace with symbolic sizes depends on, to hash and compare."""
    return tuple(
        [
            (
                tensor.dtype,
                tensor.device,
                tuple([-1 if _is_open(tensor, n) else n for n in tensor.shape]),
                _layout(tensor),
            )
            for tensor in tensors
        ]
    )


def _is_open(tensor: Tensor, size: int) -> bool:
    """Whether sizes of the tensor become symbolic; not for an empty one, whose sizes torch 2.15 can't name."""
    return size > 1 and tensor.numel() > 0


def _layout(tensor: Tensor) -> tuple[int, ...]:
    """Return the axes from the largest stride to the smallest; the strides if there are gaps."""
    if aliasing.is_plain(tensor):
        return ()
    order = aliasing.axes_in_memory(tensor)
    expected = 1
    for axis in reversed(order):
        if tensor.stride(axis) != expected:
            return (-1, *tensor.stride())
        expected *= max(tensor.shape[axis], 1)
    return tuple(order)


_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.USub: operator.neg, ast.Not: operator.not_, ast.Eq: operator.eq, ast.NotEq: operator.ne,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip


def _value(node: Any, sizes: Mapping[str, int]) -> Any:
    """The value of a comparison of sizes and numbers; ValueError of what is none, which a file may hold."""
    kind, of = type(node), lambda part: _value(part, sizes)
    if kind is ast.Constant and type(node.value) in (int, bool):
        return node.value
    if kind is ast.Subscript and type(node.slice) is ast.Constant and node.slice.value in sizes:
        return sizes[str(node.slice.value)]
    if kind is ast.BoolOp:
        return (all if type(node.op) is ast.And else any)([of(value) for value in node.values])
    if kind is ast.BinOp and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](of(node.left), of(node.right))
    if kind is ast.UnaryOp and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](of(node.operand))
    if kind is ast.Compare and all(type(op) in _OPERATORS for op in node.ops):
        values = list(map(of, [node.left, *node.comparators]))
        return all(_OPERATORS[type(op)](*pair) for op, pair in zip(node.ops, pairwise(values), strict=True))
    raise ValueError("the conditions on sizes are none")


def checked(text: Any, places: Any) -> Callable[[Shapes], bool]:
    """Whether what `Sizes.conditions` gave holds for shapes; ValueError for what that did not give."""
    indices = [(operator.index(i), operator.index(axis)) for i, axis in places]
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, TypeError) as error:
        raise ValueError("the conditions on sizes are none") from error
    _value(tree, {f"t{n}": 1 for n in range(len(indices))})

    def holds(shapes: Shapes) -> bool:
        return bool(_value(tree, {f"t{n}": shapes[i][axis] for n, (i, axis) in enumerate(indices)}))

    return holds


def _is_fixed(size: int, others: Sequence[int]) -> bool:
    """Whether a size is the same everywhere; never without others to compare it with."""
    return bool(others) and all(other == size for other in others)


class Sizes:
    """The symbolic sizes of tensors: each size from 2 on of a tensor that is not empty has its own symbol.

    Parameters
    ----------
    tensors : sequence of Tensor
        The tensors with the current sizes.
    others : sequence of shapes
        Shapes that tensors of the same :func:`pattern` had. If any are given, only those sizes are symbolic that
        differ there; the others stay as they are.
    """

    def __init__(self, tensors: Sequence[Tensor], others: Sequence[Shapes] = ()) -> None:
        self._environment = symbolic_shapes.new_environment()
        places = [(i, axis) for i, t in enumerate(tensors) for axis, n in enumerate(t.shape) if _is_open(t, n)]
        fixed = [(i, axis) for i, axis in places if _is_fixed(tensors[i].shape[axis], [o[i][axis] for o in others])]
        self._places = [place for place in places if place not in fixed]
        self._fixed = [(i, axis, tensors[i].shape[axis]) for i, axis in fixed]
        self._names: list[Any] = []
        self._symbols: list[Any] = []
        for index, (i, axis) in enumerate(self._places):
            name, symbol = symbolic_shapes.new_symbol(self._environment, f"t{index}", tensors[i].shape[axis])
            self._names.append(name)
            self._symbols.append(symbol)
        self._now = [tensor.shape for tensor in tensors]
        self._met: Callable[[tuple[int, ...]], bool] = lambda sizes: True
        self._supposed_by_code: Callable[[Shapes], bool] = lambda shapes: True

    def holds(self, *tensors: Tensor) -> bool:
        """Whether other tensors of the same :func:`pattern` meet the assumptions."""
        return self.hold_for([tensor.shape for tensor in tensors])

    def hold_for(self, shapes: Shapes) -> bool:
        """Whether tensors of these shapes meet the assumptions."""
        if any(shapes[i][axis] != size for i, axis, size in self._fixed):
            return False
        return self._supposed_by_code(shapes) and self._met(tuple([shapes[i][axis] for i, axis in self._places]))

    def mode(self) -> traces.FakeTensorMode:
        """Return a mode in which tensors without data may have these sizes."""
        return traces.new_fake_mode(self._environment)

    def like(self, mode: traces.FakeTensorMode, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Return the tensors without data, with symbols for sizes and the same layout."""
        symbols = dict(zip(self._places, self._symbols, strict=True))
        return [self._like(mode, tensor, index, symbols) for index, tensor in enumerate(tensors)]

    @staticmethod
    def _like(mode: traces.FakeTensorMode, tensor: Tensor, index: int, symbols: Mapping[Any, Any]) -> Tensor:
        sizes = [symbols.get((index, axis), n) for axis, n in enumerate(tensor.shape)]
        layout = _layout(tensor) or tuple(range(tensor.dim()))
        strides: list[Any] = list(layout[1:])
        if layout[:1] != (-1,):
            strides, expected = [0] * len(sizes), 1
            for axis in reversed(layout):
                strides[axis] = expected
                expected = expected * max(sizes[axis], 1) if tensor.shape[axis] < 2 else expected * sizes[axis]
        return traces.empty(mode, sizes, strides, tensor)

    def settle(self) -> None:
        """Let :meth:`holds` check all assumptions made until now."""
        supposed = self._environment.produce_guards_expression(self._symbols)
        if supposed is None:
            return

        @lru_cache(_KNOWN)
        def met(sizes: tuple[int, ...]) -> bool:
            return bool(self._environment.evaluate_guards_expression(supposed, sizes))

        self._met = met

    def suppose(self, text: str, places: Sequence[Sequence[int]]) -> bool:
        """Add what code on disk supposes, which `conditions` gave; False, and nothing is added, if it does not hold.

        Raises
        ------
        ValueError
            The conditions are none.
        """
        condition = checked(text, places)
        if not condition(self._now):
            return False
        self._supposed_by_code = condition
        return True

    def conditions(self, open_axes: Sequence[Sequence[int]] = ()) -> tuple[str, list[tuple[int, int]]]:
        """What has been supposed until now, in words of a program that `checked` takes, and which sizes are meant.

        Raises
        ------
        NotImplementedError
            It has other words, or an axis that is to be open, of those of each tensor, has one length.
        """
        text = self._environment.produce_guards_expression(self._symbols) or "True"
        try:
            checked(text, self._places)
        except ValueError:
            raise NotImplementedError(
                f"the function supposes of its arguments' lengths what no file can hold: {text}"
            ) from None
        for number, (i, axis) in enumerate(self._places):
            if open_axes and axis in open_axes[i] and re.search(rf"(^| and )L\['t{number}'\] == \d+($| and )", text):
                raise NotImplementedError(
                    f"Python reads the length of axis {axis} of array {i}, which can't be open then"
                )
        return text, self._places

    def matching(self, tensors: Sequence[Tensor], count: int) -> Callable[..., bool]:
        """Return a check whether other tensors, whose first ``count`` have symbolic sizes, can replace these."""
        same, similar = same_signature(tensors), same_signature(tensors, count)

        def without_data(geometry: Sequence[Any]) -> list[Tensor]:
            return [
                torch.empty_strided(*sizes, dtype=tensor.dtype, device="meta")
                for sizes, tensor in zip(geometry, tensors, strict=False)
            ]

        expected = pattern(without_data([(tensor.shape, tensor.stride()) for tensor in tensors[:count]]))

        @lru_cache(_KNOWN)
        def met(geometry: tuple[Any, ...]) -> bool:
            others = without_data(geometry)
            return pattern(others) == expected and self.holds(*others)

        return lambda *others: (
            same(*others) or (similar(*others) and met(tuple([(t.shape, t.stride()) for t in others[:count]])))
        )

    def formula(self, numbers: Sequence[Any]) -> Callable[..., list[int]]:
        """Return a function that computes these numbers from the sizes of tensors."""
        expressions = [number.node.expr if is_symbol(number) else number for number in numbers]

        @lru_cache(_KNOWN)
        def computed(sizes: tuple[int, ...]) -> list[int]:
            known = dict(zip(self._names, sizes, strict=True))
            return [x if isinstance(x, int) else symbolic_shapes.value_of(x, known) for x in expressions]

        return lambda *tensors: computed(self._of(tensors))

    def _of(self, tensors: Sequence[Tensor]) -> tuple[int, ...]:
        return tuple([tensors[index].shape[axis] for index, axis in self._places])
