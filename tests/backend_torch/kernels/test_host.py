"""Where NumPy computes in torch's place, and where it must not: the same values, gradients and traces."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
import torch

from backend_torch.kernels import (
    arithmetic,
    bits,
    division,
    floating,
    host,
    kernel,
    padding,
    reductions,
    selection,
    signal,
    transcendental,
)
from backend_torch.tensors import memory

X = torch.tensor(
    [0.3, -2.5, 0.0, -0.0, 1e300, float("inf"), float("-inf"), float("nan"), 5e-324, 7.0], dtype=torch.float64
)
Y = torch.tensor([2.0, 0.7, -1.0, 1.0, 3.0, 2.0, 5.0, 1.0, 2.0, -0.3], dtype=torch.float64)
WHOLE = torch.arange(-5, 5)
DIVIDENDS = torch.tensor([7, -7, 0, 2**62, -(2**63), 5, 12, -12, 1, 3])
KNOTS = torch.tensor([-1.0, 0.5, 8.0], dtype=torch.float64)
Z = torch.complex(Y, Y.flip(0))
CALLS = {
    "cbrt": lambda: arithmetic.cbrt.resolve(X.dtype)(X),
    "arcsinh": lambda: transcendental.arcsinh.resolve(X.dtype)(Y),
    "expm1": lambda: transcendental.expm1.resolve(X.dtype)(Y),
    "log1p": lambda: transcendental.log1p.resolve(X.dtype)(Y.abs()),
    "bitwise_count": lambda: bits.bitwise_count.resolve(WHOLE.dtype)(WHOLE),
    "remainder": lambda: division.remainder.resolve(X.dtype, Y.dtype)(X, Y),
    "divmod": lambda: division.divmod.resolve(X.dtype, Y.dtype)(X, Y)[1],
    "isinf": lambda: floating.isinf.resolve(X.dtype)(X),
    "isfinite": lambda: floating.isfinite.resolve(X.dtype)(X),
    "modf": lambda: floating.modf.resolve(X.dtype)(X)[0],
    "frexp": lambda: floating.frexp.resolve(X.dtype)(X[:5])[0],
    "ldexp": lambda: floating.ldexp.resolve(X.dtype, WHOLE.dtype)(X, WHOLE.to(torch.int32)),
    "nonzero": lambda: selection.nonzero(X.reshape(2, 5))[1],
    "argwhere": lambda: selection.argwhere(X.reshape(2, 5)),
    "argmax": lambda: reductions.argextreme(X.dtype, largest=True)(X, None, True),
    "argmin": lambda: reductions.argextreme(X.dtype, largest=False)(X.reshape(2, 5), 1, False),
    "nanmax": lambda: reductions.nanmax(X.dtype, X.dtype)(X.reshape(2, 5), (1,), True),
    "nanmin": lambda: reductions.nanmin(X.dtype, X.dtype)(X, None, False),
    "packed": lambda: padding.packed(X.reshape(2, 5)[:, :4].repeat(1, 2) > 0, True),
    "unpacked": lambda: padding.unpacked(WHOLE.to(torch.uint8), False),
    "remainder, int64": lambda: division.remainder.resolve(WHOLE.dtype, WHOLE.dtype)(DIVIDENDS, WHOLE),
    "floor_divide, int64": lambda: division.floor_divide.resolve(WHOLE.dtype, WHOLE.dtype)(DIVIDENDS, WHOLE),
    "floor_divide, uint64": lambda: _unsigned(division.floor_divide),
    "fmod": lambda: division.fmod.resolve(X.dtype, Y.dtype)(X, Y),
    "fmod, int64": lambda: division.fmod.resolve(WHOLE.dtype, WHOLE.dtype)(DIVIDENDS, WHOLE),
    "fmod, uint64": lambda: _unsigned(division.fmod),
    "divmod, int64": lambda: division.divmod.resolve(WHOLE.dtype, WHOLE.dtype)(DIVIDENDS, WHOLE)[0],
    "gcd": lambda: division.gcd.resolve(WHOLE.dtype, WHOLE.dtype)(DIVIDENDS, WHOLE),
    "gcd, uint64": lambda: _unsigned(division.gcd),
    "lcm": lambda: division.lcm.resolve(WHOLE.dtype, WHOLE.dtype)(DIVIDENDS, WHOLE),
    "lcm, uint64": lambda: _unsigned(division.lcm),
    "sign": lambda: arithmetic.sign.resolve(X.dtype)(X),
    "heaviside": lambda: arithmetic.heaviside.resolve(X.dtype, X.dtype)(X, Y),
    "spacing": lambda: floating.spacing.resolve(X.dtype)(X),
    "any": lambda: reductions.any(X.dtype, torch.bool)(X.reshape(2, 5) * 0, (1,), True),
    "all": lambda: reductions.all(torch.uint8, torch.bool)(WHOLE.to(torch.uint8), None, False),
    "count": lambda: reductions.count(X.reshape(2, 5) > 0, (0,), True),
    "interpolate": lambda: signal.interpolate(X, KNOTS, torch.tensor([1.0, -1.0, 4.0]).double(), Y[2], Y[3]),
    "correlate": lambda: signal.correlate(WHOLE, WHOLE[3:6], 2, 1),
    "correlate, complex": lambda: signal.correlate(Z, Z[2:4], 1, 1),
    "reduceat": lambda: reductions.reduceat(np.add, torch.add, Y, torch.tensor([0, 3, 3, 7]), 0, True),
}


def _unsigned(kernel: kernel.Kernel) -> torch.Tensor:
    """Of uint64 numbers, as their bits: torch can compare those."""
    result = kernel.resolve(torch.uint64, torch.uint64)(DIVIDENDS.view(torch.uint64), WHOLE.view(torch.uint64))
    return result.view(torch.int64)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", CALLS)
def test_numpy_computes_what_torch_would(name: str) -> None:
    hosted = CALLS[name]()
    with mock.patch.object(memory, "host_computes", False):
        otherwise = CALLS[name]()
    assert hosted.dtype is otherwise.dtype and hosted.shape == otherwise.shape
    torch.testing.assert_close(hosted, otherwise, rtol=1e-15, atol=0.0, equal_nan=True)


@pytest.mark.parametrize("name", CALLS)
def test_numpy_is_asked(name: str) -> None:
    with mock.patch.object(host, "wrapped", side_effect=KeyError), pytest.raises(KeyError):
        CALLS[name]()


def test_who_computes() -> None:
    x = torch.ones(3, requires_grad=True)
    assert host.computes(torch.ones(3), torch.ones(3, dtype=torch.uint16))
    assert not host.computes(torch.ones(3), x)
    with torch.no_grad():
        assert host.computes(x)
    assert not host.computes(torch.ones(3, device="meta"))
    assert not host.computes(torch.ones(3, dtype=torch.bfloat16))
    torch.vmap(lambda row: pytest.fail("batched") if host.computes(row) else row)(torch.ones(2, 3))


def test_gradients_are_torchs() -> None:
    x = torch.tensor([8.0, 27.0], dtype=torch.float64, requires_grad=True)
    arithmetic.cbrt.resolve(x.dtype)(x).sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), [1 / 12, 1 / 27])


def test_strides_and_conjugates() -> None:
    x = torch.arange(12.0, dtype=torch.float64).reshape(3, 4).T[::2]
    np.testing.assert_array_equal(arithmetic.cbrt.resolve(x.dtype)(x).numpy(), np.cbrt(x.numpy()))
    z = torch.tensor([1 + 2j, 0j, 3 - 1j]).conj()
    np.testing.assert_array_equal(selection.nonzero(z)[0].numpy(), [0, 2])


def test_writes_are_the_same_and_are_counted() -> None:
    mask, values = X.reshape(2, 5) > 0, torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    targets = [Y.reshape(2, 5).clone(), Y.reshape(2, 5).clone()]
    for target, host_computes in zip(targets, (True, False), strict=True):
        with mock.patch.object(memory, "host_computes", host_computes):
            before = target._version
            selection.place(target[:, 1:], mask[:, 1:], values)
            assert target._version > before
            selection.copy_where(target, mask, values[0])
            selection.copy_where(target, mask, target.flip(0))
    assert torch.equal(*targets) and not torch.equal(targets[0], Y.reshape(2, 5))


def test_who_writes() -> None:
    assert host.to_write(torch.ones(3), torch.ones(3)) is not None
    assert host.to_write(torch.ones(3), torch.ones(2), most=3) is not None
    assert host.to_write(torch.ones(3), torch.ones(4), most=3) is None
    assert host.to_write(torch.ones(3, dtype=torch.complex64).conj()) is None
    assert host.to_write(torch.ones(3, requires_grad=True)) is None
    with torch.inference_mode():
        assert host.to_write(torch.ones(3)) is None
