"""Arrays of classes derived from NumPy's own, such as masked arrays, in tnp's functions: NumPy computes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tnp

EYE = np.ma.array(np.eye(3))  # NumPy's own products of masks fail


class Labelled(np.ndarray):
    """A class derived from NumPy's array, without rules of its own."""


def masked() -> Any:
    return np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])


def places() -> Any:
    return np.ma.array([0, 1, 2], mask=[0, 1, 0])


def described(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [described(each) for each in value]
    if isinstance(value, np.ma.MaskedArray):
        return "masked", value.dtype, value.shape, np.asarray(value.filled(-1)).tolist()
    if isinstance(value, tnp.ndarray):
        return "ndarray", value.dtype, value.shape, value.tolist()
    if isinstance(value, np.generic):
        return "ndarray", value.dtype, value.shape, value.tolist()
    return type(value).__name__, getattr(value, "dtype", None), getattr(value, "shape", ()), np.asarray(value).tolist()


FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "reshape": lambda xp, m, x: xp.reshape(m, (3, 1)),
    "diff": lambda xp, m, x: xp.diff(m),
    "roll": lambda xp, m, x: xp.roll(m, 1),
    "flip": lambda xp, m, x: xp.flip(m),
    "sort": lambda xp, m, x: xp.sort(m),
    "median": lambda xp, m, x: xp.median(m),
    "stack": lambda xp, m, x: xp.stack([m, x]),
    "concatenate": lambda xp, m, x: xp.concatenate([x, m]),
    "append": lambda xp, m, x: xp.append(m, 1),
    "tile": lambda xp, m, x: xp.tile(m, 2),
    "atleast_2d": lambda xp, m, x: xp.atleast_2d(m),
    "asarray": lambda xp, m, x: xp.asarray(m),
    "asanyarray": lambda xp, m, x: xp.asanyarray(m),
    "array": lambda xp, m, x: [xp.array(m), xp.array(m, subok=True), xp.array([m, m]), xp.array(m, "i8")],
    "zeros_like": lambda xp, m, x: xp.zeros_like(m),
    "split": lambda xp, m, x: xp.split(m, 3),
    "insert": lambda xp, m, x: xp.insert(m, 1, 5),
    "unique": lambda xp, m, x: xp.unique(m),
    "ptp": lambda xp, m, x: xp.ptp(m[None]),
    "moveaxis": lambda xp, m, x: xp.moveaxis(m[None], 0, 1),
    "mean": lambda xp, m, x: xp.mean(m),
    "sqrt": lambda xp, m, x: xp.sqrt(m),
    "add": lambda xp, m, x: [xp.add(x, m), xp.add(m, x, out=xp.zeros(3))],
    "where": lambda xp, m, x: xp.where(x > 1, m, x),
    "dot": lambda xp, m, x: [xp.dot(x, m), xp.vdot(m, x), xp.inner(m, x), xp.einsum("i,i", m, x)],
    "interp": lambda xp, m, x: xp.interp(m, m, m),
    "fft": lambda xp, m, x: xp.fft.fft(m),
    "solve": lambda xp, m, x: xp.linalg.solve(xp.eye(3), m),
    "take": lambda xp, m, x: [xp.take(x, places()), x.take(places()), x[places()], xp.take(m, [0, 1])],
    "operators": lambda xp, m, x: [x + m, m + x, x @ EYE, EYE @ x, x > m, m == x, x**m, -m, x[0] * m, m / x[1]],
    "methods": lambda xp, m, x: [x.clip(0, m), x.compress(m > 1), x.dot(m), m.dot(x), x.repeat(places())],
    "c_": lambda xp, m, x: [xp.c_[m, x], xp.r_[m, x]],
    "a ufunc of NumPy's": lambda xp, m, x: [np.add(x, m), np.matmul(x, EYE), np.multiply(m, x[0])],
    "a function of NumPy's": lambda xp, m, x: [np.concatenate([x, m]), np.dot(x, m), np.ma.dot(x, m)],
    "vectorize": lambda xp, m, x: [xp.vectorize(lambda v: v + 1)(m), xp.vectorize(str)(m)],
    "polyval": lambda xp, m, x: [xp.polyval([1, 2], m), xp.polynomial.polynomial.polyval(m, [1, 2])],
    "poly1d": lambda xp, m, x: [xp.poly1d(m)(x), xp.poly1d([1, 2])(m)],
}


@pytest.mark.host
@pytest.mark.parametrize("name", FUNCTIONS)
def test_masked_arrays_stay_masked(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the median, which ignores the mask
        actual, expected = (FUNCTIONS[name](xp, masked(), xp.asarray([4.0, 2.0, 3.0])) for xp in (tnp, np))
    assert described(actual) == described(expected)


@pytest.mark.host
@pytest.mark.parametrize("xp", [np, tnp])
def test_masked_arrays_are_assigned_without_their_masks(xp: Any) -> None:
    x, y = xp.zeros(3), xp.zeros((2, 3))
    x[:] = masked()
    y[0] = masked()
    y.flat[3:] = masked()
    x += masked()
    y[:, places() > 0] *= 2
    xp.copyto(y[1, :1], masked()[2:])
    x.put(places()[:1], masked()[2:])
    assert x.tolist() == [3, 4, 6] and y.tolist() == [[1, 4, 6], [3, 4, 6]], (x, y)


@pytest.mark.host
def test_other_classes_of_numpys_are_kept() -> None:
    x = np.arange(3.0).view(Labelled)
    for function in (tnp.sort, tnp.flip, tnp.zeros_like, tnp.asanyarray, lambda x: tnp.reshape(x, 3), tnp.negative):
        assert type(function(x)) is Labelled
    assert type(tnp.asarray(x)) is tnp.ndarray and type(tnp.dot(x, tnp.ones(3))) is not Labelled


@pytest.mark.host
def test_maps_of_files_are_computed_as_arrays(tmp_path: Any) -> None:
    x = np.memmap(tmp_path / "x", np.float64, "w+", shape=(2, 2))
    assert type(tnp.reshape(x, -1)) is type(tnp.sort(x)) is tnp.ndarray and tnp.sum(x) == 0


@pytest.mark.host
def test_matrices_of_numpys_are_computed_as_arrays() -> None:
    """They are no more than numbers: tnp has a class of its own for them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = np.matrix([[1.0, 2.0], [3.0, 4.0]])
    assert type(tnp.linalg.inv(x)) is tnp.ndarray and tnp.dot(x, tnp.ones(2)).tolist() == [3.0, 7.0]


def test_traces_refuse_them() -> None:
    with pytest.raises(TypeError, match=r"class MaskedArray, such as a mask"):
        tnp.grad(lambda x: tnp.sum(x * x))(masked())
