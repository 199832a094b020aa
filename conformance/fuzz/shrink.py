"""Shrinking: find the smallest call that still disagrees in the same way.

Layer: owns the order of simplicity. Every step makes the call's text shorter or its values plainer, so it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from conformance.fuzz.program import Base, Call, Items, Node, Text, View

MOST_TRIALS = 400


def shrunk(call: Call, still: Callable[[Call], bool]) -> Call:
    """Simplify a call as long as ``still`` says that it disagrees in the same way."""
    trials = 0
    progress = True
    while progress:
        progress = False
        for candidate in _simpler(call):
            trials += 1
            if trials > MOST_TRIALS:
                return call
            if len(str(candidate)) <= len(str(call)) and still(candidate):
                call, progress = candidate, True
                break
    return call


def _simpler(call: Call) -> Iterator[Call]:
    for name in call.keywords:
        yield replace(call, keywords={k: v for k, v in call.keywords.items() if k != name})
    if len(call.args) > max(1, call.callee.replace("{rest}", "").count("{")):
        yield replace(call, args=call.args[:-1])
    for base in call.bases:
        for simpler in _simpler_base(base):
            yield _with_base(call, base, simpler)
    for i, node in enumerate(call.args):
        for other in _simpler_node(node):
            yield replace(call, args=(*call.args[:i], other, *call.args[i + 1 :]))
    for name, node in call.keywords.items():
        for other in _simpler_node(node):
            yield replace(call, keywords={**call.keywords, name: other})


def _simpler_node(node: Node) -> Iterator[Node]:
    if isinstance(node, View):
        if node.layout:
            yield View(node.base)
    elif isinstance(node, Items):
        for i in range(len(node.items)):
            yield Items(node.brackets, node.items[:i] + node.items[i + 1 :])
        for i, item in enumerate(node.items):
            for other in _simpler_node(item):
                yield Items(node.brackets, (*node.items[:i], other, *node.items[i + 1 :]))
    elif len(node.source) > 3:
        for source in ("1", "0", "(0,)", "[0]"):
            yield Text(source)


def _simpler_base(base: Base) -> Iterator[Base]:
    array = base.array()
    for axis, length in enumerate(base.shape):
        if length > 1:
            for kept in (slice(0, 1), slice(0, length // 2), slice(0, length - 1), slice(1, None)):
                part = array[(slice(None),) * axis + (kept,)]
                yield Base(base.dtype, part.shape, tuple(part.ravel().tolist()))
        if length == 1:
            part = array.squeeze(axis)
            yield Base(base.dtype, part.shape, tuple(part.ravel().tolist()))
    for value in (1, 0):
        if any(v != value for v in base.values):
            yield Base(base.dtype, base.shape, (value,) * len(base.values))
    for i, v in enumerate(base.values[:12]):
        if v not in (0, 1):
            for value in (1, 0):
                yield Base(base.dtype, base.shape, (*base.values[:i], value, *base.values[i + 1 :]))
    if base.dtype not in ("int64", "float64"):
        for dtype in ("int64", "float64"):
            try:
                part = array.astype(dtype)
            except (TypeError, ValueError):
                continue
            yield Base(dtype, base.shape, tuple(part.ravel().tolist()))


def _with_base(call: Call, old: Base, new: Base) -> Call:
    """The call over another base."""

    def changed(node: Node) -> Node:
        if isinstance(node, View):
            return View(new, node.layout) if node.base is old else node
        if isinstance(node, Items):
            return Items(node.brackets, tuple([changed(item) for item in node.items]))
        return node

    return Call(call.callee, tuple(map(changed, call.args)), {k: changed(v) for k, v in call.keywords.items()})
