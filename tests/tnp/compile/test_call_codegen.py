"""Calls that are written out: they take the arguments that a signature says are alike, and no others."""

from __future__ import annotations

import dataclasses
import enum
from collections import OrderedDict, namedtuple
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tnp as np
from backend_torch.tensors import devices
from tnp._compile import call_codegen
from tnp._compile.compile import _taken
from tnp._compile.outer_state import has_identity, repeats
from tnp._transforms import pytree

Pair = namedtuple("Pair", "x y")
Color = enum.Enum("Color", "RED GREEN")
SHARED = object()


@dataclasses.dataclass(frozen=True)
class Layer:
    weight: Any
    name: Any


class Counter:
    hits = 0


ARRAYS = [np.ones(2), np.arange(3), np.ones(3).sum(), np.zeros(()) + 1]
READ_ONLY = numpy.ones(2)[::-1]
READ_ONLY.flags.writeable = False
NUMPYS = [numpy.ones(2), numpy.ones(2)[::-1], np.arange(6.0)[::-3], READ_ONLY, numpy.float64(2.0), numpy.ones(())]
STATIC = [None, True, False, 0, 1, -3, 0.0, -0.0, 1.0, float("nan"), 1j, "x", "y", Color.RED, Color.GREEN]
STATIC += [SHARED, len, int, slice(1, None), np.float32]


def trees(arrays: list[Any]) -> Any:
    def containers(inner: Any) -> Any:
        names = st.sampled_from(["a", "b", 3])
        return st.one_of(
            st.lists(inner, max_size=3),
            st.lists(inner, max_size=3).map(tuple),
            st.dictionaries(names, inner, max_size=3),
            st.dictionaries(names, inner, max_size=2).map(OrderedDict),
            st.builds(Pair, inner, inner),
            st.builds(Layer, inner, inner),
        )

    return st.recursive(st.sampled_from([*arrays, *STATIC]), containers, max_leaves=6)


def signature(args: Any, kwargs: Any) -> tuple[Any, list[Any]]:
    arrays: list[Any] = []
    return pytree.flatten((args, kwargs), arrays), arrays


def written(args: Any, kwargs: Any, value: Any) -> Any:
    """The call for such arguments whose program returns what it is given; None if there is none."""
    _, arrays = signature(args, kwargs)
    tensors = [array.tensor if any(array is each for each in ARRAYS) else _taken(array) for array in arrays]
    inside = [pytree.stand_in(array, tensor) for array, tensor in zip(arrays, tensors, strict=True)]
    result = call_codegen.Result(value, arrays, inside, tensors)
    make = call_codegen.maker(args, kwargs, result, 0)
    otherwise = lambda args, kwargs: "otherwise"  # noqa: E731
    if make is None:
        return None
    program = lambda tensors: tensors[: len(result.tensors)]  # noqa: E731
    kinds = [(array.dtype, array.ndim) for array in arrays]  # which the guard compares, before identities

    def guard(*tensors: Any) -> bool:
        return [(np.asarray(tensor).dtype, tensor.dim()) for tensor in tensors] == kinds

    return make(guard, program, devices.state.default, (), otherwise, Counter())


values = trees([*ARRAYS, *NUMPYS])
calls = st.tuples(st.lists(values, max_size=3).map(tuple), st.dictionaries(st.sampled_from(["p", "q"]), values))


@settings(max_examples=500, deadline=None)
@given(calls, calls)
def test_only_what_is_alike_is_taken(first: Any, second: Any) -> None:
    call = written(*first, "taken")
    if call is None:
        return
    assert call(*first) == "taken"
    found = [signature(*each) for each in (first, second)]
    kinds = [[(array.dtype, array.ndim) for array in arrays] for _, arrays in found]
    alike = found[0][0] == found[1][0] and kinds[0] == kinds[1]
    objects = [[id(array) for array in arrays if has_identity(array)] for _, arrays in found]
    alike = alike and repeats(objects[0]) == repeats(objects[1])
    assert call(*second) == ("taken" if alike else "otherwise")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(ARRAYS), max_size=4).map(tuple), trees(ARRAYS))
def test_results_are_made_in_their_order(args: Any, value: Any) -> None:
    """A result of new arrays around the arguments' tensors, in whatever tree."""
    arrays = iter([pytree.like(array, array.tensor) for array in args])
    expected = pytree.mapped(lambda array: next(arrays, None), value)
    found = written(args, {}, expected)(args, {})
    assert signature((found,), {})[0] == signature((expected,), {})[0]
    for one, other in zip(signature((found,), {})[1], signature((expected,), {})[1], strict=True):
        assert one.tensor is other.tensor


@pytest.mark.parametrize("value", [0.0, -0.0, float("nan"), 1j, slice(1)])
def test_what_no_comparison_recognises_has_no_call(value: Any) -> None:
    assert written((np.ones(2), value), {}, None) is None
    function = np.compile(lambda x, factor: x * 1 if isinstance(factor, slice) else x * factor, backend="eager")
    for _ in range(2):
        function(np.ones(2), value)
    assert function.cache_info()[:2] == (1, 1)


def test_an_argument_that_comes_back_is_itself() -> None:
    x, y = np.ones(2), np.zeros(2)
    function = np.compile(lambda pair, flag: {"pair": [pair[1], pair[0] + 1], "flag": flag}, backend="eager")
    for _ in range(3):
        result = function((x, y), True)
        assert result["pair"][0] is y and result["pair"][1].tolist() == [2, 2] and result["flag"] is True
    assert function.cache_info()[:2] == (1, 2)


@pytest.mark.parametrize("given", NUMPYS, ids=["ordinary", "reversed", "tnp's", "read-only", "scalar", "0-d"])
def test_arguments_of_numpy_take_the_written_call(given: Any) -> None:
    """They went through all of the search for a trace at each call."""
    function = np.compile(lambda x: x * 2, backend="eager")
    for _ in range(4):
        assert function(given).tolist() == (given * 2).tolist()
    assert function.cache_info()[:2] == (1, 3)
    assert written((given,), {}, None) is not None
