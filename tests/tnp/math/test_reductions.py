"""Sums, products, extremes, indices, truth and counts do what NumPy's do: values, dtypes, shapes, errors."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tnp
from tests.oracle import ALL, FLOATS, INTEGERS, REAL, agrees, compare, sample

SUMS = ["sum", "prod"]
EXTREMES = ["max", "min", "amax", "amin"]
TRUTHS = ["any", "all"]
ARGS = ["argmax", "argmin"]
REDUCTIONS = [*SUMS, *EXTREMES, *TRUTHS]
UFUNCS = ["add", "multiply", "maximum", "minimum", "logical_and", "logical_or", "fmax", "fmin"]


def close(dtype: str) -> dict[str, float]:
    """Tolerances for sums of a few dozen elements."""
    return {"float16": {"rtol": 2e-2, "atol": 2e-2}, "float32": {"rtol": 1e-5, "atol": 1e-5}}.get(
        np.dtype(dtype).type(0).real.dtype.name, {"rtol": 1e-12, "atol": 1e-12} if np.dtype(dtype).kind in "fc" else {}
    )


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_of_every_second_element(name: str, dtype: str) -> None:
    for shape in ((6, 8), (80, 100), (300, 400)):

        def views(xp: Any, shape: tuple[int, ...] = shape) -> tuple[Any, ...]:
            m = sample(xp, shape, dtype)
            return m[::2, ::2], m.T[1::2], m[:, ::3], m[::2].reshape(-1)[::2], m[:, None, 1:]

        for axis in (None, 0, -1):
            compare(lambda xp, axis=axis: tuple([getattr(xp, name)(view, axis=axis) for view in views(xp)]))
        compare(lambda xp: getattr(xp, name)(views(xp)[0], axis=(0, 1), keepdims=True))


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", [*REDUCTIONS, "count_nonzero"])
def test_axes(name: str, dtype: str) -> None:
    for axis in (None, 0, 1, -1, (0, 1), (2, 0), (), (0, 1, 2)):
        for keepdims in (False, True):
            compare(
                lambda xp, axis=axis, keepdims=keepdims: getattr(xp, name)(
                    sample(xp, (3, 2, 4), dtype), axis=axis, keepdims=keepdims
                ),
                **close(dtype),
            )


def permuted(xp: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, ...]:
    """Views of an array whose axes are in another order in memory; of one all elements along an axis are the same."""
    x = sample(xp, shape, dtype)
    every_second = sample(xp, (2, *shape[1:]), dtype)[:, ::2]
    one_axis_more = xp.broadcast_to(x[:, None], (shape[0], 3, *shape[1:]))
    return (
        *[x.transpose(axes) for axes in itertools.permutations(range(3))],
        every_second.transpose(2, 0, 1),
        x[..., ::-1].transpose(1, 2, 0),
        x[:1].transpose(1, 2, 0),
        one_axis_more.transpose(3, 1, 0, 2),
    )


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int64", "uint8", "bool"])
@pytest.mark.parametrize("name", [*REDUCTIONS, *ARGS, "count_nonzero", "ptp", "add.reduce", "hypot.reduce"])
def test_order_of_axes_in_memory(name: str, dtype: str) -> None:
    if (name, dtype) in {("ptp", "bool"), ("hypot.reduce", "complex128")}:
        return
    axes: list[Any] = [0, 1, -1] if name in ARGS else [0, 1, -1, (0, 1), (2, 0)]
    for axis, keepdims in itertools.product(axes, (False, True)):

        def reduced(xp: Any, axis: Any = axis, keepdims: bool = keepdims) -> Any:
            function = functools.reduce(getattr, name.split("."), xp)
            views = permuted(xp, (3, 2, 4), dtype)
            if name == "count_nonzero":  # a copy of a broadcast view: see the known difference order-of-mixed-layouts
                views = views[:-1]
            return [function(view, axis=axis, keepdims=keepdims) for view in views]

        compare(reduced, **close("float16" if name == "hypot.reduce" else dtype))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
@pytest.mark.parametrize("name", [*REDUCTIONS, "count_nonzero", "mean", "std", "nansum", "nanmax"])
def test_order_of_axes_of_many_elements(name: str, dtype: str) -> None:
    for axis in (0, 1, 2):
        compare(
            lambda xp, axis=axis: [
                getattr(xp, name)(x.transpose(order) % 5 + 1, axis=axis, **({"dtype": float} if name == "prod" else {}))
                for x in [xp.arange(33600).reshape(30, 28, 40).astype(dtype)]
                for order in itertools.permutations(range(3))
            ],
            rtol=1e-5,
        )


@pytest.mark.parametrize("dtype", INTEGERS)
def test_sums_of_many_integers_wrap_round(dtype: str) -> None:
    def summed(xp: Any) -> Any:
        x = (xp.arange(1, 70_001, dtype=xp.int64) * (2**63 // 70_000)).astype(dtype)
        return x.sum(), x[::2].sum(), x.reshape(70, 1000).sum(), x.reshape(70, 1000).T.sum(), x.sum(keepdims=True)

    compare(summed)


@pytest.mark.parametrize("options", [{"where": True}, {"initial": 2}, {"dtype": "complex64"}, {"out": ...}])
def test_order_of_axes_with_options(options: dict[str, Any]) -> None:
    def summed(xp: Any, axis: int) -> Any:
        given = dict(options)
        views = permuted(xp, (3, 2, 4), "float32")[: -1 if "where" in given else None]
        masks = [view > 2 for view in views]
        return [
            xp.add.reduce(view, axis, **(given | ({"where": mask} if "where" in given else {})))
            for view, mask in zip(views, masks, strict=True)
        ]

    for axis in (0, 1, 2):
        compare(summed, axis, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", ARGS)
def test_argextremes(name: str, dtype: str) -> None:
    for axis in (None, 0, 1, -1):
        for keepdims in (False, True):
            compare(
                lambda xp, axis=axis, keepdims=keepdims: getattr(xp, name)(
                    sample(xp, (3, 2, 4), dtype), axis, keepdims=keepdims
                )
            )


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_where_and_initial(name: str, dtype: str) -> None:
    def reduced(xp: Any, axis: Any, **options: Any) -> Any:
        mask = xp.asarray([[True, False, True, True], [False, False, True, False]])
        return getattr(xp, name)(sample(xp, (3, 2, 4), dtype), axis, where=mask, **options)

    for axis in (None, 0, (1, 2)):
        options = {} if name in TRUTHS else {"initial": 1}
        compare(reduced, axis, **options, **close(dtype))
        compare(reduced, axis, **close(dtype), may_raise=ValueError)
        if options:
            compare(lambda xp, axis=axis: getattr(xp, name)(sample(xp, (3, 2, 4), dtype), axis, initial=2),
                    **close(dtype))  # fmt: skip


@pytest.mark.parametrize("given", ALL)
@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", SUMS)
def test_dtype(name: str, dtype: str, given: str) -> None:
    def reduced(xp: Any) -> Any:
        return getattr(xp, name)(abs(sample(xp, (3, 4), given)), axis=0, dtype=dtype)

    compare(reduced, **(close("float16") if "float16" in (dtype, given) else close("float32")))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32", "float64", "complex128"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_out(name: str, dtype: str) -> None:
    def written(xp: Any, shape: tuple[int, ...], axis: Any) -> Any:
        out = xp.zeros(shape, dtype)
        result = getattr(xp, name)(abs(sample(xp, (3, 4), "float32")), axis=axis, out=out)
        assert result is out
        return out

    compare(written, (4,), 0, rtol=1e-5)
    compare(written, (), None, rtol=1e-5)
    compare(written, (3,), 0, raises=ValueError)
    compare(written, (1, 4), 0, raises=ValueError)


@agrees
def test_out_is_written_through(xp: Any) -> Any:
    x = xp.zeros((2, 3))
    xp.sum(xp.ones((4, 3)), axis=0, out=x[1])
    return x


@pytest.mark.parametrize("name", ARGS)
def test_out_of_argextremes(name: str) -> None:
    for dtype, shape in (("int64", (3,)), ("int32", (3,)), ("float64", (3,)), ("int64", (2,)), ("int64", (1, 3))):
        compare(
            lambda xp, d=dtype, s=shape: getattr(xp, name)(sample(xp, (2, 3), "int8"), 0, xp.zeros(s, d)),
            may_raise=(TypeError, ValueError),
        )


@pytest.mark.parametrize("name", ARGS)
@pytest.mark.parametrize("keepdims", [2.5, None, "", [0], [5], [0, 0], [[]]], ids=repr)
def test_argextremes_read_keepdims_for_its_truth(name: str, keepdims: Any) -> None:
    def read(xp: Any) -> Any:
        return xp.asarray(keepdims) if isinstance(keepdims, list) else keepdims

    compare(lambda xp: getattr(xp, name)(xp.ones((2, 3)), keepdims=read(xp)), may_raise=ValueError)
    compare(lambda xp: getattr(xp, name)([[3, 1]], 1, keepdims=read(xp)), may_raise=ValueError)
    compare(lambda xp: getattr(xp, name)(xp.ones((2, 3)), 7, keepdims=read(xp)), raises=ValueError)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (0, 0)])
@pytest.mark.parametrize("name", [*REDUCTIONS, *ARGS, "ptp", "count_nonzero"])
def test_empty(name: str, shape: tuple[int, ...]) -> None:
    for dtype in ("float32", "int16", "bool", "complex64"):
        for axis in (None, *range(len(shape))):
            compare(
                lambda xp, d=dtype, axis=axis: getattr(xp, name)(xp.zeros(shape, d), axis=axis),
                may_raise=(TypeError, ValueError),
            )
            if name not in [*TRUTHS, *ARGS, "ptp", "count_nonzero"]:
                compare(lambda xp, d=dtype, axis=axis: getattr(xp, name)(xp.zeros(shape, d), axis=axis, initial=1))
                compare(
                    lambda xp, d=dtype, axis=axis: getattr(xp, name)(xp.zeros(shape, d), axis=axis, initial=None),
                    may_raise=ValueError,
                )


def test_empty_says_why() -> None:
    with pytest.raises(ValueError, match="zero-size array to reduction operation maximum which has no identity"):
        tnp.max(tnp.zeros(0))
    with pytest.raises(ValueError, match="attempt to get argmin of an empty sequence"):
        tnp.argmin(tnp.zeros((0, 3)), axis=0)
    with pytest.raises(np.exceptions.AxisError, match="axis 2 is out of bounds for array of dimension 1"):
        tnp.sum(tnp.zeros(3), axis=2)
    with pytest.raises(ValueError, match="duplicate value in 'axis'"):
        tnp.sum(tnp.zeros((3, 3)), axis=(0, 0))


@pytest.mark.parametrize("axis", [3, -4, (0, 0), (0, -3), (0, 5), 0.5, "a", True, [0]])
@pytest.mark.parametrize("name", [*REDUCTIONS, *ARGS, "ptp", "count_nonzero"])
def test_wrong_axes(name: str, axis: Any) -> None:
    if name in ARGS and axis is True:
        return  # NumPy lets it pass for 1 there
    compare(lambda xp: getattr(xp, name)(xp.ones((2, 3, 4)), axis=axis), raises=(TypeError, ValueError))


@pytest.mark.parametrize("name", [*REDUCTIONS, *ARGS, "ptp", "count_nonzero"])
@pytest.mark.parametrize("axis", [None, 0, -1, 1, -2, (), (0,)])
def test_zero_dimensions(name: str, axis: Any) -> None:
    compare(lambda xp: getattr(xp, name)(xp.asarray(5.0), axis=axis), may_raise=(np.exceptions.AxisError, TypeError))
    compare(lambda xp: getattr(xp, name)(5, axis=axis, keepdims=True), may_raise=(np.exceptions.AxisError, TypeError))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", [*REDUCTIONS, *ARGS, "ptp"])
def test_nan_is_propagated(name: str, dtype: str) -> None:
    def reduced(xp: Any, axis: Any) -> Any:
        x = xp.asarray(np.array([[1, np.nan, 3], [np.inf, 5, np.nan], [-np.inf, 0, 2]], dtype))
        return getattr(xp, name)(x, axis=axis)

    for axis in (None, 0, 1):
        compare(reduced, axis)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["max", "min", *ARGS])
def test_complex_order(name: str, dtype: str) -> None:
    values = [[1 + 2j, 1 + 3j, 0 + 9j, 1 - 1j], [complex(2, np.nan), 5, complex(np.nan, 0), 1j], [1j, 2j, -1j, -1j]]
    for axis in (None, 0, 1):
        compare(lambda xp, axis=axis: getattr(xp, name)(xp.asarray(np.array(values, dtype)), axis=axis))


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("name", ["max", "min", *ARGS])
def test_ends_of_the_range(name: str, dtype: str) -> None:
    info = np.iinfo(dtype) if dtype in INTEGERS else np.finfo(dtype)
    values = np.array([info.min, info.max, 1, info.max, info.min], dtype)
    compare(lambda xp: getattr(xp, name)(xp.asarray(values)))


@pytest.mark.parametrize("dtype", ALL)
def test_ptp(dtype: str) -> None:
    for axis in (None, 0, (0, 1)):
        compare(
            lambda xp, axis=axis: xp.ptp(sample(xp, (3, 4), dtype), axis=axis, keepdims=axis == 0), may_raise=TypeError
        )
    compare(lambda xp: xp.ptp(sample(xp, (3, 4), dtype), axis=0, out=xp.zeros(4)), may_raise=TypeError)


@pytest.mark.parametrize("name", [*REDUCTIONS, *ARGS, "count_nonzero"])
@pytest.mark.parametrize("value", ["a", None, object()])
def test_what_is_no_number(name: str, value: Any) -> None:
    compare(lambda xp: getattr(xp, name)(value), may_raise=TypeError)


@pytest.mark.parametrize("name", [*REDUCTIONS, *ARGS, "count_nonzero"])
def test_lists_and_scalars(name: str) -> None:
    for value in ([1, 2, 0], [[1.5, 2], [3, 4]], (True, False), 3, 2.5, np.float32(2), []):
        compare(lambda xp, value=value: getattr(xp, name)(value), may_raise=ValueError)


@pytest.mark.parametrize("where", [[1, 0, 1], [True, False], [[True], [False]], True, [[True, False, True]]])
def test_shapes_of_where(where: Any) -> None:
    compare(lambda xp: xp.sum(xp.arange(3), where=where), may_raise=ValueError)
    compare(lambda xp: xp.sum(xp.ones((2, 3)), axis=0, where=where), may_raise=ValueError)


@pytest.mark.parametrize("initial", [2, 2.5, True, 1j, None, np.float32(3), "a", 300, -1])
@pytest.mark.parametrize("dtype", ["uint8", "float32", "complex64"])
def test_initial(initial: Any, dtype: str) -> None:
    if isinstance(initial, complex) and dtype != "complex64":
        return  # an int of it is refused in other words by each NumPy
    compare(lambda xp: xp.sum(xp.ones(3, dtype), initial=initial), may_raise=(OverflowError, ValueError))
    compare(lambda xp: xp.max(xp.ones(3, dtype), initial=initial), may_raise=(OverflowError, ValueError))


def test_initial_array() -> None:
    for xp in (np, tnp):
        for initial in ([1, 2], xp.ones(2)):
            with pytest.raises(ValueError, match="setting an array element with a sequence"):
                xp.sum(xp.ones(3), initial=initial)
    compare(lambda xp: xp.sum(xp.ones(3), initial=xp.asarray(2.5)))


@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.parametrize("dtype", ["bool", "uint16", "int32", "float32", "complex64"])
def test_reduce_of_ufuncs(name: str, dtype: str) -> None:
    for axis in (0, 1, None, (0, 1)):
        compare(lambda xp, axis=axis: getattr(xp, name).reduce(sample(xp, (3, 4), dtype), axis), **close(dtype))


@pytest.mark.parametrize(
    "name", ["subtract", "divide", "floor_divide", "bitwise_xor", "logaddexp", "hypot", "gcd", "lcm"]
)
def test_reduce_of_other_ufuncs(name: str) -> None:
    for dtype in ("uint8", "int64", "float64"):
        for axis in (0, 1, None):
            compare(lambda xp, d=dtype, axis=axis: getattr(xp, name).reduce(abs(sample(xp, (3, 4), d)), axis),
                    rtol=1e-3 if dtype == "uint8" else 1e-12, may_raise=(TypeError, ValueError))  # fmt: skip
        compare(lambda xp, d=dtype: getattr(xp, name).reduce(xp.zeros(0, d)), may_raise=(TypeError, ValueError))
        compare(
            lambda xp, d=dtype: getattr(xp, name).reduce(xp.ones(3, d), initial=2),
            rtol=1e-3 if dtype == "uint8" else 1e-12,
            may_raise=TypeError,
        )


def test_where_of_a_ufunc_that_is_not_reorderable() -> None:
    with pytest.raises(ValueError, match="does not have an identity"):
        tnp.subtract.reduce(tnp.ones(3), where=[True, False, True])
    compare(lambda xp: xp.subtract.reduce(xp.ones(3), where=[True, False, True], initial=0))


@settings(max_examples=60)
@given(st.data())
def test_any_shape(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 4), max_size=4)))
    axis = data.draw(
        st.none() | st.integers(-len(shape) - 1, len(shape)) | st.lists(st.integers(-3, 3), max_size=3).map(tuple)
    )
    name = data.draw(st.sampled_from([*REDUCTIONS, *(ARGS if not isinstance(axis, tuple) else []), "count_nonzero"]))
    dtype = data.draw(st.sampled_from(ALL))
    keepdims = data.draw(st.booleans())
    compare(
        lambda xp: getattr(xp, name)(sample(xp, shape, dtype), axis=axis, keepdims=keepdims),
        **close("float32" if dtype == "complex64" else dtype),
    )


def test_results_are_arrays_that_are_not_the_operand() -> None:
    x = tnp.ones((2, 3))
    for name in REDUCTIONS:
        y = getattr(tnp, name)(x, axis=())
        assert y.tensor.data_ptr() != x.tensor.data_ptr()


def test_gradient() -> None:
    x = tnp.asarray([[1.0, 2.0], [3.0, 4.0]])
    x.tensor.requires_grad_()
    tnp.sum(x * x, axis=0, where=[True, False], initial=1).tensor.sum().backward()
    assert x.tensor.grad.tolist() == [[2.0, 0.0], [6.0, 0.0]]


@pytest.mark.parametrize("axis", [2**63, -(10**30)])
def test_axis_beyond_int64(axis: int) -> None:
    compare(lambda xp: xp.sum(xp.ones((2, 3)), axis=axis), raises=OverflowError)
    compare(lambda xp: xp.ones((2, 3)).max(axis=axis), raises=OverflowError)
    compare(lambda xp: xp.cumsum(xp.ones((2, 3)), axis=axis), raises=OverflowError)
    compare(lambda xp: xp.mean(xp.ones((2, 3)), axis=axis), raises=OverflowError)
    compare(lambda xp: xp.concatenate([xp.ones(2)], axis=axis), raises=OverflowError)


@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod"])
def test_imaginary_parts_are_not_dropped_in_silence(name: str) -> None:
    for xp in (np, tnp):
        z = xp.asarray([1 + 2j, 3 - 1j])
        with pytest.warns(np.exceptions.ComplexWarning):
            assert getattr(xp, name)(z, dtype=float).dtype == float


@pytest.mark.parametrize("dtype", [*FLOATS, "complex64", "complex128"])
def test_sums_from_a_negative_zero(dtype: str) -> None:
    zero = np.dtype(dtype).type(complex(-0.0, -0.0) if dtype.startswith("complex") else -0.0)

    def signs(xp: Any) -> Any:
        x = xp.asarray(np.asarray([[zero, zero], [zero, 0], [zero, 1]], dtype))
        totals = [xp.sum(part, axis=axis, initial=zero) for part in (x, x[:0], x[:1]) for axis in (None, 1, ())]
        return [(xp.signbit(total.real), xp.signbit(total.imag)) for total in totals]

    compare(signs)


@pytest.mark.parametrize("keepdims", [2**31, 2**70, -(2**70)])
@pytest.mark.parametrize("name", ["sum", "any", "mean", "var", "count_nonzero"])
def test_keepdims_beyond_an_int(name: str, keepdims: int) -> None:
    compare(lambda xp: getattr(xp, name)(xp.ones(3), axis=0, keepdims=keepdims), raises=OverflowError)
    compare(lambda xp: xp.linalg.norm(xp.ones(3), -2, 0, keepdims), raises=OverflowError)
