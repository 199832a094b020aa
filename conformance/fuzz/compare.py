"""Compare two outcomes: exception class, type, dtype, shape, values, shared memory, arrays that were written to.

Layer: owns what counts as a disagreement, and the tolerances. Integers, booleans and moved data are exact;
floats of elementwise functions are within some units in the last place, of sums and products within what their terms'
magnitude allows.
"""

from __future__ import annotations

import functools
import math
import re
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tnp
from backend_torch.tensors.dtypes import to_torch
from conformance.fuzz.program import Call, Outcome
from tnp._array.ndarray import scalar

ULPS = 32.0  # elementwise functions
TERMS_ULPS = 512.0  # sums, products, transforms: of the largest term, or of its square
SOLVED_ULPS = 1e5  # solutions of well-conditioned systems

SUMS = frozenset([
    "sum", "mean", "average", "var", "std", "cumsum", "cumulative_sum", "nansum", "nanmean", "nanvar", "nanstd",
    "nancumsum", "cov", "corrcoef", "correlate", "convolve", "trace", "dot", "vdot", "inner", "matmul", "einsum",
    "tensordot", "kron", "vecdot", "matvec", "vecmat", "trapezoid", "interp", "gradient", "histogram",
    "histogramdd", "histogram2d", "histogram_bin_edges", "linspace", "logspace", "geomspace", "arange", "unwrap",
    "percentile", "quantile", "nanpercentile", "nanquantile", "median", "nanmedian", "cross",
    "at", "i0", "logaddexp", "logaddexp2", "multi_dot", "norm", "vector_norm", "matrix_norm", "prod", "cumprod",
    "nanprod", "nancumprod", "cumulative_prod", "vander", "@", "r@",
    "imatmul", "pad", "bincount", "polydiv",
])  # fmt: skip
MEANS = frozenset(["mean", "std", "var", "average", "median", "quantile", "percentile", "nanmean", "nanstd", "nanvar"])
PRODUCTS = frozenset(["prod", "cumprod", "nanprod", "nancumprod", "cumulative_prod"])
SOLVED = frozenset([
    "cholesky", "cond", "det", "eig", "eigh", "eigvalsh", "inv", "lstsq", "matrix_power", "pinv", "qr",
    "slogdet", "solve", "svd", "svdvals", "tensorinv", "tensorsolve",
])  # fmt: skip
# Eigenvalues of defective matrices are as far apart as the root of the precision, in any order.
SPECTRA = frozenset(["eigvals", "roots"])
# Several answers are right.
UNORDERED = frozenset(["partition", "argpartition", "eig", "eigh", "svd", "qr", "unique_values"])
ROUNDED = frozenset([  # rounded once, as the standard of floating point says
    "add", "subtract", "multiply", "divide", "+", "-", "*", "/", "iadd", "isub", "imul", "itruediv", "floor",
    "ceil", "trunc", "rint", "square", "fabs", "abs", "neg", "nextafter", "spacing", "ldexp", "maximum", "minimum",
])  # fmt: skip
MOVED = frozenset([  # values are moved unchanged, the sign of zero included
    "reshape", "ravel", "transpose", "take", "compress", "copy", "array", "asarray", "where", "select", "choose",
    "repeat", "tile", "concatenate", "stack", "roll", "sort", "getitem", "setitem", "astype", "view",
    "copyto", "put", "clip", "maximum", "minimum", "negative", "absolute", "copysign", "real", "imag", "conj",
    "flip", "squeeze", "diagonal", "diag",
])  # fmt: skip


@dataclass(frozen=True)
class Disagreement:
    """A disagreement: its kind, NumPy's and tnp's outcome, and where an exception came from."""

    kind: str
    numpy: str
    tnp: str
    place: str = ""

    @property
    def cause(self) -> tuple[str, ...]:
        """Return a text that disagreements with the same cause share, whatever the function."""
        if self.kind in ("raises", "raises another", "accepts"):
            return (self.kind, self.place, _general(self.numpy) if self.kind != "raises" else "", _general(self.tnp))
        return (self.kind, self.place)


def _general(text: str) -> str:
    """Return a message without the numbers and arrays of its call."""
    return re.sub(r"[-+]?\d[\d.e+j-]*|\(.*\)|\[.*\]|'[^']*'", "#", text.split("\n")[0])[:70]


def disagreement(call: Call, name: str, expected: Outcome, actual: Outcome, memory: bool = True) -> Disagreement | None:
    """Return how tnp's outcome differs from NumPy's, else None; with ``memory``, compare overlaps too."""
    if expected.error is not None or actual.error is not None:
        return _of_errors(expected, actual)
    plain = name.rsplit(".", 1)[-1]
    if name.endswith((".reduce", ".accumulate", ".reduceat")):
        plain = "sum"
    if name.endswith(".outer"):
        plain = name.split(".")[-2]
    rule = _Rule(call, plain)
    found = _of_values(expected.value, actual.value, rule, "")
    if found is not None:
        return found
    if any("::-" in view.layout for view in call.views):
        return None  # where NumPy has a view, tnp has a copy: a known difference
    for i, (one, other) in enumerate(zip(expected.bases, actual.bases, strict=True)):
        found = _of_values(one, other, rule, f" of argument {i}")
        if found is not None:
            return Disagreement(f"writes: {found.kind}", found.numpy, found.tnp)
    return _of_memory(call, expected, actual) if memory else None


def _of_errors(expected: Outcome, actual: Outcome) -> Disagreement | None:
    if actual.error is None:
        return Disagreement("accepts", _said(expected.error), _short(actual.value))
    if expected.error is None:
        return Disagreement("raises", _short(expected.value), _said(actual.error), raised_at(actual.error))
    wanted = next(c for c in type(expected.error).__mro__ if not c.__module__.startswith("numpy._core"))
    if isinstance(actual.error, wanted):
        return None
    return Disagreement("raises another", _said(expected.error), _said(actual.error), raised_at(actual.error))


def _said(error: Exception | None) -> str:
    return f"{type(error).__name__}: {str(error)[:200]}"


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())[:200]
    return text + f" {value.dtype}" if isinstance(value, (np.ndarray, tnp.ndarray)) and "dtype" not in text else text


def raised_at(error: Exception) -> str:
    """Return the innermost function of tnp in an exception's traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "/tnp/" in f.filename or "/backend_torch/" in f.filename]
    if not ours:
        return ""
    parts = ours[-1].filename.split("/")
    return f"{'/'.join(parts[-2:])}:{ours[-1].name}"


class _Rule:
    """The tolerances of a call's values."""

    def __init__(self, call: Call, plain: str) -> None:
        self.call = call
        self.plain = plain
        self.unordered = plain in UNORDERED
        self.casts = "out" in call.keywords  # from a dtype that may be narrower than the result's

    @functools.cached_property
    def arrays(self) -> list[np.ndarray]:
        """The arguments before the call."""
        return [base.array() for base in self.call.bases]

    @functools.cached_property
    def finite(self) -> bool:
        """Whether there is no infinity and no NaN among the arguments."""
        return all(np.isfinite(a).all() for a in self.arrays) and not re.search(
            r"np\.(inf|nan)\b", self.call.expression
        )

    @functools.cached_property
    def complex(self) -> bool:
        """Whether an argument is complex."""
        return any(a.dtype.kind == "c" for a in self.arrays) or "complex(" in self.call.expression

    @functools.cached_property
    def floats(self) -> list[str]:
        """The dtypes of the arguments that are rounded."""
        return [base.dtype for base in self.call.bases if np.dtype(base.dtype).kind in "fc"]

    @property
    def rounds(self) -> bool:
        """Whether there are floats on the way to the result."""
        is_cast = self.complex and "dtype=" in self.call.expression
        return bool(self.floats) or is_cast or self.plain in MEANS

    @functools.cached_property
    def largest(self) -> float:
        """Magnitude of the largest finite argument, such that its square is a float."""
        with np.errstate(all="ignore"):
            largest = [float(np.abs(a[np.isfinite(a)].astype(complex)).max(initial=0)) for a in self.arrays]
        written = map(float, re.findall(r"(?<![\w.'])\d+\.?\d*(?:e[-+]?\d+)?", self.call.expression))
        return min(max([1.0, *largest, *written]), 1e100)

    def tolerances(self, dtype: np.dtype) -> tuple[float, float]:
        """Relative and absolute tolerance for a result of this dtype."""
        computed_in: list[Any] = [dtype, *self.floats, *(["float16"] if self.casts else [])]
        eps = float(max(np.finfo(d).eps for d in computed_in))
        tiny = float(np.finfo(dtype).smallest_normal)
        if self.plain in SPECTRA:
            return 0.0, 20 * float(np.sqrt(eps)) * self.largest
        if self.plain in SOLVED:
            return SOLVED_ULPS * eps, SOLVED_ULPS * eps * self.largest
        if self.plain in SUMS or self.plain.endswith(("fft", "fft2", "fftn")):
            return TERMS_ULPS * eps, TERMS_ULPS * eps * self.largest**2 + tiny
        if not self.complex and (self.plain in ROUNDED or self.plain in MOVED):
            return 0.0, 0.0
        return ULPS * eps, tiny

    def overflows(self, dtype: np.dtype) -> bool:
        """Whether a product of some of the elements may be too large for the result, so that their order decides."""
        longest = max((base.size for base in self.arrays), default=1)
        return self.plain in PRODUCTS and longest * math.log(self.largest) > math.log(float(np.finfo(dtype).max))

    @property
    def sensitive(self) -> bool:
        """Whether rounding alone may decide between finite and infinite, or between any two values."""
        large = self.largest > 1e3 or not self.finite
        return large and (
            self.plain in SOLVED
            or self.plain in SPECTRA
            or self.plain in SUMS
            or self.plain.endswith(("fft", "fft2", "fftn"))
        )


def _of_values(expected: Any, actual: Any, rule: _Rule, where: str) -> Disagreement | None:
    if isinstance(expected, (np.ndarray, np.generic)):
        return _of_arrays(expected, actual, rule, where)
    if isinstance(actual, tnp.ndarray):
        return Disagreement("type", _short(expected) + where, _short(actual))
    if isinstance(expected, Sequence) and not isinstance(expected, (str, bytes)):
        if type(expected).__name__ != type(actual).__name__ or len(expected) != len(actual):
            return Disagreement("type", _short(expected) + where, _short(actual))
        found = [_of_values(e, a, rule, f"{where}[{i}]") for i, (e, a) in enumerate(zip(expected, actual, strict=True))]
        return next((one for one in found if one is not None), None)
    if isinstance(expected, np.flatiter):
        return _of_arrays(np.asarray(expected), tnp.asarray(actual), rule, where)
    if type(expected) is not type(actual):
        return Disagreement("type", _short(expected) + where, _short(actual))
    if isinstance(expected, (float, complex)):
        return _of_arrays(np.asarray(expected)[()], tnp.asarray(actual)[()], rule, where)
    if expected != actual and _written(expected) != _written(actual):
        return Disagreement("value", _short(expected) + where, _short(actual))
    return None


def _written(value: Any) -> str:
    """Return how a value is printed, without the address of an object: each side makes its own."""
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)  # a power of integers may have more digits
    try:
        return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
    finally:
        sys.set_int_max_str_digits(limit)


def _of_arrays(expected: Any, actual: Any, rule: _Rule, where: str) -> Disagreement | None:
    if not isinstance(actual, tnp.ndarray) and (type(actual) is not type(expected) or expected.dtype in to_torch):
        return Disagreement("type", _short(expected) + where, _short(actual))
    if actual.dtype != expected.dtype:
        return Disagreement("dtype", f"{expected.dtype}{where}: {_short(expected)}", f"{actual.dtype}")
    if actual.shape != expected.shape:
        return Disagreement("shape", f"{expected.shape}{where}", f"{actual.shape}")
    if not isinstance(actual, tnp.ndarray):  # dates, text and objects, which are NumPy's on both sides
        if {*map(type, expected.flat)} == {*map(type, actual.flat)} == {int}:  # with 2**31 digits, it may be
            same = expected.tolist() == actual.tolist()
        elif expected.dtype.hasobject:
            same = _written(expected.tolist()) == _written(actual.tolist())
        else:
            same = expected.tobytes() == actual.tobytes()
        return None if same else Disagreement("value", _short(expected) + where, _short(actual))
    if isinstance(actual, scalar) is not isinstance(expected, np.generic):
        return Disagreement("scalar or array", f"{type(expected).__name__}{where}", type(actual).__name__)
    with tnp.allow_host_copies():
        kind = _difference(np.asarray(expected), tnp.asnumpy(actual), rule)
    return None if kind is None else Disagreement(kind, _short(expected) + where, _short(actual))


def _difference(expected: np.ndarray, actual: np.ndarray, rule: _Rule) -> str | None:
    """The kind of difference between values of one dtype and shape."""
    if expected.dtype.kind not in "fc":
        if rule.unordered or np.array_equal(expected, actual):
            return None
        beyond = rule.largest > 127 or not rule.finite or any(not base.size for base in rule.arrays)
        undefined = rule.rounds and beyond and expected.dtype.kind in "iu"
        return "value: float too large for an integer" if undefined else "value"
    if rule.unordered or expected.tobytes() == actual.tobytes():
        return None
    if rule.plain in SPECTRA and expected.ndim:
        expected, actual = np.sort(expected), np.sort(actual)
    rtol, atol = rule.tolerances(expected.dtype)
    close = _close(expected, actual, rtol, atol)
    if not close.all():
        if rule.overflows(expected.dtype):
            return "value: beyond rounding"
        if expected.dtype == np.float16 and not np.isfinite(expected[~close] - actual[~close]).any():
            return "value: beyond rounding"  # what overflows on the way to a sum or a product
        if (rule.complex or expected.dtype.kind == "c") and not np.isfinite(expected[~close]).all():
            return "value: complex, not finite"
        return "value: beyond rounding" if rule.sensitive else "value"
    if rule.plain in MOVED and expected.dtype.kind == "f":
        if (np.signbit(expected) != np.signbit(actual))[~np.isnan(expected)].any():
            return "sign of zero"
    return None


def _close(expected: np.ndarray, actual: np.ndarray, rtol: float, atol: float) -> np.ndarray:
    """Which elements are close enough; an infinite part of a complex number leaves its other part to be compared."""
    with np.errstate(all="ignore"):
        close = np.isclose(actual, expected, rtol, atol, equal_nan=True)
        if expected.dtype.kind == "c" and not close.all():
            parts = [np.isclose(f(actual), f(expected), rtol, atol, equal_nan=True) for f in (np.real, np.imag)]
            close |= parts[0] & parts[1]
        return np.asarray(close)


def _of_memory(call: Call, expected: Outcome, actual: Outcome) -> Disagreement | None:
    """Whether the results are views of the arguments in both, and the arguments themselves."""
    inplace = "out" in call.keywords or call.callee.startswith(("operator.i", "np.asa"))
    pairs = list(zip(_arrays(expected.value), _arrays(actual.value), strict=False))
    for number, (one, other) in enumerate(pairs):
        for base, ours in zip(expected.bases, actual.bases, strict=True):
            if not one.size:
                continue
            shares, ours_shares = np.may_share_memory(one, base), tnp.may_share_memory(other, ours)
            if shares is not ours_shares:
                return Disagreement("memory", f"result {number} shares: {shares}", f"shares: {ours_shares}")
            if inplace and (one is base) is not (other is ours):
                return Disagreement("identity", f"result {number} is the argument: {one is base}", f"{other is ours}")
    return None


def _arrays(value: Any) -> list[Any]:
    if isinstance(value, (np.ndarray, tnp.ndarray)) and not isinstance(value, scalar):
        return [value] if value.dtype in to_torch else []
    return [a for item in value for a in _arrays(item)] if isinstance(value, (list, tuple)) else []
