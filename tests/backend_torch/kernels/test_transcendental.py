"""Transcendental kernels, each loop against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from backend_torch.kernels import transcendental
from tests.backend_torch.agreement import assert_close, check, loops, operands

NAMES = [
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
    "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "radians", "degrees",
]  # fmt: skip
ULPS = 4.0


def loops_of(name: str) -> list[str]:
    """All that NumPy has, but its complex log1p, which loses the digits of small numbers: see the tests below."""
    return [loop for loop in loops(getattr(np, name)) if name != "log1p" or loop[0] not in "FD"]


@pytest.mark.parametrize(("name", "loop"), [(name, loop) for name in NAMES for loop in loops_of(name)])
def test_loop(name: str, loop: str) -> None:
    valid = np.isfinite if name == "expm1" and loop[0] in "FD" else None  # its limits are tested below
    check(getattr(np, name), getattr(transcendental, name), loop, ULPS, zeros=loop[0] not in "FD", valid=valid)


def test_log1p_of_small_complex_numbers() -> None:
    z = torch.tensor([1e-10 + 1e-10j, 1e-10j, 3e-20 + 0j, 1e-200 + 1e-310j], dtype=torch.complex128)
    actual = transcendental.log1p.resolve(z.dtype)(z)
    expected = z - z * z / 2
    assert torch.allclose(actual.real, expected.real, rtol=1e-9, atol=0.0)
    assert torch.allclose(actual.imag, expected.imag, rtol=1e-9, atol=0.0)


@pytest.mark.parametrize("char", ["F", "D"])
def test_log1p_of_ordinary_and_special_complex_numbers(char: str) -> None:
    (z,) = operands(char)
    z = z[~((np.abs(z) < 1e-3) & (z != 0))]
    with np.errstate(all="ignore"):
        expected = np.log1p(z)
    actual = transcendental.log1p.resolve(torch.from_numpy(z).dtype)(torch.from_numpy(z)).numpy()
    tolerance = 16 * np.finfo(char).eps
    np.testing.assert_allclose(actual.imag, expected.imag, rtol=tolerance)
    np.testing.assert_allclose(actual.real, expected.real, rtol=tolerance, atol=tolerance)
    zeros = expected.imag == 0
    np.testing.assert_array_equal(np.signbit(actual.imag[zeros]), np.signbit(expected.imag[zeros]))


INF, NAN = float("inf"), float("nan")
LIMITS = [
    ("expm1", complex(INF, 0), complex(INF, 0)),
    ("expm1", complex(INF, INF), complex(INF, NAN)),
    ("expm1", complex(INF, NAN), complex(INF, NAN)),
    ("expm1", complex(-INF, INF), complex(-1, 0)),
    ("expm1", complex(-INF, NAN), complex(-1, 0)),
    ("expm1", complex(NAN, 0), complex(NAN, 0)),
    ("expm1", complex(-0.0, 0), complex(0, 0)),
    ("log1p", complex(INF, NAN), complex(INF, NAN)),
    ("log1p", complex(-INF, NAN), complex(INF, NAN)),
    ("log1p", complex(NAN, INF), complex(INF, NAN)),
    ("log1p", complex(-0.25, INF), complex(INF, np.pi / 2)),
    ("log1p", complex(INF, INF), complex(INF, np.pi / 4)),
    ("log1p", complex(-0.0, 0), complex(0, 0)),
    ("log1p", complex(0.0, -0.0), complex(0, -0.0)),
    ("tanh", complex(INF, 2), complex(1, 0)),
    ("tanh", complex(INF, -2), complex(1, -0.0)),
    ("tanh", complex(-INF, 2), complex(-1, 0)),
    ("tanh", complex(INF, INF), complex(1, 0)),
]


@pytest.mark.parametrize("length", [1, 3, 16])
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
@pytest.mark.parametrize(("name", "argument", "limit"), LIMITS)
def test_limits_of_complex_functions(
    name: str, argument: complex, limit: complex, dtype: torch.dtype, length: int
) -> None:
    """The special cases of the Array API standard, down to the sign of zero."""
    z = torch.full((length,), argument, dtype=dtype)
    actual = getattr(transcendental, name).resolve(dtype)(z)
    for part, wanted in ((actual.real, limit.real), (actual.imag, limit.imag)):
        expected = np.full(length, wanted, part.numpy().dtype)
        np.testing.assert_allclose(part.numpy(), expected, rtol=1e-6)
        if wanted == 0:
            np.testing.assert_array_equal(np.signbit(part.numpy()), np.signbit(expected))


@pytest.mark.parametrize("name", ["expm1", "log1p", "tanh"])
def test_gradients_beside_limits(name: str) -> None:
    z = torch.tensor([0.3 + 0.2j, INF, 2 - 1j], dtype=torch.complex128, requires_grad=True)
    getattr(transcendental, name).resolve(z.dtype)(z)[[0, 2]].real.sum().backward()
    plain = z.detach()[[0, 2]].requires_grad_()
    getattr(torch, name)(plain).real.sum().backward()
    assert z.grad is not None and plain.grad is not None
    assert torch.allclose(z.grad[[0, 2]], plain.grad)


@pytest.mark.parametrize("char", ["e", "f", "d"])
@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_sums_of_logarithms(name: str, char: str) -> None:
    """A sum near 0 is as exact as its operands are."""
    rng = np.random.default_rng(0)
    special = np.array([0.0, -np.inf, np.inf, np.nan, 1e4, -1e4])
    x, y = (a.astype(char) for a in np.meshgrid(*[np.concatenate([special, rng.normal(size=60) * 3])] * 2))
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x, y)
    actual = getattr(transcendental, name).resolve(torch.from_numpy(x).dtype)(torch.from_numpy(x), torch.from_numpy(y))
    np.testing.assert_allclose(actual.numpy(), expected, rtol=4 * np.finfo(char).eps, atol=4 * np.finfo(char).eps)


@pytest.mark.parametrize("char", ["e", "f", "d"])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "arctan2"])
def test_within_4_ulps_at_all_scales(name: str, char: str) -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=500) * scale for scale in (1e-3, 0.1, 1.0, 10.0, 80.0, 1e4, 1e6)]).astype(char)
    if name in ("sinh", "cosh"):
        high = np.log(float(np.finfo(char).max))  # where exp overflows, which they halve
        x = np.concatenate([x, np.linspace(high - 1, high + 1, 200)]).astype(char)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x)
    tensor = torch.from_numpy(x)
    assert_close(expected, getattr(transcendental, name).resolve(tensor.dtype)(tensor), ULPS, True, [x])


def test_arccos_keeps_the_gradient_on_the_real_axis() -> None:
    z = torch.tensor([0.3 + 0j, -0.5 + 0j], dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(
        transcendental.arccos.resolve(z.dtype),
        (torch.tensor([0.3 + 0.2j, 2 - 1j], dtype=torch.complex128, requires_grad=True),),
    )
    transcendental.arccos.resolve(z.dtype)(z).real.sum().backward()
    assert z.grad is not None
    np.testing.assert_allclose(z.grad.real.numpy(), -1 / np.sqrt(1 - np.array([0.3, -0.5]) ** 2))


@pytest.mark.parametrize("name", ["sinh", "cosh"])
def test_hyperbolic_gradients_where_the_exponential_overflows(name: str) -> None:
    x = torch.tensor([0.3, -709.9, 710.2, -1.0], dtype=torch.float64, requires_grad=True)
    getattr(transcendental, name).resolve(x.dtype)(x).sum().backward()
    other = np.cosh if name == "sinh" else np.sinh
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), other(x.detach().numpy()), rtol=1e-14)
