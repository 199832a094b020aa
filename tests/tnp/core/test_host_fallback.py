"""Data that no tensor can hold is NumPy's own, and what comes of it that is numbers is tnp's."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy
import pytest
import torch

import tnp
import tnp as np
from backend_torch.tensors.dtypes import to_torch
from tests.oracle import compare

NAMES, DATES = ["b", "a", "b"], ["2024-01-03", "2024-01-01", "2024-01-02"]
# Each gives arrays of NumPy's ("host") or tnp's ("tnp").
HOST_DATA = {
    "np.array(NAMES)": "host",
    "np.array([1, None])": "host",
    "np.array([[1], [1, 2]], dtype=object)": "host",
    "np.zeros(2, dtype='datetime64[D]')": "host",
    "np.zeros(2, dtype=[('a', float), ('b', int)])": "host",
    "np.full(2, 'x')": "host",
    "np.arange('2024-01-01', '2024-01-04', dtype='datetime64[D]')": "host",
    "np.ones(2, np.longdouble)": "host",
    "np.arange(3.0).astype(str)": "host",
    "np.arange(3.0).astype(object) + np.arange(3.0)": "host",
    "np.arange(3.0) * np.array([1, 2, 3], dtype=object)": "host",
    "np.add(np.arange(3.0), np.array([1, 2, 3], dtype=object))": "host",
    "np.arange(3.0) @ np.array([[1], [2], [3]], dtype=object)": "host",
    "np.array([[1, 2, 3]], dtype=object) @ np.arange(3.0)": "host",
    "np.matmul(np.ones((1, 3)), np.array([1, 2, 3], dtype=object))": "host",
    "np.concatenate([np.array(NAMES), np.array(['c'])])": "host",
    "np.c_[np.array(NAMES), np.arange(3)]": "host",
    "np.r_['-1', np.array(NAMES), np.arange(2)]": "host",
    "np.asarray(np.array(NAMES), dtype=object)": "host",
    "np.array(np.array(DATES), dtype='datetime64[D]')": "host",
    "np.arange(4).view('datetime64[D]')": "host",
    "np.arange(4).reshape(2, 2).view([('x', int), ('y', int)])": "host",
    "np.arange(4, dtype=np.int32).view('V8')": "host",
    "np.arange(2).astype('>i4')": "host",
    "np.arange(2).view('>i8')": "host",
    "np.zeros(2, '>f4')": "host",
    "np.concatenate([np.array(NAMES), np.arange(2)])": "host",
    "np.where(np.arange(3) > 1, 'big', 'small')": "host",
    "np.array(DATES, dtype='datetime64[D]') - np.datetime64('2024-01-01')": "host",
    "np.diff(np.array(DATES, dtype='datetime64[D]'))": "host",
    "np.array(NAMES)[np.argsort(np.array([2, 0, 1]))]": "host",
    "np.sort(np.array(NAMES))": "host",
    "np.vectorize(str)(np.arange(3))": "host",
    "np.frompyfunc(lambda x: str(x), 1, 1)(np.arange(3))": "host",
    "np.char.upper(np.array(NAMES))": "host",
    "np.tile(np.array(NAMES), 2)": "host",
    "np.random.default_rng(0).choice(NAMES, 4)": "host",
    "np.random.default_rng(0).permutation(np.array(NAMES))": "host",
    "np.random.RandomState(0).choice(np.array(NAMES), 4)": "host",
    "np.arange(3.0) == 'a'": "tnp",
    "np.arange(3.0) != np.array(NAMES)": "tnp",
    "np.array(NAMES) == np.arange(3.0)": "tnp",
    "np.argsort(np.array(NAMES))": "tnp",
    "np.isnat(np.array(DATES, dtype='datetime64[D]'))": "tnp",
    "np.searchsorted(np.array(['a', 'b']), np.array(NAMES))": "tnp",
    "np.arange(3)[np.array(NAMES) == 'b']": "tnp",
    "np.isin(np.array(NAMES), ['a'])": "tnp",
    "np.sum(np.array([(1.0, 2)], dtype=[('a', float), ('b', int)])['a']) + np.ones(2)": "tnp",
    "np.array(['1.5', '2']).astype(float) * np.arange(2.0)": "tnp",
    "np.array([1, 2, 3], dtype=object).astype(float) + np.arange(3)": "tnp",
    "(np.array(DATES, dtype='datetime64[D]') - np.datetime64('2024-01-01')).astype(int) * np.arange(3)": "tnp",
}


@pytest.mark.host
@pytest.mark.parametrize("code", HOST_DATA)
def test_what_no_tensor_holds(code: str) -> None:
    expected = compare(lambda xp: eval(code, {"np": xp, "NAMES": NAMES, "DATES": DATES}))
    assert ("tnp" if expected.dtype in to_torch else "host") == HOST_DATA[code]


REFUSED = {
    "a trace": lambda: tnp.compile(lambda x: x + tnp.asarray(["a"]).size, fullgraph=True)(tnp.ones(2)),
    "an operand of a trace": lambda: tnp.compile(lambda x: x * numpy.array([1, 2], object), fullgraph=True)(
        tnp.ones(2)
    ),
    "a batch": lambda: tnp.vectorized_map(lambda x: tnp.concatenate([x, numpy.array(["a"])]), tnp.ones((2, 2))),
    "a derivative": lambda: tnp.grad(lambda x: (x * numpy.array([1, 2], object)).sum())(tnp.ones(2)),
    "a tape": lambda: tnp.sort([tnp.asarray(torch.ones(2, requires_grad=True)), ["a", "b"]]),
    "an accelerator": lambda: tnp.asarray(["a"], device="meta"),
    "an accelerator's array": lambda: tnp.where(tnp.ones(2, bool, device="meta"), "a", "b"),
}


@pytest.mark.parametrize("where", REFUSED)
def test_where_such_data_is_refused(where: str) -> None:
    with pytest.raises(TypeError, match=r"no tensor has dtype .*; keep such data on the host"):
        REFUSED[where]()


FUNCTIONS = [
    "np.sum(F)",
    "np.mean(F)",
    "np.prod(F, axis=0)",
    "np.max(DATES)",
    "np.ptp(DATES)",
    "np.cumsum(F)",
    "np.dot(F, F)",
    "np.median(np.array([1, 2, 4], np.longdouble))",
    "np.add.reduce(F)",
    "np.maximum.accumulate(DATES)",
    "np.multiply.outer(F, F)",
    "np.add.reduceat(F, [0, 1])",
    "np.unique(NAMES, return_inverse=True)",
    "np.reshape(NAMES, (3, 1))",
    "np.stack([NAMES, NAMES])",
    "np.lexsort((NAMES, [1, 0, 1]))",
    "np.flip(NAMES)",
    "np.take(NAMES, [0, 2])",
    "np.delete(NAMES, 1)",
    "np.insert(NAMES, 1, 'z')",
    "np.append(NAMES, 'z')",
    "np.pad(NAMES, 1, constant_values='-')",
    "np.select([[True, False, True]], [NAMES], 'x')",
    "np.roll(NAMES, 1)",
    "np.linalg.matrix_power(np.outer(F, F), 3)",
    "np.einsum('i,i', F, F)",
    "np.vander(F)",
    "np.polyval(F, 2)",
    "np.polynomial.polynomial.polyval(2, F)",
    "np.apply_along_axis(sorted, 0, NAMES)",
    "np.isin(NAMES, ['a'])",
    "np.where(NAMES)",
    "np.dot(F, np.arange(2))",
    "np.dot(F, np.arange(2), np.empty((), object))",
    "np.concatenate([np.arange(2), np.ones(1)], dtype=object)",
    "np.ones((2, 2), object, 'F')",
    "np.hstack([NAMES, 'z'])",
    "np.column_stack([NAMES, [1, 2, 3]])",
    "np.array_split(NAMES, 2)",
    "np.kron(F, F)",
    "np.ones(2).searchsorted(1, sorter=[0, 1]), np.nonzero(NAMES)",
    "np.ones(2, np.longdouble) * np.arange(2)",
    "np.sqrt(np.longdouble(2))",
    "np.sin(np.arange(2.0), dtype=np.longdouble)",
    "np.nan_to_num(np.array([np.nan, 1], np.longdouble))",
    "np.linspace(np.longdouble(0), 1, 3)",
    "np.broadcast_to(NAMES, (2, 3))",
    "np.full_like(np.ones(2), 'a', dtype=object)",
    "np.empty_like(np.ones(2), dtype='S3').dtype",
    "np.ndarray(2, 'M8[s]').shape",
]

METHODS = [
    "x.sum(dtype=object)",
    "x.sum(0, out=np.empty(3, object))",
    "x.prod(1, dtype=np.longdouble, initial=2)",
    "x.mean(0, np.longdouble, keepdims=True, where=x > 0)",
    "x.std(dtype=np.longdouble)",
    "x.var(1, np.longdouble, ddof=1)",
    "x.cumsum(1, object)",
    "x.cumprod(dtype=np.longdouble)",
    "x.trace(dtype=object)",
    "x.dot(F)",
    "x[0].searchsorted(F)",
    "np.arange(2).choose(NAMES[:2], mode='clip')",
    "np.arange(2).choose(*[[name] for name in NAMES[:2]])",
    "x[F]",
    "list(np.ndenumerate(NAMES))",
    "[(str(a), float(b)) for a, b in np.broadcast(NAMES, x)]",
    "np.broadcast(NAMES, x).shape",
    "[each.item() for each in np.nditer(np.array(NAMES))]",
    "[(each.item(), other.item()) for each, other in np.nditer([np.array(NAMES), np.arange(3)])]",
    "[each.item() for each in np.nditer(F, flags=['refs_ok'])]",
    "np.nditer(F)",
    "np.matrix([F, F]) * np.asmatrix(F).T",
    "np.matrix([[1, 2], [3, 4]], dtype=object) ** 2",
]


@pytest.mark.host
@pytest.mark.parametrize("code", FUNCTIONS)
def test_numpys_functions_compute_it(code: str) -> None:
    values = {"F": [Fraction(1, 2), Fraction(3)], "NAMES": NAMES, "DATES": numpy.array(DATES, "M8[D]")}
    compare(lambda xp: eval(code, {"np": xp, **values}))


@pytest.mark.host
@pytest.mark.parametrize("code", METHODS)
def test_methods_and_iterators_compute_it(code: str) -> None:
    F = numpy.array([Fraction(1, 2), Fraction(3), Fraction(2)])
    refused = {"x[F]": IndexError, "np.nditer(F)": TypeError}.get(code)
    compare(
        lambda xp: eval(code, {"np": xp, "x": xp.arange(6.0).reshape(2, 3), "F": F, "NAMES": NAMES}), raises=refused
    )


@pytest.mark.host  # elsewhere NumPy is given no array
def test_whether_arrays_of_names_are_equal() -> None:
    names, others = np.array(NAMES), np.array(["b", "a", "c"])
    assert np.array_equal(names, np.array(NAMES)) is np.array_equiv(names, [NAMES, NAMES]) is True
    assert np.array_equal(names, others) is np.array_equiv(names, others) is np.array_equal(names, np.ones(3)) is False


def test_several_results() -> None:
    values, counts = np.unique(np.array(NAMES), return_counts=True)
    assert (values.tolist(), counts.tolist()) == (["a", "b"], [1, 2])
    assert type(values) is numpy.ndarray and type(counts) is tnp.ndarray


@pytest.mark.host
def test_draws_of_names_and_of_numbers_are_of_one_stream() -> None:
    def draw(xp: Any) -> list[Any]:
        xp.random.seed(3)
        rng = xp.random.default_rng(3)
        return [
            one.tolist()
            for one in (
                xp.random.rand(2), xp.random.choice(NAMES, 3), xp.random.permutation(xp.array(NAMES)),
                xp.random.rand(2), rng.random(2), rng.choice(NAMES, 3), rng.permutation(xp.array(NAMES)), rng.random(2),
            )
        ]  # fmt: skip

    assert draw(np) == draw(numpy)


@pytest.mark.host
def test_shuffling_names_in_place() -> None:
    ours, theirs = np.array(NAMES), numpy.array(NAMES)
    np.random.default_rng(1).shuffle(ours)
    numpy.random.default_rng(1).shuffle(theirs)
    assert ours.tolist() == theirs.tolist()


@pytest.mark.host
def test_writing_over_the_same_memory() -> None:
    x = np.zeros(3)
    np.copyto(x, np.array([1, 2, 3], dtype=object), casting="unsafe")
    assert type(x) is tnp.ndarray and x.tolist() == [1, 2, 3]


@pytest.mark.host
@pytest.mark.parametrize("dtype", ["longdouble", ">i4", "float64", "object"])
def test_numpys_arrays_are_written_to(dtype: str) -> None:
    def write(xp: Any) -> Any:
        x, indices, ones = numpy.arange(4).astype(dtype), xp.arange(2), xp.ones(4)
        xp.put(x, indices, xp.asarray([7, 8]))
        xp.putmask(x, xp.arange(4) > 2, 5)
        xp.concatenate([indices, indices], out=x[::-1])
        numpy.add.at(x, indices, 1)
        numpy.add(ones, x, out=x, casting="unsafe")
        x *= xp.asarray(2)
        return [str(each) for each in x]

    compare(write)


def test_functions_are_the_method_of_a_librarys_object() -> None:
    class Column:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return numpy.arange(3.0)

        def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> str:
            return "its own"

    assert np.mean(Column()) == numpy.mean(Column()) == "its own"
    assert np.sum(Column()) == 3 and np.median(Column()) == 1 and np.mean([1, 2]) == np.mean(np.arange(4)) == 1.5
    assert np.mean(torch.ones(3)) == 1 and type(np.max(numpy.arange(3))) is type(tnp.ones(1, int).max())


def test_functions_of_strings_that_numpy_alone_has() -> None:
    """NumPy's own function, given an array of tnp's, asked tnp for itself without an end."""
    compare(lambda xp: (xp.char.mod("%05.1f", xp.asarray([1.25, 22.5])), xp.char.mod(["%d"], xp.asarray([3]))))


@pytest.mark.parametrize(
    "call",
    [
        lambda xp: xp.clip(2**70, max=3),
        lambda xp: xp.clip(2**70, min=xp.asarray(3)),
        lambda xp: xp.clip([2**70, -(2**70)], None, 3),
        lambda xp: xp.sum([2**70, 1], initial=5),
        lambda xp: xp.max([[2**70], [3]], axis=0, initial=5),
    ],
)
def test_options_of_data_that_no_tensor_holds(call: Any) -> None:
    """NumPy's function is called by the names that the program has given."""
    compare(call)
