"""Reading and writing through a `Plan`: the order of repeated writes, bounds, and the transforms of torch."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from backend_torch.kernels import indexing
from backend_torch.kernels.indexing import Plan
from backend_torch.tensors.dtypes import to_torch

EVERY = slice(None)
DTYPES = [dtype for dtype in to_torch.values() if dtype is not torch.bfloat16]
ROWS = Plan((), (), (torch.tensor([2, 0, -1, 2]),), (0,))
COLUMNS = Plan((EVERY, EVERY), (), (torch.tensor([2, 0, -1, 2]),), (1,), 1)
POINTS = Plan((EVERY, EVERY), (), (torch.tensor([[0], [1]]), torch.tensor([2, 0, 2])), (0, 1))
MASK = Plan((EVERY, EVERY), (), (torch.tensor([True, False, True, False]),), (0,))
REVERSED = Plan((slice(0, 4), slice(0, 3)), (1,), (torch.tensor([3, 1]),), (0,))
INDICES = {"rows": ROWS, "columns": COLUMNS, "points": POINTS, "mask": MASK, "reversed": REVERSED}
KEYS: dict[str, Any] = {
    "rows": np.s_[[2, 0, -1, 2]],
    "columns": np.s_[:, [2, 0, -1, 2]],
    "points": np.s_[[[0], [1]], [2, 0, 2]],
    "mask": np.s_[[True, False, True, False]],
    "reversed": np.s_[[3, 1], ::-1],
}


def numbers(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    return torch.arange(int(np.prod(shape))).reshape(shape).to(dtype)


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_get_and_put(name: str, dtype: torch.dtype) -> None:
    tensor, key, index = numbers(dtype, 4, 3), KEYS[name], INDICES[name]
    expected = tensor.numpy().copy()
    np.testing.assert_array_equal(indexing.get(tensor, index).numpy(), expected[key])
    assert indexing.shape(tensor, index) == expected[key].shape
    for value in (numbers(dtype, *expected[key].shape), numbers(dtype, 1, *expected[key].shape[-1:]), numbers(dtype)):
        indexing.put(tensor, index, value)
        expected[key] = value.numpy()
        np.testing.assert_array_equal(tensor.numpy(), expected)


@pytest.fixture
def several_threads() -> Iterator[None]:
    """One thread alone writes in order. mutmut forks, and OpenMP's threads are not there in a forked process."""
    before = torch.get_num_threads()
    torch.set_num_threads(before if "MUTANT_UNDER_TEST" in os.environ else 4)
    yield
    torch.set_num_threads(before)


WRITES = [(count, trailing) for count in (3, 2047, 2048, 5000, 200_000) for trailing in ((), (2,))]


@pytest.mark.usefixtures("computed_by", "several_threads")
@pytest.mark.parametrize(("count", "trailing"), [*WRITES, (2, (100_000,))])
def test_last_of_repeated_writes_stays(count: int, trailing: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(count)
    array = torch.randint(-100, 100, (count,), generator=generator)
    array[-1] = array[0]
    value = numbers(torch.float64, count, *trailing)
    tensor, expected = torch.zeros(100, *trailing, dtype=torch.float64), np.zeros((100, *trailing))
    indexing.put(tensor, Plan((), (), (array,), (0,)), value)
    for place, row in zip(array.tolist(), value.numpy(), strict=True):
        expected[place] = row
    np.testing.assert_array_equal(tensor.numpy(), expected)


@pytest.mark.parametrize("count", [3, 64, 65, 2047, 2048, 3000])
@pytest.mark.parametrize("by", [torch.autograd.grad, torch.func.grad], ids=["autograd", "torch.func"])
def test_last_of_repeated_writes_has_the_gradient(count: int, by: Any) -> None:
    generator = torch.Generator().manual_seed(count)
    rows, columns = torch.randint(-9, 9, (count,), generator=generator), torch.randint(0, 7, (count,))
    index = Plan((), (), (rows, columns), (0, 1))
    weights = torch.arange(1.0, 64.0, dtype=torch.float64).reshape(9, 7)

    def written(value: torch.Tensor) -> torch.Tensor:
        tensor = torch.zeros(9, 7, dtype=torch.float64)
        indexing.put(tensor, index, value)
        return tensor

    value = torch.arange(1.0, count + 1.0, dtype=torch.float64)
    expected, last = np.zeros((9, 7)), {}
    for place, pair in enumerate(zip((rows % 9).tolist(), columns.tolist(), strict=True)):
        expected[pair], last[pair] = place + 1, place
    gradient = np.zeros(count)
    for pair, place in last.items():
        gradient[place] = weights[pair]
    if by is torch.func.grad:
        found, wanted = by(lambda v: (written(v) * weights).sum())(value), written(value)
    else:
        wanted = written(value.requires_grad_())
        (found,) = by((wanted * weights).sum(), value)
    np.testing.assert_array_equal(wanted.detach().numpy(), expected)
    np.testing.assert_array_equal(found.numpy(), gradient)


@pytest.mark.usefixtures("computed_by", "several_threads")
@pytest.mark.parametrize("rows", [(50_000,), (1,), (250, 200), (250, 1)])
@pytest.mark.parametrize("varies", [True, False])
def test_last_of_repeated_writes_stays_in_inner_dimensions(rows: tuple[int, ...], varies: bool) -> None:
    generator, shape = torch.Generator().manual_seed(0), (250, 200) if len(rows) == 2 else (50_000,)
    arrays = torch.randint(-7, 7, rows, generator=generator), torch.randint(-5, 5, shape, generator=generator)
    tensor = torch.zeros(3, 7, 5, dtype=torch.float64)
    expected = tensor.numpy().copy()
    value = numbers(torch.float64, 3, *shape) if varies else numbers(torch.float64, 3, *[1] * len(shape))
    indexing.put(tensor, Plan((EVERY,) * 3, (), arrays, (1, 2), 1), value)
    expected[:, arrays[0].numpy(), arrays[1].numpy()] = value.numpy()
    np.testing.assert_array_equal(tensor.numpy(), expected)


@pytest.mark.parametrize("by", [torch.autograd.grad, torch.func.grad], ids=["autograd", "torch.func"])
@pytest.mark.parametrize("rows", [(20,), (1,), (5, 4), (5, 1)])
def test_last_of_repeated_writes_has_the_gradient_in_inner_dimensions(rows: tuple[int, ...], by: Any) -> None:
    generator, shape = torch.Generator().manual_seed(0), (5, 4) if len(rows) == 2 else (20,)
    arrays = torch.randint(-2, 2, rows, generator=generator), torch.randint(-3, 3, shape, generator=generator)
    weights = numbers(torch.float64, 2, 2, 3) + 1

    def weighed(value: torch.Tensor) -> torch.Tensor:
        tensor = torch.zeros(2, 2, 3, dtype=torch.float64)
        indexing.put(tensor, Plan((EVERY,) * 3, (), arrays, (1, 2), 1), value)
        return (tensor * weights).sum()

    value = numbers(torch.float64, 2, *shape).requires_grad_(by is torch.autograd.grad)
    found = by(weighed)(value) if by is torch.func.grad else by(weighed(value), value)[0]
    places = [place.ravel().tolist() for place in np.broadcast_arrays(arrays[0].numpy() % 2, arrays[1].numpy() % 3)]
    last = {place: number for number, place in enumerate(zip(*places, strict=True))}
    expected = torch.zeros(2, 20, dtype=torch.float64)
    for (row, column), number in last.items():
        expected[:, number] = weights[:, row, column]
    assert found.equal(expected.reshape(2, *shape))


@pytest.mark.parametrize("rows", [[2, 2], [2, 0, -1, 2], [3], [[1], [-3]]], ids=repr)
@pytest.mark.parametrize("by", [torch.autograd.grad, torch.func.grad], ids=["autograd", "torch.func"])
def test_a_number_has_the_gradient_of_each_place_once(rows: Any, by: Any) -> None:
    index, weights = Plan((), (), (torch.tensor(rows),), (0,)), torch.tensor([1.0, 2.0, 4.0, 8.0])

    def weighed(value: torch.Tensor) -> torch.Tensor:
        tensor = torch.zeros(4)
        indexing.put(tensor, index, value)
        return (tensor * weights).sum()

    value = torch.tensor(3.0, requires_grad=by is torch.autograd.grad)
    found = by(weighed)(value) if by is torch.func.grad else by(weighed(value), value)[0]
    assert found.item() == sum(weights[place].item() for place in {row % 4 for row in np.ravel(rows).tolist()})


OUTSIDE = [([0, 3], None), ([0, 4], 4), ([-5, 4], -5), ([-4, 4], 4), ([-4], None), ([], None)]


@pytest.mark.parametrize(("values", "bad"), OUTSIDE)
def test_out_of_bounds(values: list[int], bad: int | None) -> None:
    array = torch.tensor(values, dtype=torch.int64)
    assert indexing.outside(array, -4, 4) == bad
    index = Plan((EVERY, EVERY), (), (torch.zeros_like(array), array), (1, 0))
    assert indexing.out_of_bounds(torch.zeros(4, 3), index) == (None if bad is None else (1, bad))


def test_what_does_not_broadcast_is_not_written() -> None:
    tensor = torch.zeros(4, 3)
    for index in INDICES.values():
        with pytest.raises(RuntimeError):
            indexing.put(tensor, index, torch.ones(5))
    with pytest.raises(RuntimeError):
        indexing.put(tensor, Plan((slice(0, 2),)), torch.ones(2))
    assert not tensor.any()


@pytest.mark.parametrize("step", [1, 2])
def test_overlap(step: int) -> None:
    tensor = torch.arange(12)[::step]
    expected = torch.cat([tensor[:1], tensor[:-1]])
    indexing.assign(tensor[1:], tensor[:-1])
    assert tensor.equal(expected)


def test_nothing_is_written_over_itself() -> None:
    tensor = torch.zeros(3)
    version = tensor._version
    indexing.assign(tensor[1:], tensor[1:])
    assert tensor._version == version


def written(index: Plan) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    def write(tensor: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        tensor = tensor.clone()
        indexing.put(tensor, index, value)
        return tensor

    return write


@pytest.mark.parametrize("name", INDICES)
def test_transforms(name: str) -> None:
    index = INDICES[name]
    batch = torch.randn(3, 4, 3, dtype=torch.float64)
    values = torch.randn(3, *indexing.shape(batch[0], index), dtype=torch.float64)
    write = written(index)
    if name != "mask":  # how many elements it reads is not known to vmap
        read = torch.vmap(lambda tensor: indexing.get(tensor, index))(batch)
        assert read.equal(torch.stack([indexing.get(tensor, index) for tensor in batch]))
        assert torch.vmap(write)(batch, values).equal(torch.stack([*map(write, batch, values)]))
    assert torch.vmap(write)(batch, values[:, 0, 0]).equal(torch.stack([*map(write, batch, values[:, 0, 0])]))
    inputs = (batch[0].requires_grad_(), values[0].requires_grad_())
    torch.autograd.gradcheck(lambda tensor: indexing.get(tensor, index), inputs[:1])
    torch.autograd.gradcheck(write, inputs)
    inputs[1].grad = None
    weights = torch.randn(4, 3, dtype=torch.float64)
    (write(*inputs) * weights).sum().backward()
    functional = torch.func.grad(lambda value: (write(batch[0], value) * weights).sum())(values[0].detach())
    torch.testing.assert_close(functional, inputs[1].grad)


@pytest.mark.parametrize("name", INDICES)
def test_fake_tensors(name: str) -> None:
    index = INDICES[name]
    with FakeTensorMode() as mode:
        fake = Plan(*index[:2], tuple([mode.from_tensor(array) for array in index.arrays]), *index[3:])
        tensor = torch.zeros(4, 3)
        indexing.put(tensor, fake, torch.zeros(()))
        assert indexing.out_of_bounds(tensor, fake) is None
        if name != "mask":
            assert indexing.get(tensor, fake).shape == indexing.shape(tensor, fake)
            indexing.put(tensor, fake, torch.zeros(indexing.shape(tensor, fake)))


def test_masked_values_are_counted_unless_traced() -> None:
    index = Plan((), (), (torch.tensor([True, False, True]),), (0,))
    with pytest.raises(RuntimeError, match="another number"):
        indexing.put(torch.zeros(3), index, torch.ones(3))
    batched = torch.vmap(written(index))(torch.zeros(2, 3), torch.ones(2, 2))
    assert batched.tolist() == [[1, 0, 1]] * 2


def test_masks_of_a_batch_are_counted() -> None:
    def write(mask: torch.Tensor) -> torch.Tensor:
        tensor = mask.new_zeros(3, dtype=torch.float64)
        indexing.put(tensor, Plan((), (), (mask,), (0,)), torch.tensor([1.0, 2.0], dtype=torch.float64))
        return tensor

    masks = torch.tensor([[True, False, True], [False, True, True]])
    assert torch.vmap(write)(masks).tolist() == [[1, 0, 2], [0, 1, 2]]
    for bad in ([True, True, True], [True, False, False]):
        with pytest.raises(ValueError, match="the mask has another number of true elements"):
            torch.vmap(write)(torch.cat([masks, torch.tensor([bad])]))
