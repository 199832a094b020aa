"""Pictures of graphs: operations in rows from inputs to results, as dot or as SVG that needs nothing else.

Layer: owns where the boxes stand. What is in them belongs to the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_CHARACTER, _LINE, _GAP, _ROW = 7, 16, 24, 40  # pixels: of a letter, a line, between boxes and between rows
_COLORS = {"input": "#d5e8d4", "output": "#f8cecc"}


@dataclass(frozen=True)
class Box:
    """A named box with lines of text, and the boxes that it follows."""

    name: str
    lines: tuple[str, ...]
    after: tuple[str, ...]
    kind: str

    @property
    def width(self) -> int:
        """In pixels."""
        return max(map(len, self.lines)) * _CHARACTER + 16

    @property
    def height(self) -> int:
        """In pixels."""
        return len(self.lines) * _LINE + 10


def dot(boxes: Sequence[Box]) -> str:
    """The boxes in Graphviz's language."""
    lines = ["digraph {", '  node [shape=box, style=filled, fillcolor="#dae8fc", fontname="monospace", fontsize=10];']
    for box in boxes:
        label = _quoted("\n".join(box.lines))
        color = f", fillcolor={_quoted(_COLORS[box.kind])}" if box.kind in _COLORS else ""
        lines.append(f"  {_quoted(box.name)} [label={label}{color}];")
        lines += [f"  {_quoted(before)} -> {_quoted(box.name)};" for before in box.after]
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def svg(boxes: Sequence[Box]) -> str:
    """The boxes as a picture: each below all that it follows, near the middle of them."""
    rows: dict[int, list[Box]] = {}
    rank: dict[str, int] = {}
    for box in boxes:
        rank[box.name] = 1 + max([rank[before] for before in box.after], default=-1)
        rows.setdefault(rank[box.name], []).append(box)
    middle: dict[str, float] = {}
    top: dict[str, int] = {}
    by_name = {box.name: box for box in boxes}
    y = width = 10
    for _, row in sorted(rows.items()):
        row.sort(key=lambda box: sum(middle[b] for b in box.after) / max(len(box.after), 1))
        x = 10.0
        for box in row:
            wanted = sum(middle[b] for b in box.after) / len(box.after) - box.width / 2 if box.after else x
            x = max(x, wanted)
            middle[box.name], top[box.name] = x + box.width / 2, y
            x += box.width + _GAP
            width = max(width, round(x))
        y += max(box.height for box in row) + _ROW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y}" font-family="monospace" font-size="11">',
        '<defs><marker id="end" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z"/></marker></defs>',
    ]
    for box in boxes:
        for before in box.after:
            start, end = top[before] + by_name[before].height, top[box.name]
            half = (start + end) / 2
            parts.append(
                f'<path d="M{middle[before]:.0f},{start} C{middle[before]:.0f},{half:.0f} {middle[box.name]:.0f},'
                f'{half:.0f} {middle[box.name]:.0f},{end}" fill="none" stroke="black" marker-end="url(#end)"/>'
            )
        left = middle[box.name] - box.width / 2
        color = _COLORS.get(box.kind, "#dae8fc")
        parts.append(
            f'<rect x="{left:.0f}" y="{top[box.name]}" width="{box.width}" height="{box.height}" rx="4" '
            f'fill="{color}" stroke="black"/>'
        )
        for number, line in enumerate(box.lines):
            baseline = top[box.name] + 5 + _LINE * (number + 1) - 4
            parts.append(f'<text x="{left + 8:.0f}" y="{baseline}">{escape(line)}</text>')
    return "\n".join([*parts, "</svg>"])
