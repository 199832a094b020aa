"""Layouts of arguments: gaps in their memory, of any width, are served by one program where they do not matter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tnp as np
from tests.oracle import assert_same
from tnp._transforms import pytree

WIDTHS = range(8, 13)


def layouts(xp: Any) -> list[Any]:
    """Arrays of 4x4 elements with and without gaps, in both orders, in rows of several lengths."""
    found = []
    for width in WIDTHS:
        whole = xp.arange(float(width * width)).reshape(width, width)
        found += [whole[::2, :4][:4], whole[:4, ::2][:, :4], whole[1:5, 2:6], whole[:4, :4].copy()]
        found += [whole.T[:4, :4], whole.T[:4, ::2][:, :4]]
    return found


SAME: dict[str, Callable[[Any], Any]] = {
    "elementwise": lambda x: x * 2 + 1,
    "reduced": lambda x: x.sum(axis=0),
    "product": lambda x: x @ x.T,
    "sorted": lambda x: np.sort(x, axis=0),
    "reversed": lambda x: x[::-1] * 2,
    "copied": lambda x: x.copy(order="K"),
    "several": lambda x: {"a": x.cumsum(axis=1), "b": (x - x.mean()).astype("f4")},
    "gradient": lambda x: np.grad(lambda y: (y**3).sum())(x),
}

OWN: dict[str, Callable[[Any], Any]] = {
    "flags": lambda x: x + 1 if x.flags.c_contiguous else x - 1,
    "strides": lambda x: x * x.strides[0],
    "in C or Fortran order": lambda x: x.copy(order="A"),
    "views": lambda x: (x[1:], x.T),
    "flipped": lambda x: x[::-1],
    "ravelled": lambda x: x.ravel(),
    "written": lambda x: (x.__setitem__((0, 0), x[0, 0]), x + 1)[1],
    "of strides": lambda x: np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8)) + 0,
    "of another size": lambda x: x.view("f4") * 2,
}


@pytest.mark.parametrize("xp", [np, numpy])
@pytest.mark.parametrize("name", SAME)
def test_gaps_of_any_width_need_no_trace(name: str, xp: Any) -> None:
    function = SAME[name]
    compiled = np.compile(lambda x: function(np.asarray(x)), backend="eager")
    for x in layouts(xp):
        expected = pytree.mapped(np.asnumpy, function(np.asarray(x)))
        assert_same(expected, compiled(x))
    assert compiled.cache_info().traces <= 6


@pytest.mark.parametrize("name", OWN)
def test_layouts_that_matter_are_traced(name: str) -> None:
    def outcome(function: Callable[[Any], Any], x: Any) -> Any:
        try:
            result = function(x)
        except ValueError as error:
            return str(error)
        results = result if isinstance(result, tuple) else (result,)
        return [(each.tolist(), each.strides, np.may_share_memory(each, x)) for each in results]

    compiled = np.compile(OWN[name], backend="eager")
    for x in layouts(np):
        assert outcome(compiled, x) == outcome(OWN[name], x)


def test_arrays_that_overlap_are_read_when_they_are_written() -> None:
    def function(x: Any, y: Any) -> Any:
        before = x.sum()
        y[...] = 1
        return before + x.sum()

    compiled = np.compile(function, backend="eager")
    for width in WIDTHS:
        for whole, other in [(np.zeros((4, width)), np.zeros((4, width)))]:
            assert compiled(whole[:, :4], whole[:, 2:6]) == function(other[:, :4], other[:, 2:6])
            assert whole.tolist() == other.tolist()


def test_machine_code_takes_gaps_of_any_width() -> None:
    compiled = np.compile(lambda x: np.tanh(x) * 2 + x.sum(axis=0), background=False)
    for x in layouts(np):
        assert np.allclose(compiled(x), np.tanh(x) * 2 + x.sum(axis=0), rtol=1e-14)
    assert compiled.cache_info().traces <= 6


def test_a_layout_of_many_calls_gets_a_trace_of_its_own() -> None:
    compiled = np.compile(lambda x: x * 2, backend="eager")
    arrays = [np.ones((4, width))[:, :3] for width in WIDTHS]
    for x in arrays:
        compiled(x)
    traces = compiled.cache_info().traces
    for _ in range(200):
        compiled(arrays[-1])
    assert compiled.cache_info().traces == traces + 1


def test_gradients_flow_through_copies_without_gaps() -> None:
    compiled = np.compile(lambda x: (x**2).sum(), backend="eager")
    for width in WIDTHS:
        x = np.arange(4.0 * width).reshape(4, width)[:, :3]
        with np.GradientTape() as tape:
            tape.watch(x)
            y = compiled(x)
        assert tape.gradient(y, x).tolist() == (2 * x).tolist()
        assert np.grad(compiled)(x).tolist() == (2 * x).tolist()
