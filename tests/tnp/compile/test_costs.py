"""fn.cost and fn.profile: what a call costs, by line."""

from __future__ import annotations

from typing import Any

import tnp as np


def compiled(function: Any) -> Any:
    return np.compile(function, backend="eager")


def several(a: Any, b: Any) -> Any:
    c = a @ b
    d = np.exp(c) + 1
    return d.T, np.linalg.inv(c)


def looped(x: Any) -> Any:
    for _ in range(1000):
        x = x * 2
    return np.scan(lambda c, x: (c + x, None), np.zeros(()), x)[0]


def text_of(line: str) -> str:
    file, _, number = line.rpartition(":")
    with open(file) as text:
        return text.read().splitlines()[int(number) - 1].strip()


def test_operations_and_bytes_of_lines() -> None:
    cost = compiled(several).cost(np.ones((10, 20)), np.ones((20, 10)))
    lines = {text_of(line): each for line, each in cost.lines.items()}
    assert lines["c = a @ b"] == (2 * 10 * 20 * 10, 8 * (200 + 200 + 100))
    assert lines["d = np.exp(c) + 1"].operations == 200
    assert lines["return d.T, np.linalg.inv(c)"].operations == 2000
    assert cost.operations == 6200 and cost.bytes == sum(each.bytes for each in lines.values())
    assert next(iter(lines)) == "c = a @ b" and cost.is_known
    assert "6,200" in repr(cost) and "test_costs.py" in repr(cost)


def test_loops_count_their_steps() -> None:
    cost = compiled(looped).cost(np.ones(8))
    lines = {text_of(line): each.operations for line, each in cost.lines.items()}
    assert lines["x = x * 2"] == 8 * 1000 and lines["for _ in range(1000):"] == 2 * 1000  # the test and the counter
    assert lines["return np.scan(lambda c, x: (c + x, None), np.zeros(()), x)[0]"] == 8
    assert cost.is_known
    unknown = compiled(lambda x: np.while_loop(lambda c: c.sum() < 9, lambda c: c + 1, x)).cost(np.ones(8))
    assert not unknown.is_known and "one is counted" in repr(unknown)


def test_a_branch_costs_the_dearer_one() -> None:
    product = compiled(lambda x: np.cond(x[0, 0] > 0, lambda x: x @ x, lambda x: x + 1, x))
    assert product.cost(np.ones((4, 4))).operations >= 2 * 4**3


def test_profile() -> None:
    x, y = np.eye(10), np.eye(10)
    profile = compiled(several).profile(x, y)
    assert {text_of(line) for line in profile.lines} >= {"c = a @ b", "d = np.exp(c) + 1"}
    assert 0 < profile.seconds == sum(profile.lines.values())
    assert "100%" in repr(profile)
    loop = compiled(looped)
    assert "for _ in range(1000):" in map(text_of, loop.profile(np.ones(8)).lines)

    def writes(x: Any) -> None:
        x += 1

    compiled(writes).profile(x)
    assert (x == np.eye(10)).all()
