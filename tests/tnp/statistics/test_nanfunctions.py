"""The functions that leave NaN out do what NumPy's do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tnp
from tests.oracle import ALL, COMPLEX, FLOATS, agrees, compare, sample
from tests.tnp.math.test_reductions import close

REDUCTIONS = ["nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd", "nanmedian"]
ARGS = ["nanargmax", "nanargmin"]
SCANS = ["nancumsum", "nancumprod"]


def holed(xp: Any, dtype: str) -> Any:
    """A sample with NaN in some places if the dtype has it, no slice being without a number."""
    values = np.array(sample(np, (3, 4), dtype))
    if values.dtype.kind in "fc":
        values[[0, 1, 2], [2, 0, 3]] = np.nan
        values[0, 3] = np.nan
    return xp.asarray(values)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name: str, dtype: str) -> None:
    if name == "nanmedian" and dtype in COMPLEX:
        return  # NumPy's median of complex numbers with NaN sorts by another order
    tolerance = close("float64" if np.dtype(dtype).kind in "biu" else dtype)
    for axis in (None, 0, 1, (0, 1)):
        for keepdims in (False, True):
            compare(
                lambda xp, axis=axis, keepdims=keepdims: getattr(xp, name)(
                    holed(xp, dtype), axis=axis, keepdims=keepdims
                ),
                **tolerance,
            )


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", ARGS)
def test_argextremes(name: str, dtype: str) -> None:
    for axis in (None, 0, 1):
        compare(lambda xp, axis=axis: getattr(xp, name)(holed(xp, dtype), axis=axis, keepdims=axis == 0))


@pytest.mark.parametrize("dtype", [*FLOATS, "int64"])
@pytest.mark.parametrize("name", ARGS)
def test_argextremes_of_many(name: str, dtype: str) -> None:
    """Without NaN, with one, and with infinities alone."""

    def many(xp: Any, place: int | None, fill: float) -> Any:
        values = np.tile(sample(np, (200, 4), dtype), (1, 50))
        values[~np.isfinite(values)] = 3
        if place is not None and values.dtype.kind == "f":
            values.reshape(-1)[place:] = fill
        return xp.asarray(values)

    for place, fill in ((None, 0.0), (39999, np.nan), (200, np.nan), (0, np.inf), (0, -np.inf)):
        axes = (None,) if place == 200 else (None, 0, 1)
        for axis in axes:
            compare(
                lambda xp, axis=axis, place=place, fill=fill: getattr(xp, name)(
                    many(xp, place, fill), axis=axis, keepdims=axis == 0
                )
            )


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", SCANS)
def test_scans(name: str, dtype: str) -> None:
    for axis in (None, 0, 1):
        compare(lambda xp, axis=axis: getattr(xp, name)(holed(xp, dtype), axis=axis), **close(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", [*REDUCTIONS, *ARGS])
def test_nothing_but_nan(name: str, dtype: str) -> None:
    for axis in (None, 0, 1):
        compare(
            lambda xp, axis=axis: getattr(xp, name)(xp.full((2, 3), np.nan, dtype=dtype), axis=axis),
            may_raise=ValueError,
        )


@pytest.mark.parametrize("name", [*REDUCTIONS, *ARGS, *SCANS])
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_empty(name: str, shape: tuple[int, ...]) -> None:
    for axis in (None, *range(len(shape))):
        compare(lambda xp, axis=axis: getattr(xp, name)(xp.zeros(shape), axis=axis), may_raise=ValueError)


@pytest.mark.parametrize("name", [*REDUCTIONS, *ARGS, *SCANS])
@pytest.mark.parametrize("axis", [2, -3, 0.5])
def test_wrong_axes(name: str, axis: Any) -> None:
    compare(lambda xp: getattr(xp, name)(xp.ones((2, 3)), axis=axis), raises=(np.exceptions.AxisError, TypeError))


@pytest.mark.parametrize("name", ["nanvar", "nanstd"])
@pytest.mark.parametrize("ddof", [0, 1, 2, 3])
def test_degrees_of_freedom(name: str, ddof: int) -> None:
    compare(lambda xp: getattr(xp, name)(holed(xp, "float64"), axis=0, ddof=ddof), rtol=1e-12)
    compare(lambda xp: getattr(xp, name)(holed(xp, "int16"), axis=0, ddof=ddof), rtol=1e-12)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_out(name: str) -> None:
    def written(xp: Any, shape: tuple[int, ...]) -> Any:
        out = xp.zeros(shape, "float32")
        assert getattr(xp, name)(holed(xp, "float32"), axis=0, out=out) is out
        return out

    compare(written, (4,), rtol=1e-5)
    compare(written, (3,), raises=ValueError)


@pytest.mark.parametrize("name", REDUCTIONS[:-1])
def test_where(name: str) -> None:
    def reduced(xp: Any) -> Any:
        mask = xp.asarray([True, True, False, True])
        options = {"initial": 1} if name in ("nanmax", "nanmin") else {}
        return getattr(xp, name)(holed(xp, "float64"), axis=0, where=mask, **options)

    compare(reduced, rtol=1e-12)


def test_gradient_is_finite() -> None:
    for name in ("nansum", "nanmean", "nanvar", "nanmax"):
        x = tnp.asarray([1.0, np.nan, 3.0])
        x.tensor.requires_grad_()
        getattr(tnp, name)(x).tensor.backward()
        assert bool(x.tensor.grad.isfinite().all()), name


@agrees(raises=TypeError)
@pytest.mark.parametrize("options", [{"dtype": "int64"}, {"dtype": bool}, {"out": "int32"}])
@pytest.mark.parametrize("name", ["nanmean", "nanvar", "nanstd"])
def test_what_may_be_nan_goes_to_no_integer(xp: Any, name: str, options: Any) -> Any:
    if "out" in options:
        options = {"out": xp.zeros((), options["out"])}
    return getattr(xp, name)(xp.asarray([1.0, np.nan]), **options)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "complex64"])
@pytest.mark.parametrize("axis", [None, 0, 1, ()])
def test_medians_of_no_elements(axis: Any, dtype: str) -> None:
    compare(lambda xp: xp.nanmedian(xp.zeros((0, 3), dtype), axis, keepdims=True))
    if dtype != "int8":
        compare(lambda xp: xp.nanmedian(xp.zeros((0, 3), dtype), 0, xp.zeros(3, int)), raises=TypeError)
        compare(lambda xp: xp.nanmedian(xp.zeros((0, 3), dtype), 0, xp.zeros(3, dtype)))


@pytest.mark.parametrize("dtype", ["float64", "float16", "int64", "complex128"])
@pytest.mark.parametrize("axis", [None, 1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("shape", [(), (2,), (4, 2), (4, 2, 3), (2, 2, 1), (3, 3)])
def test_nanmedian_is_assigned_to_out(shape: Any, keepdims: bool, axis: Any, dtype: str) -> None:
    def call(xp: Any) -> Any:
        out = xp.zeros(shape, "float32")
        return xp.nanmedian(sample(xp, (2, 3), dtype), axis, out, keepdims=keepdims) is out, out

    compare(call, may_raise=(IndexError, ValueError))


@pytest.mark.parametrize("name", ["nanmax", "nanmin"])
def test_the_warning_of_nothing_but_nan(name: str) -> None:
    for make in (list, tuple, np.asarray):
        compare(lambda xp, make=make: getattr(xp, name)(make([np.nan, np.nan])))
        compare(lambda xp, make=make: getattr(xp, name)(make([[np.nan, 1.0], [np.nan, 2.0]]), axis=0))
    compare(lambda xp: getattr(xp, name)(xp.asarray([np.nan])))
    compare(lambda xp: getattr(xp, name)(np.nan))
    compare(lambda xp: getattr(xp, name)(xp.asarray([np.nan])[0]))


@agrees
def test_nanmedian_writes_through_strides(xp: Any) -> Any:
    out = xp.zeros((3, 4))
    xp.nanmedian(xp.asarray([[1.0, np.nan], [2.0, 4.0]]), 0, out.T[::2, 1:])
    return out


@agrees(raises=ValueError)
def test_a_median_that_is_nan_is_written_to_no_integer(xp: Any) -> Any:
    return xp.nanmedian(xp.asarray([np.nan]), None, xp.zeros(2, int))


@agrees
@pytest.mark.parametrize("name", ["nanvar", "nanstd", "var", "std"])
def test_truth_as_degrees_of_freedom(xp: Any, name: str) -> Any:
    function, x = getattr(xp, name), xp.asarray([1.0, 2.0, 4.0])
    return function(x, correction=True), function(x, ddof=xp.asarray(False)), function(x, ddof=np.True_)
