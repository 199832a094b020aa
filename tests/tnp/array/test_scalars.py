"""Scalars as numbers: what programs and C ask of NumPy's scalars, and where a value must stay a tensor."""

from __future__ import annotations

import collections.abc
import copy
import datetime
import decimal
import fractions
import functools
import json
import math
import numbers
import operator
import os
import pickle
import random
import statistics
import struct
import subprocess
import sys
import textwrap
from typing import Any

import array_api_compat
import numpy
import pytest
import torch

import tnp
from backend_torch import native
from tests.oracle import ALL, COMPLEX, INTEGERS, REAL, agrees, compare, placed

MAKERS = {
    "index": lambda x: x[1],
    "total": lambda x: x.sum(dtype=x.dtype),
    "operator": lambda x: x[0] + x[1],
    "ufunc": lambda x: abs(x[2]),
    "whole": lambda x: x[1:2].reshape(())[()],
    "mean": lambda x: x[1:2].mean(dtype=x.dtype) if x.dtype.kind in "fc" else x[1],
    "copied": lambda x: copy.deepcopy(x[1]),
    "pickled": lambda x: pickle.loads(pickle.dumps(x[2])),
}
CLASSES = (
    *(float, int, complex, bool, numbers.Number, numbers.Complex, numbers.Real, numbers.Integral, numpy.generic),
    *(numpy.number, numpy.floating, numpy.integer, numpy.complexfloating, numpy.bool_, numpy.float64, numpy.float32),
    *(
        numpy.int64,
        collections.abc.Sized,
        collections.abc.Iterable,
        collections.abc.Container,
        collections.abc.Hashable,
    ),
    *(collections.abc.Collection, collections.abc.Sequence),
)


host = pytest.mark.skipif(native.state != "on", reason="there is no native core")


def scalar(xp: Any, dtype: str, maker: str = "index") -> Any:
    return MAKERS[maker](placed(xp, numpy.array([0, 1, 2]).astype(dtype)))


@pytest.mark.reads
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("dtype", ALL)
@agrees
def test_a_scalar_is_of_the_classes_that_numpys_is(xp: Any, dtype: str, maker: str) -> Any:
    s = scalar(xp, dtype, maker)
    return [isinstance(s, kind) for kind in CLASSES], s.__class__.__name__, hasattr(s, "__len__")


@pytest.mark.parametrize("maker", MAKERS)
def test_a_scalar_is_still_an_array_of_tnps(maker: str) -> None:
    s = scalar(tnp, "f8", maker)
    assert isinstance(s, tnp.ndarray) and s.__array_namespace__() is tnp
    assert not isinstance(s, numpy.ndarray)
    assert array_api_compat.array_namespace(tnp.ones(2), s) is tnp


def test_a_scalar_alone_has_a_namespace_where_scipy_takes_all_arrays() -> None:
    code = "import array_api_compat, tnp; s = tnp.ones(1)[0]; assert array_api_compat.array_namespace(s) is tnp"
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "SCIPY_ARRAY_API": "1"})


@host
@pytest.mark.reads
@pytest.mark.parametrize("maker", MAKERS)
@agrees
@pytest.mark.host  # elsewhere scalars are no Python floats
def test_c_takes_a_float64_for_a_float(xp: Any, maker: str) -> Any:
    s = scalar(xp, "f8", maker)
    read = [json.dumps({"loss": s, "all": [s]}), float.hex(s), struct.pack("d", s), math.fsum([s, s]), f"{s:.3f}"]
    exact = [fractions.Fraction(s), decimal.Decimal(s), datetime.timedelta(s), float.__add__(s, 1.0), complex(s)]
    random.seed(s)
    assert isinstance(s.tensor if xp is tnp else s, torch.Tensor if xp is tnp else numpy.generic)
    return read, exact, random.random(), json.dumps(s), type(s)(2.5), isinstance(s, float)


@host
@pytest.mark.reads
@pytest.mark.parametrize("dtype", [dtype for dtype in ALL if dtype not in ("float64", "f8")])
def test_other_dtypes_are_no_float_to_c(dtype: str) -> None:
    s = scalar(tnp, dtype)
    with pytest.raises(TypeError, match="is not JSON serializable"):
        json.dumps(s)
    with pytest.raises(TypeError, match="doesn't apply"):
        float.hex(s)


@pytest.mark.reads
@pytest.mark.parametrize("dtype", REAL + COMPLEX)
@agrees
def test_approximations(xp: Any, dtype: str) -> Any:
    s = scalar(xp, dtype)
    number = s.item()
    near, far = pytest.approx(number), pytest.approx(number + 1)
    assert s == near and near == s and number == pytest.approx(s) and pytest.approx(s) == s
    assert not (s == far or far == s or s != near or number + 1 == pytest.approx(s))
    return pytest.approx([s]) == [number], [s] == pytest.approx([number])


@pytest.mark.reads
@pytest.mark.parametrize("dtype", REAL)
@agrees
def test_python_takes_scalars_for_numbers(xp: Any, dtype: str) -> Any:
    @functools.singledispatch
    def kind(value: Any) -> str:
        return "object"

    kind.register(numpy.floating, lambda value: "floating")
    kind.register(numpy.integer, lambda value: "integer")
    s = scalar(xp, dtype)
    return kind(s), {s: 1}[1], {1: 2}[s], "%d %s" % (s, s), "%5.2f" % s, s in [1, 2], bool(s), math.sqrt(s)  # noqa: UP031


@pytest.mark.parametrize("dtype", INTEGERS)
@agrees
def test_integers_are_counts(xp: Any, dtype: str) -> Any:
    s = scalar(xp, dtype)
    return list(range(s)), [7] * s, "ab"[s], fractions.Fraction(s)


@host
@pytest.mark.reads
@agrees
def test_a_float64_promotes_as_numpys(xp: Any) -> Any:
    """It is no weak number, although it is Python's float."""
    s, narrow = scalar(xp, "f8"), xp.asarray([1.0, 2.0], dtype="f4")
    sums = [narrow + s, s + narrow, narrow * s, narrow**s, 2 * s, 2.0 - s, s // 2, 7 % s, divmod(7.0, s)]
    made = [xp.where(narrow > 1, s, narrow), xp.full(2, s), xp.asarray([s, narrow[0]]), xp.clip(narrow, 0, s)]
    ordered = [compare(1.0, s) for compare in (operator.lt, operator.ge, operator.eq, operator.ne)]
    return (
        sums,
        made,
        ordered,
        xp.result_type(s, narrow),
        xp.nan_to_num(narrow, nan=s),
        xp.pad(narrow, 1, constant_values=s),
    )


@host
@pytest.mark.reads
@agrees
def test_numpys_own_code_reads_a_float64(xp: Any) -> Any:
    s = scalar(xp, "f8")
    made = numpy.asarray(s), numpy.array([[s], [s]]), numpy.float32(s)
    return [(x.tolist(), x.dtype) for x in made], statistics.mean([s, s]), numpy.isscalar(s)


@host
@pytest.mark.host  # elsewhere scalars are no Python floats
def test_a_float64_follows_its_tensor() -> None:
    """What a gradient, a trace, a batch or other data has a part in is no float to C."""
    s = tnp.asarray([1.5])[0]
    s[tnp.asarray(True)] = 2.5
    assert json.dumps(s) == "2.5" and float.hex(s) == (2.5).hex()
    for tensor in (torch.tensor(1.5, requires_grad=True, dtype=torch.float64), torch.tensor(1.5), torch.tensor(1)):
        s.tensor = tensor
        assert s.tensor is tensor
        with pytest.raises(TypeError, match="is not JSON serializable"):
            json.dumps(s)
    s.tensor = torch.tensor(4.5, dtype=torch.float64)
    assert json.dumps(s) == "4.5"


def test_statistics_of_scalars() -> None:
    """The module makes its exact results scalars of the data's class, which knows no dtype: they are float64."""
    data = [1.0, 2.5, 4.0]
    for name in ("mean", "fmean", "median", "variance", "pvariance", "stdev"):
        function = getattr(statistics, name)
        result = function(list(tnp.asarray(data)))
        assert result == function(data) and isinstance(result, float)
    assert statistics.mean(list(tnp.asarray([1, 2]))) == 1.5
    with pytest.raises(TypeError, match="a scalar's class has no dtype"):
        type(tnp.ones(1, "f4")[0])(3)


def test_derivatives_flow_through_scalars() -> None:
    x = tnp.asarray([1.0, 2.0, 3.0])
    constant = x[1]
    kinds: list[Any] = []

    def loss(x: Any) -> Any:
        total = x.sum()
        kinds.append((isinstance(total, float), isinstance(total, tnp.ndarray)))
        with pytest.raises(TypeError, match="is not JSON serializable"):
            json.dumps(total)
        return constant * total * total

    assert tnp.grad(loss)(x).tolist() == [24.0] * 3
    assert kinds == [(True, True)]
    leaf = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    total = tnp.asarray(leaf).sum() * constant
    assert isinstance(total, float)
    total.tensor.backward()
    assert leaf.grad is not None and leaf.grad.tolist() == [2.0, 2.0]


def test_batches_and_traces_have_scalars_of_their_own() -> None:
    x, s = tnp.asarray([[1.0, 2.0], [3.0, 4.0]]), tnp.asarray([2.0])[0]

    runs: list[Any] = []

    def row(v: Any) -> Any:
        runs.append(isinstance(v.sum(), float) and isinstance(v[0], numpy.float64))
        return v.sum() * s

    assert tnp.vectorized_map(row, x).tolist() == [6.0, 14.0]
    compiled = tnp.compile(lambda v, factor: row(v) * factor)
    assert compiled(x[0], s).tolist() == 12.0
    assert compiled(x[1], tnp.asarray([3.0])[0]).tolist() == 42.0
    assert runs == [True, True]  # of the batch and of one trace


def test_torch_compile_takes_a_scalar_for_data() -> None:
    function = torch.compile(lambda x, s: x * s + 1, backend="eager", fullgraph=True)
    x = tnp.asarray([1.0, 2.0])
    assert function(x, x[1]).tolist() == [3.0, 5.0]
    with torch.compiler.set_stance("fail_on_recompile"):
        assert function(x, x[0]).tolist() == [2.0, 3.0]


def test_without_the_native_core_scalars_are_numbers_too() -> None:
    code = """
    import collections.abc, numbers, numpy, tnp
    s = tnp.asarray([1.5, 2.5])[0]
    assert isinstance(s, float) and isinstance(s, numpy.float64) and isinstance(s, numbers.Real)
    assert not isinstance(s, collections.abc.Sized) and not isinstance(s, collections.abc.Iterable)
    assert isinstance(s, tnp.ndarray) and (tnp.ones(2, 'f4') + s).dtype == 'f8'
    try:
        list(s)
    except TypeError:
        print('done')
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "TNP_NATIVE": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "done\n"


@pytest.mark.parametrize("key", [0, (0, 0), slice(0, 1), "a", [0]])
def test_a_scalar_has_no_elements(key: Any) -> None:
    compare(lambda xp: xp.asarray([1.5, 2.0]).sum()[key], raises=IndexError)


@pytest.mark.parametrize("dtype", ["bool", "float32", "float64", "complex64"])
@pytest.mark.parametrize("needs", [operator.index, range, hex])
def test_a_number_that_is_no_integer_is_no_index(dtype: str, needs: Any) -> None:
    compare(lambda xp: needs(xp.ones(2, dtype)[0]), raises=TypeError)


@pytest.mark.parametrize("dtype", ["bool", "float32", "complex64"])
@pytest.mark.parametrize("make", [lambda xp, x: x[0], lambda xp, x: xp.asarray(x[0]), lambda xp, x: {1}])
def test_a_number_that_is_no_integer_is_no_shape(dtype: str, make: Any) -> None:
    for function in ("zeros", "ones", "empty", "eye"):
        compare(lambda xp, f=function: getattr(xp, f)(make(xp, xp.ones(2, dtype))), raises=TypeError)
    compare(lambda xp: xp.zeros((2, make(xp, xp.ones(2, dtype)))), raises=TypeError)
