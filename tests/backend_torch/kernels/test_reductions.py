"""Reduction kernels against NumPy, on every dtype, and folds against a Python loop."""

from __future__ import annotations

import functools
import operator
import warnings

import numpy as np
import pytest
import torch

from backend_torch.kernels import reductions
from backend_torch.tensors.dtypes import to_numpy, to_torch

pytestmark = pytest.mark.usefixtures("computed_by")

DTYPES = [dtype for dtype in to_torch if dtype.kind in "biufc"]
AXES = [None, 0, 1, -1, (0, 1), (0, 2), (2, 0, 1)]


def drawn(dtype: np.dtype, shape: tuple[int, ...] = (3, 4, 5), seed: int = 0) -> np.ndarray:
    """Values over the whole range of integers; floats with ties."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    values = rng.integers(-3, 4, shape) / 4
    return (values + 1j * rng.integers(-3, 4, shape) if dtype.kind == "c" else values).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all"])
def test_reduction_is_numpys(name: str, dtype: np.dtype, keepdims: bool) -> None:
    array = drawn(dtype)
    tensor = torch.from_numpy(array)
    for axis in AXES:
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(array, axis=axis, keepdims=keepdims)
        loop = getattr(reductions, name)(tensor.dtype, to_torch[expected.dtype])
        actual = loop(tensor, axis, keepdims)
        assert to_numpy[actual.dtype] == expected.dtype
        rtol = {2: 4e-3, 4: 1e-5, 8: 1e-5 if dtype.kind == "c" else 1e-12}.get(dtype.itemsize, 1e-12)
        np.testing.assert_allclose(actual.numpy(), expected, rtol=rtol if dtype.kind in "fc" else 0, atol=1e-30)


@pytest.mark.parametrize("name", ["sum", "prod"])
@pytest.mark.parametrize("result", DTYPES, ids=str)
@pytest.mark.parametrize("given", DTYPES, ids=str)
def test_accumulates_in_the_dtype_that_is_asked_for(given: np.dtype, result: np.dtype, name: str) -> None:
    array = drawn(given, (3, 4))
    if given.kind == "f":
        array = abs(array)  # what a negative float is as an unsigned integer is nobody's business
    if given.kind == "c" and result.kind != "c":
        array = abs(array.real).astype(given)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        expected = getattr(np, name)(array, axis=0, dtype=result)
    actual = getattr(reductions, name)(to_torch[given], to_torch[result])(torch.from_numpy(array), 0, False)
    assert to_numpy[actual.dtype] == result
    if np.isfinite(expected).all():
        np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-2 if result.kind in "fc" else 0)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_argextreme_is_the_first_or_the_first_nan(dtype: np.dtype, largest: bool) -> None:
    array = drawn(dtype, (40, 30)) if dtype.kind in "bfc" else drawn(dtype, (40, 30)) % 5
    samples = [array, array.T]
    if dtype.kind in "fc":
        array = array.copy()
        array[::7, ::3] = np.nan
        samples.append(array)
    if dtype.kind == "c":
        array = array.copy()
        array[::5, ::2] = complex(-np.inf, np.inf)
        array[1] = complex(2, np.nan)
        samples.append(array)
    for array in samples:
        for axis in (None, 0, 1):
            expected = (np.argmax if largest else np.argmin)(array, axis)
            actual = reductions.argextreme(to_torch[dtype], largest)(torch.from_numpy(array), axis, False)
            np.testing.assert_array_equal(actual.numpy(), expected)


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64, np.complex128])
def test_extremes_are_nan_if_there_is_one(dtype: type, name: str) -> None:
    array = drawn(np.dtype(dtype), (6, 7))
    array[2, 3] = np.nan
    if array.dtype.kind == "c":
        array[4, 3] = complex(1, np.nan)
    loop = getattr(reductions, name)(to_torch[array.dtype], to_torch[array.dtype])
    for axis in (None, 0, 1, (0, 1)):
        np.testing.assert_array_equal(loop(torch.from_numpy(array), axis, False), getattr(np, name)(array, axis))


@pytest.mark.parametrize("name", ["nanmax", "nanmin"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_extremes_without_nan(dtype: np.dtype, name: str) -> None:
    array = drawn(dtype, (6, 7))
    if dtype.kind in "fc":
        array[2:5, 3] = array[:, 4] = np.nan
    ufunc = np.fmax if name == "nanmax" else np.fmin
    loop = getattr(reductions, name)(to_torch[dtype], to_torch[dtype])
    for axis in (0, 1, (0, 1)):
        np.testing.assert_array_equal(loop(torch.from_numpy(array), axis, False), ufunc.reduce(array, axis))


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("result", [np.float16, np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("given", DTYPES, ids=str)
def test_mean_and_variance(given: np.dtype, result: type) -> None:
    array = drawn(given, (6, 5)) if given.kind in "bfc" else (drawn(given, (6, 5)) % 9).astype(given)
    tensor, dtypes = torch.from_numpy(array), (to_torch[given], to_torch[np.dtype(result)])
    rtol = {np.float16: 1e-2, np.float32: 1e-5, np.complex64: 1e-5}.get(result, 1e-12)
    for axis in (None, 0, 1, (0, 1)):
        wide = array.astype(np.result_type(result, np.float64))
        actual = reductions.mean(*dtypes)(tensor, axis, True)
        assert to_numpy[actual.dtype] == result
        np.testing.assert_allclose(actual.numpy(), wide.mean(axis, keepdims=True), rtol=rtol, atol=rtol)
        actual = reductions.var(*dtypes)(tensor, axis, False, 1)
        assert actual.dtype is reductions.real_dtype(dtypes[1])
        np.testing.assert_allclose(actual.numpy(), wide.var(axis, ddof=1), rtol=10 * rtol, atol=rtol)
        actual = reductions.std(*dtypes)(tensor, axis, False, 0)
        np.testing.assert_allclose(actual.numpy(), wide.std(axis), rtol=10 * rtol, atol=rtol)


@pytest.mark.parametrize("shape, axis", [((1 << 20,), 0), ((1 << 18, 4), 0), ((4, 1 << 18), 1)])
def test_sum_is_at_least_as_accurate_as_numpys(shape: tuple[int, ...], axis: int) -> None:
    array = np.random.default_rng(0).random(shape, np.float32)
    exact = array.astype(np.float64).sum(axis)
    ours = reductions.sum(torch.float32, torch.float32)(torch.from_numpy(array), axis, False).numpy()
    assert abs(ours - exact).max() <= max(2 * abs(array.sum(axis) - exact).max(), np.spacing(exact.max(), dtype="f4"))


def test_count_nonzero() -> None:
    for dtype in DTYPES:
        array = drawn(dtype, (4, 5)) * (drawn(np.dtype(bool), (4, 5)))
        for axis in (None, 0, (0, 1)):
            counted = reductions.count_nonzero(torch.from_numpy(array), axis, False)
            np.testing.assert_array_equal(counted, np.count_nonzero(array, axis))


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 33])
@pytest.mark.parametrize("associative", [True, False])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_fold(n: int, associative: bool, dim: int) -> None:
    function = operator.xor if associative else operator.sub
    array = drawn(np.dtype(np.int64), (n, 3) if dim == 0 else (3, n), seed=n)
    folded = reductions.fold(function, torch.from_numpy(array), dim, associative)
    lines = array if dim == 0 else array.T
    np.testing.assert_array_equal(folded.numpy(), functools.reduce(function, lines))


def test_fold_calls_an_associative_function_log_n_times() -> None:
    calls = []

    def add(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        calls.append(left.shape)
        return left + right

    reductions.fold(add, torch.ones(1000), 0, associative=True)
    assert len(calls) <= 20


@pytest.mark.parametrize("dtype", [np.int64, np.uint16, np.uint64, np.float32])
@pytest.mark.parametrize("indices", [[0], [0, 4, 1, 5, 2, 6, 3, 7], [0, 3, 3, 11], [11, 0], [5, 5, 5], [], [0, 2, 1]])
@pytest.mark.parametrize("name", ["add", "subtract", "maximum"])
def test_segment_fold_is_reduceat(name: str, indices: list[int], dtype: type) -> None:
    array = np.arange(24).reshape(12, 2).astype(dtype)
    ufunc = getattr(np, name)

    def function(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(ufunc(left.numpy(), right.numpy()))

    where = torch.tensor(indices, dtype=torch.int64)
    for dim in (0, 1):
        tensor = torch.from_numpy(array if dim == 0 else array.T.copy())
        folded = reductions.segment_fold(function, tensor, where, dim, associative=name != "subtract")
        expected = ufunc.reduceat(array, np.array(indices, np.intp), dtype=dtype)
        np.testing.assert_array_equal(folded.numpy(), expected if dim == 0 else expected.T)


def test_gradients_flow() -> None:
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    for name in ("sum", "prod", "max", "min"):
        loop = getattr(reductions, name)(x.dtype, x.dtype)
        assert torch.autograd.gradcheck(lambda t, loop=loop: loop(t, (0, 1), True), x)
    assert torch.autograd.gradcheck(lambda t: reductions.var(t.dtype, t.dtype)(t, 0, False, 1), x)
    assert torch.autograd.gradcheck(lambda t: reductions.fold(torch.logaddexp, t, 1, True), x)


def test_under_vmap() -> None:
    x = torch.randn(5, 3, 4)
    for name in ("sum", "prod", "max", "any"):
        loop = getattr(reductions, name)(x.dtype, x.dtype)
        expected = torch.stack([loop(row, (0, 1), False) for row in x])
        torch.testing.assert_close(torch.func.vmap(lambda row, loop=loop: loop(row, (0, 1), False))(x), expected)


def test_axes_out_of_range_are_refused_whatever_the_dtype() -> None:
    for dtype in (torch.complex64, torch.uint16, torch.float32):
        for axis in (2, -3):
            with pytest.raises(IndexError):
                reductions.max(dtype, dtype)(torch.ones(3, 2).to(dtype), axis, False)
            with pytest.raises(IndexError):
                reductions.argextreme(dtype, largest=True)(torch.ones(3, 2).to(dtype), axis, False)


@pytest.mark.parametrize("axes", [0, -1, (1,), (0, 2)])
def test_variances_along_axes_take_two_passes(axes: int | tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """torch's one pass took twenty times NumPy's time along an axis given as a number."""
    array = drawn(np.dtype("f8"))
    monkeypatch.setattr(torch, "var", None)
    monkeypatch.setattr(torch, "std", None)
    for name in ("var", "std"):
        result = getattr(reductions, name)(torch.float64, torch.float64)(torch.from_numpy(array), axes, False, 0)
        np.testing.assert_allclose(result.numpy(), getattr(np, name)(array, axes), rtol=1e-14)
