"""Views with strides that no tensor has, as negative ones: reads see later writes, writes reach the base."""

from __future__ import annotations

import contextlib
import pickle
from typing import Any

import numpy as np
import pytest
import torch

import tnp
from tests.oracle import agrees, compare


def _both(xp: Any, shape: tuple[int, ...] = (5,), dtype: str = "float64") -> Any:
    """An array of consecutive numbers."""
    return xp.arange(int(np.prod(shape))).reshape(shape).astype(dtype)


KEYS = {
    "all": np.s_[::-1],
    "some": np.s_[4:1:-1],
    "every second": np.s_[::-2],
    "rows": np.s_[::-1, :],
    "columns": np.s_[..., ::-1],
    "both": np.s_[::-1, ::-1],
    "row": np.s_[0, ::-1],
    "new axis": np.s_[None, ::-2],
    "one and other": np.s_[1:, ::-3],
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
@agrees()
def test_views_see_writes_to_the_base_and_write_to_it(xp: Any, key: Any) -> Any:
    x = _both(xp, (6, 5))
    y = x[key]
    before = y.copy()
    x += 100
    seen = y.copy()
    y[0] = -1
    y[...] += 1
    y *= 2
    return before, seen, x, y, y.strides, xp.shares_memory(x, y), y.base is x


WRITES = {
    "element": lambda xp, y: y.__setitem__(0, 9),
    "slice": lambda xp, y: y.__setitem__(np.s_[1:3], [7, 8]),
    "backwards": lambda xp, y: y.__setitem__(np.s_[::-1], xp.arange(5)),
    "itself": lambda xp, y: y.__setitem__(np.s_[1:], y[:-1]),
    "mask": lambda xp, y: y.__setitem__(y > 2, 0),
    "indices": lambda xp, y: y.__setitem__([0, -1], [10, 20]),
    "ellipsis": lambda xp, y: y.__setitem__(..., 3),
    "add": lambda xp, y: y.__iadd__(1),
    "multiply": lambda xp, y: y.__imul__(y),
    "power": lambda xp, y: y.__ipow__(2),
    "matmul": lambda xp, y: y.__imatmul__(xp.eye(5) * 2),
    "matmul of vectors": lambda xp, y: y.__imatmul__(xp.ones(5)),
    "ufunc": lambda xp, y: xp.add(y, 1, out=y),
    "other ufunc": lambda xp, y: xp.sqrt(xp.arange(5.0), out=y),
    "where": lambda xp, y: xp.multiply(y, 10, out=y, where=xp.asarray([True, False, True, False, True])),
    "divmod": lambda xp, y: xp.divmod(xp.arange(5.0), 2.0, out=(y, xp.zeros(5))),
    "at": lambda xp, y: xp.add.at(y, [0, 0, 1], 5),
    "cumsum": lambda xp, y: xp.cumsum(xp.arange(5.0), out=y),
    "sum": lambda xp, y: xp.sum(xp.ones((3, 5)), axis=0, out=y),
    "accumulate": lambda xp, y: xp.add.accumulate(xp.ones(5), out=y),
    "reduceat": lambda xp, y: xp.add.reduceat(xp.ones(5), [0, 1, 2, 3, 4], out=y),
    "mean": lambda xp, y: xp.mean(xp.ones((3, 5)), axis=0, out=y),
    "std": lambda xp, y: xp.std(xp.arange(15.0).reshape(3, 5), axis=0, out=y),
    "median": lambda xp, y: xp.median(xp.arange(15.0).reshape(3, 5), axis=0, out=y),
    "nanmedian": lambda xp, y: xp.nanmedian(xp.arange(15.0).reshape(3, 5), axis=0, out=y),
    "nanvar": lambda xp, y: xp.nanvar(xp.arange(15.0).reshape(3, 5), axis=0, out=y),
    "quantile": lambda xp, y: xp.quantile(xp.arange(15.0).reshape(3, 5), 0.3, axis=0, out=y),
    "clip": lambda xp, y: xp.clip(y, 1, 2, out=y),
    "round": lambda xp, y: xp.round(xp.arange(5.0) / 2, out=y),
    "take": lambda xp, y: xp.take(xp.arange(5.0), [4, 0, 1, 2, 3], out=y, mode="wrap"),
    "choose": lambda xp, y: xp.choose(xp.asarray([0, 1, 0, 1, 0]), [xp.ones(5), xp.zeros(5)], out=y),
    "compress": lambda xp, y: xp.compress([True] * 5, xp.arange(5.0), out=y),
    "dot": lambda xp, y: xp.matmul(xp.eye(5), xp.arange(5.0), out=y),
    "einsum": lambda xp, y: xp.einsum("ij->j", xp.ones((2, 5)), out=y),
    "concatenate": lambda xp, y: xp.concatenate([xp.zeros(2), xp.ones(3)], out=y),
    "stack": lambda xp, y: xp.stack([xp.zeros(5), xp.ones(5)], out=y[None][[0, 0]]),
    "sort": lambda xp, y: y.sort(),
    "partition": lambda xp, y: y.partition(2),
    "fill": lambda xp, y: y.fill(4),
    "put": lambda xp, y: y.put([0, 1], [8, 9]),
    "np.put": lambda xp, y: xp.put(y, [-1], [8]),
    "place": lambda xp, y: xp.place(y, y > 1, [8, 9]),
    "putmask": lambda xp, y: xp.putmask(y, y > 1, -y),
    "copyto": lambda xp, y: xp.copyto(y, xp.arange(5)),
    "copyto where": lambda xp, y: xp.copyto(y, 7, where=y > 1),
    "put_along_axis": lambda xp, y: xp.put_along_axis(y, xp.asarray([0, 2]), 50, axis=0),
    "fill_diagonal": lambda xp, y: xp.fill_diagonal(y[:4].reshape(2, 2), 6),
    "flat": lambda xp, y: y.flat.__setitem__(np.s_[1:3], [5, 6]),
    "flat setter": lambda xp, y: setattr(y, "flat", [1, 2]),
    "real": lambda xp, y: setattr(y, "real", 4),
    "byteswap": lambda xp, y: y.byteswap(inplace=True),
    "setfield": lambda xp, y: y.setfield(3, y.dtype),
    "nan_to_num": lambda xp, y: xp.nan_to_num(y, copy=False),
    "view": lambda xp, y: y.view(xp.int64).__setitem__(0, 0),
    "broken": lambda xp, y: y.__setitem__(0, [1, 2]),
    "misfit": lambda xp, y: y.__setitem__(np.s_[:], [1, 2]),
    "out of bounds": lambda xp, y: y.__setitem__(5, 1),
    "two-dimensional": lambda xp, y: y.__setitem__((0, 0), 1),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_writes_reach_the_base(write: Any) -> None:
    def wrote(xp: Any) -> Any:
        x = _both(xp)
        x[2] = np.nan if write is WRITES["nan_to_num"] else 2
        y = x[::-1]
        kept = x[1:3]
        try:
            result = write(xp, y)
        except (IndexError, ValueError) as error:
            return type(error), str(error), x
        return x, y, kept, result is y

    compare(wrote)


VIEWS = {
    "itself": lambda xp, y: y[:],
    "backwards": lambda xp, y: y[::-1],
    "twice": lambda xp, y: y[::-1, ::-1],
    "row": lambda xp, y: y[1],
    "integer array's row": lambda xp, y: y[np.int64(1)],
    "corner": lambda xp, y: y[1:, 1:],
    "element": lambda xp, y: y[0, 0, ...],
    "ellipsis": lambda xp, y: y[...],
    "new axis": lambda xp, y: y[:, None],
    "T": lambda xp, y: y.T,
    "mT": lambda xp, y: y.mT,
    "transpose": lambda xp, y: xp.transpose(y, (1, 0)),
    "swapaxes": lambda xp, y: y.swapaxes(0, 1),
    "moveaxis": lambda xp, y: xp.moveaxis(y, 0, 1),
    "reshape": lambda xp, y: y.reshape(2, 3, 2),
    "reshape copies": lambda xp, y: y.reshape(-1),
    "reshape to 3": lambda xp, y: xp.reshape(y, (1, 4, 3)),
    "ravel": lambda xp, y: y.ravel(),
    "ravel K": lambda xp, y: y.ravel("K"),
    "flatten": lambda xp, y: y.flatten(),
    "squeeze": lambda xp, y: y[:1].squeeze(),
    "expand_dims": lambda xp, y: xp.expand_dims(y, 1),
    "atleast_3d": lambda xp, y: xp.atleast_3d(y),
    "atleast_1d": lambda xp, y: xp.atleast_1d(y),
    "broadcast_to": lambda xp, y: xp.broadcast_to(y, (2, *y.shape)),
    "diagonal": lambda xp, y: y.diagonal(),
    "diag": lambda xp, y: xp.diag(y),
    "empty": lambda xp, y: y[:, :0],
    "empty beyond": lambda xp, y: xp.dsplit(y.T[:1, :, None], [-6, -1])[0],
    "split": lambda xp, y: xp.split(y, 2)[1],
    "unstack": lambda xp, y: xp.unstack(y)[1],
    "flip": lambda xp, y: xp.flip(y),
    "flipud": lambda xp, y: xp.flipud(y),
    "fliplr": lambda xp, y: xp.fliplr(y),
    "rot90": lambda xp, y: xp.rot90(y),
    "rot90 twice": lambda xp, y: xp.rot90(y, 2),
    "rot90 back": lambda xp, y: xp.rot90(y, -1),
    "rot90 not": lambda xp, y: xp.rot90(y, 4),
    "view": lambda xp, y: y.view(),
    "view of integers": lambda xp, y: y.view(xp.int64),
    "smaller": lambda xp, y: y.view(xp.int32),
    "getfield": lambda xp, y: y.getfield(xp.int32),
    "real": lambda xp, y: y.real,
    "asarray": lambda xp, y: xp.asarray(y),
    "asarray C": lambda xp, y: xp.asarray(y, order="C"),
    "asarray copy": lambda xp, y: xp.asarray(y, copy=False),
    "ascontiguousarray": lambda xp, y: xp.ascontiguousarray(y),
    "require": lambda xp, y: xp.require(y, requirements=["C"]),
    "array": lambda xp, y: xp.array(y, copy=None),
    "astype": lambda xp, y: y.astype(xp.float64, copy=False),
    "astype C": lambda xp, y: y.astype(xp.float64, order="C", copy=False),
    "copy": lambda xp, y: y.copy(),
    "copy K": lambda xp, y: xp.copy(y),
    "copy F": lambda xp, y: y.copy("F"),
    "pickle": lambda xp, y: pickle.loads(pickle.dumps(y)),
    "iteration": lambda xp, y: list(y)[1],
    "nditer": lambda xp, y: y + 1,
    "negative": lambda xp, y: -y.T,
    "window": lambda xp, y: xp.lib.stride_tricks.sliding_window_view(y, (2, 2)),
    "strided": lambda xp, y: xp.lib.stride_tricks.as_strided(y, (2, 2), (-24, -8)),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("order", "CF")
def test_views_of_views(view: Any, order: str) -> None:
    def viewed(xp: Any) -> Any:
        x = xp.asarray(_both(xp, (4, 3)), order=order)
        y = x[::-1, ::-1]
        try:
            z = view(xp, y)
        except ValueError as error:
            return type(error), str(error)
        before = z.copy()
        x[...] = -x
        flags = z.flags.c_contiguous, z.flags.f_contiguous, z.flags.writeable, z.flags.aligned, z.flags.owndata
        strides = [step for step, length in zip(z.strides, z.shape, strict=True) if length > 1 and z.size]
        result = before, z.copy(), strides, flags[:4], xp.shares_memory(x, z), z is y
        if z.flags.writeable:
            z[...] = 7
        return *result, x

    compare(viewed)


MAKERS = {
    "flip": lambda xp, x: xp.flip(x),
    "flip of an axis": lambda xp, x: xp.flip(x, 0),
    "fliplr": lambda xp, x: xp.fliplr(x),
    "flipud": lambda xp, x: xp.flipud(x),
    "rot90": lambda xp, x: xp.rot90(x),
    "rot90 back": lambda xp, x: xp.rot90(x, 3),
    "strided": lambda xp, x: xp.lib.stride_tricks.as_strided(x[2:, 2:], (2, 2), (-24, -8)),
    "between": lambda xp, x: xp.lib.stride_tricks.as_strided(x, (2, 5), (44, 4)),
    "broadcast": lambda xp, x: xp.broadcast_arrays(x[::-1], x)[0],
    "trimmed": lambda xp, x: xp.trim_zeros(x[::-1, ::-1]),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@agrees()
def test_functions_give_views(xp: Any, make: Any) -> Any:
    x = _both(xp, (4, 3))
    y = make(xp, x)
    y[0] = -1
    y[...] += 1
    return x, y, xp.may_share_memory(x, y)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "complex64", "complex128"])
def test_dtypes(dtype: str) -> None:
    def viewed(xp: Any) -> Any:
        x = (_both(xp, (3, 4)) % 3).astype(dtype)
        y = x[:, ::-1]
        y[0, 0] = 1
        y[1] = y[2]
        return x, y, y[0], y[0, 0], y.real, y.sum(), y == x, repr(y), str(y), y.tolist(), y.nbytes, len(y)

    compare(viewed)


READS = {
    "arithmetic": lambda xp, y, x: (y + x, x * y, y + y, y * 2, 2 - y, y == x, xp.add(y, x), xp.negative(y), abs(y)),
    "broadcast": lambda xp, y, x: (y + x[:1], y[:, :1] * x, y + x[0, 0], x[0] + y),
    "into": lambda xp, y, x: (xp.add(y, x, out=x), x.__iadd__(y), x),
    "products": lambda xp, y, x: (y @ x.T, y[0] @ x[0], xp.dot(x, y.T), xp.vdot(y[0], y[1])),
    "reductions": lambda xp, y, x: (y.sum(), y.max(0), y.mean(1), y.any(), xp.argmax(y), y.std(), y[0].cumsum()),
    "elements": lambda xp, y, x: (y[0, 0], y[-1, 1], y.item(1), y[1].item(0), list(y[0]), y.tolist(), len(y)),
    "slices": lambda xp, y, x: (y[1:], y[::-1], y[:, ::-2], y[0], y[..., 1], y[1:, 1:2], y[::-1, ::-1]),
    "no elements": lambda xp, y, x: (y[5:], y[:0], y[:, 2:1], (y[5:] + 1).sum(), y[:0].shape),
    "one element": lambda xp, y, x: (y[1:2, ::-1], y[:1][::-1].strides, y[:1, :1] + 1, bool(y[:1, :1])),
    "new axes": lambda xp, y, x: (y[None].strides, y[:, None, ::-1].strides, y[None, 0]),
    "index arrays": lambda xp, y, x: (y[[1, 0]], y[y > 1], y[xp.asarray([0, -1]), [0, 1]], y[1, [0, 1]]),
    "as indices": lambda xp, y, x: (x[xp.argsort(x[:, 0])[::-1]], x.ravel()[xp.arange(3)[::-1]]),
    "axes": lambda xp, y, x: (y.T, y.T.strides, xp.swapaxes(y, 0, 1), y.T[::-1].T.strides, xp.rot90(y, 3)),
    "copies": lambda xp, y, x: (y.copy(), y.astype("f8"), xp.array(y), y.flatten(), xp.copy(y).strides, y.T.copy("K")),
    "joined": lambda xp, y, x: (xp.concatenate([y, x]), xp.where(y > 1, y, x), xp.sort(y), xp.roll(y, 1)),
    "counts": lambda xp, y, x: (y.nonzero(), xp.count_nonzero(y), xp.zeros_like(y), xp.argsort(y)),
    "attributes": lambda xp, y, x: (y.shape, y.strides, y.dtype, y.ndim, y.size, y.nbytes, y.itemsize, y.base is x),
    "flags": lambda xp, y, x: (y.flags.writeable, y.flags.c_contiguous, y[1:] + 1, y.strides),
    "set": lambda xp, y, x: (x.__setitem__(slice(None), y), x, y),
    "set in part": lambda xp, y, x: (x.__setitem__((0, slice(None, None, -1)), x[1]), x, y),
    "set by itself": lambda xp, y, x: (y.__setitem__(slice(1, None), y[:-1]), x, y),
    "flipped": lambda xp, y, x: (xp.flip(y), xp.flip(y, 0).strides, xp.flip(x, (0, 1)), xp.fliplr(y), xp.flipud(x)),
    "flipped by no axis": lambda xp, y, x: (xp.flip(x, ()), xp.flip(y, ()).strides),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("key", ["rows", "columns", "both"])
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32", "complex128"])
def test_reads(read: Any, key: str, order: str, dtype: str) -> None:
    def values(xp: Any) -> Any:
        x = xp.asarray((_both(xp, (3, 4)) % 5).astype(dtype), order=order)
        try:
            return read(xp, x[KEYS[key]], x)
        except (TypeError, IndexError, AttributeError) as error:
            return type(error), str(error).replace("tnp", "numpy")

    compare(values, rtol=1e-6)


@agrees()
def test_what_python_changed_is_seen(xp: Any) -> Any:
    x = _both(xp, (4, 3))
    locked, shaped, cast = x[::-1], x[::-1, ::-1], x[::-1]
    locked.flags.writeable = False
    shaped.shape = (2, 6)
    cast.dtype = "int64"
    seen = [view.flags.writeable for view in (locked[0], locked[::-1], xp.flip(locked), locked.T)]
    x += 1
    shaped[1, 1:] = shaped[0, :-1]
    return x, seen, locked + 1, shaped[1], len(shaped), shaped.sum(0), cast + 1, cast[0], list(shaped.T), cast.dtype


@pytest.mark.parametrize("axis", [2, -3, (0, 0), "a"], ids=str)
def test_axes_that_are_refused(axis: Any) -> None:
    compare(lambda xp: xp.flip(_both(xp, (2, 3)), axis), raises=(TypeError, ValueError))


@agrees(raises=(IndexError, TypeError))
def test_reversed_twice_refuses_what_any_array_does(xp: Any) -> Any:
    return _both(xp)[::-1][5]


@agrees()
def test_parts_of_complex_numbers(xp: Any) -> Any:
    x = _both(xp, (4,), "complex128") * (1 + 2j)
    y = x[::-1]
    y.real = 5
    y.imag[1:] += 7
    y.real[0] = 3
    return x, y.real.strides


@agrees()
def test_rows_are_views(xp: Any) -> Any:
    x = _both(xp, (3, 2))
    for i, row in enumerate(x[::-1]):
        row += i
        row[0] = -row[0]
    for element in x[::-1, 0]:
        element += 1
    return x


@agrees()
def test_shape_and_dtype_are_set_in_place(xp: Any) -> Any:
    x = _both(xp, (4, 3))
    y = x[::-1, ::-1]
    z = y[:]
    z.shape = (2, 2, 3)
    z[0, 0, 0] = 50
    return x, y.shape, z


@agrees(raises=(AttributeError, ValueError))
def test_shape_that_would_copy(xp: Any) -> None:
    _both(xp, (4, 3))[::-1].shape = 12


@agrees(raises=ValueError)
def test_read_only_memory(xp: Any) -> None:
    x = _both(xp)
    x.flags.writeable = False
    y = x[::-1]
    assert not y.flags.writeable
    y[0] = 1


@agrees(raises=ValueError)
def test_made_read_only(xp: Any) -> None:
    y = _both(xp)[::-1]
    y.flags.writeable = False
    y += 1


@agrees(raises=ValueError)
def test_resize_is_refused(xp: Any) -> None:
    _both(xp)[::-1].resize(7)


def test_numpys_memory() -> None:
    given = np.arange(5.0)
    x = tnp.asarray(given[::-1])
    x[0] = 9
    given[0] = 7
    np.testing.assert_array_equal(given, [7, 1, 2, 3, 9])
    np.testing.assert_array_equal(np.asarray(x), given[::-1])
    assert np.shares_memory(np.asarray(x), given)
    assert type(x[::-1]) is tnp.ndarray
    assert x.__array_interface__["strides"] == (-8,)
    np.add(given, 1, out=given[::-1])
    tnp.add(tnp.arange(5.0), 1, out=given[::-1])
    np.testing.assert_array_equal(given, [5, 4, 3, 2, 1])


def test_fields_of_structures_and_unaligned_memory() -> None:
    given = np.zeros(3, [("a", "u1"), ("b", "f8")])
    x = tnp.asarray(given["b"])
    assert x.strides == (9,) and not x.flags.aligned
    x += 2
    given["b"][1] = 5
    np.testing.assert_array_equal(np.asarray(x), [2, 5, 2])
    np.testing.assert_array_equal(given["b"], [2, 5, 2])
    np.testing.assert_array_equal(np.asarray(x[::-1] * 2), [4, 10, 4])


@agrees()
def test_views_whose_elements_share_a_place(xp: Any) -> Any:
    x = xp.arange(4.0)
    rows = xp.lib.stride_tricks.as_strided(x, (3, 4), (0, 8))
    rows[1] = 7
    rows[:, 0] = 3
    rows += 1
    xp.add(rows, 1, out=rows)
    rows.sort(axis=0)
    pairs = xp.lib.stride_tricks.as_strided(x, (3, 2), (8, 8))
    pairs[0, 1] = 50
    writeable = [
        xp.lib.stride_tricks.as_strided(x, shape, (0, 8)).flags.writeable for shape in [(1, 4), (0, 4), (2, 2)]
    ]
    read_only = xp.lib.stride_tricks.as_strided(x, (5,), (0,), writeable=False)
    return x, rows, pairs, rows.sum(), rows.T.copy(), writeable, read_only.flags.writeable


@agrees()
def test_views_at_any_byte(xp: Any) -> Any:
    octets = xp.arange(17, dtype="int8")
    x = octets[1:].view("int64")
    x[0], x[1] = 5, 7
    x += 1
    x[::-1][0] = 3
    xp.add(x, x, out=x)
    singles = octets[1:].view("float32")
    singles[singles > 1] = 2
    singles.sort()
    part = xp.arange(3).getfield("int32", 2)
    return octets, x.sum(), x.flags.aligned, x.view("uint64"), x.strides, part, xp.searchsorted(x, [1, 2]), x.copy()


def test_numpys_functions_write_to_the_memory() -> None:
    x = tnp.arange(5.0)
    np.asarray(x[::-1])[0] = 9
    np.copyto(x[::-1], 0, where=[False, True, False, False, False])
    np.negative(x[::-1], out=x[::-1])
    np.testing.assert_array_equal(np.asarray(x), [-0.0, -1, -2, -0.0, -9])


def test_torch_gets_a_copy() -> None:
    x = tnp.arange(3.0)
    y = x[::-1]
    assert y.tensor.tolist() == [2.0, 1.0, 0.0]
    x[0] = 5
    assert y.tensor.tolist() == [2.0, 1.0, 5.0]


def _write_to_argument(y: Any) -> Any:
    y[0] = 5
    return y


def _write_through_closure(y: Any) -> Any:
    def function(x: Any) -> Any:
        y[1:3] = x[0] * 7
        return y + x

    return function


def test_compiled_functions_read_and_write_views_from_outside() -> None:
    x = tnp.arange(4.0)
    y = x[::-1]
    for function in (lambda a: a * 2 + y, _write_through_closure(y)):
        compiled = tnp.compile(function, backend="eager")
        for value in (10.0, 20.0):
            x[:] = value
            result, after = compiled(tnp.ones(4)), x.copy()
            x[:] = value
            np.testing.assert_array_equal(np.asarray(result), np.asarray(function(tnp.ones(4))))
            np.testing.assert_array_equal(np.asarray(after), np.asarray(x))


@pytest.mark.parametrize("argument", [lambda: tnp.arange(3.0)[::-1], lambda: tnp.broadcast_to(2.0, (3,))])
def test_compiled_functions_take_such_views(argument: Any) -> None:
    y = argument()
    result = tnp.compile(lambda a: a + 1, backend="eager")(y)
    assert type(result) is tnp.ndarray
    np.testing.assert_array_equal(np.asarray(result), np.asarray(y) + 1)
    for function in (_write_to_argument, tnp.compile(_write_to_argument, backend="eager")):
        given = argument()
        with contextlib.nullcontext() if given.flags.writeable else pytest.raises(ValueError, match="read-only"):
            function(given)
            np.testing.assert_array_equal(np.asarray(given), [5, 1, 0])


def test_derivatives_flow_through_memory_that_is_written_later() -> None:
    x = tnp.asarray(torch.zeros(3, dtype=torch.float64))
    y = x[::-1]
    weight = torch.ones(3, dtype=torch.float64, requires_grad=True)
    x[0] = tnp.asarray(weight)[0] * 3
    y[1] = tnp.asarray(weight)[2] * 5
    (y.tensor * torch.arange(1.0, 4.0)).sum().backward()
    assert weight.grad is not None and weight.grad.tolist() == [9.0, 0.0, 10.0]


def test_transforms_read_views_from_outside() -> None:
    x = tnp.arange(3.0)
    y = x[::-1]
    x[0] = 7
    np.testing.assert_array_equal(np.asarray(tnp.grad(lambda a: (a * y).sum())(tnp.ones(3))), [2, 1, 7])
    np.testing.assert_array_equal(np.asarray(tnp.grad(lambda a: (a**2).sum())(y)), [4, 2, 14])
    np.testing.assert_array_equal(np.asarray(tnp.vectorized_map(lambda a: a * y, tnp.ones((1, 3)))), [[2, 1, 7]])
    np.testing.assert_array_equal(np.asarray(tnp.vectorized_map(lambda a: a * 2, y)), [4, 2, 14])


def test_torch_compile_reads_such_views() -> None:
    x = tnp.arange(3.0)
    y = x[::-1]
    compiled = torch.compile(lambda a: a + y, backend="eager", fullgraph=True)
    x[0] = 7
    np.testing.assert_array_equal(np.asarray(compiled(y)), [4, 2, 14])


@agrees
def test_dlpack_and_devices(xp: Any) -> Any:
    x = _both(xp)
    y = xp.from_dlpack(x[::-1])
    z = x[::-1].to_device("cpu")
    y[0] = 9
    z[1] = 8
    return x, xp.from_dlpack(y, copy=True)


def test_capsules() -> None:
    y = tnp.arange(3.0)[::-1]
    with pytest.raises(BufferError, match="export a copy"):
        np.from_dlpack(y, copy=False)
    assert torch.from_dlpack(y).tolist() == torch.as_tensor(y).tolist() == torch.tensor(y).tolist() == [2, 1, 0]
    given = np.arange(3.0)
    tnp.from_dlpack(given[::-1])[0] = 9
    assert given[2] == 9


class _Derived(tnp.ndarray):
    """A class of a user's own."""


@pytest.mark.parametrize("make", [lambda x: x.view(_Derived)[::-1], lambda x: x[::-1].view(_Derived)])
def test_derived_classes_refuse_writes_that_would_be_lost(make: Any) -> None:
    x = tnp.arange(3.0)
    y = make(x)
    assert type(y) is _Derived and type(y + 1) is _Derived and (y + 1).flags.writeable
    np.testing.assert_array_equal(np.asarray(y), [2, 1, 0])
    for write in (lambda: y.__setitem__(0, 1), lambda: y.__iadd__(1), y.sort):
        with pytest.raises(ValueError, match="read-only"):
            write()


def test_a_batch_of_empty_reversed_views() -> None:
    found = tnp.vectorized_map(lambda x: x[::-1].T, tnp.zeros((2, 0, 3)))
    assert found.shape == (2, 3, 0)
