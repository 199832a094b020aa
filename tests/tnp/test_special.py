"""Special functions do what SciPy's do."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import torch

import tnp

scipy_special = pytest.importorskip("scipy.special")

UNARY = [
    "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1", "gammaln", "i0", "i0e", "i1", "i1e",
    "j0", "j1", "k0", "k0e", "k1", "k1e", "log1p", "log_expit", "log_ndtr", "logit", "ndtr", "ndtri", "psi", "sinc",
    "y0", "y1",
]  # fmt: skip
BESSEL = ["j0", "j1", "y0", "y1"]
BINARY = ["gammainc", "gammaincc", "xlog1py", "xlogy", "zeta"]
WITHOUT_GRADIENT = {"k0", "k0e", "k1", "k1e"}
VALUES = np.array([0.01, 0.25, 0.5, 0.9, 1.0, 1.5, 2.0, 3.7, 6.0, 8.0, 20.0])


def close(actual: Any, expected: Any) -> None:
    assert isinstance(actual, tnp.ndarray) and actual.dtype == expected.dtype and actual.shape == expected.shape
    tolerance = 2e-5 if expected.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(tnp.asnumpy(actual), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, dtype: str) -> None:
    x = VALUES.astype(dtype)
    with np.errstate(all="ignore"):
        expected = getattr(scipy_special, name)(x)
    if name == "sinc":  # NumPy's function, with its dtypes
        expected = np.sinc(x)
    close(getattr(tnp.special, name)(tnp.asarray(x)), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str, dtype: str) -> None:
    x, y = VALUES[:, None].astype(dtype) + (1 if name == "zeta" else 0), VALUES.astype(dtype)
    x = x.astype(dtype)
    close(getattr(tnp.special, name)(tnp.asarray(x), tnp.asarray(y)), getattr(scipy_special, name)(x, y))
    close(getattr(tnp.special, name)(tnp.asarray(x), 2), getattr(scipy_special, name)(x, np.asarray(2, dtype)))


@pytest.mark.parametrize("name", BESSEL)
def test_bessel_functions_of_any_argument(name: str) -> None:
    x = np.concatenate([np.linspace(-60, 60, 501), [1e3, -1e3, 1e5, np.inf, -np.inf, np.nan, 5.0, -0.0]])
    actual, expected = tnp.asnumpy(getattr(tnp.special, name)(tnp.asarray(x))), getattr(scipy_special, name)(x)
    np.testing.assert_allclose(actual, expected, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float16"])
def test_other_dtypes_are_computed_in_float64(dtype: str) -> None:
    x = np.asarray([0, 1]).astype(dtype)
    close(tnp.special.erf(tnp.asarray(x)), scipy_special.erf(x.astype(float)))


@pytest.mark.host
def test_out() -> None:
    x, out = tnp.asarray(VALUES), tnp.empty(len(VALUES))
    assert tnp.special.erf(x, out) is out and tnp.special.erf(x, out=out) is out
    close(out, scipy_special.erf(VALUES))


def test_refusals() -> None:
    with pytest.raises(TypeError, match="complex"):
        tnp.special.erf(tnp.ones(2, "complex64"))
    with pytest.raises(TypeError, match="operands"):
        tnp.special.xlogy(tnp.ones(2))
    with pytest.raises(ValueError, match=r"\(2,\) \(3,\)"):
        tnp.special.xlogy(tnp.ones(2), tnp.ones(3))
    with pytest.raises(ValueError, match="positive integer"):
        tnp.special.multigammaln(2.0, 0)


@pytest.mark.parametrize("name", [name for name in UNARY if name not in WITHOUT_GRADIENT])
def test_gradient(name: str) -> None:
    x = tnp.asarray(torch.tensor([0.25, 0.5, 6.5 if name in BESSEL else 0.75], dtype=torch.float64, requires_grad=True))
    assert torch.autograd.gradcheck(lambda t: getattr(tnp.special, name)(tnp.asarray(t)).tensor, (x.tensor,))


def test_pickle() -> None:
    assert pickle.loads(pickle.dumps(tnp.special.erf)) is tnp.special.erf


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize(
    "orders", [0, 2, -1, 1.5, 30, [1] * len(VALUES), np.float32(1), np.array([[0], [1], [3]]), np.ones((2, 1), "f4")]
)
def test_polygamma(orders: Any, dtype: str) -> None:
    x = VALUES[1:].astype(dtype) if isinstance(orders, np.ndarray) else VALUES.astype(dtype)
    with np.errstate(all="ignore"):
        expected = scipy_special.polygamma(orders, x)
    actual = tnp.special.polygamma(tnp.asarray(orders) if isinstance(orders, np.ndarray) else orders, tnp.asarray(x))
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    single = np.float32 in (actual.dtype, x.dtype)  # SciPy computes digamma in x's dtype, whatever the result's
    np.testing.assert_allclose(tnp.asnumpy(actual), expected, rtol=1e-6 if single else 1e-12)


@pytest.mark.parametrize("order", range(4))
def test_polygamma_at_poles_and_of_negative_numbers(order: int) -> None:
    x = np.array([0.0, -1.0, -2.0, -0.5, -3.25, np.nan, np.inf])
    expected = scipy_special.polygamma(order, x)
    np.testing.assert_allclose(tnp.asnumpy(tnp.special.polygamma(order, tnp.asarray(x))), expected, rtol=1e-12)


def test_zeta_of_infinities() -> None:
    x, q = np.array([[-1.0], [0.0], [1.0], [1.5], [2.0], [np.inf], [np.nan]]), np.array([0.5, 1.0, np.inf, np.nan])
    with np.errstate(all="ignore"):
        close(tnp.special.zeta(tnp.asarray(x[2:]), tnp.asarray(q)), scipy_special.zeta(x[2:], q))


def test_gradient_of_polygamma() -> None:
    orders = tnp.asarray([[0], [1], [3]])
    x = torch.tensor([0.25, 0.5, 2.75], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: tnp.special.polygamma(orders, tnp.asarray(t)).tensor, (x,))


def test_multigammaln() -> None:
    close(tnp.special.multigammaln(tnp.asarray(VALUES[4:]), 2), scipy_special.multigammaln(VALUES[4:], 2))
    assert tnp.isnan(tnp.special.multigammaln(tnp.asarray([0.1]), 2)).all()


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), ()])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_over_axes(name: str, axis: Any) -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 4)) * 300
    close(getattr(tnp.special, name)(tnp.asarray(x), axis=axis), np.asarray(getattr(scipy_special, name)(x, axis=axis)))


@pytest.mark.parametrize("keepdims", [False, True])
def test_logsumexp_with_factors(keepdims: bool) -> None:
    rng = np.random.default_rng(0)
    x, b = rng.normal(size=(3, 4)) * 300, rng.normal(size=(3, 4))
    x[0], b[1, 0] = -np.inf, 0.0
    ours, theirs = tnp.special.logsumexp, scipy_special.logsumexp
    options = {"axis": 1, "keepdims": keepdims}
    for one, other in zip(
        ours(tnp.asarray(x), b=tnp.asarray(b), return_sign=True, **options),
        theirs(x, b=b, return_sign=True, **options),
        strict=True,
    ):
        close(one, other)
    close(ours(tnp.asarray(x), b=tnp.asarray(np.abs(b)), **options), theirs(x, b=np.abs(b), **options))
