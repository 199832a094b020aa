"""Accuracy: each elementwise function's error in units in the last place, against mpmath's values.

The error of a result is its distance from the exact value, divided by the distance between the two floats around it;
a correctly rounded result has at most half of one. The exact value is that at the float that the function is given.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

import tnp

PRECISION = 200
"""Bits of mpmath's values; those that lose some to cancellation are worked out with more."""
WIDER = 2300
"""Bits that hold the quotient of any two floats."""
GROUP = 6
"""So many functions are compiled together: the C++ compiler takes longer to start than to compile one."""
DTYPES = ("float32", "float64")
NO_WORSE = ("expm1", "log1p", "sinc", "logaddexp", "hypot", "remainder")
"""Functions that are to be as near to mpmath as NumPy's."""
APART = 4.0
"""In float64 every function is to be so many units from NumPy's result at most."""

Array = np.ndarray
Arguments = tuple[Array, ...]


# ---- Where functions are tried.


class Draw:
    """Arguments of one dtype: ``count`` of each kind."""

    def __init__(self, dtype: str, count: int, seed: int = 0) -> None:
        self.dtype = np.dtype(dtype)
        self.count = count
        self.info = np.finfo(self.dtype)
        self.rng = np.random.default_rng(seed)
        self.largest = math.log(float(self.info.max))
        self.smallest = math.log(float(self.info.smallest_subnormal))

    def wide(self) -> Array:
        """Any finite numbers: every exponent is as likely, subnormal ones too."""
        bits = self.rng.integers(0, 256, (self.count * 2, self.dtype.itemsize), np.uint8).view(self.dtype)[:, 0]
        return bits[np.isfinite(bits)][: self.count]

    def positive(self) -> Array:
        """The absolute values of such numbers."""
        return np.abs(self.wide())

    def between(self, low: float, high: float) -> Array:
        """Uniform numbers."""
        return self.rng.uniform(low, high, self.count).astype(self.dtype)

    def small(self, most: float = 1.0) -> Array:
        """Numbers of both signs at most ``most`` in size, their exponents uniform."""
        bits = -float(self.info.minexp)
        size = most * np.exp2(-self.rng.uniform(0, bits, self.count))
        return (size * self.rng.choice([-1.0, 1.0], self.count)).astype(self.dtype)

    def near(self, *points: float) -> Array:
        """The floats around some points, and numbers ever nearer to them."""
        found = []
        for point in points:
            here = self.dtype.type(point)
            steps = np.arange(-40, 41)
            found.append((here + steps * np.spacing(np.abs(here))).astype(self.dtype))
            found.append((point + self.small(0.5)[: self.count // 4]).astype(self.dtype))
        return np.concatenate(found)

    def quarters(self) -> Array:
        """The floats beside multiples of a quarter turn, small and huge: where sines and cosines vanish."""
        counts = np.concatenate([np.arange(1, 200), np.exp2(self.rng.uniform(0, 50, self.count)).round()])
        middle = (counts * (np.pi / 2)).astype(self.dtype)
        return np.concatenate([middle, np.nextafter(middle, 0), -middle])


def anything(draw: Draw) -> Arguments:
    return (np.concatenate([draw.wide(), draw.small(), draw.between(-10, 10), draw.near(0, 1, -1)]),)


def angles(draw: Draw) -> Arguments:
    return (
        np.concatenate([draw.wide(), draw.small(), draw.between(-10, 10), draw.between(-1e5, 1e5), draw.quarters()]),
    )


def exponents(draw: Draw) -> Arguments:
    low, high = draw.smallest, draw.largest
    return (np.concatenate([draw.between(low, high), draw.between(-2, 2), draw.small(), draw.near(low, high, 1)]),)


def binary_exponents(draw: Draw) -> Arguments:
    return (exponents(draw)[0] / draw.dtype.type(math.log(2)),)


def hyperbolic(draw: Draw) -> Arguments:
    high = draw.largest
    return (np.concatenate([draw.between(-high, high), draw.between(-2, 2), draw.small(), draw.near(high, -high)]),)


def above_zero(draw: Draw) -> Arguments:
    return (np.concatenate([draw.positive(), draw.between(0.1, 4), draw.near(1, 2, 10)]),)


def above_minus_one(draw: Draw) -> Arguments:
    x = np.concatenate(
        [draw.positive(), draw.between(-1, 4), draw.small(), draw.near(-0.5, -0.3, 0.4), -1 + draw.positive()]
    )
    return (x[x > -1],)


def above_one(draw: Draw) -> Arguments:
    x = np.concatenate([draw.positive(), draw.between(1, 4), draw.near(1)])
    return (x[x >= 1],)


def unit(draw: Draw) -> Arguments:
    x = np.concatenate([draw.between(-1, 1), draw.small(), draw.near(1, -1, 0.5, -0.5)])
    return (x[np.abs(x) < 1],)


def moderate(draw: Draw) -> Arguments:
    return (np.concatenate([draw.between(-80, 80), draw.small(), draw.near(8, -8)]),)


def waves(draw: Draw) -> Arguments:
    """Of sinc: integers, where it vanishes, and numbers beside them."""
    whole = np.arange(1, 100).astype(draw.dtype)
    return (
        np.concatenate(
            [
                draw.between(-10, 10),
                draw.between(-1e4, 1e4),
                draw.small(),
                np.nextafter(whole, 0),
                whole + draw.dtype.type(0.5),
            ]
        ),
    )


def pairs(draw: Draw) -> Arguments:
    """Numbers of any size, of like size, and of one size and another."""
    one, other = draw.wide(), draw.wide()
    near = draw.between(0.5, 2), draw.between(-2, 2)
    return np.concatenate([one, near[0], one]), np.concatenate([other[: len(one)], near[1], one * near[0]])


def logarithms(draw: Draw) -> Arguments:
    """Of the sum of two exponentials: near, apart, and of a sum near 1."""
    x, y = draw.between(-100, 100), draw.between(-100, 100)
    small = -np.abs(draw.small())
    beside = np.log(-np.expm1(small.astype(np.float64))).astype(draw.dtype)
    return np.concatenate([x, x, draw.between(-3, 3), small]), np.concatenate(
        [y, x + y / 50, draw.between(-3, 3), beside]
    )


def bases(draw: Draw) -> Arguments:
    """Bases and exponents whose power is finite: huge, tiny and of bases near 1."""
    x = np.concatenate([draw.positive(), draw.between(0.1, 10), draw.near(1)])
    x = x[x > 0]
    room = draw.largest / np.maximum(np.abs(np.log(x.astype(np.float64))), 1e-3)
    return x, (draw.rng.uniform(-1, 1, len(x)) * np.minimum(room, 1e4)).astype(draw.dtype)


def dividends(draw: Draw) -> Arguments:
    """Dividends far larger than the divisor too."""
    y = np.concatenate([draw.between(0.1, 10), draw.between(-10, -0.1), draw.wide()])
    ratio = np.exp2(draw.rng.uniform(-3, 60, len(y))) * draw.rng.choice([-1.0, 1.0], len(y))
    with np.errstate(over="ignore", under="ignore"):
        x = (y.astype(np.float64) * ratio).astype(draw.dtype)
    fine = np.isfinite(x) & (y != 0)
    return x[fine], y[fine]


# ---- What the exact values are.


def _sinc(x: Any) -> Any:
    return mpmath.sincpi(x)


def _wide(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with enough bits for any cancellation."""

    def exact(*args: Any) -> Any:
        with mpmath.workprec(WIDER):
            return function(*args)

    return exact


def _logaddexp(x: Any, y: Any) -> Any:
    high, low = max(x, y), min(x, y)
    return high + mpmath.log1p(mpmath.exp(low - high))


def _logaddexp2(x: Any, y: Any) -> Any:
    high, low = max(x, y), min(x, y)
    return high + mpmath.log1p(mpmath.power(2, low - high)) / mpmath.log(2)


def _remainder(x: Any, y: Any) -> Any:
    return x - mpmath.floor(x / y) * y


def _fmod(x: Any, y: Any) -> Any:
    quotient = x / y
    return x - (mpmath.floor(quotient) if quotient > 0 else mpmath.ceil(quotient)) * y


@dataclass(frozen=True)
class Function:
    """A function's exact value and the arguments that it is tried at.

    A result that is the difference of larger numbers is measured in units of the ``larger`` argument where that is
    more: no implementation keeps the digits that cancel without twice the precision, NumPy's neither.
    """

    exact: Callable[..., Any]
    arguments: Callable[[Draw], Arguments]
    larger: bool = False


FUNCTIONS = {
    "exp": Function(mpmath.exp, exponents),
    "exp2": Function(lambda x: mpmath.power(2, x), binary_exponents),
    "expm1": Function(mpmath.expm1, exponents),
    "log": Function(mpmath.log, above_zero),
    "log2": Function(lambda x: mpmath.log(x) / mpmath.log(2), above_zero),
    "log10": Function(lambda x: mpmath.log(x) / mpmath.log(10), above_zero),
    "log1p": Function(mpmath.log1p, above_minus_one),
    "logaddexp": Function(_logaddexp, logarithms, larger=True),
    "logaddexp2": Function(_logaddexp2, logarithms, larger=True),
    "sin": Function(mpmath.sin, angles),
    "cos": Function(mpmath.cos, angles),
    "tan": Function(mpmath.tan, angles),
    "sinc": Function(_sinc, waves),
    "arcsin": Function(mpmath.asin, unit),
    "arccos": Function(mpmath.acos, unit),
    "arctan": Function(mpmath.atan, anything),
    "arctan2": Function(mpmath.atan2, pairs),
    "sinh": Function(mpmath.sinh, hyperbolic),
    "cosh": Function(mpmath.cosh, hyperbolic),
    "tanh": Function(mpmath.tanh, hyperbolic),
    "arcsinh": Function(mpmath.asinh, anything),
    "arccosh": Function(mpmath.acosh, above_one),
    "arctanh": Function(mpmath.atanh, unit),
    "degrees": Function(mpmath.degrees, anything),
    "radians": Function(mpmath.radians, anything),
    "i0": Function(lambda x: mpmath.besseli(0, x), moderate),
    "sqrt": Function(mpmath.sqrt, above_zero),
    "cbrt": Function(lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), anything),
    "square": Function(lambda x: x * x, anything),
    "reciprocal": Function(lambda x: 1 / x, anything),
    "hypot": Function(_wide(mpmath.hypot), pairs),
    "power": Function(mpmath.power, bases),
    "float_power": Function(mpmath.power, bases),
    "add": Function(_wide(lambda x, y: x + y), pairs),
    "multiply": Function(lambda x, y: x * y, pairs),
    "divide": Function(lambda x, y: x / y, dividends),
    "fmod": Function(_wide(_fmod), dividends),
    "remainder": Function(_wide(_remainder), dividends),
}
"""NumPy's elementwise functions of floats that round."""


# ---- Errors.


@dataclass(frozen=True)
class Error:
    """The largest error of a function, in units in the last place, and the arguments where it is."""

    function: str
    dtype: str
    by: str
    worst: float
    at: tuple[float, ...]
    apart: float
    """The largest distance from NumPy's result, in the same units."""


def arguments(name: str, dtype: str, count: int) -> Arguments:
    """The arguments of a function, none of which is zero or too large for mpmath's function to be asked."""
    drawn = FUNCTIONS[name].arguments(Draw(dtype, count))
    fine = np.all([np.isfinite(array) & (array != 0) for array in drawn], axis=0)
    if name == "sinc":
        fine &= drawn[0] != np.rint(drawn[0])  # zeros, which pi as a float misses
    return tuple(np.ascontiguousarray(array[fine]) for array in drawn)


def exact_values(name: str, drawn: Arguments) -> list[Any]:
    """mpmath's values at the arguments."""
    exact = FUNCTIONS[name].exact
    with mpmath.workprec(PRECISION):
        columns = [[mpmath.mpf(float(value)) for value in array] for array in drawn]
        return [exact(*row) for row in zip(*columns, strict=True)]


def unit_of(exact: Any, dtype: np.dtype) -> Any:
    """The distance of the two floats around an exact value."""
    info = np.finfo(dtype)
    exponent = int(mpmath.frexp(exact)[1]) if exact else -(10**9)
    return mpmath.ldexp(1, max(exponent - info.nmant - 1, int(info.minexp) - info.nmant))


def error(got: float, exact: Any, unit: Any, largest: Any) -> float:
    """The distance of a result from the exact value, in units; infinite for a wrong infinity or NaN."""
    if math.isfinite(got):
        return float(abs(got - exact) / unit)
    # Half a unit beyond the largest float, infinity is what the exact value is rounded to.
    overflows = abs(exact) >= largest + unit / 4 and (exact > 0) == (got > 0)
    return 0.0 if not math.isnan(got) and overflows else math.inf


def errors(name: str, dtype: str, drawn: Arguments, exact: Sequence[Any], results: dict[str, Array]) -> Iterator[Error]:
    """The worst error of each result; ``results`` has NumPy's too."""
    kind = results["NumPy"].dtype
    with mpmath.workprec(WIDER):
        units = [unit_of(value, kind) for value in exact]
        if FUNCTIONS[name].larger:
            sizes_of = np.max(np.abs(drawn), axis=0).tolist()
            units = [max(unit, unit_of(mpmath.mpf(size), kind)) for unit, size in zip(units, sizes_of, strict=True)]
        largest = mpmath.mpf(float(np.finfo(kind).max))
        reference = results["NumPy"].tolist()
        for by, found in results.items():
            sizes = [error(got, *rest, largest) for got, *rest in zip(found.tolist(), exact, units, strict=True)]
            worst = int(np.argmax(sizes))
            apart = (
                max(
                    (
                        float(abs(mpmath.mpf(one) - other) / size)
                        if math.isfinite(one) and math.isfinite(other)
                        else math.inf
                    )
                    for one, other, size in zip(found.tolist(), reference, units, strict=True)
                    if one != other
                )
                if not np.array_equal(found, results["NumPy"], equal_nan=True)
                else 0.0
            )
            yield Error(name, dtype, by, sizes[worst], tuple(float(array[worst]) for array in drawn), apart)


def eager(names: Sequence[str], drawn: dict[str, Arguments], device: str) -> dict[str, Array]:
    """What tnp's functions return."""
    arrays = {name: [tnp.asarray(array, device=device) for array in drawn[name]] for name in names}
    return {name: _host(getattr(tnp, name)(*arrays[name])) for name in names}


def compiled(names: Sequence[str], drawn: dict[str, Arguments], device: str) -> dict[str, Array]:
    """What they return in one compiled function."""
    arrays = {name: [tnp.asarray(array, device=device) for array in drawn[name]] for name in names}

    @tnp.compile
    def together(arrays: dict[str, list[Any]]) -> dict[str, Any]:
        return {name: getattr(tnp, name)(*given) for name, given in arrays.items()}

    return {name: _host(value) for name, value in together(arrays).items()}


def _host(array: Any) -> Array:
    return tnp.asnumpy(array.to_device("cpu"))


def measure(names: Sequence[str], dtypes: Iterable[str], count: int, device: str, compiling: bool) -> list[Error]:
    """All errors of the functions."""
    found: list[Error] = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for dtype in dtypes:
            for start in range(0, len(names), GROUP):
                group = names[start : start + GROUP]
                drawn = {name: arguments(name, dtype, count) for name in group}
                results = {"NumPy": {name: getattr(np, name)(*drawn[name]) for name in group}}
                results["eager"] = eager(group, drawn, device)
                if compiling:
                    results["compiled"] = compiled(group, drawn, device)
                for name in group:
                    exact = exact_values(name, drawn[name])
                    own = {by: values[name] for by, values in results.items()}
                    found += errors(name, dtype, drawn[name], exact, own)
    return found


# ---- What is said about them.


def missed(found: Sequence[Error]) -> list[str]:
    """The targets that are missed, a line each."""
    far = [
        f"{entry.function}, {entry.dtype}, {entry.by}: {_digits(entry.apart)} ulp from NumPy's"
        for entry in found
        if entry.by != "NumPy" and entry.dtype == "float64" and entry.apart > APART
    ]
    return far + [line for entry, line in _worse(found) if entry.worst > 1]


def behind(found: Sequence[Error]) -> list[str]:
    """Where a function that is to be as near as NumPy's is not, and within one ulp, a line each."""
    return [line for entry, line in _worse(found) if entry.worst <= 1]


def _worse(found: Sequence[Error]) -> Iterator[tuple[Error, str]]:
    numpys = {(entry.function, entry.dtype): entry.worst for entry in found if entry.by == "NumPy"}
    for entry in found:
        if entry.by != "NumPy" and entry.function in NO_WORSE:
            theirs = numpys[entry.function, entry.dtype]
            if entry.worst > theirs + 0.01:
                where = f"{entry.function}, {entry.dtype}, {entry.by}"
                yield entry, f"{where}: {_digits(entry.worst)} ulp, NumPy {_digits(theirs)}"


def _digits(value: float) -> str:
    return "inf" if math.isinf(value) else f"{value:.2f}" if value < 100 else f"{value:.1e}"


def columns(found: Sequence[Error]) -> list[tuple[str, str]]:
    """Dtype and computer of each column, in order."""
    return list(dict.fromkeys((entry.dtype, entry.by) for entry in found))


def cells(found: Sequence[Error]) -> dict[str, list[str]]:
    """Function -> its errors in the order of the columns."""
    table: dict[str, list[str]] = {}
    for name in dict.fromkeys(entry.function for entry in found):
        own = {(entry.dtype, entry.by): _digits(entry.worst) for entry in found if entry.function == name}
        table[name] = [own.get(column, "") for column in columns(found)]
    return table


def markdown(found: Sequence[Error], count: int, device: str) -> str:
    """The page ``docs/accuracy.md``."""
    titles = ["function", *(f"{dtype}, {by}" for dtype, by in columns(found))]
    rows = [[f"`{name}`", *values] for name, values in cells(found).items()]
    apart = max((entry.apart for entry in found if entry.dtype == "float64"), default=0.0)
    lines = [" | ".join(titles), " | ".join(["---", *["---:"] * (len(titles) - 1)]), *(" | ".join(row) for row in rows)]
    verdict, close = ("".join(f"- {line}\n" for line in lines) or "None.\n" for lines in (missed(found), behind(found)))
    return (
        f"""\
# Accuracy

Written by `python -m conformance ulp --markdown`: the largest error of each elementwise function, in units in the last
place (ulp), against mpmath. A correctly rounded result has at most 0.50. Device: {device}; NumPy {np.__version__}.

Each function is tried at {count} numbers of each kind that suits it: numbers of any exponent, subnormal ones
included; uniform numbers; ever smaller numbers; the floats around its special points; for trigonometric functions the
floats beside multiples of a quarter turn, small and huge; for `fmod` and `remainder` dividends up to 2^60 times the
divisor. Every run uses the same sample. "eager" and "compiled" are tnp's results; "compiled" runs the C++ that
Inductor makes. The errors of `logaddexp` and `logaddexp2` are in units of the larger of result and argument: where
the two cancel, no digits are left.

"""
        + "\n".join(f"| {line} |" for line in lines)
        + f"""

In float64 tnp's results are at most {_digits(apart)} ulp from NumPy's.

## Targets that are missed

float64 at most {APART:g} ulp from NumPy; {", ".join(f"`{name}`" for name in NO_WORSE)} no worse than NumPy's, or
within one ulp.

{verdict}
Worse than NumPy's, within one ulp:

{close}
On the CPU, where no gradient is recorded, tnp calls NumPy's own `hypot` and, in float64, NumPy's own `expm1`, `log1p`
and `logaddexp`, because their errors are smaller than torch's.
"""
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("--markdown", action="store_true", help="print the page docs/accuracy.md")
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(FUNCTIONS), metavar="A,B")
    parser.add_argument("--dtypes", type=lambda text: text.split(","), default=DTYPES, metavar="A,B")
    parser.add_argument("--points", type=int, default=1000, metavar="N", help="of each kind (default: %(default)s)")
    parser.add_argument("--device", default="cpu", help="where tnp computes (default: %(default)s)")
    parser.add_argument("--eager", action="store_true", help="leave the compiled functions out")


def main(chosen: argparse.Namespace) -> int:
    """Measure and print; 1 where a target is missed."""
    found = measure(chosen.only, chosen.dtypes, chosen.points, chosen.device, not chosen.eager)
    if chosen.markdown:
        print(markdown(found, chosen.points, chosen.device), end="")
        return 0
    for entry in found:
        place = ", ".join(f"{value!r}" for value in entry.at)
        sizes = f"{_digits(entry.worst)} at ({place}), apart {_digits(entry.apart)}"
        print(f"{entry.function:12} {entry.dtype} {entry.by:8} {sizes}")
    misses = missed(found)
    print(*(misses or ["no target is missed"]), sep="\n")
    return 1 if misses else 0
