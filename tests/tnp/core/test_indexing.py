"""``x[key]`` and ``x[key] = value``: NumPy's answer, memory and errors for keys drawn at random, then rules by name.

``TNP_INDEXING_EXAMPLES`` says how many keys are drawn (300 by default).
"""

from __future__ import annotations

import itertools
import os
import warnings
from collections import namedtuple
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import tnp
from backend_torch.tensors import memory
from tests import oracle
from tests.oracle import ALL, INTEGERS, Raised, agrees, assert_same, beside, compare, outcome, placed, sample
from tnp._core.base import SCALARS

EXAMPLES = settings(
    max_examples=int(os.environ.get("TNP_INDEXING_EXAMPLES", "300")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
lengths = st.sampled_from([0, 1, 1, 2, 2, 3, 3, 4, 5])
shapes = st.lists(lengths, min_size=0, max_size=4).map(tuple)


class Given(np.ndarray):
    """An index array that tnp is given as its own array."""


def key_for(xp: Any, key: Any) -> Any:
    """The key with the arrays that ``xp`` has."""
    if isinstance(key, tuple):
        return tuple([key_for(xp, item) for item in key])
    if isinstance(key, Given):
        return placed(xp, np.asarray(key))
    return beside(xp, key)


@st.composite
def bounds(draw: Any, length: int) -> slice:
    limit = st.none() | st.integers(-length - 2, length + 2)
    step = draw(st.sampled_from([None, None, 1, 1, 2, 3, -1, -1, -2, -3]))
    return slice(draw(limit), draw(limit), step)


@st.composite
def integer_array(draw: Any, length: int, shape: tuple[int, ...]) -> Any:
    shape = shape[draw(st.integers(0, len(shape))) :]
    shape = tuple([draw(st.sampled_from([n, n, n, 1])) for n in shape])
    slack = draw(st.sampled_from([0] * 12 + [1]))
    low, high = -length - slack, length - 1 + slack
    dtype = draw(st.sampled_from([np.int64, np.int64, np.int8, np.int32, np.uint8, np.uint16, np.uint64]))
    if np.dtype(dtype).kind == "u":
        low = 0
    if high < low:
        shape = (*shape[:-1], 0) if shape and draw(st.integers(0, 3)) else shape
        low = high = 0
    size = int(np.prod(shape, dtype=int))
    values = np.array(draw(st.lists(st.integers(low, high), min_size=size, max_size=size)), dtype=dtype)
    return draw(as_argument(values.reshape(shape)))


@st.composite
def as_argument(draw: Any, values: np.ndarray) -> Any:
    """An index array as a tnp array, a NumPy array or nested lists."""
    form = draw(st.sampled_from(["tnp", "tnp", "numpy", "list"]))
    return values.view(Given) if form == "tnp" else values if form == "numpy" else values.tolist()


@st.composite
def keys(draw: Any, shape: tuple[int, ...]) -> Any:
    items: list[Any] = []
    axis = 0
    arrays_shape = draw(st.sampled_from([(2,), (3,), (1,), (2, 3), (0,), (), (3, 1), (2, 1, 2)]))
    only_basic = draw(st.booleans())
    ellipsis_at = draw(st.integers(0, len(shape))) if draw(st.booleans()) else None
    while axis < len(shape) or draw(st.integers(0, 5)) == 0:
        if len(items) > 7:
            break
        if ellipsis_at == axis:
            items.append(Ellipsis)
            ellipsis_at = None if draw(st.integers(0, 20)) else axis + 1
            axis += draw(st.integers(0, max(0, len(shape) - axis)))
            continue
        length = shape[axis] if axis < len(shape) else 2
        kind = draw(st.sampled_from(["int", "int", "slice", "slice", "none", "stop"] + ["array", "mask", "bool"] * 2))
        if only_basic and kind in ("array", "mask", "bool"):
            kind = "slice"
        if kind == "stop":
            if draw(st.integers(0, 2)) == 0:
                break
        elif kind == "none":
            items.append(None)
        elif kind == "bool":
            if draw(st.integers(0, 2)) == 0:
                items.append(draw(st.sampled_from([True, False, np.bool_(True), np.array(False).view(Given)])))
        elif kind == "int":
            slack = draw(st.sampled_from([0] * 12 + [1]))
            if length or slack:
                value = draw(st.integers(-length - slack, length - 1 + slack))
                items.append(draw(st.sampled_from([value, value, np.int32(value)])))
            else:
                items.append(slice(None))
            axis += 1
        elif kind == "slice":
            items.append(draw(bounds(length)))
            axis += 1
        elif kind == "array":
            items.append(draw(integer_array(length, arrays_shape)))
            axis += 1
        else:
            ndim = draw(st.integers(1, max(1, min(3, len(shape) - axis))))
            mask_shape = shape[axis : axis + ndim] if draw(st.integers(0, 12)) else (length + 1,)
            size = int(np.prod(mask_shape, dtype=int))
            flags = np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)), dtype=bool)
            items.append(draw(as_argument(flags.reshape(mask_shape))))
            axis += ndim
    if len(items) == 1 and draw(st.booleans()):
        return items[0]
    return tuple(items)


def has_negative_step(key: Any) -> bool:
    items = key if isinstance(key, tuple) else (key,)
    return any(isinstance(item, slice) and item.step is not None and item.step < 0 for item in items)


def array_of(xp: Any, shape: tuple[int, ...], dtype: str, transposed: bool) -> Any:
    """An array to index; a transposed one is a view whose elements are not in C order."""
    x = sample(xp, shape[::-1] if transposed else shape, dtype)
    if transposed and len(shape) > 1:
        x = x.transpose()
    return x if not transposed else xp.asarray(x)


@EXAMPLES
@given(st.data())
def test_get_any_key(data: st.DataObject) -> None:
    shape = data.draw(shapes)
    key = data.draw(keys(shape))
    dtype = data.draw(st.sampled_from(ALL))
    transposed = data.draw(st.booleans())
    expected_from, actual_from = array_of(np, shape, dtype, transposed), array_of(tnp, shape, dtype, transposed)
    expected = outcome(lambda xp: expected_from[key_for(xp, key)], np)
    actual = outcome(lambda xp: actual_from[key_for(xp, key)], tnp)
    assert_same(expected, actual)
    if not isinstance(expected, Raised):
        assert isinstance(expected, np.generic) == (type(actual) in SCALARS)
        if not has_negative_step(key) and expected.size:
            assert tnp.shares_memory(actual, actual_from) == np.shares_memory(expected, expected_from)


@st.composite
def values(draw: Any, selected: tuple[int, ...]) -> Any:
    """What may be written to a selection of this shape: it broadcasts, most of the time."""
    form = draw(st.sampled_from(["scalar", "tnp", "tnp", "numpy", "list"]))
    if form == "scalar":
        return draw(st.sampled_from([0, 1, 3, True, 2.5, -1.0, 100]))
    shape = selected[draw(st.integers(0, len(selected))) :]
    shape = tuple([draw(st.sampled_from([n, n, n, 1])) for n in shape])
    change = draw(st.integers(0, 12))
    if change == 0:
        shape = (*shape, 2)
    elif change == 1:
        shape = (1, *shape)
    dtype = draw(st.sampled_from(["int64", "float32", "uint8", "bool"] + ["complex64", "uint16"] * (form != "list")))
    value = np.arange(1, 1 + int(np.prod(shape, dtype=int))).reshape(shape).astype(dtype)
    if form == "list":
        return value.tolist()
    return value.view(Given) if form == "tnp" else value


@EXAMPLES
@given(st.data())
def test_set_any_key(data: st.DataObject) -> None:
    shape = data.draw(shapes)
    key = data.draw(keys(shape))
    dtype = data.draw(st.sampled_from(ALL))
    transposed = data.draw(st.booleans())
    selected = outcome(lambda xp: np.zeros(shape)[key_for(xp, key)], np)
    value = data.draw(values((2,) if isinstance(selected, Raised) else selected.shape))
    element_to_bool = dtype == "bool" and isinstance(selected, np.generic) and np.ndim(value)
    assume(not element_to_bool)  # NumPy writes the truth value of the sequence; tnp raises
    nothing_to_nothing = not isinstance(selected, Raised) and selected.size == np.size(value) == 0
    assume(not nothing_to_nothing or np.shape(value) == selected.shape)  # NumPy lets some pass that do not broadcast
    compare(put, array_of, shape, dtype, transposed, key, value)


def put(xp: Any, make: Any, shape: Any, dtype: Any, transposed: Any, key: Any, value: Any) -> Any:
    x = make(xp, shape, dtype, transposed)
    try:
        x[key_for(xp, key)] = key_for(xp, value)
    except Exception as error:
        if xp is not np and memory.is_readable(x.tensor):  # not while it is traced
            np.testing.assert_array_equal(tnp.asnumpy(x), array_of(np, shape, dtype, transposed))
        raise error
    return x


@EXAMPLES
@given(st.data())
def test_set_from_own_memory(data: st.DataObject) -> None:
    length = data.draw(st.integers(1, 8))
    target, source = data.draw(bounds(length)), data.draw(bounds(length))
    strided = data.draw(st.booleans())

    def move(xp: Any) -> Any:
        x = xp.arange(length * 2)[::2] if strided else xp.arange(length)
        x[target] = x[source].copy() if xp is np else x[source]  # NumPy itself errs: x[::2] = x[:-2]
        return x

    compare(move)


# Rules by name.

BAD_KEYS = [
    5,
    -4,
    (0, 5),
    (0, 0, 0),
    (slice(None),) * 3,
    2.5,
    np.float64(1.0),
    "a",
    (Ellipsis, Ellipsis),
    [slice(None)],
    [1.5],
    np.array([1.0]),
    np.array([]),
    slice(None, None, 0),
    slice(1.5),
    10**30,
    [0, 5],
    [0, -4],
    ([0, 1], [0, 1, 2]),
    ([True, False, True], [0, 1, 2]),
    [True, False],
    [[True, False]],
    np.zeros((3, 3, 1), bool),
    {},
    object(),
]


@pytest.mark.parametrize("key", BAD_KEYS)  # no ids: an object has no stable text
def test_bad_key(key: Any) -> None:
    compare(lambda xp: xp.zeros((3, 3))[key], raises=(IndexError, TypeError, ValueError))
    compare(put_zeros, (3, 3), key, 1, raises=(IndexError, TypeError, ValueError))


def put_zeros(xp: Any, shape: tuple[int, ...], key: Any, value: Any, dtype: str = "float64") -> Any:
    x = xp.zeros(shape, dtype=dtype)
    x[key_for(xp, key)] = key_for(xp, value)
    return x


@pytest.mark.parametrize("key", [5, -4, (0, 5), (0, 0, 0), [0, 5], ([0], [-4]), ([0, 1], [1] * 3), [True, False], "a"])
@pytest.mark.parametrize("write", [False, True])
def test_messages_are_numpys(key: Any, write: bool) -> None:
    def use(xp: Any) -> Any:
        return put_zeros(xp, (3, 3), key, 1) if write else xp.zeros((3, 3))[key]

    assert str(outcome(use, tnp).error) == str(outcome(use, np).error)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "two ellipses": lambda xp: xp.zeros((3, 3))[..., 0, 0, ...],
    "two ellipses and an array": lambda xp: xp.zeros((3, 3))[..., [0], 0, ...],
    "a short mask of the last axis": lambda xp: xp.zeros((3, 4))[0, xp.asarray([True, False])],
    "a mask wrong in its last axis": lambda xp: xp.zeros((2, 3, 4))[xp.zeros((2, 5), bool)],
    "after an ellipsis": lambda xp: xp.zeros((2, 3, 4))[[0], ..., 4],
    "negative after an ellipsis": lambda xp: xp.zeros((2, 3, 4))[[0], ..., -5],
    "an array after an ellipsis": lambda xp: xp.zeros((2, 3, 4))[..., xp.asarray([7])],
    "an array alone": lambda xp: xp.arange(3)[xp.asarray([5])],
    "an array alone, of nothing": lambda xp: xp.zeros((3, 0))[xp.asarray([5])],
    "an array alone, negative": lambda xp: xp.zeros((3, 4))[xp.asarray([1, -9])],
    "an array after a number": lambda xp: put_zeros(xp, (3, 4), (0, xp.asarray([1, -9])), xp.ones(2)),
    "beside an array": lambda xp: xp.zeros((2, 3))[[0], 3],
    "the largest": lambda xp: xp.zeros((2, 3))[[0], 2**63 - 1],
    "the least": lambda xp: xp.zeros((2, 3))[[0], -(2**63)],
    "too large for a signed one": lambda xp: xp.zeros(3)[2**63],
    "too large": lambda xp: xp.zeros(3)[2**64],
    "too little": lambda xp: xp.zeros(3)[-(2**63) - 1],
    "too many": lambda xp: xp.zeros(3)[[0], 0],
    "no integers": lambda xp: xp.zeros(3)[xp.asarray([1.0])],
    "no integer": lambda xp: xp.zeros(3)[2.5],
    "an array of no integer": lambda xp: xp.zeros(3)[xp.asarray(1.0)],
    "an element that is no integer": lambda xp: xp.zeros(3)[xp.ones(3)[0]],
    "arrays of other shapes": lambda xp: xp.zeros((3, 3))[[0, 1], [0, 1, 2]],
    "arrays of more dimensions": lambda xp: xp.zeros((3, 3))[xp.asarray([0, 1]), xp.asarray([[0, 1, 2]])],
    "true elements for an array": lambda xp: xp.zeros((3, 3))[[True, True, False], [0, 1, 2]],
    "arrays of a ufunc": lambda xp: xp.add.at(xp.zeros((3, 3)), ([0, 1], [0, 1, 2]), 1),
    "out of bounds for a ufunc": lambda xp: xp.add.at(xp.zeros((3, 3)), ([0, 1], [0, 5]), 1),
    "arrays too large together": lambda xp: xp.ones((3,) * 5)[xp.ix_(*[xp.zeros(7132, int)] * 5)],
    "a step of nothing": lambda xp: xp.zeros((3, 3))[::0, [0]],
    "more dimensions than there are": lambda xp: xp.ones(3)[(None,) * 70],
    "a longer value": lambda xp: put_zeros(xp, (3, 4), [0, 1], xp.ones(3)),
    "a longer value for a view": lambda xp: put_zeros(xp, (3, 4), slice(0, 2), xp.ones(3)),
    "a longer value for arrays": lambda xp: put_zeros(xp, (9, 9), ([0, 1, 2], np.zeros((4, 3), int)), xp.ones(7)),
    "values of as many dimensions": lambda xp: put_zeros(xp, (2, 2), np.zeros((2, 2), int), xp.ones((3, 2, 2))),
    "values for a mask": lambda xp: put_zeros(xp, (2, 2), xp.ones((2, 2), bool), xp.ones(3)),
    "rows for a mask": lambda xp: put_zeros(xp, (2, 2), xp.ones(2, bool), xp.ones((3, 2))),
    "dimensions for a mask": lambda xp: put_zeros(xp, (2, 2), xp.ones((2, 2), bool), xp.ones((1, 4))),
    "rows for a mask's elements": lambda xp: put_zeros(xp, (3,), (xp.ones(3, bool), ...), xp.ones((3, 3))),
    "a box for a mask's elements": lambda xp: put_zeros(xp, (3,), (xp.ones(3, bool), ...), xp.ones((3, 2, 3))),
    "a list for an element": lambda xp: put_zeros(xp, (3, 4), (0, 0), [1, 2]),
    "a nested list for a row": lambda xp: put_zeros(xp, (3, 2), xp.asarray(0), [[1, 2]]),
    "a nested list for rows": lambda xp: put_zeros(xp, (3, 2), slice(0, 1), [[[1, 2]]]),
}


@pytest.mark.usefixtures("computed_by")
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_in_numpys_words(name: str) -> None:
    expected, actual = outcome(REFUSED[name], np), outcome(REFUSED[name], oracle.ours())
    assert (type(actual.error), str(actual.error)) == (type(expected.error), str(expected.error))


@pytest.mark.parametrize("value", [np.array([1j, 2, 3]), np.array(1j)], ids=repr)
@pytest.mark.parametrize("key", [slice(None), [0, 1, 2]], ids=repr)
def test_the_warning_of_a_lost_part_is_numpys(key: Any, value: Any) -> None:
    """Also in naming the user's line."""
    texts = []
    for xp in (np, tnp):
        with pytest.warns(np.exceptions.ComplexWarning) as caught:
            put_zeros(xp, (3,), key, placed(xp, value))
        texts.append([(str(warning.message), warning.filename, warning.lineno) for warning in caught])
    assert texts[0] == texts[1]


@agrees(raises=IndexError)
def test_a_bad_index_comes_before_a_bad_value(xp: Any) -> None:
    xp.zeros((1, 0), dtype="uint8")[0, xp.asarray(0)] = -1


@pytest.mark.parametrize("key", [slice(None), [0, 1], np.array([True, False, True]), slice(None, None, -1)], ids=repr)
def test_message_of_a_value_that_does_not_fit(key: Any) -> None:
    expected = outcome(put_zeros, np, (3,), key, np.ones(5))
    assert str(outcome(put_zeros, tnp, (3,), key, np.ones(5)).error) == str(expected.error)


@agrees
def test_index_objects(xp: Any) -> Any:
    class Index:
        def __index__(self) -> int:
            return 1

    x = xp.arange(12).reshape(3, 4)
    return x[Index()], x[Index() :], x[np.int8(2), np.uint64(1)], x[xp.arange(3)[2]]


@agrees
def test_a_slice_from_an_element_on(xp: Any) -> Any:
    return xp.arange(12).reshape(3, 4)[xp.arange(3)[1] :]


SEPARATED: list[Any] = [
    np.s_[:, [True, False, True], 0],
    np.s_[0, :, [True, False, True, True]],
    np.s_[[True, False], ..., 0],
    np.s_[:, True, None, 0],
    np.s_[:, False, None, 0],
    np.s_[:, [0, 2], ..., [1, 1]],
    np.s_[:, [0, 2], [1, 1], ...],
    np.s_[0, None, [0, 2]],
    np.s_[::-1, [0, 2], ::-2],
    np.s_[..., np.array(1), :, [[0], [1]]],
    np.s_[[1, 0], None, ::-1, [2, 3]],
    np.s_[True, ..., [[True, False, True, True]] * 3],
]


@pytest.mark.parametrize("key", SEPARATED, ids=repr)
def test_where_the_dimensions_of_index_arrays_go(key: Any) -> None:
    def use(xp: Any) -> Any:
        x = xp.arange(24).reshape(2, 3, 4)
        selected = x[key].copy()
        x[key] = xp.arange(selected.size).reshape(selected.shape) + 100
        return selected, x

    compare(use)


@pytest.mark.usefixtures("computed_by")
@pytest.mark.parametrize("dtype", INTEGERS)
@agrees
def test_indices_of_every_integer_dtype(xp: Any, dtype: str) -> Any:
    """As many as there are elements: torch takes uint8 for a mask."""
    i, x, y = xp.asarray([2, 0, 0], dtype), xp.arange(3), xp.arange(9).reshape(3, 3)
    read = x[i], y[i], y[:, i], y[i, i], y[0, i], y[1:, i]
    x[i] = 7
    y[:, i] = xp.asarray([[1], [2], [3]])
    z, w = xp.zeros((2, 2)), xp.zeros((2, 2))
    z[xp.asarray([[0, 1], [1, 1]], dtype)] = 5
    w[xp.asarray([[0, 0], [0, 0]], dtype)] = xp.ones((2, 2, 2))
    return read, x, y, z, w


@pytest.mark.usefixtures("computed_by")
@agrees
def test_keys_of_numbers_slices_and_arrays(xp: Any) -> Any:
    x, y = xp.arange(24).reshape(2, 3, 4), xp.arange(6)
    after = (
        x[[0], ..., 3],
        x[[1], ..., -4],
        x[[0], -3],
        x[0, [True, False, True], 3],
        x[0, 1, [True, False, True, True]],
    )
    masks = x[:, [True, False, True], [0, 2]], x[1, [True, False, True], -4], x[:, [[True] * 4] * 3, None]
    return after, masks, x[[1, 0], None, [0, 2], [1, 1]], y[3:0:-1], y[4:0:-2], x[[0], 1, 2:0:-1], y[3:3:-1], y[1:3:-1]


@agrees
def test_elements_read_by_other_keys_do_not_change_with_their_array(xp: Any) -> Any:
    x = xp.arange(5)
    read = x[np.int64(0)], x[(np.int64(1),)], x[xp.asarray(2)], x[xp.asarray(3),]
    x[:] = 9
    return read


@pytest.mark.host
@agrees
def test_integer_scalars_select_views(xp: Any) -> Any:
    x, one = xp.zeros((2, 3, 2)), xp.argmax(xp.asarray([1.0, 5.0]))
    for key in (one, (one, 0), (slice(None), one, one), xp.asarray(1), (0, xp.asarray(1))):  # 0-d arrays select copies
        view = x[key]
        view[0] += 1
    return x, x[one, one, one], type(x[one]) is type(x)


@pytest.mark.parametrize("key", [0, slice(0, 1), np.array([True, False]).view(Given)], ids=repr)
def test_a_number_is_cast_by_its_class(key: Any) -> None:
    """A complex number is refused where integers are, also one that equals what was written before."""
    for value in (1, True, 1.0, 1 + 0j):
        compare(put_zeros, (2,), key, value, "int8", may_raise=TypeError)


@pytest.mark.host
def test_an_expanded_tensor_is_read_only() -> None:
    x = tnp.asarray(torch.zeros(3).expand(2, 3))
    for key in (0, slice(None), tnp.asarray([0]), (0, tnp.asarray(1))):
        with pytest.raises(ValueError, match=r"^assignment destination is read-only$"):
            x[key] = 1
    assert not x.any()
    with pytest.raises(ValueError, match=r"^assignment destination is read-only$"):
        tnp.asarray(torch.zeros(()).expand(3))[:] = tnp.ones(3)
    for strides in ((0, 1), (1, 1)):  # an axis of one element has a place for each, whatever its stride
        y = tnp.asarray(torch.zeros(3).as_strided((1, 3), strides))
        y[0, 1] = 1
        y[tnp.asarray([0]), 2] = 2
        assert y.tolist() == [[0, 1, 2]]


@pytest.mark.host
def test_values_that_are_torchs() -> None:
    x = tnp.zeros((2, 3), "i8")
    x[0], x[1, 1:], x[tnp.asarray([1]), 0] = torch.tensor([1, 2, 3]), torch.tensor(5.0), torch.tensor([7])
    assert x[torch.tensor([1, 0]), torch.tensor(1)].tolist() == [5, 2] and x.tolist() == [[1, 2, 3], [7, 5, 5]]
    for value in (torch.ones(2), tnp.ones(2)):
        with pytest.raises(ValueError, match=r"^setting an array element with a sequence\.$"):
            x[0, 0] = value


@agrees
def test_swapping_elements(xp: Any) -> Any:
    x = xp.arange(5)
    x[0], x[3] = x[3], x[0]
    y = xp.arange(6).reshape(2, 3)
    y[0, 1], y[1, 2] = y[1, 2], y[0, 1]
    return x, y


def test_scalars_do_not_change_with_their_array() -> None:
    x = tnp.arange(5)
    first, view = x[0], x[0, ...]
    x[0] = 7
    assert int(first) == 0 and int(view) == 7
    with pytest.raises(TypeError, match=r"'numpy\.int64' object does not support item assignment"):
        first[()] = 1


@agrees
def test_empty_lists_are_integers(xp: Any) -> Any:
    x = xp.arange(6).reshape(2, 3)
    return x[[]], x[:, []], x[[[]]], x[()], x[[], 1]


@pytest.mark.parametrize("dtype", ALL)
@agrees
def test_what_masks_pick_in_every_dtype(xp: Any, dtype: str) -> Any:
    x, mask = sample(xp, (4, 5), dtype), sample(xp, (4, 5), "bool")
    return x[mask], x[:, mask[0]]


@pytest.mark.parametrize("dtype", ALL)
def test_every_dtype(dtype: str) -> None:
    def use(xp: Any) -> Any:
        x = sample(xp, (4, 5), dtype)
        mask, rows = sample(xp, (4, 5), "bool"), xp.asarray([2, 0, 2])
        views = [x[rows], x[rows, rows], x[::-1, 1], x[1, 1], x[..., None, ::-2]]
        results = [view.copy() for view in views]
        x[mask] = x[0, 0]
        x[rows] = sample(xp, (3, 5), dtype, seed=1)
        x[::-1, 1] = sample(xp, (4,), dtype, seed=2)
        x[0, ::2] = 1
        x[~mask] = sample(xp, (int((~mask).sum()),), dtype, seed=3)
        return [*results, x]

    compare(use)


WRITTEN = [300, -1, 2.7, 1j, 2**70, 2**64 - 1, 1e300, True, None, "3", "a", [1, 300], [[[1, 2]]], [1, [2, 3]]]
WRITTEN += [np.int64(300), np.float64(2.5), np.complex128(1 + 1j), np.array([1j, 2])]


@pytest.mark.parametrize("value", WRITTEN, ids=repr)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "uint64", "float32", "float64", "complex64"])
@pytest.mark.parametrize("key", [slice(None, 2), [0, 2], np.array([True, False, True])], ids=repr)
def test_value_is_cast(value: Any, dtype: str, key: Any) -> None:
    compare(put_zeros, (3,), key, value, dtype, may_raise=(OverflowError, TypeError, ValueError))


@pytest.mark.parametrize("value", [v for v in WRITTEN if np.isscalar(v)], ids=repr)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "uint64", "float32", "float64", "complex64"])
def test_value_of_an_element_is_cast(value: Any, dtype: str) -> None:
    compare(put_zeros, (3,), 0, value, dtype, may_raise=(OverflowError, TypeError, ValueError))
    compare(put_zeros, (3,), (0, ...), value, dtype, may_raise=(OverflowError, TypeError, ValueError))
    compare(put_zeros, (3,), np.array(0), value, dtype, may_raise=(OverflowError, TypeError, ValueError))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [1], (1, 2), np.array([1]), np.array([1, 2])], ids=repr)
@pytest.mark.parametrize("dtype", ["uint8", "int64", "uint64"])
def test_value_that_is_no_integer(value: Any, dtype: str) -> None:
    compare(put_zeros, (3,), 0, value, dtype, raises=(OverflowError, TypeError, ValueError))


def test_losing_the_imaginary_part_warns() -> None:
    x = tnp.zeros(2)
    with pytest.warns(np.exceptions.ComplexWarning):
        x[:] = beside(tnp, np.array([1j, 2]))
    with pytest.warns(np.exceptions.ComplexWarning):
        x[[0]] = tnp.asarray([1j])
    flags = tnp.zeros(2, bool)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flags[:] = beside(tnp, np.array([1j, 0]))
    assert flags.tolist() == [True, False]


@pytest.mark.parametrize("key", [0, slice(None), [0], np.ones((2, 3), bool), Ellipsis], ids=repr)
def test_broadcast_views_are_read_only(key: Any) -> None:
    def write(xp: Any) -> None:
        xp.broadcast_to(xp.zeros(3), (2, 3))[key] = 1

    compare(write, raises=ValueError)


@agrees
def test_in_place_operators_on_a_selection(xp: Any) -> Any:
    x = xp.arange(12.0).reshape(3, 4)
    x[1:] += 1
    x[:, 0] *= 2
    x[[0, 2]] -= 3
    x[x > 8] = 0
    x[1, 1] += 5
    x[::-1] += xp.arange(4.0)
    return x


EMPTY_PICKS: dict[str, Callable[[Any], Any]] = {
    "no rows": lambda xp: (xp.asarray([], "i8"), slice(None)),
    "no columns": lambda xp: (slice(1, 3), xp.asarray([], "i8")),
    "of no rows": lambda xp: (slice(0, 0), xp.asarray([0, 3])),
    "of no rows, out of bounds": lambda xp: (slice(0, 0), xp.asarray([0, 4])),
    "of no columns, out of bounds": lambda xp: (xp.asarray([-4]), slice(2, 2)),
    "nothing true": lambda xp: (xp.zeros(3, bool), slice(None)),
    "nothing true, too short": lambda xp: (xp.zeros(2, bool), slice(None)),
    "both": lambda xp: (xp.zeros((0, 2), "i8"), xp.zeros((1, 2), "i8")),
    "both, no common shape": lambda xp: (xp.zeros((0, 2), "i8"), xp.zeros((0, 3), "i8")),
    "more than dimensions": lambda xp: (xp.asarray([0]), xp.asarray([0]), xp.asarray([0])),
    "far more": lambda xp: (xp.asarray([0]),) * 64,
}


@pytest.mark.parametrize("name", EMPTY_PICKS)
def test_picks_of_nothing_are_checked(name: str) -> None:
    compare(lambda xp: xp.arange(12.0).reshape(3, 4)[EMPTY_PICKS[name](xp)], may_raise=IndexError)


@pytest.mark.parametrize("dtype", ALL[1:])  # NumPy takes a list's truth where booleans are
def test_a_sequence_for_one_element(dtype: str) -> None:
    for value in ([1, 2], np.ones(2)):
        compare(
            lambda xp, value=value: xp.zeros(3, dtype).__setitem__(0, beside(xp, value)), raises=(TypeError, ValueError)
        )
        with pytest.raises((TypeError, ValueError), match=r"^setting an array element with a sequence\.$"):
            tnp.zeros(3, dtype)[0] = beside(tnp, value)


@pytest.mark.usefixtures("computed_by")
@agrees
def test_leading_ones_of_values_for_a_mask(xp: Any) -> Any:
    rows, columns, both = xp.zeros((3, 4)), xp.zeros((3, 4)), xp.zeros((3, 4, 2))
    rows[xp.asarray([True, False, True])] = xp.arange(8.0).reshape(1, 1, 2, 4)
    columns[:, xp.asarray([True, False, True, True])] = xp.arange(9.0).reshape(1, 3, 3)
    both[:, xp.asarray([True, False, True, True])] = xp.arange(18.0).reshape(1, 1, 3, 3, 2)
    rows[xp.asarray([True, True, False])] = xp.arange(4.0).reshape(1, 1, 4)
    rows[np.int64(1)] = xp.ones((1, 1, 4))
    rows[np.int64(0), xp.asarray(2)] = xp.ones(())
    return rows, columns, both


@pytest.mark.usefixtures("computed_by")
@agrees
def test_values_that_broadcast_to_what_a_mask_picks(xp: Any) -> Any:
    mask, x, y = xp.asarray([True, False, True]), [xp.zeros((3, 3)) for _ in range(6)], xp.zeros((3, 4, 5))
    x[0][mask] = xp.arange(2.0).reshape(2, 1)
    x[1][:, mask] = xp.asarray([1.0, 2.0])
    x[2][:, mask] = xp.asarray([[1.0], [2.0], [3.0]])
    x[3][mask] = xp.asarray([[1.0, 2.0, 3.0]])
    x[4][mask] = xp.asarray([7.0])
    x[5][:, mask] = xp.asarray([[5.0, 6.0]])
    y[mask] = xp.arange(20.0).reshape(4, 5)
    return x, y


@pytest.mark.parametrize("key", [[0, 1], [0, 99, 1], [-6, 1, 2], [True, False, True, False, False], [True, False]])
@pytest.mark.parametrize("values", [(3,), (2, 3), (7,)])
def test_few_values_that_do_not_fit_are_not_written(key: Any, values: tuple[int, ...]) -> None:
    x = tnp.zeros(5)

    def write(xp: Any, x: Any) -> None:
        x[xp.asarray(key)] = xp.ones(values)

    compare(lambda xp: write(xp, xp.zeros(5)), raises=(IndexError, TypeError, ValueError))
    with pytest.raises((ValueError, IndexError, TypeError)):
        write(tnp, x)
    assert not x.any()


@pytest.mark.parametrize("count", [50, 2000, 2900, 100_000])
@pytest.mark.parametrize("shape", [(40,), (5, 8)])
def test_last_of_repeated_writes_stays(count: int, shape: tuple[int, ...]) -> None:
    def write(xp: Any) -> Any:
        rng = np.random.default_rng(count)
        x = xp.zeros(shape)
        x[tuple([xp.asarray(rng.integers(-n, n, count)) for n in shape])] = xp.arange(count) * 1.0
        y = xp.zeros((30, 4))
        y[xp.asarray(rng.integers(0, 30, (count // 10, 1))), xp.asarray([[3, 0, 3]])] = (
            xp.arange(count // 10 * 3).reshape(3, -1).T * 1.0
        )
        z = xp.zeros((4, 30))
        z[:, xp.asarray(rng.integers(0, 30, count // 10))] = xp.arange(count // 10 * 4).reshape(4, -1) * 1.0
        return x, y, z

    compare(write)


@pytest.mark.usefixtures("computed_by")
@agrees
def test_index_that_overlaps_the_target(xp: Any) -> Any:
    x = xp.asarray([2, 0, 1, 3])
    x[x] = x[::-1]
    y = xp.arange(4)
    y[y[::2]] = y[1:3]
    m = xp.asarray([[True, False], [True, True]])
    n = m.copy()
    m[m] = False
    n[n[0]] = n[:, 0]
    z = xp.arange(9).reshape(3, 3)
    z[z > 2] = z[:2].reshape(-1)
    z[[0, 1]] = z[[1, 0]]
    z[:] = z.T
    return x, y, z, m, n


@pytest.mark.parametrize("key", [np.s_[:], ..., np.s_[:2]], ids=str)
@pytest.mark.parametrize(("dtype", "other"), [("f4", "i4"), ("i8", "f8"), ("u2", "f2"), ("u8", "i8"), ("u1", "b1")])
def test_value_that_is_the_target_under_another_dtype(dtype: str, other: str, key: Any) -> None:
    def write(xp: Any) -> Any:
        x = xp.asarray([1, 0, 3], dtype=dtype)
        y = x.view(other)
        y[key] = x[key]
        return x, y

    compare(write)


@pytest.mark.host
def test_writing_numbers_that_no_tensor_holds() -> None:
    texts, objects = np.array(["1", "2.5"]), np.array([Fraction(1, 2), 3], dtype=object)

    def write(xp: Any) -> Any:
        x = xp.zeros((2, 4))
        x[:, 0] = texts
        x[[0, 1], [1, 1]] = objects
        x[x[:, 0] > 1, 2] = objects[:1]
        x[:, 3:] = np.ones((2, 1), np.longdouble)
        return x

    compare(write)


@pytest.mark.parametrize(
    ("shape", "mask_shape"),
    [
        ((3,), (0,)),
        ((2, 3), (0, 3)),
        ((2, 3), (2, 0)),
        ((2, 3), (0,)),
        ((2, 3), (0, 2)),
        ((2, 0), (0, 1)),
        ((0,), (1,)),
    ],
)
def test_mask_of_length_zero(shape: tuple[int, ...], mask_shape: tuple[int, ...]) -> None:
    """It picks nothing of any axis; the other lengths have to fit."""
    compare(lambda xp: xp.ones(shape)[xp.zeros(mask_shape, dtype=bool)], may_raise=IndexError)
    compare(lambda xp: xp.ones(shape)[..., xp.zeros(mask_shape, dtype=bool)], may_raise=IndexError)
    compare(lambda xp: updated(xp.ones(shape), xp.zeros(mask_shape, dtype=bool), 5.0), may_raise=IndexError)


def test_mask_that_overlaps_the_target_crosswise() -> None:
    x = tnp.asarray([[True, False], [True, True]])
    x[x.T] = [False, True, False]  # NumPy itself errs here
    assert x.tolist() == [[False, True], [True, False]]


def updated(x: Any, key: Any, value: Any) -> Any:
    x = x.copy()
    x[key] = value
    return x


TRACED = {
    "element": lambda x, i, s: x[1, 2],
    "steps": lambda x, i, s: x[1:, ::-1],
    "rows": lambda x, i, s: x[i],
    "columns": lambda x, i, s: x[:, i, None],
    "separated": lambda x, i, s: x[0, None, i],
    "scalar": lambda x, i, s: x[s, s],
    "list": lambda x, i, s: x[[0, 1]],
    "write element": lambda x, i, s: updated(x, (0, 1), x[2, 2]),
    "write rows": lambda x, i, s: updated(x, i, x[1:]),
    "write scalar": lambda x, i, s: updated(x, s, 7),
    "write reversed": lambda x, i, s: updated(x, np.s_[::-1], x),
    "write overlap": lambda x, i, s: updated(x, np.s_[1:], x[:-1]),
    "write mask": lambda x, i, s: updated(x, x > 3, 0),
    "write row mask": lambda x, i, s: updated(x, x[:, 0] > 3, x[0]),
    "where": lambda x, i, s: tnp.where(x > 3, x, 0),
    "take": lambda x, i, s: tnp.take(x, i, axis=1),
    "along": lambda x, i, s: tnp.take_along_axis(x, tnp.argsort(-x, axis=1), 1),
    "select": lambda x, i, s: tnp.select([x > 3, x < 1], [x, -x], 1.0),
    "triangle": lambda x, i, s: tnp.tril(x),
}


def test_compiled() -> None:
    def function(*arguments: Any) -> Any:
        return {name: function(*arguments) for name, function in TRACED.items()}

    arguments = tnp.arange(12.0).reshape(3, 4), tnp.asarray([0, 2]), tnp.asarray(1)
    expected, found = function(*arguments), tnp.compile(function)(*arguments)
    assert {name: each.tolist() for name, each in found.items()} == {
        name: each.tolist() for name, each in expected.items()
    }


@pytest.mark.parametrize("indices", [[0, 2], [-3, 1], [], [3], [0, -4], [-3, 7, 1], [[0], [5]]], ids=repr)
def test_indices_that_a_trace_knows(indices: Any) -> None:
    def use(xp: Any) -> Any:
        return xp.arange(3)[indices], updated(xp.arange(6).reshape(2, 3), np.s_[:, indices], 9)

    expected, actual = outcome(use, np), oracle.outcome_compiled(use, "eager")
    assert_same(expected, actual)
    assert not isinstance(expected, Raised) or str(actual.error) == str(expected.error)


@pytest.mark.parametrize("shape", [(), (1,), (2,), (3,), (1, 2), (2, 2)])
def test_masks_that_a_trace_knows(shape: tuple[int, ...]) -> None:
    def use(xp: Any) -> Any:
        mask, values = [True, False, True], xp.arange(4.0)[: int(np.prod(shape, dtype=int))].reshape(shape)
        return xp.arange(3)[mask], updated(xp.zeros((2, 3)), np.s_[:, mask], 9), updated(xp.zeros(3), mask, values)

    assert_same(outcome(use, np), oracle.outcome_compiled(use, "eager"))


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("least", [-1, 1])
@pytest.mark.raises
def test_masks_that_a_trace_does_not_know(count: int, least: int) -> None:
    def use(xp: Any, x: Any) -> Any:
        return updated(x, x >= least, xp.arange(9.0, 9.0 + count)), updated(xp.stack([x, x]), np.s_[:, x >= least], 7)

    expected = outcome(use, np, np.arange(3.0))
    x = placed(tnp, np.arange(3.0))
    assert_same(expected, outcome(lambda xp: xp.compile(lambda x: use(xp, x), backend="eager")(x), tnp))


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_a_number_at_a_traced_mask(dtype: str) -> None:
    def use(xp: Any, x: Any) -> Any:
        return updated(x, x > 1, np.iinfo(dtype).max), updated(x, np.s_[:, [True, False]], 7)

    x = np.arange(6, dtype=dtype).reshape(3, 2)
    expected = outcome(use, np, x)
    assert_same(expected, outcome(lambda xp: xp.compile(lambda x: use(xp, x), backend="eager")(placed(xp, x)), tnp))


def test_a_traced_number_of_another_dtype_is_cast() -> None:
    x, y = tnp.zeros(3, "int8"), tnp.arange(3) + 4
    assert tnp.compile(lambda x, y: updated(x, 0, y[1]), backend="eager")(x, y).tolist() == [5, 0, 0]


@pytest.mark.parametrize("name", TRACED)
def test_gradient(name: str) -> None:
    tensor = torch.arange(12.0, device=oracle.device).reshape(3, 4).requires_grad_()
    x, i, s = tnp.asarray(tensor), tnp.asarray([0, 2]), tnp.asarray(1)
    result = TRACED[name](x, i, s).tensor
    assert result.requires_grad
    (gradient,) = torch.autograd.grad(result.sum(), tensor)
    assert gradient.shape == tensor.shape and gradient.any()


def test_an_element_of_its_own_to_all() -> None:
    def write(xp: Any) -> Any:
        x, y, z = xp.arange(1.0, 7.0), xp.arange(1.0, 7.0), xp.arange(1.0, 7.0).reshape(2, 3)
        x[:] = x[2, ...]
        y.fill(y[1, ...])
        z[..., 1:] = z[1, 1, ...]
        return x, y, z

    compare(write)


def test_a_tuple_of_another_class_is_a_tuple() -> None:
    place = namedtuple("place", "row column")

    def use(xp: Any) -> Any:
        x = xp.arange(6).reshape(2, 3)
        x[place(0, 1)] = 9
        x[place(slice(None), 0)] += 10
        return x, x[place(1, 2)], x[place([0, 1], [1, 1])], x[place(None, ...)].shape

    compare(use)


@agrees
def test_an_element_of_its_own_to_chosen_ones(xp: Any) -> Any:
    x, y = xp.arange(1.0, 7.0), xp.arange(1, 7)
    x[xp.asarray([[0, 0], [-1, 2]])] = x[2, ...]
    y[y > 2] = y[0, ...]
    y[[1, 2], ...] = y[5, ...]
    return x, y


@agrees
def test_one_boolean_in_an_array_to_an_element(xp: Any) -> Any:
    x = xp.zeros((2, 3), dtype=bool)
    y = x.copy()
    x[0, 1] = xp.ones(1)
    x[1, 2] = xp.asarray([[3]])
    y[::2].fill(xp.asarray([[7]]))
    return x, y


@pytest.mark.parametrize("value", [[], [0], (0, 0), [[1, 2], [3]], range(2), ["a"]])
@agrees
def test_a_sequence_to_a_boolean_element(xp: Any, value: Any) -> Any:
    """It is true if there is anything in it."""
    x = xp.zeros((2, 3), dtype=bool)
    y, z = x.copy(), xp.ones((), dtype=bool)
    x[0, 1] = x.flat[2] = z[()] = value
    x[xp.asarray(1), 0] = value
    y.fill(value)
    return x, y, z


FITTING = [np.nan, np.float64(np.nan), np.int64(300), np.float64(300), 2.5, np.uint8(7), np.complex64(300), 300]
FITTING += [np.complex128(complex(np.inf, 1)), np.complex64(complex(np.nan, 1)), np.complex128(2.7 - 1j)]


@pytest.mark.parametrize("value", FITTING)
@pytest.mark.parametrize("key", [0, (), (1,), slice(None), slice(None, None, -1), [0, 2], np.arange(3) != 1])
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_number_has_to_fit_the_element(value: Any, key: Any, wrapped: bool) -> None:
    def written(xp: Any) -> Any:
        x = xp.asarray(1, "b") if key == () else xp.ones(3, "b")
        if not np.isfinite(value) and not isinstance(key, (int, tuple)):
            return None  # what a cast of NaN gives, the processor decides
        x[key] = xp.asarray([value])[0] if wrapped else value
        return x

    compare(written, may_raise=(OverflowError, ValueError))


@agrees(raises=IndexError)
def test_results_of_more_dimensions_than_there_are(xp: Any) -> Any:
    return xp.ones(3)[(None,) * 70]


@pytest.mark.parametrize("count", [63, 64, 80])
@pytest.mark.parametrize("index", [True, [0]])
@pytest.mark.parametrize("ndim", [1, 64])
@pytest.mark.raises
def test_more_index_arrays_than_numpy_takes(count: int, index: Any, ndim: int) -> None:
    def shape(xp: Any) -> Any:
        x, item = xp.ones((1,) * ndim), index if index is True else xp.asarray(index)
        x[(item,) * count] = 1
        return x[(item,) * count].shape

    compare(shape, may_raise=IndexError)


@pytest.mark.host
def test_no_memory_for_what_is_picked() -> None:
    for xp in (np, tnp):
        x = xp.broadcast_to(xp.zeros((2, 1)), (2, 2**46))
        with pytest.raises(MemoryError):
            x[xp.asarray([0, 1, 1])]


def test_more_index_arrays_than_numpy_takes_are_counted() -> None:
    text = r"^too many advanced \(array\) indices\. This probably means .* too many booleans\. \(more than 63 found\)$"
    with pytest.raises(IndexError, match=text):
        tnp.ones(1)[(True,) * 64]


@agrees(raises=ValueError)
def test_index_arrays_that_are_too_large_together(xp: Any) -> Any:
    i = xp.zeros(7132, int)
    return xp.ones((3,) * 5)[xp.ix_(i, i, i, i, i)]


def test_comparisons_of_a_number_with_a_text() -> None:
    for xp in (np, tnp):
        assert (xp.array(0) == "a") is np.False_ and (xp.array(0) != "a") is np.True_


@agrees
def test_an_ellipsis_of_no_dimensions_is_a_view(xp):
    x = xp.asarray(2.5)
    views = x[...], type(x).__getitem__(x, ...), x[(...,)]
    views[1][...] = 7.0
    return [view.base is x for view in views], views, x, type(x[()][...]).__name__


EMPTY = [np.zeros(0, int), (np.zeros(0, int), 0), (slice(None), np.zeros(0, int)), np.zeros((0, 3), int), slice(0)]


@pytest.mark.parametrize("key", EMPTY, ids=repr)
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_no_elements_are_written_to_no_places(key: Any, ndim: int) -> None:
    for shape in itertools.product((0, 1, 2), repeat=ndim):
        compare(put_zeros, (4, 2), key, np.zeros(shape), "float64", may_raise=ValueError)
