"""What became of a compiled function: its graphs, what they keep as loops and branches, and where they are cut.

Layer: owns the text of ``fn.explain``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tnp._compile.graph import Graph

_KEPT = {"cond": "branch", "switch": "branch", "while_loop": "loop", "scan": "loop"}


@dataclass(frozen=True)
class Explanation:
    """The result of ``fn.explain(*args)``; its text has a line for each place of the program.

    Attributes
    ----------
    name : str
        The function and its first line.
    graphs : tuple of Graph
        The graphs that it became.
    cuts : dict
        File and line of each statement that Python runs at each call -> why.
    places : tuple of (str, int, str)
        File, line, and what became of the statements there.
    """

    name: str
    graphs: tuple[Graph, ...]
    cuts: dict[str, str]
    places: tuple[tuple[str, int, str], ...]

    def __str__(self) -> str:
        count = sum(sum(graph.counts().values()) - _ends(graph) for graph in self.graphs)
        head = f"{self.name}: {_many(len(self.graphs), 'graph')}, {_many(count, 'operation')}"
        head += f", {_many(len(self.cuts), 'cut')}" if self.cuts else ""
        rows = sorted(set(self.places))
        return "\n".join([head, *[f"  {os.path.basename(file)}:{line}: {text}" for file, line, text in rows]])

    __repr__ = __str__


def kept(graph: Graph) -> Iterator[tuple[str, int, str]]:
    """Yield the places of a graph's loops, branches and calls of Python."""
    for operation in graph:
        what = _KEPT.get(operation.op)
        text = f"a {what} of the graph" if what else "Python is called back" if operation.op == "call" else None
        if text and operation.line:
            file, _, line = operation.line.rpartition(":")
            yield file, int(line), text
        for inner in operation.graphs.values():
            yield from kept(inner)


def _ends(graph: Graph) -> int:
    """Return how many of the operations are inputs and outputs."""
    counts = graph.counts()
    return counts["input"] + counts["output"]


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def cut_places(cuts: dict[str, str]) -> Iterable[tuple[str, int, str]]:
    """Yield the places where a function is cut."""
    for place, why in cuts.items():
        file, _, line = place.rpartition(":")
        yield file, int(line), f"cut: {why}; Python runs this statement"
