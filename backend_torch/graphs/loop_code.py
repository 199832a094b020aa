"""Loops of a graph as C++: values in memory, values computed where they are read, and the statements that write.

Layer: owns values and statements. A value is in memory (a view of a buffer), or it is computed for each element that is
read (lazy). What an operation means is loop_operations.py's, and loop_prelude.py's in C++.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

Dtype = torch.dtype
Shape = tuple[int, ...]
Index = Sequence[str]

CTYPES: dict[Dtype, str] = {
    torch.float64: "double",
    torch.float32: "float",
    torch.float16: "c10::Half",
    torch.bfloat16: "c10::BFloat16",
    torch.complex64: "c10::complex<float>",
    torch.complex128: "c10::complex<double>",
    torch.int64: "int64_t",
    torch.int32: "int32_t",
    torch.int16: "int16_t",
    torch.int8: "int8_t",
    torch.uint64: "uint64_t",
    torch.uint32: "uint32_t",
    torch.uint16: "uint16_t",
    torch.uint8: "uint8_t",
    torch.bool: "bool",
}
_SMALL = 2048  # bytes of a buffer on the stack, which is copied rather than exchanged
_MOST_SCRATCH = 1 << 28


class Unsupported(Exception):
    """Raised for a loop with an operation that is not lowered; the loop runs as before."""


@dataclass(eq=False)
class Buffer:
    """Memory of a loop: on the stack if it is small, else behind a pointer that may be exchanged.

    Attributes
    ----------
    constant : bool
        Whether it is an input, which is never written.
    given : bool
        Whether it is an input that is written to, and holds nothing but its own values at the end.
    """

    name: str
    dtype: Dtype
    size: int
    constant: bool = False
    pointer: bool = False
    given: bool = False

    @property
    def ctype(self) -> str:
        return CTYPES[self.dtype]


@dataclass(eq=False)
class View:
    """Elements of a buffer.

    Attributes
    ----------
    offset : str
        The place of the first element, if it is not 0.
    copied : bool
        Whether it stands for the current values, and not for the memory.
    of_parts : bool
        Whether the elements are the real and imaginary parts of the buffer's complex numbers; strides count parts.
    """

    buffer: Buffer
    shape: Shape
    strides: Shape
    offset: str = ""
    copied: bool = False
    of_parts: bool = False
    dtype: Dtype = field(init=False)

    def __post_init__(self) -> None:
        self.dtype = self.buffer.dtype.to_real() if self.of_parts else self.buffer.dtype

    def like(self, shape: Shape, strides: Shape, offset: str | None = None, copied: bool | None = None) -> View:
        """Return other elements of the same memory."""
        return View(
            self.buffer,
            shape,
            strides,
            self.offset if offset is None else offset,
            self.copied if copied is None else copied,
            self.of_parts,
        )

    @property
    def reads(self) -> frozenset[Buffer]:
        return frozenset([self.buffer])

    @property
    def cost(self) -> int:
        return 0

    def place(self, index: Index) -> str:
        """Return the place of an element in the buffer."""
        terms = [self.offset] if self.offset else []
        for i, size, stride in zip(index, self.shape, self.strides, strict=True):
            if size != 1 and stride and i != "0":
                terms.append(i if stride == 1 else f"{i} * {stride}")
        return " + ".join(terms) or "0"

    def element(self, index: Index) -> str:
        """Return the C++ of an element, which can be written to."""
        place = self.place(index)
        if _recording.places is not None:
            _recording.places.append((self.buffer, f"part {place}" if self.of_parts else place))
        return f"{self.start}[{place}]"

    def at(self, index: Index) -> str:
        """Return the C++ of an element's value; g++ makes no vectors of bools that it reads as such."""
        element = self.element(index)
        return f"op::truth({element})" if self.dtype is torch.bool else element

    @property
    def is_plain(self) -> bool:
        """Whether the elements are in C order without gaps."""
        return self.strides == plain(self.shape) or all(
            size == 1 or stride == expected
            for size, stride, expected in zip(self.shape, self.strides, plain(self.shape), strict=True)
        )

    @property
    def is_whole(self) -> bool:
        """Whether these are all elements of the buffer, in order."""
        return not self.offset and not self.of_parts and self.is_plain and math.prod(self.shape) == self.buffer.size

    def is_at(self, other: View) -> bool:
        """Whether two views are the same elements of one memory."""
        places = [(each.shape, each.strides, each.offset, each.of_parts) for each in (self, other)]
        return self.buffer is other.buffer and (places[0] == places[1] or (self.is_whole and other.is_whole))

    @property
    def start(self) -> str:
        """The C++ of a pointer to the buffer."""
        return f"(({CTYPES[self.dtype]}*){self.buffer.name})" if self.of_parts else self.buffer.name

    @property
    def pointer(self) -> str:
        return f"{self.start} + {self.offset}" if self.offset else self.start


@dataclass(eq=False)
class Lazy:
    """Elements that are computed where they are read.

    Attributes
    ----------
    element : callable
        The C++ of the element at an index.
    reads : frozenset of Buffer
        The memory that it reads.
    cost : int
        Number of operations for an element.
    """

    dtype: Dtype
    shape: Shape
    element: Callable[[Index], str]
    reads: frozenset[Buffer] = frozenset()
    cost: int = 0

    def at(self, index: Index) -> str:
        return self.element(index)


@dataclass(eq=False)
class Padded(Lazy):
    """Elements of which those behind an end on some axes are all the same.

    Attributes
    ----------
    whole : View or Lazy
        What it is before the ends.
    ends : dict
        Axis -> the C++ of its end.
    fill : str
        The C++ of the elements behind.
    """

    whole: View | Lazy | None = None
    ends: dict[int, str] = field(default_factory=dict)
    fill: str = ""


Value = View | Lazy


class _Recording(threading.local):  # functions are compiled in several threads
    places: list[tuple[Buffer, str]] | None = None


_recording = _Recording()


def places_read(value: Value, index: Index) -> list[tuple[Buffer, str]]:
    """Return the buffers and places that a value's element at an index is computed from."""
    found: list[tuple[Buffer, str]] = []
    before, _recording.places = _recording.places, found
    try:
        value.at(index)
        return found
    finally:
        _recording.places = before


def plain(shape: Sequence[int]) -> Shape:
    """Return the strides of a new tensor."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * max(shape[axis + 1], 1)
    return tuple(strides)


def literal(value: Any, dtype: Dtype) -> str:
    """Return a Python number as C++ of a dtype."""
    ctype = CTYPES[dtype]
    if dtype is torch.bool:
        return "true" if value else "false"
    if dtype.is_complex:
        value = complex(value)
        part = torch.float64 if dtype is torch.complex128 else torch.float32
        return f"{ctype}({literal(value.real, part)}, {literal(value.imag, part)})"
    if not dtype.is_floating_point:
        wrapped = int(value) & ((1 << 64) - 1)
        return f"static_cast<{ctype}>({wrapped}ull)" if wrapped >= 1 << 31 else f"{ctype}({wrapped})"
    value = float(value)
    if math.isnan(value):
        number = "std::numeric_limits<double>::quiet_NaN()"
    elif math.isinf(value):
        number = ("-" if value < 0 else "") + "std::numeric_limits<double>::infinity()"
    else:
        number = value.hex()
    return f"static_cast<{ctype}>({number})" if dtype.itemsize > 2 else f"{ctype}(static_cast<float>({number}))"


def constant(value: Any, dtype: Dtype, shape: Shape = ()) -> Lazy:
    """Return a number as a value."""
    text = literal(value, dtype)
    return Lazy(dtype, shape, lambda index: text)


@dataclass(frozen=True)
class Call:
    """An operation of torch's that a loop calls.

    Attributes
    ----------
    target : OpOverload
    arguments : list
        Its arguments without their structure ``spec``; `View` stands for a tensor.
    results : list of View or None
        Where its results go; None for one that nothing reads.
    """

    target: Any
    arguments: list[Any]
    spec: Any
    results: list[View | None]

    @property
    def memory(self) -> list[View]:
        """The arguments and results in memory, in the order in which their addresses are passed."""
        return [each for each in [*self.arguments, *self.results] if isinstance(each, View)]


@dataclass
class Code:
    """A C++ function that is being written.

    Attributes
    ----------
    declared : list of str
        Declarations before the first statement: pointers into the scratch memory, and inputs in another layout.
    calls : list of Call, optional
        The operations that it calls, by the numbers that it calls them by; None if it can't call any.
    """

    lines: list[str] = field(default_factory=list)
    declared: list[str] = field(default_factory=list)
    scratch: int = 0  # bytes
    depth: int = 1
    numbers: Iterator[int] = field(default_factory=itertools.count)
    packed: dict[Any, View] = field(default_factory=dict)
    exchanged: bool = False  # whether a buffer may have another's memory
    permuted: bool = False  # whether results may be in each other's memory
    mathematics: set[tuple[str, Dtype]] = field(default_factory=set)  # functions of vectors, by their names in torch
    calls: list[Call] | None = None

    def function(self, parameters: str) -> str:
        """Return the C++ of a function of all statements."""
        lines = [f"void loops({parameters}) {{"]
        if any("(scratch + " in line for line in self.declared):
            lines += [f"  op::Scratch memory({self.scratch});", "  char* scratch = memory.memory;"]
        lines += [f"  {line.strip()}" for line in self.declared]
        return "\n".join([*lines, "  int64_t steps = 0;", *self.lines, "}", ""])

    def undone(self) -> Callable[[], None]:
        """Return a function that takes back all that is written from now on."""
        lines, declared, packed = len(self.lines), len(self.declared), dict(self.packed)
        scratch, depth, calls = self.scratch, self.depth, len(self.calls or ())

        def undo() -> None:
            del self.lines[lines:], self.declared[declared:]
            self.scratch, self.depth, self.packed = scratch, depth, packed
            if self.calls:
                del self.calls[calls:]

        return undo

    def call(self, call: Call) -> None:
        """Write the call of an operation."""
        assert self.calls is not None
        places = "".join([f", {view.pointer}" for view in call.memory])
        self.line(f"op::call(host, {len(self.calls)}{places});")
        self.calls.append(call)

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def open(self, text: str) -> None:
        self.line(text + " {")
        self.depth += 1

    def close(self) -> None:
        self.depth -= 1
        self.line("}")

    def name(self, letter: str) -> str:
        return f"{letter}{next(self.numbers)}"

    def buffer(self, dtype: Dtype, size: int, points_to: str | None = None) -> Buffer:
        """Return new memory, or that of an output."""
        ctype, name = CTYPES[dtype], self.name("m")
        small = size * dtype.itemsize <= _SMALL
        if points_to is not None and not small:
            self.line(f"{ctype}* {name} = {points_to};")
        elif small:
            self.line(f"alignas(64) {ctype} {name}[{max(size, 1)}];")
        else:
            self.declared.append(f"{ctype}* {name} = reinterpret_cast<{ctype}*>(scratch + {self.scratch});")
            self.scratch += -(-size * dtype.itemsize // 64) * 64
            if self.scratch > _MOST_SCRATCH:
                raise Unsupported("it needs too much memory")
        return Buffer(name, dtype, size, pointer=not small)

    def new(self, dtype: Dtype, shape: Sequence[int]) -> View:
        """Return new memory for elements of a shape."""
        return View(self.buffer(dtype, math.prod(shape)), tuple(shape), plain(shape))

    def loops(self, shape: Sequence[int | str], body: Callable[[list[str]], None], ordered: bool = False) -> None:
        """Write loops over all indices of a shape; unless ``ordered``, the elements are independent."""
        index = ["0" if size == 1 else self.name("i") for size in shape]
        counted = [axis for axis, size in enumerate(shape) if size != 1]
        for axis in counted:
            if axis == counted[-1] and not ordered:
                self.line("#pragma GCC ivdep")
            i = index[axis]
            self.open(f"for (int64_t {i} = 0; {i} < {shape[axis]}; {i}++)")
        body(index)
        for _ in counted:
            self.close()

    def store(self, target: View, value: Value) -> None:
        """Write a value that reads the target only at the element that is written."""
        if target.shape == value.shape and isinstance(value, View) and value.is_plain and target.is_plain:
            size = math.prod(value.shape)
            if size > 1:
                self.line(f"std::memcpy({target.pointer}, {value.pointer}, {size} * sizeof({CTYPES[target.dtype]}));")
                return
        axes = sorted(range(len(target.shape)), key=lambda axis: -target.strides[axis])  # as they lie in memory

        def one(places: list[str]) -> None:
            index = [places[axes.index(axis)] for axis in range(len(axes))]
            self.line(f"{target.element(index)} = {value.at(index)};")

        self.loops(tuple([target.shape[axis] for axis in axes]), one)

    def placed(self, value: Value, target: Buffer) -> bool:
        """Let a value's own memory be that of an output; return False for a value that has none of its own."""
        if not isinstance(value, View) or not value.is_whole or self.exchanged or self.permuted:
            return False
        name, ctype = value.buffer.name, value.buffer.ctype
        for index, line in enumerate(self.declared):
            if line.startswith(f"{ctype}* {name} = reinterpret_cast<{ctype}*>(scratch + "):
                self.declared[index] = f"{ctype}* {name} = {target.name};"
                return True
        return False

    def in_memory(self, value: Value) -> View:
        """Return the value in memory; store it there if it is computed, or a part of complex numbers."""
        if isinstance(value, View) and not value.of_parts:
            return value
        view = self.new(value.dtype, value.shape)
        self.store(view, value)
        return view

    def as_new(self, value: Value) -> View:
        """Return the value in memory of its own."""
        view = self.new(value.dtype, value.shape)
        self.store(view, value)
        return view

    def in_c_order(self, value: Value) -> View:
        """Return the value in memory, in C order without gaps."""
        return value if isinstance(value, View) and value.is_plain and not value.of_parts else self.as_new(value)

    def scalar(self, value: Value) -> Lazy:
        """Return a value of one element, computed now."""
        if isinstance(value, Lazy) and not value.cost and not value.reads:
            return value
        name = self.name("v")
        self.line(f"const {CTYPES[value.dtype]} {name} = {value.at(['0'] * len(value.shape))};")
        return Lazy(value.dtype, value.shape, lambda index: name)

    def exchange(self, one: Buffer, other: Buffer) -> None:
        """Exchange the memory of two pointers."""
        self.exchanged = True
        self.line(f"std::swap({one.name}, {other.name});")
