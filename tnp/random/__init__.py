"""``numpy.random``: generators, seeds and the legacy functions, which share one hidden `RandomState`.

Layer: owns the names. Bit generators and seed sequences are NumPy's own classes, and the hidden state is NumPy's too:
``tnp.random.seed(0)`` seeds what other libraries draw by ``numpy.random``, as it does where tnp is NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import MT19937, PCG64, PCG64DXSM, SFC64, BitGenerator, Philox, SeedSequence
from numpy.random.mtrand import get_bit_generator, set_bit_generator

from tnp.random._distributions import on_host
from tnp.random._generator import Generator, default_rng
from tnp.random._random_state import RandomState
from tnp.random.mtrand import _rand as _state

beta = _state.beta
binomial = _state.binomial
bytes = _state.bytes
chisquare = _state.chisquare
choice = _state.choice
dirichlet = _state.dirichlet
exponential = _state.exponential
f = _state.f
gamma = _state.gamma
geometric = _state.geometric
get_state = _state.get_state
gumbel = _state.gumbel
hypergeometric = _state.hypergeometric
laplace = _state.laplace
logistic = _state.logistic
lognormal = _state.lognormal
logseries = _state.logseries
multinomial = _state.multinomial
multivariate_normal = _state.multivariate_normal
negative_binomial = _state.negative_binomial
noncentral_chisquare = _state.noncentral_chisquare
noncentral_f = _state.noncentral_f
normal = _state.normal
pareto = _state.pareto
permutation = _state.permutation
poisson = _state.poisson
power = _state.power
rand = _state.rand
randint = _state.randint
randn = _state.randn
random = _state.random
random_integers = _state.random_integers
random_sample = _state.random_sample
ranf = _state.random_sample
rayleigh = _state.rayleigh
sample = _state.random_sample
set_state = _state.set_state
shuffle = _state.shuffle
standard_cauchy = _state.standard_cauchy
standard_exponential = _state.standard_exponential
standard_gamma = _state.standard_gamma
standard_normal = _state.standard_normal
standard_t = _state.standard_t
triangular = _state.triangular
uniform = _state.uniform
vonmises = _state.vonmises
wald = _state.wald
weibull = _state.weibull
zipf = _state.zipf


def seed(seed: Any = None) -> None:
    """Start the hidden state anew from a seed.

    Parameters
    ----------
    seed : int or array_like of int, optional
        The operating system's entropy if None.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.seed.html

    Examples
    --------
    >>> import tnp as np
    >>> np.random.seed(0)
    >>> np.random.rand(2)
    array([0.5488135 , 0.71518937])
    """
    np.random.seed(on_host(seed))  # not the state's own method: another bit generator may have been set
    _state._restart(on_host(seed))


__all__ = [
    "MT19937", "PCG64", "PCG64DXSM", "SFC64", "BitGenerator", "Generator", "Philox", "RandomState", "SeedSequence",
    "beta", "binomial", "bytes", "chisquare", "choice", "default_rng", "dirichlet", "exponential", "f", "gamma",
    "geometric", "get_bit_generator", "get_state", "gumbel", "hypergeometric", "laplace", "logistic", "lognormal",
    "logseries", "multinomial", "multivariate_normal", "negative_binomial", "noncentral_chisquare", "noncentral_f",
    "normal", "pareto", "permutation", "poisson", "power", "rand", "randint", "randn", "random", "random_integers",
    "random_sample", "ranf", "rayleigh", "sample", "seed", "set_bit_generator", "set_state", "shuffle",
    "standard_cauchy", "standard_exponential", "standard_gamma", "standard_normal", "standard_t", "triangular",
    "uniform", "vonmises", "wald", "weibull", "zipf",
]  # fmt: skip
