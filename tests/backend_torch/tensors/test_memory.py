"""Memory: what is shared with NumPy, what overlaps what, orders, views under other dtypes, the allocator's settings."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from backend_torch.tensors import devices, interop, memory
from backend_torch.tensors.dtypes import to_numpy, to_torch

DTYPES = [dtype for dtype in to_torch if dtype.kind != "V"]


@st.composite
def layouts(draw: st.DrawFn) -> np.ndarray:
    """An array of any layout that NumPy has: sliced, transposed, reversed, broadcast."""
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    values = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
    values = values.transpose(draw(st.permutations(range(values.ndim))))
    values = values[(..., *[draw(st.slices(length)) for length in values.shape])]
    if draw(st.booleans()):
        values = np.broadcast_to(values, (2, *values.shape))
    return values


@given(layouts())
def test_numpy_to_torch_and_back(values: np.ndarray) -> None:
    tensor = memory.from_numpy(values)
    assert np.array_equal(memory.to_numpy(tensor), values)
    describable = all(stride >= 0 for stride in values.strides) and values.flags.writeable
    assert memory.shares(tensor, values) == (describable or not values.size)
    assert np.array_equal(memory.to_numpy(memory.real(tensor)), values.real)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_goes_both_ways(dtype: np.dtype) -> None:
    values = np.ones((2, 3), dtype)
    tensor = memory.from_numpy(values)
    assert tensor.dtype is to_torch[dtype] and to_numpy[tensor.dtype] == dtype
    back = memory.to_numpy(tensor)
    assert back.dtype == dtype and np.shares_memory(back, values)
    swapped = memory.from_numpy(values.astype(dtype.newbyteorder()))
    assert swapped.dtype is tensor.dtype and torch.equal(swapped, tensor)


def test_copies_of_what_torch_can_not_describe_keep_their_order() -> None:
    values = np.asfortranarray(np.arange(6.0).reshape(2, 3))[::-1]
    assert memory.from_numpy(values).stride() == (1, 2)


def test_values_alone_where_a_gradient_is_recorded() -> None:
    tensor = torch.ones(2, requires_grad=True)
    values = memory.to_numpy(tensor * 2)
    assert values.tolist() == [2, 2] and memory.shares(tensor, memory.to_numpy(tensor))
    assert memory.to_numpy(torch.tensor([1 + 2j]).conj()).tolist() == [1 - 2j]


def test_readable() -> None:
    assert memory.is_readable(torch.ones(2)) and memory.is_readable(torch.nn.Parameter(torch.ones(2)))
    assert not memory.is_readable(torch.ones(2, device="meta"))
    seen = []

    def look(t: torch.Tensor) -> torch.Tensor:
        seen.append(memory.is_readable(t))
        return t.sum()

    torch.vmap(look)(torch.ones(2, 2))
    torch.func.grad(look)(torch.ones(2))
    assert seen == [False, False]
    with torch._subclasses.FakeTensorMode():
        assert not memory.is_readable(torch.ones(2))


@given(st.data())
def test_overlap_is_never_missed(data: st.DataObject) -> None:
    base = np.arange(24).reshape(2, 3, 4)

    def draw() -> np.ndarray:
        view = base.transpose(data.draw(st.permutations(range(3))))
        return view[
            tuple(slice(*sorted((data.draw(st.integers(0, n)), data.draw(st.integers(0, n))))) for n in view.shape)
        ]

    one, other = draw(), draw()
    tensors = memory.from_numpy(one), memory.from_numpy(other)
    may = memory.may_overlap(*tensors)
    assert may or not np.shares_memory(one, other)
    assert may == np.may_share_memory(one, other)
    if one.size:
        start, end = memory.extent(tensors[0])
        assert (start, end) == np.lib.array_utils.byte_bounds(one)


def test_overlap_of_what_has_no_address() -> None:
    meta = torch.ones(2, device="meta")
    assert not memory.may_overlap(meta, torch.ones(2)) and memory.may_overlap(meta, meta)
    assert memory.same_start(meta, meta) and not memory.same_start(meta, meta.clone())
    assert not memory.same_start(meta, torch.ones(2))


@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 3), (2, 1, 3)])
def test_writeable(shape: tuple[int, ...]) -> None:
    tensor = torch.zeros(shape)
    assert memory.is_writeable(tensor)
    assert not memory.is_writeable(tensor.expand(2, *shape)) or not tensor.numel()
    assert memory.is_writeable(tensor.expand(1, *shape))


@given(layouts(), st.sampled_from("CFAK"))
def test_orders_are_numpys(values: np.ndarray, order: str) -> None:
    values = np.array(values, order="K")
    view = values[::2] if values.ndim else values
    tensor, expected = memory.copied(memory.from_numpy(view), order), view.copy(order)
    long = [i for i, n in enumerate(view.shape) if n > 1] if view.size else []
    assert np.array_equal(memory.to_numpy(tensor), expected)
    assert [tensor.stride(i) * 4 for i in long] == [expected.strides[i] for i in long]
    assert not view.size or tensor.data_ptr() != view.__array_interface__["data"][0]
    if order in "CF":
        ordered = memory.in_order(memory.from_numpy(view), order)
        assert [ordered.stride(i) * 4 for i in long] == [expected.strides[i] for i in long]
        assert memory.shares(ordered, view) == (view.flags[f"{order}_CONTIGUOUS"] or not view.size)
    assert memory.is_fortran(memory.from_numpy(view)) == view.flags.fnc


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_parts_of_complex_numbers(dtype: torch.dtype) -> None:
    tensor = torch.tensor([[1 + 2j, 3 - 4j]], dtype=dtype)
    memory.real(tensor)[0, 0] = 9
    memory.imag(tensor)[0, 1] = 8
    assert tensor.tolist() == [[9 + 2j, 3 + 8j]]
    assert memory.imag(tensor.conj()).tolist() == [[-2, -8]] and memory.real(tensor.T.conj()).tolist() == [[9], [3]]
    assert memory.imag(torch.ones(2)).tolist() == [0, 0]


def test_bytes_under_another_dtype() -> None:
    tensor = torch.arange(4, dtype=torch.int32)
    assert memory.viewed(tensor, torch.int64).tolist() == np.arange(4, dtype="i4").view("i8").tolist()
    assert memory.viewed(tensor[::4][:, None], torch.int8).shape == (1, 4)
    assert memory.viewed(torch.tensor([1 + 2j]).conj(), torch.float32).tolist() == [1, -2]
    memory.viewed(tensor, torch.int8)[0] = 7
    assert tensor[0] == 7


@pytest.mark.parametrize(("given", "seen"), [(torch.float32, torch.complex64), (torch.complex128, torch.float64)])
def test_gradients_through_pairs_of_real_numbers(given: torch.dtype, seen: torch.dtype) -> None:
    tensor = torch.ones(3, 4, dtype=given, requires_grad=True)
    memory.viewed(tensor, seen).abs().sum().backward()
    assert tensor.grad is not None and tensor.grad.dtype is given and bool((tensor.grad.abs() > 0.5).all())
    detached = tensor.detach()
    assert memory.viewed(detached, seen).data_ptr() == detached.data_ptr()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_swapped_bytes(dtype: np.dtype) -> None:
    values = np.arange(6).reshape(2, 3).astype(dtype).T
    assert memory.to_numpy(memory.byteswapped(memory.from_numpy(values))).tobytes() == values.byteswap().tobytes()


def test_same_values() -> None:
    one = torch.tensor([1.0, float("nan")])
    assert memory.same_values(one, one.clone()) and not memory.same_values(one, torch.ones(2))


def test_resized_keeps_what_others_may_read() -> None:
    tensor = torch.arange(4)
    address, result = tensor.data_ptr(), memory.resized(tensor, (2, 3))
    assert result.tolist() == [[0, 1, 2], [3, 0, 0]] and memory.resized(result, (2,)).tolist() == [0, 1]
    del tensor
    assert result.former.data_ptr() == address


def test_host() -> None:
    tensor = torch.ones(2)
    assert memory.to_host(tensor) is tensor
    assert memory.fresh(tensor) is tensor


def test_moves_and_devices() -> None:
    tensor = torch.ones(2)
    assert interop.moved(tensor, None) is tensor and interop.moved(tensor, torch.device("cpu")) is tensor
    assert devices.is_present(torch.device("cpu"))
    if not torch.cuda.is_available():
        assert not devices.is_present(torch.device("cuda"))
    with pytest.raises(RuntimeError, match="meta"):
        interop.moved(tensor.to("meta"), torch.device("cpu"))


@pytest.mark.parametrize(
    ("setting", "told"), [({}, "5000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, None)]
)
def test_threads_are_told_before_torch_starts(setting: dict[str, str], told: str | None) -> None:
    """And programs that this one starts are told nothing more than it was."""
    program = "import sys, os; import backend_torch.tensors.memory; print(os.environ.get('GOMP_SPINCOUNT'))"
    clean = {k: v for k, v in os.environ.items() if k not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    environment = clean | setting | {"OMP_DISPLAY_ENV": "verbose"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(setting.get("GOMP_SPINCOUNT"))
    if told and "GOMP_SPINCOUNT" in done.stderr:  # another OpenMP than GNU's does not say
        assert f"GOMP_SPINCOUNT = '{told}'" in done.stderr


@pytest.mark.parametrize(("setting", "expected"), [({}, "1"), ({"TNP_ALLOCATOR": "system"}, "None"),
                                                   ({"THP_MEM_ALLOC_ENABLE": "0"}, "0")])  # fmt: skip
def test_allocator_is_told_before_torch_starts(setting: dict[str, str], expected: str) -> None:
    program = "import sys, os; import backend_torch.tensors.memory; print(os.environ.get('THP_MEM_ALLOC_ENABLE'))"
    clean = {k: v for k, v in os.environ.items() if k not in ("THP_MEM_ALLOC_ENABLE", "TNP_ALLOCATOR")}
    done = subprocess.run(
        [sys.executable, "-c", program], env=clean | setting, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == expected
