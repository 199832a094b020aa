"""Plain torch.compile(fullgraph=True) and torch.export over functions that use arrays inside."""

from __future__ import annotations

import gc
import operator
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import tnp as np
from tests import processes
from tests.oracle import placed

Tensor = torch.Tensor
WEIGHT = placed(np, numpy.arange(3, dtype="f4"))


def written(x: Any) -> Any:
    x = x.copy()
    x[0, 1:] = WEIGHT[:2]
    x += 2
    x *= x
    return x


def into(x: Any) -> Any:
    out = np.zeros((2, 3), "f4")
    np.add(x, 1, out=out)
    return out


def looped(x: Any) -> Any:
    for i in range(3):
        x = np.sin(x) + i
    return x


def written_by_list(x: Any) -> Any:
    x = x.copy()
    x[[0]] = 1
    x[x > 4] = np.asarray(7, "f4")
    x.put([2], 9)
    np.copyto(x[:, 1], [3, 4])
    return x


def added_at(x: Any) -> Any:
    out = np.zeros(3)
    np.add.at(out, [0, 1, 1], x[0])
    return out


def multiplied(x: Any) -> Any:
    y = x.copy()
    y @= np.eye(3, dtype="f4") * 2
    return y


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "wrapped": lambda x: x,
    "operators": lambda x: 1 / (1 + np.exp(-x)) - x % 2 + x // 3,
    "reflected": lambda x: 2**x - (3 - x) * 0.5,
    "comparison": lambda x: (x > 2) & np.logical_not(x == 4) | (x != 1),
    "power": lambda x: x**2 + x**0.5,
    "captured": lambda x: x * WEIGHT,
    "in place": written,
    "out": into,
    "unrolled": looped,
    "ufunc of a number": lambda x: np.maximum(x, 2) + np.arctan2(1, x),
    "sum": lambda x: x.sum(),
    "sum along an axis": lambda x: np.sum(x, axis=0, keepdims=True),
    "mean": lambda x: np.mean(x, axis=1),
    "standard deviation": lambda x: x.std(axis=1, ddof=1),
    "extremes": lambda x: x.max(axis=0) - np.min(x),
    "positions": lambda x: x.argmax(axis=1) + np.argmin(x),
    "all and any": lambda x: np.all(x > -1) & np.any(x > 4),
    "cumulative sum": lambda x: np.cumsum(x, axis=1),
    "index": lambda x: x[0, 1:] + x[1, 0],
    "new axes": lambda x: x[..., None, ::2],
    "index array": lambda x: x[np.asarray(x[0]).astype("i8") % 2],
    "shapes": lambda x: x.reshape(3, 2).T.ravel(),
    "transpose": lambda x: np.transpose(np.expand_dims(x, 0), (2, 0, 1)),
    "joined": lambda x: np.concatenate([x, np.stack([x[0], x[1]])], axis=1),
    "split": lambda x: np.split(x, 3, axis=1)[1],
    "product": lambda x: np.matmul(x, x.T),
    "einsum": lambda x: np.einsum("ij,kj->ik", x, x),
    "where": lambda x: np.where(x > 2, x, 0),
    "clip": lambda x: np.clip(x, 1, 3),
    "sorted": lambda x: np.sort(-x, axis=1),
    "cast": lambda x: x.astype(np.int32) * x.astype("f8"),
    "made": lambda x: np.zeros((2, 3)) + np.arange(3) + np.ones_like(x) + np.full((3,), 2.5),
    "norm": lambda x: np.linalg.norm(x),
    "matrix operators": lambda x: (x.T @ x) @ x.T,
    "an array of NumPy's": lambda x: numpy.ones((3, 3)) @ x.T,
    "inverted": lambda x: ~(x > 1),
    "divided": lambda x: divmod(x, 2)[0] + divmod(7, x + 1)[1],
    "product in place": multiplied,
    "NumPy's scalars": lambda x: numpy.float64(3) - x * numpy.float32(2) + (numpy.float64(2) < x),
    "lists as indices": lambda x: x[[0, 1], [1, 2]] + x[[0]][:, [-1, 1]],
    "lists assigned to": written_by_list,
    "dtypes": lambda x: np.sum(x, dtype=numpy.float64) + x.astype(bool) + np.arange(3, dtype=int),
    "dtype of a ufunc": lambda x: np.add(x, 1, dtype=np.float64) + np.cumsum(x, dtype="f8")[0],
    "ufunc methods": lambda x: np.add.reduce(x) + np.multiply.accumulate(x, axis=1) + np.add.outer(x[0], x[1])[0],
    "ufunc at indices": added_at,
    "rank": lambda x: np.linalg.matrix_rank(x) + np.linalg.cond(x[:, :2]),
    "frequencies": lambda x: np.fft.fftshift(x) + np.fft.fftfreq(3),
    "ranges of r_": lambda x: np.r_[x[0], 1:3] + np.mgrid[0:5],
    "a list of arrays": lambda x: np.array([x[0], x[1] * 2]) + np.array([1.0, 2, 3]),
    "a function of arrays": lambda x: np.apply_along_axis(lambda row: row * 2 - row.sum(), 1, x),
    "what is no array": lambda x: x * (2 if np.ndim(x) == 2 and not np.iscomplexobj(x) else 3),
}


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "an array of NumPy's"])
def test_full_graph(name: str, device: str) -> None:
    def function(t: Tensor) -> Tensor:
        return FUNCTIONS[name](np.asarray(t)).tensor

    torch._dynamo.reset()
    t = torch.arange(6.0, device=device).reshape(2, 3)
    torch.testing.assert_close(torch.compile(function, fullgraph=True, backend="eager")(t), function(t))


@pytest.mark.host
def test_full_graph_with_an_array_of_numpys() -> None:
    test_full_graph("an array of NumPy's", "cpu")


@pytest.mark.parametrize("name", ["add", "eq", "ge", "gt", "le", "lt", "ne"])
@pytest.mark.parametrize("is_reflected", [False, True])
def test_a_number_that_changes_from_call_to_call(name: str, is_reflected: bool) -> None:
    apply = getattr(operator, name)

    def function(x: Any, number: int) -> Any:
        return apply(number, x) if is_reflected else apply(x, number)

    torch._dynamo.reset()
    compiled = torch.compile(function, backend="eager", fullgraph=True)
    for number in (2, 3, 4):  # from the second call on the number is a symbol of the graph
        x = np.asarray([1, 2, 3, 4, 5])
        assert compiled(x, number).tolist() == function(numpy.asarray(x), number).tolist()


@pytest.mark.parametrize("name", ["eq", "ge", "gt", "le", "lt", "ne"])
@pytest.mark.parametrize("left", [2, 2.5, [1, 3, 3], (1, 3, 3)], ids=str)
def test_a_number_or_list_that_is_compared_with_an_array(name: str, left: Any) -> None:
    def function(x: Any) -> Any:
        return getattr(operator, name)(left, x)

    torch._dynamo.reset()
    compiled = torch.compile(function, backend="eager", fullgraph=True)
    assert compiled(np.asarray([1, 2, 4])).tolist() == function(numpy.asarray([1, 2, 4])).tolist()


@pytest.mark.skipif(torch.__version__ < "2.12", reason="runs powers on stand-ins that refuse to tell their lengths")
@pytest.mark.parametrize("dtype", ["uint8", "int64"])
def test_powers_of_what_a_mask_chooses_in_a_full_graph(dtype: str) -> None:
    x = np.asarray([1, 2, 3, 4], dtype)
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        found = torch.compile(lambda x: x[x > 1] ** x[x > 1], fullgraph=True, backend="eager")(x)
    chosen = numpy.asarray([2, 3, 4], dtype)
    assert (found.dtype, found.tolist()) == (dtype, (chosen**chosen).tolist())


@pytest.mark.parametrize("name", ["operators", "where", "in place", "joined", "made"])
def test_export(name: str, device: str) -> None:
    class Module(torch.nn.Module):
        def forward(self, t: Tensor) -> Tensor:
            return FUNCTIONS[name](np.asarray(t)).tensor

    t = torch.arange(6.0, device=device).reshape(2, 3)
    program = torch.export.export(Module(), (t,))
    torch.testing.assert_close(program.module()(t), Module()(t))


def test_arrays_in_and_out() -> None:
    compiled = torch.compile(lambda x: (np.exp(x) * 2, x.sum()), fullgraph=True, backend="eager")
    pair = compiled(np.zeros(3))
    assert type(pair[0]) is np.ndarray and isinstance(pair[1], numpy.float64)
    assert (pair[0].tolist(), pair[1]) == ([2, 2, 2], 0)


def test_machine_code_and_gradients(device: str) -> None:
    compiled = torch.compile(lambda t: np.where(np.asarray(t) > 1, np.asarray(t) * 3, 0.5).sum().tensor, fullgraph=True)
    t = torch.arange(4.0, device=device, requires_grad=True)
    result = compiled(t)
    assert result == 16
    result.backward()
    assert t.grad is not None and t.grad.tolist() == [0, 0, 3, 3]


def test_dynamo_before_tnp() -> None:
    code = "import torch._dynamo, tnp as np; print(torch.compile(np.exp, backend='eager', fullgraph=True)(np.zeros(2)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[1. 1.]"


def test_functions_that_read_what_can_change_are_refused() -> None:
    compiled = torch.compile(
        lambda x: np.apply_along_axis(lambda row: row * WEIGHT, 1, x), fullgraph=True, backend="eager"
    )
    with pytest.raises(torch._dynamo.exc.Unsupported):
        compiled(np.ones((2, 3)))


def test_dynamo_is_not_imported_with_tnp() -> None:
    code = "import sys, tnp; print('torch._dynamo' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_a_compiled_function_that_has_run_before() -> None:
    inner = np.compile(lambda x: np.sin(x) * 2, backend="eager")
    x = np.ones(3)
    inner(x)
    for function in (inner, lambda x: inner(x) + 1):
        compiled = torch.compile(function, fullgraph=True, backend="eager")
        assert compiled(x).tolist() == function(x).tolist()


def loss(v: Any) -> Any:
    return np.sum(np.sin(v) * v + v**3 / 3)


def overwriting(v: Any) -> Any:
    v *= 2
    v[0, 1:] = 1
    return np.sum(v**2)


def overwriting_what_is_needed(v: Any) -> Any:
    squares = v**2
    v *= 2
    return np.sum(squares)


TRANSFORMED: dict[str, Callable[[Any], Any]] = {
    "grad": lambda x: np.grad(loss)(x),
    "grad of grad": lambda x: np.grad(lambda v: np.sum(np.grad(loss)(v) ** 2))(x),
    "grad of what overwrites its argument": lambda x: np.grad(overwriting)(x),
    "value and aux": lambda x: np.value_and_grad(lambda v, w: (loss(v * w), {"w": w}), (0, 1), True)(x, x + 1),
    "vectorized_map": lambda x: np.vectorized_map(loss, x),
    "vectorized_map of grad": lambda x: np.vectorized_map(np.grad(loss), x),
    "grad of vectorized_map": lambda x: np.grad(lambda v: np.sum(np.vectorized_map(loss, v) ** 2))(x),
    "vectorized_map of vectorized_map": lambda x: np.vectorized_map(lambda r: np.vectorized_map(loss, r), x),
    "jacobian": lambda x: np.jacobian(lambda v: np.cumsum(v * v))(x[0]),
    "jacobian forward": lambda x: np.jacobian(lambda v: np.cumsum(v * v), mode="forward")(x[0]),
    "hessian": lambda x: np.hessian(loss)(x[0]),
    "vjp": lambda x: np.vjp(lambda v: v[0] * v[1], x)[1](x[0]),
    "jvp": lambda x: np.jvp(lambda v: v[0] * v[1], (x,), (x + 1,)),
    "linearize": lambda x: np.linearize(lambda v: v[0] * v[1], x)[1](x + 1),
}


@pytest.mark.parametrize("backend", ["eager", pytest.param("inductor", marks=pytest.mark.walk)])
@pytest.mark.parametrize("name", TRANSFORMED)
def test_transforms_in_full_graphs(name: str, backend: str) -> None:
    x = placed(np, numpy.linspace(0.1, 1, 6, dtype="f4").reshape(2, 3))
    expected = TRANSFORMED[name](x)
    torch._dynamo.reset()
    found = torch.compile(TRANSFORMED[name], fullgraph=True, backend=backend)(x)
    leaves, spec = torch.utils._pytree.tree_flatten(expected)
    others, other_spec = torch.utils._pytree.tree_flatten(found)
    assert spec == other_spec
    for one, other in zip(leaves, others, strict=True):
        torch.testing.assert_close(other, one)


def test_gradients_that_need_old_values_are_refused_in_full_graphs() -> None:
    x = np.ones((2, 3))
    assert np.grad(overwriting_what_is_needed)(x).tolist() == [[2, 2, 2]] * 2
    with pytest.raises(Exception, match="modified by an inplace operation"):
        torch.compile(np.grad(overwriting_what_is_needed), fullgraph=True, backend="eager")(x)


def test_refusals_in_full_graphs_are_the_transforms_own() -> None:
    with pytest.raises(Exception, match="only floating and complex numbers have derivatives"):
        torch.compile(np.grad(loss), fullgraph=True, backend="eager")(np.arange(3))


SHOWN: dict[str, Callable[[Any], Any]] = {
    "repr": lambda x: (repr(x * 2), x + 1),
    "repr of a scalar": lambda x: (repr(x.sum()), x + 1),
    "str": lambda x: (str(x * 2), x + 1),
    "format": lambda x: (f"{x.sum():.3f} {x * 2}", x + 1),
    "array_repr": lambda x: (np.array_repr(x), x + 1),
    "array_str": lambda x: (np.array_str(x * 2, precision=1), x + 1),
    "array2string": lambda x: (np.array2string(x, separator=", "), x + 1),
    "format_float_positional": lambda x: (np.format_float_positional(x[1]), x + 1),
    "asnumpy": lambda x: (np.asnumpy(x * 2).tolist(), x + 1),
    "NumPy's function": lambda x: (numpy.asarray(x * 2).tolist(), x + 1),
    "dumps": lambda x: (x.dumps(), x + 1),
    "bins": lambda x: (np.histogram(x, 3)[0].tolist(), x + 1),
    "random numbers": lambda x: (np.random.default_rng(0).normal(size=3).tolist(), x + 1),
    "what Dynamo does not know": lambda x: (gc.collect() < 0, np.sin(x * 3.25) - 1.125),
}


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_no_part_of_a_graph_breaks_it(name: str) -> None:
    """Dynamo looked into it again, and into what followed: text had no values, and the rest ended in errors."""
    torch._dynamo.reset()
    compiled = torch.compile(SHOWN[name], backend="eager")
    for x in (np.asarray([0.5, 1, 2]), np.asarray([3, 4, 5.25])):
        found, expected = compiled(x), SHOWN[name](x)
        assert (found[0], found[1].tolist()) == (expected[0], expected[1].tolist())


def partly_python(v: Any) -> Any:
    return np.sum(v**3) * np.cos(np.asarray([1.0, 2.0])).tolist()[1]


BROKEN: dict[str, Callable[[Any], Any]] = {
    "grad": np.grad(partly_python),
    "grad of grad": np.grad(lambda x: np.sum(np.grad(partly_python)(x) ** 2)),
    "jacobian forward": np.jacobian(lambda x: x * partly_python(x), mode="forward"),
    "vectorized_map": lambda x: np.vectorized_map(lambda v: np.sum(np.histogram(v, 3)[1]), np.stack([x, x * 2])),
    "vjp": lambda x: np.vjp(lambda v: v * partly_python(v), x)[1](x + 1),
    "jvp": lambda x: np.jvp(partly_python, (x * 2,), (x + 1,)),
    "linearize": lambda x: np.linearize(partly_python, x)[1](x + 1),
}


@pytest.mark.parametrize("name", BROKEN)
def test_graphs_that_break_within_transforms(name: str) -> None:
    """Dynamo looked into what was left of the transform, whose tensors it can't make fake ones of."""
    torch._dynamo.reset()
    x = np.asarray([0.5, 1, 3])
    found = torch.compile(BROKEN[name], backend="eager")(x)
    torch.testing.assert_close(found, BROKEN[name](x))


def test_functions_that_look_for_derived_classes_go_into_graphs() -> None:
    """They share their code with those that are run as Python."""
    code = (
        "import torch, tnp as np; np.ones(2).view(type('Derived', (np.ndarray,), {})); "
        "print(torch.compile(np.linalg.det, fullgraph=True, backend='eager')(np.eye(2)).item())"
    )
    assert processes.run("-c", code).stdout == "1.0\n"


@pytest.mark.parametrize("name", [name for name in SHOWN if "repr" in name or "str" in name or name == "format"])
def test_full_graphs_hold_no_text_of_values(name: str) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(SHOWN[name], fullgraph=True, backend="eager")
    with pytest.raises(torch._dynamo.exc.Unsupported, match="text of an array"):
        compiled(np.ones(3))
