"""Registered classes are containers of arrays to derivatives, maps, loops, tapes and compiled functions."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import numpy
import pytest
import torch

import tnp as np


class Line:
    def __init__(self, slope: Any, start: Any, name: str = "line") -> None:
        self.slope, self.start, self.name = slope, start, name

    def __call__(self, x: Any) -> Any:
        return self.slope * x + self.start


np.register_pytree_node(Line, lambda line: ((line.slope, line.start), line.name), lambda name, c: Line(*c, name))


@np.register_dataclass
@dataclasses.dataclass
class Power:
    base: Any
    exponent: int = dataclasses.field(metadata={"static": True})

    def value(self) -> Any:
        return self.base**self.exponent


@dataclasses.dataclass
class Torchs:
    first: Any
    second: Any


torch.export.register_dataclass(Torchs)


def line(slope: float = 2.0, start: float = 1.0, name: str = "line") -> Line:
    return Line(np.asarray(slope), np.asarray(start), name)


def both(found: Line) -> list[Any]:
    return [np.asnumpy(np.asarray(part)).tolist() for part in (found.slope, found.start)]


def test_derivatives() -> None:
    x = np.arange(3.0)
    assert both(np.grad(lambda f, x: (f(x) ** 2).sum())(line(), x)) == [26.0, 18.0]
    _, pullback = np.vjp(lambda f: f(x), line())
    assert both(pullback(np.ones(3))[0]) == [3.0, 3.0]
    assert np.jvp(lambda f: f(3.0), (line(),), (line(),))[1] == 7.0
    assert both(np.jacobian(lambda f: f(x))(line())) == [[0, 1, 2], [1, 1, 1]]
    with np.GradientTape() as tape:
        watched = line()
        tape.watch(watched)
        y = watched(np.asarray(2.0))
    assert both(tape.gradient(y, watched)) == [2.0, 1.0]


def test_maps_and_loops() -> None:
    x = np.arange(3.0)
    assert np.vmap(lambda f, x: f(x))(Line(x, x), x).tolist() == [0.0, 2.0, 6.0]
    assert np.vmap(lambda f, x: f(x), (Line(0, None), 0))(Line(x, np.asarray(1.0)), x).tolist() == [1.0, 2.0, 5.0]
    assert both(np.vmap(lambda x: Line(x, 2 * x))(x)) == [[0, 1, 2], [0, 2, 4]]
    step = lambda f, x: (Line(f.slope + x, f.start), f)  # noqa: E731
    run = lambda x: np.scan(step, Line(np.asarray(0.0), np.asarray(1.0)), x)  # noqa: E731
    for last, all_of_them in (run(x), np.compile(run, backend="eager")(x)):
        assert both(last) == [3.0, 1.0]
        assert both(all_of_them) == [[0, 0, 1], [1, 1, 1]]


def test_compiled() -> None:
    x = np.arange(3.0)
    call = np.compile(lambda f, x: (f(x), Line(f.start, f.slope, f.name + "'")), backend="eager")
    for slope in (2.0, 2.0, 3.0):
        y, turned = call(line(slope), x)
        assert y.tolist() == [1.0, 1 + slope, 1 + 2 * slope]
        assert both(turned) == [1.0, slope] and turned.name == "line'"
    assert call.cache_info()[:2] == (1, 2)
    assert call(line(name="other"), x)[1].name == "other'"
    assert call.cache_info().traces == 2


def test_what_a_compiled_function_assigns() -> None:
    def trained(f: Line, x: Any) -> Any:
        f.slope = f.slope - x
        f.start[0] = f.start[0] + x
        f.steps = x
        return f.start[0]

    compiled = np.compile(trained, backend="eager")
    f = Line(np.asarray(5.0), [np.asarray(1.0)])
    for count in (1, 2, 3):
        assert compiled(f, np.asarray(1.0)) == 1 + count
        assert (f.slope, f.start[0], f.steps) == (5 - count, 1 + count, 1)


def test_static_fields() -> None:
    power = np.compile(Power.value, backend="eager")
    assert [power(Power(np.asarray(3.0), n)) for n in (2, 2, 3)] == [9.0, 9.0, 27.0]
    assert power.cache_info().traces == 2
    assert np.grad(Power.value)(Power(3.0, 2)) == Power(np.asarray(6.0), 2)
    named = np.register_dataclass(type("Named", (Line,), {}), ["slope", "start"], ["name"])
    assert np.grad(lambda f: f.slope * f.start)(named(2.0, 3.0, "n")).name == "n"


def test_classes_of_torch() -> None:
    assert np.grad(lambda p: p.first * p.second)(Torchs(2.0, 3.0)) == Torchs(3.0, 2.0)
    queue = collections.deque([np.asarray(1.0), np.asarray(2.0)], maxlen=3)
    gradient = np.grad(lambda q: q[0] * q[1])(queue)
    assert gradient == collections.deque([2.0, 1.0]) and gradient.maxlen == 3
    assert np.compile(sum, backend="eager")(queue) == 3.0


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="Duplicate"):
        np.register_pytree_node(Line, lambda line: ((), None), lambda name, children: Line(1, 2))
    with pytest.raises(TypeError, match="not a class"):
        np.register_pytree_node(Line(1, 2), lambda line: ((), None), lambda name, children: Line(1, 2))  # type: ignore
    unhashable = np.register_pytree_node(
        type("Unhashable", (Line,), {}), lambda line: ((line.slope,), [1]), lambda static, children: Line(*children, 0)
    )
    with pytest.raises(TypeError, match="static part, but a list can't be hashed"):
        np.compile(lambda f: f.slope, backend="eager")(unhashable(1.0, 2.0))
    with pytest.raises(ValueError, match="each field"):
        np.register_dataclass(dataclasses.make_dataclass("Pair", ["a", "b"]), ["a"], ["a"])
    with pytest.raises(TypeError, match="not a dataclass"):
        np.register_dataclass(type("Plain", (), {}))
    with pytest.raises(ValueError, match="built differently"):
        np.vmap(lambda f: f.slope, (Power(0, 2),))(Line(numpy.ones(2), numpy.ones(2)))
