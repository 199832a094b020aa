"""The drawn values: shapes, dtypes, edge cases, views of every layout, scalars, lists, and wrong arguments.

Layer: owns which arrays and which bad arguments there are.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from conformance.fuzz.program import Base, Items, Node, Text, View, literal

T = TypeVar("T")

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
DTYPES = ["bool", *INTEGERS, *FLOATS, *COMPLEX]
COMMON = ["bool", "int8", "uint8", "int32", "int64", "int64", "float32", "float64", "float64", "complex128"]
KINDS = {dtype: np.dtype(dtype).kind for dtype in DTYPES}
LENGTHS = [0, 1, 1, 2, 2, 3, 3, 4, 5]
REVERSED = ["[::-1]", "[..., ::-1]", "[::-1].T"]
LONG = [17, 33, 70]  # long enough for vectorised kernels, with a remainder

BAD = [
    "None", "'abc'", "object()", "{}", "[[1], [1, 2]]", "1.5", "2**70", "-2**70", "-7", "99", "np.nan", "()",
    "[]", "...", "b'x'", "1j", "True", "'float32'", "[None]", "(1, 2, 3)", "np.float32", "np.float16(2.5)",
    "np.int8(-3)", "['a']", "'>i4'",
]  # fmt: skip


@functools.cache
def edges(dtype: str) -> list[Any]:
    """Return the limits of a dtype as Python numbers."""
    if KINDS[dtype] in "iu":
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        return [low, high, high - 1, high // 2 + 1]
    limits = np.finfo(dtype)
    ends = [limits.max, limits.tiny, limits.smallest_subnormal, limits.min]
    return [np.nan, np.inf, -np.inf, -0.0, 0.0, *map(float, ends)]


class Draw:
    """The random source of one call, with a shape and a dtype that most of its arrays share."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.dtype = self.one(DTYPES if self.chance(0.5) else COMMON)
        self.shape: tuple[int, ...] = self._shape()
        self.specials = self.chance(0.3)
        self.views: list[View] = []

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.random.random() < probability

    def one(self, options: Sequence[T]) -> T:
        """One of these."""
        return options[int(self.random.random() * len(options))]

    def number(self, low: int, high: int) -> int:
        """An integer, both ends included."""
        return self.random.randint(low, high)

    def _shape(self) -> tuple[int, ...]:
        if self.chance(0.08):
            return (self.one(LONG),)
        return tuple([self.one(LENGTHS) for _ in range(self.one([0, 1, 1, 2, 2, 2, 3, 3, 4]))])

    def other_dtype(self) -> str:
        """Return mostly the call's dtype."""
        return self.dtype if self.chance(0.6) else self.one(DTYPES)

    def other_shape(self) -> tuple[int, ...]:
        """Return a shape that mostly broadcasts with the call's."""
        if self.chance(0.6):
            return self.shape
        if self.chance(0.15):
            return self._shape()
        shape = tuple([1 if self.chance(0.3) else length for length in self.shape])
        return shape[self.number(0, len(shape)) :] if self.chance(0.5) else shape

    def scalar(self, dtype: str) -> Any:
        """A Python number that the dtype holds."""
        kind = KINDS[dtype]
        if kind == "b":
            return self.chance(0.5)
        if kind in "iu":
            if self.specials and self.chance(0.3):
                return self.one(edges(dtype))
            return self.number(0 if kind == "u" else -9, 9)
        if kind == "c":
            part = "float32" if dtype == "complex64" else "float64"
            return complex(self.scalar(part), self.scalar(part))
        if self.specials and self.chance(0.4):
            return self.one(edges(dtype))
        if self.chance(0.4):
            return float(self.number(-4, 4))
        return float(np.dtype(dtype).type(self.random.uniform(-6, 6)))

    def base(self, shape: tuple[int, ...], dtype: str) -> Base:
        """An array of drawn values."""
        return Base(dtype, shape, tuple([self.scalar(dtype) for _ in range(int(np.prod(shape, dtype=int)))]))

    def view(self, shape: tuple[int, ...] | None = None, dtype: str | None = None) -> View:
        """An array of this shape and dtype in one of the layouts."""
        if dtype is None and shape is None and self.views and self.chance(0.1):
            return self._overlapping()
        shape = self.other_shape() if shape is None else shape
        dtype = self.other_dtype() if dtype is None else dtype
        last = len(shape) - 1
        layout = ""
        wanted = shape
        if shape and self.chance(0.35):
            layout = self.one([".T", "[::2]", "[..., ::2]", "[1:]", "[..., 1:]", "[None][0]", "[..., 0]", *REVERSED])
            first, end = shape[0], shape[last]
            wanted = {
                ".T": shape[::-1],
                "[::-1].T": shape[::-1],
                "[::2]": (2 * first, *shape[1:]),
                "[..., ::2]": (*shape[:last], 2 * end),
                "[1:]": (first + 1, *shape[1:]),
                "[..., 1:]": (*shape[:last], end + 1),
                "[..., 0]": (*shape, 2),
            }.get(layout, shape)
        view = View(self.base(wanted, dtype), layout)
        self.views.append(view)
        return view

    def _overlapping(self) -> View:
        base = self.one(self.views).base
        options = [""]
        if base.shape:
            options += ["[1:]", "[:-1]", "[::2]", ".T", "[:1]", "[::-1]"]
        return View(base, self.one(options))

    def array(self, shape: tuple[int, ...] | None = None, dtype: str | None = None) -> Node:
        """Draw an array, or a Python or NumPy scalar or a list in its place."""
        if self.chance(0.8):
            return self.view(shape, dtype)
        dtype = self.other_dtype() if dtype is None else dtype
        if shape is None and self.chance(0.6):
            value = self.scalar(dtype)
            return Text(f"np.{dtype}({literal(value)})" if self.chance(0.4) else literal(value))
        return self.listed(self.other_shape() if shape is None else shape, dtype)

    def listed(self, shape: tuple[int, ...], dtype: str) -> Node:
        """A nested list or tuple."""
        if not shape:
            return Text(literal(self.scalar(dtype)))
        brackets = self.one(["[]", "[]", "()"])
        return Items(brackets, tuple([self.listed(shape[1:], dtype) for _ in range(shape[0])]))

    def bad(self) -> Node:
        """Draw an argument of a wrong kind."""
        return Text(self.one(BAD)) if self.chance(0.8) else self.view(self._shape(), self.one(DTYPES))
