"""Traces ask torch's compilers nothing, and leave torch as it was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

PROGRAM = """
import builtins, sys
import torch
import tnp as np

theirs = builtins.__import__
seen = []

def function(x):
    seen.append(builtins.__import__ is not theirs)
    return np.exp(x) + 1

def traced():
    graph = np.compile(function, backend="eager").graph(np.ones(3))
    return [line.partition("#")[0] for line in str(graph).splitlines()]

first = traced()
assert seen == [True]
assert builtins.__import__ is theirs
assert not {"torch._dynamo", "torch._inductor", "sympy"} & set(sys.modules)
assert "_dynamo" not in vars(torch)

# In a trace that sets one of Dynamo's settings, it is Dynamo's.
def setting(x):
    torch._dynamo.config.recompile_limit = 3
    return x + 1

np.compile(setting, backend="eager").graph(np.ones(3))
import torch._dynamo
assert torch._dynamo.config.recompile_limit == 3
assert type(torch._dynamo).__name__ == "module"

# What was left alone before is disabled now, and the same function is the same graph.
assert traced() == first
assert seen == [True, False]
assert torch.compile(lambda x: x + 1, backend="eager", fullgraph=True)(torch.ones(2)).tolist() == [2.0, 2.0]
"""


def test_a_trace_leaves_torch_as_it_was() -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
