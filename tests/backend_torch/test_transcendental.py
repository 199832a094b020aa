"""Transcendental kernels, each loop against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from backend_torch import transcendental
from tests.backend_torch.agreement import assert_close, check, loops

NAMES = [
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
    "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "radians", "degrees",
]  # fmt: skip
ULPS = 4.0


def loops_of(name: str) -> list[str]:
    return loops(getattr(np, name))


@pytest.mark.parametrize(("name", "loop"), [(name, loop) for name in NAMES for loop in loops_of(name)])
def test_loop(name: str, loop: str) -> None:
    if name == "log1p" and loop[0] in "FD":
        pytest.skip("torch's complex log1p is the exact one: see test_log1p_of_small_complex_numbers")
    check(getattr(np, name), getattr(transcendental, name), loop, ULPS, zeros=loop[0] not in "FD")


def test_log1p_of_small_complex_numbers() -> None:
    z = torch.tensor([1e-10 + 1e-10j, 1e-10j, 3e-20 + 0j], dtype=torch.complex128)
    actual = transcendental.log1p.resolve(z.dtype)(z)
    expected = z - z * z / 2
    assert torch.allclose(actual.real, expected.real, rtol=1e-9, atol=0.0)
    assert torch.allclose(actual.imag, expected.imag, rtol=1e-9, atol=0.0)


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
        # Within 0.7 of the largest argument torch's vectorised functions, which halve an exponential, overflow.
        x = np.clip(x, *(np.array([-1, 1]) * (np.log(float(np.finfo(char).max)) - 0.1)))
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
