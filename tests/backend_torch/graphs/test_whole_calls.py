"""Graphs of operations that are never fused call them without a compiler, and give what eager code gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import tnp
from backend_torch.graphs import compiling, whole_calls
from backend_torch.torch_private import inductor
from tests.oracle import assert_same, placed

pytestmark = pytest.mark.host

N = 6000

CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "any": lambda np, x, i: np.any(x),
    "all": lambda np, x, i: np.all(i, axis=0),
    "argmax": lambda np, x, i: (np.argmax(x), np.argmin(i), np.argmax(np.reshape(x, (60, 100)), axis=1)),
    "keepdims": lambda np, x, i: np.argmax(np.reshape(x, (60, 100)), axis=0, keepdims=True),
    "max": lambda np, x, i: (np.max(x), np.min(i), np.max(np.reshape(i, (20, 30, 10)), axis=(0, 2))),
    "max of a view": lambda np, x, i: np.max(np.reshape(x, (60, 100)), axis=0),
    "nanmax": lambda np, x, i: (np.nanmax(x), np.nanmin(np.reshape(x, (60, 100)), axis=1, keepdims=True)),
    "frexp": lambda np, x, i: np.frexp(x),
    "ldexp": lambda np, x, i: np.ldexp(x, i),
    "bitwise_count": lambda np, x, i: np.bitwise_count(i),
    "isin": lambda np, x, i: (np.isin(i, i[:50]), np.isin(x, x[::3])),
}


def drawn(dtype: str) -> tuple[numpy.ndarray, numpy.ndarray]:
    rng = numpy.random.default_rng(0)
    x = rng.normal(size=N).astype(dtype)
    x[[7, 4000]] = numpy.nan
    return x, rng.integers(-40, 40, N)


LIBRARIES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "sort": lambda np, x, m: (np.sort(x), np.sort(m, axis=0), np.sort(x[:9])),
    "sort of a view": lambda np, x, m: (np.sort(m[::2, ::2], axis=0), np.sort(m.T, axis=0), np.sort(m.T)),
    "argsort": lambda np, x, m: (np.argsort(x, kind="stable"), np.argsort(m, axis=0, kind="stable")),
    "cumsum": lambda np, x, m: (np.cumsum(m, axis=0), np.cumsum(m.T, axis=1), np.cumprod(m / 9, axis=0), np.cumsum(x)),
    "partition": lambda np, x, m: np.partition(x, 300),
    "searchsorted": lambda np, x, m: (np.searchsorted(m[0], x), np.searchsorted(x, m, side="right")),
    "matrices": lambda np, x, m: (np.linalg.inv(m), np.linalg.cholesky(m @ m.T), np.linalg.det(m)),
    "solve": lambda np, x, m: np.linalg.solve(m, m[:, :3]),
    "decompositions": lambda np, x, m: (np.linalg.qr(m), np.linalg.svd(m), np.linalg.eigvals(m).shape),
    "eigh": lambda np, x, m: (np.linalg.eigh(m @ m.T)[0], np.linalg.eigvalsh(m @ m.T)),
    "products": lambda np, x, m: (m @ m, m.T @ m, np.matmul(m[None], m[None])),
    "transforms": lambda np, x, m: (np.fft.rfft(x), np.fft.fft2(m), np.fft.irfft(x), np.fft.ifft(x, norm="ortho")),
    "bessel": lambda np, x, m: np.i0(x),
}


IN_DOUBLE = {"matrices", "solve", "decompositions", "eigh"}  # which float32 is cast to


def refuse(*_: Any) -> Any:
    raise AssertionError("a compiler is called")


@pytest.fixture(autouse=True)
def without_inductor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inductor, "compiled", refuse)
    monkeypatch.setattr(compiling.code_cache, "load", refuse)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, "float64") for name in LIBRARIES] + [(name, "float32") for name in LIBRARIES if name not in IN_DOUBLE],
)
def test_libraries_need_no_compiler(name: str, dtype: str) -> None:
    rng = numpy.random.default_rng(1)
    arrays = rng.normal(size=5000).astype(dtype), (rng.normal(size=(60, 60)) + 9 * numpy.eye(60)).astype(dtype)
    ours = [placed(tnp, array) for array in arrays]
    compiled = tnp.compile(lambda x, m: LIBRARIES[name](tnp, x, m), fullgraph=True)
    expected = LIBRARIES[name](numpy, *arrays)
    for _ in range(2):
        assert_same(expected, compiled(*ours), rtol=1e-4 if dtype == "float32" else 1e-9, atol=1e-4)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_singular_matrix_raises() -> None:
    inverse = tnp.compile(tnp.linalg.inv, fullgraph=True)
    for size in (3, 200):
        with pytest.raises(tnp.linalg.LinAlgError, match="ingular"):
            inverse(tnp.zeros((size, size)))


@pytest.mark.filterwarnings("ignore:overflow encountered in ldexp")
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("name", CALLS)
def test_needs_no_compiler(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling.elementwise_code, "compiled", refuse)
    arrays = drawn(dtype)
    ours = [placed(tnp, array) for array in arrays]
    compiled = tnp.compile(lambda x, i: CALLS[name](tnp, x, i), fullgraph=True)
    expected = CALLS[name](numpy, *arrays)
    assert_same(expected, compiled(*ours))
    assert_same(expected, compiled(*ours))


@pytest.mark.parametrize("shape", [(5000,), (50, 100)])
def test_nan_extremes_of_nothing_but_nan(shape: tuple[int, ...]) -> None:
    x = numpy.full(shape, numpy.nan)
    x.reshape(-1)[: shape[-1]] = 1.0
    for values in (x, numpy.full(shape, numpy.nan)):
        with pytest.warns(RuntimeWarning) if numpy.isnan(values).all() else numpy.errstate():
            expected = numpy.nanmax(values)
        found = tnp.compile(lambda x: tnp.nanmax(x))(placed(tnp, values))
        assert_same(expected, found)


def test_what_has_something_to_fuse_is_fused() -> None:
    x = torch.arange(6000.0)

    def is_whole(function: Callable[[torch.Tensor], torch.Tensor]) -> bool:
        return whole_calls.program(compiling.trace(lambda given: [function(given[0])], [x])) is not None

    assert is_whole(torch.amax)
    assert is_whole(lambda x: torch.amax(x.view(60, 100), 1))
    assert not is_whole(lambda x: torch.amax(x * 2))
    assert not is_whole(lambda x: torch.amax(x[::2]))
    assert not is_whole(lambda x: x.view(60, 100))
