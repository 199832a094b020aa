"""The calling convention of ufuncs: operands, outputs and every option against NumPy."""

from __future__ import annotations

import itertools
import operator
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import tnp
from tests.oracle import ALL, INTEGERS, REAL, Raised, agrees, compare, ours, outcome, sample

UFUNCS = sorted({value.__name__ for value in vars(tnp).values() if isinstance(value, tnp.ufunc)})


# What a ufunc is.


def test_every_numeric_ufunc_is_there() -> None:
    numpy_ufuncs = {name for name in np.__all__ if isinstance(getattr(np, name), np.ufunc)}
    assert numpy_ufuncs - {name for name, value in vars(tnp).items() if isinstance(value, tnp.ufunc)} == set()


@pytest.mark.parametrize("name", UFUNCS)
def test_attributes(name: str) -> None:
    ours, theirs = getattr(tnp, name), getattr(np, name)
    for attribute in ("__name__", "nin", "nout", "nargs", "ntypes", "types", "identity", "signature"):
        assert getattr(ours, attribute) == getattr(theirs, attribute), attribute
    assert repr(ours) == repr(theirs)
    assert pickle.loads(pickle.dumps(ours)) is ours
    assert name in str(ours.__doc__) or ours.__doc__


# Operands.


@agrees
def test_lists_scalars_and_arrays(xp: Any) -> Any:
    x = xp.asarray([1.5, 2.5])
    return (
        xp.add([1, 2], [3, 4]),
        xp.add(1, 2),
        xp.add(True, 2.5),
        xp.add([1, 2], x),
        xp.add(x, (1, 2)),
        xp.add(np.float32(1), 2),
        xp.add(x, np.int8(3)),
        xp.sin(0),
        xp.sin([0.0, 1.0]),
        xp.divmod(7, 3),
        xp.divmod(x, 2),
        xp.divmod(7, x),
        xp.add(1j, x),
        xp.negative([1, 2]),
    )


@pytest.mark.parametrize("value", [-1, 127, 128, 255, 256, 2**31, 2**63, 2**64, -(2**63) - 1])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_python_int_beside_integers(dtype: str, value: int) -> None:
    compare(lambda xp: xp.add(sample(xp, (3,), dtype), value, casting="same_kind"), may_raise=OverflowError)
    compare(lambda xp: xp.multiply(value, sample(xp, (3,), dtype)), may_raise=OverflowError)
    compare(lambda xp: xp.less(sample(xp, (3,), dtype), value))


@agrees
def test_python_ints_of_any_size_compare(xp: Any) -> Any:
    return xp.less(1, 2), xp.less(2**64, 1), xp.equal(2**70, 2**70), xp.greater(-(2**80), 2**70), xp.not_equal(1, 1.0)


@agrees(raises=OverflowError)
def test_python_int_beyond_floats(xp: Any) -> Any:
    return xp.less(xp.ones(2), 10**400)


@pytest.mark.parametrize("call", [lambda xp: xp.add(1), lambda xp: xp.add(), lambda xp: xp.sin(1, 2, 3)])
def test_wrong_number_of_operands(call: Any) -> None:
    compare(call, raises=TypeError)


@agrees(raises=ValueError)
def test_shapes_that_do_not_fit(xp: Any) -> Any:
    return xp.add(xp.ones((2, 3)), xp.ones((2,)))


def test_shapes_are_in_the_message() -> None:
    with pytest.raises(ValueError, match=r"operands could not be broadcast together with shapes \(2,3\) \(2,\)"):
        tnp.add(tnp.ones((2, 3)), tnp.ones(2))
    with pytest.raises(ValueError, match=r"operands could not be broadcast together with shapes \(2,3\) \(2,\)"):
        tnp.add(tnp.ones((2, 3)), tnp.ones(2), order="C")


# out.


@pytest.mark.parametrize("dtype", REAL)
@agrees
def test_out(xp: Any, dtype: str) -> Any:
    x = sample(xp, (2, 3), dtype)
    out = xp.zeros((2, 3), dtype=dtype)
    returned = xp.add(x, x, out)
    again = xp.add(x, x, out=(out,))
    return out, returned is out, again is out


@agrees
def test_out_is_broadcast_to(xp: Any) -> Any:
    out = xp.zeros((2, 3))
    xp.add(xp.ones(3), 1, out=out)
    return out


@pytest.mark.parametrize("shape", [(3,), (2,), (2, 1), (), (1, 2, 2)])
def test_out_of_another_shape(shape: tuple[int, ...]) -> None:
    compare(lambda xp: xp.add(xp.ones((2, 3)), 1, out=xp.zeros(shape)), raises=ValueError)


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe", "other"])
@pytest.mark.parametrize("out_dtype", ALL)
@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_casting_to_out(dtype: str, out_dtype: str, casting: str) -> None:
    compare(
        lambda xp: xp.add(sample(xp, (3,), dtype), 1, out=xp.zeros(3, dtype=out_dtype), casting=casting),
        may_raise=(TypeError, ValueError),
    )


def test_failed_call_leaves_out_alone() -> None:
    out = tnp.ones(2, dtype="int32")
    with pytest.raises(TypeError):
        tnp.add(tnp.ones(2), 1.5, out=out)
    with pytest.raises(ValueError):
        tnp.add(tnp.ones(3), 1.5, out=tnp.ones(2))
    assert out.tolist() == [1, 1]


@pytest.mark.parametrize("out", [3, [1.0, 2.0], (None, None), ()])
def test_out_of_a_wrong_kind(out: Any) -> None:
    compare(lambda xp: xp.add(xp.ones(2), 1, out=out), raises=(TypeError, ValueError))


@agrees
def test_out_overlaps_the_operands(xp: Any) -> Any:
    x = xp.arange(10.0)
    xp.add(x[:-1], x[1:], out=x[1:])
    y = xp.arange(10.0)[::2]
    xp.positive(y[:-1], out=y[1:])
    z = xp.arange(4) * 1j
    xp.conjugate(z[:-1], out=z[1:])
    return x, y, z


@pytest.mark.host
def test_out_is_a_numpy_array() -> None:
    out = np.zeros(3)
    assert tnp.add(tnp.ones(3), 1, out=out) is out
    assert out.tolist() == [2, 2, 2]
    tnp.add(tnp.arange(3), 1, out=out[::-1])
    assert out.tolist() == [3, 2, 1]
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        tnp.add(tnp.ones(3), 1, out=out)


@agrees(raises=ValueError)
def test_out_is_a_broadcast_view(xp: Any) -> Any:
    return xp.add(xp.ones((2, 3)), 1, out=xp.broadcast_to(xp.ones(3), (2, 3)))


@agrees
def test_out_ellipsis_asks_for_an_array(xp: Any) -> Any:
    result = xp.add(1, 2, out=...)
    return isinstance(result, xp.ndarray), result, xp.modf(xp.asarray(1.5), out=...)


# where.


@agrees
def test_where(xp: Any) -> Any:
    x = xp.arange(6.0).reshape(2, 3)
    out = xp.full((2, 3), -1.0)
    xp.add(x, 1, out=out, where=[True, False, True])
    xp.multiply(x, 2, out=out, where=x > 4)
    xp.negative(x, out=out, where=xp.asarray([[True], [False]]))
    xp.sqrt(x, out=out, where=False)
    return out


@agrees
def test_where_widens_the_result(xp: Any) -> Any:
    out = xp.zeros((2, 3))
    return xp.add(xp.ones(3), 1, out=out, where=xp.asarray([[True], [False]]))


def test_where_without_out_has_the_shape_of_both() -> None:
    result = tnp.add(tnp.ones(3), 1, where=tnp.asarray([[True], [True]]))
    assert result.tolist() == [[2, 2, 2], [2, 2, 2]]


@pytest.mark.parametrize("where", [[1, 0, 1], np.asarray([1, 0, 1]), [True, False], np.asarray([1.0, 0.0, 1.0])])
def test_where_that_is_no_mask(where: Any) -> None:
    compare(lambda xp: xp.add(xp.ones(3), 1, out=xp.zeros(3), where=where), may_raise=(TypeError, ValueError))


@pytest.mark.parametrize("dtype", ALL)
@agrees
def test_where_on_every_dtype(xp: Any, dtype: str) -> Any:
    x = sample(xp, (5,), dtype)
    return xp.equal(x, x, out=xp.zeros(5, dtype=dtype), where=xp.asarray([True, False, True, False, True]))


# dtype, casting, signature, order, subok.


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("given_dtype", ["bool", "int8", "uint64", "float32", "complex128"])
@pytest.mark.parametrize("name", ["add", "subtract", "equal", "divide", "logical_and", "power"])
def test_dtype(name: str, given_dtype: str, dtype: str) -> None:
    def call(xp: Any) -> Any:
        x = xp.asarray([1, 0, 1]).astype(given_dtype)
        return getattr(xp, name)(x, x, dtype=dtype)

    compare(call, may_raise=TypeError)


@pytest.mark.parametrize("casting", ["no", "safe", "same_kind", "unsafe", "nonsense"])
@pytest.mark.parametrize("dtype", ["int32", "float32", "complex64"])
def test_casting(casting: str, dtype: str) -> None:
    compare(lambda xp: xp.add(xp.ones(2), xp.ones(2), dtype=dtype, casting=casting), may_raise=(TypeError, ValueError))


@pytest.mark.parametrize(
    "options",
    [
        {"signature": "ff->f"},
        {"sig": "ff->f"},
        {"signature": "dd->d"},
        {"signature": (None, None, "f4")},
        {"signature": (float, float, None)},
        {"signature": "dd->d", "dtype": float},
        {"signature": "dd->d", "sig": "dd->d"},
        {"signature": (float,)},
        {"order": "F"},
        {"order": "C"},
        {"order": "Z"},
        {"subok": False},
        {"axis": 0},
        {"keepdims": True},
        {"nonsense": 1},
    ],
)
def test_options(options: dict[str, Any]) -> None:
    compare(lambda xp: xp.add(xp.ones((2, 3), dtype="float32"), 1, **options), may_raise=(TypeError, ValueError))


@pytest.mark.parametrize("order", ["C", "F"])
@agrees
def test_order(xp: Any, order: str) -> Any:
    x = xp.ones((2, 3))
    flags = [xp.add(y, 1, order=order).flags for y in (x, x.T)]
    return [(f.c_contiguous, f.f_contiguous) for f in flags]


# Several outputs.


@pytest.mark.parametrize("name", ["modf", "frexp"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
def test_two_results_of_many_elements(name: str, dtype: str) -> None:
    def pairs(xp: Any) -> Any:
        x = xp.asarray(np.resize([0.0, -0.0, 1.5, -3.75, 1e-40, 6e4, -2.0], 40_000)).astype(dtype)
        return [getattr(xp, name)(each) for each in (x, x[:7], x[::3], x.reshape(200, -1), x.reshape(200, -1).T, x[2])]

    compare(pairs)


@pytest.mark.parametrize("name", ["modf", "frexp"])
@agrees
def test_two_outputs_are_of_one_shape(xp: Any, name: str) -> Any:
    ufunc, x = getattr(xp, name), xp.asarray([1.5])
    first, second = ufunc(xp.ones(0))
    return ufunc(x, out=(first, None)), ufunc(x, out=(None, second)), ufunc(x, where=x > 2, out=(None, second))


@pytest.mark.parametrize("name", ["modf", "frexp"])
@agrees
def test_two_outputs(xp: Any, name: str) -> Any:
    ufunc = getattr(xp, name)
    x = xp.asarray([1.5, -2.25, 0.0])
    first, second = ufunc(x)
    one, other = xp.empty_like(first), xp.empty_like(second)
    results = [ufunc(x, one, other), ufunc(x, out=(one, None)), ufunc(x, None, other), ufunc(1.5)]
    kept = results[0][0] is one and results[0][1] is other and results[1][0] is one and results[2][1] is other
    return results, kept, isinstance(results[0], tuple)


@agrees
def test_divmod(xp: Any) -> Any:
    x = xp.asarray([7, -7, 8])
    one, other = xp.zeros(3, dtype=int), xp.zeros(3)
    returned = xp.divmod(x, 3, one, other)
    masked = xp.divmod(x, 2, out=(one, other), where=[True, False, True])
    return divmod(x, 3), divmod(20, x), returned, masked, one, other, xp.divmod(x, 2.5), xp.divmod(x, 2, dtype="f4")


@pytest.mark.parametrize("out", [(None,), (None, None, None), 3])
def test_outputs_of_a_wrong_number(out: Any) -> None:
    compare(lambda xp: xp.divmod(xp.arange(3), 2, out=out), raises=(TypeError, ValueError))


@agrees
def test_frompyfunc(xp: Any) -> Any:
    return xp.frompyfunc(len, 1, 1)(["a", "bc"])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_predicates_write_to_the_dtype_of_their_operand(dtype: str) -> None:
    """torch.signbit takes an out of another dtype than bool for an error."""

    def write(xp: Any) -> Any:
        x = xp.asarray([1.0, -0.0, float("nan")], dtype=dtype)
        return [getattr(xp, name)(x, out=xp.zeros_like(x)) for name in ("signbit", "isnan", "logical_not")]

    compare(write)


@pytest.mark.parametrize("name", ["negative", "absolute", "sign", "floor", "square", "invert", "conjugate", "isfinite"])
def test_python_int_beyond_int64(name: str) -> None:
    """Weak beside nothing: NumPy reads it as uint64."""
    compare(lambda xp: [getattr(xp, name)(value) for value in (2**63 - 1, 2**63, 2**64 - 1)])
    compare(lambda xp: getattr(xp, name)(2**64), may_raise=TypeError)  # an object, which NumPy computes


@agrees
def test_masked_negative_exponents(xp: Any) -> Any:
    """Integers have no negative powers, but what ``where`` leaves out is not computed."""
    x, y = xp.asarray([2, 3]), xp.asarray([-1, 2])
    masked = xp.power(2, y, where=[[False, True], [False, False]], out=xp.zeros((2, 2), dtype=int))
    return xp.power(x, y, where=y >= 0, out=xp.zeros_like(x)), masked


@agrees
def test_negative_exponents_of_no_elements(xp: Any) -> Any:
    x, y = xp.asarray([[2], [3]]), xp.asarray([[-1], [-2]])
    return xp.power(x, y, out=xp.zeros((2, 0), dtype=int)), xp.power(x[:0], -1), xp.power(2, y[:0])


@agrees(raises=ValueError)
def test_negative_exponents_that_are_used(xp: Any) -> Any:
    return xp.power(xp.asarray([2, 3]), xp.asarray([-1, 2]), where=[True, False], out=xp.zeros(2, dtype=int))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
@agrees()
def test_powers_of_many_integers_wrap_round(xp: Any, dtype: str) -> Any:
    x = xp.arange(6000).reshape(60, 100).astype(dtype)
    return x ** xp.asarray(5, dtype), x.T[::2] ** abs(x.T[1::2] % 7), xp.power(x[3], x[:, :1] % 9)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64", "int64"])
@agrees()
def test_powers_of_integers_with_one_exponent(xp: Any, dtype: str) -> Any:
    x = (xp.arange(600) - 3).astype(dtype)
    in_place = x.copy()
    in_place **= 7
    return [x ** xp.asarray(exponent, dtype) for exponent in (0, 1, 2, 3, 4, 6, 7, 63, 100)], in_place


@pytest.mark.parametrize("exponent", [-1, -0.5, 0, 0.5, 1, 2, 3])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_power_in_place_is_the_power(dtype: str, exponent: float) -> None:
    """NumPy's short cuts (0.5 is a root) are those of ``**=`` too."""
    x = tnp.asarray([4.0, 2.25, float("inf"), -float("inf"), -0.0, float("nan")], dtype=dtype)
    y = x.copy()
    y **= exponent
    np.testing.assert_array_equal(tnp.asnumpy(y), tnp.asnumpy(x**exponent))


@agrees
def test_root_in_place(xp: Any) -> Any:
    x = xp.asarray([4.0, -float("inf"), -0.0])
    x **= 0.5
    return x, xp.signbit(x[2])


@agrees
def test_zeroth_power_of_complex(xp: Any) -> Any:
    z = xp.asarray([complex("nan"), complex("inf"), complex("nan+infj"), 0, 1j])
    return z**0, z ** xp.asarray(0), z ** xp.zeros(5), z**False


@pytest.mark.parametrize("step", [1, 2])
def test_out_that_an_operand_is_a_part_of(step: int) -> None:
    """It is broadcast over the elements that are written: each is read before any is."""

    def write(xp: Any, one: Any, other: Any) -> Any:
        x = xp.arange(1.0, 25.0).reshape(4, 6)
        y = x[:, ::step]
        xp.subtract(y[one], y[other], out=y)
        return x

    parts = [slice(None), slice(1), slice(1, 2), (slice(None), slice(1)), (slice(None), slice(-1, None)), (0, 0, ...)]
    for part in parts:
        compare(write, slice(None), part)
        compare(write, part, slice(None))

    def exp(xp: Any) -> Any:
        x = xp.arange(1.0, 13.0)
        xp.exp(x[::step][:1], out=x[::step])
        xp.multiply(x[2:3], x[2:3], out=x[::step])
        return x

    compare(exp)


@pytest.mark.parametrize("order", ["c", "f", "k", "a", None])
def test_order_in_lower_case(order: Any) -> None:
    compare(lambda xp: xp.add(xp.ones((2, 3)), 1, order=order))
    compare(lambda xp: xp.matmul(xp.ones((2, 3)), xp.ones((3, 2)), order=order))


@agrees
@pytest.mark.parametrize("dtype", ["int64", "float64", "complex128", "bool"])
def test_equiv_casting_of_arrays_whose_dtype_is_a_python_number_s(xp: Any, dtype: str) -> Any:
    x = xp.asarray([0, 1], dtype)
    return xp.logical_and(x, x, casting="equiv"), xp.logical_xor(x, xp.asarray([1.5, 0.0]), casting="equiv")


@agrees
@pytest.mark.parametrize("where", [np.int8(-3), np.float16(0.0), np.True_])
def test_where_is_a_number_of_numpy(xp: Any, where: Any) -> Any:
    return xp.negative(xp.asarray([1.0, 2.0]), where=where, out=xp.zeros(2))


@agrees(raises=TypeError)
@pytest.mark.parametrize("options", [{"dtype": "uint16"}, {"casting": "no", "dtype": "float64"}])
def test_a_lone_python_integer_is_an_int64(xp: Any, options: Any) -> Any:
    return xp.square(3, **options)


@agrees(raises=TypeError)
def test_a_lone_python_integer_that_no_dtype_holds(xp: Any) -> Any:
    return xp.log10(-(2**70))


def _shifted(x: Any) -> Any:
    x[1:] += x[:-1]


def _less_the_first(x: Any) -> Any:
    x -= x[:1]


def _times_itself(x: Any) -> Any:
    x *= x


@pytest.mark.parametrize("write", [_shifted, _less_the_first, _times_itself])
def test_operands_that_overlap_in_a_batch(write: Any) -> None:
    def written(tensor: torch.Tensor) -> torch.Tensor:
        x = tnp.asarray(tensor).copy()
        write(x)
        return x.tensor

    batch = torch.arange(1.0, 13.0).reshape(3, 4)
    for one in (batch, torch.stack([batch, batch], -1)):
        assert torch.equal(torch.vmap(written)(one), torch.stack([written(row) for row in one]))


@pytest.mark.parametrize("exponent", [0.5, 1.5, 2, -1])
def test_gradient_of_a_power_in_place(exponent: float) -> None:
    def chain(tensor: torch.Tensor) -> torch.Tensor:
        x = tnp.asarray(tensor) * 1
        x /= abs(x[1]) + 1
        x **= 2
        x **= exponent
        x %= 3.0
        return x.tensor

    assert torch.autograd.gradcheck(chain, (torch.tensor([0.5, 1.25, 2.0], dtype=torch.float64, requires_grad=True),))


@agrees
def test_a_lone_python_complex_is_cast_where_that_is_unsafe(xp: Any) -> Any:
    return xp.sign(1.5 + 3j, dtype="int16", casting="unsafe"), xp.square(3.0, dtype="float32")


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 300.5, -1.5, 1e20, 1.5 + 2j, complex(np.inf, 1), 300])
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint64", "bool", "float32"])
def test_a_python_scalar_is_cut_to_the_dtype_where_that_is_unsafe(value: Any, dtype: str) -> None:
    options = {"dtype": dtype, "casting": "unsafe"}
    compare(lambda xp: xp.add(xp.arange(3), value, **options), may_raise=OverflowError)
    compare(lambda xp: xp.maximum(value, xp.ones(2), **options), may_raise=OverflowError)
    compare(lambda xp: xp.multiply(value, 3, **options), may_raise=OverflowError)
    compare(lambda xp: xp.bitwise_xor(value, xp.arange(3), **options), may_raise=(OverflowError, TypeError))
    compare(
        lambda xp: xp.add(xp.arange(3), value, signature=(dtype,) * 3, casting="unsafe"),
        may_raise=(OverflowError, TypeError, ValueError),
    )
    compare(lambda xp: xp.clip(xp.arange(3), value, 5, **options), may_raise=OverflowError)


@pytest.mark.parametrize("options", [{"dtype": "bool"}, {"casting": "no"}, {"casting": "unsafe"}, {}], ids=str)
@pytest.mark.parametrize("value", [300, -1, 2**63, 2**64, 2**1030], ids=["300", "-1", "2**63", "2**64", "2**1030"])
@pytest.mark.parametrize("name", ["add", "true_divide", "bitwise_xor", "less", "logical_and", "arctan2"])
def test_an_integer_is_read_before_casts_are_checked(name: str, value: int, options: dict[str, str]) -> None:
    for given, out in itertools.product(["bool", "int8", "uint64", "float32"], ["bool", "int8", "float16"]):
        for operands in (lambda x: (x, value)), (lambda x: (value, x)):
            call = lambda xp: getattr(xp, name)(*operands(xp.zeros(1, given)), out=xp.zeros(1, out), **options)  # noqa: B023, E731
            found = [outcome(call, xp) for xp in (np, ours())]
            errors = [(type(each.error), str(each.error)) if isinstance(each, Raised) else None for each in found]
            assert errors[0] == errors[1]


@agrees(raises=OverflowError)
def test_an_integer_is_read_before_the_cast_of_an_operator_in_place(xp: Any) -> Any:
    return operator.ixor(xp.zeros(1, bool), 2**64 - 1)


# Operands of other classes, and outputs.


class Overriding:
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return ufunc.__name__, method, [x is self for x in inputs], sorted(options.items(), key=lambda each: each[0])


@pytest.mark.parametrize(
    "call",
    [
        lambda xp, a: xp.sin(a),
        lambda xp, a: xp.add(a, [1], sig="dd->d"),
        lambda xp, a: xp.add(xp.ones(2), a),
        lambda xp, a: xp.sin(xp.ones(2), a)[3][0][1][0] is a,
        lambda xp, a: xp.modf(xp.ones(2), None, a)[3][0][1][1] is a,
        lambda xp, a: xp.add.reduce(a, axis=1)[:3],
        lambda xp, a: xp.add.outer(a, [1, 2]),
    ],
)
def test_the_class_of_any_operand_may_override(call: Any) -> None:
    given = Overriding()
    assert call(tnp, given) == call(np, given)


@pytest.mark.host
def test_operators_give_way_to_a_priority() -> None:
    class Above:
        __array_priority__ = 1000

        def __radd__(self, other: Any) -> str:
            return "ours"

        __rmatmul__ = __radd__

    class Unreadable:
        __array_priority__ = 1002

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            raise RuntimeError

    class NoNumber:
        __array_priority__ = None

    for xp in (np, tnp):
        assert xp.ones(2) + Above() == xp.ones(2) @ Above() == "ours"
        assert xp.asarray(1) != Unreadable()
        with pytest.raises(TypeError):
            operator.lt(xp.asarray(1), Unreadable())
        with pytest.raises(TypeError):
            xp.ones(2).view(type("Derived", (xp.ndarray,), {})) + NoNumber()
    assert type(tnp.ones(2) + torch.ones(2)) is tnp.ndarray  # a tensor has a priority too
    with pytest.raises(TypeError):
        tnp.ones(2) + object()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda xp: xp.frexp(xp.ones(2), out=xp.ones(2)), "must be a tuple"),
        (lambda xp: xp.add(1, 2, ...), "only allowed as a keyword"),
        (lambda xp: xp.negative(1, out=(...,)), "not per-operand"),
        (lambda xp: xp.add(1, 2, xp.ones(()), out=xp.ones(())), "positional and keyword"),
        (lambda xp: xp.sqrt(None), "loop of ufunc does not support argument 0 of type NoneType"),
    ],
)
def test_refused_calls(call: Any, text: str) -> None:
    for xp in (np, tnp):
        with pytest.raises(TypeError, match=text):
            call(xp)


def test_where_without_out_warns() -> None:
    for xp in (np, tnp):
        x, mask = xp.arange(4), xp.arange(4) > 1
        with pytest.warns(UserWarning, match="'where' used without 'out'") as caught:
            xp.add(x, x, where=mask)
        assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            xp.add(x, x, where=mask, out=None)
            xp.add(x, x, where=True)
            xp.add(x, x, where=mask, out=xp.zeros(4, int))


OUTPUTS = {
    "no tuple": lambda xp, x: xp.modf(xp.ones(2), out=x),
    "too few": lambda xp, x: xp.modf(xp.ones(2), out=(x,)),
    "too many": lambda xp, x: xp.add(x, 1, out=(x, x)),
    "reduce": lambda xp, x: xp.add.reduce(xp.ones(2), out=(x, x)),
    "accumulate": lambda xp, x: xp.add.accumulate(xp.ones(2), out=(x, x)),
    "reduceat": lambda xp, x: xp.add.reduceat(xp.ones(2), [0], out=(x, x)),
    "Ellipsis in a tuple": lambda xp, x: xp.add(x, 1, out=(...,)),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_number_of_outputs_is_checked_before_an_operand_is_asked(name: str) -> None:
    class Asked:
        def __array_ufunc__(self, *args: Any, **options: Any) -> str:
            return "asked"

    compare(lambda xp: OUTPUTS[name](xp, Asked()), may_raise=(TypeError, ValueError))


@pytest.mark.parametrize("method", ["reduce", "accumulate"])
@pytest.mark.parametrize("out", [(...,), (None, None)], ids=str)
def test_outputs_of_methods_in_tuples(method: str, out: Any) -> None:
    compare(lambda xp: getattr(xp.add, method)(xp.ones(2), out=out), raises=(TypeError, ValueError))


@pytest.mark.parametrize("name", ["square", "negative", "absolute", "sqrt", "logical_not"])
@pytest.mark.parametrize("dtype", ["uint16", "int8", "float32", "bool", "int64"])
@pytest.mark.parametrize("value", [-1, 3, 70000, 2.5, True])
def test_a_number_alone_is_cast_as_an_array(name: str, dtype: str, value: Any) -> None:
    compare(lambda xp: getattr(xp, name)(value, dtype=dtype), may_raise=(TypeError, OverflowError))


def test_truth_of_the_smallest_integer() -> None:
    def combined(xp: Any) -> Any:
        out = xp.ones(4, bool)
        return xp.logical_xor(xp.asarray(1), -(2**63), out=out[::-1]), out

    compare(combined)


def test_outer_of_arrays_and_views() -> None:
    for name in ("add", "less", "arctan2"):
        compare(lambda xp, name=name: getattr(xp, name).outer(xp.arange(6.0).reshape(2, 3)[:, ::-1], xp.arange(4)[::2]))
        compare(lambda xp, name=name: getattr(xp, name).outer(xp.arange(6.0).reshape(2, 3).T, xp.asarray(2)))
    with pytest.raises(ValueError, match="binary functions"):
        tnp.negative.outer(tnp.ones(2), tnp.ones(2))
