"""Ranges and grids against NumPy: lengths, values, dtypes, axes and errors."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import tnp
from tests.oracle import ALL, agrees, compare

NUMBERS = st.integers(-20, 20) | st.floats(-20, 20, allow_nan=False).filter(lambda x: x == 0 or abs(x) > 1e-3)
STEPS = st.sampled_from([1, 2, 3, 7, -1, -2, 0.1, 0.3, 0.5, 1.7, -0.25, -1.1])


@pytest.mark.parametrize("dtype", [None, *ALL])
@pytest.mark.parametrize(
    "arguments",
    [
        (5,),
        (0,),
        (-3,),
        (2, 9),
        (2, 9, 3),
        (9, 2, -3),
        (0, 5, 0.5),
        (1.5, 4),
        (0, 300),
        (2, 70, 17),
        (1, 3),
        (5, 0, -1),
    ],
)
def test_arange_in_every_dtype(arguments, dtype):
    compare(lambda xp: xp.arange(*arguments, dtype=dtype), may_raise=TypeError)


@given(NUMBERS, NUMBERS, STEPS, st.sampled_from([None, "float32", "float16", "int16", "uint64", "complex64"]))
def test_arange_has_numpys_bits(start, stop, step, dtype):
    compare(lambda xp: xp.arange(start, stop, step, dtype=dtype))


@pytest.mark.parametrize("scalar", ["float32", "float16", "int8", "uint64", "complex64", "bool"])
@agrees
def test_arange_promotes_scalars(xp, scalar):
    return xp.arange(getattr(np, scalar)(1), 3), xp.arange(xp.asarray(1, dtype=scalar), 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda xp: xp.arange(stop=3),
        lambda xp: xp.arange(1, stop=3),
        lambda xp: xp.arange(start=1, stop=7, step=2),
        lambda xp: xp.arange(3, step=2),
        lambda xp: xp.arange(3, None),
        lambda xp: xp.arange(1, 3, None),
        lambda xp: xp.arange(1, 10, 3, "f4"),
        lambda xp: xp.arange(2**62, 2**62 + 5),
        lambda xp: xp.arange(-(2**63), -(2**63) + 3),
        lambda xp: xp.arange(2**63, 2**63 + 5, dtype="uint64"),
        lambda xp: xp.arange(0, 10, np.inf),
        lambda xp: xp.arange(3j),
        lambda xp: xp.arange(0, 2 + 2j, 0.5 + 0.5j),
        lambda xp: xp.arange(70000, dtype=np.float16)[-3:],
    ],
)
def test_arange_calls(call):
    compare(call)


@pytest.mark.parametrize(
    "call",
    [
        lambda xp: xp.arange(),
        lambda xp: xp.arange(0, 3, 0),
        lambda xp: xp.arange(0.0, 3.0, 0.0),
        lambda xp: xp.arange(0, np.nan),
        lambda xp: xp.arange(0, np.inf),
        lambda xp: xp.arange(3, dtype=bool),
        lambda xp: xp.arange(300, 400, dtype=np.int8),
        lambda xp: xp.arange(0, -5, -1, dtype="u1"),
        lambda xp: xp.arange("a"),
        lambda xp: xp.arange("2020", "2021"),
        lambda xp: xp.arange([3]),
        lambda xp: xp.arange(None),
        lambda xp: xp.arange(3, dtype="S1"),
    ],
)
@agrees(raises=Exception)
def test_arange_refuses(xp, call):
    return call(xp)


@given(NUMBERS, NUMBERS, st.integers(0, 20), st.booleans())
@pytest.mark.host  # elsewhere last digits are the device's
def test_linspace_has_numpys_bits(start, stop, num, endpoint):
    compare(lambda xp: xp.linspace(start, stop, num, endpoint, True))


@pytest.mark.parametrize("dtype", ALL)
@agrees
def test_linspace_in_every_dtype(xp, dtype):
    return xp.linspace(0.3, 10, 7, dtype=dtype), xp.linspace(xp.asarray(1, dtype=dtype), xp.asarray(4, dtype=dtype), 5)


@agrees
def test_linspace_rounds_integers_down(xp):
    return xp.linspace(-10, 10, 7, dtype=int), xp.linspace(-0.5, 5, 4, dtype="int8")


@agrees
@pytest.mark.parametrize("endpoint", [99, 0.0, None, [], [0], "no"])
@pytest.mark.parametrize("name", ["linspace", "logspace", "geomspace"])
def test_an_endpoint_is_a_truth(xp, name, endpoint):
    return [getattr(xp, name)(0.5, 7, num, endpoint=endpoint).shape for num in (0, 1, 2, 3, 50)]


@agrees(raises=TypeError)
@pytest.mark.parametrize("num", [0, 1, 5])
def test_linspace_has_no_integers_below_complex_numbers(xp, num):
    return xp.linspace(1j, 7, num, dtype="uint32")


@pytest.mark.parametrize("ends", [([0, 1], [2, 3]), (0, [1.0, 2.0]), ([[1], [2]], [3, 4, 5]), (1j, [2, 3]), (3, 3)])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace_of_arrays(ends, axis, endpoint):
    compare(
        lambda xp: xp.linspace(*[xp.asarray(end) for end in ends], 4, endpoint, True, axis=axis),
        may_raise=np.exceptions.AxisError,
    )


@pytest.mark.parametrize(
    "ends", [(0, np.float32(1)), (0.0, np.float16(1)), (np.int8(0), np.int8(100)), (True, 3), (0, 5e-324)]
)
def test_linspace_promotes(ends):
    compare(lambda xp: xp.linspace(*ends, 5))


@pytest.mark.parametrize("arguments", [(0, 1, -1), (0, 1, 2.5), ([1, 2], [1, 2, 3], 3), (0, 1, "a")])
@agrees(raises=Exception)
def test_linspace_refuses(xp, arguments):
    return xp.linspace(*arguments)


@pytest.mark.parametrize("arguments", [(0, 3, 4), (0, 3, 4, False), ([0, 1], 3, 4), (np.float32(0), np.float32(1), 3)])
@pytest.mark.parametrize("base", [10.0, 2, 2.5, np.float32(3), [2, 3]])
@pytest.mark.parametrize("dtype", [None, "float32", "complex64"])
@agrees(rtol=1e-6)
def test_logspace(xp, dtype, base, arguments):
    return xp.logspace(*arguments, base=base, dtype=dtype, axis=-1)


@pytest.mark.parametrize("ends", [(1, 1000), (-1000, -1), (1j, 1000j), (-1 + 0j, 1), ([1, 2], [10, 20]), (3.0, 3.0)])
@pytest.mark.parametrize("num", [0, 1, 4])
@pytest.mark.parametrize("dtype", [None, "float32", "complex128"])
@agrees(rtol=1e-6, atol=1e-12)
def test_geomspace(xp, dtype, num, ends):
    return xp.geomspace(*ends, num, dtype=dtype, axis=-1), xp.geomspace(*ends, num, endpoint=False)


@pytest.mark.parametrize("arguments", [(0, 1, 3), (1, 0, 3), (1, 2, -1), ([1, 0], 3)])
@agrees(raises=ValueError)
def test_geomspace_refuses(xp, arguments):
    return xp.geomspace(*arguments)


@pytest.mark.parametrize(
    "vectors", [([1, 2], [3, 4, 5]), ([1, 2], [3.5], [True, False]), ([1, 2],), (), (3, [1, 2]), ([], [1])]
)
@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("copy", [True, False])
@agrees
def test_meshgrid(xp, copy, sparse, indexing, vectors):
    return tuple(xp.meshgrid(*vectors, copy=copy, sparse=sparse, indexing=indexing))


def test_meshgrid_without_copy_sees_the_vectors():
    x = tnp.arange(3)
    xx, _ = tnp.meshgrid(x, [1, 2], copy=False)
    x[0] = 7
    assert xx[1, 0] == 7
    with pytest.raises(ValueError, match="indexing"):
        tnp.meshgrid([1], [2], indexing="other")


@pytest.mark.parametrize("dtype", [float, int, "uint16", "complex64"])
@agrees
def test_fromfunction(xp, dtype):
    return (
        xp.fromfunction(lambda i, j: i + 2 * j, (2, 3), dtype=dtype),
        xp.fromfunction(lambda i, k: i * k, (3,), dtype=dtype, k=2),
        xp.fromfunction(lambda: 3, ()),
        xp.fromfunction(lambda i, j: i, (0, 2)),
    )


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("columns", [None, 0, 1, 4])
@pytest.mark.parametrize("increasing", [True, False])
@agrees
def test_vander(xp, increasing, columns, dtype):
    return xp.vander(xp.asarray([1, 0, 1], dtype=dtype), columns, increasing)


@pytest.mark.parametrize("arguments", [([[1]],), ([1, 2], -1), (3,), ([1], 1.5)])
@agrees(raises=Exception)
def test_vander_refuses(xp, arguments):
    return xp.vander(*arguments)


def test_ranges_batch_and_differentiate(device):
    stop = torch.tensor([1.0, 2.0], dtype=torch.float64, device=device)

    def samples(end: torch.Tensor) -> torch.Tensor:
        return tnp.linspace(0, end, 4).tensor + tnp.geomspace(1, end + 1, 4).tensor

    expected = np.stack([np.linspace(0, end, 4) + np.geomspace(1, end + 1, 4) for end in stop.tolist()])
    np.testing.assert_allclose(torch.vmap(samples)(stop).cpu().numpy(), expected)
    assert torch.autograd.gradcheck(samples, (stop[0].clone().requires_grad_(),))


@pytest.mark.parametrize("increasing", [False, True])
def test_vander_has_a_gradient(increasing):
    x = torch.tensor([1.0, 0.0, 2.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: tnp.vander(tnp.asarray(x), 3, increasing).tensor, x)


@pytest.mark.parametrize("options", [
    {"start": 4}, {"stop": 4}, {"start": 1, "stop": 4}, {"start": 1, "stop": 4, "step": 2}, {}, {"step": 3},
])  # fmt: skip
def test_arange_by_name(options: dict[str, int]) -> None:
    compare(lambda xp: xp.arange(**options), may_raise=TypeError)


def test_arange_takes_one_start() -> None:
    for xp in (np, tnp):
        with pytest.raises(TypeError):
            xp.arange(1, start=1, stop=3)


@pytest.mark.parametrize("dtype", ["S3", "U", "5i"])
def test_arange_of_no_numbers(dtype: str) -> None:
    for xp in (np, tnp):
        with pytest.raises(TypeError, match=r"arange\(\) not supported for inputs .*DType"):
            xp.arange(2, dtype=np.dtype(dtype))


@agrees(raises=ValueError)
def test_arange_beyond_all_memory(xp: object) -> object:
    return xp.arange(2**64)


@pytest.mark.parametrize("stop", [-1e30, -(2.0**63), -np.inf, 1e30, np.inf])
def test_a_length_that_no_integer_holds(stop: float) -> None:
    compare(lambda xp: xp.arange(0.0, stop), may_raise=ValueError)


@agrees(raises=ValueError)
@pytest.mark.parametrize("ends", [(-1, "uint32"), ("uint32", -1), (300, "int8"), (-1, 2, "uint8")])
def test_an_end_beyond_the_dtype_of_the_other(xp, ends):
    return xp.arange(*[xp.asarray(5, end) if isinstance(end, str) else end for end in ends])
