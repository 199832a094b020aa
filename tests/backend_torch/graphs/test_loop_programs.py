"""Graphs with loops that are one C++ function each, with all that is around the loops."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy
import pytest
import torch

import tnp as np
from backend_torch.graphs import code_cache, compiling, elementwise_code, loop_programs
from backend_torch.graphs.loop_code import Buffer, Lazy, View, places_read
from backend_torch.torch_private import inductor
from tests.oracle import assert_same

Function = Callable[..., Any]
pytestmark = [
    pytest.mark.filterwarnings("error::RuntimeWarning"),
    pytest.mark.host,  # loops in machine code are the CPU's
]


@pytest.fixture(autouse=True)
def _without_inductor(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("Inductor is not needed")

    monkeypatch.setattr(inductor, "compiled", refuse)


def check(function: Function, *args: numpy.ndarray) -> None:
    """That results and arguments are NumPy's."""
    mine, theirs = [np.array(each) for each in args], [each.copy() for each in args]
    actual, expected = np.compile(lambda *given: function(np, *given))(*mine), function(numpy, *theirs)
    for one, other in zip([*expected, *theirs], [*actual, *mine], strict=True):
        assert_same(numpy.asarray(one), other, rtol=1e-12)


def test_what_is_around_loops() -> None:
    def program(xp: Any, x: Any, y: Any) -> Any:
        scale = xp.exp(x).sum() + 2.5
        before = y.copy()
        total = x[0] * 0
        for i in range(20):
            y[i] += scale * x[i] // 0.7
            total = total + y[i]
        y[3:6] = x[:3] @ xp.ones((3, 3))
        if total > 3:
            total = total - xp.tanh(before[::2]).max()
        return total, before, xp.cumsum(y)[::-1] * 2, y > before, y[::-1]

    check(program, numpy.linspace(0, 1, 20), numpy.arange(20.0))


def test_steps_call_what_is_not_cpp() -> None:
    def program(xp: Any, a: Any, x: Any, z: Any) -> Any:
        total, q = x[:5] * 0, a * 1.0
        for i in range(30):
            a[1:] = xp.linalg.solve(a + 9 * xp.eye(5), 5 * xp.eye(5) + a.T + i)[1:]
            q, r = xp.linalg.qr(a + 9 * xp.eye(5))
            total += xp.linalg.eigvalsh(a + a.T) * xp.linalg.det(a) + xp.diag(r)
            z = z ** (0.3 + 0.01 * i) + 1 / (i + 1)
            x = xp.real(xp.fft.ifft(xp.fft.fft(x) * 0.9)) + 0.1 * xp.sort(x)
        return a, total, z, x, q

    def products(xp: Any, a: Any, b: Any) -> Any:
        for i in range(200):
            a = xp.tanh(a @ b.T) / (i + 1)
        return (a,)

    random = numpy.random.default_rng(0)
    check(program, random.random((5, 5)), random.random(1500), random.random(7) + 1j * random.random(7))
    check(products, random.random((70, 70)), random.random((70, 70)))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1"])
def test_searches_and_histograms_in_steps_are_cpp(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def program(xp: Any, x: Any, line: Any) -> Any:
        places, counts, total = xp.zeros(200, int), xp.zeros(7, int), xp.zeros(200)
        for i in range(100):
            places += line.searchsorted(x) + xp.searchsorted(line, x, "right") + xp.digitize(x + i, line)
            counts += xp.histogram(x, bins=7, range=(0, 50))[0] + xp.histogram(x, line[2:10])[0]
            total += xp.interp(x + i, line, line * 0.5)
        return places, counts, total

    def refuse(*args: Any) -> Any:
        raise AssertionError("torch is not needed")

    monkeypatch.setattr(loop_programs, "_Host", refuse)
    random = numpy.random.default_rng(0)
    line = numpy.unique(random.integers(0, 50, 40)).astype(dtype)
    x = random.integers(0, 60, 200).astype(dtype)
    if dtype[0] == "f":
        x[::9], x[5], x[6] = numpy.nan, numpy.inf, line[9]
    check(program, x, line)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_chosen_elements_in_steps(dtype: str) -> None:
    def program(xp: Any, x: Any, y: Any) -> Any:
        total = xp.zeros(4, x.dtype)
        for i in range(200):
            chosen = x[abs(y) > i / 100]
            kept = xp.where(abs(y) > 0.5, x, x)
            x[i % 40] = -i
            total[0] += chosen.sum() + kept[i % 40]
            total[1] += xp.where(abs(y) > 0.5, x, 0).sum()
            total[2] += xp.where(abs(y) > 0.5, y, -y).max()
            total[3] += xp.where(y != y, 0, y)[i % 40]
        return total, x

    random = numpy.random.default_rng(0)
    x, y = [(random.normal(size=40) * 3).astype(dtype) for _ in range(2)]
    check(program, x, y)


def test_an_operation_that_a_step_calls_fails() -> None:
    def program(a: Any, k: Any) -> Any:
        total = a * 0
        for i in range(200):
            total = total + np.linalg.inv(np.where(i == k, 0.0, a))
        return total

    a = np.eye(3) * 2
    function = np.compile(program)
    for k in (3, 200):
        if k < 200:
            with pytest.raises(numpy.linalg.LinAlgError, match="Singular matrix"):
                function(a, np.asarray(k))
        else:
            assert function(a, np.asarray(k)).tolist() == (numpy.eye(3) * 100).tolist()


def test_threads_share_a_program_with_calls() -> None:
    def program(a: Any) -> Any:
        for i in range(200):
            a = np.linalg.qr(a + i)[0] @ a * 0.5
        return a

    function = np.compile(program)
    given = [np.asarray(numpy.random.default_rng(n).random((40, 40))) for n in range(4)]
    expected = [function(each).tolist() for each in given]
    with ThreadPoolExecutor(4) as threads:
        for _ in range(10):
            assert [each.tolist() for each in threads.map(function, given)] == expected


def test_slices_that_grow_are_written_in_place() -> None:
    def rows(xp: Any, c: Any, a: Any) -> Any:
        for i in range(a.shape[0]):
            c[i, : i + 1] *= 1.5
            for k in range(a.shape[1]):
                c[i, : i + 1] += 0.5 * a[i, k] * a[: i + 1, k]
        return (c,)

    def blocks(xp: Any, c: Any, a: Any) -> Any:
        for i in range(1, a.shape[0]):
            c[:i, i:] += a[:i, :1] * a[0, 2]
            c[i, :i] = c[:i, i] = a[i, 0] * a[:i, 1]
            c[i, i:], c[0, :i] = a[i:, 2], 2 * a[:i, 3]
        return (c,)

    random = numpy.random.default_rng(0)
    for program in (rows, blocks):
        check(program, random.normal(size=(30, 30)), random.normal(size=(30, 20)))


def test_products_of_complex_numbers_in_steps() -> None:
    def program(xp: Any, z: Any, m: Any) -> Any:
        total = xp.zeros_like(m)
        for i in range(20):
            total += (m * z[i]) @ m.T
            total[i % 3] += m[i % 3] @ total
        return (total,)

    random = numpy.random.default_rng(0)
    z, m = random.normal(size=(2, 20)), random.normal(size=(2, 3, 3)) / 4
    check(program, z[0] + 1j * z[1], m[0] + 1j * m[1])


def _with_real_parts(xp: Any, z: Any, x: Any) -> Any:
    z = z.copy()
    z.real = x
    z.imag += z.real * 2
    z[2:5] = z[:3] * 1j
    return z


def _masked(xp: Any, z: Any, x: Any) -> Any:
    z = z.copy()
    z[z.real > 0] = z[z.real > 0] ** 2 + 1
    return z


def _with_parts_at_places(xp: Any, z: Any, x: Any) -> Any:
    places = xp.arange(24)[::-1] * 5 % 24
    z.real[places[:5]] += z.imag[places[5:10]]
    z.imag[places[3]] = 7
    z.T.imag[places[4:]] *= 2
    return z, z.std(), z.var(), xp.std(z)


COMPLEX: list[Function] = [
    _with_real_parts,
    _with_parts_at_places,
    _masked,
    lambda xp, z, x: z * z + x - (1 - 2j) * z[::-1],
    lambda xp, z, x: (z / (z + 1), 1 / z, x / z),
    lambda xp, z, x: (abs(z), xp.angle(z), xp.conj(z) * z, z.imag * z.real),
    lambda xp, z, x: (xp.exp(1j * x), xp.exp(z)),
    lambda xp, z, x: xp.where(abs(z) > 1, z, 0),
    lambda xp, z, x: (xp.isnan(z) | (z != 1j), xp.isfinite(z)),
    lambda xp, z, x: ((z * (x > 0)).astype(bool), xp.where(z, z, x), (z * (x > 0)).any()),
    lambda xp, z, x: (z[:, None] * x + 1j * x[:, None]).sum(axis=0),
    lambda xp, z, x: (xp.cumsum(z), z.mean(), xp.prod(z[:4])),
    lambda xp, z, x: xp.concatenate([z, xp.stack([z, z * 1j])[1]]).reshape(2, -1).T + 1,
]


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("program", COMPLEX)
def test_complex_numbers(program: Function, dtype: str) -> None:
    z = (numpy.linspace(-2, 2, 24) * (1 + 0.5j) + numpy.sin(numpy.arange(24)) * 1j).astype(dtype)
    x = numpy.cos(numpy.arange(24)).astype(z.real.dtype)
    actual, expected = np.compile(lambda *given: program(np, *given))(np.array(z), np.array(x)), program(numpy, z, x)
    pairs = zip(expected, actual, strict=True) if isinstance(expected, tuple) else [(expected, actual)]
    for one, other in pairs:
        assert_same(one, other, rtol=1e-5 if dtype == "c8" else 1e-12, atol=1e-6 if dtype == "c8" else 1e-14)


def test_far_and_special_complex_numbers() -> None:
    parts = [0.0, -0.0, 1.5, numpy.inf, -numpy.inf, numpy.nan, 1e300, -1e-300, 5e-324, 720.0]
    z = numpy.array([complex(one, other) for one in parts for other in parts])
    for program in (abs, lambda z: z * z[::-1], lambda z: z / 2, lambda z: 1 / z, np.exp):
        with numpy.errstate(all="ignore"):
            expected = numpy.asarray(program(np.array(z)))
            actual = numpy.asarray(np.compile(program)(np.array(z)))
        numpy.testing.assert_allclose(actual.real, expected.real, rtol=1e-13, atol=1e-323)
        numpy.testing.assert_allclose(actual.imag, expected.imag, rtol=1e-13, atol=1e-323)


def test_a_loop_of_complex_numbers() -> None:
    def program(xp: Any, c: Any, x: Any) -> Any:
        z, escape = xp.zeros_like(c), xp.full(c.shape, 30)
        for i in range(30):
            inside = escape == 30
            z[inside] = z[inside] ** 2 + c[inside]
            escape[inside & (abs(z) > 2)] = i
        return escape, z.real

    grid = numpy.linspace(-2, 0.5, 40) + 1j * numpy.linspace(-1.25, 1.25, 40)[:, None]
    check(program, grid, numpy.ones(1))


def test_small_arrays_without_loops() -> None:
    def program(xp: Any, x: Any, y: Any, i: Any) -> Any:
        x[1:] += x[:-1] * 2
        z = xp.tanh(x @ y) - x.mean(axis=0)
        picked = z[xp.arange(4), i]
        y[i] = picked
        spread = xp.exp(z - z.max(axis=1, keepdims=True))
        return z.T, z[::-1], picked.cumsum(), spread / spread.sum(axis=1, keepdims=True), xp.where(z > 0, z, z**2).std()

    x = numpy.linspace(-1, 1, 16).reshape(4, 4)
    check(program, x, x.T.copy(), numpy.array([2, 0, 3, 1]))


def test_a_training_step_needs_no_inductor() -> None:
    def loss(weights: Any, images: Any, labels: Any) -> Any:
        logits = np.tanh(images @ weights[0]) @ weights[1]
        return -np.mean(logits[np.arange(8), labels] - np.log(np.sum(np.exp(logits), axis=1)))

    weights = [np.asarray(numpy.linspace(-1, 1, 30).reshape(shape)) for shape in ((5, 6), (6, 5))]
    images, labels = np.asarray(numpy.cos(numpy.arange(40.0)).reshape(8, 5)), np.arange(8) * 7 % 5
    expected = np.grad(loss)(weights, images, labels)
    for one, other in zip(expected, np.compile(np.grad(loss))(weights, images, labels), strict=True):
        assert_same(np.asnumpy(one), other, rtol=1e-12)


@pytest.mark.parametrize(
    ("function", "size", "options"),
    [
        (lambda x: x - x.mean(), 16, {"backend": "inductor"}),
        (lambda x: x - x.mean(), 20_000, {}),
        (lambda x: x[1:] ** x[0], 1000, {}),
    ],
    ids=["asked for", "large", "without vectors"],
)
def test_other_graphs_are_inductors(
    function: Function, size: int, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "warned", set())
    with pytest.warns(RuntimeWarning, match="Inductor is not needed"):
        np.compile(function, **options)(np.ones(size))


def test_an_index_out_of_bounds_of_small_arrays() -> None:
    function = np.compile(lambda x, i: x[i] + x.sum())
    assert function(np.ones(3), np.array([0, -3])).tolist() == [4, 4]
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        function(np.ones(3), np.array([0, 3]))


def test_memory_of_any_layout() -> None:
    def program(x: Any, y: Any) -> Any:
        total = x.copy()
        for i in range(12):
            total[:, i % 4] += y[:, i % 3] + i * x[i % 4]
        return total.T, y, total

    x, y = numpy.arange(16.0).reshape(4, 4), numpy.arange(32.0).reshape(8, 4)
    mine = np.array(x), np.array(y)
    for one, other in zip(program(x.T, y[::2].T), np.compile(program)(mine[0].T, mine[1][::2].T), strict=True):
        assert_same(one, other)


def test_steps_that_exchange_arrays_leave_the_arguments_as_they_were_written() -> None:
    def program(xp: Any, x: Any, y: Any) -> Any:
        x[0] = 7
        one, other = x.copy(), y.copy()
        for _ in range(300):
            one, other = other, one * 0.5 + other
        y[:] = one
        return one, other

    check(program, numpy.arange(600.0), numpy.arange(600.0) * 2)


@pytest.mark.parametrize("is_late", [False, True])
def test_asserts_in_loops_hold(is_late: bool) -> None:
    def program(x: Any) -> Any:
        total = x[0] * 0
        for i in range(20):
            if total >= 0:
                assert x[i] > 0
            total = total + x[i]
        return total

    x = np.ones(20)
    fn = np.compile(program)
    assert fn(x) == 20
    x[19 if is_late else 0] = -1
    with pytest.raises(AssertionError, match="an assert of a compiled function failed"):
        fn(x)


def test_another_process_finds_the_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("TNP_CACHE_DIR", f"{tmp_path}")

    def program(x: Any) -> Any:
        for i in range(1, 20):
            x[i] += x[i - 1]
        return x

    np.compile(program)(np.ones(20))
    assert len(code_cache.entries()) == 1
    elementwise_code.compiled.cache_clear()  # as in another process
    monkeypatch.setattr(elementwise_code, "_built", lambda *args: pytest.fail("compiled again"))
    assert_same(numpy.arange(1.0, 21), np.compile(program)(np.ones(20)))


def test_an_axis_added_to_a_column() -> None:
    """The view of what was read at a traced index had kept the loop from being C++."""

    def program(xp: Any, d: Any) -> Any:
        for k in range(d.shape[0]):
            d[:] = xp.minimum(d, d[:, k][:, None] + d[k])
        return (d,)

    check(program, numpy.random.default_rng(0).random((16, 16)))


def test_many_small_products_without_a_loop() -> None:
    def program(xp: Any, h: Any, xs: Any, w: Any) -> Any:
        for x in xs:
            h = xp.tanh(h @ w + x.sum() * (w @ h))
        return h, xs @ w.T

    rng = numpy.random.default_rng(0)
    check(program, rng.random(8), rng.random((6, 8)), rng.standard_normal((8, 8)))


def test_threads_lower_graphs_apart() -> None:
    """Which memory a value reads decides whether it is computed in place."""
    meet = threading.Barrier(2)

    def read(name: str) -> list[str]:
        view = View(Buffer(name, torch.float64, 4), (4,), (1,))

        def element(index: Any) -> str:
            meet.wait()
            text = view.at(index)
            meet.wait()
            return text

        return [buffer.name for buffer, _ in places_read(Lazy(torch.float64, (4,), element), ["i"])]

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(read, "ab")) == [["a"], ["b"]]


def test_derivatives_of_complex_numbers_in_steps() -> None:
    """The parts of complex numbers repeat what they are computed of: the text of twelve steps was 9 MB."""

    def program(z: Any, c: Any) -> Any:
        w = z * 0
        for _ in range(12):
            w = w * w * 0.3 + c * 0.5 + z * 0.1
        return abs(w).sum()

    z, c = np.asarray([1 + 2j, -0.5 + 1j]), np.asarray([0.3 + 1j, 2 - 1j])
    expected = np.grad(program)(z, c)
    numpy.testing.assert_allclose(np.compile(np.grad(program))(z, c), expected, rtol=1e-12)
