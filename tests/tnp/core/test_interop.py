"""What NumPy, torch, the Array API, DLPack and pickle find in an array."""

from __future__ import annotations

import concurrent.futures
import copy
import operator
import pickle
import threading
from typing import Any

import array_api_compat
import numpy as np
import pytest
import torch
from numpy.lib import recfunctions

import tnp
from backend_torch.tensors import interop
from tests.oracle import ALL, Raised, agrees, compare, outcome, sample


class Deferring:
    """An operand that wants operators for itself."""

    __array_ufunc__ = None

    def __add__(self, other: Any) -> str:
        return "left"

    def __radd__(self, other: Any) -> str:
        return "right"

    __rmatmul__ = __rpow__ = __rdivmod__ = __radd__

    def __lt__(self, other: Any) -> str:
        return "less"

    def __eq__(self, other: object) -> Any:
        return "equal"

    __hash__ = None  # type: ignore[assignment]


class Quantity:
    """An array of another library, with rules of its own for ufuncs and functions."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return "quantity", ufunc.__name__

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return "quantity", func.__name__

    def __radd__(self, other: Any) -> Any:
        return "quantity", "radd"


# NumPy reads it.


@pytest.mark.parametrize("dtype", ALL)
def test_numpy_shares_the_memory(dtype: str) -> None:
    x = tnp.asarray(sample(np, (4, 6), dtype))
    for view in (x, x.T, x[::2, 1:], x[0], x[0, :0], tnp.asarray(x[0, 0])):
        values = np.asarray(view)
        assert type(values) is np.ndarray and values.dtype == view.dtype and values.shape == view.shape
        assert np.asarray(view).tobytes() == view.tobytes()
        if view.size:
            assert values.strides == view.strides
            values[...] = 1
            assert bool(tnp.all(view == 1))


@pytest.mark.host
def test_numpy_copies_on_request() -> None:
    x = tnp.ones(3)
    assert not np.shares_memory(np.array(x), np.asarray(x)) and np.shares_memory(np.array(x, copy=False), np.asarray(x))
    assert np.asarray(x, np.int8).dtype == np.int8 and x.__array__(np.float32, copy=True).dtype == np.float32
    with pytest.raises(ValueError, match="copy"):
        np.asarray(x, np.int8, copy=False)
    with pytest.raises(ValueError, match="copy"):
        x.__array__(np.int8, copy=False)
    assert np.array([x, x]).tolist() == [[1] * 3] * 2


def test_array_interface_says_what_numpys_says() -> None:
    values = np.arange(6).reshape(2, 3).T
    x = tnp.asarray(values)
    assert x.__array_interface__ == {**values.__array_interface__, "strides": values.strides}
    assert x.ctypes.data == values.ctypes.data and x.data.shape == (3, 2)


def test_gradients_stay_behind() -> None:
    x = tnp.asarray(torch.ones(2, requires_grad=True))
    assert np.asarray(x * 2).tolist() == [2, 2] and tnp.asnumpy(x).tolist() == [1, 1]


def test_values_that_are_not_there() -> None:
    meta = tnp.asarray(torch.ones(2, device="meta"))
    seen: list[BaseException] = []

    def batched(t: torch.Tensor) -> torch.Tensor:
        for read in (np.asarray, tnp.asnumpy, np.from_dlpack):
            with pytest.raises((TypeError, BufferError)) as caught:
                read(tnp.asarray(t))
            seen.append(caught.value)
        return t

    torch.vmap(batched)(torch.ones(3, 2))
    for read in (np.asarray, tnp.asnumpy, np.from_dlpack, pickle.dumps):
        with pytest.raises((TypeError, BufferError, AttributeError)) as caught:
            read(meta)
        seen.append(caught.value)
    assert len(seen) == 7 and all("batched" in str(error) for error in seen)
    assert not hasattr(meta, "__array_interface__")


@pytest.mark.host
def test_asnumpy() -> None:
    x = tnp.arange(3)
    assert np.shares_memory(tnp.asnumpy(x), np.asarray(x)) and type(tnp.asnumpy(x[0])) is np.ndarray
    values = np.array(["text"])
    assert tnp.asnumpy(values) is values and tnp.asnumpy([x[1], 2]).tolist() == [1, 2]


def test_host_copies_are_allowed_in_a_scope() -> None:
    from tnp._core import interop as _interop

    with tnp.allow_host_copies():
        assert _interop.host_copies_allowed()
        with tnp.allow_host_copies():
            pass
        assert _interop.host_copies_allowed()
        with concurrent.futures.ThreadPoolExecutor(1) as other_thread:
            assert not other_thread.submit(_interop.host_copies_allowed).result()
    assert not _interop.host_copies_allowed()
    with pytest.raises(KeyError), tnp.allow_host_copies():
        raise KeyError
    assert not _interop.host_copies_allowed()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an accelerator")
def test_an_accelerators_array_is_not_copied_unseen() -> None:
    x = tnp.ones(3, device="cuda")
    for read in (np.asarray, lambda a: a.tobytes(), lambda a: a.data, lambda a: a.ctypes):
        with pytest.raises(TypeError, match="asnumpy"):
            read(x)
        with tnp.allow_host_copies():
            read(x)
    assert tnp.asnumpy(x).tolist() == x.to_device("cpu").tolist() == [1] * 3
    assert pickle.loads(pickle.dumps(x)).device == x.device
    assert torch.from_dlpack(x).data_ptr() == tnp.from_dlpack(x.tensor).tensor.data_ptr() == x.tensor.data_ptr()
    assert tnp.asarray([x[0], 2.0]).device == tnp.asarray(x.flat).device == x.device


# NumPy's ufuncs and functions.


@pytest.mark.host
@pytest.mark.parametrize("op", [operator.add, operator.mul, operator.lt, operator.truediv, operator.eq, divmod])
@pytest.mark.parametrize(
    "other",
    [2, 2.5, True, np.float32(2), np.float64(2), np.int8(2), np.uint64(2), np.bool_(True), [1, 2, 3], (1.5, 2, 3),
     np.array([1, 2, 3]), np.array(2, np.float32), np.array([[1], [2]], np.uint8)],
    ids=repr,
)  # fmt: skip
def test_operators_with_numpy_and_python(op: Any, other: Any) -> None:
    compare(lambda xp: op(xp.asarray([1, 2, 3], np.float32), other))
    compare(lambda xp: op(other, xp.asarray([1, 2, 3], np.float32)))
    compare(lambda xp: op(other, xp.asarray([1, 2, 3], np.int16)[1]))


@pytest.mark.parametrize("sequence", [[1, 2], (1,), "ab", b"c"])
@agrees
def test_integer_scalars_repeat_sequences(xp: Any, sequence: Any) -> Any:
    s = xp.asarray([2, 3])[1]
    return sequence * s, s * sequence, [] * s


@agrees(raises=TypeError)
def test_other_scalars_do_not_repeat_sequences(xp: Any) -> Any:
    return [1, 2] * xp.ones(1)[0]


@agrees
def test_a_scalar_is_an_operand_like_others(xp: Any) -> Any:
    s = xp.asarray([2, 3])[1]
    t = s
    t *= 2
    return s, t, np.multiply(s, [1, 2]), xp.multiply([1, 2], s), s + [1, 2], s * 2, 2.5 * s, s * xp.ones(2), s * s


@pytest.mark.host
def test_in_place_operators_with_numpy() -> None:
    x, values = tnp.ones(3), np.arange(3.0)
    kept, kept_values = x, values
    x += values
    assert x is kept and x.tolist() == [1, 2, 3]
    values += x
    assert values is kept_values and values.tolist() == [1, 3, 5]
    values[::-1] += x
    assert values.tolist() == [4, 5, 6]
    x *= [1, 2, 3]
    assert x.tolist() == [1, 4, 9]
    values[:] = x
    values[0] = x[1]
    assert values.tolist() == [4, 4, 9]
    numbers = [1, 2, 3]
    numbers += x
    assert type(numbers) is tnp.ndarray


@pytest.mark.host
def test_operators_with_torch() -> None:
    x, tensor = tnp.ones(2, np.float32), torch.ones(2)
    assert type(x + tensor) is tnp.ndarray and type(tensor + x) is torch.Tensor
    tensor += x
    x += tensor
    assert tensor.tolist() == [2, 2] and x.tolist() == [3, 3]


@pytest.mark.parametrize("make", [lambda: tnp.ones(3), lambda: tnp.ones(3)[0]])
def test_operands_may_want_the_operator(make: Any) -> None:
    x = make()
    assert (x + Deferring(), Deferring() + x, x @ Deferring(), divmod(x, Deferring())) == ("right", "left") + (
        "right",
    ) * 2
    assert (x ** Deferring(), x > Deferring(), x == Deferring()) == ("right", "less", "equal")
    with pytest.raises(TypeError):
        tnp.add(x, Deferring())
    with pytest.raises(TypeError):
        np.add(x, Deferring())


def test_another_librarys_array_answers() -> None:
    x = tnp.ones(3)
    assert x + Quantity() == ("quantity", "radd")
    assert np.multiply(x, Quantity()) == np.multiply(Quantity(), x) == ("quantity", "multiply")
    assert np.concatenate([x, Quantity()]) == ("quantity", "concatenate")


@pytest.mark.host
def test_masked_arrays_keep_their_mask() -> None:
    masked = np.ma.masked_array([1.0, 2.0], [True, False])
    for result in (tnp.ones(2) + masked, masked + tnp.ones(2), np.add(tnp.ones(2), masked)):
        assert isinstance(result, np.ma.MaskedArray) and result.mask.tolist() == [True, False]


@agrees
@pytest.mark.host  # elsewhere last digits are the device's
def test_numpys_ufuncs(xp: Any) -> Any:
    x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    target = xp.zeros((2, 2))
    result = np.add(x, 1, out=target)
    assert result is target
    np.add.at(target, (0, [0, 0]), 10)
    quotient, rest = np.divmod(x, 2)
    return (
        [np.sin(x), np.add(1, x), np.hypot(x, x.T), np.add.reduce(x), np.add.reduce(x, axis=1, keepdims=True)],
        [np.multiply.accumulate(x, axis=1), np.subtract.outer(x[0], x[1]), np.add.reduceat(x, [0, 1], axis=1)],
        [target, quotient, rest, np.maximum(x, 2, where=x > 1, out=x.copy()), np.add(x, x, dtype=np.float32)],
        [np.matmul(x, x), np.sqrt(x[0, 0]), np.add.reduce(x, axis=None), np.logical_and.reduce(x, axis=0)],
    )


@pytest.mark.host
def test_numpys_ufuncs_write_to_numpys_arrays() -> None:
    x = tnp.asarray([1.0, 2.0])
    values = np.zeros(4)
    assert np.add(x, 1, out=values[:2]).tolist() == [2, 3] and values.tolist() == [2, 3, 0, 0]
    reverse = values[::-2]
    assert np.add(x, 5, out=reverse) is reverse and values.tolist() == [2, 7, 0, 6]
    swapped = np.zeros(2, ">f8")
    assert np.multiply(x, 2, out=swapped, where=[True, False]) is swapped and swapped.tolist() == [2, 0]
    first, second = np.zeros(2), tnp.zeros(2)
    results = np.divmod(x, 2, out=(first, second))
    assert results[0] is first and results[1] is second and (first.tolist(), second.tolist()) == ([0, 1], [1, 0])
    assert np.divmod(x, 2, out=(first, None))[0] is first
    np.add.at(values[::-1], [0, 0], x)
    assert values.tolist() == [2, 7, 0, 9]
    assert np.add.reduce(tnp.ones((2, 2)), axis=0, out=first) is first and first.tolist() == [2, 2]
    values.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        np.add(x, 1, out=values[:2])


@pytest.mark.host
@pytest.mark.parametrize("step", [1, -1])
def test_numpys_functions_write_to_numpys_arrays(step: int) -> None:
    def run(xp: Any) -> Any:
        x, values = xp.asarray([1.0, 2.0, 3.0]), np.zeros((4, 3))[::step]
        np.copyto(values[0], x)
        np.put(values, [3, 4], x[:2])
        np.putmask(values[2], [True, False, True], x)
        np.place(values[3], [False, True, True], x[1:])
        assert np.cumsum(x, out=values[0]).base is not None
        result = np.sum(xp.asarray([x.tolist()] * 2), axis=0, out=values[1])
        return values.tolist(), result.tolist(), type(result).__name__

    compare(run)


@pytest.mark.host
def test_ufuncs_of_others_run_on_the_host() -> None:
    special = pytest.importorskip("scipy.special")
    x = tnp.asarray([0.5, 1.0])
    assert type(special.erf(x)) is tnp.ndarray and special.erf(x).tolist() == special.erf(np.asarray(x)).tolist()
    assert float(special.erf(x[1])) == special.erf(1.0)
    assert special.erf(x, out=x) is x and x.tolist() == special.erf([0.5, 1.0]).tolist()
    with pytest.raises(TypeError, match="gradient"):
        special.erf(tnp.asarray(torch.ones(1, requires_grad=True)))


@pytest.mark.host
@agrees
def test_a_python_ufunc_gives_objects_that_no_tensor_carries(xp: Any) -> Any:
    return np.frompyfunc(lambda a: a, 1, 1)(xp.ones(2)), xp.frompyfunc(lambda a: str(a), 1, 1)(xp.ones(2))


@pytest.mark.host
def test_ufuncs_of_others_compute_on_shared_memory() -> None:
    clip = np._core.umath.clip  # numpy.clip is a function: this one is as another library's
    x = tnp.asarray([0.25, 2.0])
    found = clip(x, 0.5, 1)
    assert type(found) is tnp.ndarray and found.tolist() == [0.5, 1.0] and type(clip(x[0], 0.5, 1)) is type(x[0])
    assert clip(x, 0.5, 1, out=x) is x and x.tolist() == [0.5, 1.0]
    with pytest.raises(TypeError, match="gradient"):
        clip(tnp.asarray(torch.ones(1, requires_grad=True)), 0, 1)


def test_images() -> None:
    image = pytest.importorskip("PIL.Image")
    x = tnp.asarray(np.arange(12, dtype=np.uint8).reshape(3, 4))
    for pixels in (x, x.T):
        assert tnp.asarray(image.fromarray(pixels)).tolist() == pixels.tolist()


@pytest.mark.host
@agrees
def test_numpys_functions(xp: Any) -> Any:
    x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    return (
        [np.sum(x), np.sum(x, axis=0), np.mean(x, keepdims=True), np.concatenate([x, np.ones((1, 2))]), np.shape(x)],
        [np.where(x > 2, x, 0), np.reshape(x, 4), np.stack([x, x]), np.sort(x, axis=0), np.ndim(x), np.size(x)],
        [np.zeros_like(x), np.isclose(x, x.T), np.allclose(x, x), np.argmax(x), np.transpose(x), np.clip(x, 2, 3)],
        [np.result_type(x, 1), np.can_cast(x, "f4"), np.copy(x), np.take(x, [0, 1]), np.broadcast_to(x, (1, 2, 2))],
    )


@agrees
def test_numpys_submodules(xp: Any) -> Any:
    return np.linalg.norm(xp.asarray([3.0, 4.0]))


@pytest.mark.host  # elsewhere NumPy is given no array
def test_functions_that_tnp_has_not() -> None:
    compare(lambda xp: recfunctions.structured_to_unstructured(xp.ones(2)), raises=ValueError)
    compare(lambda xp: recfunctions.unstructured_to_structured(xp.ones((2, 2))))
    with pytest.raises(TypeError, match=r"numpy.lib.recfunctions.structured_to_unstructured.*asnumpy"):
        recfunctions.structured_to_unstructured(tnp.asarray(torch.ones(2, requires_grad=True)))  # type: ignore[arg-type]


def test_wrapping_what_numpy_computed() -> None:
    x = tnp.ones(2)
    assert type(x.__array_wrap__(np.ones(2))) is tnp.ndarray
    assert type(x.__array_wrap__(np.array(1.0), None, True)) is type(x[0])


# torch.


@pytest.mark.host
def test_torch_functions_take_arrays_and_give_tensors() -> None:
    x = tnp.asarray([[1.0, -2.0], [3.0, 4.0]])
    t = x.tensor
    assert torch.equal(torch.relu(x), torch.relu(t)) and type(torch.relu(x)) is torch.Tensor
    assert torch.equal(torch.cat([x, t]), torch.cat([t, t])) and torch.equal(torch.stack((x, x)), torch.stack((t, t)))
    assert torch.equal(torch.einsum("ij,jk", x, x), t @ t) and torch.equal(torch.add(t, x), t + t)
    assert torch.equal(torch.nn.functional.linear(x, weight=x), torch.nn.functional.linear(t, t))
    assert (
        torch.equal(torch.nn.Linear(2, 2, dtype=torch.float64)(x), torch.nn.Linear(2, 2, dtype=torch.float64)(t))
        is False
    )
    assert torch.as_tensor(x).data_ptr() == t.data_ptr() and torch.from_dlpack(x).data_ptr() == t.data_ptr()
    assert torch.allclose(x, t) and torch.max(x, dim=0).values.tolist() == [3, 4]
    target = torch.zeros(2, 2, dtype=torch.float64)
    torch.add(x, x, out=target)
    assert target.tolist() == [[2, -4], [6, 8]]


@pytest.mark.host
def test_gradients_flow_between_torch_and_arrays() -> None:
    weight = torch.ones(2, dtype=torch.float64, requires_grad=True)
    loss = torch.nn.functional.mse_loss(tnp.sin(tnp.asarray(weight)) * 2, tnp.zeros(2))
    loss.backward()
    assert weight.grad is not None and weight.grad.abs().sum() > 0


# The Array API and DLPack.


@pytest.mark.host
@pytest.mark.parametrize("operator_", [operator.add, operator.matmul, operator.eq, operator.ior, tnp.atan2])
def test_arrays_of_two_libraries_do_not_mix(operator_: Any) -> None:
    strict = pytest.importorskip("array_api_strict")
    x, other = tnp.ones(2, "int64"), strict.ones(2, dtype=strict.int64)
    with pytest.raises(TypeError, match=r"tnp\.ndarray and array_api_strict.*Array"):
        operator_(x, other)
    for mix in (
        lambda a, b: tnp.concatenate([a, b]),
        lambda a, b: tnp.stack([a, b]),
        lambda a, b: tnp.where(tnp.asarray([True, False]), a, b),
        lambda a, b: tnp.select([tnp.asarray([True, False])], [a], b),
        lambda a, b: tnp.einsum("i,i", a, b),
        lambda a, b: tnp.linalg.solve(a, b),
        tnp.dot,
        tnp.tensordot,
        tnp.searchsorted,
        tnp.isin,
        tnp.isclose,
        tnp.append,
        tnp.convolve,
    ):
        for pair in ((x, other), (other, x)):
            with pytest.raises(TypeError, match=r"tnp\.ndarray and array_api_strict.*Array"):
                mix(*pair)
    for write in (lambda: x.__setitem__(0, other), lambda: tnp.copyto(x, other), lambda: tnp.sum(x, where=other == 1)):
        with pytest.raises(TypeError, match=r"tnp\.ndarray and array_api_strict.*Array"):
            write()
    assert (x + np.ones(2)).tolist() == [2, 2] and tnp.asarray(other).tolist() == [1, 1]


def test_namespace() -> None:
    x = tnp.ones(2)
    assert x.__array_namespace__() is array_api_compat.array_namespace(x, x[0]) is tnp
    for version in ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
        assert x.__array_namespace__(api_version=version) is tnp
    for version in ("2020.1", "2021.11", "one"):
        with pytest.raises(ValueError, match=version):
            x.__array_namespace__(api_version=version)


@pytest.mark.host
def test_devices() -> None:
    x = tnp.ones(2)
    assert x.to_device("cpu") is x and x.to_device(x.device) is x and x[0].to_device("cpu").tolist() == 1
    assert type(x[0].to_device("meta")) is type(tnp.ones(1, int)[0])  # without a value it is no float to C
    for device in ("nowhere", object(), "cpu:x"):
        with pytest.raises(ValueError, match="device"):
            x.to_device(device)
    with pytest.raises(ValueError, match="stream"):
        x.to_device("cpu", stream=1)
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="not available"):
            x.to_device("cuda")


@pytest.mark.parametrize("dtype", ALL)
def test_dlpack_out(dtype: str) -> None:
    x = tnp.asarray(sample(np, (4, 6), dtype))
    for view in (x, x.T, x[::2, 1:], x[0], tnp.asarray(x[0, 0])):
        values, tensor = np.from_dlpack(view), torch.from_dlpack(view)
        assert values.dtype == view.dtype and values.tobytes() == view.tobytes() and values.strides == view.strides
        assert np.shares_memory(values, np.asarray(view)) and tensor.data_ptr() == view.tensor.data_ptr()
    assert tuple(x.__dlpack_device__()) == np.ones(1).__dlpack_device__()


@pytest.mark.host
def test_dlpack_options() -> None:
    x = tnp.arange(3)
    assert not np.shares_memory(np.from_dlpack(x, copy=True), np.asarray(x))
    assert np.shares_memory(np.from_dlpack(x, copy=False, device="cpu"), np.asarray(x))
    assert "dltensor_versioned" in repr(x.__dlpack__(max_version=(1, 0))) and '"dltensor"' in repr(x.__dlpack__())
    assert np.from_dlpack(tnp.broadcast_to(x, (2, 3))).tolist() == [[0, 1, 2]] * 2
    with pytest.raises(RuntimeError, match="stream"):
        x.__dlpack__(stream=1)


def test_dlpack_of_what_a_capsule_can_not_say() -> None:
    with pytest.raises(BufferError, match="gradient"):
        np.from_dlpack(tnp.asarray(torch.ones(1, requires_grad=True)))
    lazy = tnp.asarray(torch.tensor([1 + 2j]).conj())
    assert np.from_dlpack(lazy).tolist() == [1 - 2j]
    with pytest.raises(BufferError, match="conjugated"):
        np.from_dlpack(lazy, copy=False)
    with pytest.raises(ValueError, match="be on meta without a copy"):
        tnp.from_dlpack(np.ones(3), device="meta", copy=False)


def test_dlpack_of_what_the_exporter_computes_inside_a_trace() -> None:
    class Lazy:
        """Exports an array that torch makes when it is asked for: a tensor made in a trace has no memory."""

        def __dlpack__(self, **options: Any) -> Any:
            return torch.arange(3.0).__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return torch.zeros(1).__dlpack_device__()

    compiled = tnp.compile(lambda x: tnp.asarray(Lazy()) + tnp.from_dlpack(Lazy()) + x, backend="eager")
    assert [compiled(tnp.ones(3)).tolist() for _ in range(2)] == [[1, 3, 5]] * 2


@pytest.mark.parametrize("value", [True, False])
def test_read_only_flag_of_a_capsule(value: bool) -> None:
    values = np.arange(3)
    values.flags.writeable = not value
    assert interop.is_read_only(values.__dlpack__(max_version=(1, 0))) is value
    if not value:
        assert interop.is_read_only(values.__dlpack__()) is False


# Pickle.


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("dtype", ALL)
def test_pickle(dtype: str, protocol: int) -> None:
    x = tnp.asarray(sample(np, (2, 3), dtype))
    for each in (x, x.T, x[:0], x[0, 0], tnp.asarray(x[0, 0])):
        loaded = pickle.loads(pickle.dumps(each, protocol))
        assert type(loaded) is type(each) and loaded.dtype == each.dtype and loaded.shape == each.shape
        assert loaded.tobytes() == each.tobytes() and loaded.flags.num == each.flags.num | 4


def test_pickle_out_of_band() -> None:
    buffers: list[pickle.PickleBuffer] = []
    x = tnp.arange(1000.0)
    data = pickle.dumps(x, 5, buffer_callback=buffers.append)
    assert len(data) < 1000 and len(buffers) == 1
    assert pickle.loads(data, buffers=buffers).tolist() == x.tolist()


def test_pickle_keeps_what_surrounds_the_values() -> None:
    grad = tnp.asarray(torch.ones(2, requires_grad=True))
    assert pickle.loads(pickle.dumps(grad)).tensor.requires_grad
    twice = pickle.loads(pickle.dumps([grad, grad]))
    assert twice[0] is twice[1]
    assert pickle.loads(pickle.dumps(tnp.add)) is tnp.add


def test_a_pickle_of_an_absent_device_is_restored_on_the_cpu() -> None:
    from tnp._core import interop as _interop

    with pytest.warns(UserWarning, match="'cuda:99'"):
        x = _interop.unpickle(np.arange(3), "cuda:99", False, False)
    assert x.tolist() == [0, 1, 2] and str(x.device) == "cpu"


def test_deepcopy_of_structures() -> None:
    x = tnp.ones(2)
    first, second = copy.deepcopy([x, x])
    assert first is second and first is not x
    first[0] = 5
    assert x.tolist() == [1, 1]


def test_arrays_cross_threads() -> None:
    x = tnp.zeros(4)
    threads = [threading.Thread(target=operator.setitem, args=(x, i, i)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.tolist() == [0, 1, 2, 3]


def test_failures_agree_with_numpy() -> None:
    expected = outcome(lambda xp: np.add(xp.ones(2), xp.ones(3)), np)
    actual = outcome(lambda xp: np.add(xp.ones(2), xp.ones(3)), tnp)
    assert isinstance(expected, Raised) and isinstance(actual, Raised)
    assert (type(actual.error), str(actual.error)) == (type(expected.error), str(expected.error))


def test_dlpack_of_another_kind_of_device() -> None:
    for xp in (np, tnp):
        with pytest.raises(BufferError):
            xp.arange(3).__dlpack__(dl_device=(10, 0))


class OnCuda:
    """Another library's array on CUDA as Numba has them: no DLPack, and no values for the host."""

    def __init__(self, values: np.ndarray, read_only: bool = False, stream: int | None = None) -> None:
        self.values = values
        self.__cuda_array_interface__ = {
            **values.__array_interface__,
            "data": (values.ctypes.data, read_only),
            "version": 3,
            "stream": stream,
        }

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
        raise AssertionError("values were copied to the host")


class Streams:
    """What torch.cuda would be asked."""

    def __init__(self) -> None:
        self.asked: list[object] = []

    def as_tensor(self, source: OnCuda, device: str) -> torch.Tensor:
        assert device == "cuda"
        return torch.from_numpy(source.values)

    def synchronize(self, device: object) -> None:
        self.asked.append("synchronize")

    def current_stream(self, device: object) -> Streams:
        return self

    def ExternalStream(self, pointer: int, device: object) -> int:
        return pointer

    def wait_stream(self, stream: int) -> None:
        self.asked.append(stream)


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> Streams:
    """A machine with CUDA, as far as sharing memory goes."""
    found = Streams()
    monkeypatch.setattr(torch, "as_tensor", found.as_tensor)
    for name in ("synchronize", "current_stream", "ExternalStream"):
        monkeypatch.setattr(torch.cuda, name, getattr(found, name))
    return found


def test_cuda_memory_is_shared_and_its_stream_waited_for(streams: Streams) -> None:
    values = np.arange(6.0).reshape(2, 3)
    x = tnp.asarray(OnCuda(values))
    x[0, 1] = 50
    assert values[0, 1] == 50 and streams.asked == []
    for stream, asked in ((1, "synchronize"), (2, "synchronize"), (4711, 4711)):
        assert (tnp.asarray(OnCuda(values, stream=stream)) == x).all() and streams.asked.pop() == asked
    for copied in (tnp.array(OnCuda(values)), tnp.asarray(OnCuda(values, read_only=True)), tnp.copy(OnCuda(values))):
        copied[0, 0] = -1
        assert values[0, 0] == 0
    assert tnp.asarray(OnCuda(values), dtype=np.float32).dtype == np.float32
    assert float(tnp.sum(OnCuda(values))) == values.sum()


@pytest.mark.skipif(torch.cuda.is_available(), reason="asks what a machine without CUDA says")
def test_cuda_memory_without_cuda_is_an_error() -> None:
    with pytest.raises((RuntimeError, AssertionError, ValueError), match=r"(?i)cuda|nvidia"):
        tnp.asarray(OnCuda(np.ones(3)))
    with pytest.raises(AttributeError, match="CUDA"):
        _ = tnp.ones(3).__cuda_array_interface__
    assert not hasattr(tnp.ones(3), "__cuda_array_interface__")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_cuda_memory_goes_out_and_comes_back() -> None:
    x = tnp.arange(6.0, device="cuda")

    class Again:
        __cuda_array_interface__ = x.__cuda_array_interface__

    y = tnp.asarray(Again())
    y[0] = 7
    assert float(x[0]) == 7 and tnp.from_dlpack(x).tensor.data_ptr() == x.tensor.data_ptr()


@pytest.mark.host
def test_ufuncs_of_masked_arrays_keep_the_mask() -> None:
    """Of NumPy's masked array the values alone were taken, without a word."""
    masked = np.ma.array([1.0, 4.0, 9.0], mask=[False, True, False])
    array = tnp.asarray([1.0, 2.0, 3.0])
    plain = tnp.asnumpy(array)
    for ours, theirs in (
        (tnp.sqrt(masked), np.sqrt(masked)),
        (tnp.multiply(masked, 2), np.multiply(masked, 2)),
        (tnp.add(array, masked), np.add(plain, masked)),
        (tnp.maximum.outer(array, masked), np.maximum.outer(plain, masked)),
    ):
        assert isinstance(ours, np.ma.MaskedArray)
        assert ours.tolist() == theirs.tolist()
    same = array
    array += masked
    assert array is same
    np.testing.assert_array_equal(tnp.asnumpy(array), np.add(np.array([1.0, 2.0, 3.0]), masked, out=np.zeros(3)))


@agrees
@pytest.mark.host  # elsewhere NumPy is given no array
def test_numpys_functions_take_data_that_no_tensor_holds_beside_an_array(xp: Any) -> Any:
    x = xp.ones(2)
    joined = np.concatenate([x, np.array(["a", None], dtype=object)])
    both = np.broadcast_arrays(x, np.array([["b"]]))
    assert type(joined) is type(both[1]) is np.ndarray
    return joined.tolist(), both[1].tolist(), both[0]


def test_data_that_no_tensor_holds_has_no_gradient() -> None:
    x = tnp.asarray(torch.ones(2, requires_grad=True))
    with pytest.raises(TypeError, match="gradient"):
        np.concatenate([x, np.array(["a"], dtype=object)])
    with pytest.raises(TypeError, match="keep such data"):
        tnp.concatenate([x, np.array(["a"], dtype=object)])


MIXED: dict[str, Any] = {
    "dtypes": lambda xp, x, a: [x + a.astype(kind) for kind in ("?", "u1", "i4", "u8", "f2", "f4", "c8")],
    "orders": lambda xp, x, a: (x + np.asfortranarray(a), x * a.T.copy().T, x[::-1] + a[::-1], x[:, ::2] - a[:, ::2]),
    "broadcasting": lambda xp, x, a: (x + a[0], x[0] + a, x + a[:1], x + a[:, :1], x[:, :0] + a[:, :0]),
    "0-d": lambda xp, x, a: (x + np.array(2, "f8"), x[0, 0] + np.array(2), np.array(2) + x),
    "other memory": lambda xp, x, a: (
        x + np.broadcast_to(a[0], a.shape), x + a.astype(">f4"),
        x + np.frombuffer(bytes(97), "u1")[1:].view("f4").reshape(4, 6),
    ),
    "reflected": lambda xp, x, a: (a + x, a == x, a - 2 * x, np.add(a, x), np.maximum(x, a), a // x),
    "in place": lambda xp, x, a: (x.__iadd__(a), x.__imul__(a[0]), x.__isub__(a[:, :1])),
    "over its own memory": lambda xp, x, a: x.__iadd__(np.asarray(x)[::-1]),
    "index arrays": lambda xp, x, a: (x[np.array([[0], [2]])], x[np.array([0, 2]), np.array([1, -1])]),
    "masks": lambda xp, x, a: (x[a > 0], x[a[:, 0] > 0], x[(a[:, 0] > 0), 1], x[np.zeros(a.shape, bool)]),
    "other indices": lambda xp, x, a: (x[np.array(1)], x[np.array([1], "u1")], x[np.array([], int)], x[[2]]),
    "assignments": lambda xp, x, a: (x.__setitem__(np.array([0, 2]), 7), x.__setitem__(a > 0, 1.5), x),
}  # fmt: skip


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.host  # elsewhere NumPy's arrays are on another device
def test_numpys_arrays_beside_ours(name: str) -> None:
    """Results are as between arrays of one library, and are new memory."""

    def run(xp: Any) -> Any:
        a = sample(np, (4, 6), "f4", seed=1)
        results = MIXED[name](xp, xp.asarray(sample(np, (4, 6), "f4").copy()), a)
        a[...] = 100
        return results

    compare(run)


@pytest.mark.parametrize("index", [np.array([0, 9]), np.array([1.0]), np.array([True]), np.array(["a"])])
def test_numpys_arrays_that_are_no_indices(index: Any) -> None:
    compare(lambda xp: xp.asarray(np.arange(3.0))[index], raises=IndexError)
