"""``GradientTape``: gradients of what a program did, writes included, and arrays that are as they were afterwards."""

from __future__ import annotations

import gc
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import tnp as np
from backend_torch.autodiff import autodiff
from tests.oracle import placed


def vector() -> Any:
    return np.asarray([1.0, 2.0, 3.0])


def close(actual: Any, expected: Any) -> None:
    assert type(actual) in (np.ndarray, type(actual[()])), type(actual)
    numpy.testing.assert_allclose(np.asnumpy(actual), np.asnumpy(np.asarray(expected)), rtol=1e-6, atol=1e-9)


def differences(function: Callable[[Any], Any], x: Any, step: float = 1e-6) -> Any:
    """The gradient of the sum of what ``function`` returns, by central differences."""
    values = np.asnumpy(x).copy()
    found = numpy.zeros_like(values)
    for index in numpy.ndindex(values.shape):
        both = []
        for sign in (1, -1):
            moved = values.copy()
            moved[index] += sign * step
            both.append(float(np.sum(function(placed(np, moved)))))
        found[index] = (both[0] - both[1]) / (2 * step)
    return found


def taped(function: Callable[[Any], Any], x: Any, **options: Any) -> Any:
    with np.GradientTape(**options) as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x)


# Programs that write.


def setitem(x: Any) -> Any:
    out = np.zeros(5)
    out[:3] = x**2
    out[3] = x[0] * x[1]
    out[[0, 4]] = x[1:]
    out[out > 8] *= 2
    return out


def views(x: Any) -> Any:
    out = np.zeros((3, 2))
    column = out[:, 1]
    column += x
    out.T[0] = x[::-1]
    out.reshape(-1)[2:4] *= 3
    return out * out


def on_itself(x: Any) -> Any:
    x[0] = x[1] * 2
    x *= 3
    x[1:] += x[:-1]
    return x


def by_functions(x: Any) -> Any:
    out = np.empty(3)
    np.multiply(x, x, out=out)
    np.add(out, x, out=out, where=x > 1.5)
    np.copyto(out, x, where=x > 2.5)
    np.add.at(out, [0, 0, 1], x)
    np.maximum(out, 3.5, out=out)
    return out


def chosen(x: Any) -> Any:
    y = np.where(x > 1.5, x**2, np.exp(x))
    y[np.array([True, False, True])] = x[1]
    return np.sort(y)[::-1] * np.concatenate([x[:1], x[1:]])


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max())
    e /= e.sum()
    return e[0] * e


def overwritten(x: Any) -> Any:
    y = x * 2
    z = y * y
    y += x
    y[0] = 0
    h = np.tanh(y)
    h *= z
    h[1] = x[0]
    return h


@pytest.mark.parametrize("function", [setitem, views, on_itself, chosen])
@pytest.mark.parametrize("overwrites", [False, True])
def test_programs_that_write(function: Callable[[Any], Any], overwrites: bool) -> None:
    close(taped(function, vector(), overwrites=overwrites), differences(function, vector()))


@pytest.mark.parametrize("function", [softmax, overwritten, by_functions])
def test_programs_that_overwrite_what_the_gradient_needs(function: Callable[[Any], Any]) -> None:
    close(taped(function, vector(), overwrites=True), differences(function, vector()))
    with pytest.raises(RuntimeError, match=r"GradientTape\(overwrites=True\)"):
        taped(function, vector())


def test_overwritten_after_the_recording() -> None:
    x = vector()
    with np.GradientTape(overwrites=True) as tape:
        tape.watch(x)
        y = x * 1
        z = y * y
    y += 1
    x *= 0
    close(tape.gradient(z, x), 2 * numpy.asarray(vector()))


@pytest.mark.parametrize("write", [lambda w, x: w.__isub__(1), lambda w, x: w[:1].fill(7), lambda w, x: x.__imul__(5)])
@pytest.mark.parametrize("overwrites", [False, True])
def test_written_between_recording_and_gradient(write: Callable[[Any, Any], Any], overwrites: bool) -> None:
    w, x = vector(), vector() + 1
    with np.GradientTape(overwrites=overwrites) as tape:
        tape.watch(w)
        y = (w**3 * x).sum()
    write(w, x)
    if overwrites:
        close(tape.gradient(y, w), 3 * numpy.asarray(vector()) ** 2 * (numpy.asarray(vector()) + 1))
    else:
        with pytest.raises(RuntimeError, match=r"GradientTape\(overwrites=True\)"):
            tape.gradient(y, w)


def test_a_write_that_no_gradient_needs() -> None:
    w, x = vector(), vector() + 1
    with np.GradientTape() as tape:
        tape.watch(w)
        y = (w * x).sum() + w.sum()
    w -= 1
    close(tape.gradient(y, w), numpy.asarray(x) + 1)


@pytest.mark.parametrize("compiled", [False, True])
def test_training_steps_of_a_persistent_tape(compiled: bool) -> None:
    """One gradient after the other, each of the values that were recorded; of views and of nested tapes too."""

    def step(w: Any, b: Any) -> Any:
        with np.GradientTape(persistent=True) as tape:
            tape.watch([w, b])
            with np.GradientTape() as inner:
                inner.watch(w)
                cubes = (w**3).sum()
            slope = inner.gradient(cubes, w)
            loss = (w**3).sum() + (w.reshape(3, 1).T @ b).sum()
        found = []
        for source, target in ((w, loss), (b, loss), (w, loss), (w, slope)):
            gradient = tape.gradient(target, source)
            found.append(gradient)
            w -= 0.1 * tape.gradient(loss, w)
            b *= 2
        return found

    w, b = vector(), vector() * 2
    x, y = numpy.asarray(vector()), numpy.asarray(vector()) * 2
    found = (np.compile(step, backend="eager") if compiled else step)(w, b)
    for gradient, expected in zip(found, (3 * x**2 + y, x, 3 * x**2 + y, 6 * x), strict=True):
        close(gradient, expected)


@pytest.mark.parametrize("when", ["inside", "after"])
def test_a_captured_array_of_numpy_is_written(when: str) -> None:
    w, x = vector(), numpy.asarray([1.0, 2.0, 3.0])
    with np.GradientTape() as tape:
        tape.watch(w)
        y = (w * x).sum()
        if when == "inside":
            x *= 5
    if when == "after":
        x *= 5
    close(tape.gradient(y, w), [1.0, 2.0, 3.0])

    def loss(w: Any) -> Any:
        y = (w * x).sum()
        x[...] = 0
        return y

    before = x.copy()
    close(np.grad(loss)(w), before)
    out = numpy.zeros(3)
    with np.GradientTape() as tape:
        tape.watch(w)
        np.multiply(x, 2.0, out=out)
    assert not out.any()


def test_functions_are_differentiated_inside_of_a_persistent_tape() -> None:
    w = vector()
    with np.GradientTape(persistent=True) as tape:
        tape.watch(w)
        y = np.grad(lambda w: (w**3).sum())(w).sum()
    close(tape.gradient(y, w), 6 * numpy.asarray(vector()))


# The arrays afterwards.


def test_no_flag_is_left() -> None:
    x = vector()
    tensor, view = x.tensor, x[:2]
    with np.GradientTape() as tape:
        tape.watch(x)
        x[0] = 7.0  # seen in the array's memory
        y = x.sum()
    assert x.tensor is tensor and not tensor.requires_grad and tensor.grad is None
    assert view[0] == 7
    close(tape.gradient(y, x), [0, 1, 1])
    assert x.tensor is tensor and not tensor.requires_grad


def test_torchs_own_gradients_end_at_what_is_watched() -> None:
    x = vector()
    with np.GradientTape() as tape:
        tape.watch(x)
        y = (x**2).sum()
        y.tensor.backward(retain_graph=True)
    close(tape.gradient(y, x), 2 * x)
    assert x.tensor.grad is None


def test_a_watched_scalar_beside_a_list() -> None:
    x = vector()
    with np.GradientTape() as tape:
        tape.watch(x)
        y = ((x[0] + [1.0, 2.0]) * ([3.0, 4.0] + x[1])).sum()
    close(tape.gradient(y, x), [7 + 2 * x[1], 3 + 2 * x[0], 0])


def test_no_flag_is_left_by_an_error() -> None:
    x = vector()
    with pytest.raises(ZeroDivisionError), np.GradientTape() as tape:
        tape.watch(x)
        raise ZeroDivisionError
    assert not x.tensor.requires_grad
    assert not autodiff.is_recording()


def test_a_shape_that_is_assigned_stays() -> None:
    x = vector()
    with np.GradientTape() as tape:
        tape.watch(x)
        x.shape = (3, 1)
    assert x.shape == (3, 1) and not x.tensor.requires_grad


def test_the_graph_goes_with_its_result() -> None:
    x = vector()
    with np.GradientTape() as tape:
        tape.watch(x)
        y = np.sin(x)
        reference = weakref.ref(y)
        z = (y * y).sum()
    tape.gradient(z, x)
    del y, z
    gc.collect()
    assert reference() is None


# What is asked for.


def test_sources_and_targets_in_containers() -> None:
    x, w = vector(), {"a": np.asarray(2.0), "b": [np.asarray(3.0), np.ones(3)]}
    with np.GradientTape(persistent=True) as tape:
        tape.watch([x, w])
        y = x * w["a"] + w["b"][0]
    found = tape.gradient({"y": [y, y[0]]}, w)
    assert set(found) == {"a", "b"} and found["b"][1] is None
    close(found["a"], 7.0)
    close(found["b"][0], 4.0)
    close(tape.gradient(y, w, unconnected_gradients="zero")["b"][1], numpy.zeros(3))
    close(tape.gradient(y, x, output_gradients=np.asarray([1, 10, 100])), [2, 20, 200])
    assert tape.gradient(y, np.ones(2)) is None


def test_intermediate_results_are_sources() -> None:
    x = vector()
    with np.GradientTape() as tape:
        tape.watch(x)
        y = x * 2
        z = (y**2).sum()
    close(tape.gradient(z, y), 2 * (2 * vector()))


def test_variables_of_torch(device: str) -> None:
    w = np.asarray(torch.ones(3, dtype=torch.float64, device=device, requires_grad=True))
    for accessed in (True, False):
        with np.GradientTape(watch_accessed_variables=accessed) as tape:
            y = (w * vector()).sum()
        found = tape.gradient(y, w)
        assert found is None if not accessed else close(found, vector()) is None
    assert w.tensor.requires_grad and w.tensor.grad is None


def test_persistent() -> None:
    x = vector()
    with np.GradientTape() as tape:
        tape.watch(x)
        y = (x**2).sum()
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="persistent=True"):
        tape.gradient(y, x)
    with np.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = (x**2).sum()
        z = y * y
    for _ in range(2):
        close(tape.gradient(y, x), 2 * vector())
    close(tape.gradient(z, x), 4 * 14 * vector())


def test_two_tapes_of_one_program() -> None:
    x = vector()
    with np.GradientTape() as one, np.GradientTape() as other:
        one.watch(x)
        other.watch(x)
        y = (x**3).sum()
    close(other.gradient(y, x), 3 * vector() ** 2)
    close(one.gradient(y, x), 3 * vector() ** 2)


def test_nested() -> None:
    x = vector()
    with np.GradientTape() as third:
        third.watch(x)
        with np.GradientTape() as second:
            second.watch(x)
            with np.GradientTape() as first:
                first.watch(x)
                y = (x**4).sum()
            dy = first.gradient(y, x)
        ddy = second.gradient(dy, x)
    close(dy, 4 * vector() ** 3)
    close(ddy, 12 * vector() ** 2)
    close(third.gradient(ddy, x), 24 * vector())
    assert not x.tensor.requires_grad


def test_stop_recording_and_reset() -> None:
    x = vector()
    with np.GradientTape() as tape:
        tape.watch(x)
        with tape.stop_recording():
            factor = x * 2
        y = (x * factor).sum()
    close(tape.gradient(y, x), 2 * vector())
    with np.GradientTape() as tape:
        tape.watch(x)
        tape.reset()
        assert not x.tensor.requires_grad
        y = (x * 2).sum()
    assert tape.gradient(y, x) is None


@pytest.mark.parametrize("chunk_size", [None, 1, 2])
def test_jacobian(chunk_size: int | None) -> None:
    x, other = vector(), np.ones(2)
    with np.GradientTape() as tape:
        tape.watch([x, other])
        y = np.outer(x, x)
    found, nothing = tape.jacobian(y, [x, other], chunk_size=chunk_size)
    assert nothing is None and found.shape == (3, 3, 3)
    eye = numpy.eye(3)
    values = np.asnumpy(x)
    close(found, numpy.einsum("ik,j->ijk", eye, values) + numpy.einsum("jk,i->ijk", eye, values))


@pytest.mark.parametrize("chunk_size", [None, 2])
def test_batch_jacobian(chunk_size: int | None) -> None:
    x = np.arange(6.0).reshape(2, 3)
    with np.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = np.stack([x.sum(axis=1) ** 2, x[:, 0] * x[:, 1], x[:, 2]], axis=1).reshape(2, 3, 1)
    whole = np.asnumpy(tape.jacobian(y, x))
    expected = numpy.stack([whole[i, :, :, i] for i in range(2)])
    close(tape.batch_jacobian(y, x, chunk_size=chunk_size), expected)
    assert tape.batch_jacobian(y, np.ones((2, 2))) is None
    assert tape.batch_jacobian(y, np.ones((2, 2)), "zero").shape == (2, 3, 1, 2)
    with pytest.raises(ValueError, match="length along axis 0"):
        tape.batch_jacobian(y, np.ones(3))


def test_complex() -> None:
    z = np.asarray([1 + 2j, -1j])
    close(taped(lambda z: (z * z.conj()).real, z), 2 * np.asnumpy(z))
    close(taped(np.abs, z), np.asnumpy(z / np.abs(z)))


# Inside of other transforms.


W = placed(np, [[1.0, 2.0], [0.5, -1.0]])


def of_one(row: Any) -> Any:
    bias = np.zeros(2)
    with np.GradientTape() as tape:
        tape.watch([W, bias])
        out = np.zeros(2)
        out[:] = np.tanh(row @ W + bias)
        loss = (out**2).sum()
    return loss, tape.gradient(loss, [W, bias])


def test_per_example_gradients() -> None:
    x = np.arange(6.0).reshape(3, 2)
    loss, gradients = np.vectorized_map(of_one, x, fallback=False)
    expected, each = np.map_fn(of_one, x)
    close(loss, expected)
    close(gradients[0], each[0])
    close(gradients[1], each[1])
    assert not W.tensor.requires_grad


def test_compiled() -> None:
    def step(x: Any) -> Any:
        return taped(views, x)

    function = np.compile(step, backend="eager")
    close(function(vector()), step(vector()))
    kept = np.compile(lambda x: taped(softmax, x, overwrites=True), backend="eager")
    close(kept(vector()), differences(softmax, vector()))
    x = np.arange(6.0).reshape(3, 2)
    around = np.compile(lambda x: np.vectorized_map(of_one, x), backend="eager")
    close(around(x)[1][0], np.map_fn(of_one, x)[1][0])
    inside = np.compile(lambda x: np.sin(x) ** 2)
    close(taped(inside, vector()), 2 * np.sin(vector()) * np.cos(vector()))


def test_second_order_of_compiled_and_vectorized() -> None:
    def curvature(v: Any) -> Any:
        with np.GradientTape() as outer:
            outer.watch(v)
            with np.GradientTape() as inner:
                inner.watch(v)
                y = np.sin(v)
            slope = inner.gradient(y, v)
        return outer.gradient(slope, v)

    close(np.vectorized_map(curvature, vector(), fallback=False), -np.sin(vector()))
    close(np.grad(lambda x: np.vectorized_map(curvature, x).sum())(vector()), -np.cos(vector()))


def test_inside_of_a_transform_of_torch() -> None:
    import torch

    with pytest.raises(RuntimeError, match=r"tnp\.vectorized_map"):
        torch.vmap(lambda row: taped(np.sin, np.asarray(row)).tensor)(torch.ones(2, 3))


# Errors.


def test_what_can_not_be_watched() -> None:
    with np.GradientTape() as tape:
        with pytest.raises(TypeError, match=r"arrays\['a'\]\[1\] has dtype int64"):
            tape.watch({"a": [vector(), np.arange(3)]})
        with pytest.raises(TypeError, match="arrays has dtype bool"):
            tape.watch(np.ones(2, bool))
        with pytest.raises(TypeError, match="arrays is a ndarray: only tnp arrays"):
            tape.watch(numpy.ones(2))
        with pytest.raises(TypeError, match="an array or a container of arrays"):
            tape.watch(3.0)
        with pytest.raises(ValueError, match="already recording"):
            tape.__enter__()
    with pytest.raises(RuntimeError, match="isn't recording"):
        tape.watch(vector())
    with pytest.raises(ValueError, match="isn't recording"), tape.stop_recording():
        pass


def test_wrong_questions() -> None:
    x = vector()
    with np.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * 2
    with pytest.raises(ValueError, match="'none' or 'zero'"):
        tape.gradient(y, x, unconnected_gradients="nothing")
    with pytest.raises(TypeError, match="sources has dtype int64"):
        tape.gradient(y, np.arange(3))
    with pytest.raises(ValueError, match=r"output_gradients\[0\] has shape \(2,\)"):
        tape.gradient(y, x, output_gradients=np.ones(2))
    with pytest.raises(ValueError, match="output_gradients has 2 arrays, but there are 1 targets"):
        tape.gradient(y, x, output_gradients=[np.ones(3), np.ones(3)])


def test_a_checkpoint_is_computed_again_in_any_thread() -> None:
    x = vector()
    with np.GradientTape() as tape:
        tape.watch(x)
        y = np.checkpoint(lambda: np.sin(x) * x)()
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(tape.gradient(y, x)))
    thread.start()
    thread.join()
    close(found[0], differences(lambda x: np.sin(x) * x, vector()))
    assert not x.tensor.requires_grad


def test_an_outer_tape_may_be_asked_before_the_inner_one() -> None:
    x = vector()
    with np.GradientTape() as outer:
        outer.watch(x)
        with np.GradientTape() as inner:
            inner.watch(x)
            y = x**2
        z = y * y
    close(outer.gradient(z, x), [4.0, 32.0, 108.0])
    close(inner.gradient(y, x), [2.0, 4.0, 6.0])


def test_jacobians_are_those_of_one_array() -> None:
    x = vector()
    with np.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * 2
    with pytest.raises(TypeError, match="target must be a tnp array, not list"):
        tape.jacobian([y, y], x)
    with pytest.raises(TypeError, match="target must be a tnp array, not list"):
        tape.batch_jacobian([y], x)
    with pytest.raises(TypeError, match="source must be a tnp array, not tuple"):
        tape.batch_jacobian(y, (x,))


def test_what_torch_is_told_not_to_record_a_tape_records() -> None:
    x = np.asarray([1.0, 2.0])
    with torch.no_grad(), np.GradientTape() as tape:
        tape.watch(x)
        y = (x * x).sum()
    assert tape.gradient(y, x).tolist() == [2.0, 4.0]


def test_a_tape_within_a_transform_watches_what_is_from_outside() -> None:
    weights = np.asarray([1.0, 3.0])

    def function(x: Any) -> Any:
        with np.GradientTape() as tape:
            tape.watch(weights)
            y = (weights * weights * x.sum()).sum()
        return tape.gradient(y, weights).sum()

    x = np.asarray([0.5, 2.0])
    assert np.grad(function)(x).tolist() == [8.0, 8.0]
    assert np.vectorized_map(function, x[:, None]).tolist() == [4.0, 16.0]


def test_a_tape_within_a_tape_watches_what_no_gradient_flows_to() -> None:
    def function(x: Any) -> Any:
        with np.GradientTape() as outer:
            outer.watch(x)
            y = np.stop_gradient(x * 2)
            with np.GradientTape() as inner:
                inner.watch(y)
                z = (y * y).sum()
            w = (inner.gradient(z, y) * x).sum()
        return outer.gradient(w, x)

    x = np.asarray([1.0, 3.0])
    assert function(x).tolist() == np.vectorized_map(function, x[:, None])[:, 0].tolist() == [4.0, 12.0]
    assert np.compile(function, backend="eager")(x).tolist() == [4.0, 12.0]
    assert np.grad(lambda x: function(x).sum())(x).tolist() == [0.0, 0.0]


def test_a_watched_array_is_written_by_another_name() -> None:
    x = vector()
    other = x[:]
    with np.GradientTape() as tape:
        tape.watch(x)
        y = (x * x).sum()
        other[0] = 50.0
    with pytest.raises(RuntimeError, match="overwritten"):
        tape.gradient(y, x)
    with np.GradientTape() as tape:
        tape.watch(x)
        other[0] = 3.0
        y = (x * 2).sum()  # whose gradient needs no value of x
        other[0] = 4.0
    close(tape.gradient(y, x), [2.0, 2.0, 2.0])


def test_a_view_among_the_operands_is_written_afterwards() -> None:
    x, batch = vector(), np.arange(6.0)
    part = batch[2:5]  # which nothing has looked at yet
    with np.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = (x * part).sum()
        z = (x + part).sum()
    close(tape.gradient(y, x), [2.0, 3.0, 4.0])
    batch[3] = 7.0
    close(tape.gradient(z, x), [1.0, 1.0, 1.0])
    with pytest.raises(RuntimeError, match="overwritten"):
        tape.gradient(y, x)
    close(part, [2.0, 7.0, 4.0])
    part += 1.0
    close(batch, [0.0, 1.0, 3.0, 8.0, 5.0, 5.0])


def test_numbers_and_arrays_of_other_dtypes_beside_recorded_ones() -> None:
    x = np.asarray([1.0, 4.0, 9.0], dtype="f4")
    programs: list[tuple[Callable[[Any], Any], Any]] = [
        (lambda x: 3 * x - x / 2 + 1.5, [2.5, 2.5, 2.5]),
        (lambda x: 1 / x, [-1.0, -1 / 16, -1 / 81]),
        (lambda x: x**2 + x**0.5 + x**-1 + x**3, [2 + 0.5 - 1 + 3, 8 + 0.25 - 1 / 16 + 48, 18 + 1 / 6 - 1 / 81 + 243]),
        (lambda x: x**-0.5, [-0.5, -1 / 16, -1 / 54]),
        (lambda x: x * np.arange(3), [0.0, 1.0, 2.0]),
        (lambda x: x * np.float64(2) + np.asarray([1j, 2.0, 3.0]).real, [2.0, 2.0, 2.0]),
        (lambda x: (x > 2) * x, [0.0, 1.0, 1.0]),
        (lambda x: x * [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]),
        (lambda x: np.mean(x) * x.sum(), [28 / 3] * 3),
        (lambda x: np.abs(-x) @ np.maximum(x, 4), [4.0, 6.0, 18.0]),
    ]
    for function, expected in programs:
        with np.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        assert y.dtype == function(x).dtype
        assert type(y) is type(function(x))
        gradient = tape.gradient(y, x)
        assert gradient.dtype == x.dtype
        numpy.testing.assert_allclose(np.asnumpy(gradient), expected, rtol=1e-5)


def _by_jacobian(x: Any) -> Any:
    with np.GradientTape() as tape:
        tape.watch(x)
        y = np.sin(x) * x.sum()
    return tape.jacobian(y, x) @ x


def _by_batch_jacobian(x: Any) -> Any:
    x = np.stack([x, x * 2])
    with np.GradientTape() as tape:
        tape.watch(x)
        y = np.sin(x) * x
    return tape.batch_jacobian(y, x).sum(0) @ x[0]


def _of_what_is_not_used(x: Any) -> Any:
    other = x * 2
    with np.GradientTape() as tape:
        tape.watch([x, other])
        y = x**2
    found, nothing = tape.jacobian(y, [x, other])
    assert nothing is None
    return found @ x


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("function", [_by_jacobian, _by_batch_jacobian, _of_what_is_not_used])
def test_jacobians_inside_other_transforms(function: Any, compiled: bool) -> None:
    """The passes of a tape's Jacobian run in one batch, at the levels of the transforms around."""
    xs = np.asarray([[0.5, -0.3, 1.2], [1.0, 2.0, -1.0]])

    def transformed(transform: Any) -> Any:
        return np.asnumpy(np.compile(transform, backend="eager")(xs) if compiled else transform(xs))

    gradients = transformed(lambda xs: np.vectorized_map(np.grad(lambda x: (function(x) ** 2).sum()), xs))
    along = transformed(lambda xs: np.vectorized_map(lambda x: np.jvp(lambda x: function(x) ** 2, (x,), (x,))[1], xs))
    whole = transformed(lambda xs: np.grad(lambda xs: (np.vectorized_map(function, xs) ** 2).sum())(xs))
    for x, gradient, tangent in zip(np.asnumpy(xs), gradients, along, strict=True):
        steps = 1e-6 * numpy.eye(3)
        squares = [[np.asnumpy(function(np.asarray(x + sign * step))) ** 2 for step in steps] for sign in (1, -1)]
        slopes = (numpy.array(squares[0]) - numpy.array(squares[1])) / 2e-6  # of each result along each element
        numpy.testing.assert_allclose(gradient, slopes.sum(1), rtol=1e-6)
        numpy.testing.assert_allclose(tangent, x @ slopes, rtol=1e-6, atol=1e-7)
    numpy.testing.assert_allclose(whole, gradients)


@pytest.mark.parametrize("when", ["between", "after"])
@pytest.mark.parametrize("outer", [False, True])
@pytest.mark.parametrize("inner", [False, True])
def test_a_write_after_nested_tapes_is_seen_by_both(inner: bool, outer: bool, when: str) -> None:
    w = np.asarray([1.0, 2.0])
    with np.GradientTape(persistent=outer) as around:
        around.watch(w)
        with np.GradientTape(persistent=inner) as tape:
            tape.watch(w)
            y = (w**3).sum()
        z = (tape.gradient(y, w) ** 2).sum()
        if when == "between":
            w[:] = 0.0
    w[:] = 0.0
    try:
        found = np.asnumpy(around.gradient(z, w))
    except RuntimeError as error:
        assert "overwritten after it was used" in str(error) and not (inner or (outer and when == "after"))
    else:
        numpy.testing.assert_array_equal(found, [36.0, 288.0])


def test_a_write_after_two_tapes_on_one_array_is_seen_by_both() -> None:
    w = np.asarray([1.0, 2.0])
    with np.GradientTape() as first, np.GradientTape() as second:
        first.watch(w)
        second.watch(w)
        y = (w**3).sum()
    w[:] = 0.0
    for tape in (first, second):
        with pytest.raises(RuntimeError, match="overwritten after it was used"):
            tape.gradient(y, w)


@pytest.mark.parametrize("options", [{}, {"persistent": True}, {"overwrites": True}], ids=str)
@pytest.mark.parametrize("transform", [lambda f: np.vmap(f), lambda f: lambda rows: np.map_fn(f, rows)])
def test_tapes_of_batched_tapes(transform: Any, options: dict[str, bool]) -> None:
    """A batch is over when the tape around asks about writes, and its levels have no hooks for values."""
    rows = np.asarray([[0.5, -0.25], [2.0, 1.0]])

    def slope(x: Any) -> Any:
        with np.GradientTape() as tape:
            tape.watch(x)
            y = np.sin(x) * x
        return tape.gradient(y, x)

    with np.GradientTape(**options) as around:  # type: ignore[arg-type]
        around.watch(rows)
        z = transform(slope)(rows)
    expected = numpy.asarray(2 * np.cos(rows) - rows * np.sin(rows))
    numpy.testing.assert_allclose(around.gradient(z, rows), expected, rtol=1e-12)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_write_after_a_batched_tape_is_seen_by_the_tape_around() -> None:
    rows = np.asarray([[0.5, -0.25], [2.0, 1.0]])

    def writes(x: Any) -> Any:
        for _ in range(2):  # the second array is of the level that the first tape opened, and may be written to
            x = x * 1.0
            with np.GradientTape() as tape:
                tape.watch(x)
                y = np.sin(x)
        slope = tape.gradient(y, x)
        x[:] = 2.0
        return y * slope

    with np.GradientTape() as around:
        around.watch(rows)
        z = np.vmap(writes)(rows)
    with pytest.raises(RuntimeError, match="overwritten after it was used"):
        around.gradient(z, rows)


def _gradient_of(loss: Any, w: Any) -> Any:
    with np.GradientTape() as tape:
        tape.watch(w)
        value = loss(w)
    return tape.gradient(value, w)


def _inner(w: Any, x: Any) -> Any:
    w[:] = w * x
    return (_gradient_of(lambda w: (w**3 * x).sum(), w) ** 2).sum()


def _inner_of_view(w: Any, x: Any) -> Any:
    w[0] = x[0]
    return (_gradient_of(lambda w: (w**3 * x).sum(), w[:]) ** 2).sum()


def _inner_that_writes(w: Any, x: Any) -> Any:
    def loss(w: Any) -> Any:
        w[:] = w * 2
        return (w**2 * x).sum()

    w[:] = w * x
    return (_gradient_of(loss, w) ** 2).sum() + w.sum()


def _inner_twice(w: Any, x: Any) -> Any:
    w[:] = w * x
    return (_gradient_of(lambda w: (_gradient_of(lambda w: (w**4 * x).sum(), w) ** 2).sum(), w) * x).sum()


def _step_of_inner(w: Any, x: Any) -> Any:
    w[:] = w * x
    w[:] = w - 0.1 * _gradient_of(lambda w: (w**3 * x).sum(), w)
    return (w**2).sum()


@pytest.mark.parametrize("transform", ["grad", "vjp", "forward", "compiled", "of_compiled", "batched"])
@pytest.mark.parametrize("is_outside", [False, True])
@pytest.mark.parametrize("function", [_inner, _inner_of_view, _inner_that_writes, _inner_twice, _step_of_inner])
def test_tapes_inside_derivatives_watch_what_the_derivative_knows(
    function: Any, is_outside: bool, transform: str
) -> None:
    def run() -> Any:
        w = np.ones(2)
        return lambda x: function(w if is_outside else x * 0 + 1, x)

    transforms: dict[str, Any] = {
        "grad": np.grad,
        "vjp": lambda f: lambda x: np.vjp(f, x)[1](1.0)[0],
        "forward": lambda f: np.jacobian(f, mode="forward"),
        "compiled": lambda f: np.compile(np.grad(f), backend="eager"),
        "of_compiled": lambda f: np.grad(np.compile(f, backend="eager")),
        "batched": lambda f: lambda x: np.vectorized_map(np.grad(f), x[None])[0],
    }
    x, step = np.asarray([0.5, 1.5]), 1e-6 * np.eye(2)
    expected = [float(run()(x + each) - run()(x - each)) / 2e-6 for each in step]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a batch that writes to an array from outside is a loop
        found = transforms[transform](run())(x)
    numpy.testing.assert_allclose(np.asnumpy(found), expected, rtol=1e-4)


REVERSED: dict[str, Any] = {
    "rows": lambda b: b[::-1],
    "columns": lambda b: b[:, ::-1],
    "steps": lambda b: b[::-2],
    "transposed": lambda b: b.T[::-1],
}
OF_REVERSED: dict[str, Any] = {
    "power": lambda w, k: (w**3 * k).sum(),
    "row": lambda w, k: (w[0] * w.sum()).sum() + w[0, 1] ** 2,
    "reshaped": lambda w, k: (w.reshape(-1) * k.reshape(-1)).sum(),
    "flattened": lambda w, k: (w.flatten() * k.ravel()).sum() + w.ravel("F")[1] ** 2,
    "sorted": lambda w, k: (np.sort(w, axis=0) * k).sum(),
}


@pytest.mark.parametrize("options", [{}, {"persistent": True}, {"overwrites": True}], ids=str)
@pytest.mark.parametrize("of", OF_REVERSED)
@pytest.mark.parametrize("name", REVERSED)
def test_views_with_negative_steps_are_watched(name: str, of: str, options: dict[str, bool]) -> None:
    w = REVERSED[name](np.arange(1.0, 7.0).reshape(3, 2))
    copied = np.array(w)
    k = np.arange(1.0, w.size + 1).reshape(w.shape)
    found = []
    for array in (w, copied):
        with np.GradientTape(**options) as tape:
            tape.watch(array)
            y = OF_REVERSED[of](array, k)
        found.append(np.asnumpy(tape.gradient(y, array)))
    numpy.testing.assert_allclose(*found)
    w -= 1
    numpy.testing.assert_array_equal(numpy.asarray(w), numpy.asarray(copied) - 1)


def test_writes_to_watched_views_with_negative_steps() -> None:
    base = np.arange(1.0, 7.0).reshape(3, 2)
    w = base[::-1]
    before, factors = np.array(w), np.asarray([[2.0], [1.0], [1.0]]) * 3
    with np.GradientTape() as tape:
        tape.watch(w)
        w[0] = w[0] * 2
        w *= 3
        y = (w**2).sum()
    numpy.testing.assert_allclose(np.asnumpy(tape.gradient(y, w)), np.asnumpy(2 * before * factors**2))
    numpy.testing.assert_allclose(np.asnumpy(base[::-1].copy()), np.asnumpy(before * factors))
    with np.GradientTape() as tape:
        tape.watch(w)
        y = w * w
    expected = np.jacobian(lambda w: w * w)(np.array(w))
    numpy.testing.assert_allclose(np.asnumpy(tape.jacobian(y, w)), np.asnumpy(expected))
    unaligned = np.asarray(numpy.zeros(17, "u1")[1:].view("f8"))
    with pytest.raises(TypeError, match="not aligned: watch a copy"), np.GradientTape() as tape:
        tape.watch(unaligned)


@pytest.mark.parametrize("overwrites", [False, True])
def test_what_a_checkpoint_read_and_has_changed_is_named(overwrites: bool) -> None:
    of_numpy, own, x = numpy.asarray([1.0, 2.0]), np.asarray([1.0, 2.0]), np.asarray([1.0, 3.0])
    settings = {"scale": 1.0}

    def by_branch(x: Any) -> Any:  # in which NumPy reads
        return x.sum() if of_numpy.max() > 5 else (x * x).sum()

    def by_number(x: Any) -> Any:
        return (x * x * float(of_numpy[1])).sum()

    def by_array(x: Any) -> Any:
        return (x * x * own).sum()

    def by_item(x: Any) -> Any:
        return x.sum() if settings["scale"] > 5 else (x * x).sum()

    def recorded(function: Any) -> Any:
        with np.GradientTape(overwrites=overwrites) as tape:
            tape.watch(x)
            y = np.checkpoint(function)(x)
        return lambda: tape.gradient(y, x)

    functions = [by_branch, by_number, by_array, by_item]
    assert [recorded(each)().tolist() for each in functions] == [[2.0, 6.0], [4.0, 12.0], [2.0, 12.0], [2.0, 6.0]]
    gradients = [recorded(each) for each in functions]
    of_numpy[:], own[:], settings["scale"] = 10, 10, 10.0
    for gradient, function, name in zip(gradients, functions, ["of_numpy", "of_numpy", "own", ""], strict=True):
        words = f"the array {name} was overwritten after it was used by .*" if name else ""
        with pytest.raises(RuntimeError, match=rf"{words}{function.__name__} \(test_tape\.py:\d+\)") as raised:
            gradient()
        assert "overwrites=True" not in str(raised.value) and "torch" not in str(raised.value)


def test_a_checkpoint_that_writes_to_an_array_of_numpys_itself() -> None:
    """Its own writes, which it does again, are no change."""
    calls, x = numpy.zeros(1), np.asarray([1.0, 3.0])

    def counting(x: Any) -> Any:
        calls[0] += 1
        return (x * x).sum()

    function = np.checkpoint(counting)
    with np.GradientTape() as tape:
        tape.watch(x)
        y = function(x) + function(x)
    assert tape.gradient(y, x).tolist() == [4.0, 12.0]


def test_what_was_overwritten_is_described() -> None:
    x = np.asarray([1.0, 3.0])
    with np.GradientTape() as tape:
        tape.watch(x)
        y = np.exp(x)
        total = y.sum()
    y /= 2
    with pytest.raises(RuntimeError, match=r"an array of shape \(2,\) and dtype float64, .* was overwritten after"):
        tape.gradient(total, x)
