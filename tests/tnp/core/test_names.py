"""NumPy's names that are no functions of arrays, and those that only the host computes."""

from __future__ import annotations

import ast
import io
import typing
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tnp
from tests.oracle import ALL, agrees, compare, sample

SAME = [
    "False_", "ScalarType", "True_", "base_repr", "binary_repr", "busdaycalendar", "bytes_", "datetime64", "flexible",
    "isscalar", "iterable", "longdouble", "mintypecode", "object_", "printoptions", "sctypeDict", "str_", "timedelta64",
    "typecodes", "typename", "void",
]  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_names_of_numpy(name: str) -> None:
    assert getattr(tnp, name) is getattr(np, name)


@pytest.mark.parametrize("name", ["float_", "NaN", "alltrue", "int", "in1d", "no_such_name"])
def test_names_that_numpy_has_no_more(name: str) -> None:
    """NumPy says what to use instead."""
    with pytest.raises(AttributeError) as theirs:
        getattr(np, name)
    with pytest.raises(AttributeError) as ours:
        getattr(tnp, name)
    assert str(ours.value) == str(theirs.value).replace("'numpy'", "'tnp'")


@pytest.mark.host
def test_they_know_our_arrays() -> None:
    assert tnp.isscalar(tnp.ones(2)[0]) and not tnp.isscalar(tnp.ones(2))
    assert tnp.iterable(tnp.ones(2)) and not tnp.iterable(tnp.asarray(1))
    assert tnp.binary_repr(tnp.arange(9)[5]) == "101" and tnp.base_repr(tnp.arange(9)[5], 3) == "12"
    with tnp.printoptions(precision=2):
        assert repr(tnp.asarray([1 / 3])) == "array([0.33])"


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("other", ["float16", "float32", "complex64", "int64"])
def test_common_type(dtype: str, other: str) -> None:
    compare(lambda xp: xp.common_type(xp.ones(1, dtype), xp.ones(1, other)), may_raise=TypeError)


@pytest.mark.parametrize("optimize", ["greedy", "optimal", True, False, ("greedy", 10)])
@agrees
def test_einsum_path(xp: Any, optimize: Any) -> Any:
    a, b, c = xp.ones((2, 3)), xp.ones((3, 40)), xp.ones((40, 2))
    interleaved = xp.einsum_path(a, [0, 1], b, [1, 2], c, [2, 0], optimize=optimize)
    return xp.einsum_path("ij,jk,kl", a, b, c, optimize=optimize), interleaved


@pytest.mark.host
@agrees
def test_busdays(xp: Any) -> Any:
    out = xp.zeros(2, int)
    assert xp.busday_count(["2024-01-01", "2024-02-01"], "2024-03-01", out=out) is out
    calendar = xp.busdaycalendar("1110000", ["2024-01-02"])
    return [
        out,
        xp.busday_count("2024-01-01", "2024-02-01", busdaycal=calendar),
        xp.busday_count("2024-01-01", "2024-02-01", "Mon Tue", ["2024-01-01"]),
        xp.is_busday(["2024-01-06", "2024-01-08"]),
        xp.is_busday("2024-01-08", holidays=["2024-01-08"]),
    ]


@pytest.mark.host
@pytest.mark.parametrize("name", ["is_busday", "busday_count"])
def test_numbers_are_no_dates(name: str) -> None:
    def counted(xp: Any, x: Any, *mask: Any) -> Any:
        x = xp.asarray(x)
        return getattr(xp, name)(*([x] if name == "is_busday" else [x, x]), *mask)

    compare(counted, [1, 2], raises=TypeError)
    compare(counted, 1.5, raises=TypeError)
    compare(counted, [], raises=TypeError)
    compare(counted, [1, 2], np.ones(7, bool), raises=TypeError)
    compare(lambda xp: xp.is_busday(["2024-01-06", "2024-01-08"], xp.asarray([1, 0, 0, 0, 0, 1, 0]) > 0))
    compare(lambda xp: xp.is_busday("2024-01-06", holidays=xp.asarray([1, 2])), raises=ValueError)


@pytest.mark.parametrize("name", ["sqrt", "log", "log2", "log10", "arccos", "arcsin", "arctanh"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float32", "float64", "complex64", "complex128"])
def test_emath(name: str, dtype: str) -> None:
    rtol = 1e-5 if dtype in ("int8", "float32", "complex64") else 1e-12
    compare(lambda xp: getattr(xp.emath, name)(sample(xp, (2, 3), dtype)), rtol=rtol, atol=1e-6)
    compare(lambda xp: getattr(xp.emath, name)(abs(sample(xp, (2, 3), dtype)) / 200), rtol=rtol, atol=1e-6)


@agrees(rtol=1e-12, atol=1e-12)
def test_powers(xp: Any) -> Any:
    e = xp.emath
    return [
        e.power(xp.asarray([2, 4]), -2), e.power(xp.asarray([-2, 4]), 2), e.power([2.0, 4.0], [0.5, -1]),
        e.logn(2, xp.asarray([4.0, -8.0])), e.sqrt(-1), e.sqrt(xp.asarray([1.0, xp.nan])),
        e.power(xp.asarray([2, 4]), 3),
    ]  # fmt: skip


@agrees
def test_what_is_about_dates_and_structures_is_numpys(xp: Any) -> Any:
    found = xp.fromregex(io.StringIO("1 a 2 b"), r"(\d) (.)", [("n", np.int64), ("key", "S1")])
    calendar = xp.busdaycalendar("1110000", ["2024-01-02"])
    offsets = xp.asarray([1, 2])
    return [
        xp.asarray(found["n"]),
        [str(day) for day in xp.busday_offset("2024-01-01", offsets)],
        [str(day) for day in xp.busday_offset("2024-01-01", offsets, busdaycal=calendar)],
        str(xp.busday_offset("2024-01-06", 0, "forward", holidays=["2024-01-08"])),
        str(xp.datetime_as_string(np.datetime64("2024-02-29T12:00"), "h")),
        str(xp.strings.upper("a")),
        xp.recarray is np.recarray,
    ]


ABSENT = {
    "nested_iters": "one nditer",
    "test": "python -m conformance numpy",
}


@pytest.mark.parametrize("name", ABSENT)
def test_absent_names_say_what_to_do(name: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute '{name}': .*{ABSENT[name]}"):
        getattr(tnp, name)


def test_nothing_else_is_explained() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
        tnp.nothing  # noqa: B018


@agrees
def test_masked_arrays_and_long_doubles_are_numpys(xp: Any) -> Any:
    masked = xp.ma.masked_less(xp.arange(4.0), 2)
    widest = f"float{8 * np.dtype(np.longdouble).itemsize}"
    return (
        xp.ma is np.ma, xp.asarray(masked.filled(7)), str(masked), xp.version is np.version,
        getattr(xp, widest) is getattr(np, widest), str(xp.ones(2, xp.longdouble)),
    )  # fmt: skip


@pytest.mark.host
def test_masked_arrays_take_ours_and_give_numbers_back() -> None:
    x = tnp.arange(4.0)
    masked = np.ma.masked_array(x, x > 2)
    assert type(masked) is type(x + masked) is type(masked + x) is np.ma.MaskedArray
    assert masked.mean() == 1
    assert tnp.asarray(np.ma.masked_less(x, 1).filled(7)).tolist() == [7, 1, 2, 3]


def test_types_for_annotations() -> None:
    def norm(x: tnp.typing.NDArray[np.float64], dtype: tnp.typing.DTypeLike, y: tnp.typing.ArrayLike) -> None: ...

    hints = typing.get_type_hints(norm, globals(), {})
    assert hints["x"] is tnp.ndarray and isinstance(tnp.ones(1), hints["y"].__args__[0])


def test_dir_names_what_there_is() -> None:
    names = dir(tnp)
    assert set(tnp.__all__) < set(names) and {"linalg", "fft", "random", "testing"} < set(names)
    assert all(hasattr(tnp, name) for name in names)


@pytest.mark.parametrize("module", [tnp, tnp.linalg, tnp.fft], ids=lambda module: module.__name__)
def test_no_function_reads_a_name_that_is_not_there_yet(module: ModuleType) -> None:
    """A module's imported functions leave its dictionary until a program reads them, as `inv` of `matrix_power` did."""
    tree = ast.parse(Path(module.__file__ or "").read_text())
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if not alias.asname
    }
    inside = [node for function in tree.body if isinstance(function, ast.FunctionDef) for node in ast.walk(function)]
    read = {node.id for node in inside if isinstance(node, ast.Name)}
    assert not read & imported & {*module.__all__}
