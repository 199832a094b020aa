"""Special functions: torch's, under SciPy's names.

Layer: owns the torch function for each name, and a substitute where torch's differs. Operands are float32 or float64.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import special

from backend_torch.autodiff.autodiff import may_be_differentiated
from backend_torch.kernels.bessel import j0, j1, y0, y1  # noqa: F401

# fmt: off
# isort: off
from torch.special import (  # noqa: F401  the functions that are right as they are
    digamma, entr, erf, erfc, erfcx, erfinv, exp2, expit, expm1, gammainc, gammaincc, gammaln, i0, i0e, i1, i1e, log1p,
    log_ndtr, logit, ndtr, ndtri,
)
# fmt: on
# isort: on

Tensor = torch.Tensor

k0 = special.modified_bessel_k0
k0e = special.scaled_modified_bessel_k0
k1 = special.modified_bessel_k1
k1e = special.scaled_modified_bessel_k1
log_expit = torch.nn.functional.logsigmoid


def xlogy(x: Tensor, y: Tensor) -> Tensor:
    """Return x log(y), which is independent of y where x is 0; torch divides 0 by 0 there."""
    if may_be_differentiated(x) or may_be_differentiated(y):
        y = torch.where((x == 0) & (y <= 0), 1.0, y)
    return special.xlogy(x, y)


def xlog1py(x: Tensor, y: Tensor) -> Tensor:
    """Return x log(1 + y), which is independent of y where x is 0."""
    if may_be_differentiated(x) or may_be_differentiated(y):
        y = torch.where((x == 0) & (y <= -1), 0.0, y)
    return special.xlog1py(x, y)


def zeta(x: Tensor, q: Tensor) -> Tensor:
    """Return the Hurwitz zeta function, 0 for an infinite q, where torch's is NaN."""
    far = q == torch.inf
    return torch.where(far & (x > 1), 0.0, special.zeta(x, torch.where(far, 1.0, q)))


def polygamma(orders: Tensor, x: Tensor) -> Tensor:
    """Return the derivatives of ``digamma`` of these orders, by the zeta function as SciPy does."""
    factorials = torch.exp(torch.lgamma(orders.double() + 1)).round()
    factors = torch.where(orders % 2 == 0, -factorials, factorials).to(x.dtype)
    return torch.where(orders == 0, digamma(x), torch.where(orders % 1 == 0, factors * zeta(orders + 1, x), torch.nan))


def multigammaln(x: Tensor, dimensions: int) -> Tensor:
    """The logarithm of the multivariate gamma function: nan where torch raises for x <= (dimensions - 1) / 2."""
    valid = x > (dimensions - 1) / 2
    result = special.multigammaln(torch.where(valid, x, float(dimensions)), dimensions)
    return torch.where(valid, result, torch.nan)


def logsumexp(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """The logarithm of the sum of exponentials."""
    return torch.logsumexp(x, axes, keepdims) if axes else x.clone()


def softmax(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Exponentials divided by their sum along the axes."""
    return _over_axes(special.softmax, x, axes)


def log_softmax(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """The logarithm of ``softmax``."""
    return _over_axes(special.log_softmax, x, axes)


def _over_axes(function: Any, x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Apply a function of one axis to several, which are merged first and split afterwards."""
    if len(axes) == 1:
        return function(x, axes[0])
    if not axes:  # each element by itself
        return function(x.unsqueeze(-1), -1).squeeze(-1)
    last = tuple(range(-len(axes), 0))
    moved = x.movedim(axes, last)
    return function(moved.flatten(-len(axes)), -1).reshape(moved.shape).movedim(last, axes)
