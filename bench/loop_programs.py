"""``python -m bench loop-programs``: programs with Python loops, compiled unchanged, beside NumPy and Numba."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import inspect
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy
from rich.progress import track
from rich.table import Table

from bench import options, report, timing

# The programs. The first argument is numpy or tnp. They may write to the other arguments.


def gauss_seidel(np: Any, u: Any) -> Any:
    """Sweeps over a grid, each element from its new neighbours."""
    for _ in range(10):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) / 4
    return u


def jacobi_1d(np: Any, u: Any) -> Any:
    """A stencil in one dimension."""
    for _ in range(200):
        u[1:-1] = (u[:-2] + u[1:-1] + u[2:]) / 3
    return u


def heat_2d(np: Any, u: Any) -> Any:
    """A stencil in two dimensions."""
    for _ in range(50):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return u


def heat_3d(np: Any, u: Any) -> Any:
    """A stencil in three dimensions."""
    for _ in range(20):
        inside = u[1:-1, 1:-1, 1:-1]
        around = u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1]
        u[1:-1, 1:-1, 1:-1] = inside + 0.1 * (around + u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2] - 6 * inside)
    return u


def wave(np: Any, u: Any) -> Any:
    """The wave equation, with two states that swap names."""
    before = u.copy()
    now = u.copy()
    for _ in range(200):
        after = now * 0
        after[1:-1] = 2 * now[1:-1] - before[1:-1] + 0.2 * (now[2:] - 2 * now[1:-1] + now[:-2])
        before, now = now, after
    return now


def life(np: Any, cells: Any) -> Any:
    """The game of life."""
    for _ in range(30):
        around = cells * 0
        for i in range(-1, 2):
            for j in range(-1, 2):
                if i != 0 or j != 0:
                    around = around + np.roll(np.roll(cells, i, 0), j, 1)
        cells = np.where((around == 3) | ((cells == 1) & (around == 2)), 1, 0)
    return cells


def lu(np: Any, a: Any) -> Any:
    """LU decomposition by elements."""
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


def cholesky(np: Any, a: Any) -> Any:
    """Cholesky decomposition by elements."""
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
        for k in range(i):
            a[i, i] -= a[i, k] * a[i, k]
        a[i, i] = np.sqrt(a[i, i])
    return a


def gram_schmidt(np: Any, a: Any) -> Any:
    """Orthogonal columns."""
    n = a.shape[1]
    for k in range(n):
        a[:, k] = a[:, k] / np.sqrt((a[:, k] ** 2).sum())
        for j in range(k + 1, n):
            a[:, j] -= (a[:, k] * a[:, j]).sum() * a[:, k]
    return a


def forward_substitution(np: Any, a: Any, b: Any) -> Any:
    """A lower triangular system."""
    for i in range(len(b)):
        for j in range(i):
            b[i] -= a[i, j] * b[j]
        b[i] /= a[i, i]
    return b


def backward_substitution(np: Any, a: Any, b: Any) -> Any:
    """An upper triangular system, from its end."""
    n = len(b)
    for i in reversed(range(n)):
        total = b[i]
        for j in range(i + 1, n):
            total = total - a[i, j] * b[j]
        b[i] = total / a[i, i]
    return b


def thomas(np: Any, lower: Any, middle: Any, upper: Any, right: Any) -> Any:
    """A tridiagonal system."""
    n = len(right)
    for i in range(1, n):
        factor = lower[i] / middle[i - 1]
        middle[i] -= factor * upper[i - 1]
        right[i] -= factor * right[i - 1]
    right[n - 1] /= middle[n - 1]
    for i in range(n - 2, -1, -1):
        right[i] = (right[i] - upper[i] * right[i + 1]) / middle[i]
    return right


def conjugate_gradients(np: Any, a: Any, b: Any) -> Any:
    """A linear system, until its residual is small."""
    x = b * 0
    residual = b - a @ x
    direction = residual
    squared = (residual * residual).sum()
    while squared > 1e-20:
        image = a @ direction
        rate = squared / (direction * image).sum()
        x = x + rate * direction
        residual = residual - rate * image
        following = (residual * residual).sum()
        direction = residual + following / squared * direction
        squared = following
    return x


def power_iteration(np: Any, a: Any, v: Any) -> Any:
    """The largest eigenvalue, until it settles."""
    value = (v * v).sum()
    for _ in range(500):
        w = a @ v
        v = w / np.sqrt((w * w).sum())
        before = value
        value = (v * (a @ v)).sum()
        if abs(value - before) < 1e-12:
            break
    return value


def levenshtein(np: Any, a: Any, b: Any) -> Any:
    """The edit distance of two sequences."""
    n, m = len(a), len(b)
    d = np.zeros((n + 1, m + 1), dtype=np.int64)
    for i in range(n + 1):
        d[i, 0] = i
    for j in range(m + 1):
        d[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[n, m]


def common_subsequence(np: Any, a: Any, b: Any) -> Any:
    """The length of the longest common subsequence."""
    d = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if a[i - 1] == b[j - 1]:
                d[i, j] = d[i - 1, j - 1] + 1
            elif d[i - 1, j] > d[i, j - 1]:
                d[i, j] = d[i - 1, j]
            else:
                d[i, j] = d[i, j - 1]
    return d[-1, -1]


def knapsack(np: Any, weights: Any, values: Any) -> Any:
    """The most valuable choice of a bounded weight."""
    best = np.zeros(200, dtype=np.int64)
    for k in range(len(weights)):
        for w in range(199, 0, -1):
            if w >= weights[k]:
                best[w] = max(best[w], best[w - weights[k]] + values[k])
    return best


def floyd_warshall(np: Any, d: Any) -> Any:
    """All shortest paths."""
    for k in range(d.shape[0]):
        d[:] = np.minimum(d, d[:, k][:, None] + d[k])
    return d


def dijkstra(np: Any, d: Any) -> Any:
    """The shortest paths from the first node."""
    n = d.shape[0]
    far = d[0].copy()
    done = np.zeros(n, dtype=bool)
    for _ in range(n):
        nearest = np.argmin(np.where(done, np.inf, far))
        done[nearest] = True
        for j in range(n):
            if not done[j] and far[nearest] + d[nearest, j] < far[j]:
                far[j] = far[nearest] + d[nearest, j]
    return far


def crc32(np: Any, data: Any) -> Any:
    """A checksum, bit by bit."""
    crc = np.int64(0xFFFFFFFF)
    for byte in data:
        crc = crc ^ byte
        for _ in range(8):
            if crc & 1:
                crc = (crc >> 1) ^ 0xEDB88320
            else:
                crc = crc >> 1
    return crc ^ 0xFFFFFFFF


def mandelbrot(np: Any, xs: Any, ys: Any) -> Any:
    """The steps until each point escapes."""
    counts = np.zeros((len(ys), len(xs)), dtype=np.int64)
    for i in range(len(ys)):
        for j in range(len(xs)):
            x, y, steps = 0.0, 0.0, 0
            while x * x + y * y < 4 and steps < 100:
                x, y = x * x - y * y + xs[j], 2 * x * y + ys[i]
                steps += 1
            counts[i, j] = steps
    return counts


def collatz(np: Any, starts: Any) -> Any:
    """The steps until 1, of several numbers."""
    steps = np.zeros(len(starts), dtype=np.int64)
    for i in range(len(starts)):
        n = starts[i]
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps[i] += 1
    return steps


def greatest_common_divisors(np: Any, a: Any, b: Any) -> Any:
    """Euclid's algorithm."""
    result = a * 0
    for i in range(len(a)):
        x, y = a[i], b[i]
        while y != 0:
            x, y = y, x % y
        result[i] = x
    return result


def sieve(np: Any, marks: Any) -> Any:
    """Prime numbers."""
    n = len(marks)
    for i in range(2, n):
        if marks[i]:
            j = i * i
            while j < n:
                marks[j] = False
                j += i
    return marks


def sparse_product(np: Any, starts: Any, columns: Any, values: Any, x: Any) -> Any:
    """A sparse matrix, by rows, times a vector."""
    y = np.zeros(len(starts) - 1)
    for i in range(len(y)):
        for k in range(starts[i], starts[i + 1]):
            y[i] += values[k] * x[columns[k]]
    return y


def median_filter(np: Any, x: Any) -> Any:
    """The median of nine neighbours."""
    found = x.copy()
    for i in range(4, len(x) - 4):
        found[i] = np.median(x[i - 4 : i + 5])
    return found


def kalman(np: Any, zs: Any, f: Any, q: Any) -> Any:
    """A filter of positions and speeds."""
    x, p = np.zeros(2), np.eye(2)
    found = np.zeros((len(zs), 2))
    for t in range(len(zs)):
        x = f @ x
        p = f @ p @ f.T + q
        gain = p[:, 0] / (p[0, 0] + 0.5)
        x = x + gain * (zs[t] - x[0])
        p = p - gain[:, None] * p[0]
        found[t] = x
    return found


def runge_kutta(np: Any, state: Any) -> Any:
    """The Lorenz system, by steps of fourth order."""

    def slope(s: Any) -> Any:
        return np.stack([10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]])

    for _ in range(300):
        a = slope(state)
        b = slope(state + 0.0005 * a)
        c = slope(state + 0.0005 * b)
        d = slope(state + 0.001 * c)
        state = state + 0.001 / 6 * (a + 2 * b + 2 * c + d)
    return state


def bodies(np: Any, x: Any, v: Any) -> Any:
    """Masses that attract each other."""
    for _ in range(50):
        for i in range(len(x)):
            for j in range(len(x)):
                if i != j:
                    d = x[j] - x[i]
                    v[i] += 0.001 * d / ((d * d).sum() + 0.01) ** 1.5
        x += 0.01 * v
    return x


def random_walk(np: Any, steps: Any) -> Any:
    """Monte Carlo with given numbers: when each path first leaves a band."""
    left = np.zeros(len(steps), dtype=np.int64)
    for i in range(len(steps)):
        place = 0.0
        for k in range(steps.shape[1]):
            place += steps[i, k]
            if abs(place) > 3:
                break
            left[i] += 1
    return left


def levinson_durbin(np: Any, r: Any) -> Any:
    """The coefficients of a linear prediction."""
    n = len(r) - 1
    a = np.zeros(n + 1)
    a[0] = 1
    error = r[0]
    for k in range(1, n + 1):
        total = 0.0
        for j in range(k):
            total += a[j] * r[k - j]
        rate = -total / error
        before = a.copy()
        for j in range(1, k + 1):
            a[j] = before[j] + rate * before[k - j]
        error = error * (1 - rate * rate)
    return a


def convolution(np: Any, image: Any, kernel: Any) -> Any:
    """A filter of an image, by four loops."""
    n, m = kernel.shape
    result = np.zeros((image.shape[0] - n + 1, image.shape[1] - m + 1))
    for i in range(result.shape[0]):
        for j in range(result.shape[1]):
            for k in range(n):
                for p in range(m):
                    result[i, j] += image[i + k, j + p] * kernel[k, p]
    return result


def bisection(np: Any, low: Any, high: Any) -> Any:
    """The roots of functions, each between two places."""
    while (high - low).max() > 1e-10:
        middle = (low + high) / 2
        is_above = middle**3 - middle - 2 > 0
        high = np.where(is_above, middle, high)
        low = np.where(is_above, low, middle)
    return low


def insertion_sort(np: Any, x: Any) -> Any:
    """Elements moved to their places."""
    for i in range(1, len(x)):
        value = x[i]
        j = i
        while j > 0 and x[j - 1] > value:
            x[j] = x[j - 1]
            j -= 1
        x[j] = value
    return x


def pendulum(np: Any, state: Any) -> Any:
    """A damped pendulum's angles, which are appended to a list."""
    angle, speed, angles = state[0], state[1], []
    for _ in range(500):
        speed += 0.02 * (-np.sin(angle) - 0.1 * speed)
        angle += 0.02 * speed
        angles.append(angle)
    return np.array(angles)


def metropolis(np: Any, proposed: Any, chances: Any) -> Any:
    """A Markov chain as a list, whose next state is proposed or its last."""
    chain = [proposed[0]]
    for i in range(1, len(proposed)):
        state = chain[-1] + proposed[i]
        if np.exp((chain[-1] ** 2 - state**2) / 2) > chances[i]:
            chain.append(state)
        else:
            chain.append(chain[-1])
    return np.array(chain)


def crossings(np: Any, x: Any) -> Any:
    """The places where a signal changes its sign: a list to which only some steps append."""
    places = []
    for i in range(1, len(x)):
        if x[i - 1] * x[i] < 0:
            share = x[i] / (x[i] - x[i - 1])
            places.append(i - share)
    return np.array(places)


def polynomial(np: Any, coefficients: Any, x: Any) -> Any:
    """A polynomial's values, by a comprehension and a sum of a generator expression."""
    powers = [sum(c * v**k for k, c in enumerate(coefficients)) for v in x]
    return np.array(powers)


@dataclass(frozen=True)
class Program:
    """A program, and the function that makes its arguments."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    @property
    def title(self) -> str:
        """Its name."""
        return self.function.__name__.replace("_", " ")


@dataclass(frozen=True)
class Result:
    """A program's seconds by NumPy, by tnp, and by Numba if that takes the program, and of tnp's first call."""

    title: str
    seconds: Mapping[str, timing.Summary]
    first: float

    @property
    def speedup(self) -> float:
        """NumPy's time divided by tnp's."""
        return self.seconds["numpy"].median / self.seconds["tnp"].median

    @property
    def beside_numba(self) -> float | None:
        """Numba's time divided by tnp's; None without Numba's."""
        return self.seconds["numba"].median / self.seconds["tnp"].median if "numba" in self.seconds else None


def programs(n: int = 30) -> list[Program]:
    """The programs with their arguments: matrices of ``n`` rows, and words of ``n`` letters."""
    rng = numpy.random.default_rng(0)
    square = rng.random((n, n)) + n * numpy.eye(n)
    definite = square @ square.T
    words = rng.integers(0, 4, n), rng.integers(0, 4, n)
    away = rng.random((n, n)) * 10
    filled = rng.integers(0, 5, 41)
    starts = numpy.concatenate([[0], numpy.cumsum(filled)])
    autocorrelation = 0.8 ** numpy.arange(n)
    arguments: dict[Callable[..., Any], tuple[Any, ...]] = {
        gauss_seidel: (rng.random((n, n)),),
        jacobi_1d: (rng.random(1000),),
        heat_2d: (rng.random((80, 80)),),
        heat_3d: (rng.random((16, 16, 16)),),
        wave: (rng.random(500),),
        life: (rng.integers(0, 2, (40, 40)),),
        lu: (square,),
        cholesky: (definite,),
        gram_schmidt: (square,),
        forward_substitution: (numpy.tril(square), rng.random(n)),
        backward_substitution: (numpy.triu(square), rng.random(n)),
        thomas: (rng.random(500), 4 + rng.random(500), rng.random(500), rng.random(500)),
        conjugate_gradients: (definite, rng.random(n)),
        power_iteration: (definite, rng.random(n)),
        levenshtein: words,
        common_subsequence: words,
        knapsack: (rng.integers(1, 50, 20), rng.integers(1, 100, 20)),
        floyd_warshall: (away,),
        dijkstra: (away,),
        crc32: (rng.integers(0, 256, 200),),
        mandelbrot: (numpy.linspace(-2, 1, n), numpy.linspace(-1, 1, n)),
        collatz: (numpy.arange(1, 60),),
        greatest_common_divisors: (rng.integers(1, 10**6, 200), rng.integers(1, 10**6, 200)),
        sieve: (numpy.ones(2000, dtype=bool),),
        sparse_product: (starts, rng.integers(0, 40, starts[-1]), rng.random(starts[-1]), rng.random(40)),
        median_filter: (rng.random(300),),
        kalman: (rng.random(200), numpy.array([[1.0, 0.1], [0.0, 1.0]]), 0.01 * numpy.eye(2)),
        runge_kutta: (rng.random(3),),
        bodies: (rng.random((8, 3)), numpy.zeros((8, 3))),
        random_walk: (rng.standard_normal((50, 60)),),
        levinson_durbin: (autocorrelation,),
        convolution: (rng.random((20, 20)), rng.random((3, 3))),
        bisection: (numpy.ones(100), numpy.linspace(2, 3, 100)),
        insertion_sort: (rng.random(80),),
        pendulum: (numpy.array([1.0, 0.5]),),
        metropolis: (rng.standard_normal(500), rng.random(500)),
        crossings: (rng.standard_normal(500),),
        polynomial: (rng.random(12), rng.random(60)),
    }
    return [Program(function, given) for function, given in arguments.items()]


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Return the program on tnp, compiled unchanged."""
    import tnp

    return tnp.compile(lambda *arguments: function(tnp, *arguments), **options)


def by_numpy(program: Program) -> Any:
    """Return NumPy's result."""
    return program.function(numpy, *[each.copy() for each in program.arguments])


def by_numba(program: Program) -> Callable[[], Any] | None:
    """Return a call of the program compiled by Numba, whose ``np`` is a global; None if there is none that is right."""
    if not importlib.util.find_spec("numba"):
        return None
    source = inspect.getsource(program.function).replace("(np: Any, ", "(", 1)
    names: dict[str, Any] = {"np": numpy, "Any": Any}
    exec(source, names)
    function = importlib.import_module("numba").njit(names[program.function.__name__])

    def call() -> Any:
        return function(*[each.copy() for each in program.arguments])

    try:
        is_right = numpy.allclose(call(), by_numpy(program), rtol=1e-9, atol=1e-9)
    except Exception:  # its errors have many classes
        return None
    return call if is_right else None


def compare(program: Program, rounds: int, clock: timing.Clock = time.perf_counter) -> Result:
    """Run one program by both, check the results, then time both in turn; each call gets copies of the arguments."""
    import tnp

    function = compiled(program.function)

    def by_tnp() -> Any:
        return function(*[tnp.asarray(each.copy()) for each in program.arguments])

    started = clock()
    actual = by_tnp()
    seconds = clock() - started
    numpy.testing.assert_allclose(numpy.asarray(actual), by_numpy(program), rtol=1e-9, atol=1e-9, err_msg=program.title)
    contestants = [timing.Contestant("numpy", lambda: by_numpy(program)), timing.Contestant("tnp", by_tnp)]
    if (numba := by_numba(program)) is not None:
        contestants.append(timing.Contestant("numba", numba))
    samples = timing.measure(contestants, rounds, clock=clock)
    return Result(program.title, {name: timing.Summary.of(each) for name, each in samples.items()}, seconds)


def table(results: list[Result]) -> Table:
    """Return a table of the programs' times, speedups over NumPy, and speeds in parts of Numba's."""
    out = report.plain_table("programs with loops, µs a call (blank: Numba is missing, refuses the program, or errs)")
    out.add_column("program")
    for name in ("numpy", "tnp", "numba", "times numpy", "times numba", "first call, s"):
        out.add_column(name, justify="right")
    for each in sorted(results, key=lambda result: result.speedup):
        times = [f"{each.seconds[name].median * 1e6:.1f}" if name in each.seconds else "" for name in CONTESTANTS]
        beside = "" if each.beside_numba is None else f"{each.beside_numba:.2f}"
        out.add_row(each.title, *times, f"{each.speedup:.2f}", beside, f"{each.first:.1f}")
    beside = [each.beside_numba for each in results if each.beside_numba is not None]
    means = [f"{geometric_mean(ratios):.2f}" if ratios else "" for ratios in ([e.speedup for e in results], beside)]
    out.add_row("geometric mean", "", "", "", *means, "")
    return out


CONTESTANTS = ("numpy", "tnp", "numba")


def geometric_mean(ratios: list[float]) -> float:
    """Return the geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    options.add_repeats(parser, 7)
    options.add_out(parser)


def run(chosen: argparse.Namespace) -> int:
    """Measure, and print the table."""
    console = report.console()
    facts = report.machine("cpu")
    results = [compare(each, chosen.repeats) for each in track(programs(), "programs", console=console, transient=True)]
    console.print(table(results))
    print(report.headline(facts))
    print(report.write_json(chosen.out / "loop-programs.json", results, facts))
    return 0
