"""The cost of a call of a compiled function, by line: operations, bytes, and time.

Layer: owns how the cost is shown; the backend knows the cost of each operation.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class LineCost(NamedTuple):
    """The cost of all operations of a line."""

    operations: int
    bytes: int


class Cost:
    """The result of ``fn.cost(*args)``.

    Attributes
    ----------
    operations : int
        Arithmetic operations: two for each pair of elements of a product, one for each element of the largest operand
        or result of another operation, none of a copy or a view.
    bytes : int
        The bytes that the operations read and write one by one. Machine code that fuses operations moves fewer.
    is_known : bool
        False if there is a loop whose number of steps depends on values: one step of it is counted.
    lines : dict of str to LineCost
        The same for each line of the program, ``"file:line"``, the most expensive first.
    """

    def __init__(self, costs: Sequence[Any]) -> None:
        self.operations = sum([cost.operations for cost in costs])
        self.bytes = sum([cost.bytes for cost in costs])
        self.is_known = all(cost.known for cost in costs)
        lines: dict[str, LineCost] = {}
        for cost in costs:
            operations, moved = lines.get(cost.line, (0, 0))
            lines[cost.line] = LineCost(operations + cost.operations, moved + cost.bytes)
        self.lines = dict(sorted(lines.items(), key=lambda item: (-item[1].operations, -item[1].bytes)))

    def __repr__(self) -> str:
        note = "" if self.is_known else ", and more steps of loops, of which one is counted"
        rows = [f"{o:>14,} {b:>14,}  {_short(line)}" for line, (o, b) in self.lines.items()]
        return "\n".join([f"{self.operations:>14,} {self.bytes:>14,}  operations, bytes{note}", *rows])


class Profile:
    """The result of ``fn.profile(*args)``.

    Attributes
    ----------
    seconds : float
        The time of all lines, whose operations ran one by one: machine code takes less.
    lines : dict of str to float
        The seconds of each line, ``"file:line"``, the longest first.
    """

    def __init__(self, lines: Mapping[str, float]) -> None:
        self.lines = dict(sorted(lines.items(), key=lambda item: -item[1]))
        self.seconds = sum(self.lines.values())

    def __repr__(self) -> str:
        rows = [
            f"{1e6 * taken:>12,.1f} us {taken / self.seconds:>5.0%}  {_short(at)}" for at, taken in self.lines.items()
        ]
        return "\n".join([f"{1e6 * self.seconds:>12,.1f} us  100%", *rows])


def _short(line: str) -> str:
    return os.path.basename(line)
