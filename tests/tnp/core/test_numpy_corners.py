"""Corners of NumPy as programs of scientists use them, each once by NumPy and once by tnp."""

from __future__ import annotations

import copy
import ctypes
import hashlib
import io
import pickle
import struct
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.oracle import compare

pytestmark = pytest.mark.host  # elsewhere NumPy is given no array

PERSONS = [("Ann", 30, 1.5), ("Bob", 25, 2.5), ("Cem", 30, 0.5)]
PERSON = [("name", "U5"), ("age", "i4"), ("height", "f8")]


def saved(xp: Any, save: Callable[[Any], Any], load: Callable[[Any], Any]) -> Any:
    """Return what ``load`` reads from the file that ``save`` writes."""
    stream = io.BytesIO()
    save(stream)
    stream.seek(0)
    return load(stream)


def in_a_file(function: Callable[[Path], Any]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return function(Path(folder, "values"))


def warned(function: Callable[[], Any]) -> Any:
    """Return a result, and the warnings of its computation."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = function()
    return result, [(each.category, str(each.message)) for each in found]


def written(array: Any, write: Callable[[Any], Any]) -> Any:
    """Return the array after ``write``."""
    write(array)
    return array


def masked(xp: Any) -> Any:
    return xp.ma.masked_array(xp.asarray([1.0, 2.0, 3.0, 4.0]), mask=[0, 1, 0, 0])


CORNERS: dict[str, Callable[[Any], Any]] = {
    # Structures and records.
    "field": lambda xp: xp.array(PERSONS, PERSON)["age"] + 1,
    "field mean": lambda xp: xp.array(PERSONS, PERSON)["height"].mean(),
    "fields": lambda xp: xp.array(PERSONS, PERSON)[["name", "age"]].tolist(),
    "field mask": lambda xp: xp.array(PERSONS, PERSON)[xp.array(PERSONS, PERSON)["age"] > 26]["name"],
    "field write": lambda xp: written(
        xp.zeros(2, PERSON), lambda a: a["height"].__setitem__(slice(None), [1, 2])
    ).tolist(),
    "sort by fields": lambda xp: xp.sort(xp.array(PERSONS, PERSON), order=["age", "name"])["name"],
    "argsort by field": lambda xp: xp.argsort(xp.array(PERSONS, PERSON), order="height"),
    "structure write": lambda xp: written(xp.zeros(2, PERSON), lambda a: a.__setitem__(1, ("Zoe", 5, 0.5))).tolist(),
    "recarray": lambda xp: xp.rec.fromrecords(PERSONS, names="name,age,height").age * 2,
    "recarray view": lambda xp: xp.array(PERSONS, PERSON).view(xp.recarray).height,
    "fromarrays": lambda xp: xp.rec.fromarrays([xp.arange(3), xp.ones(3)], names="a,b").b,
    "unique of structures": lambda xp: xp.unique(xp.array(PERSONS, PERSON)["age"], return_counts=True),
    "structured view": lambda xp: xp.arange(6, dtype="i4").view([("a", "i4"), ("b", "i4")])["b"],
    "structured back": lambda xp: xp.zeros(3, [("a", "f8"), ("b", "f8")]).view("f8").reshape(3, 2).sum(),
    # Dates.
    "arange of dates": lambda xp: xp.arange("2024-01-30", "2024-02-03", dtype="datetime64[D]"),
    "difference of dates": lambda xp: xp.diff(xp.array(["2024-01-01", "2024-03-01"], "datetime64[D]")),
    "days as numbers": lambda xp: (
        (xp.array(["2024-03-01"], "M8[D]") - xp.datetime64("2024-01-01")) / xp.timedelta64(1, "D")
    ),
    "days as integers": lambda xp: xp.diff(xp.array(["2024-01-01", "2024-03-01"], "M8[D]")).astype(int),
    "mean of a timedelta": lambda xp: xp.array([1, 3], "m8[s]").mean(),
    "dates compared": lambda xp: xp.array(["2024-01-01", "2024-03-01"], "M8[D]") > xp.datetime64("2024-02-01"),
    "month": lambda xp: xp.array(["2024-05-17"], "M8[D]").astype("M8[M]").astype(int) % 12 + 1,
    "dates and integers": lambda xp: xp.datetime64("2024-01-01") + xp.arange(3),
    "NaT": lambda xp: xp.isnat(xp.array(["NaT", "2024-01-01"], "M8[D]")),
    "searchsorted dates": lambda xp: xp.searchsorted(
        xp.array(["2024-01-01", "2024-03-01"], "M8[D]"), xp.datetime64("2024-02-01")
    ),
    "busday_count": lambda xp: xp.busday_count("2024-01-01", "2024-02-01"),
    "timedelta times array": lambda xp: xp.timedelta64(2, "h") * xp.arange(3),
    "array times timedelta": lambda xp: xp.arange(3) * xp.timedelta64(2, "h"),
    "timedelta ratio": lambda xp: xp.array([1, 2], "m8[h]") / xp.timedelta64(30, "m"),
    # Strings.
    "strings upper": lambda xp: xp.char.upper(xp.array(["ab", "c"])),
    "strings add": lambda xp: xp.strings.add(xp.array(["ab", "c"]), "x"),
    "strings length": lambda xp: xp.strings.str_len(xp.array(["ab", "c"])) * 2,
    "strings find": lambda xp: xp.char.find(xp.array(["ab", "c"]), "b"),
    "strings startswith": lambda xp: xp.arange(2)[xp.char.startswith(xp.array(["ab", "c"]), "a")],
    "strings compared": lambda xp: xp.array(["ab", "c"]) == "c",
    "strings to numbers": lambda xp: xp.array(["1.5", "2"]).astype(float),
    "numbers to strings": lambda xp: xp.arange(3).astype(str),
    "numbers to bytes": lambda xp: xp.arange(3).astype("S2"),
    "unique strings": lambda xp: xp.unique(xp.array(["b", "a", "b"]), return_inverse=True),
    "isin strings": lambda xp: xp.isin(xp.array(["b", "a"]), ["a"]),
    "where of strings": lambda xp: xp.where(xp.arange(3) > 1, "big", "small"),
    "join": lambda xp: xp.char.join("-", xp.array(["abc", "de"])),
    "chararray": lambda xp: xp.char.array(["ab", "c"]).upper().tolist(),
    "StringDType": lambda xp: xp.array(["a", "bcd"], dtype=xp.dtypes.StringDType()),
    # Objects.
    "object sum": lambda xp: xp.array([1, 2.5, 3], dtype=object).sum(),
    "object to float": lambda xp: xp.array([1, 2.5], dtype=object).astype(float) + 1,
    "object times number": lambda xp: xp.array([1, 2.5], dtype=object) * xp.arange(2),
    "ragged": lambda xp: [each.sum() for each in xp.array([xp.ones(2), xp.ones(3)], dtype=object)],
    "object of arrays": lambda xp: written(xp.empty(2, object), lambda a: a.__setitem__(0, xp.arange(3)))[0],
    "frompyfunc": lambda xp: xp.frompyfunc(lambda a, b: a + b, 2, 1)(xp.arange(3), 1),
    "frompyfunc reduce": lambda xp: int(xp.frompyfunc(lambda a, b: a * b, 2, 1).reduce(xp.arange(1, 5))),
    # Masked arrays.
    "masked mean": lambda xp: masked(xp).mean(),
    "masked sum": lambda xp: (masked(xp) * 2).sum(),
    "masked filled": lambda xp: masked(xp).filled(-1),
    "masked compressed": lambda xp: masked(xp).compressed(),
    "masked and array": lambda xp: (masked(xp) + xp.ones(4)).filled(0),
    "array and masked": lambda xp: (xp.ones(4) + masked(xp)).filled(0),
    "masked_where": lambda xp: xp.ma.masked_where(xp.arange(4) > 2, xp.arange(4)).sum(),
    "masked_invalid": lambda xp: xp.ma.masked_invalid(xp.asarray([1.0, xp.nan])).mean(),
    "ma.median": lambda xp: xp.ma.median(masked(xp)),
    "ma.average": lambda xp: xp.ma.average(masked(xp), weights=xp.arange(4.0)),
    "ma.std": lambda xp: xp.ma.std(masked(xp)),
    "masked ufunc": lambda xp: xp.sqrt(masked(xp)).filled(0),
    "mean of masked": lambda xp: xp.mean(masked(xp)),
    "masked printing": lambda xp: repr(masked(xp)),
    "masked sort": lambda xp: xp.ma.sort(masked(xp)[::-1]).filled(9),
    # Tests and printing.
    "testing": lambda xp: xp.testing.assert_allclose(xp.arange(3), [0, 1, 2]),
    "assert_equal": lambda xp: xp.testing.assert_equal({"a": xp.arange(2)}, {"a": [0, 1]}),
    "assert_array_almost_equal": lambda xp: xp.testing.assert_array_almost_equal(xp.ones(2), xp.ones(2) + 1e-9),
    "printoptions": lambda xp: printed(xp),
    "array2string": lambda xp: xp.array2string(
        xp.arange(3) / 3, precision=2, separator=", ", formatter={"float": "{:.1f}".format}
    ),
    "array_repr": lambda xp: xp.array_repr(xp.asarray([1e-10, 1.0]), suppress_small=True),
    "format_float": lambda xp: (xp.format_float_scientific(1e-5), xp.format_float_positional(1.5, pad_left=4)),
    "repr of structures": lambda xp: repr(xp.array(PERSONS, PERSON)),
    "str of a large array": lambda xp: str(xp.arange(2000).reshape(2, 1000)),
    "base_repr": lambda xp: (xp.base_repr(10, 3), xp.binary_repr(-3, 8)),
    # Iteration.
    "nditer": lambda xp: [int(x) for x in xp.nditer(xp.arange(6).reshape(2, 3), order="F")],
    "nditer write": lambda xp: doubled(xp),
    "nditer multi_index": lambda xp: indices(xp),
    "nditer broadcast": lambda xp: [int(a * b) for a, b in xp.nditer([xp.arange(3), xp.arange(2)[:, None]])],
    "nditer allocated": lambda xp: allocated(xp),
    "nditer external_loop": lambda xp: [
        x.tolist() for x in xp.nditer(xp.arange(6).reshape(2, 3).T, flags=["external_loop"])
    ],
    "ndenumerate": lambda xp: [(i, float(v)) for i, v in xp.ndenumerate(xp.eye(2))],
    "ndindex": lambda xp: list(xp.ndindex(2, 1, 2)),
    "broadcast": lambda xp: [(int(a), int(b)) for a, b in xp.broadcast(xp.arange(2), xp.arange(2)[:, None])],
    "flat": lambda xp: written(xp.zeros((2, 2)), lambda a: a.flat.__setitem__([1, 3], 7)),
    # Strides.
    "sliding_window_view": lambda xp: xp.lib.stride_tricks.sliding_window_view(xp.arange(5), 3).sum(axis=1),
    "as_strided": lambda xp: xp.lib.stride_tricks.as_strided(xp.arange(4), (3, 2), (8, 8)),
    "as_strided write": lambda xp: written(
        xp.zeros(4), lambda a: xp.lib.stride_tricks.as_strided(a, (2,), (16,)).fill(1)
    ),
    "strides": lambda xp: (
        xp.zeros((2, 3)).T.strides,
        xp.zeros((2, 3))[:, ::2].strides,
        xp.broadcast_to(1.0, (3, 2)).strides,
    ),
    # Files.
    "genfromtxt": lambda xp: xp.genfromtxt(io.StringIO("1,2\n3,"), delimiter=",", filling_values=-1),
    "genfromtxt names": lambda xp: xp.genfromtxt(io.StringIO("a b\n1 2\n3 4"), names=True)["b"],
    "genfromtxt text": lambda xp: xp.genfromtxt(
        io.StringIO("a,1\nb,2"), delimiter=",", dtype=None, encoding="utf-8"
    ).tolist(),
    "loadtxt": lambda xp: xp.loadtxt(io.StringIO("# c\n1 2\n3 4"), usecols=1, dtype=int),
    "loadtxt unpack": lambda xp: xp.loadtxt(
        io.StringIO("1 2\n3 4"), unpack=True, converters={0: lambda s: float(s) * 2}
    ),
    "loadtxt structure": lambda xp: xp.loadtxt(io.StringIO("x 1\ny 2"), dtype=[("n", "U1"), ("v", "f8")])["v"],
    "savetxt": lambda xp: saved(
        xp, lambda f: xp.savetxt(f, xp.eye(2), fmt="%.1f", header="h", delimiter=";"), lambda f: f.read()
    ),
    "savez": lambda xp: dict(saved(xp, lambda f: xp.savez(f, xp.arange(2), b=xp.ones(1)), xp.load)),
    "savez_compressed": lambda xp: saved(xp, lambda f: xp.savez_compressed(f, a=xp.arange(2)), xp.load)["a"],
    "save objects": lambda xp: saved(
        xp, lambda f: xp.save(f, xp.array([1, "a"], object)), lambda f: xp.load(f, allow_pickle=True)
    ),
    "save": lambda xp: saved(xp, lambda f: xp.save(f, xp.arange(6).reshape(2, 3).T), xp.load),
    "load mmap": lambda xp: in_a_file(
        lambda p: (xp.save(f"{p}.npy", xp.arange(3)), xp.load(f"{p}.npy", mmap_mode="r") + 1)[1]
    ),
    "tofile": lambda xp: in_a_file(lambda p: (xp.arange(3).tofile(p), xp.fromfile(p, dtype=int))[1]),
    "fromregex": lambda xp: xp.fromregex(io.StringIO("1 foo\n2 bar"), r"(\d+)\s+(...)", [("n", "i8"), ("k", "S3")])[
        "n"
    ],
    # Functions of functions.
    "vectorize signature": lambda xp: xp.vectorize(lambda m, v: m @ v, signature="(n,m),(m)->(n)")(
        xp.ones((3, 2, 2)), xp.arange(2)
    ),
    "vectorize otypes": lambda xp: xp.vectorize(lambda a: a > 1, otypes=[bool])(xp.arange(3)),
    "vectorize excluded": lambda xp: xp.vectorize(lambda x, p: p[0] * x, excluded=["p"])(x=xp.arange(3), p=[2, 1]),
    "vectorize strings": lambda xp: xp.vectorize(lambda x: f"<{x}>")(xp.arange(2)),
    "piecewise": lambda xp: xp.piecewise(xp.arange(4.0), [xp.arange(4) < 2], [lambda x: -x, 5]),
    "select": lambda xp: xp.select([xp.arange(4) < 1, xp.arange(4) > 2], [xp.arange(4), -xp.arange(4)], default=9),
    "apply_along_axis": lambda xp: xp.apply_along_axis(lambda r: sorted(r)[-1], 1, xp.asarray([[3, 1], [2, 9]])),
    "fromfunction": lambda xp: xp.fromfunction(lambda i, j: i * 10 + j, (2, 3), dtype=int),
    "fromiter": lambda xp: xp.fromiter((x * x for x in range(4)), dtype="f4", count=3),
    # Ufunc methods.
    "add.at": lambda xp: written(xp.zeros(3), lambda a: xp.add.at(a, [0, 0, 2], [1, 2, 3])),
    "reduceat": lambda xp: xp.add.reduceat(xp.arange(8), [0, 4, 1, 5]),
    "accumulate": lambda xp: xp.multiply.accumulate(xp.arange(1, 5), dtype=float),
    "outer": lambda xp: xp.subtract.outer(xp.arange(2), xp.arange(3)),
    "reduce where": lambda xp: xp.add.reduce(xp.arange(4), where=xp.arange(4) > 1, initial=10),
    "logical_or.reduce": lambda xp: xp.logical_or.reduce([xp.arange(3) > 1, xp.arange(3) < 1]),
    "maximum.accumulate": lambda xp: xp.maximum.accumulate(xp.asarray([1, 3, 2]), axis=0),
    "ufunc attributes": lambda xp: (
        xp.add.nin,
        xp.add.nout,
        xp.add.identity,
        xp.modf.nout,
        xp.matmul.signature,
        xp.add.types[:3],
    ),
    "out tuple": lambda xp: xp.divmod(xp.arange(4), 3, out=(xp.zeros(4, int), xp.zeros(4, int))),
    # Casting and overflow.
    "overflow cast": lambda xp: xp.asarray([300, -1]).astype(xp.uint8),
    "uint8 wraps": lambda xp: xp.asarray([250, 5], xp.uint8) + xp.uint8(10),
    "scalar overflow": lambda xp: warned(lambda: xp.int8(100) + xp.int8(100)),
    "nan to int": lambda xp: xp.asarray([1.9, -1.9]).astype(int),
    "result_type": lambda xp: (
        xp.result_type(xp.int8, 3),
        xp.result_type("f4", xp.arange(3)),
        xp.can_cast("i8", "f4", "same_kind"),
    ),
    "common_type": lambda xp: xp.common_type(xp.arange(2), xp.ones(2, "f4")),
    # Pickles and copies.
    "pickle": lambda xp: pickle.loads(pickle.dumps(xp.arange(6).reshape(2, 3).T, protocol=5)),
    "pickle of a scalar": lambda xp: pickle.loads(pickle.dumps(xp.float32(1.5) * xp.ones(1)[0])),
    "pickle of structures": lambda xp: pickle.loads(pickle.dumps(xp.array(PERSONS, PERSON))).tolist(),
    "pickle of a ufunc": lambda xp: pickle.loads(pickle.dumps(xp.add)) is xp.add,
    "pickle of a function": lambda xp: pickle.loads(pickle.dumps(xp.mean)) is xp.mean,
    "pickle of a dtype": lambda xp: pickle.loads(pickle.dumps(xp.dtype("f4"))),
    "deepcopy": lambda xp: copied(xp, copy.deepcopy),
    "copy": lambda xp: copied(xp, copy.copy),
    "deepcopy of objects": lambda xp: copy.deepcopy(xp.array([[1], [2]], dtype=object)).tolist(),
    # Memory.
    "array interface": lambda xp: xp.arange(3).__array_interface__["typestr"],
    "memoryview": lambda xp: (memoryview(xp.arange(3).data).format, xp.arange(3).data.tolist()),
    "memoryview write": lambda xp: written(xp.zeros(2, xp.uint8), lambda a: a.data.__setitem__(1, 7)),
    "memoryview of two axes": lambda xp: (xp.zeros((2, 3)).data.shape, xp.zeros((2, 3)).T.data.strides),
    "data": lambda xp: (xp.arange(3).data.nbytes, xp.arange(3).data.tolist()),
    "bytes": lambda xp: (bytes(xp.arange(3, dtype=xp.uint8)), bytearray(xp.ones(2, xp.uint8)), xp.arange(2).tobytes()),
    "hash of the bytes": lambda xp: hashlib.sha256(xp.arange(3).data).hexdigest(),
    "struct": lambda xp: struct.unpack_from("<q", xp.arange(3).data, 8),
    "file write": lambda xp: io.BytesIO().write(xp.arange(3).data),
    "file readinto": lambda xp: written(xp.zeros(2, xp.uint8), lambda a: io.BytesIO(b"\x01\x02").readinto(a.data)),
    "frombuffer": lambda xp: xp.frombuffer(bytearray(b"\x01\x00\x02\x00"), dtype="i2"),
    "frombuffer of an array": lambda xp: xp.frombuffer(xp.arange(2), dtype="u1"),
    "ctypes": lambda xp: by_ctypes(xp),
    "ctypes array": lambda xp: xp.ctypeslib.as_array((ctypes.c_double * 3)(1, 2, 3)),
    "big endian": lambda xp: xp.asarray([1, 2], ">i4").astype("i4") + 1,
    "byteswap": lambda xp: xp.asarray([1, 256], "i2").byteswap(),
    "newbyteorder": lambda xp: xp.arange(2, dtype="i2").view(xp.dtype("i2").newbyteorder()).tolist(),
    "packbits": lambda xp: xp.unpackbits(xp.packbits(xp.asarray([1, 0, 1], bool)))[:3],
    # What else programs do.
    "digitize": lambda xp: xp.digitize([0.5, 1.5], xp.asarray([0.0, 1.0, 2.0])),
    "histogram of dates": lambda xp: xp.unique(xp.array(["2024-01-01", "2024-01-01"], "M8[D]"), return_counts=True)[1],
    "lexsort": lambda xp: xp.lexsort((xp.array(["b", "a", "a"]), xp.asarray([1, 2, 1]))),
    "ix_": lambda xp: xp.arange(9).reshape(3, 3)[xp.ix_([0, 2], [True, False, True])],
    "r_": lambda xp: (xp.r_[1:4, 0, [5.5]], xp.c_[xp.arange(2), xp.ones(2)]),
    "mgrid": lambda xp: xp.mgrid[0:1:3j, 0:2],
    "errstate call": lambda xp: errors_called(xp),
    "poly1d": lambda xp: (
        str(xp.poly1d([1, 2, 3])),
        (xp.poly1d([1, 2]) * xp.poly1d([1, -1])).coeffs,
        xp.poly1d([1, 0, -1]).roots,
    ),
    "iinfo": lambda xp: (xp.iinfo("i4").max, float(xp.finfo("f4").eps), xp.finfo(xp.ones(1).dtype).bits),
    "isinstance": lambda xp: (
        isinstance(xp.arange(3)[0], xp.integer),
        isinstance(xp.float32(1), xp.floating),
        xp.isscalar(xp.ones(1)[0]),
    ),
    "dict keys": lambda xp: {xp.arange(3)[1]: "a"}[1],
    "set of scalars": lambda xp: {*xp.asarray([1, 2, 2])} == {1, 2},
    "sorted": lambda xp: [float(x) for x in sorted(xp.asarray([3.0, 1.0]), reverse=True)],
    "sum of scalars": lambda xp: sum(xp.ones(3)) / 3,
    "in": lambda xp: (2 in xp.arange(3), "b" in xp.array(["a", "b"])),
    "unpacking": lambda xp: (lambda a, *rest: (a, rest))(*xp.arange(3)),
    "format": lambda xp: f"{xp.ones(1)[0]:.2f} {xp.arange(2)[1]:03d} {xp.float32(1) / 3:8.3f} {xp.arange(2)}",
    "divmod": lambda xp: divmod(xp.arange(4), 3),
    "round": lambda xp: (round(xp.asarray([1.256])[0], 2), round(xp.asarray([1.5])[0])),
    "complex": lambda xp: complex(xp.asarray([1 + 2j])[0]).imag,
    "index": lambda xp: [10, 20, 30][xp.argmax(xp.asarray([1, 5, 2]))],
    "shuffle": lambda xp: written(xp.arange(4), xp.random.default_rng(0).shuffle),
    "legacy random": lambda xp: (
        xp.random.seed(1),
        xp.random.rand(2),
        xp.random.randint(0, 9, 2),
        xp.random.choice(["a", "b"], 2),
    ),
    "choice of objects": lambda xp: xp.random.default_rng(0).choice(["a", "b", "c"], 2, replace=False),
    "permutation of strings": lambda xp: xp.random.default_rng(0).permutation(xp.array(["a", "b", "c"])),
    "matrix": lambda xp: (xp.matrix("1 2; 3 4") * xp.matrix([[1], [1]])).tolist(),
    "einsum path": lambda xp: xp.einsum_path("ij,jk", xp.ones((2, 2)), xp.ones((2, 2)))[0],
    "datetime_as_string": lambda xp: xp.datetime_as_string(xp.array(["2024-01-01"], "M8[D]"), unit="M"),
    "block": lambda xp: xp.block([[xp.eye(2), xp.zeros((2, 1))], [xp.ones((1, 3))]]),
    "emath": lambda xp: xp.emath.sqrt(xp.asarray([-1.0, 4.0])),
    "interp period": lambda xp: xp.interp([370.0], xp.asarray([0.0, 180.0]), [0.0, 1.0], period=360),
    "cov of weights": lambda xp: xp.cov(xp.arange(4.0), fweights=[1, 2, 1, 1]),
    "longdouble": lambda xp: xp.longdouble(1) / 3 + xp.zeros(2, xp.longdouble),
    "resize": lambda xp: written(xp.arange(4), lambda a: a.resize((2, 3), refcheck=False)),
    "setflags": lambda xp: written(xp.arange(2), lambda a: a.setflags(write=False)).flags.writeable,
    "subclass": lambda xp: type("Length", (xp.ndarray,), {"unit": "m"})((2,)).unit,
    "info": lambda xp: xp.info(xp.float32, output=io.StringIO()),
    "typename": lambda xp: (xp.typename("f"), xp.mintypecode("fd"), xp.issubdtype(xp.int32, xp.integer)),
    "trim_zeros": lambda xp: xp.trim_zeros([0, 0, 1, 2, 0]),
    "union1d of strings": lambda xp: xp.union1d(["a", "b"], ["b", "c"]),
    "setdiff1d of objects": lambda xp: xp.setdiff1d(xp.array([3, 1], object), [1]),
    "nanpercentile": lambda xp: xp.nanpercentile(xp.asarray([1.0, xp.nan, 3.0]), [25, 75], method="lower"),
    "put_along_axis": lambda xp: written(
        xp.zeros((2, 2)), lambda a: xp.put_along_axis(a, xp.asarray([[1], [0]]), 5, 1)
    ),
    "max with initial": lambda xp: xp.max(xp.zeros((0, 2)), axis=0, initial=-1.0),
    "any of objects": lambda xp: xp.any(xp.array([0, "", None, 3], dtype=object)),
    "cumsum of timedelta": lambda xp: xp.cumsum(xp.array([1, 2], "m8[D]")),
    "bool(array([]))": lambda xp: bool(xp.asarray([3])),
    "tolist of dates": lambda xp: xp.array(["2024-01-01"], "M8[D]").tolist(),
    "void": lambda xp: xp.void(b"abc").tobytes(),
    "array of arrays": lambda xp: xp.array([xp.arange(2), xp.ones(2)]),
    "array of strings and numbers": lambda xp: xp.array(["a", 1]),
    "asarray of a set": lambda xp: xp.asarray({1, 2}).dtype,
    "array of None": lambda xp: xp.array([None, 1.0]).tolist(),
    "array of None as float": lambda xp: xp.array([None, 1.0], dtype=float),
    "array of decimals": lambda xp: xp.array([__import__("decimal").Decimal("1.5")]).astype(float),
    "array of fractions": lambda xp: xp.array([__import__("fractions").Fraction(1, 2)]) + 1,
    "array of ranges": lambda xp: xp.array([range(2), range(2, 4)]),
    "array of dates": lambda xp: xp.array([__import__("datetime").date(2024, 1, 1)], dtype="M8[D]") + 1,
}


def printed(xp: Any) -> str:
    with xp.printoptions(precision=2, suppress=True, threshold=4, edgeitems=1, sign="+"):
        return f"{xp.asarray([1.23456, 1e-8])!r} {xp.arange(10)}"


def doubled(xp: Any) -> Any:
    array = xp.arange(4.0)
    with xp.nditer(array, op_flags=["readwrite"]) as iterator:
        for x in iterator:
            x[...] = 2 * x
    return array


def indices(xp: Any) -> list[Any]:
    iterator = xp.nditer(xp.eye(2), flags=["multi_index"])
    found = []
    while not iterator.finished:
        found.append((iterator.multi_index, float(iterator[0])))
        iterator.iternext()
    return found


def allocated(xp: Any) -> Any:
    iterator = xp.nditer([xp.arange(3), None], op_flags=[["readonly"], ["writeonly", "allocate"]])
    for x, y in iterator:
        y[...] = x * x
    return iterator.operands[1]


def copied(xp: Any, how: Callable[[Any], Any]) -> Any:
    inner = xp.zeros(2)
    outer = how({"a": inner})
    outer["a"][0] = 1
    return inner, outer["a"], how(inner[::-1]), how(xp.ones(1)[0])


def by_ctypes(xp: Any) -> Any:
    array = xp.zeros(2)
    pointer = array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    pointer[1] = 2.5
    return array, array.ctypes.shape[0], array.ctypes.strides[0]


def errors_called(xp: Any) -> list[Any]:
    found: list[Any] = []
    with xp.errstate(divide="call", call=lambda kind, flag: found.append((kind, flag))):
        xp.ones(1) / 0
    return found


def numbers_of(xp: Any, result: Any) -> Any:
    """Return a result with arrays of ``xp`` where methods of NumPy's dates, texts or structures gave numbers."""
    if isinstance(result, (list, tuple)):
        return type(result)([numbers_of(xp, each) for each in result])
    if isinstance(result, np.ndarray) and result.dtype.kind in "biufc" and result.dtype.char not in "gG":
        return xp.asarray(result)
    return xp.asarray(result)[()] if isinstance(result, np.number | np.bool) else result


@pytest.mark.parametrize("name", CORNERS)
def test_as_numpy(name: str) -> None:
    compare(lambda xp: numbers_of(xp, CORNERS[name](xp)))


REFUSED: dict[str, Callable[[Any], Any]] = {
    "testing": lambda xp: xp.testing.assert_array_equal(xp.arange(3), [0, 1, 3]),
    "casting safe": lambda xp: xp.add(xp.ones(2), 1, dtype=int, casting="safe"),
    "casting out": lambda xp: xp.add(xp.ones(2), 1, out=xp.zeros(2, int)),
    "in-place cast": lambda xp: xp.arange(2).__iadd__(0.5),
    "astype safe": lambda xp: xp.ones(2).astype(int, casting="safe"),
    "copyto": lambda xp: xp.copyto(xp.zeros(2, int), xp.ones(2)),
    "uint8 of 300": lambda xp: xp.uint8(300),
    "uint8 plus 300": lambda xp: xp.ones(2, xp.uint8) + 300,
    "ragged": lambda xp: xp.array([[1, 2], [3]]),
    "text to float": lambda xp: xp.array(["a"]).astype(float),
    "text plus number": lambda xp: xp.array(["a"]) + 1,
    "dates plus dates": lambda xp: xp.array(["2024"], "M8[Y]") + xp.array(["2024"], "M8[Y]"),
    "no field": lambda xp: xp.zeros(2, PERSON)["weight"],
    "field of numbers": lambda xp: xp.zeros(2)["a"],
    "truth": lambda xp: bool(xp.arange(2)),
    "read-only": lambda xp: xp.broadcast_to(1.0, (2,)).__setitem__(0, 2),
    "shapes": lambda xp: xp.ones(2) + xp.ones(3),
    "reshape": lambda xp: xp.ones(6).reshape(4, 2),
    "int of many": lambda xp: int(xp.arange(2)),
    "index float": lambda xp: xp.arange(3)[1.0],
    "index text": lambda xp: xp.arange(3)["1"],
    "too many indices": lambda xp: xp.arange(3)[0, 0],
    "loadtxt": lambda xp: xp.loadtxt(io.StringIO("1 x")),
    "load pickled": lambda xp: saved(xp, lambda f: xp.save(f, xp.array([None])), xp.load),
    "linalg singular": lambda xp: xp.linalg.inv(xp.zeros((2, 2))),
    "matmul": lambda xp: xp.ones((2, 3)) @ xp.ones((2, 3)),
    "concatenate": lambda xp: xp.concatenate([xp.ones((1, 2)), xp.ones(2)]),
    "negative integer power": lambda xp: xp.arange(3) ** -1,
    "boolean minus": lambda xp: xp.ones(2, bool) - xp.ones(2, bool),
    "float and": lambda xp: xp.ones(2) & xp.ones(2),
    "argmax of nothing": lambda xp: xp.argmax([]),
    "max of nothing": lambda xp: xp.max([]),
    "unknown dtype": lambda xp: xp.zeros(2, "f3"),
    "random": lambda xp: xp.random.default_rng(0).choice(3, 5, replace=False),
    "fromiter": lambda xp: xp.fromiter(iter([1]), int, count=2),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_numpy(name: str) -> None:
    compare(REFUSED[name], raises=Exception)
