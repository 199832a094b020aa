"""The array class around its operators: attributes, Python's protocols, scalars, flags, flat iteration, views."""

from __future__ import annotations

import collections.abc
import copy
import io
import math
import numbers
import operator
import pickle
import sys
import threading
import weakref
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tnp
from tests.oracle import ALL, COMPLEX, FLOATS, INTEGERS, REAL, Raised, agrees, compare, outcome, sample

# Attributes of numpy.ndarray that say something of its implementation in C, not of arrays.
# The docstring of ``ndarray.data`` says why there is no ``__buffer__``, which Python 3.12 shows.
C_ONLY = {"__array_finalize__", "__array_struct__", "__setstate__", "__delitem__", "__buffer__"}
LAYOUTS = [
    lambda x: x,
    lambda x: x.T,
    lambda x: x[:, :1],
    lambda x: x[:1],
    lambda x: x[:1].T,
    lambda x: x[::2, ::2],
    lambda x: x[:0],
    lambda x: x[:, 1:2].T,
    lambda x: x[..., None],
]


def strides(x: Any) -> Any:
    """Strides that matter: of axes that are longer than one, in an array with elements."""
    return [stride for stride, length in zip(x.strides, x.shape, strict=True) if length > 1 and x.size]


def test_every_attribute_of_numpys_is_there() -> None:
    names = {name for name in dir(np.ndarray) if name.startswith("__") or not name.startswith("_")}
    assert names - set(dir(tnp.ndarray)) <= C_ONLY


@pytest.mark.reads
@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.uint8, np.float32, np.complex64, np.bool_])
def test_every_public_attribute_of_numpys_scalars_is_there(dtype: Any) -> None:
    s = tnp.ones(1, dtype)[0]
    names = {n for n in dir(dtype(1)) if not n.startswith("_")} - {"fromhex", "newbyteorder"}
    assert {n for n in names if not hasattr(s, n)} == set()


def test_attributes_of_the_tensor() -> None:
    x = tnp.zeros((2, 3), np.float32)
    assert (x.ndim, x.size, x.itemsize, x.nbytes, x.strides, len(x)) == (2, 6, 4, 24, (12, 4), 2)
    assert str(x.device) == str(tnp.empty(0).device)
    assert x.__sizeof__() >= x.nbytes
    with pytest.raises(AttributeError):
        x.no_such_name = 1  # type: ignore[attr-defined]


@agrees
def test_low_level_constructor(xp: Any) -> Any:
    buffer = np.arange(12.0)
    made = xp.ndarray((2, 3), float, buffer, 8, (16, 8))
    made[0, 0] = 5
    return made, xp.asarray(buffer), xp.ndarray((2, 3), np.int8).shape, xp.ndarray(3, order="F").dtype


@agrees
def test_constructor_of_what_no_tensor_carries(xp: Any) -> Any:
    return xp.ndarray((0,), "U3")


# Shape, dtype and parts.


@agrees
def test_shape_can_be_assigned(xp: Any) -> Any:
    x = xp.arange(6)
    x.shape = (2, 3)
    y = x.copy()
    y.shape = -1
    return x, y


@agrees(raises=AttributeError)
def test_shape_of_a_transposed_array_can_not(xp: Any) -> None:
    x = xp.asarray(np.arange(6).reshape(2, 3)).T
    x.shape = (6,)


@agrees
def test_dtype_can_be_assigned(xp: Any) -> Any:
    x = xp.asarray(np.arange(6, dtype=np.int32))
    x.dtype = np.int16
    return x


@pytest.mark.parametrize("dtype", COMPLEX)
@agrees
def test_parts_of_complex_arrays_are_views(xp: Any, dtype: str) -> Any:
    x = sample(xp, (2, 3), dtype)
    x.real[0] = 7
    x.imag = [1, 2, 3]
    x.imag[1, 1] = 9
    y = x.copy()
    y.real = 0
    return x, x.real, x.imag, y


@pytest.mark.parametrize("dtype", REAL)
@agrees
def test_parts_of_real_arrays(xp: Any, dtype: str) -> Any:
    x = sample(xp, (2, 3), dtype)
    before = x.imag
    x.real = 3
    return x, before


@agrees(raises=TypeError)
def test_imaginary_part_of_a_real_array_can_not_be_set(xp: Any) -> None:
    xp.ones(2).imag = 1


@pytest.mark.parametrize("name", ["T", "mT", "real", "imag"])
def test_views_write_through(name: str) -> None:
    x = tnp.asarray(sample(np, (2, 3), "complex128"))
    part = getattr(x, name)
    part[0, 0] = 42
    assert complex(tnp.asarray(getattr(x, name))[0, 0]) == 42


def test_base_is_what_a_view_is_of() -> None:
    x = tnp.arange(6)
    assert x.base is None
    assert x[1:3].base is x and x[1:].reshape(5, 1)[1:].base is x
    assert x.copy().base is None
    view = tnp.arange(6)[1:]  # of an array that nobody has any more
    assert view.base is view[1:].base and view.base.shape == (6,)  # type: ignore[union-attr]
    pickle.dumps(x.tensor)  # nothing was noted in the tensor itself


def test_base_of_what_writes_and_contracts() -> None:
    for xp in (np, tnp):
        out = xp.ones((5, 2, 2))
        assert xp.matmul(xp.ones((5, 2)), xp.ones((2, 2)), out=out[..., 0]).base is out
        x = xp.arange(9).reshape(3, 3)
        assert xp.einsum("ii->i", x).base is x.base


@pytest.mark.parametrize("layout", range(len(LAYOUTS)))
@pytest.mark.parametrize("dtype", ALL)
def test_view_as_another_dtype(dtype: str, layout: int) -> None:
    for to in ALL:

        def view(xp: Any, to: str = to) -> Any:
            return LAYOUTS[layout](xp.asarray(np.arange(24).astype(dtype).reshape(4, 6))).view(to)

        expected = outcome(view, np)
        if isinstance(expected, Raised) or np.dtype(to).kind in "iu":
            compare(view, may_raise=ValueError)
        else:  # bits that may be NaNs
            seen = view(tnp)
            assert (seen.dtype, seen.shape) == (expected.dtype, expected.shape)
            assert seen.tobytes() == expected.tobytes()


@agrees
@pytest.mark.parametrize("dtype", ["int8", "int16", "float64", "complex64"])
def test_view_of_no_bytes(xp: Any, dtype: str) -> Any:
    x = xp.zeros((3, 16), dtype="int16")
    views = x[3:, ::2].view(dtype), x[:, 1:1].view(dtype), x[:0].T.view(dtype), x[0, 1:][15:].view(dtype)
    return views, [view.base is None for view in views]


def test_view_of_no_bytes_of_a_batch() -> None:
    found = tnp.vectorized_map(lambda x: x[..., 1:].view("uint16"), tnp.zeros((2, 1), "uint8"))
    assert (found.shape, found.dtype) == ((2, 0), np.uint16)


def test_view_shares_memory() -> None:
    x = tnp.zeros(2, np.float32)
    x.view(np.int32)[0] = 1
    x.view()[1] = 5
    x.view(tnp.ndarray)[1] += 1
    assert x.tolist() == [pytest.approx(1e-45, abs=1e-44), 6.0] and x[0] != 0


@agrees
def test_fields_are_parts_of_each_element(xp: Any) -> Any:
    x = xp.asarray(np.arange(4).astype(np.complex128).reshape(2, 2).T + 5j)
    imaginary = x.getfield(np.float64, 8)
    imaginary[0] = -1
    x.setfield([7, 8], np.float64)
    x[1].setfield(2, np.float32, 12)
    return x, x.getfield(np.int32, 4), x.getfield(np.complex128)


@pytest.mark.parametrize(("dtype", "offset"), [(np.int64, -8), (np.complex128, 0), (np.int64, 4)])
def test_fields_outside_the_element_raise(dtype: Any, offset: int) -> None:
    def get(xp: Any) -> Any:
        return xp.ones(2).getfield(dtype, offset)

    assert isinstance(compare(get, raises=ValueError), Raised)


# Flags.


@pytest.mark.parametrize("layout", range(len(LAYOUTS)))
@pytest.mark.parametrize("shape", [(2, 3), (1, 3), (2, 1), (0, 3), (1, 1)])
@agrees
def test_flags_are_those_of_the_layout(xp: Any, shape: tuple[int, ...], layout: int) -> Any:
    flags = LAYOUTS[layout](xp.asarray(np.arange(6)[: math.prod(shape)].reshape(shape).copy())).flags
    names = ["C", "F", "W", "A", "X", "B", "CA", "FNC", "FORC", "C_CONTIGUOUS", "F_CONTIGUOUS", "CONTIGUOUS", "FORTRAN"]
    names += ["WRITEABLE", "ALIGNED", "WRITEBACKIFCOPY", "BEHAVED", "CARRAY"]
    attributes = ["c_contiguous", "f_contiguous", "contiguous", "fortran", "fnc", "forc", "writeable", "aligned"]
    attributes += ["writebackifcopy", "behaved", "carray"]
    return (
        {name: flags[name] for name in names},
        {name: getattr(flags, name) for name in attributes},
        flags.num & ~4,
        [line for line in repr(flags).splitlines() if "OWNDATA" not in line],
    )


def test_flags_of_a_fortran_array_are_what_the_documentation_says() -> None:
    x = tnp.zeros((2, 3), order="F")
    assert x.flags.farray and x.flags["FA"] and x.flags["FARRAY"]
    assert not x.T.flags.farray and not x[::2, ::2].flags.farray  # NumPy says True of the latter


def test_owner_of_the_memory() -> None:
    x = tnp.ones((2, 3))
    assert x.flags.owndata and x.flags["O"] and not x.T.flags.owndata and not x[0].flags["OWNDATA"]


@agrees
def test_flags_of_a_broadcast_view(xp: Any) -> Any:
    flags = xp.broadcast_to(xp.arange(3), (2, 3)).flags
    return flags.writeable, flags.behaved, flags["W"], flags == xp.ones(2).flags, xp.ones(2).flags == xp.ones(3).flags


def test_flags_that_stay_can_be_set_to_what_they_are() -> None:
    x = tnp.ones(2)
    x.flags.writeable = True
    x.flags["ALIGNED"] = True
    x.setflags(write=True, align=True, uic=False)
    with pytest.raises(ValueError, match="share memory"):
        tnp.broadcast_to(x, (3, 2)).flags.writeable = True
    with pytest.raises(ValueError, match="WRITEBACKIFCOPY"):
        x.flags.writebackifcopy = True
    with pytest.raises(ValueError, match="ALIGNED"):
        x.flags.aligned = False
    with pytest.raises(KeyError, match="Unknown flag"):
        x.flags["C"] = True
    with pytest.raises(KeyError, match="Unknown flag"):
        x.flags["NAME"]
    with pytest.raises(TypeError, match="unhashable"):
        hash(x.flags)
    assert (x.flags == "flags") is False


# Flat iteration.

FLAT_KEYS = [
    0, -1, 7, -13, slice(None), slice(1, 5), slice(None, None, 2), slice(9, 2), slice(10, 0, -3), ..., [0, 1],
    [2, 2, -1], [99], [], (), (1,), (1, 2), None, "a", np.array(2), np.array([[0, 1], [2, 3]]), np.arange(12) % 2 == 0,
    np.ones(5, bool), np.array([1.0]),
]  # fmt: skip


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("key", FLAT_KEYS, ids=repr)
def test_flat_is_indexed(key: Any, transposed: bool) -> None:
    def get(xp: Any) -> Any:
        x = xp.asarray(np.arange(12).reshape(3, 4))
        chosen = (x.T if transposed else x).flat[key]
        if getattr(chosen, "ndim", 0):
            chosen[...] = 0  # a copy
        return chosen, x

    compare(get, may_raise=IndexError)


NO_INDICES = [[1.5], 1.5, [[0.0, 1.0]], (0, [1.5]), np.asarray([1.5]), np.asarray(1.5), [1.5, 2]]


@pytest.mark.parametrize("key", NO_INDICES, ids=repr)
def test_floats_are_no_indices(key: Any) -> None:
    compare(lambda xp: xp.ones((2, 3))[key], raises=IndexError)
    compare(lambda xp: xp.ones((2, 3))[xp.asarray(key)] if type(key) is not tuple else 0, may_raise=IndexError)


@pytest.mark.parametrize("value", [300, 2**70, np.nan, 1j, None, "a", {}, np.int64(300), np.complex64(300)], ids=repr)
def test_flat_says_what_does_not_fit_an_element(value: Any) -> None:
    compare(lambda xp: xp.zeros(3, "int8").flat.__setitem__(1, value), raises=ValueError)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("value", [7, 1.5, [1], [1, 2, 3], [[1, 2], [3, 4]], range(100), [], None], ids=repr)
@pytest.mark.parametrize("key", [k for k in FLAT_KEYS if not (isinstance(k, list) and len(set(k)) < len(k))], ids=repr)
def test_flat_is_assigned_to(key: Any, value: Any, transposed: bool) -> None:
    def set_(xp: Any) -> Any:
        x = xp.asarray(np.arange(12).reshape(3, 4))
        (x.T if transposed else x).flat[key] = value
        return x

    expected = outcome(set_, np)
    if isinstance(key, list) and key == [99] and value == []:
        return  # NumPy does not look at indices that nothing is written to
    if value is None and isinstance(expected, Raised):
        with pytest.raises((ValueError, TypeError, IndexError)):
            set_(tnp)
    else:
        compare(set_, may_raise=(IndexError, ValueError))


@agrees
def test_flat_attribute_is_assigned_to(xp: Any) -> Any:
    x = xp.zeros((2, 3))
    x.flat = [1, 2]
    y = xp.zeros((2, 3)).T
    y.flat = 5
    y.flat[4] = 6
    return x, y


@agrees
def test_flat_iterates(xp: Any) -> Any:
    x = xp.asarray(np.arange(6.0).reshape(2, 3)).T
    it = x.flat
    first = next(it), it.coords, it.index, len(it)
    rest = list(it)
    end = it.coords, it.index, list(it)
    again = it[0], it.index
    return first, rest, end, again, it.copy(), it == xp.ravel(x), it != 1, it < 3, it <= 3, it > 3, it >= 3, 5 in x.flat


def test_flat_of_few() -> None:
    assert list(tnp.asarray(5).flat) == [5] and tnp.asarray(5).flat.coords == ()
    assert list(tnp.zeros((0, 2)).flat) == []
    x = tnp.ones((2, 2))
    assert x.flat.base is x
    assert x.flat.copy().tolist() == [1] * 4
    assert type(tnp.asarray(x.flat)) is tnp.ndarray and tnp.sum(x.flat) == 4
    with pytest.raises(TypeError, match="unhashable"):
        hash(x.flat)
    with pytest.raises(ValueError, match="read-only"):
        tnp.broadcast_to(x[0], (3, 2)).flat[0] = 1


@given(st.data())
def test_flat_indices_drawn_at_random(data: st.DataObject) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
    axes = data.draw(st.permutations(range(len(shape))))
    key = data.draw(
        st.one_of(st.integers(-30, 30), st.slices(27), st.lists(st.integers(-3, 3), max_size=4, unique=True))
    )
    values = data.draw(st.one_of(st.integers(0, 9), st.lists(st.integers(0, 9), max_size=5)))

    def run(xp: Any) -> Any:
        x = xp.asarray(np.arange(math.prod(shape)).reshape(shape)).transpose(axes)
        chosen = x.flat[key]
        x.flat[key] = values
        return chosen, x

    if not isinstance(key, list) or len({k % max(math.prod(shape), 1) for k in key}) == len(key):
        compare(run)


# Python's protocols.


@pytest.mark.parametrize(
    "protocol", ["Iterable", "Sized", "Container", "Collection", "Hashable", "Sequence", "Reversible", "Mapping"]
)
def test_abstract_classes_are_numpys(protocol: str) -> None:
    cls = getattr(collections.abc, protocol)
    assert isinstance(tnp.ones(2), cls) == isinstance(np.ones(2), cls)


def test_arrays_are_no_keys() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(tnp.ones(2))


@pytest.mark.parametrize("shape", [(), (1,), (0,), (2,), (1, 1)])
@pytest.mark.parametrize("convert", [bool, int, float, complex, operator.index, len, list, round, math.floor])
def test_conversions_to_python(convert: Any, shape: tuple[int, ...]) -> None:
    def run(xp: Any) -> Any:
        return convert(xp.ones(shape, np.int64))

    compare(run, may_raise=(TypeError, ValueError))


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize(
    "convert", [bool, int, float, complex, operator.index, hash, round, math.floor, math.ceil, abs, divmod], ids=str
)
def test_conversions_of_scalars(convert: Any, dtype: str) -> None:
    def run(xp: Any) -> Any:
        s = xp.asarray(np.array([2.5 if dtype in FLOATS + COMPLEX else 1]).astype(dtype))[0]
        return convert(s, s) if convert is divmod else convert(s)

    expected = outcome(run, np)
    assert convert is not hash or not isinstance(expected, Raised)
    compare(run, may_raise=TypeError)


@pytest.mark.parametrize("dtype", REAL)
@agrees
def test_scalars_are_rounded(xp: Any, dtype: str) -> Any:
    s = xp.asarray(np.array([25.678]).astype(dtype))[0]
    return round(s, 1), round(s, -1), round(s), type(round(s)).__name__


@pytest.mark.parametrize("dtype", INTEGERS)
@agrees
def test_integer_scalars_are_indices_and_numbers(xp: Any, dtype: str) -> Any:
    s = xp.asarray(np.array([1, 7]).astype(dtype))[0]
    return (
        [list(range(s)), [1, 2, 3][s], "abc"[s:], (1,) * s, s.is_integer(), s.bit_count(), operator.index(s)],
        [s.numerator, s.denominator, f"{s:d}", f"{s:04x}", int(s), s.item()],
    )


@agrees
def test_a_scalar_is_no_container(xp: Any) -> Any:
    s = xp.asarray([1.5, 2.0])[0]
    assert isinstance(s, numbers.Number) and np.isscalar(s)
    assert not hasattr(s, "__len__") and not isinstance(s, collections.abc.Iterable)
    with pytest.raises(TypeError, match=r"^object of type 'numpy.float64' has no len\(\)$"):
        len(s)
    with pytest.raises(TypeError, match=r"object is not iterable$"):
        list(s)
    return s


def test_the_class_of_scalars_makes_none() -> None:
    """It would have to guess a dtype; an array's class takes the number for a shape."""
    with pytest.raises(TypeError, match=r"x\.dtype\.type"):
        type(tnp.ones(2, int).sum())(3)


@pytest.mark.parametrize("dtype", FLOATS)
@agrees
def test_floating_scalars(xp: Any, dtype: str) -> Any:
    s = xp.asarray(np.array([2.5]).astype(dtype))[0]
    return s.is_integer(), s.as_integer_ratio(), f"{s:.3f}", f"{s:10.2e}", f"{s}", float(s), s.item(), complex(s)


def test_scalars_beyond_numpys() -> None:
    s = tnp.asarray([2.5, -2.5])
    assert s[0].hex() == (2.5).hex() and math.trunc(s[1]) == -2 and math.floor(s[1]) == -3 and math.ceil(s[1]) == -2
    for name in ("numerator", "denominator", "bit_count"):
        with pytest.raises(AttributeError, match=name):
            getattr(s[0], name)()


def test_scalars_are_numbers_and_keys() -> None:
    x = tnp.asarray([1.5, 2.0])
    assert isinstance(x[0], numbers.Number) and not isinstance(x, numbers.Number) and np.isscalar(x[0])
    assert {x[0]: "a"}[1.5] == "a" and {1.5: "b"}[x[0]] == "b" and hash(x[1]) == hash(np.float64(2.0))
    for dtype in ALL:
        assert hash(tnp.ones(1, dtype)[0]) == hash(np.ones(1, dtype)[0])


def test_scalars_are_written_to_under_a_mask() -> None:
    x = tnp.asarray([1.0, 2.0])
    s, low = x.sum(), x.min()
    s[s > 2] = 0.5
    low[low > 2] = 0.5
    assert (s, low) == (0.5, 1.0) and x.tolist() == [1.0, 2.0]


def test_scalars_never_change() -> None:
    x = tnp.asarray([1.0, 2.0])
    s = kept = x[0]
    x[0] = 9
    assert kept == 1
    s += 1
    s *= 3
    assert (s, kept) == (6, 1) and type(s) is type(kept)
    with pytest.raises(TypeError, match="item assignment"):
        kept[...] = 5
    with pytest.raises(AttributeError):
        kept.shape = (1,)
    with pytest.raises(AttributeError):
        kept.dtype = np.int64
    with pytest.raises(TypeError, match="resized"):
        kept.resize(2)
    with pytest.raises(TypeError):
        tnp.add(1, 1, out=kept)


@pytest.mark.parametrize(
    "view",
    [
        lambda xp, s: xp.atleast_1d(s),
        lambda xp, s: s.reshape(1),
        lambda xp, s: xp.reshape(s, (1,)),
        lambda xp, s: s[None],
        lambda xp, s: s.ravel(),
        lambda xp, s: xp.expand_dims(s, 0),
        lambda xp, s: xp.asarray(s),
        lambda xp, s: xp.array(s, copy=None, ndmin=1),
        lambda xp, s: xp.squeeze(xp.asarray(s)),
        lambda xp, s: s[...],
    ],
)
@agrees
def test_nothing_written_to_a_view_reaches_the_scalar(xp: Any, view: Any) -> Any:
    s = xp.asarray([1.0, 2.0])[0]
    seen = view(xp, s)
    seen[...] = 7
    return s, seen


@agrees
def test_iteration(xp: Any) -> Any:
    rows = []
    x = xp.zeros((2, 2))
    for i, row in enumerate(x):
        row += i  # a view
        rows.append(row.shape)
    return (
        x,
        rows,
        list(xp.arange(3)),
        list(xp.ones((2, 0))),
        xp.arange(3).tolist(),
        list(zip(x, x, strict=True)),
    )


@agrees(raises=TypeError)
def test_iteration_over_a_0d_array(xp: Any) -> Any:
    return list(xp.asarray(5))


@agrees
def test_membership(xp: Any) -> Any:
    x = xp.asarray([[1, 2], [3, 4]])
    return 3 in x, 7 in x, [1, 2] in x, [1, 4] in x, None in x, "a" in x, x[0] in x


@pytest.mark.parametrize(
    "other", [None, "a", b"a", object(), {}, int, ["a", "b", "c"], ["a", "b"], np.array(["x"] * 3)]
)
def test_equality_with_what_is_no_number(other: Any) -> None:
    compare(lambda xp: (xp.arange(3) == other, xp.arange(3) != other), may_raise=ValueError)
    compare(lambda xp: (other == xp.arange(3), other != xp.arange(3)), may_raise=ValueError)


def test_equality_is_left_to_objects_that_define_it() -> None:
    x = tnp.arange(3)
    compare(lambda xp: xp.arange(3) == mock.ANY)
    assert x == pytest.approx([0, 1, 2])
    compare(lambda xp: xp.arange(3) == [0, None, 2])


@pytest.mark.parametrize("op", [operator.add, operator.mul, operator.lt, operator.ge, operator.pow, operator.matmul])
@pytest.mark.parametrize("other", [None, "a", object(), {}])
def test_operators_refuse_what_is_no_number(op: Any, other: Any) -> None:
    x = tnp.arange(3)
    compare(lambda xp: op(xp.arange(3), other), raises=(TypeError, ValueError))
    compare(lambda xp: op(other, xp.arange(3)), raises=(TypeError, ValueError))
    if op is operator.add:
        with pytest.raises(TypeError):
            x += other
        assert x.tolist() == [0, 1, 2]


def test_an_array_times_a_scalar_takes_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    x, s = tnp.asarray([1.0, 2.0]), tnp.asarray([3.0])[0]
    assert (x * s).tolist() == [3.0, 6.0]  # which builds the loop of these dtypes
    general = []
    monkeypatch.setattr(type(tnp.multiply), "_call", lambda *args, **options: general.append(args))
    assert (x * s).tolist() == [3.0, 6.0]
    assert (s * x).tolist() == [3.0, 6.0]
    assert not general


def test_generic_alias() -> None:
    assert tnp.ndarray[Any, np.dtype[np.float64]].__origin__ is tnp.ndarray


def test_weak_references() -> None:
    x = tnp.ones(2)
    ref = weakref.ref(x)
    assert ref() is x
    del x
    assert ref() is None


def test_threads() -> None:
    results: list[float] = []

    def work(n: int) -> None:
        x = tnp.full(100, float(n))
        for _ in range(50):
            x = tnp.sqrt(x * x + n) - 0.5
            x[::2] = n
        results.append(float(x.sum()) - float(x.sum()))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [0.0] * 8


@pytest.mark.reads
@agrees
def test_bytes(xp: Any) -> Any:
    return bytes(xp.asarray([1.5, 2])), bytes(xp.asarray([1, 2])), bytes(xp.asarray([3])[0])


@pytest.mark.host
def test_flat_is_read_by_numpy() -> None:
    x = tnp.ones((2, 2))
    assert np.asarray(x.flat).tolist() == [1] * 4 and np.shares_memory(np.asarray(x.flat), np.asarray(x))


@agrees(raises=ValueError)
def test_elements_can_not_be_deleted(xp: Any) -> None:
    x = xp.ones(3)
    del x[0]


# Methods that are no function of the namespace.


@pytest.mark.reads
@pytest.mark.parametrize("dtype", ALL)
@agrees
def test_item_tolist_and_bytes(xp: Any, dtype: str) -> Any:
    x = sample(xp, (2, 3), dtype)
    values = [x.item(4), x.item(1, 2), x.item((0, 1)), x.item(-1), x[0, 0].item(), x[:1, :1].item()]
    return values, x.tolist(), [x.tobytes(), x.tobytes("F"), x.T.tobytes(), x.T.tobytes("A"), bytes(x.data)]


@pytest.mark.host
@pytest.mark.parametrize("dtype", ALL)
def test_buffers(dtype: str) -> None:
    def described(view: memoryview) -> Any:
        return view.format, view.shape, view.strides, view.readonly, view.tobytes()

    for layout in (
        lambda xp, x: x,
        lambda xp, x: x.T,
        lambda xp, x: xp.broadcast_to(x, (2, 2, 3)),
        lambda xp, x: x[:0],
    ):
        x, y = (layout(xp, sample(xp, (2, 3), dtype)) for xp in (tnp, np))
        assert described(x.data) == described(y.data)
    x = tnp.zeros(3, dtype)
    x.data.cast("B")[:] = bytes(range(1, x.nbytes + 1))
    assert x.tobytes() == bytes(range(1, x.nbytes + 1))


def test_no_buffer_is_a_copy() -> None:
    """What is written to a copy would be lost."""
    with pytest.raises(TypeError, match="meta"):
        _ = tnp.zeros(3, device="meta").data
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        _ = tnp.asarray(torch.tensor([1 + 2j]).conj()).data


@pytest.mark.host
@pytest.mark.parametrize("dtype", ALL)
def test_torch_reads_no_buffer(dtype: str) -> None:
    """torch.asarray prefers a class's buffer, whose format it ignores, and keeps no reference to its owner."""
    found = torch.asarray(sample(tnp, (2, 3), dtype))
    np.testing.assert_array_equal(found.numpy(), sample(np, (2, 3), dtype))
    with pytest.raises(TypeError, match="bytes-like object is required"):
        memoryview(tnp.zeros(3))


@pytest.mark.parametrize("args", [(), (6,), (0, 5), (1.0,), (1, 2, 3), ("a",)])
def test_item_that_is_not_there(args: Any) -> None:
    assert isinstance(
        compare(lambda xp: xp.ones((2, 3)).item(*args), raises=(IndexError, TypeError, ValueError)), Raised
    )


@pytest.mark.parametrize("dtype", ALL)
@agrees
def test_byteswap_and_fill(xp: Any, dtype: str) -> Any:
    x = sample(xp, (2, 3), dtype)
    swapped = x.view("u1" if x.itemsize == 1 else x.dtype).byteswap().view("u1")
    y = x.copy()
    same = y.byteswap(inplace=True) is y
    z = x.copy()
    z.fill(1)
    return swapped, same, y.view("u1"), z


@pytest.mark.reads
def test_files(tmp_path: Path) -> None:
    x = tnp.asarray([[1.5, 2], [3, 4]]).T
    x.tofile(tmp_path / "raw")
    assert np.fromfile(tmp_path / "raw").tolist() == [1.5, 3, 2, 4]
    x.tofile(tmp_path / "text", sep=",", format="%g")
    assert (tmp_path / "text").read_text() == "1.5,3,2,4"
    x.dump(tmp_path / "pickle")
    stream = io.BytesIO()
    x.dump(stream)
    for loaded in (pickle.loads((tmp_path / "pickle").read_bytes()), pickle.loads(stream.getvalue()),
                   pickle.loads(x.dumps())):  # fmt: skip
        assert type(loaded) is tnp.ndarray and loaded.tolist() == x.tolist()


@pytest.mark.parametrize("new", [(3,), (8,), (2, 2), 5, (0,), (), (-1,), (4, 4), None], ids=repr)
def test_resize_in_place(new: Any) -> None:
    def run(xp: Any) -> Any:
        x = xp.array(np.arange(6).reshape(2, 3))
        x.resize(new) if not isinstance(new, tuple) else x.resize(*new)
        return x

    compare(run, may_raise=ValueError)


@agrees(raises=ValueError)
def test_resize_of_a_view(xp: Any) -> None:
    xp.ones(6)[:4].resize(2)


@agrees
def test_resize_of_a_view_to_as_many_elements(xp: Any) -> tuple[Any, Any]:
    x = xp.ones(6)
    y = x[:4]
    y.resize((2, 2))
    y[0] = 5.0
    return x, y


@agrees(raises=ValueError)
def test_resize_of_scattered_elements(xp: Any) -> None:
    xp.ones(6)[::2].resize(2, refcheck=False)


@pytest.mark.host
def test_what_is_read_through_the_interface_outlives_a_resize() -> None:
    x = tnp.full(1000, 3.0)
    seen = np.asarray(x)
    x.resize(2000)
    tnp.zeros(1000)
    assert (seen == 3).all()


@pytest.mark.parametrize("layout", range(len(LAYOUTS)))
@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
@agrees
def test_copies_keep_their_order(xp: Any, order: str, layout: int) -> Any:
    x = LAYOUTS[layout](xp.asarray(np.arange(24).reshape(4, 6)))
    y = xp.asarray(np.arange(24).reshape(2, 3, 4)).transpose(1, 2, 0)[:, ::2]
    copies = [
        x.copy(order),
        copy.copy(x),
        copy.deepcopy(x),
        xp.copy(x, order),
        x.astype(np.float32, order),
        y.copy(order),
    ]
    return copies, [strides(c) for c in copies], strides(x.copy()), x.flatten(order)


@pytest.mark.parametrize("order", ["c", "f", "Z", None, 1])
def test_orders_are_spelled_as_in_numpy(order: Any) -> None:
    for make in (
        lambda xp, x: x.copy(order), lambda xp, x: xp.copy(x, order), lambda xp, x: x.astype(float, order),
        lambda xp, x: xp.asarray(x, order=order), lambda xp, x: xp.array(x, order=order),
    ):  # fmt: skip

        def run(xp: Any, make: Any = make) -> Any:
            made = make(xp, xp.asarray(np.arange(6).reshape(2, 3)).T)
            return made, made.strides

        compare(run, may_raise=(TypeError, ValueError))


def test_copies_are_of_the_same_class() -> None:
    x = tnp.ones((2, 2))
    for make in (copy.copy, copy.deepcopy, lambda a: pickle.loads(pickle.dumps(a))):
        assert type(make(x)) is tnp.ndarray and type(make(x[0, 0])) is type(x[0, 0])
        assert tnp.asarray(make(x)).tensor.data_ptr() != x.tensor.data_ptr()
    assert type(x[0, 0].copy()) is type(x[0, 0])
    assert type(x[0, 0].astype(int)) is type(x[0, 0].view(np.int64)) is type(tnp.ones(1, int)[0])


@pytest.mark.parametrize("name", ["conj", "conjugate"])
@pytest.mark.parametrize("dtype", ALL)
@agrees
def test_conjugate(xp: Any, name: str, dtype: str) -> Any:
    return getattr(sample(xp, (2, 3), dtype), name)()


@agrees
def test_conjugate_into_an_array(xp: Any) -> Any:
    z = xp.asarray([1 + 2j, 3.0])
    out = xp.zeros(2, dtype=complex)
    real = xp.zeros(2)
    kept = z.conjugate(out) is out, z.conj(xp.zeros(2, dtype=complex)), xp.arange(2).conjugate(real) is real
    return kept, out, real, z.conj(), xp.arange(2).dot(b=xp.arange(2))


@agrees(raises=ValueError)
@pytest.mark.parametrize("value", [[1, 2], (), [[3]]])
def test_fill_refuses_sequences(xp: Any, value: Any) -> Any:
    return xp.zeros(2).fill(value)


@agrees
@pytest.mark.parametrize("dtype", ALL)
def test_byteswap_of_nothing(xp: Any, dtype: str) -> Any:
    return xp.zeros((0, 3), dtype).byteswap()


@pytest.mark.parametrize("value", ["5", "a", None, 3.7, np.float32(2.5), [1], np.ones(1), np.array(4)])
@pytest.mark.parametrize("dtype", ["float64", "uint8"])
def test_fill_with_anything(dtype: str, value: Any) -> None:
    def fill(xp: Any) -> Any:
        x = xp.zeros(3, dtype=dtype)
        x.fill(value)
        return x

    compare(fill, may_raise=(TypeError, ValueError))


@pytest.mark.host
@agrees
def test_constructor_over_an_array(xp: Any) -> Any:
    x = xp.arange(4)
    xp.ndarray((2,), dtype=int, buffer=x, offset=8)[...] = 7
    return x


@pytest.mark.host
@agrees
def test_an_array_is_a_buffer(xp: Any) -> Any:
    x = xp.arange(6)
    y = xp.ndarray((2, 2), x.dtype, x, offset=8)
    y[0, 0] = 9
    return x, y


@agrees
@pytest.mark.parametrize("value", [0, 1, 2**63, 2**64 - 1])
def test_truth_of_uint64(xp: Any, value: int) -> Any:
    return bool(xp.asarray(value, "uint64")), bool(xp.asarray([value], "uint64")[0])


@agrees
def test_byteswap_of_one_element_with_a_stride(xp: Any) -> Any:
    return xp.asarray([1, 2], "int32")[::2].byteswap()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("key", [
    True, False, [True, 1], [True, False], [], [1.0, 2.0], np.array([True, False]), np.arange(6) > 2,
])  # fmt: skip
def test_flat_is_indexed_by_what_is_no_integer(key: Any) -> None:
    compare(
        lambda xp: xp.arange(6).reshape(2, 3).flat[xp.asarray(key) if isinstance(key, np.ndarray) else key],
        may_raise=IndexError,
    )


@agrees
def test_flat_is_indexed_by_flat(xp: Any) -> Any:
    return xp.arange(6).reshape(2, 3).flat[xp.asarray([[0, 5]]).flat]


@agrees(raises=TypeError)
def test_flat_elements_stay(xp: Any) -> None:
    del xp.ones(3).flat[1]


@pytest.mark.parametrize("ndim", [61, 62, 64])
def test_results_of_index_arrays_have_at_most_64_dimensions(ndim: int) -> None:
    compare(lambda xp: xp.ones((1,) * 3)[xp.zeros((1,) * ndim, int), None].shape, may_raise=IndexError)


@agrees(raises=ValueError)
def test_one_dimension_has_no_matrix_transpose(xp: Any) -> Any:
    return xp.arange(3).mT


@pytest.mark.parametrize("type_", [3, int, np.dtype("int16")], ids=str)
def test_view_as_what_is_no_class_of_arrays(type_: Any) -> None:
    compare(lambda xp: xp.zeros(2).view("uint8", type_), raises=ValueError)


def test_views_are_small() -> None:
    for xp in (np, tnp):
        x = xp.ones(1000)
        assert sys.getsizeof(x) > x.nbytes > sys.getsizeof(x[...])
        assert sys.getsizeof(x.reshape(10, 100)) < 1000
        assert sys.getsizeof(x.reshape(1000, 1, 1).copy()) > sys.getsizeof(x)


@pytest.mark.parametrize("ndim", [32, 33])
def test_flat_is_for_32_dimensions(ndim: int) -> None:
    compare(lambda xp: list(xp.ones((1,) * ndim).flat), may_raise=RuntimeError)


@agrees
def test_the_real_part_of_a_real_array_is_itself(xp: Any) -> Any:
    x, z = xp.ones(3), xp.ones(3, "c8")
    return x.real is x, xp.real(x) is x, z.real is z, xp.ones(3, bool)[:2].real, xp.ones(3)[0].real


def test_errors_of_methods_name_the_array() -> None:
    with pytest.raises(TypeError, match=r"^ndarray\.max\(\) got an unexpected keyword argument 'foo'$"):
        tnp.zeros(3).max(foo=1)  # type: ignore[call-arg]
    assert pickle.loads(pickle.dumps(tnp.ndarray.sum)) is tnp.ndarray.sum
