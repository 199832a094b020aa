"""The functions of a program with small arrays (`_small`): those that NumPy may compute, its ufuncs and its generators.

Layer: owns the list. What is not in it is tnp's own function, which asks for tensors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from backend_torch.tensors import numpy_held as backend
from backend_torch.tensors.trace_state import watched
from tnp._core import public
from tnp._core.base import ndarray
from tnp._program.small import HELD, LIMIT, call, function, held, small, wrap_host
from tnp._ufunc.gufunc import GeneralizedUfunc
from tnp._ufunc.ufunc import BinaryUfunc, Ufunc, UnaryPairUfunc, UnaryUfunc
from tnp.random import _generator, _random_state

_new = object.__new__

FUNCTIONS = frozenset({
    "all", "allclose", "amax", "amin", "angle", "any", "append", "arange", "argmax", "argmin", "argpartition",
    "argsort", "argwhere", "around", "array", "array_equal", "array_equiv", "array_split", "asanyarray", "asarray",
    "ascontiguousarray", "asfortranarray", "atleast_1d", "atleast_2d", "atleast_3d", "average", "bartlett",
    "bincount", "blackman", "block", "broadcast_to", "choose", "clip", "column_stack", "compress", "concat",
    "concatenate", "convolve", "copy", "copyto", "corrcoef", "correlate", "count_nonzero", "cov", "cross", "cumprod",
    "cumsum", "cumulative_prod", "cumulative_sum", "delete", "diag", "diag_indices", "diag_indices_from", "diagflat",
    "diff", "digitize", "dot", "dsplit", "dstack", "ediff1d", "einsum", "empty", "empty_like", "expand_dims",
    "extract", "eye", "fill_diagonal", "fix", "flatnonzero", "full", "full_like", "geomspace", "gradient", "hamming",
    "hanning", "histogram", "hsplit", "hstack", "identity", "indices", "inner", "insert", "interp", "intersect1d",
    "isclose", "iscomplex", "isin", "isneginf", "isposinf", "isreal", "ix_", "kron", "lexsort", "linspace",
    "logspace", "matrix_transpose", "max", "mean", "median", "meshgrid", "min", "moveaxis", "nan_to_num", "nanargmax",
    "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile", "nanprod",
    "nanquantile", "nanstd", "nansum", "nanvar", "ndim", "nonzero", "ones", "ones_like", "outer", "pad", "partition",
    "percentile", "permute_dims", "place", "poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul",
    "polysub", "polyval", "prod", "ptp", "put", "put_along_axis", "putmask", "quantile", "ravel", "ravel_multi_index",
    "repeat", "reshape", "roll", "rollaxis", "roots", "round", "searchsorted", "select", "setdiff1d", "setxor1d",
    "shape", "sinc", "size", "sort", "split", "squeeze", "stack", "std", "sum", "swapaxes", "take", "take_along_axis",
    "tensordot", "tile", "trace", "transpose", "trapezoid", "tri", "tril", "tril_indices", "triu", "triu_indices",
    "trim_zeros", "union1d", "unique", "unravel_index", "vander", "var", "vdot", "vsplit", "vstack", "where", "zeros",
    "zeros_like", "linalg.cholesky", "linalg.cond", "linalg.det", "linalg.eig", "linalg.eigh", "linalg.eigvals",
    "linalg.eigvalsh", "linalg.inv", "linalg.lstsq", "linalg.matrix_norm", "linalg.matrix_power",
    "linalg.matrix_rank", "linalg.multi_dot", "linalg.norm", "linalg.outer", "linalg.pinv", "linalg.qr",
    "linalg.slogdet", "linalg.solve", "linalg.svd", "linalg.svdvals", "linalg.trace", "linalg.vector_norm",
})  # fmt: skip
"""The functions that NumPy may compute: of arrays and numbers, to new arrays, views or numbers."""


class _Quick:
    """A ufunc that NumPy computes of small arrays."""

    def __reduce__(self: Any) -> Any:
        return ufunc, (self.__name__,)

    def __call__(self: Any, *operands: Any, **options: Any) -> Any:
        return call(self._theirs, super().__call__, operands, options)  # type: ignore[misc]

    def reduce(self: Any, *args: Any, **options: Any) -> Any:
        return call(self._theirs.reduce, super().reduce, args, options)  # type: ignore[misc]

    def accumulate(self: Any, *args: Any, **options: Any) -> Any:
        return call(self._theirs.accumulate, super().accumulate, args, options)  # type: ignore[misc]

    def outer(self: Any, *args: Any, **options: Any) -> Any:
        return call(self._theirs.outer, super().outer, args, options)  # type: ignore[misc]

    def at(self: Any, *args: Any) -> Any:
        return call(self._theirs.at, super().at, args, {})  # type: ignore[misc]


class _Unary(_Quick, UnaryUfunc):
    def __call__(self, x: Any, /, *outs: Any, **options: Any) -> Any:
        if type(x) is small and not (watched or outs or options):
            result = self._theirs(x.host)
            if type(result) is not np.ndarray:
                return result
            made: Any = _new(small if result.size <= LIMIT else held)
            made.host = result
            return made
        return super().__call__(x, *outs, **options)


class _Pair(_Quick, UnaryPairUfunc):
    pass


class _Binary(_Quick, BinaryUfunc):
    pass


class _General(_Quick, GeneralizedUfunc):
    pass


_QUICK: dict[type, Any] = {
    UnaryUfunc: _Unary,
    UnaryPairUfunc: _Pair,
    BinaryUfunc: _Binary,
    GeneralizedUfunc: _General,
}


@functools.cache
def ufunc(name: str) -> Any:
    """One of tnp's ufuncs that is NumPy's for small arrays: the same tables, other calls."""
    ours = getattr(public.namespace(), name)
    made: Any = _new(_QUICK[type(ours)])
    made.__dict__ = {**ours.__dict__, "_theirs": getattr(np, name)}
    return made


def _drawn(ours: Callable[..., Any]) -> Any:
    """A method of a generator, whose arrays start in NumPy's hands: their memory is new."""

    @functools.wraps(ours)
    def draw(*args: Any, **kwargs: Any) -> Any:
        result = ours(*args, **kwargs)
        if type(result) is not ndarray or result.tensor.device.type != "cpu" or backend.is_observed():
            return result
        if result.dtype not in HELD or any(result is each for each in (*args, *kwargs.values())):
            return result
        return wrap_host(result.tensor.numpy())

    return draw


_DRAWS = frozenset({
    "beta", "binomial", "chisquare", "choice", "dirichlet", "exponential", "f", "gamma", "geometric", "gumbel",
    "hypergeometric", "integers", "laplace", "logistic", "lognormal", "logseries", "multinomial",
    "multivariate_hypergeometric", "multivariate_normal", "negative_binomial", "noncentral_chisquare", "noncentral_f",
    "normal", "pareto", "permutation", "permuted", "poisson", "power", "rand", "randint", "randn", "random",
    "random_integers", "random_sample", "ranf", "rayleigh", "sample", "standard_cauchy", "standard_exponential",
    "standard_gamma", "standard_normal", "standard_t", "triangular", "uniform", "vonmises", "wald", "weibull", "zipf",
})  # fmt: skip


def _drawing(cls: type) -> Any:
    """A class of generators whose arrays start in NumPy's hands."""
    draws = {name: _drawn(getattr(cls, name)) for name in sorted(_DRAWS) if hasattr(cls, name)}
    return type(cls.__name__, (cls,), {"__slots__": (), "__module__": __name__, **draws})


Generator = _drawing(_generator.Generator)
RandomState = _drawing(_random_state.RandomState)


@functools.wraps(_generator.default_rng)
def default_rng(seed: Any = None) -> Any:
    """A generator whose arrays start in NumPy's hands."""
    made = _generator.default_rng(seed)
    return Generator(made.bit_generator) if type(made) is _generator.Generator else made


def stand_in(path: str, theirs: Any, ours: Any) -> Any:
    """What stands for ``path``, a name of NumPy's, in a program with small arrays; ``ours`` does without them."""
    if isinstance(ours, Ufunc):
        return ufunc(ours.__name__)
    name = path.removeprefix("numpy.")
    if name in FUNCTIONS:
        return function(theirs, ours)
    if name.startswith("random."):
        own = {"Generator": Generator, "RandomState": RandomState, "default_rng": default_rng}
        name = name.removeprefix("random.")
        return own[name] if name in own else _drawn(ours) if name in _DRAWS else ours
    return ours
