"""Slices with bounds that are known only when the graph runs; NumPy is the oracle."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tnp as np
from tests.oracle import assert_same

N = 12
SQUARE = numpy.random.default_rng(3).random((N, N)) + N * numpy.eye(N)
ROW = numpy.linspace(1, 2, N)


def forward_substitution(xp: Any, a: Any, b: Any) -> Any:
    x, i = b * 0, 0
    while i < N and b[i] > 0:
        x[i] = (b[i] - a[i, :i] @ x[:i]) / a[i, i]
        i += 1
    return x


def cholesky(xp: Any, a: Any, b: Any) -> Any:
    a, i = a + a.T, 0
    while i < N and b[i] > 0:
        a[i, i] = xp.sqrt(a[i, i] - xp.dot(a[i, :i], a[i, :i]))
        a[i + 1 :, i] = (a[i + 1 :, i] - a[i + 1 :, :i] @ a[i, :i]) / a[i, i]
        i += 1
    return a


def lu(xp: Any, a: Any, b: Any) -> Any:
    k = 0
    while k < N and b[k] > 0:
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= a[k + 1 :, k][:, None] * a[k, k + 1 :]
        k += 1
    return a


def gram_schmidt(xp: Any, a: Any, b: Any) -> Any:
    k = 0
    while k < N and b[k] > 0:
        a[:, k] -= a[:, :k] @ (a[:, :k].T @ a[:, k])
        a[:, k] /= xp.sqrt((a[:, k] ** 2).sum())
        k += 1
    return a


def levinson(xp: Any, a: Any, b: Any) -> Any:
    x, error, k = b * 0, b[0], 1
    x[0] = 1
    while k < N and error > 0:
        rate = -(x[:k] @ b[k:0:-1]) / error
        x[1 : k + 1] = x[1 : k + 1] + rate * x[k - 1 :: -1]
        error = error * (1 - rate * rate)
        k += 1
    return x


def reductions(xp: Any, a: Any, b: Any) -> Any:
    out, i = a * 0, 0
    while i < N and b[i] > 0:
        out[i, 0] = b[i:].sum() + xp.sum(b[: i + 1])
        out[i, 1] = b[i:].max() - b[: i + 1].min()
        out[i, 2] = xp.mean(b[: i + 1]) + xp.prod(b[i:])
        out[i, 3] = (b[-i - 1 :] > 1.5).any() + 2 * (b[:i] > 0).all()
        out[i, 4] = b[i - 3 : i + 2].sum() + b[:-i].sum() + b[i + 40 :].sum()
        out[i, 5] = b[i:].argmax()
        out[i] += a[:i].sum(axis=0) - a[i:, :i].sum()
        i += 1
    return out


def writes(xp: Any, a: Any, b: Any) -> Any:
    i = 0
    while i < N and a[i, i] > 0:
        b[:i] += 1
        b[i:] = -b[i:] * 0.5
        b[i : i + 3] = i
        b[i:0:-2] -= 0.25
        a[i, :i] = xp.abs(b[:i]) + 1
        a[:i, 2:4] = b[2:4]
        row = a[i, i:]
        row += 1
        i += 1
    return a, b


def single_elements(xp: Any, a: Any, b: Any) -> Any:
    i = 1
    while i < N and a[i, i] > -1e9:
        b[i:] -= b[i - 1 : i] * 0.5
        a[i:, i] = a[i - 1 : i, i] + b[i : i + 1] * a[i:, i]
        a[i] += a[i, i - 1 : i] * b / 100
        b[:i] = b[i - 1 : i]
        a[i : i + 1] -= a[i - 1 : i] / 7
        a[:5, 2:4] += b[i - 1 : i]
        i += 1
    return a, b


PROGRAMS = [single_elements, forward_substitution, cholesky, lu, gram_schmidt, levinson, reductions, writes]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs(program: Callable[..., Any]) -> None:
    expected = program(numpy, SQUARE.copy(), ROW.copy())
    actual = np.compile(lambda a, b: program(np, a, b), backend="eager", fullgraph=True)(
        np.array(SQUARE), np.array(ROW)
    )
    for one, other in zip(*[x if isinstance(x, tuple) else (x,) for x in (expected, actual)], strict=True):
        assert_same(one, other, rtol=1e-9, atol=1e-9)


def sieve(xp: Any, x: Any, starts: Any, stops: Any, steps: Any) -> Any:
    for k in range(len(starts)):
        x[starts[k] : stops[k] : steps[k]] = -0.5
        x[starts[k] :: steps[k]] *= 0.75
        x[: stops[k] : steps[k]] -= k
        x[:: steps[k]] += 1
        x[5 :: steps[k]] += x[5 :: steps[k]].mean()
        x[1 : abs(steps[k])] = x[: abs(steps[k]) - 1]
    return x


def ranges(xp: Any, x: Any, starts: Any, stops: Any, steps: Any) -> Any:
    for k in range(len(starts)):
        for j in range(starts[k], stops[k], steps[k]):
            x[j] += k + j
    return x


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("program", [sieve, ranges])
def test_steps_that_are_values(program: Callable[..., Any], backend: str) -> None:
    random = numpy.random.default_rng(7)
    compiled = np.compile(lambda *given: program(np, *given), backend=backend, fullgraph=True)
    for _ in range(3):
        starts, stops = random.integers(-2 * N, 2 * N, (2, 40))
        steps = random.integers(1, 5, 40) * random.choice([-1, 1], 40)
        if program is ranges:
            starts, stops = starts % N, stops % N
        given = ROW.copy(), starts, stops, steps
        assert_same(program(numpy, ROW.copy(), *given[1:]), compiled(*map(np.array, given)), rtol=1e-9)
    steps[3] = 0
    refused = "slice step cannot be zero" if program is sieve else r"range\(\) arg 3 must not be zero"
    for function, xp in ((compiled, np), (lambda *given: program(numpy, *given), numpy)):
        with pytest.raises(ValueError, match=refused):
            function(*map(xp.array, (ROW, starts, stops, steps)))


def shifts(xp: Any, x: Any, n: Any) -> Any:
    for i in range(n):
        x[:i] <<= 1
        x[i:] = (1 << x[i:] % 4) + (x[i:] >> 1)
        x[:i] **= 2
        x[:i] %= 5
    return x


def test_shifts() -> None:
    x = numpy.arange(N)
    actual = np.compile(shifts, backend="eager", fullgraph=True)(np, np.array(x), np.asarray(N))
    assert_same(shifts(numpy, x, N), actual)


def a_sum(x: Any, n: Any) -> None:
    for i in range(n):
        x[:i] += 0.5


def a_quotient(x: Any, n: Any) -> None:
    for i in range(n):
        row = x[i:]
        row /= 2


def a_product(x: Any, n: Any) -> None:
    for i in range(n):
        x[:: i + 1] *= x[:: i + 1] * 1j


def a_large_number(x: Any, n: Any) -> None:
    for i in range(n):
        x[:i] = 300


def a_negative_number(x: Any, n: Any) -> None:
    for i in range(n):
        x[:i] = -1


@pytest.mark.raises
@pytest.mark.parametrize("program", [a_sum, a_quotient, a_product, a_large_number, a_negative_number])
def test_refused_values(program: Callable[..., Any]) -> None:
    """A slice takes what NumPy's slice takes: no fractions in place, and no Python number out of bounds."""
    x = numpy.arange(N, dtype="u1")
    with pytest.raises((TypeError, OverflowError)) as expected:
        program(x.copy(), 5)
    with pytest.raises((TypeError, OverflowError)) as actual:
        np.compile(program, backend="eager")(np.array(x), np.asarray(5))
    assert (type(actual.value), str(actual.value)) == (type(expected.value), str(expected.value))


def test_writes_of_many_axes_and_dtypes() -> None:
    def program(x: Any, n: Any, values: Any) -> Any:
        for i in range(20):
            x[i % 3 : n : 2, : n + 1] = values[: n + 1] + i
            x[n:, n::-1] += x[n:, : n + 1]
            x[0, :n] = 1
        return x

    for dtype in ("f2", "c16", "u2", "i8", "?"):
        x, values = (numpy.arange(30).reshape(5, 6) % 2).astype(dtype), (ROW[:6] * 2).astype(dtype)
        expected = program(x.copy(), 3, values)
        for backend in ("eager",) if dtype == "f2" else ("eager", None):  # float16 needs torch's headers: slow
            actual = np.compile(program, backend=backend, fullgraph=True)(np.array(x), np.asarray(3), np.array(values))
            assert_same(expected, actual, rtol=1e-3 if dtype == "f2" else 1e-9)


def test_derivatives_and_batches_of_writes() -> None:
    def program(x: Any, n: Any) -> Any:
        y = x * 2
        for i in range(12):
            y[i % 4 : n] *= x[i % 4 : n]
            y[:: n - 1] = y[:: n - 1] + i
        return y.sum()

    x, gradient = np.asarray(ROW), np.compile(np.grad(program), fullgraph=True)
    for n in (2, 5):
        expected = [(program(ROW + 1e-6 * row, n) - program(ROW - 1e-6 * row, n)) / 2e-6 for row in numpy.eye(N)]
        numpy.testing.assert_allclose(gradient(x, np.asarray(n)), expected, rtol=1e-5)
    batch = np.compile(np.vmap(program), fullgraph=True)(np.stack([x, x + 1]), np.asarray([2, 5]))
    numpy.testing.assert_allclose(batch, [program(ROW.copy(), 2), program(ROW + 1, 5)], rtol=1e-9)


@pytest.mark.raises
def test_lengths_of_a_bound_that_is_written_to_are_not_taken_for_equal() -> None:
    def program(x: Any, n: Any) -> Any:
        head = x[:n]
        n.view()[...] = n - 1
        return (head + x[:n]).sum()

    run = np.compile(program, backend="eager", fullgraph=True)
    with pytest.raises(ValueError, match="could not be broadcast"):
        run(np.arange(5.0), np.asarray(4, dtype=np.int32))


def chosen(x: Any, n: Any) -> Any:
    if n > 1:
        x = x + x
    while n > 0:
        x, n = x * x, n - 1
    for i in range(3):
        if x[i] > 90:
            break
        x[: n + i] = n
    return x


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u2", "u4", "u8"])
def test_integers_in_a_batch(dtype: str) -> None:
    rows, sizes = numpy.arange(1, 10).reshape(3, 3).astype(dtype), numpy.arange(3).astype(dtype)
    expected = numpy.stack([chosen(row.copy(), n) for row, n in zip(rows, sizes, strict=True)])
    assert_same(expected, np.compile(np.vmap(chosen), backend="eager")(np.array(rows), np.array(sizes)))


@pytest.mark.raises
def test_checks_in_a_batch() -> None:
    """A check fails for the slices of a batch that reach it, and for no others."""

    def counted(x: Any, n: Any) -> Any:
        for i in range(20):
            x[:n] = x[1 : n + 1] + i
        return x

    def some(x: Any, n: Any) -> Any:
        for i in range(20):
            if i < n:
                x[: n - i] = x[i:n] + i
        k = n * 0
        while k < n:
            x[: n - k] += x[k:n]
            k += 1
        return x

    rows = np.stack([np.asarray(ROW), np.asarray(ROW) + 1])
    for program, sizes in ((counted, [2, 5]), (some, [2, 5])):
        expected = [program(numpy.array(row), n) for row, n in zip(numpy.asarray(rows), sizes, strict=True)]
        batch = np.compile(np.vmap(program), backend="eager")(rows, np.asarray(sizes))
        numpy.testing.assert_allclose(batch, expected, rtol=1e-9)
    with pytest.raises(ValueError, match="could not be broadcast"):
        np.compile(np.vmap(counted), backend="eager")(rows, np.asarray([2, N]))


def test_a_slice_is_written_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop in C++ visits the elements of the slice, and copies nothing."""
    from backend_torch.graphs import loop_lowering

    found = []
    kept = loop_lowering.whole
    monkeypatch.setattr(loop_lowering, "whole", lambda *args: found.append(kept(*args)) or found[-1])

    def primes(n: int) -> Any:
        is_prime = np.ones(n, dtype=bool)
        is_prime[:2] = False
        for i in range(2, int(n**0.5) + 1):
            if is_prime[i]:
                is_prime[i * i :: i] = False
        return is_prime

    is_prime = np.compile(primes, fullgraph=True)(100_000)
    assert is_prime.sum() == 9592
    ((code, *_),) = found
    assert not any("memcpy" in line for line in code.lines)


def test_one_loop_in_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    from backend_torch.torch_private import inductor

    monkeypatch.setattr(inductor, "compiled", lambda *args: pytest.fail("Inductor is not needed"))
    actual = np.compile(lambda a, b: lu(np, a, b))(np.array(SQUARE), np.array(ROW))
    assert_same(lu(numpy, SQUARE.copy(), ROW.copy()), actual, rtol=1e-9)


def test_a_slice_shows_what_is_written_to_its_array() -> None:
    def program(x: Any) -> Any:
        i = 0
        while x[i] < 5:
            head = x[: i + 1]
            x[0] = 7
            x[i + 1] = head.sum()
            i += 1
        return x

    x = numpy.zeros(4)
    assert_same(program(x.copy()), np.compile(program, backend="eager", fullgraph=True)(np.array(x)))


def sparse_product(xp: Any, rows: Any, columns: Any, values: Any, x: Any) -> Any:
    out = x * 0
    for i in range(len(rows) - 1):
        places = columns[rows[i] : rows[i + 1]]
        out[i] = values[rows[i] : rows[i + 1]] @ x[places]
    return out


def sparse_rows(xp: Any, rows: Any, columns: Any, values: Any, x: Any) -> Any:
    dense = x[:, None] * x
    out, i = dense * 0, 0
    while i < len(rows) - 1 and x[i] > 0:
        places = columns[rows[i] : rows[i + 1]]
        out[i] = dense[:, places].sum(axis=1) + values[rows[i] : rows[i + 1]] @ dense[places]
        out[i, 0] += dense[i, places].sum() + dense[places, places].sum()
        i += 1
    return out


@pytest.mark.parametrize(
    ("program", "dtype"), [*[(sparse_product, dtype) for dtype in ("u1", "i4", "u4", "i8", "u8")], (sparse_rows, "i8")]
)
def test_places_in_a_slice(program: Callable[..., Any], dtype: str) -> None:
    rows = numpy.array([0, 2, 2, 3, 6, 7, 8, 8, 9, 10])
    columns = numpy.array([0, 8, 3, 1, 1, 5, 6, 2, 4, 7, 100])  # the last is in no slice
    values, x = rows[1:] / 4 - 1, numpy.linspace(1, 2, 9)
    arrays = rows.astype(dtype), columns.astype(dtype), numpy.append(values, 0.5), x
    actual = np.compile(lambda *given: program(np, *given), backend="eager", fullgraph=True)(*map(np.array, arrays))
    assert_same(program(numpy, *arrays), actual, rtol=1e-12)


def written(x: Any, places: Any) -> Any:
    x[places] = 1
    return x


@pytest.mark.raises
def test_a_place_out_of_bounds() -> None:
    program = np.compile(lambda x, places, n: x[places[:n]].sum(), backend="eager", fullgraph=True)
    x, places = np.arange(4.0), np.array([3, -1, 4])
    assert program(x, places, np.asarray(2)) == 6
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 4"):
        program(x, places, np.asarray(3))


@pytest.mark.parametrize(
    ("program", "kind", "message"),
    [
        (lambda x, n: x[x[:n] > 1].sum(), NotImplementedError, r"test_windows\.py:\d+: a mask"),
        (lambda x, n: x[None][[0], x.astype(int)[:n]], NotImplementedError, r"an index of integers beside .* an array"),
        (
            lambda x, n: x[:0][x.astype(int)[:n]],
            NotImplementedError,
            r"test_windows\.py:\d+: an index of an empty array",
        ),
        (lambda x, n: written(x, x.astype(int)[:n]), NotImplementedError, r"a write at the places that a slice holds"),
        (lambda x, n: (x[:n] + x[: n - 1]).sum(), ValueError, "could not be broadcast"),
        (lambda x, n: x[: n - n].max(), ValueError, "zero-size array"),
        (
            lambda x, n: np.unique(x[:n]),
            NotImplementedError,
            r"test_windows\.py:\d+: unique .*write a loop over the elements",
        ),
        (
            lambda x, n: np.std(x[:n], keepdims=True),
            NotImplementedError,
            r"test_windows\.py:\d+: std with such options",
        ),
        (lambda x, n: np.median(x[:n, None]), NotImplementedError, r"test_windows\.py:\d+: median of several axes"),
        (lambda x, n: x[:n][n], IndexError, "index is out of bounds"),
        (lambda x, n: x[:n][-n - 1], IndexError, "index is out of bounds"),
        (lambda x, n: np.stack([x[:n]]), NotImplementedError, r"test_windows\.py:\d+: stack "),
        (lambda x, n: [x[:n]], np.TracedValueError, r"test_windows\.py:\d+: the value of a traced array is asked for"),
        (lambda x, n: x[:n].T, NotImplementedError, r"test_windows\.py:\d+: a result of the function"),
        (lambda x, n: x[:n][-2:].sum(), NotImplementedError, r"test_windows\.py:\d+: an index of other bounds"),
        (lambda x, n: x[:n, None][0, 0], NotImplementedError, r"test_windows\.py:\d+: an index "),
    ],
)
def test_what_is_refused(program: Callable[..., Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        np.compile(program, backend="eager", fullgraph=True)(np.arange(5.0), np.asarray(3))


def test_results_that_are_computed_of_slices() -> None:
    def results(x: Any, n: Any) -> Any:
        table = x[:, None] * x
        return x[:n] * 2, {"copy": np.array(x[n:])}, table[:n, 1:] + 1, np.cumsum(x[1:n]), len(x[:n]), table[n:, :n] * 2

    compiled = np.compile(results, backend="eager", fullgraph=True)
    x = np.arange(5.0)
    for n in range(6):
        expected, given = results(x, n), compiled(x, np.asarray(n))
        for one, other in zip(expected, given, strict=True):
            one, other = (one["copy"], other["copy"]) if isinstance(one, dict) else (one, other)
            assert_same(numpy.asarray(one), np.asarray(other))


def test_chained_and_paired_writes() -> None:
    def filled(x: Any) -> Any:
        n = len(x)
        table, other = np.zeros((n, n)), np.zeros((n, n))
        for i in range(n):
            table[i:, i] = table[i, i:] = x @ other[:, i:] + i
            other[i, : i + 1], other[: i + 1, i] = x[: i + 1], 2 * x[: i + 1]
            other[i, : i + 1] += table[i, i] * x[: i + 1]
        return table, other

    given = np.asarray([0.5 * k - 3 for k in range(40)])
    for result, expected in zip(np.compile(filled, backend="eager")(given), filled(given), strict=True):
        assert numpy.allclose(result, expected, rtol=1e-12)


def products(out: Any, x: Any, y: Any, v: Any) -> Any:
    """Products of matrices and vectors, of which rows, columns or what is summed over are slices."""
    out = out.copy()
    for i in range(5, 15):
        out[i - 5, :i, : i - 2] += x[:i, i:] @ y[i:, : i - 2]
        out[i - 5, i - 2] += v[i:] @ y[i:]
        out[i - 5, 2:, i] += x[2:, 1:i] @ v[1:i]
        out[i - 5, 1, : i + 1] += y[i - 1 :, : i + 1].T @ v[i - 1 :]
        out[i - 5, 2, 2] += v[i - 4 :] @ y[i - 4 :, 2]
        out[i - 5, : i - 3] += x[:, : i - 3].T @ y
    return (out,)


@pytest.mark.parametrize("dtype", ["?", "i8", "f4", "f8", "c16"])
def test_products_of_slices_in_a_loop_of_machine_code(dtype: str) -> None:
    rng = numpy.random.default_rng(0)
    arrays = [rng.integers(-3, 4, shape).astype(dtype) for shape in ((10, 16, 16), (16, 16), (16, 16), 16)]
    if dtype == "c16":
        arrays = [array + 1j * array[::-1] for array in arrays]
    expected = products(*arrays)
    assert_same(expected, np.compile(products, fullgraph=True)(*map(np.asarray, arrays)))


def reductions(out: Any, x: Any) -> Any:
    """Reductions of slices of any length, along one axis and along both."""
    out = out.copy()
    for i in range(5, 15):
        part = x[i - 5 : i, 1:i]
        out[0, i], out[1, i] = x[2, i:].sum(), x[:i, 3].max()
        out[2, i], out[3, i] = part.min(), x[i - 1, i - 5 :].argmax()
        out[4, 1:i] = part.sum(axis=0)
        out[5, : i - 4] += x[: i - 4, 4:].max(axis=1)
        out[6, i], out[7, i] = (part > 1).any(), (part[None] < 3).all()
        out[8, i] = (part * x[:5, i : i + 1]).prod() + x[i:, i + 1 :].sum()
    return (out,)


@pytest.mark.parametrize("dtype", ["?", "u1", "i8", "f4", "f8"])
def test_reductions_of_slices_in_a_loop_of_machine_code(dtype: str) -> None:
    rng = numpy.random.default_rng(0)
    arrays = [rng.integers(-3, 4, shape).astype(dtype) for shape in ((9, 16), (16, 16))]
    if dtype[0] == "f":
        arrays[1][3, 6] = numpy.nan
    expected = reductions(*arrays)
    assert_same(expected, np.compile(reductions, fullgraph=True)(*map(np.asarray, arrays)))


def fixed(out: Any, x: Any) -> Any:
    """Slices of one length, whose places a loop's counter decides, and some that leave the array."""
    out, n = out.copy(), x.shape[1]
    for i in range(2, n - 2):
        part = x[1, i - 2 : i + 3]
        apart = part - part.mean()
        out[0, i], out[1, i] = (apart * apart).sum(), np.std(part)
        out[2, i - 2 : i + 3] += part * 2
        out[2, i : i + 3] = out[2, i - 2 : i + 1] + 1
        out[3, 2 * i - 4 : 2 * i - 2] = np.sort(x[0, i : i + 2])
        out[4, i] = x[0, i - 3 : i + 1].sum() + x[1, i : i + 3].max() + x[2, i + 1 : i - 1].sum()
        out[5, i] = x[0, i - 2 : i + 2] @ x[i - 2 : i + 2, i] + np.median(x[i - 2 : i + 3, i - 1 : i + 1])
        part *= 1
        out[6, i] = np.concatenate([part, part]).std()
    for i in range(12):
        out[7, i : i + 5] -= i * x[i % 3, i : i + 5].cumsum()[-1]
        out[7, i - 1 : i + 2] = 3
    return (out,)


@pytest.mark.parametrize("backend", [None, "eager"])
def test_slices_of_one_length(backend: str | None) -> None:
    rng = numpy.random.default_rng(0)
    arrays = [rng.normal(size=shape) for shape in ((8, 80), (40, 40))]
    expected = fixed(*[array.copy() for array in arrays])
    compiled = np.compile(fixed, backend=backend, fullgraph=True)
    assert_same(expected, compiled(*map(np.asarray, arrays)), rtol=1e-12, atol=1e-12)


def test_a_step_of_a_loop_takes_the_time_of_its_slices() -> None:
    """In the graph, what is computed of slices of one length has that length, not the axis's."""

    def smoothed(x: Any) -> Any:
        out = np.zeros(len(x))
        for i in range(4, len(x) - 4):
            out[i - 4 : i + 5] += x[i - 4 : i + 5] - np.median(x[i - 4 : i + 5])
        return out

    text = str(np.compile(smoothed, backend="eager").graph(np.arange(1000.0)))
    assert "float64[9]" in text and not re.search(r"(sub|add|sort|partition)\w*\([^)]*\) -> float64\[1000\]", text)


def test_a_long_loop_that_no_graph_can_hold_is_pythons() -> None:
    def lowest(x: Any) -> Any:
        y, out = x * 2 + 1, np.zeros(1030)
        for i in range(1030):
            out[i] = np.unique(y[: i % 7 + 2])[0]
        return out * y

    x = np.asarray(numpy.random.default_rng(0).normal(size=1030))
    with pytest.warns(RuntimeWarning, match="the 1030 steps of a loop would be unrolled.*: unique is not kept"):
        result = np.compile(lowest, backend="eager")(x)
    assert numpy.allclose(result, lowest(x))
    with pytest.raises(TypeError, match="1030 steps of a loop would be unrolled"):
        np.compile(lowest, backend="eager", fullgraph=True)(x)


def test_a_loop_of_many_operations_that_no_graph_can_hold_is_pythons() -> None:
    def turned(x: Any) -> Any:
        out = np.zeros(400)
        for i in range(400):
            out[i] = np.unwrap(x[: i + 2]).sum()
        return out * 2

    x = np.asarray(numpy.random.default_rng(0).normal(size=402) * 9)
    with pytest.warns(RuntimeWarning, match="the 400 steps of a loop would be unrolled.*: unwrap is not kept"):
        result = np.compile(turned, backend="eager")(x)
    assert numpy.allclose(result, turned(x))


def test_slices_of_one_length_that_are_written_to() -> None:
    """By a method or an output; loops that no graph takes so are unrolled."""

    def program(x: Any) -> Any:
        x = x.copy()
        for i in range(9):
            x[i : i + 4].sort()
            np.clip(x[i : i + 2], -0.5, 0.5, x[i : i + 2])
        return (x,)

    x = numpy.random.default_rng(0).normal(size=14)
    expected = program(np.asarray(x))
    assert_same(tuple(map(numpy.asarray, expected)), np.compile(program, backend="eager")(np.asarray(x)))
