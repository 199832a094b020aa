"""Plain torch.compile(fullgraph=True) and torch.export over functions that use arrays inside."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import tnp as np

Tensor = torch.Tensor
WEIGHT = np.asarray(torch.arange(3.0))


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
    "matrix operators": lambda x: (x.T @ x) @ x.T + numpy.ones((3, 3)) @ x.T,
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


@pytest.mark.parametrize("name", FUNCTIONS)
def test_full_graph(name: str) -> None:
    def function(t: Tensor) -> Tensor:
        return FUNCTIONS[name](np.asarray(t)).tensor

    torch._dynamo.reset()
    t = torch.arange(6.0).reshape(2, 3)
    torch.testing.assert_close(torch.compile(function, fullgraph=True, backend="eager")(t), function(t))


@pytest.mark.parametrize("name", ["operators", "where", "in place", "joined", "made"])
def test_export(name: str) -> None:
    class Module(torch.nn.Module):
        def forward(self, t: Tensor) -> Tensor:
            return FUNCTIONS[name](np.asarray(t)).tensor

    t = torch.arange(6.0).reshape(2, 3)
    program = torch.export.export(Module(), (t,))
    torch.testing.assert_close(program.module()(t), Module()(t))


def test_arrays_in_and_out() -> None:
    compiled = torch.compile(lambda x: (np.exp(x) * 2, x.sum()), fullgraph=True, backend="eager")
    pair = compiled(np.zeros(3))
    assert [type(part).__name__ for part in pair] == ["ndarray", "scalar"]
    assert (pair[0].tolist(), pair[1]) == ([2, 2, 2], 0)


def test_machine_code_and_gradients() -> None:
    compiled = torch.compile(lambda t: np.where(np.asarray(t) > 1, np.asarray(t) * 3, 0.5).sum().tensor, fullgraph=True)
    t = torch.arange(4.0, requires_grad=True)
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
