"""Nothing of torch's is changed for code that is not tnp's."""

from __future__ import annotations

import functools
import re

from tests import processes

# What has been patched of torch at one time or another: where the code of each comes from.
ATTRIBUTES = """
import builtins, torch, torch._dynamo, torch._higher_order_ops.triton_kernel_wrap, torch._inductor.compile_fx
from torch._dynamo.variables.builder import SourcelessBuilder, VariableBuilder
from torch._dynamo.variables.builtin import BuiltinVariable
from torch._dynamo.variables.misc import NumpyDTypeVariable, StringFormatVariable
from torch._dynamo.variables.torch import TorchInGraphFunctionVariable
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.codegen.cpp import CppVecOverrides
from torch._inductor.cpu_vec_isa import VecISA
from torch._inductor.fx_passes import post_grad, reinplace
from torch._subclasses.fake_tensor import fake_tensor_tls
from torch._higher_order_ops.effects import _get_effect
from torch.fx import proxy

def origin(value):
    value = getattr(value, "__func__", value)
    code = getattr(value, "__code__", None)
    return repr(value) if code is None else (code.co_filename, code.co_firstlineno)

for kind in (BuiltinVariable, StringFormatVariable, NumpyDTypeVariable, SourcelessBuilder, VariableBuilder,
             TorchInGraphFunctionVariable, CppVecOverrides, AsyncCompile, VecISA, post_grad, reinplace):
    for name, value in sorted(vars(kind).items()):
        if callable(getattr(value, "__func__", value)):
            print(kind.__name__, name, origin(value))
print(origin(post_grad.noop_registry[torch.ops.aten.clone.default][0]))
for operation, value in reinplace.inplaceable_ops.items():
    print(operation, origin(value.extra_check))
for kind, value in proxy._create_arg_bypass.items():
    print(kind, origin(value))
print(builtins.__import__, torch._dynamo, torch._higher_order_ops.triton_kernel_wrap)
print(_get_effect(torch.ops.aten._linalg_check_errors.default), fake_tensor_tls.allow_non_fake_inputs_override)
"""

COMPILES = """
import tnp as np
x = np.linspace(0, 1, 100)
np.compile(lambda x: np.exp(x) @ np.flip(x) + np.linalg.inv(np.eye(2) * x[1])[0, 0])(x)
np.compile(lambda x: x + np.random.default_rng(0, device="cpu").random(100), backend="eager")(x)
np.grad(np.compile(lambda x: (x * np.exp(x)).sum()))(x)
"""

THEIRS = """
import torch, torch._dynamo, warnings

class Theirs:
    def __init__(self, number):
        self.number = number
    def __matmul__(self, other):
        return Theirs(self.number * 10 + other.number)
    def __imatmul__(self, other):
        self.number += other.number
        return self
    def __invert__(self):
        return Theirs(-self.number)
    def __divmod__(self, other):
        return self.number // other, self.number % other
    def __format__(self, spec):
        return f"<{self.number}{spec}>"

def changed(theirs):
    text = f"{theirs}"
    theirs.number += 1
    return text

def generator(x):
    return x + torch.rand(2, generator=torch.Generator().manual_seed(0))

import numpy
def dtypes(x):
    return {numpy.dtype("int8"): 1}[numpy.dtype("int8")] + x

cases = [
    lambda x: (Theirs(2) @ Theirs(3)).number + x, lambda x: (~Theirs(2)).number + x, changed,
    lambda x: divmod(Theirs(7), 2)[1] + x, lambda x: f"{x:+}!" if isinstance(x, Theirs) else f"{x.shape}",
    lambda x: f"{x}", generator, dtypes,
]
constant = torch.tensor(2.0)
for full in (True, False):
    for number, case in enumerate(cases):
        for given in (torch.ones(2), Theirs(5)):
            torch._dynamo.reset()
            torch._dynamo.utils.counters.clear()
            try:
                result = torch.compile(case, backend="eager", fullgraph=full)(given)
            except Exception as error:
                result = type(error).__name__, str(error).partition("from user code")[0]
            print(full, number, type(given).__name__, result, dict(torch._dynamo.utils.counters["graph_break"]))
"""

MET = """
import torch, tnp as np
graph = np.compile(lambda x: x + 1, backend="eager").graph(np.ones(3))  # before torch's compilers are imported
from torch._subclasses.fake_tensor import fake_tensor_tls
for _ in range(2):
    torch._dynamo.reset()
    assert torch.compile(lambda x: np.sin(x) @ ~(x > 2), backend="eager", fullgraph=True)(np.ones(2)) > 1
assert fake_tensor_tls.allow_non_fake_inputs_override is None
"""


NEXT = "\nprint('next')\n"


@functools.cache
def run(*parts: str) -> list[list[str]]:
    """Return what a new process prints after each part of a program, which is run once."""
    code = "import warnings; warnings.simplefilter('ignore')\n" + NEXT.join(parts)
    done = processes.run("-c", code, after="import torch")
    assert done.returncode == 0, done.stderr
    return [part.splitlines() for part in re.sub(r"0x\w+", "", done.stdout).split("next\n")]


def torchs() -> list[list[str]]:
    """What is printed where tnp is not imported."""
    return run(ATTRIBUTES, THEIRS)


def test_torch_is_as_it_was_after_tnp_compiled() -> None:
    assert run(COMPILES + ATTRIBUTES) == torchs()[:1]


def test_torch_is_as_it_was_after_tnp_met_it() -> None:
    """Before torch's compilers are imported, and after that with a compiled function."""
    assert run(MET + ATTRIBUTES, COMPILES + ATTRIBUTES, THEIRS) == [torchs()[0], *torchs()]


def test_torch_compile_of_others_classes_is_the_same() -> None:
    assert run("import tnp\n" + THEIRS) == torchs()[1:]
