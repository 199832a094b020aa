"""Products: sums of products over matched axes, on every dtype and device.

Layer: owns the torch code that multiplies matrices of a dtype, and substitutes where torch has none: booleans anywhere,
unsigned integers wider than a byte anywhere, integers on an accelerator
(https://github.com/pytorch/pytorch/issues/44428).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from string import ascii_letters
from typing import Any

import numpy as np
import torch
from torch.fx import GraphModule

from backend_torch.kernels import graph_operations, host
from backend_torch.kernels.kernel import Kernel, same_bits
from backend_torch.tensors import devices
from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import SIGNED
from backend_torch.tensors.memory import owned
from backend_torch.tensors.out_of_memory import explaining
from backend_torch.tensors.shape import has_sizes, iterated, laid_out
from backend_torch.torch_private import functorch, modes

Tensor = torch.Tensor
Bilinear = Callable[[Tensor, Tensor], Tensor]

_EXACT = 53  # bits of a float64's significand


def in_limbs(function: Bilinear, one: Tensor, other: Tensor, terms: int) -> Tensor:
    """Sum ``terms`` products of integers, modulo the width of their dtype, by products of float64.

    Integers are cut into limbs so small that each float64 sum is exact: 16 bits for up to 2**21 terms, else 8.
    """
    dtype = one.dtype
    width = 16 if terms <= 1 << (_EXACT - 32) else 8
    count = max(1, dtype.itemsize * 8 // width)
    left, right = _limbs(one, width, count), _limbs(other, width, count)
    total: Any = 0
    for i, low in enumerate(left):
        for j, high in enumerate(right[: count - i]):  # higher limbs are multiples of the modulus
            total = total + (function(low, high).to(torch.int64) << width * (i + j))
    return total.to(dtype)


def _limbs(tensor: Tensor, width: int, count: int) -> list[Tensor]:
    """Return the ``count`` low limbs of integers in two's complement, each as a non-negative float64."""
    tensor = tensor.to(torch.int64)
    mask = (1 << width) - 1
    return [(tensor >> width * i & mask).to(torch.float64) for i in range(count)]


def _integer_matmul(one: Tensor, other: Tensor) -> Tensor:
    if one.device.type == "cpu" and other.device.type == "cpu":
        return torch.matmul(one, other)
    return in_limbs(torch.matmul, one, other, one.shape[-1] if one.dim() else 0)


def _boolean_matmul(one: Tensor, other: Tensor) -> Tensor:
    """Whether any of the products is true: a sum of float32 that are not negative is zero only if all of them are."""
    return torch.matmul(one.float(), other.float()) > 0


# torch multiplies float32 by MKL, which leaves half of a processor idle if it is not Intel's. From 256x256 on oneDNN,
# which torch contains for its own compiler, takes half the time there.
LARGE = 1 << 16


@functools.cache
def prefers_onednn() -> bool:
    """Whether oneDNN computes large products of float32 on this machine's CPU."""
    if not torch.backends.mkldnn.is_available() or not torch.backends.mkl.is_available():
        return False
    if not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        return False
    return devices.cpu_fact("vendor_id") not in (None, "GenuineIntel")


def _onednn_matmul(one: Tensor, other: Tensor) -> Tensor:
    return torch.ops.mkldnn._linear_pointwise(one, other.mT, None, "none", [], "")


# The same as an operation of a graph: Inductor takes oneDNN's own operation for a layer with constant weights.
_library = torch.library.Library("tnp", "DEF")
_library.define("mm(Tensor one, Tensor other) -> Tensor")
_library.impl("mm", _onednn_matmul, "CPU")
graph_operations.direct("mm", _onednn_matmul)
torch.library.register_fake("tnp::mm", lambda one, other: one.new_empty((one.shape[0], other.shape[1])), lib=_library)


class _OneDNN(torch.autograd.Function):
    """Multiply two float32 matrices by oneDNN, which also computes the derivatives."""

    @staticmethod
    def forward(ctx: Any, one: Tensor, other: Tensor) -> Tensor:
        ctx.save_for_backward(one, other)
        return _onednn_matmul(one, other)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        one, other = ctx.saved_tensors
        return (
            _float32_matmul(gradient, other.mT) if ctx.needs_input_grad[0] else None,
            _float32_matmul(one.mT, gradient) if ctx.needs_input_grad[1] else None,
        )


def _float32_matmul(one: Tensor, other: Tensor) -> Tensor:
    if one.numel() < LARGE or other.numel() < LARGE or one.dim() != 2 or other.dim() != 2:
        return torch.matmul(one, other)
    if one.device.type != "cpu" or other.device.type != "cpu" or one.shape[1] != other.shape[0]:
        return torch.matmul(one, other)
    if modes.number() or functorch.innermost() is not None:
        return torch.matmul(one, other)  # traces and transforms know this operation; the compiler chooses for itself
    return _OneDNN.apply(one, other)


# Of a matrix and its own transpose NumPy's loop computes a half of the product; for a matrix of one row or column it
# calls another function of its library, which takes half of the time of torch's.
_library.define("numpy_mm(Tensor one, Tensor other) -> Tensor")


def _numpy_matmul(one: Tensor, other: Tensor) -> Tensor:
    product: Tensor = host.called(np.matmul, one, other)
    return product


_library.impl("numpy_mm", _numpy_matmul, "CPU")
graph_operations.direct("numpy_mm", _numpy_matmul)
torch.library.register_fake(
    "tnp::numpy_mm", lambda one, other: one.new_empty((one.shape[0], other.shape[1])), lib=_library
)


def choose(module: GraphModule) -> None:
    """Let graphs compute large products as eager code does."""
    aten = torch.ops.aten
    for node in module.graph.find_nodes(op="call_function", target=aten.mm.default):
        values = [argument.meta["val"] for argument in node.args]
        if not all(v.is_cpu and v.dtype in (torch.float32, torch.float64) and has_sizes(v) for v in values):
            continue
        if 1 in (values[0].shape[0], values[1].shape[1]) and max(v.numel() for v in values) >= LARGE:
            node.target = torch.ops.tnp.numpy_mm.default
            continue
        if min(v.numel() for v in values) < LARGE:
            continue
        is_own = any(
            each.target is aten.permute.default and each.args[0] is other and list(each.args[1]) == [1, 0]
            for each, other in (node.args, node.args[::-1])
        )
        if is_own:
            node.target = torch.ops.tnp.numpy_mm.default
        elif values[0].dtype is torch.float32 and prefers_onednn():
            node.target = torch.ops.tnp.mm.default
    module.recompile()


class Product(Kernel):
    """A product of two tensors of one dtype, built on a matrix product.

    Parameters
    ----------
    shaped : callable
        ``shaped(matmul)`` is the product's function, given the matrix product of the dtype.
    """

    __slots__ = ("shaped",)

    def __init__(self, shaped: Callable[[Bilinear], Bilinear]) -> None:
        super().__init__(shaped(torch.matmul))
        self.shaped = shaped

    def resolve(self, *dtypes: torch.dtype) -> Bilinear:
        """Return the function for operands of this dtype."""
        dtype = dtypes[0]
        if dtype is torch.bool:
            return self.shaped(_boolean_matmul)
        if dtype in SIGNED:
            return self.shaped(same_bits(_integer_matmul))
        if dtype is torch.float32 and prefers_onednn():
            return self.shaped(_float32_matmul)
        if dtype.is_floating_point or dtype.is_complex:
            return self.default
        return self.shaped(_integer_matmul)


# A one-dimensional "matrix" has no mT and a 0-d "vector" no unsqueeze(-2), but matmul would accept them.


def _matvec(product: Bilinear) -> Bilinear:
    return _together(lambda matrix, vector: product(vector.unsqueeze(-2), matrix.mT).squeeze(-2))


def _vecmat(product: Bilinear) -> Bilinear:
    return _together(lambda vector, matrix: product(matrix.mT, vector.conj().unsqueeze(-2).mT).squeeze(-1))


def _vecdot(product: Bilinear) -> Bilinear:
    return _together(
        lambda one, other: product(one.conj().unsqueeze(-2), other.unsqueeze(-2).mT).squeeze(-1).squeeze(-1)
    )


def _together(function: Bilinear) -> Bilinear:
    """Check that operands are on one device: torch multiplies a vector on the CPU by a meta tensor's absent memory."""

    def checked(one: Tensor, other: Tensor) -> Tensor:
        if one.is_meta is not other.is_meta:  # torch refuses the other mixtures itself
            raise devices.mixed(one.device, other.device)
        return function(one, other)

    return checked


matmul = Product(_together)
matvec = Product(_matvec)
vecmat = Product(_vecmat)
vecdot = Product(_vecdot)


@explaining
def contract(one: Tensor, other: Tensor, one_axes: Sequence[int], other_axes: Sequence[int]) -> Tensor:
    """Sum products over pairs of axes of equal lengths; the other axes of ``one`` come first.

    Both tensors become matrices, so that the matrix product serves every dtype.
    """
    one_free = [axis for axis in range(one.dim()) if axis not in one_axes]
    other_free = [axis for axis in range(other.dim()) if axis not in other_axes]
    rows = [one.shape[axis] for axis in one_free]
    columns = [other.shape[axis] for axis in other_free]
    terms = math.prod([one.shape[axis] for axis in one_axes])
    if not one_free and not other_free:  # vectors: torch's row times column takes four times as long
        left, right = (t.permute(tuple(axes)).reshape(terms) for t, axes in ((one, one_axes), (other, other_axes)))
        return matmul.resolve(one.dtype)(left, right)
    left = one.permute((*one_free, *one_axes)).reshape(math.prod(rows), terms)
    right = other.permute((*other_axes, *other_free)).reshape(terms, math.prod(columns))
    return matmul.resolve(one.dtype)(left, right).reshape((*rows, *columns))


@explaining
def einsum(inputs: Sequence[str], output: str, tensors: Sequence[Tensor]) -> Tensor:
    """``torch.einsum`` with all subscripts as letters, for tensors and a result of one dtype.

    One operand without a sum gives a view, as in NumPy.
    """
    dtype = tensors[0].dtype
    if len(set().union(*inputs)) > len(ascii_letters):
        return _without_ones(inputs, output, tensors)
    if dtype in SIGNED:
        signed = SIGNED[dtype]
        return einsum(inputs, output, [tensor.view(signed) for tensor in tensors]).view(dtype)
    if len(tensors) > 1 and set(output) == set().union(*inputs) and all(len(set(term)) == len(term) for term in inputs):
        aligned = [_aligned(term, output, tensor) for term, tensor in zip(inputs, tensors, strict=True)]
        return functools.reduce(torch.mul, aligned)  # torch.einsum takes a product of matrices for it
    if dtype is torch.bool and len(tensors) > 1:
        return einsum(inputs, output, [tensor.float() for tensor in tensors]) > 0
    if len(tensors) == 1 or dtype.is_floating_point or dtype.is_complex:
        # torch sums integers and booleans of a single operand in int64.
        return cast(torch.einsum(f"{','.join(inputs)}->{output}", *tensors), dtype)
    # Integers two at a time, from the left.
    subscripts, result = inputs[0], tensors[0]
    for i in range(1, len(tensors)):
        later = "".join([*inputs[i + 1 :], output])
        kept = (
            output if i + 1 == len(tensors) else "".join(s for s in dict.fromkeys(subscripts + inputs[i]) if s in later)
        )
        result = _integer_pair(subscripts, inputs[i], kept, result, tensors[i])
        subscripts = kept
    return result


def summed(inputs: Sequence[str], output: str, tensors: Sequence[Tensor]) -> Tensor:
    """`einsum` in memory of its own, in the order in which NumPy's iterator sorts the axes of all operands."""
    result = einsum(inputs, output, tensors)
    if len(output) < 2 or not all(map(has_sizes, tensors)):
        return owned(result)
    letters = dict.fromkeys((*output, *"".join(inputs)))
    strides = []
    for term, tensor in zip(inputs, tensors, strict=True):
        steps = dict.fromkeys(letters, 0)
        for s, n, stride in zip(term, tensor.shape, tensor.stride(), strict=True):
            steps[s] += 0 if n == 1 else stride
        strides.append([*steps.values()])
    return owned(laid_out(result, tuple([axis for axis in iterated(strides) if axis < len(output)])))


def _aligned(term: str, output: str, tensor: Tensor) -> Tensor:
    """Return a view with the axes of the output, of length one where an operand has none."""
    tensor = tensor.permute([term.index(s) for s in output if s in term])
    for axis, s in enumerate(output):
        tensor = tensor if s in term else tensor.unsqueeze(axis)
    return tensor


def _without_ones(inputs: Sequence[str], output: str, tensors: Sequence[Tensor]) -> Tensor:
    """Drop the axes of length one, for more subscripts than torch has letters."""
    long = {
        s
        for term, tensor in zip(inputs, tensors, strict=True)
        for s, n in zip(term, tensor.shape, strict=True)
        if n != 1
    }
    if len(long) > len(ascii_letters):
        raise ValueError(f"einsum takes {len(ascii_letters)} subscripts of axes that are longer than one")
    letters = {s: ascii_letters[i] for i, s in enumerate(sorted(long))}
    terms = ["".join([letters[s] for s in term if s in long]) for term in (*inputs, output)]
    squeezed = [
        tensor.squeeze(tuple([axis for axis, s in enumerate(term) if s not in long]))
        for term, tensor in zip(inputs, tensors, strict=True)
    ]
    result = einsum(terms[:-1], terms[-1], squeezed)
    for axis, s in enumerate(output):
        result = result if s in long else result.unsqueeze(axis)
    return result


def _integer_pair(left: str, right: str, kept: str, one: Tensor, other: Tensor) -> Tensor:
    def product(one: Tensor, other: Tensor) -> Tensor:
        return torch.einsum(f"{left},{right}->{kept}", one, other)

    if one.device.type == "cpu" and other.device.type == "cpu":
        # int64 throughout: where torch.einsum first sums an axis of one operand, that operand becomes int64.
        return product(one.to(torch.int64), other.to(torch.int64)).to(one.dtype)
    lengths: dict[str, int] = {}
    for subscript, length in zip(left + right, (*one.shape, *other.shape), strict=True):
        lengths[subscript] = max(length, lengths.get(subscript, 0))
    return in_limbs(product, one, other, math.prod([n for subscript, n in lengths.items() if subscript not in kept]))
