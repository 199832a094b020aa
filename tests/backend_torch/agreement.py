"""Kernels against NumPy's ufuncs: the values to try, the layouts to try them in and what counts as the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from backend_torch.kernels.kernel import Kernel

LOOPS = "?bBhHiIlLefdFD"


def values(char: str) -> np.ndarray:
    """The extremes, the special values and some ordinary ones of a dtype."""
    dtype = np.dtype(char)
    rng = np.random.default_rng(0)
    if char == "?":
        return np.array([False, True])
    if dtype.kind in "iu":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        chosen = [low, low + 1, high, high - 1, high // 2, high // 2 + 1, high // 3, 0, 1, 2, 3, 7, 10, 31, 33, 63, 64]
        return np.array(chosen + ([-1, -2, -3, -7, -10, low // 2] if dtype.kind == "i" else []), dtype)
    if dtype.kind == "f":
        info = np.finfo(dtype)
        chosen = [
            0.0,
            1.0,
            0.5,
            1.5,
            2.5,
            2.0,
            3.0,
            7.0,
            10.0,
            0.1,
            1 / 3,
            100.0,
            700.0,
            np.pi,
            0.999,
            12345.678,
            np.inf,
        ]
        chosen += [float(info.max), float(info.tiny), float(info.smallest_subnormal), float(info.eps), 1e-5]
        near = np.concatenate([chosen, rng.normal(size=10)])
        return np.concatenate([near, -near, [np.nan]]).astype(dtype)
    parts = np.array([0.0, 1.0, 0.5, 3.0, np.inf, 1e-10, 1e30, 100.0])
    parts = np.concatenate([parts, -parts, [np.nan]])
    grid = np.empty((len(parts), len(parts)), dtype)
    grid.real, grid.imag = parts[:, None], parts
    return np.concatenate([grid.ravel(), (rng.normal(size=30) + 1j * rng.normal(size=30)).astype(dtype)])


def operands(inputs: str) -> list[np.ndarray]:
    """Every pair of values, or every value."""
    return [each.ravel() for each in np.meshgrid(*[values(char) for char in inputs], indexing="ij")]


def layouts(array: np.ndarray) -> list[torch.Tensor]:
    """The same values contiguous, with gaps and transposed: torch has other code for each."""
    whole = torch.from_numpy(np.repeat(array, 2))
    pairs = torch.from_numpy(np.tile(array, (2, 1)))
    return [torch.from_numpy(array.copy()), whole[::2], pairs.T.contiguous().T[0]]


def errors(expected: np.ndarray, actual: np.ndarray) -> np.ndarray:
    """Distances in units of the last place; of a complex number, in units of the larger part's.

    A zero of the other sign, and a value that is finite in one place only, are infinitely far.
    """
    if expected.dtype.kind == "c":
        finite = np.isfinite(expected) & np.isfinite(actual)
        one, other = np.where(finite, expected, 1), np.where(finite, actual, 1)
        apart = np.abs(one - other) / np.spacing(np.maximum(np.abs(one), np.finfo(expected.real.dtype).tiny))
        return np.where(
            finite, apart, np.maximum(errors(expected.real, actual.real), errors(expected.imag, actual.imag))
        )
    if expected.dtype.kind != "f":
        return np.where(expected == actual, 0, np.inf)
    same = ((expected == actual) & (np.signbit(expected) == np.signbit(actual))) | (
        np.isnan(expected) & np.isnan(actual)
    )
    finite = np.isfinite(expected) & np.isfinite(actual) & (expected != actual)
    size = np.maximum(np.abs(np.where(finite, expected, 1)), np.finfo(expected.dtype).tiny)
    apart = np.abs(np.where(finite, expected, 0).astype("g") - np.where(finite, actual, 0)) / np.spacing(size)
    return np.where(same, 0, np.where(finite, apart, np.inf)).astype(float)


def assert_close(expected: Any, actual: Any, ulps: float, zeros: bool, arguments: list[np.ndarray]) -> None:
    """A kernel's results are NumPy's: dtype, shape and values."""
    if isinstance(expected, tuple):
        assert len(expected) == len(actual)
        for one, other in zip(expected, actual, strict=True):
            assert_close(one, other, ulps, zeros, arguments)
        return
    actual = actual.numpy()
    assert actual.dtype == expected.dtype, (actual.dtype, expected.dtype)
    assert actual.shape == expected.shape, (actual.shape, expected.shape)
    distance = errors(expected, actual)
    if not zeros:
        distance = np.where((expected == 0) & (actual == 0), 0, distance)
    wrong = np.flatnonzero(~(distance <= (ulps if expected.dtype.kind in "fc" else 0)))
    report = [(*(a.flat[i] for a in arguments), expected.flat[i], actual.flat[i], distance.flat[i]) for i in wrong[:8]]
    assert not wrong.size, f"{wrong.size} of {expected.size} differ: (arguments, NumPy, torch, ulps) {report}"


def loops(ufunc: np.ufunc) -> list[str]:
    """The ufunc's distinct loops on dtypes that a tensor can carry; C's long long is its long by another letter."""
    types = [loop.replace("q", "l").replace("Q", "L") for loop in ufunc.types]
    return list(dict.fromkeys(loop for loop in types if set(loop) <= {*LOOPS, "-", ">"}))


def check(ufunc: np.ufunc, kernel: Kernel, loop: str, ulps: float = 0.0, zeros: bool = True, valid: Any = None) -> None:
    """One loop of a kernel agrees with NumPy's on all values, in every layout, 0-d and empty.

    Parameters
    ----------
    ulps : float
        How far a float may be away.
    zeros : bool
        Whether the sign of a zero counts.
    valid : callable, optional
        Which operands to keep.
    """
    arguments = operands(loop.partition("->")[0])
    if valid is not None:
        keep = valid(*arguments)
        arguments = [each[keep] for each in arguments]
    with np.errstate(all="ignore"):
        expected = ufunc(*arguments)
    first = [torch.from_numpy(each) for each in arguments]
    function = kernel.resolve(*[tensor.dtype for tensor in first])
    for tensors in zip(*map(layouts, arguments), strict=True):
        before = [tensor.clone() for tensor in tensors]
        actual = function(*tensors)
        assert_close(expected, actual, ulps, zeros, arguments)
        for tensor, old in zip(tensors, before, strict=True):
            assert torch.equal(
                tensor.view(torch.uint8) if tensor.is_contiguous() else tensor.contiguous().view(torch.uint8),
                old.contiguous().view(torch.uint8),
            ), "an operand was written to"
        for result in actual if isinstance(actual, tuple) else (actual,):
            assert all(result.data_ptr() != tensor.data_ptr() for tensor in tensors), "the result is an operand"
    for index in (0, len(arguments[0]) // 2, -1):
        single = [each[index : index + 1 or None].reshape(()) for each in arguments]
        with np.errstate(all="ignore"):
            wanted = ufunc(*[each[None] for each in single])
        wanted = tuple(w[0:1].reshape(()) for w in wanted) if isinstance(wanted, tuple) else wanted[0:1].reshape(())
        assert_close(wanted, function(*[torch.from_numpy(each.copy()) for each in single]), ulps, zeros, single)
    empty = [each[:0].reshape(0, 3) for each in arguments]
    assert_close(ufunc(*empty), function(*map(torch.from_numpy, empty)), ulps, zeros, empty)
