"""input_signature: what arguments are to be, one trace for open lengths, and programs saved for all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

import tnp as np
from backend_torch.graphs import exporting, symbolic

W = {"w": np.ones(3)}
SPECS = [np.ShapeDtypeStruct((None, 3), float), {"w": np.ShapeDtypeStruct((3,), float)}]


def product(x: Any, w: Any) -> Any:
    return x @ w["w"]


def compiled(function: Any = product, specs: Any = SPECS) -> Any:
    return np.compile(function, input_signature=specs, backend="eager")


OPEN = [np.ShapeDtypeStruct((None,), float)]


def test_one_trace_for_all_lengths() -> None:
    fn = compiled()
    for length in (2, 5, 9):
        assert fn(np.ones((length, 3)), W).tolist() == [3.0] * length
    assert fn([[1, 2, 3], [4, 5, 6]], {"w": [1, 1, 1]}).tolist() == [6.0, 15.0]
    assert fn(w=W, x=numpy.ones((4, 3))).tolist() == [3.0] * 4
    assert fn.cache_info().traces == 1


def test_a_signature_without_open_lengths() -> None:
    fn = compiled(lambda x: len(x) * x, [np.ShapeDtypeStruct(2, "f4")])
    assert fn([1, 2]).dtype == np.float32 and fn([1, 2]).tolist() == [2.0, 4.0]


@pytest.mark.parametrize(
    ("args", "error", "text"),
    [
        ((np.ones((2, 4)), W), ValueError, r"argument 0 is of shape \(2, 4\) where .* \(None, 3\)"),
        ((np.ones(3), W), ValueError, r"argument 0 is of shape \(3,\)"),
        ((np.ones((2, 3), int), W), TypeError, "argument 0 is of dtype int64 where .* float64"),
        ((np.ones((2, 3)), np.ones(3)), TypeError, "argument 1 is .*not built as"),
        ((np.ones((2, 3)),), TypeError, "2 arguments, but 1"),
    ],
)
def test_arguments_that_do_not_fit(args: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        compiled()(*args)


def test_what_is_no_signature() -> None:
    with pytest.raises(TypeError, match="list or a tuple"):
        compiled(specs=SPECS[0])
    with pytest.raises(TypeError, match="no shape and dtype"):
        compiled(specs=[3])
    with pytest.raises(ValueError, match="static"):
        np.compile(product, input_signature=SPECS, static_argnums=0)


def test_methods_and_transforms() -> None:
    fn = compiled()
    assert fn.graph().count("input") == 2
    fn.warmup()
    assert fn.cost().operations > 0
    assert np.grad(lambda x: fn(x, W).sum())(np.ones((2, 3))).tolist() == [[1, 1, 1]] * 2
    assert np.grad(compiled(lambda x: (x**2).sum(), OPEN))(np.ones(4)).tolist() == [2, 2, 2, 2]


def test_saved_for_all_lengths(tmp_path: Path) -> None:
    compiled().save(tmp_path / "product.pt2")
    loaded = np.load_compiled(tmp_path / "product.pt2", backend="eager")
    for length in (5, 2, 7):
        assert loaded(np.ones((length, 3)), W).tolist() == [3.0] * length
    assert loaded(np.ones((3, 2)).T, W).tolist() == [3.0, 3.0]
    with pytest.raises(ValueError, match=r"has shape \(2, 4\) where \(2, 3\) is expected"):
        loaded(np.ones((2, 4)), W)


@pytest.mark.parametrize(
    "function",
    [lambda x, y: np.concatenate([x + y, 2 * x]), lambda x, y: (x[:3] * y[:3], np.arange(x.shape[0] // 2 + 1) + x[0])],
)
def test_lengths_that_depend_on_each_other(function: Any, tmp_path: Path) -> None:
    compiled(function, OPEN * 2).save(tmp_path / "f.pt2")
    loaded = np.load_compiled(tmp_path / "f.pt2", backend="eager")
    for length in (4, 7):
        x = np.arange(float(length))
        for one, other in zip(loaded(x, x + 1), function(x, x + 1), strict=True):
            assert np.array_equal(one, other)


def test_what_a_program_supposes_of_lengths(tmp_path: Path) -> None:
    compiled(lambda x: x * (2 if x.shape[0] > 3 else 3), OPEN).save(tmp_path / "f.pt2")
    loaded = np.load_compiled(tmp_path / "f.pt2", backend="eager")
    assert loaded(np.ones(4)).tolist() == [2.0] * 4
    with pytest.raises(ValueError, match=r"shapes \[\(3,\)\], but .* holds: 4 <= "):
        loaded(np.ones(3))


def test_what_can_not_be_saved(tmp_path: Path) -> None:
    with pytest.raises(NotImplementedError, match="can't leave the lengths open"):
        compiled(lambda x: x * len({x.shape[0]}), OPEN).save(tmp_path / "f.pt2")
    with pytest.raises(NotImplementedError, match="the length of axis 0 of array 0"):
        compiled(lambda x: x * float(len(x)), OPEN).save(tmp_path / "f.pt2")
    with pytest.raises(TypeError, match="0 are given"):
        compiled(lambda x: x, OPEN).package(tmp_path / "f.pt2")


@pytest.mark.parametrize(
    "text", ["__import__('os')", "L['t0'] ** 9", "L['x']", "t0", "True.real", "[1 for x in L]", "(", 3]
)
def test_conditions_are_no_code(text: Any) -> None:
    with pytest.raises(ValueError, match="conditions"):
        symbolic.checked(text, [(0, 0)])


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "Pow(Integer(9), Integer(9))",
        "Symbol('s1', positive=True, integer=True).x",
        "Integer(1), lambda: 1",
    ],
)
def test_a_file_has_lengths_and_no_code(text: str) -> None:
    assert exporting._refused_part([{"expr_str": text}])
    assert exporting._refused_part([{"expr_str": "Add(Symbol('s1', positive=True, integer=True), Integer(2))"}]) is None


@pytest.mark.parametrize("text", ["__import__('os')", "L['tensors'][0].size()[0] ** 9", "L['x']", "9 ** 9"])
def test_a_file_has_conditions_of_lengths_alone(text: str) -> None:
    assert not exporting._CONDITION.fullmatch(text)
    assert exporting._CONDITION.fullmatch("L['tensors'][0].size()[0] % 2 == L['tensors'][1].size()[0] - 3")
