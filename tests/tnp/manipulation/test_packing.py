"""Packing and unpacking bits does what NumPy's does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracle import ALL, agrees, compare, sample

pytestmark = pytest.mark.usefixtures("computed_by")


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("axis", [None, 0, 1, -1, 2])
@pytest.mark.parametrize("bitorder", ["big", "little", "middle"])
def test_packbits(dtype: str, axis: Any, bitorder: str) -> None:
    compare(
        lambda xp: xp.packbits(sample(xp, (9, 16), dtype), axis=axis, bitorder=bitorder),
        may_raise=(TypeError, ValueError),
    )
    compare(
        lambda xp: xp.packbits(sample(xp, (3, 0), dtype), axis=axis, bitorder=bitorder),
        may_raise=(TypeError, ValueError),
    )


@pytest.mark.parametrize("axis", [None, 0, 1, -2])
@pytest.mark.parametrize("count", [None, 0, 5, 30, -3, -30])
@pytest.mark.parametrize("bitorder", ["big", "little"])
def test_unpackbits(axis: Any, count: Any, bitorder: str) -> None:
    compare(lambda xp: xp.unpackbits(sample(xp, (2, 3), "uint8"), axis, count, bitorder), may_raise=ValueError)


@pytest.mark.parametrize("size", [1, 8, 31, 32, 33, 100, 40_001])
@agrees
def test_bits_of_many_elements(xp: Any, size: int) -> Any:
    x = xp.arange(size) * 7 % 11 % 3
    bits = xp.packbits(x.astype(bool)), xp.packbits(x.astype("uint8")), xp.packbits(x.astype(bool)[::2])
    return bits, [xp.unpackbits(each) for each in bits], xp.unpackbits((x * 77).astype("uint8").reshape(1, -1))


@pytest.mark.parametrize("arguments", [([1, 2],), (3,), ([1.5],), ([1], 5), ([1], None, None, 5)])
def test_arguments(arguments: tuple[Any, ...]) -> None:
    compare(
        lambda xp: xp.unpackbits(xp.asarray(arguments[0]).astype("uint8"), *arguments[1:]),
        may_raise=(ValueError, TypeError),
    )
    compare(lambda xp: xp.unpackbits(*arguments), raises=TypeError)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.booleans(), max_size=40), st.sampled_from(["big", "little"]))
def test_there_and_back(bits: list[bool], bitorder: str) -> None:
    compare(lambda xp: xp.packbits(xp.asarray(bits, bool), bitorder=bitorder))
    compare(lambda xp: xp.unpackbits(xp.packbits(xp.asarray(bits, bool), bitorder=bitorder), bitorder=bitorder))
