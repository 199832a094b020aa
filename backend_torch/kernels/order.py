"""Order: NumPy's order of values on the dtypes that torch does not order itself.

Layer: owns the mapping of bool, uint16, uint32 and uint64 onto dtypes that torch orders, and the lexicographic order of
complex numbers. Reductions, scans and sorting use both.
"""

from __future__ import annotations

import torch

from backend_torch.kernels import arithmetic, bits
from backend_torch.tensors.dtypes import SIGNED


def ordered(tensor: torch.Tensor) -> torch.Tensor:
    """Map values to a real dtype that torch orders, in the same order; return the tensor itself if torch orders it.

    An unsigned number with its highest bit flipped is a signed number at the same place of the order
    (torch orders no unsigned type but uint8, https://github.com/pytorch/pytorch/issues/58734).
    """
    dtype = tensor.dtype
    if dtype is torch.bool:
        return tensor.view(torch.uint8)
    if dtype in SIGNED:
        signed = SIGNED[dtype]
        return tensor.view(signed) ^ torch.iinfo(signed).min
    return tensor


def restored(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return the values of ``dtype`` that ``ordered`` mapped to these."""
    if dtype is torch.bool:
        return tensor.view(torch.bool)
    if dtype in SIGNED:
        return (tensor ^ torch.iinfo(tensor.dtype).min).view(dtype)
    return tensor


def reversed_order(tensor: torch.Tensor) -> torch.Tensor:
    """Map values to the same dtype in the opposite order, and NaN to itself; its own inverse."""
    dtype = tensor.dtype
    if has_nan(dtype):
        return arithmetic.negative.resolve(dtype)(tensor)
    return bits.invert.resolve(dtype)(tensor)


def has_nan(dtype: torch.dtype) -> bool:
    """Whether a dtype has NaN."""
    return dtype.is_floating_point or dtype.is_complex


def precedes(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return where ``one`` sorts before ``other``: NaN last, complex numbers by real part, then imaginary part.

    Complex numbers with a NaN follow all others, in the order ``a + nan j``, ``nan + b j``, ``nan + nan j``.
    """
    if not one.is_complex():
        one, other = ordered(one), ordered(other)
        before = one < other
        return before | (other.isnan() & ~one.isnan()) if has_nan(one.dtype) else before
    one_class, other_class = nan_class(one), nan_class(other)
    before = precedes(one.real, other.real) | ((one.real == other.real) | (one_class >= 2)) & precedes(
        one.imag, other.imag
    )
    return (one_class < other_class) | ((one_class == other_class) & before)


def nan_class(tensor: torch.Tensor) -> torch.Tensor:
    """Return which parts of a complex number are NaN: 0 none, 1 the imaginary part, 2 the real part, 3 both."""
    return tensor.real.isnan().to(torch.uint8) * 2 + tensor.imag.isnan()


def complex_extreme(tensor: torch.Tensor, dim: int, largest: bool) -> torch.Tensor:
    """Return the index along ``dim`` (kept) of the first largest or smallest complex number, or of the first NaN.

    Unlike in a sort, a number with a NaN in either part is both the maximum and the minimum.
    """
    extreme = torch.amax if largest else torch.amin
    last = float("-inf") if largest else float("inf")
    nan = tensor.isnan()
    candidates = tensor.real == extreme(tensor.real, dim, True)
    imag = torch.where(candidates, tensor.imag, last)
    candidates = candidates & (imag == extreme(imag, dim, True))
    candidates = torch.where(nan.any(dim, True), nan, candidates)
    return torch.argmax(candidates.view(torch.uint8), dim, True)
