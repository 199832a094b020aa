"""Scan kernels against NumPy's accumulate, on every dtype."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from backend_torch.kernels import scans
from backend_torch.tensors.dtypes import to_numpy, to_torch

DTYPES = [dtype for dtype in to_torch if dtype.kind in "biufc"]
UFUNCS = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "any": np.logical_or,
    "all": np.logical_and,
}


def drawn(dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(1)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    values = rng.integers(-4, 5, shape) / 4
    return (values + 1j * rng.integers(-3, 4, shape) if dtype.kind == "c" else values).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", list(UFUNCS))
def test_scan_is_accumulate(name: str, dtype: np.dtype) -> None:
    array = drawn(dtype, (5, 6))
    for axis in (0, 1):
        with np.errstate(all="ignore"):
            expected = UFUNCS[name].accumulate(array, axis)
        loop = getattr(scans, name)(to_torch[dtype], to_torch[expected.dtype])
        actual = loop(torch.from_numpy(array), axis)
        assert to_numpy[actual.dtype] == expected.dtype
        rtol = 1e-2 if dtype == np.float16 else 1e-5 if dtype.kind in "fc" else 0
        np.testing.assert_allclose(actual.numpy(), expected, rtol=rtol, atol=1e-5 if dtype.kind in "fc" else 0)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_are_nan_from_the_first_nan_on(name: str, dtype: type) -> None:
    array = drawn(np.dtype(dtype), (9,))
    array[4] = np.nan
    loop = getattr(scans, name)(to_torch[array.dtype], to_torch[array.dtype])
    np.testing.assert_array_equal(loop(torch.from_numpy(array), 0).numpy(), UFUNCS[name].accumulate(array))


@pytest.mark.parametrize("result", DTYPES, ids=str)
def test_accumulates_in_the_dtype_that_is_asked_for(result: np.dtype) -> None:
    for given in DTYPES:
        array = abs(drawn(given, (7,)).real).astype(given)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            expected = np.cumsum(array, dtype=result)
        actual = scans.sum(to_torch[given], to_torch[result])(torch.from_numpy(array), 0)
        assert to_numpy[actual.dtype] == result
        if np.isfinite(expected).all():
            np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-2 if result.kind in "fc" else 0)


@pytest.mark.parametrize("n", [0, 1, 2, 5, 8, 17])
@pytest.mark.parametrize("associative", [True, False])
def test_scan_of_any_function(n: int, associative: bool) -> None:
    function, ufunc = (operator.xor, np.bitwise_xor) if associative else (operator.sub, np.subtract)
    array = drawn(np.dtype(np.int64), (3, n))
    actual = scans.scan(function, torch.from_numpy(array), 1, associative)
    np.testing.assert_array_equal(actual.numpy(), ufunc.accumulate(array, 1))


def test_cumsum_is_at_least_as_accurate_as_numpys() -> None:
    array = np.random.default_rng(0).random(1 << 20, np.float32)
    exact = np.cumsum(array, dtype=np.float64)
    ours = scans.sum(torch.float32, torch.float32)(torch.from_numpy(array), 0).numpy()
    assert abs(ours - exact).max() <= abs(np.cumsum(array) - exact).max()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", [0, 1, 6])
def test_difference_is_diff(n: int, dtype: np.dtype) -> None:
    array = drawn(dtype, (n, 4))
    for dim in (0, 1):
        actual = scans.difference(torch.from_numpy(array), dim)
        np.testing.assert_array_equal(actual.numpy(), np.diff(array, axis=dim))


def test_gradient_and_vmap() -> None:
    x = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    for name in ("sum", "prod", "max"):
        loop = getattr(scans, name)(x.dtype, x.dtype)
        assert torch.autograd.gradcheck(lambda t, loop=loop: loop(t, 1), x)
        torch.testing.assert_close(torch.func.vmap(lambda t, loop=loop: loop(t, 0))(x), loop(x, 1))
    assert torch.autograd.gradcheck(lambda t: scans.scan(torch.logaddexp, t, 1, associative=True), x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128, np.int64, np.int32, bool])
@pytest.mark.parametrize(
    ("function", "is_chosen"),
    [
        (lambda x: torch.cumsum(x, 0), True),
        (lambda x: torch.cumprod(x, -3) + 1, True),
        (lambda x: torch.cumsum(x, 1), True),
        (lambda x: torch.cumsum(x, 2), False),
        (lambda x: torch.cumsum(x.permute(2, 0, 1), 2), True),
        (lambda x: torch.cumsum(x.permute(2, 0, 1), 1).permute(1, 2, 0), True),
        (lambda x: torch.cumsum(x.permute(2, 0, 1), 0), False),
        (lambda x: torch.cumsum(x[::2], 0), True),
        (lambda x: torch.cumsum(x[:1], 0), False),
    ],
)
def test_scans_in_graphs(function: Callable[[torch.Tensor], torch.Tensor], is_chosen: bool, dtype: type) -> None:
    """Graphs scan across lines as eager code does; along lines, and of few elements, torch does."""
    kind = np.dtype(np.int8 if dtype is bool else dtype)
    x = torch.from_numpy((drawn(kind, (16, 16, 16)) % 3 if dtype is bool else drawn(kind, (16, 16, 16))).astype(dtype))
    module = make_fx(function, tracing_mode="fake")(x)
    scans.choose(module)
    found = [node for node in module.graph.nodes if node.target is torch.ops.tnp.scanned.default]
    assert len(found) == is_chosen
    expected = function(x)
    torch.testing.assert_close(module(x), expected)
    assert module(x).dtype is expected.dtype
    assert module(x).stride() == expected.stride()
