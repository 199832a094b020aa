"""NumPy's helpers for ctypes: the memory is shared, whoever writes to it."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy
import pytest

import tnp
from tests.oracle import compare, placed

pytestmark = pytest.mark.reads


def memset(xp: Any, array: Any, **checks: Any) -> Any:
    """Have C write 16 zero bytes to an array that it takes by these checks."""
    function = ctypes.CDLL(None).memset
    function.argtypes = [xp.ctypeslib.ndpointer(**checks), ctypes.c_int, ctypes.c_size_t]
    function(array, 0, 16)
    return array


@pytest.mark.host
@pytest.mark.parametrize(
    "checks",
    [
        {},
        {"dtype": "f8", "ndim": 2, "shape": (2, 3), "flags": "C_CONTIGUOUS"},
        {"dtype": numpy.float64, "flags": ["C", "W"]},
    ],
)
def test_a_c_function_writes_to_the_array(checks: dict[str, Any]) -> None:
    compare(lambda xp: memset(xp, placed(xp, numpy.ones((2, 3))), **checks))


@pytest.mark.host
@pytest.mark.parametrize(
    "checks", [{"dtype": "f4"}, {"ndim": 1}, {"shape": (3, 2)}, {"flags": "F_CONTIGUOUS"}, {"flags": "no"}]
)
def test_another_array_is_refused(checks: dict[str, Any]) -> None:
    refused = KeyError if checks == {"flags": "no"} else ctypes.ArgumentError
    compare(lambda xp: memset(xp, placed(xp, numpy.ones((2, 3))), **checks), raises=refused)
    compare(lambda xp: memset(xp, [1.0, 2.0], **checks), raises=refused)


@pytest.mark.host
def test_a_read_only_array() -> None:
    def function(xp: Any) -> Any:
        array = xp.broadcast_to(placed(xp, numpy.ones(1)), (3,))
        return memset(xp, array, flags="W")

    compare(function, raises=ctypes.ArgumentError)
    compare(lambda xp: xp.ctypeslib.as_ctypes(xp.broadcast_to(placed(xp, numpy.ones(1)), (3,))), raises=TypeError)


@pytest.mark.host
def test_views_both_ways() -> None:
    x = tnp.zeros((2, 3))
    tnp.ctypeslib.as_ctypes(x)[1][2] = 5.0
    assert x.tolist() == [[0, 0, 0], [0, 0, 5]]
    memory = (ctypes.c_int32 * 3)(1, 2, 3)
    y = tnp.ctypeslib.as_array(memory)
    y[0] = 7
    assert isinstance(y, tnp.ndarray) and list(memory) == [7, 2, 3]
    pointer = ctypes.cast(memory, ctypes.POINTER(ctypes.c_int32))
    assert tnp.ctypeslib.as_array(pointer, (2,)).tolist() == [7, 2]
    with pytest.raises(TypeError, match="as_array"):
        tnp.ctypeslib.as_array(pointer)
    compare(lambda xp: xp.ctypeslib.as_ctypes(placed(xp, numpy.ones((2, 3))).T), raises=TypeError)


@pytest.mark.host
def test_a_result_is_an_array() -> None:
    x = tnp.arange(3.0)
    kind = tnp.ctypeslib.ndpointer(numpy.float64, shape=(3,))
    function = ctypes.CDLL(None).memcpy
    function.argtypes, function.restype = [kind, kind, ctypes.c_size_t], kind
    y = tnp.zeros(3)
    result = function(y, x, 24)
    assert isinstance(result, tnp.ndarray)
    result[0] = 9
    assert y.tolist() == [9, 1, 2] and tnp.ctypeslib.ndpointer(numpy.float64, shape=(3,)) is kind


def test_an_array_without_memory_is_refused() -> None:
    kind = tnp.ctypeslib.ndpointer()
    with pytest.raises(tnp.TracedValueError, match="the value of a traced array"):
        tnp.compile(lambda x: kind.from_param(x), backend="eager", fullgraph=True)(tnp.ones(3))


def test_a_compiled_function_is_cut_where_it_calls_c() -> None:
    with pytest.warns(RuntimeWarning, match="CDLL does something else at each call"):
        result = tnp.compile(lambda x: memset(tnp, x) + 1, backend="eager")(tnp.ones(3))
    assert result.tolist() == [1, 1, 2]
