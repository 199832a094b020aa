"""Random numbers from torch's generators, where NumPy's can't make them: on an accelerator and in traced code.

Layer: owns how each distribution is drawn from torch's uniform, normal, gamma, binomial and Poisson numbers. Sizes come
as a tuple, or None for the shape that the parameters broadcast to; parameters as Python numbers or tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from backend_torch.autodiff import replayed_draws
from backend_torch.random import uniform
from backend_torch.tensors import trace_state
from backend_torch.tensors.dtypes import to_numpy as numpy_dtype_of
from backend_torch.tensors.memory import is_readable, to_numpy
from backend_torch.torch_private import operators

Tensor = torch.Tensor
Size = tuple[int, ...] | None
Parameter = Any
"""A Python number or a tensor."""

SMALLEST = 2.0**-54  # half of the step between two of torch's float64 uniform numbers: stands for a zero in a logarithm
ON_HOST = "draw it with a generator on the CPU, default_rng(seed, device='cpu'), outside compiled functions"


def fill_on_host(tensor: Tensor, fill: Callable[[np.ndarray], object]) -> None:
    """Let NumPy write into a CPU tensor's memory, and autograd know that it did."""
    if tensor.requires_grad and torch.is_grad_enabled():
        raise RuntimeError("an array that requires a gradient is being filled with random numbers in place")
    fill(to_numpy(tensor))
    torch.autograd.graph.increment_version(tensor)


def _check(message: str, value: Parameter, is_wrong: Callable[[Any], Any]) -> None:
    """Raise ValueError for a wrong parameter. Values on an accelerator or in a trace are not checked."""
    if not isinstance(value, Tensor):
        wrong = is_wrong(value)
    else:
        wrong = value.device.type == "cpu" and is_readable(value) and bool(is_wrong(value).any())
    if wrong:
        raise ValueError(message)


def _check_positive(**parameters: Parameter) -> None:
    for name, value in parameters.items():
        _check(f"{name} <= 0", value, lambda x: x <= 0)


def _check_non_negative(**parameters: Parameter) -> None:
    for name, value in parameters.items():
        _check(f"{name} < 0", value, lambda x: x < 0)


def _probability(p: Parameter) -> None:
    _check("p < 0, p > 1 or p is NaN", p, lambda p: (p != p) | (p < 0) | (p > 1))


class Stream:
    """Random numbers from a torch.Generator. A traced function holds a reference to it and draws at each call.

    Parameters
    ----------
    device : torch.device or None
        Where the numbers are made; None is the CPU.
    seed : int
        64 bits.
    """

    def __init__(self, device: torch.device | None, seed: int) -> None:
        self.device = torch.device("cpu") if device is None else device
        self.generator = torch.Generator("cpu" if self.device.type == "meta" else self.device)
        self.seed(seed)
        replayed_draws.watch(self)

    def seed(self, seed: int) -> None:
        """Restart the stream from a seed."""
        self.generator.manual_seed(seed)

    @property
    def state(self) -> np.ndarray:
        """The generator's state as bytes; a state that is assigned continues its stream."""
        return self.generator.get_state().numpy()

    @state.setter
    def state(self, state: np.ndarray) -> None:
        self.generator.set_state(torch.from_numpy(state.copy()))

    # The numbers from which the distributions are made.

    def _tensor(self, value: Parameter) -> Tensor:
        if isinstance(value, Tensor):
            return value.to(self.device, torch.float64)
        return torch.full((), float(value), dtype=torch.float64, device=self.device)

    def _expanded(self, size: Size, *parameters: Parameter) -> list[Tensor]:
        """Return the parameters as float64 tensors of the result's shape."""
        tensors = [self._tensor(parameter) for parameter in parameters]
        shapes = [tuple(tensor.shape) for tensor in tensors]
        try:
            shape = torch.broadcast_shapes(*shapes)
        except RuntimeError:
            text = " ".join(map(str, shapes))
            raise ValueError(f"shape mismatch: objects cannot be broadcast to a single shape: {text}") from None
        try:
            return [tensor.expand(shape if size is None else size) for tensor in tensors]
        except RuntimeError:
            raise ValueError(
                f"Output size {size} is not compatible with broadcast dimensions of inputs {tuple(shape)}."
            ) from None

    def _positive(self, size: Size, **parameters: Parameter) -> list[Tensor]:
        """Return `_expanded` parameters; ValueError unless all are positive."""
        _check_positive(**parameters)
        return self._expanded(size, *parameters.values())

    def _non_negative(self, size: Size, **parameters: Parameter) -> list[Tensor]:
        """Return `_expanded` parameters; ValueError if one is negative."""
        _check_non_negative(**parameters)
        return self._expanded(size, *parameters.values())

    def _uniform(self, like: Tensor) -> Tensor:
        """Uniform in [0, 1)."""
        return self.random(tuple(like.shape))

    def _open(self, like: Tensor) -> Tensor:
        """Uniform in (0, 1)."""
        return self._uniform(like).clamp_min(SMALLEST)

    def _normal(self, like: Tensor) -> Tensor:
        return self.standard_normal(tuple(like.shape))

    def _exponential(self, like: Tensor) -> Tensor:
        return self.standard_exponential(tuple(like.shape))

    def _gamma(self, shape: Tensor) -> Tensor:
        return operators.standard_gamma(shape, generator=self.generator)

    def _poisson(self, lam: Tensor) -> Tensor:
        return torch.poisson(lam, generator=self.generator)

    def _binomial(self, n: Tensor, p: Tensor) -> Tensor:
        return torch.binomial(n, p, generator=self.generator)

    # Standard distributions, which have a dtype.

    def random(self, size: Size, dtype: torch.dtype = torch.float64) -> Tensor:
        """Uniform in [0, 1)."""
        if trace_state.is_tracing() and uniform.can_stand_for(dtype, self.device):
            return torch.ops.tnp.uniform(uniform.new_key(self.generator), size or (), dtype)
        return torch.rand(size or (), dtype=dtype, device=self.device, generator=self.generator)

    def standard_normal(self, size: Size, dtype: torch.dtype = torch.float64) -> Tensor:
        """Normal with mean 0 and deviation 1."""
        if trace_state.is_tracing() and uniform.can_stand_for(dtype, self.device):
            return torch.ops.tnp.normal(uniform.new_key(self.generator), size or (), dtype)
        return torch.randn(size or (), dtype=dtype, device=self.device, generator=self.generator)

    def standard_exponential(self, size: Size, dtype: torch.dtype = torch.float64) -> Tensor:
        """Exponential with scale 1."""
        return -torch.log1p(-self.random(size, dtype))

    def standard_gamma(self, size: Size, shape: Parameter, dtype: torch.dtype = torch.float64) -> Tensor:
        """Gamma with scale 1; gradients flow to ``shape``."""
        (shapes,) = self._non_negative(size, shape=shape)
        return self._gamma(shapes.to(dtype))

    # Continuous distributions.

    def uniform(self, size: Size, low: Parameter, high: Parameter) -> Tensor:
        """Uniform in [low, high)."""
        low, high = self._expanded(size, low, high)
        return low + (high - low) * self._uniform(low)

    def normal(self, size: Size, loc: Parameter, scale: Parameter) -> Tensor:
        """Normal, or Gaussian."""
        _check_non_negative(scale=scale)
        loc, scale = self._expanded(size, loc, scale)
        return loc + scale * self._normal(loc)

    def lognormal(self, size: Size, mean: Parameter, sigma: Parameter) -> Tensor:
        """Numbers whose logarithm is normal."""
        _check_non_negative(sigma=sigma)
        return torch.exp(self.normal(size, mean, sigma))

    def exponential(self, size: Size, scale: Parameter) -> Tensor:
        """Exponential."""
        (scale,) = self._non_negative(size, scale=scale)
        return scale * self._exponential(scale)

    def gamma(self, size: Size, shape: Parameter, scale: Parameter) -> Tensor:
        """Gamma."""
        shape, scale = self._non_negative(size, shape=shape, scale=scale)
        return scale * self._gamma(shape)

    def chisquare(self, size: Size, df: Parameter) -> Tensor:
        """Chi-square."""
        (df,) = self._positive(size, df=df)
        return 2 * self._gamma(df / 2)

    def noncentral_chisquare(self, size: Size, df: Parameter, nonc: Parameter) -> Tensor:
        """Noncentral chi-square: a chi-square with a Poisson number of additional degrees of freedom."""
        _check_positive(df=df)
        _check_non_negative(nonc=nonc)
        df, nonc = self._expanded(size, df, nonc)
        return 2 * self._gamma(df / 2 + self._poisson(nonc / 2))

    def f(self, size: Size, dfnum: Parameter, dfden: Parameter) -> Tensor:
        """Fisher's F."""
        dfnum, dfden = self._positive(size, dfnum=dfnum, dfden=dfden)
        return (self._gamma(dfnum / 2) * dfden) / (self._gamma(dfden / 2) * dfnum)

    def noncentral_f(self, size: Size, dfnum: Parameter, dfden: Parameter, nonc: Parameter) -> Tensor:
        """Noncentral F."""
        _check_positive(dfnum=dfnum, dfden=dfden)
        _check_non_negative(nonc=nonc)
        dfnum, dfden, nonc = self._expanded(size, dfnum, dfden, nonc)
        numerator = self._gamma(dfnum / 2 + self._poisson(nonc / 2))
        return (numerator * dfden) / (self._gamma(dfden / 2) * dfnum)

    def beta(self, size: Size, a: Parameter, b: Parameter) -> Tensor:
        """Beta."""
        a, b = self._positive(size, a=a, b=b)
        return operators.sample_dirichlet(torch.stack((a, b), -1), generator=self.generator)[..., 0]

    def standard_cauchy(self, size: Size) -> Tensor:
        """Cauchy with mode 0."""
        return self.standard_normal(size) / self.standard_normal(size)

    def standard_t(self, size: Size, df: Parameter) -> Tensor:
        """Student's t."""
        (df,) = self._positive(size, df=df)
        return self._normal(df) * torch.sqrt(df / 2 / self._gamma(df / 2))

    def pareto(self, size: Size, a: Parameter) -> Tensor:
        """Pareto II, or Lomax."""
        (a,) = self._positive(size, a=a)
        return torch.expm1(self._exponential(a) / a)

    def weibull(self, size: Size, a: Parameter) -> Tensor:
        """Weibull."""
        (a,) = self._non_negative(size, a=a)
        return self._exponential(a) ** (1 / a)

    def power(self, size: Size, a: Parameter) -> Tensor:
        """Numbers in [0, 1] whose density is a power."""
        (a,) = self._positive(size, a=a)
        return self._uniform(a) ** (1 / a)

    def laplace(self, size: Size, loc: Parameter, scale: Parameter) -> Tensor:
        """Laplace, or double exponential."""
        _check_non_negative(scale=scale)
        loc, scale = self._expanded(size, loc, scale)
        centred = 0.5 - self._open(loc)
        return loc + scale * torch.sign(centred) * torch.log1p(-2 * torch.abs(centred))

    def gumbel(self, size: Size, loc: Parameter, scale: Parameter) -> Tensor:
        """Gumbel, of maxima."""
        _check_non_negative(scale=scale)
        loc, scale = self._expanded(size, loc, scale)
        return loc - scale * torch.log(-torch.log(self._open(loc)))

    def logistic(self, size: Size, loc: Parameter, scale: Parameter) -> Tensor:
        """Logistic."""
        _check_non_negative(scale=scale)
        loc, scale = self._expanded(size, loc, scale)
        return loc + scale * torch.logit(self._open(loc))

    def rayleigh(self, size: Size, scale: Parameter) -> Tensor:
        """Rayleigh."""
        (scale,) = self._non_negative(size, scale=scale)
        return scale * torch.sqrt(2 * self._exponential(scale))

    def triangular(self, size: Size, left: Parameter, mode: Parameter, right: Parameter) -> Tensor:
        """Triangular, by the inverse of the distribution function."""
        left, mode, right = self._expanded(size, left, mode, right)
        _check("left > mode", left - mode, lambda x: x > 0)
        _check("mode > right", mode - right, lambda x: x > 0)
        _check("left == right", right - left, lambda x: x == 0)
        u, whole = self._uniform(left), right - left
        rising = left + torch.sqrt(u * whole * (mode - left))
        falling = right - torch.sqrt((1 - u) * whole * (right - mode))
        return torch.where(u * whole <= mode - left, rising, falling)

    def wald(self, size: Size, mean: Parameter, scale: Parameter) -> Tensor:
        """Inverse Gaussian: one of the two roots of Michael, Schucany and Haas' quadratic."""
        mean, scale = self._positive(size, mean=mean, scale=scale)
        y = mean * self._normal(mean) ** 2
        # The smaller root, without the cancellation of mean + (y - sqrt(...)) * mean / (2 * scale).
        root = mean - 2 * mean * y / (y + torch.sqrt(4 * scale * y + y * y)).clamp_min(SMALLEST)
        return torch.where(self._uniform(mean) * (mean + root) <= mean, root, mean * mean / root)

    def vonmises(self, size: Size, mu: Parameter, kappa: Parameter) -> Tensor:
        """Von Mises, by Best and Fisher's rejection from a wrapped Cauchy."""
        _check_non_negative(kappa=kappa)
        mu, kappa = self._expanded(size, mu, kappa)
        if trace_state.is_tracing():
            raise NotImplementedError(f"vonmises repeats until all numbers are accepted: {ON_HOST}")
        concentration = kappa.clamp_min(1e-6)  # so flat that the distribution is uniform
        r = 1 + torch.sqrt(1 + 4 * concentration**2)
        rho = (r - torch.sqrt(2 * r)) / (2 * concentration)
        s = (1 + rho**2) / (2 * rho)
        cosine = torch.zeros_like(mu)
        done = torch.zeros_like(mu, dtype=torch.bool)
        while not done.all():
            z = torch.cos(math.pi * self._uniform(mu))
            w = (1 + s * z) / (s + z)
            y = concentration * (s - w)
            v = self._open(mu)
            accepted = (y * (2 - y) - v >= 0) | (torch.log(y / v) + 1 - y >= 0)
            cosine = torch.where(accepted & ~done, w, cosine)
            done |= accepted
        angle = torch.where(self._uniform(mu) < 0.5, -1, 1) * torch.acos(cosine.clamp(-1, 1))
        return torch.remainder(angle + mu + math.pi, 2 * math.pi) - math.pi

    def dirichlet(self, size: Size, alpha: Tensor) -> Tensor:
        """Dirichlet: positive numbers along the last axis whose sum is 1."""
        _check_positive(alpha=alpha)
        alpha = self._tensor(alpha)
        concentration = alpha.expand((size or ()) + tuple(alpha.shape))
        return operators.sample_dirichlet(concentration, generator=self.generator)

    def multivariate_normal(
        self, size: Size, mean: Tensor, cov: Tensor, check_valid: str, tol: float, method: str
    ) -> Tensor | None:
        """Multivariate normal; None if ``cov`` has no Cholesky factor, or is checked and not positive semidefinite."""
        mean, cov = self._tensor(mean), self._tensor(cov)
        if method == "cholesky":
            factor, failures = torch.linalg.cholesky_ex(cov)
            if is_readable(cov) and bool(failures):
                return None
        else:
            variances, axes = torch.linalg.eigh(cov)
            if check_valid != "ignore" and is_readable(cov) and bool((variances < -tol).any()):
                return None
            factor = axes * torch.sqrt(variances.clamp_min(0))
        return mean + self.standard_normal((size or ()) + tuple(mean.shape)) @ factor.mT

    # Discrete distributions.

    def poisson(self, size: Size, lam: Parameter) -> Tensor:
        """Poisson."""
        _check("lam < 0 or lam is NaN", lam, lambda x: (x != x) | (x < 0))
        (lam,) = self._expanded(size, lam)
        return self._poisson(lam).long()

    def binomial(self, size: Size, n: Parameter, p: Parameter) -> Tensor:
        """Binomial."""
        _check_non_negative(n=n)
        _probability(p)
        n, p = self._expanded(size, n, p)
        return self._binomial(n, p).long()

    def negative_binomial(self, size: Size, n: Parameter, p: Parameter) -> Tensor:
        """Negative binomial: Poisson numbers of gamma means."""
        _check_positive(n=n)
        _probability(p)
        n, p = self._expanded(size, n, p)
        return self._poisson(self._gamma(n) * (1 - p) / p).long()

    def geometric(self, size: Size, p: Parameter) -> Tensor:
        """Geometric: trials until the first success."""
        _check("p <= 0, p > 1 or p contains NaNs", p, lambda p: (p != p) | (p <= 0) | (p > 1))
        (p,) = self._expanded(size, p)
        return torch.ceil(-self._exponential(p) / torch.log1p(-p)).clamp_min(1).long()

    def logseries(self, size: Size, p: Parameter) -> Tensor:
        """Logarithmic series, by Kemp's two uniform numbers."""
        _check("p < 0, p >= 1 or p is NaN", p, lambda p: (p != p) | (p < 0) | (p >= 1))
        (p,) = self._expanded(size, p)
        q = -torch.expm1(torch.log1p(-p) * self._open(p))
        return torch.floor(1 + torch.log(self._open(p)) / torch.log(q)).long()

    def multinomial(self, size: Size, n: Parameter, pvals: Tensor) -> Tensor:
        """Multinomial: for each outcome a binomial number of the trials that are left."""
        pvals = self._tensor(pvals)
        _check_non_negative(n=n)
        _probability(pvals)
        _check("sum(pvals[:-1]) > 1.0", pvals[..., :-1].sum(-1), lambda x: x > 1 + 1e-12)
        left = self._tensor(n)
        shape = torch.broadcast_shapes(left.shape, pvals.shape[:-1]) if size is None else size
        left, pvals = left.expand(shape), pvals.expand(tuple(shape) + (pvals.shape[-1],))
        remaining = torch.ones_like(left)
        counts = []
        for p in pvals.unbind(-1)[:-1]:
            counts.append(self._binomial(left, (p / remaining).nan_to_num(0.0, 1.0, 0.0).clamp(0, 1)))
            left, remaining = left - counts[-1], remaining - p
        return torch.stack([*counts, left], -1).long()

    def hypergeometric(self, size: Size, ngood: Parameter, nbad: Parameter, nsample: Parameter) -> Tensor:
        """Raise NotImplementedError: torch draws no such numbers."""
        raise NotImplementedError(f"torch has no hypergeometric numbers: {ON_HOST}")

    def zipf(self, size: Size, a: Parameter) -> Tensor:
        """Raise NotImplementedError: torch draws no such numbers."""
        raise NotImplementedError(f"torch has no Zipf numbers: {ON_HOST}")

    def integers(self, size: Size, low: Parameter, high: Parameter, dtype: torch.dtype, endpoint: bool) -> Tensor:
        """Uniform integers in [low, high), or [low, high] with the endpoint."""
        if isinstance(low, Tensor) or isinstance(high, Tensor):
            return self._integers_between(size, low, high, endpoint).to(dtype)
        low, last = math.ceil(low), math.floor(high) if endpoint else math.ceil(high) - 1
        if low > last:
            raise ValueError("low > high" if endpoint else "low >= high")
        limits = (0, 1) if dtype is torch.bool else (torch.iinfo(dtype).min, torch.iinfo(dtype).max)
        for name, bound in (("low", low), ("high", last)):
            if not limits[0] <= bound <= limits[1]:
                raise ValueError(f"{name} is out of bounds for {numpy_dtype_of[dtype]}")
        span = last - low + 1
        if span < 2**63:
            numbers = self._below(size or (), span)
        elif span == 2**64:
            numbers = torch.empty(size or (), dtype=torch.int64, device=self.device)
            return numbers.random_(-(2**63), None, generator=self.generator).view(dtype)
        else:
            raise NotImplementedError(f"torch draws from at most 2**63 - 1 integers or from all 2**64: {ON_HOST}")
        numbers += low - 2**64 if low >= 2**63 else low  # int64 wraps around as uint64 does
        return numbers.view(dtype) if dtype is torch.uint64 else numbers.to(dtype)

    def _below(self, shape: tuple[int, ...], span: int) -> Tensor:
        return torch.randint(span, shape, device=self.device, generator=self.generator)

    def _integers_between(self, size: Size, low: Parameter, high: Parameter, endpoint: bool) -> Tensor:
        bounds = [torch.as_tensor(bound, device=self.device).long() for bound in (low, high)]
        low, last = torch.broadcast_tensors(bounds[0], bounds[1] if endpoint else bounds[1] - 1)
        _check("low > high" if endpoint else "low >= high", last - low, lambda x: x < 0)
        shape = tuple(low.shape) if size is None else size
        return low + torch.remainder(self._below(shape, 2**63 - 1), last - low + 1)

    def bytes(self, length: int) -> bytes:
        """Random bytes."""
        if trace_state.is_tracing():
            raise NotImplementedError(f"bytes are no array, and a compiled function can't make them anew: {ON_HOST}")
        return self._below((length,), 256).to("cpu", torch.uint8).numpy().tobytes()

    # Orders and samples.

    def permutation(self, n: int) -> Tensor:
        """The first ``n`` integers in random order."""
        return torch.randperm(n, device=self.device, generator=self.generator)

    def permuted(self, shape: tuple[int, ...], axis: int) -> Tensor:
        """Flat positions in an array of ``shape``, with each line along ``axis`` in a random order of its own."""
        positions = torch.arange(math.prod(shape), device=self.device).reshape(shape)
        return positions.gather(axis, torch.argsort(self.random(shape), dim=axis))

    def choice(self, size: Size, n: int, replace: bool, p: Tensor | None) -> Tensor:
        """Integers below ``n`` with probabilities ``p``; all different if drawn without replacement."""
        shape = size or ()
        count = math.prod(shape)
        if n <= 0 and count:
            raise ValueError("a must be a positive integer unless no samples are taken")
        if p is not None:
            tolerance = torch.finfo(p.dtype if p.is_floating_point() else torch.float64).eps ** 0.5
            p = self._tensor(p)
            if p.dim() != 1:
                raise ValueError("p must be 1-dimensional")
            if len(p) != n:
                raise ValueError("a and p must have same size")
            _check("Probabilities are not non-negative", p, lambda p: p < 0)
            _check("Probabilities do not sum to 1", p.sum(), lambda total: abs(total - 1) > tolerance)
        if not replace and count > n:
            raise ValueError("Cannot take a larger sample than population when replace is False")
        if p is None:
            if not replace:
                return self.permutation(n)[:count].reshape(shape)
            return self._below(shape, max(n, 1))
        if replace:
            edges = torch.cumsum(p, 0)
            return torch.searchsorted(edges, self.random(shape) * edges[-1], right=True).clamp_max(n - 1)
        _check("Fewer non-zero entries in p than size", (p > 0).sum() - count, lambda x: x < 0)
        # The first arrivals of independent Poisson processes are a sample without replacement.
        return torch.topk(self._exponential(p) / p, count, largest=False).indices.reshape(shape)
