"""dtypes: NumPy's own objects, and the questions about them with tnp's arrays in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tnp
from tests.oracle import ALL, COMPLEX, FLOATS, INTEGERS, agrees, compare
from tnp._core.dtypes import DtypeError, tensor_dtype

NAMES = [*ALL, "int_", "uint", "intc", "uintc", "intp", "uintp", "byte", "ubyte", "short", "ushort", "long", "ulong",
         "longlong", "ulonglong", "half", "single", "double", "csingle", "cdouble", "number", "integer", "floating",
         "inexact", "generic", "signedinteger", "unsignedinteger", "complexfloating", "bool_"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_dtypes_are_numpys(name: str) -> None:
    assert getattr(tnp, name) is getattr(np, name)


@pytest.mark.parametrize("spelling", ["f4", "<f4", "float32", "single", np.float32, np.dtype("f4"), "=f4"])
def test_every_spelling_is_understood(spelling: Any) -> None:
    x = tnp.ones(2, spelling)
    assert x.dtype is np.dtype(np.float32) and x.tensor.dtype is torch.float32


@pytest.mark.parametrize("kind", [np.dtypes.Float32DType, np.dtypes.Int8DType, np.dtypes.BoolDType])
@agrees
def test_classes_of_dtypes(xp: Any, kind: Any) -> Any:
    return xp.ones(2, kind), xp.zeros((), dtype=kind)


def test_arrays_are_no_dtypes_and_scalars_are_their_own() -> None:
    with pytest.raises(TypeError, match=r"^Cannot construct a dtype from an array$"):
        tnp.ones(2, tnp.ones(3))
    compare(lambda xp: xp.ones(2, xp.ones(3)), raises=TypeError)
    compare(lambda xp: xp.ones(2, xp.float32(3)))
    compare(lambda xp: xp.ones(2, xp.ones(1, "f4")[0]))
    compare(lambda xp: xp.can_cast("i2", xp.ones(3)), raises=TypeError)
    compare(lambda xp: xp.can_cast("i2", None), raises=TypeError)
    compare(lambda xp: xp.can_cast("i2", xp.ones(3, "f4")[0]))


@pytest.mark.parametrize("dtype", ["U3", "M8[s]", object])
def test_what_no_tensor_carries_is_said(dtype: Any) -> None:
    with pytest.raises(TypeError, match=r"hold numbers and booleans: no tensor has dtype .*; keep such data"):
        tnp.asarray([1, 2], dtype, device="meta")


@pytest.mark.parametrize("dtype", [int, float, bool, complex, "l", "q", "L", "Q", "p", "i", None])
@agrees
def test_pythons_types_and_cs(xp: Any, dtype: Any) -> Any:
    return xp.ones(2, dtype)


@pytest.mark.parametrize("dtype", ALL)
def test_result_of_every_pair(dtype: str) -> None:
    for other in ALL:
        compare(lambda xp, o=other: str(xp.result_type(dtype, o)))
        compare(lambda xp, o=other: str(xp.result_type(xp.ones(2, dtype), o, xp.ones((), "i1"))))
        compare(lambda xp, o=other: str(xp.promote_types(dtype, o)))
        compare(lambda xp, o=other: [xp.can_cast(dtype, o, c) for c in ("no", "safe", "same_kind", "unsafe")])
        compare(lambda xp, o=other: xp.can_cast(xp.ones(2, dtype), o))


@pytest.mark.parametrize("value", [True, 1, -1, 2**40, 2**64, 1.5, 1j, np.float32(2), np.int8(1), np.uint64(1)])
@pytest.mark.parametrize("dtype", ALL)
@agrees
def test_result_with_scalars(xp: Any, dtype: str, value: Any) -> Any:
    x = xp.asarray(np.ones(2, dtype))
    return [str(xp.result_type(a, value)) for a in (x, x[0], xp.asarray(x[0]), dtype)]


@pytest.mark.parametrize("args", [(), ("U3", "i4"), ("f4", "M8[s]"), ("nonsense",), (5,), (5, 2.5), (True, 1j)])
def test_result_of_other_operands(args: Any) -> None:
    compare(lambda xp: str(xp.result_type(*args)), may_raise=(TypeError, ValueError))


def test_result_with_tensors_and_numpys_arrays() -> None:
    assert tnp.result_type(torch.ones(2), np.ones(2, np.int64), tnp.ones(2, np.int8)) == np.float64
    assert np.result_type(tnp.ones(2, np.float32), 1.0) == np.float32


@pytest.mark.parametrize("value", [5, 1.5, 1j])
@agrees(raises=TypeError)
def test_python_scalars_have_no_dtype_to_cast(xp: Any, value: Any) -> Any:
    return xp.can_cast(value, "i4")


@pytest.mark.parametrize("value", [5, -5, 300, 2**40, 2**63, -(2**40), 1.5, 1e300, 1j, True, np.float64(3), [1, 2]])
@agrees
def test_smallest_dtype(xp: Any, value: Any) -> Any:
    x = xp.asarray(value)
    return [str(xp.min_scalar_type(v)) for v in (value, x, xp.ravel(x)[0])]


def test_smallest_dtype_of_what_no_array_holds() -> None:
    compare(lambda xp: str(xp.min_scalar_type(2**64)))


@pytest.mark.parametrize("kind", ["bool", "signed integer", "unsigned integer", "integral", "real floating",
                                  "complex floating", "numeric", ("integral", "bool"), "f4", np.int8])  # fmt: skip
@pytest.mark.parametrize("dtype", ALL)
def test_kinds(dtype: str, kind: Any) -> None:
    compare(lambda xp: xp.isdtype(xp.ones(1, dtype).dtype, kind), may_raise=ValueError)


@pytest.mark.parametrize("dtype", ALL)
@agrees
def test_kinds_of_types(xp: Any, dtype: str) -> Any:
    kinds = (xp.number, xp.integer, xp.floating, xp.complexfloating, xp.generic, xp.bool, xp.signedinteger)
    return [xp.issubdtype(xp.ones(1, dtype).dtype, kind) for kind in kinds]


@pytest.mark.parametrize("dtype", FLOATS + COMPLEX)
def test_limits_of_floats(dtype: str) -> None:
    limits, x = np.finfo(dtype), tnp.ones(2, dtype)
    for made in (tnp.finfo(dtype), tnp.finfo(x.dtype), tnp.finfo(x), tnp.finfo(x[0])):
        assert (made.eps, made.max, made.tiny, made.bits, made.dtype) == (
            limits.eps, limits.max, limits.tiny, limits.bits, limits.dtype
        )  # fmt: skip


@pytest.mark.parametrize("dtype", INTEGERS)
def test_limits_of_integers(dtype: str) -> None:
    limits, x = np.iinfo(dtype), tnp.ones(2, dtype)
    for made in (tnp.iinfo(dtype), tnp.iinfo(x.dtype), tnp.iinfo(x), tnp.iinfo(x[0])):
        assert (made.min, made.max, made.bits, made.dtype) == (limits.min, limits.max, limits.bits, limits.dtype)


@pytest.mark.parametrize(("name", "dtype"), [("iinfo", float), ("finfo", int), ("finfo", bool)])
@agrees(raises=ValueError)
def test_limits_of_the_other_kind(xp: Any, name: str, dtype: Any) -> Any:
    return getattr(xp, name)(xp.ones(1, dtype).dtype)


@pytest.mark.parametrize(
    ("dtype", "text"), [("U3", "no tensor has dtype dtype\\('<U3'\\)"), (">i4", "byte order of dtype\\('>i4'\\)")]
)
def test_a_refusal_names_the_dtype(dtype: str, text: str) -> None:
    with pytest.raises(DtypeError, match=text):
        tensor_dtype(dtype)


def test_the_text_of_a_refusal_is_written_when_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A structure of many fields has a long text, which nobody reads where NumPy computes instead."""
    written: list[Any] = []
    monkeypatch.setattr(DtypeError, "__str__", lambda error: written.append(error) or "")
    x = tnp.zeros(3, [("a", "i4"), ("b", "f8")])
    tnp.concatenate([x, x]), tnp.ndarray((3,), x.dtype), tnp.sort(x, order="b")
    assert not written
