"""Arithmetic kernels, each loop against NumPy's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from backend_torch.kernels import arithmetic, bits, comparison, division, floating, transcendental
from backend_torch.kernels.kernel import Kernel
from tests.backend_torch.agreement import assert_close, check, loops, values

NAMES = [
    "add", "subtract", "multiply", "divide", "power", "float_power", "negative", "positive", "conjugate", "absolute",
    "fabs", "sign", "reciprocal", "square", "sqrt", "cbrt", "hypot", "heaviside", "rint", "floor", "ceil", "trunc",
    "maximum", "minimum", "fmax", "fmin",
]  # fmt: skip
ULPS = {"power": 4.0, "float_power": 4.0, "cbrt": 2.0, "hypot": 2.0, "absolute": 2.0, "sqrt": 1.0}
COMPLEX_ULPS = {
    "multiply": 4.0,
    "divide": 4.0,
    "reciprocal": 4.0,
    "square": 4.0,
    "power": 200.0,
    "float_power": 200.0,
    "sign": 2.0,
}
# NumPy's own vectorised extremes of 0.0 and -0.0 are now the one, now the other.
UNSIGNED_ZEROS = {"maximum", "minimum", "fmax", "fmin"}


def moderate(*operands: np.ndarray) -> Any:
    """Where no intermediate product or power of complex operands overflows."""
    return np.all([(np.abs(z) < 1e4) & ((np.abs(z) > 1e-4) | (z == 0)) for z in operands], axis=0)


def moderate_power(x: np.ndarray, y: np.ndarray) -> Any:
    return moderate(x, y) & (np.abs(y) < 10)


def whole(x: np.ndarray, y: np.ndarray) -> Any:
    return y >= 0


@pytest.mark.parametrize(("name", "loop"), [(name, loop) for name in NAMES for loop in loops(getattr(np, name))])
def test_loop(name: str, loop: str) -> None:
    is_complex = loop[0] in "FD"
    ulps = COMPLEX_ULPS.get(name, 0.0) if is_complex else 0.0
    valid = None
    if name == "power" and loop[0] in "bhil":
        valid = whole
    elif is_complex and name in ("power", "float_power"):
        valid = moderate_power
    elif is_complex and name in ("square", "multiply", "divide", "reciprocal"):
        valid = moderate
    zeros = name not in UNSIGNED_ZEROS and not (is_complex and ulps)
    check(getattr(np, name), getattr(arithmetic, name), loop, ulps or ULPS.get(name, 0.0), zeros, valid)


@pytest.mark.parametrize("number", [-3, -2, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 10, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("char", list("bBhHiIlLefdFD"))
def test_power_of_a_number(char: str, number: float) -> None:
    x = values(char)
    dtype = np.dtype(char)
    if char in "FD":
        x = x[moderate(x)]
        if number != number or abs(number) == np.inf:
            return
    if dtype.kind in "iu":
        if not isinstance(number, int):
            return
        if number < 0:
            if dtype.kind == "i":
                with pytest.raises(ValueError, match="Integers to negative integer powers are not allowed"):
                    arithmetic.power.scalar_right(torch.from_numpy(x), number)
                assert arithmetic.power.scalar_right(torch.from_numpy(x[:0]), number).shape == (0,)
            return
    number = dtype.type(number).item()
    with np.errstate(all="ignore"):
        expected = x**number
    before = x.copy()
    actual = arithmetic.power.scalar_right(torch.from_numpy(x), number)
    # torch's cube and square root of the reciprocal are products and quotients, as exact as pow but not the same.
    assert_close(expected, actual, 200.0 if char in "FD" else 4.0, char not in "FD", [x])
    actual.zero_()
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("char", list("bhil"))
def test_negative_powers_of_integers_are_refused(char: str) -> None:
    x = torch.from_numpy(np.array([1, 2, 3], char))
    y = torch.from_numpy(np.array([1, -1, 2], char))
    power = arithmetic.power.resolve(x.dtype, y.dtype)
    with pytest.raises(ValueError, match="Integers to negative integer powers are not allowed"):
        power(x, y)
    assert power(x[:0], y[:0]).shape == (0,)


def test_powers_of_integers_where_values_cannot_be_looked_at() -> None:
    x = torch.arange(6).reshape(3, 2)
    power = arithmetic.power.resolve(x.dtype, x.dtype)
    assert torch.equal(torch.vmap(power)(x, x), x**x)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:  # kernels read constants
        assert power(mode.from_tensor(x), mode.from_tensor(x)).shape == (3, 2)


@pytest.mark.parametrize("char", list("efdFD"))
def test_one_divided(char: str) -> None:
    x = values(char)
    for number in (1.0, 2.0, -0.0):
        with np.errstate(all="ignore"):
            expected = number / x
        actual = arithmetic.divide.scalar_left(number, torch.from_numpy(x)).numpy()
        assert actual.dtype == expected.dtype
        if char in "efd":
            np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("function", [arithmetic.add, arithmetic.subtract])
def test_complex_parts_in_every_layout(function: Any) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 3, 4)) + 1j * rng.normal(size=(2, 3, 4))
    kernel = function.resolve(torch.complex128, torch.complex128)
    ufunc = np.add if function is arithmetic.add else np.subtract
    views: list[Callable[[Any], Any]] = [
        lambda a: a, lambda a: a[:, ::2], lambda a: a.T, lambda a: a[0], lambda a: a[:, :1], lambda a: a[1, 2],
        lambda a: a[:0],
    ]  # fmt: skip
    for left in views:
        for right in views:
            try:
                expected = ufunc(left(x), right(y))
            except ValueError:
                continue
            assert_close(
                np.asarray(expected), kernel(left(torch.from_numpy(x)), right(torch.from_numpy(y))), 0.0, True, []
            )
    assert_close(ufunc(x, y.conj()), kernel(torch.from_numpy(x), torch.from_numpy(y).conj()), 0.0, True, [])


@pytest.mark.parametrize("function", ["power", "add", "divide", "multiply", "hypot", "maximum"])
def test_gradients(function: str) -> None:
    x = torch.tensor([0.5, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([1.5, -0.5, 2.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(getattr(arithmetic, function).resolve(x.dtype, y.dtype), (x, y))


@pytest.mark.parametrize("function", ["power", "add", "divide", "multiply", "sign", "reciprocal", "negative", "square"])
def test_complex_gradients(function: str) -> None:
    kernel = getattr(arithmetic, function)
    z = [
        torch.tensor(v, dtype=torch.complex128, requires_grad=True)
        for v in ([0.5 + 1j, 2.0 - 1j], [1.5 + 0.3j, 2.0 + 0j])
    ]
    count = getattr(np, function).nin
    assert torch.autograd.gradcheck(kernel.resolve(*[torch.complex128] * count), tuple(z[:count]))


@pytest.mark.parametrize("function", ["cbrt", "sign", "heaviside"])
def test_gradients_of_what_torch_has_not(function: str) -> None:
    x = torch.tensor([-2.0, 0.5, 30.0], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([1.0, 0.5, 2.0], dtype=torch.float64, requires_grad=True)
    count = getattr(np, function).nin
    assert torch.autograd.gradcheck(getattr(arithmetic, function).resolve(*[x.dtype] * count), (x, y)[:count])


def kernels() -> list[Any]:
    modules = (arithmetic, bits, comparison, division, floating, transcendental)
    return [
        pytest.param(getattr(module, name), loop, id=f"{name}-{loop}")
        for module in modules
        for name in sorted(dir(module))
        if isinstance(getattr(module, name), Kernel)
        for loop in loops(getattr(np, name))
    ]


@pytest.mark.parametrize(("kernel", "loop"), kernels())
def test_batched_and_traced(kernel: Kernel, loop: str, computed_by: str) -> None:
    """Every loop runs under vmap, with the same result, and on tensors without values; in a batch torch computes."""
    tensors = [torch.from_numpy(np.ones((2, 3), char)) for char in loop.partition("->")[0]]
    function = kernel.resolve(*[tensor.dtype for tensor in tensors])
    expected = function(*tensors)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says which of its functions it batches by a loop
        actual = torch.vmap(function)(*tensors)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:  # kernels read constants
        fake = function(*[mode.from_tensor(tensor) for tensor in tensors])
    for one, other, third in zip(*[r if isinstance(r, tuple) else (r,) for r in (expected, actual, fake)], strict=True):
        assert_close(one.numpy(), other, 2.0 if computed_by == "NumPy" else 0.0, True, [])
        assert (third.dtype, third.shape) == (one.dtype, one.shape)
