"""A drawn call as data: arrays, views of them and a tree of arguments, which is also the line that reproduces it.

Layer: owns what a call is, how it is written and how it is run on NumPy or tnp; nothing is drawn or compared here.
"""

from __future__ import annotations

import functools
import math
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import numpy as np

import tnp
from conformance.fuzz import guards

NAMES = "xyzwabcdefgh"


@dataclass(frozen=True, eq=False)
class Base:
    """An array that owns its memory; views of the same base may overlap."""

    dtype: str
    shape: tuple[int, ...]
    values: tuple[Any, ...]  # in C order

    def array(self) -> np.ndarray:
        """The array in NumPy."""
        return guards.placed(np.array(self.values, self.dtype).reshape(self.shape))

    def __str__(self) -> str:
        if 0 in self.shape:
            return f"np.zeros({self.shape}, {self.dtype!r})"
        nested = _nested([literal(value) for value in self.values], self.shape)
        return f"np.asarray({nested}, {self.dtype!r})"


@dataclass(frozen=True)
class View:
    """A base, or the view of it that ``layout`` makes: ``.T``, ``[::2]``."""

    base: Base
    layout: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the view."""
        view: tuple[int, ...] = eval(f"x{self.layout}", {"x": np.empty(self.base.shape, np.bool_)}).shape
        return view


@dataclass(frozen=True)
class Text:
    """An argument, given as Python source."""

    source: str


@dataclass(frozen=True)
class Items:
    """A list or a tuple of arguments."""

    brackets: str
    items: tuple[Node, ...]


Node = View | Text | Items


@dataclass(frozen=True)
class Call:
    """``callee(*args, **keywords)``; a callee with braces is a template: ``{0} + {1}``."""

    callee: str
    args: tuple[Node, ...]
    keywords: dict[str, Node] = field(default_factory=dict)

    def nodes(self) -> list[Node]:
        """Return all arguments."""
        return [*self.args, *self.keywords.values()]

    @functools.cached_property
    def views(self) -> list[View]:
        """The arrays among the arguments, also those in lists."""
        return [leaf for node in self.nodes() for leaf in _leaves(node)]

    @functools.cached_property
    def bases(self) -> list[Base]:
        """The arrays that hold the memory, each once."""
        return list(dict.fromkeys(view.base for view in self.views))

    @functools.cached_property
    def expression(self) -> str:
        """The call over the arrays' names."""
        names = dict(zip(self.bases, NAMES, strict=False))
        args = [written(node, names) for node in self.args]
        args += [f"{name}={written(node, names)}" for name, node in self.keywords.items()]
        if "{" in self.callee:
            return self.callee.format(*args, rest=", ".join(args[self.callee.count("{") - 1 :]))
        return f"{self.callee}({', '.join(args)})"

    @functools.cached_property
    def code(self) -> CodeType:
        """Return source for ``eval``: the call as a function of the arrays."""
        return compile(f"lambda {', '.join(NAMES[: len(self.bases)])}: {self.expression}", "<call>", "eval")

    @property
    def leaves_unwritten(self) -> bool:
        """Whether it is a ufunc with ``where`` and no ``out``: some of its result is memory that nobody wrote."""
        out = self.keywords.get("out", Text("None"))
        is_ufunc = isinstance(getattr(np, self.callee.removeprefix("np."), None), np.ufunc)
        return is_ufunc and "where" in self.keywords and out in (Text("None"), Text("..."))

    @property
    def is_endless(self) -> bool:
        """Whether Python's integers are raised to a power that has more digits than there is memory."""
        has_integers = any(np.dtype(base.dtype).kind in "iu" for base in self.bases)
        return has_integers and "pow" in self.callee and "2**70" in self.expression

    @property
    def corrupts(self) -> bool:
        """Whether NumPy 2.4 may use memory that is none of its own.

        ``choose`` writes beyond a view, unless it looks at indices first; sums of a vector into an array of no
        dimensions end the process, as does the count of the last int64.
        """
        if self.callee == "np.bincount":
            return "9223372036854775807" in self._text
        if re.search(r"\bnp\.(nan)?cum|\.cum|accumulate", self.callee):
            others = [*self.args[1:], *self.keywords.values()]
            return any(isinstance(node, View) and node.shape == () for node in others)
        has_mode = "mode" in self.keywords or len(self.args) > 3
        out = self.args[2] if len(self.args) > 2 else self.keywords.get("out")
        return "choose" in self.callee and has_mode and isinstance(out, View) and out.layout != ""

    @functools.cached_property
    def _text(self) -> str:
        made = [f"{name} = {base}; " for base, name in zip(self.bases, NAMES, strict=False)]
        return "".join(made) + self.expression

    def __str__(self) -> str:
        return self._text


def _leaves(node: Node) -> Iterator[View]:
    if isinstance(node, View):
        yield node
    elif isinstance(node, Items):
        for item in node.items:
            yield from _leaves(item)


def written(node: Node, names: dict[Base, str]) -> str:
    """An argument in Python."""
    if isinstance(node, Text):
        return node.source
    if isinstance(node, View):
        return names[node.base] + node.layout
    inside = ", ".join(written(item, names) for item in node.items)
    if node.brackets == "()" and len(node.items) == 1:
        inside += ","
    return f"{node.brackets[0]}{inside}{node.brackets[1]}"


def literal(value: Any) -> str:
    """A number in Python, also where repr is none."""
    if isinstance(value, complex):
        return f"complex({literal(value.real)}, {literal(value.imag)})"
    if isinstance(value, float) and not math.isfinite(value):
        return "np.nan" if math.isnan(value) else "np.inf" if value > 0 else "-np.inf"
    return repr(value)


def _nested(texts: list[str], shape: tuple[int, ...]) -> str:
    if not shape:
        return texts[0]
    step = len(texts) // shape[0]
    return "[" + ", ".join(_nested(texts[i : i + step], shape[1:]) for i in range(0, len(texts), step)) + "]"


@dataclass
class Outcome:
    """What a call returned or raised, and its arrays afterwards."""

    value: Any
    error: Exception | None
    bases: list[Any]


def run_numpy(call: Call) -> Outcome:
    """The call on NumPy."""
    bases = [base.array() for base in call.bases]
    return _run(call, np, bases)


def run_tnp(call: Call, device: str, transform: Callable[..., Any] | None = None) -> Outcome:
    """The call on tnp; ``transform`` is what to do to the function of the arrays before it is called."""
    bases = [tnp.asarray(base.array(), device=device) for base in call.bases]
    with tnp.device(device):  # of what the call itself makes
        return _run(call, tnp, bases, transform)


def _run(call: Call, xp: Any, bases: list[Any], transform: Callable[..., Any] | None = None) -> Outcome:
    try:
        function = eval(call.code, {"np": xp, "operator": operator})
        return Outcome((function if transform is None else transform(function))(*bases), None, bases)
    except Exception as error:
        return Outcome(None, error, bases)
