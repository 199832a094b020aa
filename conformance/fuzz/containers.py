"""Programs of containers with several names, iterators and objects, compiled as they are written, against NumPy.

Layer: owns how such a program is drawn. A branch or a loop of the graph is traced once: what it changes, and which
variables are one object afterwards, must be as in Python.
"""

from __future__ import annotations

import itertools
import random

from conformance.fuzz import branches, lists

GROUPS = {
    "lists": (
        "p, q = [s, 1.0], [2.0, s * 2]",
        ("p[0] = s", "p[1] += 1.0", "q = p", "p = q", "p = [s, p[1]]", "q = [*p]", "p, q = q, p", "q[0] += p[1] * 0.1"),
        ("s += p[0] * 0.1", "s = s * 0.5 + q[1] * 0.1", "p = q if s > flag else p", "p.append(1.0)"),
        ("[*p]", "[*q]", "len(p)"),
    ),
    "dictionaries": (
        "d, e = {'u': s, 'v': 1.0}, {'u': 2.0, 'v': s}",
        ("d['u'] = s", "e['v'] += 1.0", "e = d", "d = e", "d = dict(e)", "d['u'], e['v'] = e['v'], d['u']"),
        ("s += d['u'] * 0.1", "s = s * 0.5 + e['v'] * 0.1", "e = d if s > flag else e"),
        ("[*d.values()]", "[*e.values()]"),
    ),
    "queues": (
        "g, t = collections.deque([1.0, 2.0], 4), collections.Counter(x=1)",
        ("g.append(1.0)", "g.append(s)", "g.rotate(1)", "t['x'] += 1", "t['y'] = n", "h = g"),
        ("s += g[0] * 0.1", "s = s * 0.5 + len(g) * 0.1", "s += t['x'] * 0.1"),
        ("[*g]", "len(g)", "t['x']", "t['y']"),
    ),
    "iterators": (
        "it, pairs = itertools.count(), zip(range(99), range(99, 0, -1))",
        ("next(it)", "next(pairs)"),
        ("s += next(it) * 0.1", "s = s * 0.5 + next(pairs)[1] * 0.1"),
        ("next(it)", "[*next(pairs)]"),
    ),
    "objects": (
        "o = Box(s)\n    r = o",
        ("o.v = s", "o.v += 1.0", "o.push(s)", "r.l[0] += 1.0", "r = o", "o = Box(s)", "Box.made += 1"),
        ("s += o.v * 0.1", "s = s * 0.5 + r.l[0] * 0.1"),
        ("o.v", "r.v", "[*o.l]", "len(r.l)", "Box.made"),
    ),
}
"""For each kind of objects the first values, what changes them, what reads them, and what the program may return."""
NAMES = {f"{one}+{other}" for one, other in itertools.combinations(sorted(GROUPS), 2)}
STEPS = ("s = s * 0.5 + b[i % 3, 0]", "n += 1", "a[i % 3, 1] += s", "s = s - a[i % 3, 2] * 0.25")
HEAD = """import collections
import itertools


class Box:
    __slots__ = ("l", "v")
    made = 0

    def __init__(self, v):
        self.v, self.l = v, [1.0]

    def push(self, v):
        self.v += v
        self.l.append(2.0)


"""


def _block(rng: random.Random, kinds: list[str], depth: int) -> list[str]:
    lines = []
    for _ in range(rng.randint(1, 3)):
        drawn, (_, changes, reads, _) = rng.random(), GROUPS[rng.choice(kinds)]
        if drawn < 0.35:
            lines.append(rng.choice(changes))
        elif drawn < 0.5:
            lines.append(rng.choice(reads))
        elif drawn < 0.7 or depth == 2:
            lines.append(rng.choice(STEPS))
        else:
            lines += [
                f"if {rng.choice(('s > flag', 'i % 3 == 1', 'b[i % 3, 1] > 2', 's * flag > 0', 'n % 2 == 0'))}:",
                *branches._indented(_block(rng, kinds, depth + 1)),
            ]
            if rng.random() < 0.5:
                lines += ["else:", *branches._indented(_block(rng, kinds, depth + 1))]
    return lines


def drawn(seed: str, machine_code: int = 0, index: int = 0) -> lists.Program:
    """Draw a program; each so many by machine code."""
    rng = random.Random(seed)
    kinds = sorted(rng.sample(list(GROUPS), 2))
    possible = [each for kind in kinds for each in GROUPS[kind][3]] + ["s", "n", "a"]
    steps = _block(rng, kinds, 0)
    lines = [
        "s, n = a[0, 0] * 1, 3",
        "Box.made = 0",
        *[GROUPS[kind][0] for kind in kinds],
        *(
            [f"for i in range({rng.choice((9, 33))}):", *branches._indented(steps)]
            if rng.random() < 0.7
            else ["i = 4", *steps]
        ),
        *_block(rng, kinds, 1),
        f"return {', '.join(rng.sample(possible, rng.randint(2, 5)))},",
    ]
    source = "\n".join([f"{HEAD}def program(np, flag, a, b):", *branches._indented(lines), ""])
    backend = None if machine_code and index % machine_code == 0 else "eager"
    return lists.Program(source, "+".join(kinds), False, rng.random() < 0.3, backend)
