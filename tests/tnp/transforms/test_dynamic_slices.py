"""dynamic_slice and dynamic_update_slice: places known at run time, clamped; in every transform."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import tnp as np
from tests.oracle import placed

M = numpy.arange(12.0).reshape(3, 4)


def same(found: Any, expected: Any) -> None:
    numpy.testing.assert_array_equal(np.asnumpy(np.asarray(found)), expected)


def clamped(start: int, size: int, length: int) -> int:
    return max(0, min(start + length if start < 0 else start, length - size))


@pytest.mark.parametrize("row", [-9, -2, 0, 1, 2, 7])
@pytest.mark.parametrize("column", [-1, 0, 3, 9])
def test_read_and_written(row: int, column: int) -> None:
    i, j = clamped(row, 2, 3), clamped(column, 3, 4)
    expected = M[i : i + 2, j : j + 3]
    written = M.copy()
    written[i : i + 2, j : j + 3] = -1
    read = lambda m, i, j: np.dynamic_slice(m, (i, j), (2, 3))  # noqa: E731
    write = lambda m, i, j: np.dynamic_update_slice(m, -np.ones((2, 3)), (i, j))  # noqa: E731
    m, places = placed(np, M), (placed(np, row), placed(np, column))
    for starts in ((row, column), places, (row, places[1])):
        same(read(m, *starts), expected)
        same(write(m, *starts), written)
    same(np.compile(read, backend="eager")(m, *places), expected)
    same(np.compile(write, backend="eager")(m, *places), written)
    same(m, M)


def test_under_transforms() -> None:
    m, i = placed(np, M), np.asarray([0, 1])
    read = lambda m, i: np.dynamic_slice(m, (i, i), (2, 2))  # noqa: E731
    write = lambda m, part, i: np.dynamic_update_slice(m, part, (i, i))  # noqa: E731
    same(np.vmap(read, (None, 0))(m, i), [M[:2, :2], M[1:, 1:3]])
    slopes = numpy.zeros_like(M)
    slopes[1:, 1:3] = 2 * M[1:, 1:3]
    loss = lambda m: (read(m, i[1]) ** 2).sum()  # noqa: E731
    same(np.grad(loss)(m), slopes)
    same(np.compile(np.grad(loss), backend="eager")(m), slopes)
    part = -np.ones((1, 2))
    changed = np.vmap(write, (None, None, 0))(m, part, i)
    same(changed[1][1], [4, -1, -1, 7])
    same(np.grad(lambda part: (write(m, part, i[1]) ** 2).sum())(part), [[-2, -2]])
    same(np.grad(lambda m: write(m, part, i[1]).sum())(m)[1], [1, 0, 0, 1])
    with np.GradientTape() as tape:
        tape.watch(m)
        y = read(m, i[0]).sum()
    same(tape.gradient(y, m)[0], [1, 1, 0, 0])
    read(m, 0)[...] = 9
    same(m, M)


def test_what_is_refused() -> None:
    with pytest.raises(TypeError, match="integer"):
        np.dynamic_slice(M, (np.asarray(0.5), 0), (1, 1))
    with pytest.raises(TypeError, match="does not fit"):
        np.dynamic_slice(M, (0, 0), (4, 1))
    with pytest.raises(TypeError, match="1 starts"):
        np.dynamic_update_slice(M, np.ones((1, 1)), (0,))
