"""The operations that a lowered loop may hold: each torch operation as C++ (`loop_code`).

Layer: owns which operations can be lowered and what each means. A loop with any other operation stays as it was.
loop_lowering.py owns the order of a loop's statements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from backend_torch.graphs.loop_code import (
    CTYPES,
    Code,
    Lazy,
    Padded,
    Shape,
    Unsupported,
    Value,
    View,
    constant,
    literal,
    plain,
)
from backend_torch.kernels import histograms, open_slices, sorting

aten = torch.ops.aten
prims = torch.ops.prims
_MOST_PRODUCTS = 1 << 18  # multiplications in a matrix product; a library computes larger products faster
_MOST_WITH_VECTORS = 1 << 22  # the same where one matrix is a vector: reading the other one takes the time
_MOST_COMPLEX_PRODUCTS = 1 << 12  # these have no vectors here
_LARGEST_TABLE = 1 << 16
_MOST_TWICE = 4  # operations for an element that are done twice rather than kept in memory

# ---------------------------------------------------------------------------------------------------------------------
# Elementwise operations -> the name of the C++ function in the prelude. Operands are cast to the computing dtype.

SAME: dict[Any, str] = {
    aten.abs: "abs",
    aten.neg: "neg",
    aten.sign: "sign",
    aten.floor: "floor",
    aten.ceil: "ceil",
    aten.trunc: "trunc",
    aten.relu: "relu",
    aten.bitwise_not: "bit_not",
    aten.add: "add",
    aten.sub: "sub",
    aten.mul: "mul",
    aten.remainder: "remainder",
    aten.fmod: "fmod",
    aten.floor_divide: "floor_div",
    aten.maximum: "maximum",
    aten.minimum: "minimum",
    aten.fmax: "fmax",
    aten.fmin: "fmin",
    aten.atan2: "atan2",
    aten.hypot: "hypot",
    aten.copysign: "copysign",
    aten.bitwise_and: "bit_and",
    aten.bitwise_or: "bit_or",
    aten.bitwise_xor: "bit_xor",
    aten.bitwise_left_shift: "shift_left",
    aten.bitwise_right_shift: "shift_right",
    aten.__lshift__: "shift_left",
    aten.__rshift__: "shift_right",
    aten.reciprocal: "reciprocal",
    aten._conj: "conj",
    aten._conj_physical: "conj",
}
COMPARING: dict[Any, str] = {
    aten.eq: "eq",
    aten.ne: "ne",
    aten.lt: "lt",
    aten.le: "le",
    aten.gt: "gt",
    aten.ge: "ge",
    aten.logical_and: "logical_and",
    aten.logical_or: "logical_or",
    aten.logical_xor: "logical_xor",
    aten.logical_not: "logical_not",
    aten.isnan: "isnan",
    aten.isinf: "isinf",
    aten.signbit: "signbit",
}
_NOT_COMPLEX = {aten.lt, aten.le, aten.gt, aten.ge, aten.isinf, aten.signbit}
INEXACT: dict[Any, str | None] = {  # -> the method of torch's vector class, if there is one
    aten.sqrt: "sqrt",
    aten.exp: "exp",
    aten.exp2: "exp2",
    aten.expm1: "expm1",
    aten.log: "log",
    aten.log2: "log2",
    aten.log10: "log10",
    aten.log1p: "log1p",
    aten.sin: "sin",
    aten.cos: "cos",
    aten.tan: "tan",
    aten.asin: "asin",
    aten.acos: "acos",
    aten.atan: "atan",
    aten.sinh: "sinh",
    aten.cosh: "cosh",
    aten.tanh: "tanh",
    aten.erf: "erf",
    aten.erfc: "erfc",
    aten.asinh: None,
    aten.acosh: None,
    aten.atanh: None,
    aten.rsqrt: "rsqrt",
    aten.sigmoid: None,
}
_COMPLEX = {  # defined for complex numbers too
    "add", "sub", "mul", "neg", "eq", "ne", "isnan", "true_div", "where", "reciprocal", "conj",
}  # fmt: skip

REINTERPRETING = {
    aten.alias.default,
    aten.detach.default,
    aten.permute.default,
    aten.transpose.int,
    aten.t.default,
    aten.squeeze.default,
    aten.squeeze.dim,
    aten.squeeze.dims,
    aten.unsqueeze.default,
    aten.expand.default,
    aten.view.default,
    aten._unsafe_view.default,
    aten.reshape.default,
    aten._reshape_alias.default,
    aten.slice.Tensor,
    aten.select.int,
    aten.diagonal.default,
    aten.unfold.default,
    aten.as_strided.default,
}
IN_PLACE_VIEWS = {
    aten.squeeze_.default,
    aten.squeeze_.dim,
    aten.squeeze_.dims,
    aten.unsqueeze_.default,
    aten.t_.default,
    aten.transpose_.default,
}
REINTERPRETING |= IN_PLACE_VIEWS
EMPTY = {aten.empty, aten.empty_strided, aten.empty_like, aten.new_empty, aten.new_empty_strided}


@dataclass(eq=False)
class _Parts(Lazy):
    """The real and imaginary parts of complex numbers, which are computed."""

    whole: Value = field(kw_only=True)


def _whole(value: Any) -> Value | None:
    """Return the complex numbers whose parts a value is; None for other values."""
    if isinstance(value, _Parts):
        return value.whole
    if not isinstance(value, View) or not value.of_parts or value.strides[-1:] != (1,) or value.shape[-1] != 2:
        return None
    if value.offset or any(stride % 2 for stride in value.strides[:-1]):
        return None
    return View(value.buffer, value.shape[:-1], tuple([s // 2 for s in value.strides[:-1]]), "", value.copied)


def pointwise(name: str, dtype: torch.dtype, shape: Shape, values: Sequence[Value]) -> Lazy:
    """Return ``op::name`` of values, which are broadcast to a shape."""
    values = [broadcast(value, shape) for value in values]
    return Lazy(
        dtype,
        shape,
        lambda index: f"op::{name}({', '.join([value.at(index) for value in values])})",
        frozenset().union(*[value.reads for value in values]),
        1 + sum([value.cost for value in values]),
    )


def broadcast(value: Value, shape: Shape) -> Value:
    """Broadcast a value to a shape."""
    if value.shape == shape:
        return value
    added = len(shape) - len(value.shape)
    ones = [size == 1 for size in value.shape]
    if isinstance(value, View):
        strides = (*[0] * added, *[0 if one else s for one, s in zip(ones, value.strides, strict=True)])
        return value.like(shape, strides)
    return Lazy(
        value.dtype,
        shape,
        lambda index: value.at(["0" if one else i for one, i in zip(ones, index[added:], strict=True)]),
        value.reads,
        value.cost,
    )


def cast(value: Value, dtype: torch.dtype) -> Value:
    """Cast a value to a dtype."""
    if value.dtype is dtype:
        return value
    if value.dtype.is_complex and not dtype.is_complex and dtype is not torch.bool:
        raise Unsupported("a cast drops imaginary parts")
    ctype = CTYPES[dtype]
    return Lazy(dtype, value.shape, lambda i: f"op::to<{ctype}>({value.at(i)})", value.reads, value.cost + 1)


def operand(argument: Any, dtype: torch.dtype) -> Value:
    """Cast an operand, which may be a Python number, to a dtype."""
    if isinstance(argument, (View, Lazy)):
        return cast(argument, dtype)
    if isinstance(argument, (bool, int, float, complex)):
        return constant(argument, dtype)
    raise Unsupported("an operand is neither an array nor a number")


# ---------------------------------------------------------------------------------------------------------------------


class Operation:
    """One operation of a graph, to be lowered.

    Parameters
    ----------
    code : Code
    target : OpOverload
    args : sequence
    kwargs : dict
        The arguments, with `loop_code` values for tensors.
    dtype, shape
        Of the result in the graph; of the first, if there are several.
    read : collection of int
        Which results are read, if there are several.
    """

    def __init__(
        self,
        code: Code,
        target: Any,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        dtype: torch.dtype,
        shape: Shape,
        read: Collection[int] = (0,),
    ) -> None:
        self.code = code
        self.target = target
        self.packet = target.overloadpacket
        self.args = args
        self.kwargs = kwargs
        self.dtype = dtype
        self.shape = shape
        self.read = read

    @property
    def is_known(self) -> bool:
        """Whether this operation has a lowering of its own; others are decomposed first."""
        packet = self.packet
        tables: Sequence[Any] = (SAME, COMPARING, INEXACT, _OTHERS)
        return (
            self.target in REINTERPRETING or self.target is aten.view.dtype or any(packet in table for table in tables)
        )

    def lowered(self) -> Any:
        """Lower the operation; return its result, or the list of its results."""
        packet = self.packet
        if packet in SAME:
            return self._same(SAME[packet])
        if packet in COMPARING:
            return self._comparing(COMPARING[packet])
        if packet in INEXACT:
            return self._inexact()
        if self.target in REINTERPRETING:
            return self._reinterpreted()
        if self.target is aten.view.dtype:
            return self._reinterpreted_bits()
        found = _OTHERS.get(packet)
        if found is None:
            raise Unsupported(f"{self.target} is not lowered")
        return found(self)

    def argument(self, position: int, name: str, default: Any = None) -> Any:
        """Return an argument by position or name."""
        return self.args[position] if len(self.args) > position else self.kwargs.get(name, default)

    def _pointwise(self, name: str, dtype: torch.dtype, operands: Sequence[Any]) -> Lazy:
        if dtype.is_complex and name not in _COMPLEX:
            raise Unsupported(f"{name} of complex numbers is not lowered")
        return pointwise(name, self.dtype, self.shape, [operand(each, dtype) for each in operands])

    def _same(self, name: str) -> Value:
        if name == "abs" and self.args[0].dtype is not self.dtype:
            return pointwise("size", self.dtype, self.shape, self.args)
        if (found := self._of_parts(name)) is not None:
            return found
        operands = list(self.args)
        alpha = self.kwargs.get("alpha", 1)
        if alpha != 1:
            operands[1] = pointwise(
                "mul", self.dtype, self.shape, [operand(operands[1], self.dtype), constant(alpha, self.dtype)]
            )
        return self._pointwise(name, self.dtype, operands)

    def _common(self, operands: Sequence[Any]) -> torch.dtype:
        """Return the dtype in which operands are compared."""
        examples = [
            torch.empty([1] * len(each.shape), dtype=each.dtype) if isinstance(each, (View, Lazy)) else each
            for each in operands
        ]
        return examples[0].dtype if len(examples) == 1 else torch.result_type(*examples)

    def _comparing(self, name: str) -> Value:
        common = self._common(self.args)
        if common.is_complex and self.packet in _NOT_COMPLEX:
            raise Unsupported("the order of complex numbers is not lowered")
        values = [operand(each, common) for each in self.args]
        return pointwise(name, torch.bool, self.shape, values)

    def _inexact(self) -> Value:
        name = self.packet.__name__
        value = operand(self.args[0], self.dtype)
        if self.dtype.is_complex:
            return self._exponential(value) if name == "exp" else self._pointwise(name, self.dtype, [value])
        method = INEXACT[self.packet]
        vectors = self.dtype in (torch.float32, torch.float64) and math.prod(self.shape) > 1
        if name == "sigmoid" and vectors:
            one = f"decltype(x)({literal(1, self.dtype)})"
            formula = f"{one} / ({one} + x.neg().exp())"
            self.code.mathematics.add(("exp", self.dtype))
        elif method is None or not vectors:
            return pointwise(name, self.dtype, self.shape, [value])
        else:
            formula = f"x.{method}()"
            self.code.mathematics.add((method, self.dtype))
        source = self.code.in_c_order(value)
        result = self.code.new(self.dtype, self.shape)
        size = math.prod(self.shape)
        self.code.line(f"op::each({result.pointer}, {source.pointer}, {size}, [](auto x) {{ return {formula}; }});")
        return result

    def _exponential(self, value: Value) -> Value:
        value, real, shape = self.code.in_memory(value), self.dtype.to_real(), value.shape
        found = [
            Operation(self.code, target, [pointwise(part, real, shape, [value])], {}, real, shape).lowered()
            for part, target in (("real", aten.exp.default), ("imag", aten.cos.default), ("imag", aten.sin.default))
        ]
        return pointwise("exp_of", self.dtype, shape, [value, *found])

    def parts(self) -> Value:
        """The real and imaginary parts of complex numbers, along a last axis."""
        value, dtype = self.args[0], self.dtype
        if isinstance(value, View):
            strides = (*[2 * stride for stride in value.strides], 1)
            offset = f"2 * ({value.offset})" if value.offset else ""
            return View(value.buffer, self.shape, strides, offset, value.copied, of_parts=True)
        names = {"0": "real", "1": "imag"}

        def element(index: Sequence[str]) -> str:
            text = value.at(index[:-1])
            if (name := names.get(index[-1])) is not None:
                return f"op::{name}({text})"
            return f"op::part({text}, {index[-1]})"

        return _Parts(dtype, self.shape, element, value.reads, value.cost + 1, whole=value)

    def joined(self) -> Value:
        """Complex numbers of the parts along a last axis."""
        value = self.args[0]
        if isinstance(value, _Parts):
            return value.whole
        if value.cost > _MOST_TWICE:
            value = self.code.in_memory(value)

        def element(index: Sequence[str]) -> str:
            return f"{CTYPES[self.dtype]}({value.at([*index, '0'])}, {value.at([*index, '1'])})"

        return Lazy(self.dtype, self.shape, element, value.reads, 2 * value.cost + 1)

    def _of_parts(self, name: str) -> Value | None:
        """Compute with complex numbers what is computed with the parts of all operands; None for other operands."""
        if name not in ("add", "sub", "neg") or any(self.kwargs.values()):
            return None
        wholes = [_whole(each) for each in self.args]
        if any(each is None for each in wholes):
            return None
        whole = pointwise(name, self.dtype.to_complex(), self.shape[:-1], wholes)  # type: ignore[arg-type]
        return Operation(self.code, aten.view_as_real.default, [whole], {}, self.dtype, self.shape).parts()

    def _reinterpreted(self) -> Value:
        value: Value = self.args[0]
        if not all(isinstance(each, (int, list, tuple)) for each in self.args[1:]):
            raise Unsupported("the geometry of a view depends on values")
        if isinstance(value, Lazy):
            if math.prod(value.shape) == math.prod(self.shape) == 1:
                return Lazy(value.dtype, self.shape, lambda index: value.at(["0"] * len(value.shape)), value.reads,
                            value.cost)  # fmt: skip
            moved = self._moved(value)
            if moved is not None:
                return moved
            value = self.code.in_memory(value)
            value.copied = True
        example = torch.empty_strided(value.shape, value.strides, dtype=torch.uint8, device="meta")
        if self.target is aten.as_strided.default:
            if not value.is_whole:
                raise Unsupported("a view is of the memory of a view")
            size, stride = map(tuple, self.args[1:3])
            return View(value.buffer, size, stride, _sum("", self.argument(3, "storage_offset") or 0), value.copied)
        target = aten.view.default if self.target is aten.reshape.default else self.target
        if target in (aten._unsafe_view.default, aten._reshape_alias.default):
            target = aten.view.default
            self.args = self.args[:2]
        try:
            seen = target(example, *self.args[1:], **self.kwargs)
        except RuntimeError:
            value, example = self.code.as_new(value), torch.empty(value.shape, dtype=torch.uint8, device="meta")
            seen = target(example, *self.args[1:], **self.kwargs)
        offset = _sum(value.offset, seen.storage_offset())
        return value.like(tuple(seen.shape), tuple(seen.stride()), offset)

    def _moved(self, value: Lazy) -> Lazy | None:
        """Permute, add or remove axes of a lazy value; None if the operation does something else."""
        axes: list[int | None]
        if self.target is aten.select.int and isinstance(value, _Parts):
            axis, place = self.args[1] % len(value.shape), str(self.args[2] % value.shape[self.args[1]])
            picked = lambda index: value.at([*index[:axis], place, *index[axis:]])  # noqa: E731
            return Lazy(value.dtype, self.shape, picked, value.reads, value.cost)
        if self.target in (aten.unsqueeze.default, aten.squeeze.dim, aten.squeeze.default, aten.squeeze.dims):
            kept = [axis for axis, size in enumerate(value.shape) if size != 1]
            left = iter(kept)
            axes = [None if size == 1 else next(left) for size in self.shape]
        elif self.target in (aten.permute.default, aten.transpose.int, aten.t.default):
            numbers = torch.empty([2 + axis for axis in range(len(value.shape))], device="meta")  # sizes tell axes
            axes = [size - 2 for size in self.target(numbers, *self.args[1:]).shape]
        elif self.target is aten.expand.default and (not value.cost or value.shape == self.shape):
            return broadcast(value, self.shape)  # type: ignore[return-value]
        else:
            return None

        def element(index: Sequence[str]) -> str:
            inner = ["0"] * len(value.shape)
            for axis, i in zip(axes, index, strict=True):
                if axis is not None:
                    inner[axis] = i
            return value.at(inner)

        return Lazy(value.dtype, self.shape, element, value.reads, value.cost)

    # -- others -------------------------------------------------------------------------------------------------------

    def div(self) -> Value:
        mode = self.kwargs.get("rounding_mode")
        name = {None: "true_div", "floor": "floor_div", "trunc": "trunc_div"}[mode]
        return self._pointwise(name, self.dtype, self.args[:2])

    def pow(self) -> Value:
        base, exponent = self.args
        if isinstance(exponent, (int, float)) and not isinstance(exponent, bool):
            value = operand(base, self.dtype)
            if exponent == 2:
                return self._repeated(value, 2)
            if exponent == 3:
                return self._repeated(value, 3)
            if exponent == 1:
                return value
            if self.dtype.is_floating_point:
                if exponent == 0.5:
                    return pointwise("sqrt", self.dtype, self.shape, [value])
                if exponent == -1:
                    return pointwise("reciprocal", self.dtype, self.shape, [value])
        return self._pointwise("pow", self.dtype, self.args)

    def _repeated(self, value: Value, times: int) -> Value:
        if value.cost:
            value = self.code.scalar(value) if math.prod(value.shape) == 1 else self.code.in_memory(value)
        product = value
        for _ in range(times - 1):
            product = pointwise("mul", self.dtype, self.shape, [product, value])
        return product

    def round(self) -> Value:
        if self.argument(1, "decimals", 0):
            raise Unsupported("rounding to decimals is not lowered")
        return self._pointwise("round", self.dtype, self.args[:1])

    def where(self) -> Value:
        condition, one, other = self.args
        values = [condition, operand(one, self.dtype), operand(other, self.dtype)]
        return self._where(*values)

    def _where(self, condition: Value, one: Value, other: Value) -> Value:
        c, a, b = [broadcast(each, self.shape) for each in (condition, one, other)]
        if isinstance(a, View) and isinstance(b, View) and a.is_at(b):
            return a.like(a.shape, a.strides, copied=True)
        if isinstance(b, Lazy) and not b.reads and not b.cost and self.dtype in (torch.float32, torch.float64):
            if b.at(["0"] * len(self.shape)) == literal(0, self.dtype):
                return pointwise("where_or_zero", self.dtype, self.shape, [c, a])
        return pointwise("where", self.dtype, self.shape, [c, a, b])

    def masked_fill(self) -> Value:
        value, mask, filling = self.args
        return self._where(mask, operand(filling, self.dtype), value)

    def clamp(self) -> Value:
        value = operand(self.args[0], self.dtype)
        low, high = self.argument(1, "min"), self.argument(2, "max")
        for bound, name in ((low, "clamp_min"), (high, "clamp_max")):
            if bound is not None:
                value = pointwise(name, self.dtype, self.shape, [value, operand(bound, self.dtype)])
        return value

    def clamp_min(self) -> Value:
        return self._pointwise("clamp_min", self.dtype, self.args)

    def clamp_max(self) -> Value:
        return self._pointwise("clamp_max", self.dtype, self.args)

    def copied(self) -> Value:
        """Copy the values as they are now, in the result's dtype."""
        value = cast(self.args[0], self.dtype)
        return value.like(value.shape, value.strides, copied=True) if isinstance(value, View) else value

    def _reinterpreted_bits(self) -> Value:
        value, dtype = self.args
        if value.dtype.itemsize != dtype.itemsize or dtype not in CTYPES or torch.bool in (dtype, value.dtype):
            raise Unsupported("bits become elements of another size")
        ctype = CTYPES[dtype]
        return Lazy(dtype, value.shape, lambda i: f"op::bits<{ctype}>({value.at(i)})", value.reads, value.cost)

    def full(self) -> Value:
        return constant(self.args[1], self.dtype, self.shape)

    def scalar_tensor(self) -> Value:
        return constant(self.args[0], self.dtype, self.shape)

    def zeros(self) -> Value:
        return constant(0, self.dtype, self.shape)

    def ones(self) -> Value:
        return constant(1, self.dtype, self.shape)

    def arange(self) -> Value:
        start, step = 0, 1
        if self.target is aten.arange.start:
            start = self.args[0]
        elif self.target is aten.arange.start_step:
            start, step = self.args[0], self.argument(2, "step", 1)
        elif self.target is not aten.arange.default:
            raise Unsupported(f"{self.target} is not lowered")
        if not isinstance(start, int) or not isinstance(step, int):
            raise Unsupported("a range is not of integers")
        ctype = CTYPES[self.dtype]
        return Lazy(self.dtype, self.shape, lambda i: f"op::to<{ctype}>(int64_t({start} + {i[0]} * {step}))", cost=1)

    def iota(self) -> Value:
        start, step, ctype = self.kwargs["start"], self.kwargs["step"], CTYPES[self.dtype]
        return Lazy(self.dtype, self.shape, lambda i: f"op::to<{ctype}>(int64_t({start} + {i[0]} * {step}))", cost=1)

    def triangle(self) -> Value:
        value, diagonal = self.args[0], self.argument(1, "diagonal", 0)
        sign = "<=" if self.packet is aten.tril else ">"
        zero = literal(0, self.dtype)
        least = diagonal if self.packet is aten.tril else diagonal - 1

        def element(index: Sequence[str]) -> str:
            return f"({index[-1]} - {index[-2]} {sign} {least} ? {value.at(index)} : {zero})"

        return Lazy(self.dtype, self.shape, element, value.reads, value.cost + 1)

    def flip(self) -> Value:
        value, axes = self.args
        axes = {axis % len(self.shape) for axis in axes}
        return Lazy(
            self.dtype,
            self.shape,
            lambda index: value.at(
                [f"({self.shape[a] - 1} - {i})" if a in axes and i != "0" else i for a, i in enumerate(index)]
            ),
            value.reads,
            value.cost,
        )

    def cat(self) -> Value:
        values, axis = self.args[0], self.argument(1, "dim", 0)
        result = self.code.new(self.dtype, self.shape)
        values = [value for value in values if value.shape != (0,)]
        first = 0
        axis %= len(self.shape)
        for value in values:
            offset = _sum("", first * result.strides[axis])
            part = View(result.buffer, value.shape, result.strides, offset)
            self.code.store(part, cast(value, self.dtype))
            first += value.shape[axis]
        return result

    def stack(self) -> Value:
        values, axis = self.args[0], self.argument(1, "dim", 0)
        result = self.code.new(self.dtype, self.shape)
        axis %= len(self.shape)
        for number, value in enumerate(values):
            strides = (*result.strides[:axis], *result.strides[axis + 1 :])
            part = View(result.buffer, value.shape, strides, _sum("", number * result.strides[axis]))
            self.code.store(part, cast(value, self.dtype))
        return result

    def pad(self) -> Value:
        value, widths = self.args[:2]
        filling = literal(self.argument(2, "value", 0) or 0, self.dtype)
        before = [0] * len(self.shape)
        for position in range(0, len(widths), 2):
            before[-1 - position // 2] = widths[position]

        def element(index: Sequence[str]) -> str:
            inner, inside = [], []
            for i, size, least, own in zip(index, self.shape, before, value.shape, strict=True):
                inner.append(f"({i} - {least})" if least else i)
                if least or size != own:
                    inside.append(f"{i} >= {least} && {i} < {least + own}")
            return f"({' && '.join(inside) or 'true'} ? {value.at(inner)} : {filling})"

        return Lazy(self.dtype, self.shape, element, value.reads, value.cost + 1)

    # -- indices ------------------------------------------------------------------------------------------------------

    def at_indices(self) -> Value:
        return indexed(self.code, self.args[0], self.args[1], copied=True)

    def index_select(self) -> Value:
        value, axis, places = self.args
        if not places.shape:
            raise Unsupported("an index has no axis")
        return indexed(self.code, value, [*[None] * (axis % len(value.shape)), places], copied=True)

    def gather(self) -> Value:
        value, axis, places = self.args[:3]
        axis %= len(self.shape)
        value, size = self.code.in_memory(value), value.shape[axis]

        def element(index: Sequence[str]) -> str:
            place = f"op::place({places.at(index)}, {size}, {axis})"
            return value.at([place if a == axis else i for a, i in enumerate(index)])

        return Lazy(self.dtype, self.shape, element, value.reads | places.reads, value.cost + places.cost + 2)

    # -- reductions ---------------------------------------------------------------------------------------------------

    def _axes(self, position: int = 1) -> list[int]:
        axes = self.argument(position, "dim")
        count = len(self.args[0].shape)
        if axes is None or (isinstance(axes, (list, tuple)) and not axes):
            return list(range(count))
        return [axis % count for axis in ([axes] if isinstance(axes, int) else axes)] if count else []

    def _reduced(self, name: str, value: Value, axes: Sequence[int], start: Any, dtype: torch.dtype) -> Value:
        """Reduce a value over axes, by ``op::name``, and give the result the shape that the graph says."""
        code = self.code
        if math.prod(value.shape) == 0 and start is None:
            raise Unsupported("an extreme of an empty array")
        value, ends = _without(value, _neutral(name, dtype) if start is None else start, axes)
        if isinstance(value, View) and value.is_plain and len(axes) == len(value.shape) and not ends:
            value = value.like((math.prod(value.shape),), (1,), copied=False)
            axes = [0]
        kept = [axis for axis in range(len(value.shape)) if axis not in axes]
        shape = tuple([value.shape[axis] for axis in kept])
        ctype = CTYPES[dtype]
        combine = f"[](auto x, auto y) {{ return op::{name}(x, y); }}"
        first = None if start is None else literal(start, dtype)

        def element(index: Sequence[str], inner: Sequence[str]) -> str:
            places = dict(zip([*kept, *axes], [*index, *inner], strict=True))
            return value.at([places[axis] for axis in range(len(value.shape))])

        folded = [axis for axis in axes if value.shape[axis] != 1]
        total = math.prod(shape)
        last = folded[-1] if folded else None
        inner_kept = bool(folded) and kept and max(kept) > max(folded) and value.shape[max(kept)] > 1
        result = code.new(dtype, shape)
        if not folded:
            code.store(result, Lazy(dtype, shape, lambda i: element(i, ["0"] * len(axes)), value.reads, value.cost))
        elif inner_kept:
            begin = first if first is not None else None
            zero = ["0"] * len(axes)
            initial = Lazy(dtype, shape, lambda i: begin or element(i, zero), value.reads, value.cost)
            code.store(result, initial)

            def outer(inner: list[str]) -> None:
                code.loops(
                    shape,
                    lambda i: code.line(f"{result.element(i)} = op::{name}({result.at(i)}, {element(i, inner)});"),
                )

            code.loops([ends.get(axis, value.shape[axis]) for axis in axes], outer, ordered=True)
            if begin is None and name not in ("maximum", "minimum", "logical_or", "logical_and"):
                raise Unsupported(name)
        else:
            assert last is not None
            outer_axes = [axis for axis in axes if axis != last]
            outer_shape = [ends.get(axis, value.shape[axis]) for axis in outer_axes]

            def one(index: list[str]) -> None:
                sum_name, i = code.name("s"), code.name("i")
                begin = first
                if begin is None:
                    begin = element(index, ["0"] * len(axes))
                code.line(f"{ctype} {sum_name} = {begin};")

                def row(inner: list[str]) -> None:
                    places = dict(zip(outer_axes, inner, strict=True))
                    places[last] = i
                    text = element(index, [places.get(axis, "0") for axis in axes])
                    end = ends.get(last, value.shape[last])
                    code.line(
                        f"{sum_name} = op::fold({end}, {sum_name}, [&](int64_t {i}) -> {ctype} "
                        f"{{ return {text}; }}, {combine});"
                    )

                code.loops(outer_shape, row, ordered=True)
                code.line(f"{result.element(index)} = {sum_name};")

            code.loops(shape, one, ordered=True)
        result.copied = True
        if total == 1 and result.shape != self.shape:
            return broadcast_one(code.scalar(result), self.shape)
        return View(result.buffer, self.shape, plain(self.shape), "", True)

    def _accumulated(self) -> torch.dtype:
        return torch.float32 if self.dtype in (torch.float16, torch.bfloat16) else self.dtype

    def sum(self) -> Value:
        dtype = self._accumulated()
        return cast(self._reduced("add", cast(self.args[0], dtype), self._axes(), 0, dtype), self.dtype)

    def prod(self) -> Value:
        dtype = self._accumulated()
        axes = self._axes() if self.target is not aten.prod.default else list(range(len(self.args[0].shape)))
        return cast(self._reduced("mul", cast(self.args[0], dtype), axes, 1, dtype), self.dtype)

    def mean(self) -> Value:
        dtype, axes = self._accumulated(), self._axes()
        total = self._reduced("add", cast(self.args[0], dtype), axes, 0, dtype)
        count = math.prod([self.args[0].shape[axis] for axis in axes])
        return cast(pointwise("true_div", dtype, self.shape, [total, constant(count, dtype)]), self.dtype)

    def var(self) -> Value:
        given, args = self.args[0], self.args[1:]
        if given.dtype.is_complex:
            parts = [pointwise(part, self.dtype, given.shape, [given]) for part in ("real", "imag")]
            found = [
                Operation(self.code, self.target, [each, *args], self.kwargs, self.dtype, self.shape).lowered()
                for each in parts
            ]
            return pointwise("add", self.dtype, self.shape, found)
        dtype, axes = self._accumulated(), self._axes()
        value = self.code.in_memory(cast(self.args[0], dtype))
        correction = self.kwargs.get("correction")
        shape = tuple([1 if axis in axes else size for axis, size in enumerate(value.shape)])
        mean = Operation(self.code, aten.mean.dim, [value, axes, True], {}, dtype, shape).mean()
        apart = self.code.in_memory(pointwise("sub", dtype, value.shape, [value, mean]))
        total = self._reduced("add", pointwise("mul", dtype, value.shape, [apart, apart]), axes, 0, dtype)
        count = math.prod([value.shape[axis] for axis in axes]) - (1 if correction is None else correction)
        return cast(pointwise("true_div", dtype, self.shape, [total, constant(max(count, 0), dtype)]), self.dtype)

    def _extreme(self, name: str, axes: Sequence[int]) -> Value:
        if self.dtype.is_complex:
            raise Unsupported("the order of complex numbers is not lowered")
        return self._reduced(name, self.args[0], axes, None, self.dtype)

    def amax(self) -> Value:
        return self._extreme("maximum", self._axes())

    def amin(self) -> Value:
        return self._extreme("minimum", self._axes())

    def max(self) -> Any:
        return self._extreme_and_place("maximum", "true")

    def min(self) -> Any:
        return self._extreme_and_place("minimum", "false")

    def _extreme_and_place(self, name: str, is_largest: str) -> Any:
        if self.target in (aten.max.dim, aten.min.dim):
            return [self._extreme(name, self._axes()), self._arg(is_largest, torch.int64)]
        if self.target not in (aten.max.default, aten.min.default):
            raise Unsupported(f"{self.target} is not lowered")
        return self._extreme(name, range(len(self.args[0].shape)))

    def any(self) -> Value:
        return self._logical("logical_or", False)

    def all(self) -> Value:
        return self._logical("logical_and", True)

    def _logical(self, name: str, start: bool) -> Value:
        if self.dtype is not torch.bool:
            raise Unsupported(f"{self.target} is not lowered")
        return self._reduced(name, cast(self.args[0], torch.bool), self._axes(), start, torch.bool)

    def argmax(self) -> Value:
        return self._arg("true", self.dtype)

    def argmin(self) -> Value:
        return self._arg("false", self.dtype)

    def _arg(self, largest: str, dtype: torch.dtype) -> Value:
        value, code = self.args[0], self.code
        axis = self.argument(1, "dim")
        if value.dtype.is_complex or not math.prod(value.shape):
            raise Unsupported("the place of an extreme is not lowered here")
        if axis is None and len(value.shape) != 1:
            value = code.in_c_order(value)
            value = View(value.buffer, (math.prod(value.shape),), (1,), value.offset)
        axis = axis % len(value.shape) if value.shape and axis is not None else 0
        if not value.shape:
            return constant(0, dtype, self.shape)
        value, ends = _without(value, _neutral("maximum" if largest == "true" else "minimum", value.dtype), [axis])
        shape = tuple([size for a, size in enumerate(value.shape) if a != axis])
        result, i = code.new(dtype, shape), code.name("i")

        def one(index: list[str]) -> None:
            text = value.at([*index[:axis], i, *index[axis:]])
            size = ends.get(axis, value.shape[axis])
            code.line(
                f"{result.element(index)} = op::arg_extreme<{largest}>({size}, [&](int64_t {i}) {{ return {text}; }});"
            )

        code.loops(shape, one, ordered=True)
        return View(result.buffer, self.shape, plain(self.shape), "", True)

    def cumsum(self) -> Value:
        return self._running("add", 0)

    def cumprod(self) -> Value:
        return self._running("mul", 1)

    def _running(self, name: str, start: int) -> Value:
        dtype = self._accumulated()
        value = cast(self.args[0], dtype)
        if not value.shape:
            return cast(value, self.dtype)
        code, axis = self.code, self.args[1] % len(value.shape)
        result = code.new(dtype, value.shape)
        shape = tuple([size for a, size in enumerate(value.shape) if a != axis])

        def one(index: list[str]) -> None:
            total, i = code.name("s"), code.name("i")
            code.line(f"{CTYPES[dtype]} {total} = {literal(start, dtype)};")
            code.open(f"for (int64_t {i} = 0; {i} < {value.shape[axis]}; {i}++)")
            place = [*index[:axis], i, *index[axis:]]
            code.line(f"{total} = op::{name}({total}, {value.at(place)});")
            code.line(f"{result.element(place)} = {total};")
            code.close()

        code.loops(shape, one, ordered=True)
        result.copied = True
        return cast(result, self.dtype)

    def sort(self) -> Any:
        if self.target is aten.sort.default:
            axis, is_descending = self.argument(1, "dim", -1), self.argument(2, "descending", False)
        else:
            axis, is_descending = self.kwargs.get("dim", -1), self.kwargs.get("descending", False)
        if is_descending:
            raise Unsupported("a sort in descending order is not lowered")
        return self._sorted(axis, 1 in self.read)

    def partition(self) -> Value:
        """Sort, which is a partition at each place."""
        return self._sorted(self.args[1], False)[0]

    def argpartition(self) -> Value:
        return self._sorted(self.args[1], True)[1]

    def _sorted(self, axis: int, has_order: bool) -> tuple[Any, Any]:
        """Return the values in ascending order, NaN last, and their places if these are read."""
        value, code = self.args[0], self.code
        if value.dtype.is_complex or math.prod(value.shape) == 0:
            raise Unsupported("such a sort is not lowered")
        if not value.shape:
            return value, constant(0, torch.int64, ())
        axis %= len(value.shape)
        n = value.shape[axis]
        if sorting.is_long(value.shape, axis):
            raise Unsupported("a sort of many elements is NumPy's")
        line, spare = code.new(value.dtype, (n,)), code.new(torch.int64 if has_order else value.dtype, (n,))
        places, order = (code.new(torch.int64, shape) if has_order else None for shape in ((n,), value.shape))
        result = code.new(value.dtype, value.shape)
        shape = tuple([size for a, size in enumerate(value.shape) if a != axis])

        def one(index: list[str]) -> None:
            i, first = code.name("i"), f"&{line.element(['0'])}"
            place = [*index[:axis], i, *index[axis:]]
            code.open(f"for (int64_t {i} = 0; {i} < {n}; {i}++)")
            code.line(f"{line.element([i])} = {value.at(place)};")
            if places is not None:
                code.line(f"{places.element([i])} = {i};")
            code.close()
            sorted_line, less = (first, "op::before(a, b)")
            if places is not None:
                sorted_line, less = f"&{places.element(['0'])}", f"op::before({line.at(['a'])}, {line.at(['b'])})"
            room = f"&{spare.element(['0'])}"
            code.line(f"op::sort({sorted_line}, {room}, {n}, [&](auto a, auto b) {{ return {less}; }});")
            code.open(f"for (int64_t {i} = 0; {i} < {n}; {i}++)")
            if places is None or order is None:
                code.line(f"{result.element(place)} = {line.at([i])};")
            else:
                code.line(f"{order.element(place)} = {places.at([i])};")
                code.line(f"{result.element(place)} = {line.at([places.at([i])])};")
            code.close()

        code.loops(shape, one, ordered=True)
        for made in (result, order):
            if made is not None:
                made.copied = True
        return result, order

    def searchsorted(self) -> Value:
        line, value = self.args[:2]
        if self.packet is aten.searchsorted:
            if self.kwargs.get("sorter") is not None or len(line.shape) != 1:
                raise Unsupported("such a search is not lowered")
            is_right = self.kwargs.get("right", False) or self.kwargs.get("side") == "right"
        else:
            is_right = self.args[2]
        if line.dtype is not value.dtype or line.dtype.is_complex:
            raise Unsupported("such a search is not lowered")
        found = self.code.new(torch.int64, self.shape)
        place = self._search(line, is_right)
        self.code.loops(self.shape, lambda i: self.code.line(f"{found.element(i)} = {place(value.at(i))};"))
        found.copied = True
        return cast(found, self.dtype)

    def _search(self, line: Value, is_right: bool) -> Callable[[str], str]:
        """Return what gives the C++ of the place where a value belongs in a sorted line."""
        given = self.code.in_c_order(line)
        kind = "true" if is_right else "false"
        return lambda value: f"op::search<{kind}>({given.pointer}, {line.shape[0]}, {value})"

    def histogram(self) -> Value:
        values, edges, weights, common = self.args
        if weights is not None or common.is_complex:
            raise Unsupported("a sum of weights is not lowered")
        code, values, edges = self.code, operand(values, common), self.code.in_c_order(operand(edges, common))
        counts, place = code.new(torch.int64, self.shape), self._search(edges, is_right=True)
        code.store(counts, constant(0, torch.int64, self.shape))

        def count(index: list[str]) -> None:
            value, bin_ = code.name("v"), code.name("k")
            code.line(f"const {CTYPES[common]} {value} = {values.at(index)};")
            last = edges.at([str(edges.shape[0] - 1)])  # the last bin has it
            code.line(f"const int64_t {bin_} = {place(value)} - ({value} == {last}) - 1;")
            code.line(f"if ({bin_} >= 0 && {bin_} < {self.shape[0]}) {counts.element([bin_])}++;")

        code.loops(values.shape, count, ordered=True)
        counts.copied = True
        return counts

    def last_of_same(self) -> Value:
        places, size = self.code.in_memory(self.args[0]), self.args[1]
        if size > _LARGEST_TABLE:
            raise Unsupported("a table of all places is large")
        code, table, result = self.code, self.code.new(torch.int64, (size,)), self.code.new(torch.int64, self.shape)

        def same(index: list[str]) -> str:  # a write checks its indices itself, later
            return table.at([f"std::clamp<int64_t>({places.at(index)}, 0, {size - 1})"])

        code.loops(self.shape, lambda index: code.line(f"{same(index)} = {index[0]};"), ordered=True)
        code.loops(self.shape, lambda index: code.line(f"{result.element(index)} = {same(index)};"), ordered=True)
        result.copied = True
        return result

    def padded_slices(self) -> Value:
        value, lengths, axes, fill = self.args
        ends = {axis: self.code.scalar(each).at(()) for axis, each in zip(axes, lengths, strict=True)}
        filling = self.code.scalar(fill).at(())

        def element(index: Sequence[str]) -> str:
            inside = " && ".join([f"{index[axis]} < {end}" for axis, end in ends.items()])
            return f"({inside} ? {value.at(index)} : {filling})"

        return Padded(self.dtype, self.shape, element, value.reads, value.cost + 1, value, ends, filling)

    # -- products -----------------------------------------------------------------------------------------------------

    def mm(self) -> Value:
        return self._product(*self.args[:2])

    def bmm(self) -> Value:
        return self._product(*self.args[:2])

    def mv(self) -> Value:
        matrix, vector = self.args
        column = self._unsqueezed(vector, (*vector.shape, 1))
        result = self._product(matrix, column)
        return View(result.buffer, self.shape, plain(self.shape), "", True)

    def dot(self) -> Value:
        one, other = self.args
        row, column = self._unsqueezed(one, (1, *one.shape)), self._unsqueezed(other, (*other.shape, 1))
        result = self._product(row, column)
        return View(result.buffer, (), (), "", True)

    def addmm(self) -> Value:
        added, one, other = self.args
        beta, alpha = self.kwargs.get("beta", 1), self.kwargs.get("alpha", 1)
        if self.dtype.is_complex or beta != 1 or alpha != 1:
            raise Unsupported("addmm with factors is not lowered")
        return pointwise("add", self.dtype, self.shape, [self._product(one, other), added])

    def _unsqueezed(self, value: Value, shape: Shape) -> View:
        view = self.code.in_memory(value)
        (stride,) = view.strides
        strides = (0, stride) if shape[0] == 1 else (stride, 0)
        return View(view.buffer, shape, strides, view.offset)

    def product_of_slices(self) -> View:
        one, other, starts, lengths = self.args
        code = self.code
        row, first, second, column = [None if each is None else code.scalar(each).at(()) for each in starts]
        rows, inner, columns = [
            str(size) if each is None else code.scalar(each).at(())
            for size, each in zip((*one.shape, other.shape[1]), lengths, strict=True)
        ]

        def part(view: View, *start: str | None) -> View:
            offset = view.place(["0" if each is None else f"({each})" for each in start])
            return View(view.buffer, view.shape, view.strides, offset)

        left, right = lambda view: part(view, row, first), lambda view: part(view, second, column)
        return self._product(one, other, (rows, inner, columns), left, right)

    def _product(
        self,
        one: Value,
        other: Value,
        counts: Sequence[str] | None = None,
        left_part: Callable[[View], View] = lambda view: view,
        right_part: Callable[[View], View] = lambda view: view,
    ) -> View:
        """The product of matrices, or of parts of them: ``counts`` are their rows, summed axis and columns."""
        code = self.code
        rows, inner, columns = one.shape[-2], one.shape[-1], other.shape[-1]
        batch = math.prod(one.shape[:-2])
        most = _MOST_COMPLEX_PRODUCTS if self.dtype.is_complex else _MOST_PRODUCTS
        if min(rows, columns) == 1 and not self.dtype.is_complex:
            most = _MOST_WITH_VECTORS
        if self.dtype is torch.bool or batch * rows * inner * columns > most:
            raise Unsupported("a library computes large products faster")
        left, right = code.in_memory(one), code.in_memory(other)
        if right.strides[-1] != 1 and columns > 1:
            right = self._packed(right)
        left, right = left_part(left), right_part(right)
        result = code.new(self.dtype, (*one.shape[:-2], rows, columns))
        if counts is not None:
            code.loops(result.shape, lambda index: code.line(f"{result.element(index)} = 0;"))
        counts = counts or (str(rows), str(inner), str(columns))

        ends, sides = counts, [(left, left.strides[-2:]), (right, right.strides[-2:])]
        if columns == 1 and left.strides[-1] != 1 and left.strides[-2] == 1:
            ends, sides = counts[::-1], [(view, steps[::-1]) for view, steps in sides[::-1]]  # reads rows

        def each(index: list[str]) -> None:
            corner = [*index, "0", "0"]
            arguments = [f"{result.buffer.name} + ({result.place(corner)})", columns]
            for view, steps in sides:
                arguments += [f"{view.buffer.name} + ({view.place(corner)})", *steps]
            code.line(f"op::product<{CTYPES[self.dtype]}>({', '.join(map(str, [*arguments, *ends]))});")

        code.loops(one.shape[:-2], each, ordered=True)
        result.copied = True
        return result

    def _packed(self, view: View) -> View:
        """Copy a matrix to C order; before the loop, if it is a constant input."""
        code = self.code
        if not view.buffer.constant or not _is_number(view.offset):
            return code.as_new(view)
        key = view.buffer, view.shape, view.strides, view.offset
        if key not in code.packed:
            lines, code.lines, depth, code.depth = code.lines, [], code.depth, 1
            code.packed[key] = code.as_new(view)
            code.lines, code.declared, code.depth = lines, [*code.declared, *code.lines], depth
        return code.packed[key]


def _neutral(name: str, dtype: torch.dtype) -> Any:
    """Return the number that changes no other by ``op::maximum`` or ``op::minimum``; None for other functions."""
    if name not in ("maximum", "minimum") or dtype.is_complex:
        return None
    if dtype is torch.bool or dtype.is_floating_point:
        return name == "minimum" if dtype is torch.bool else math.inf if name == "minimum" else -math.inf
    limits = torch.iinfo(dtype)
    return limits.max if name == "minimum" else limits.min


def _without(value: Value, unit: Any, axes: Sequence[int]) -> tuple[Value, dict[int, str]]:
    """Return a value without the padding that a reduction over axes need not see, and the axes' ends before that."""
    if not isinstance(value, Padded) or unit is None or value.fill != literal(unit, value.dtype):
        return value, {}
    if any(value.shape[axis] == 1 or axis not in axes for axis in value.ends):
        return value, {}
    assert value.whole is not None
    return value.whole, value.ends


def _is_number(text: str) -> bool:
    return text.isdigit() or not text


def _sum(offset: str, more: int) -> str:
    """Return the C++ text of an offset plus a number of elements."""
    if not more:
        return offset
    if _is_number(offset):
        return str(int(offset or 0) + more)
    return f"{offset} + {more}"


def broadcast_one(value: Lazy, shape: Shape) -> Lazy:
    """Reshape a value with one element."""
    return Lazy(value.dtype, shape, lambda index: value.at(()), value.reads, value.cost)


def indexed(code: Code, value: Value, places: Sequence[Value | None], copied: bool) -> Value:
    """Return the elements at indices, given for the first axes; a view if all indices are scalars."""
    view = value if isinstance(value, View) else code.in_memory(value)
    if any(place is not None and place.dtype in (torch.bool, torch.uint8) for place in places):
        raise Unsupported("the size of a masked selection depends on values")
    used = {axis: place for axis, place in enumerate(places) if place is not None}
    if all(not place.shape for place in used.values()):
        offset = view.offset
        for axis, place in used.items():
            name = code.name("k")
            text = f"op::place({place.at(())}, {view.shape[axis]}, {axis})"
            code.line(f"const int64_t {name} = {text} * {view.strides[axis]};")
            offset = f"{offset} + {name}" if offset else name
        left = [axis for axis in range(len(view.shape)) if axis not in used]
        shape, strides = [tuple([each[axis] for axis in left]) for each in (view.shape, view.strides)]
        return view.like(shape, strides, offset, copied)
    shape = tuple(torch.broadcast_shapes(*[place.shape for place in used.values()]))
    axes = sorted(used)
    together = axes == list(range(axes[0], axes[-1] + 1))
    first = axes[0] if together else 0
    indices = {axis: broadcast(place, shape) for axis, place in used.items()}
    kept = [axis for axis in range(len(view.shape)) if axis not in used]
    before = [axis for axis in kept if axis < first]
    after = [axis for axis in kept if axis >= first]
    sizes = [view.shape[axis] for axis in before], [view.shape[axis] for axis in after]

    def element(index: Sequence[str]) -> str:
        inner = index[len(before) : len(before) + len(shape)]
        outer = dict(zip([*before, *after], [*index[: len(before)], *index[len(before) + len(shape) :]], strict=True))
        for axis, place in indices.items():
            outer[axis] = f"op::place({place.at(inner)}, {view.shape[axis]}, {axis})"
        return view.at([outer[axis] for axis in range(len(view.shape))])

    reads = view.reads.union(*[place.reads for place in indices.values()])
    return Lazy(
        view.dtype, (*sizes[0], *shape, *sizes[1]), element, reads, 2 + sum([place.cost for place in indices.values()])
    )


_OTHERS: dict[Any, Callable[[Operation], Any]] = {
    aten.div: Operation.div,
    aten.true_divide: Operation.div,
    aten.pow: Operation.pow,
    aten.round: Operation.round,
    aten.where: Operation.where,
    aten.masked_fill: Operation.masked_fill,
    aten.clamp: Operation.clamp,
    aten.clamp_min: Operation.clamp_min,
    aten.clamp_max: Operation.clamp_max,
    aten.clone: Operation.copied,
    aten._to_copy: Operation.copied,
    aten.view_as_real: Operation.parts,
    aten.view_as_complex: Operation.joined,
    aten.lift_fresh: Operation.copied,
    aten.lift_fresh_copy: Operation.copied,
    aten.full: Operation.full,
    aten.full_like: Operation.full,
    aten.new_full: lambda op: constant(op.args[2], op.dtype, op.shape),
    aten.scalar_tensor: Operation.scalar_tensor,
    aten.zeros: Operation.zeros,
    aten.zeros_like: Operation.zeros,
    aten.new_zeros: Operation.zeros,
    aten.ones: Operation.ones,
    aten.ones_like: Operation.ones,
    aten.new_ones: Operation.ones,
    aten.arange: Operation.arange,
    prims.iota: Operation.iota,
    prims.convert_element_type: Operation.copied,
    aten.tril: Operation.triangle,
    aten.triu: Operation.triangle,
    aten.flip: Operation.flip,
    aten.cat: Operation.cat,
    aten.stack: Operation.stack,
    aten.constant_pad_nd: Operation.pad,
    aten.index: Operation.at_indices,
    aten.index_select: Operation.index_select,
    aten.gather: Operation.gather,
    aten.sum: Operation.sum,
    aten.prod: Operation.prod,
    aten.mean: Operation.mean,
    aten.var: Operation.var,
    aten.amax: Operation.amax,
    aten.amin: Operation.amin,
    aten.max: Operation.max,
    aten.min: Operation.min,
    aten.any: Operation.any,
    aten.all: Operation.all,
    aten.argmax: Operation.argmax,
    aten.argmin: Operation.argmin,
    aten.cumsum: Operation.cumsum,
    aten.cumprod: Operation.cumprod,
    aten.sort: Operation.sort,
    aten.searchsorted: Operation.searchsorted,
    sorting.SEARCH: Operation.searchsorted,
    histograms.HISTOGRAM: Operation.histogram,
    sorting.PARTITION: Operation.partition,
    sorting.AT_PLACES: Operation.partition,
    sorting.ARGPARTITION: Operation.argpartition,
    torch.ops.tnp.last_of_same: Operation.last_of_same,
    open_slices.PADDED: Operation.padded_slices,
    aten.mm: Operation.mm,
    aten.bmm: Operation.bmm,
    aten.mv: Operation.mv,
    aten.dot: Operation.dot,
    aten.addmm: Operation.addmm,
    open_slices.PRODUCT: Operation.product_of_slices,
}
