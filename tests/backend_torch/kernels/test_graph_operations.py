"""An operation of graphs gives what eager code gives, and is its steps for derivatives, batches and other programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import tnp
from backend_torch.graphs import decompositions
from backend_torch.kernels import graph_operations, indexing
from tests.oracle import assert_same, placed

pytestmark = pytest.mark.host  # a trace for an accelerator holds the steps

N = 5000


def written(np: Any, x: Any, i: Any, v: Any) -> Any:
    y = np.copy(x)
    y[i] = v
    return y


def written_to_rows(np: Any, x: Any, i: Any, v: Any) -> Any:
    y = np.reshape(np.copy(x), (50, 100))
    y[i % 50, i % 100] = v
    y[:, 3:5][i[:40] % 50] = v[:80].reshape(40, 2)
    return y


def written_to_slices(np: Any, x: Any, i: Any, v: Any) -> Any:
    y, n = np.reshape(np.copy(x), (50, 100)), i[0] % 9
    y[n:, n :: n + 1] = 1
    y[:n, :] = v[:100]
    y[::-1, n - 20 : n] += 2
    return y


def product_of_slices(np: Any, x: Any, i: Any, v: Any) -> Any:
    y, w, n = np.reshape(x, (50, 100)), np.reshape(v, (100, 50)), i[0] % 9
    z = np.zeros((4, 100, 100))
    z[0, n:50, n + 1 : 50], z[1, 1, n:] = y[n:, :n] @ w[:n, n + 1 :], y[:, n] @ y[:, n:]
    z[2, 2], z[3, :n, :50] = y[n : 2 * n].T @ w[n, 20 : 20 + n], w[3:, :n].T @ y[:, 3:].T
    return z


def reduced_slices(np: Any, x: Any, i: Any, v: Any) -> Any:
    y, n = np.reshape(x, (50, 100)), i[0] % 9
    totals = np.sum(y[n:, :n]), np.prod(y[n : 2 * n], axis=0), np.max(y[: n + 1]), np.any(y[n : n + 3] > 3, axis=1)
    return (*totals[:2], totals[2], np.argmin(x[n:]), np.sum(np.sum(y[:, n:], axis=1) * np.min(y[:, n:], axis=1)))


CALLS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "last_of_same": lambda np, x, i, v: (written(np, x, i, v), written_to_rows(np, x, i, v)),
    "partition": lambda np, x, i, v: np.partition(np.reshape(x, (50, 100)), [7, 3], 0)[7],
    "at_places": lambda np, x, i, v: (np.nanmedian(x), np.nanquantile(np.reshape(x, (50, 100)), 0.3, axis=1)),
    "complex_sort": lambda np, x, i, v: np.sort(np.reshape(x + 1j * x[::-1], (50, 100)), axis=0),
    "argpartition": lambda np, x, i, v: np.take(x, np.argpartition(x, 7)[7]),
    "ufunc": lambda np, x, i, v: np.sinh(x),
    "ufunc_of_two": lambda np, x, i, v: np.frexp(x),
    "reduce": lambda np, x, i, v: (np.argmax(x), np.any(x > 3)),
    "isin": lambda np, x, i, v: np.isin(i, i[::7]),
    "histogram": lambda np, x, i, v: (
        np.histogram(x, np.linspace(-2, 2, 9))[0],
        np.histogram(x, [-2, 0, 0.5, 1])[0],
        *np.histogram(x, 30),
        np.histogram(x, 30, (-1, 2), weights=v)[0],
        np.histogram(x, [-2, 0, 0.5, 1], weights=v)[0],
        np.histogram(x, [-2, 0, 0.5, 1], weights=i)[0],
        np.histogram(i, 20, weights=i)[0],
    ),
    "unpackbits": lambda np, x, i, v: np.unpackbits((x > 0).astype(np.uint8)),
    "packbits": lambda np, x, i, v: np.packbits(x > 0, bitorder="little"),
    "fourier": lambda np, x, i, v: (np.fft.rfft(x), np.fft.ifft2(np.reshape(v, (50, 100)), norm="ortho")),
    "searchsorted": lambda np, x, i, v: (
        np.searchsorted(np.linspace(-2, 2, 9), x),
        np.digitize(v[:60].reshape(6, 10).T, x[:1]),
    ),
    "written_slices": written_to_slices,
    "product_of_slices": product_of_slices,
    "padded_slices": reduced_slices,
}
SUMS = {"product_of_slices": 1e-12, "padded_slices": 1e-12}
"""In a graph these add in another order than NumPy does for what is computed outside of one."""
EXACT = dict.fromkeys(CALLS, 0.0) | {"fourier": 1e-9} | SUMS


def drawn() -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    rng = numpy.random.default_rng(0)
    return rng.normal(size=N), rng.integers(-N // 4, N // 4, N), rng.normal(size=N)


def test_each_is_called() -> None:
    names = {each.__name__.partition(".")[0] for each in graph_operations.STEPS}
    assert names == CALLS.keys()
    assert not graph_operations.STEPS.keys() & decompositions.IN_PROCESS.keys()


@pytest.mark.parametrize("name", CALLS)
def test_in_a_graph(name: str) -> None:
    arrays = drawn()
    expected = CALLS[name](numpy, *arrays)
    ours = [tnp.asarray(array) for array in arrays]
    compiled = tnp.compile(lambda x, i, v: CALLS[name](tnp, x, i, v), backend="eager", fullgraph=True)
    assert_same(expected, compiled(*ours), atol=SUMS.get(name, 0.0))
    assert f"{name}(" in str(compiled.graph(*ours))
    steps = tnp.compile(lambda x, i, v: CALLS[name](tnp, x, i, v), backend="aot_eager", fullgraph=True)
    assert_same(expected, steps(*ours), atol=EXACT[name])


def test_results_of_operands_in_another_order() -> None:
    """A kernel's result has the layout that a trace took for granted, whatever the operands' is."""

    def program(np: Any, x: Any, i: Any, v: Any) -> Any:
        x, i, v = [each[:24].reshape(4, 6)[::-1].T for each in (x, i, v)]
        line = np.linspace(-2, 2, 5)
        return (
            np.interp(x, line, line[::-1] ** 2) * v,
            np.searchsorted(line, v) - i,
            np.isin(i, i[:2]) & (x > v),
            np.partition(x, 2, axis=0) + v,
            np.argpartition(x, 2, axis=1)[:, :2] * i[:, :2],
            np.sinh(x) - v,
            np.fft.fft(x, axis=0).real * v,
            np.argmax(x, axis=0) + i[0],
        )

    arrays = drawn()
    compiled = tnp.compile(lambda x, i, v: program(tnp, x, i, v), fullgraph=True)
    assert_same(program(numpy, *arrays), compiled(*[tnp.asarray(array) for array in arrays]), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["last_of_same", "partition", "fourier", "product_of_slices"])
def test_its_derivatives_and_batches(name: str) -> None:
    arrays = [tnp.asarray(array) for array in drawn()]

    def total(x: Any, i: Any, v: Any) -> Any:
        found = CALLS[name](tnp, x, i, v)
        return sum([(each * each.conj()).real.sum() for each in (found if isinstance(found, tuple) else (found,))])

    gradient = tnp.grad(total, argnums=(0, 2))
    expected = tuple(map(numpy.asarray, gradient(*arrays)))
    assert_same(expected, tnp.compile(gradient, backend="eager")(*arrays), atol=EXACT[name])
    assert_same(expected, tnp.grad(tnp.compile(total, backend="eager"), argnums=(0, 2))(*arrays), atol=EXACT[name])
    rows = [tnp.stack([array, array[::-1]]) for array in arrays]
    mapped = tnp.vectorized_map(lambda given: total(*given), tuple(rows))
    each = [total(*arrays).item(), total(*[array[::-1] for array in arrays]).item()]
    assert_same(numpy.array(each), mapped, rtol=1e-12)


@pytest.mark.parametrize("backend", [None, "inductor"])
def test_repeated_writes_in_code(backend: str | None) -> None:
    """The last of repeated writes stays, and an index out of bounds leaves the array as it was."""

    def write(x: Any, m: Any, i: Any, v: Any) -> Any:
        x[i] = v
        m[i % 40, i % 30] = v
        m.T[3][i % 40] = v.astype(m.dtype)
        return x + 1

    compiled = tnp.compile(write, backend=backend, fullgraph=True)
    rng = numpy.random.default_rng(1)
    arrays = numpy.zeros(900), numpy.zeros((40, 30), numpy.int16), rng.integers(-900, 900, 6000), rng.normal(size=6000)
    ours = [placed(tnp, array) for array in arrays]
    with numpy.errstate(invalid="ignore"):
        assert_same(write(*arrays), compiled(*ours))
    assert_same(tuple(arrays), tuple(ours))
    arrays[2][17] = 900
    wrong = tnp.asarray(arrays[2])
    with pytest.raises(IndexError, match="index 900 is out of bounds for axis 0 with size 900"):
        compiled(ours[0], ours[1], wrong, ours[3])
    assert_same(arrays[:2], tuple(ours[:2]))


def test_what_is_no_write_in_order() -> None:
    """Sums of repeated places, and values that are themselves selected along another axis than the first."""
    ops, graph = torch.ops.aten, torch.fx.Graph()
    x, i, v = [graph.placeholder(name) for name in "xiv"]
    last = graph.call_function(torch.ops.tnp.last_of_same.default, (i, 5))
    kept = graph.call_function(ops.index.Tensor, (v, [last]))
    across = graph.call_function(ops.index.Tensor, (v, [None, i]))
    writes = [(x, [i], kept), (x, [i], kept, True), (x, [i], across), (x, [i], v)]
    found = [indexing.in_order(graph.call_function(ops.index_put.default, write)) for write in writes]
    assert found == [v, None, None, None]
