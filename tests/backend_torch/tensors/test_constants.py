"""Constants: a Python scalar in a dtype is exact, made once, and never confused with its equals."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest
import torch

from backend_torch.tensors import constants
from backend_torch.tensors.constants import Constants, constant, is_constant, numbers
from backend_torch.tensors.dtypes import to_torch

DTYPES = [dtype for dtype in to_torch if dtype.kind != "V"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "value", [0, 1, 100, True, 2.5, -0.0, float("nan"), float("inf"), 1j, np.float32(2), np.int8(3)]
)
def test_values_are_numpys(dtype: np.dtype, value: object) -> None:
    try:
        with np.errstate(invalid="ignore"):
            expected = np.array(value, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        with pytest.raises(type(error)):
            constant(value, dtype)
        return
    made = constant(value, dtype)
    assert made.dtype is to_torch[dtype] and made.dim() == 0 and made.device.type == "cpu"
    assert made.numpy().tobytes() == expected.tobytes()
    number = numbers(to_torch[dtype], type(value))[value]
    assert np.array(number, dtype).tobytes() == expected.tobytes()


def test_a_constant_is_made_once() -> None:
    float64 = np.dtype(float)
    assert constant(2.5, float64) is constant(2.5, float64) and is_constant(constant(2.5, float64))
    assert not is_constant(torch.tensor(2.5))
    assert constant(1, float64) is not constant(1, np.dtype(int))


def test_equal_keys_are_not_confused() -> None:
    float64, boolean = np.dtype(float), np.dtype(bool)
    zero, negative = constant(0.0, float64), constant(-0.0, float64)
    assert math.copysign(1, zero.item()) == 1 and math.copysign(1, negative.item()) == -1
    assert constant(1, boolean).item() is True and constant(True, np.dtype(int)).item() == 1
    assert [math.copysign(1, v) for v in (constant(complex(0, -0.0), np.dtype(complex)).item().imag,)] == [-1]
    assert math.isnan(constant(math.nan, float64).item()) and math.isnan(constant(math.nan, float64).item())
    assert constant(0, float64) is constant(0, float64)  # an integer zero has no sign


@pytest.mark.parametrize(("value", "dtype"), [(300, "u1"), (-1, "u8"), (2**63, "i8"), (10**30, "i4")])
def test_integers_must_fit(value: int, dtype: str) -> None:
    with pytest.raises(OverflowError):
        constant(value, np.dtype(dtype))
    with pytest.raises(OverflowError):
        numbers(to_torch[np.dtype(dtype)], int)[value]


def test_floats_that_do_not_fit_are_infinite_without_a_warning(recwarn: pytest.WarningsRecorder) -> None:
    assert constant(1e300, np.dtype(np.float32)).item() == math.inf
    assert not recwarn.list


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "_LIMIT", 10)
    table = Constants(torch.float64)
    kept = [table[float(i)] for i in range(1, 100)]
    assert len(table) <= 10 and [t.item() for t in kept] == [float(i) for i in range(1, 100)]
    assert all(map(is_constant, kept))
    few = constants.Numbers(torch.float64)
    assert [few[float(i)] for i in range(100)] == [float(i) for i in range(100)] and len(few) <= 10


def test_constants_are_no_part_of_a_trace_or_transform() -> None:
    float64 = np.dtype(float)
    with torch._subclasses.FakeTensorMode():
        made = constant(123.25, float64)
    assert type(made) is torch.Tensor and made.item() == 123.25
    seen = []

    def look(t: torch.Tensor) -> torch.Tensor:
        seen.append(constant(321.5, float64))
        return (t * seen[0]).sum()

    torch.vmap(look)(torch.ones(2, 2, dtype=torch.float64))
    torch.func.grad(look)(torch.ones(2, dtype=torch.float64))
    assert seen[0] is seen[1] and seen[0].item() == 321.5 and not seen[0].requires_grad


def test_threads_share_the_cache() -> None:
    float64 = np.dtype(float)
    wrong: list[float] = []

    def work() -> None:
        wrong.extend(float(i) for i in range(1, 500) if constant(float(i), float64).item() != i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_constant_made_in_a_transform_outlives_it() -> None:
    float64 = np.dtype(float)

    def function(x: torch.Tensor) -> torch.Tensor:
        return (x * constant(0.6180339887, float64)).sum()

    x = torch.ones(3, dtype=torch.float64)
    for _ in range(2):  # the second finds what the first made, at levels that are gone
        assert torch.func.hessian(function)(x).tolist() == [[0.0] * 3] * 3
    assert not torch._C._functorch.is_functorch_wrapped_tensor(constant(0.6180339887, float64))
