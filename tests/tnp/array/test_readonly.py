"""Read-only arrays: who is one, and that nothing writes to it."""

import io
import pickle

import numpy
import pytest
import torch

import tnp
from tests.oracle import agrees

pytestmark = pytest.mark.host  # what may not be written to is NumPy's memory


def locked(xp, shape=(2, 3)):
    x = xp.arange(6.0).reshape(shape).copy()
    x.flags.writeable = False
    return x


WRITES = {
    "setitem": lambda xp, x: x.__setitem__(0, 1),
    "setitem mask": lambda xp, x: x.__setitem__(x > 2, 1),
    "setitem empty": lambda xp, x: x.__setitem__(slice(0, 0), 1),
    "add": lambda xp, x: x.__iadd__(1),
    "subtract": lambda xp, x: x.__isub__(1),
    "multiply": lambda xp, x: x.__imul__(x),
    "divide": lambda xp, x: x.__itruediv__(2),
    "floor divide": lambda xp, x: x.__ifloordiv__(2),
    "modulo": lambda xp, x: x.__imod__(2),
    "power": lambda xp, x: x.__ipow__(2),
    "out": lambda xp, x: xp.add(x, 1, out=x),
    "out of a reduction": lambda xp, x: xp.sum(x, axis=0, out=x[0]),
    "out of a mean": lambda xp, x: xp.mean(x, axis=0, out=x[0]),
    "out of a scan": lambda xp, x: xp.cumsum(x, axis=0, out=x),
    "out of clip": lambda xp, x: xp.clip(x, 0, 1, out=x),
    "out of round": lambda xp, x: x.round(out=x),
    "out of a product": lambda xp, x: xp.matmul(x, xp.eye(3), out=x),
    "out of take": lambda xp, x: xp.take(x, [0, 1, 2], out=x[0], mode="clip"),
    "out of median": lambda xp, x: xp.median(x, axis=0, out=x[0]),
    "out of nanmax": lambda xp, x: xp.nanmax(x, axis=0, out=x[0]),
    "out of random": lambda xp, x: xp.random.default_rng(0).random(out=x),
    "shuffle": lambda xp, x: xp.random.default_rng(0).shuffle(x),
    "legacy shuffle": lambda xp, x: xp.random.RandomState(0).shuffle(x),
    "permuted": lambda xp, x: xp.random.default_rng(0).permuted(x, out=x),
    "at": lambda xp, x: xp.add.at(x, [0], 1),
    "copyto": lambda xp, x: xp.copyto(x, 1),
    "put": lambda xp, x: xp.put(x, [0], 1),
    "method put": lambda xp, x: x.put([0], 1),
    "putmask": lambda xp, x: xp.putmask(x, x > 2, 0),
    "place": lambda xp, x: xp.place(x, x > 2, [0]),
    "put_along_axis": lambda xp, x: xp.put_along_axis(x, xp.asarray([[0]]), 1, 0),
    "fill_diagonal": lambda xp, x: xp.fill_diagonal(x, 0),
    "fill": lambda xp, x: x.fill(1),
    "sort": lambda xp, x: x.sort(),
    "partition": lambda xp, x: x.partition(1),
    "byteswap": lambda xp, x: x.byteswap(inplace=True),
    "setfield": lambda xp, x: x.setfield(1, numpy.float64),
    "resize": lambda xp, x: x.resize((3, 3)),
    "flat": lambda xp, x: x.flat.__setitem__(0, 1),
    "all of flat": lambda xp, x: setattr(x, "flat", 1),
    "real": lambda xp, x: setattr(x, "real", 1),
    "imag": lambda xp, x: setattr(x, "imag", 1),
    "row": lambda xp, x: x[0].__setitem__(0, 1),
    "iterated": lambda xp, x: next(iter(x)).__setitem__(0, 1),
    "transposed": lambda xp, x: x.T.__setitem__(0, 1),
}

VIEWS = {
    "slice": lambda xp, x: x[1:],
    "element of an axis": lambda xp, x: x[0],
    "ellipsis": lambda xp, x: x[...],
    "mask": lambda xp, x: x[x > 2],
    "index array": lambda xp, x: x[[0]],
    "T": lambda xp, x: x.T,
    "mT": lambda xp, x: x.mT,
    "real": lambda xp, x: x.real,
    "view": lambda xp, x: x.view(),
    "dtype": lambda xp, x: x.view(numpy.int64),
    "ravel": lambda xp, x: x.ravel(),
    "flatten": lambda xp, x: x.flatten(),
    "reshape": lambda xp, x: x.reshape(-1),
    "reshape to a copy": lambda xp, x: x.T.reshape(-1),
    "transpose": lambda xp, x: xp.transpose(x),
    "swapaxes": lambda xp, x: xp.swapaxes(x, 0, 1),
    "moveaxis": lambda xp, x: xp.moveaxis(x, 0, 1),
    "rollaxis": lambda xp, x: xp.rollaxis(x, 1),
    "expand_dims": lambda xp, x: xp.expand_dims(x, 0),
    "squeeze": lambda xp, x: xp.squeeze(x[None]),
    "atleast_3d": lambda xp, x: xp.atleast_3d(x),
    "split": lambda xp, x: xp.split(x, 2)[0],
    "hsplit": lambda xp, x: xp.hsplit(x, 3)[0],
    "diagonal": lambda xp, x: xp.diagonal(xp.eye(3)),
    "diag": lambda xp, x: xp.diag(xp.eye(3)),
    "diag of a vector": lambda xp, x: xp.diag(x[0]),
    "getfield": lambda xp, x: x.getfield(numpy.float64),
    "asarray": lambda xp, x: xp.asarray(x),
    "asanyarray": lambda xp, x: xp.asanyarray(x),
    "asarray of another dtype": lambda xp, x: xp.asarray(x, numpy.float32),
    "ascontiguousarray": lambda xp, x: xp.ascontiguousarray(x),
    "array": lambda xp, x: xp.array(x),
    "array without a copy": lambda xp, x: xp.array(x, copy=None, ndmin=3),
    "require": lambda xp, x: xp.require(x),
    "require writeable": lambda xp, x: xp.require(x, requirements="W"),
    "copy": lambda xp, x: x.copy(),
    "astype": lambda xp, x: x.astype(numpy.float64),
    "astype without a copy": lambda xp, x: x.astype(numpy.float64, copy=False),
    "sum": lambda xp, x: x + 1,
    "exp": lambda xp, x: xp.exp(x),
    "reduction": lambda xp, x: x.sum(axis=0),
    "sorted": lambda xp, x: xp.sort(x),
    "broadcast_to": lambda xp, x: xp.broadcast_to(xp.zeros(3), (1, 3)),
    "broadcast_to with repetition": lambda xp, x: xp.broadcast_to(xp.zeros(3), (2, 3)),
    "frombuffer of bytes": lambda xp, x: xp.frombuffer(b"abcdefgh"),
    "frombuffer of a bytearray": lambda xp, x: xp.frombuffer(bytearray(b"abcdefgh")),
    "windows": lambda xp, x: xp.lib.stride_tricks.sliding_window_view(xp.zeros(4), 2),
    "strided": lambda xp, x: xp.lib.stride_tricks.as_strided(xp.zeros(4), (2,), (8,), writeable=False),
    "strided of a view": lambda xp, x: xp.lib.stride_tricks.as_strided(x, (2,), (8,)),
    "from numpy": lambda xp, x: xp.asarray(numpy.broadcast_to(numpy.zeros(3), (1, 3))),
    "to numpy": lambda xp, x: numpy.asarray(x),
    "pickled": lambda xp, x: pickle.loads(pickle.dumps(x)),
    "scalar": lambda xp, x: x.sum(),
    "dlpack": lambda xp, x: xp.from_dlpack(x),
}


@pytest.mark.parametrize("name", WRITES)
@agrees
def test_nothing_writes_to_a_read_only_array(xp, name):
    x = locked(xp)
    try:
        WRITES[name](xp, x)
    except Exception as error:
        return type(error), "read-only" in str(error) or name in ("resize", "imag", "out of random"), x
    return "wrote"


@pytest.mark.parametrize("name", VIEWS)
@agrees
def test_views_of_a_read_only_array_are_read_only_and_copies_are_not(xp, name):
    return VIEWS[name](xp, locked(xp)).flags.writeable


@agrees
def test_the_texts_of_the_refusals(xp):
    x = locked(xp)
    texts = []
    for write in ("setitem", "add", "out", "at", "put", "putmask", "copyto", "sort", "partition", "byteswap", "flat"):
        with pytest.raises(ValueError) as caught:
            WRITES[write](xp, x)
        texts.append(str(caught.value))
    return texts


@agrees
def test_an_owner_may_be_made_writeable_again(xp):
    x = xp.zeros(3)
    x.setflags(write=False)
    before = x.flags["W"]
    x.flags["WRITEABLE"] = True
    x[0] = 1
    return before, x


@agrees
def test_a_view_may_be_made_writeable_only_if_what_it_is_of_is(xp):
    x = xp.zeros(3)
    x.flags.writeable = False
    view = x[1:]
    with pytest.raises(ValueError, match="cannot set WRITEABLE flag to True of this array"):
        view.flags.writeable = True
    x.flags.writeable = True
    view.flags.writeable = True
    view[0] = 1
    return x


@agrees
def test_a_view_alone_can_be_made_read_only(xp):
    x = xp.zeros(3)
    view = x[1:]
    view.flags.writeable = False
    x[1] = 5
    return x.flags.writeable, view.flags.writeable, view


@agrees
def test_memory_of_bytes_stays_read_only(xp):
    x = xp.frombuffer(b"abcd", numpy.uint8)
    with pytest.raises(ValueError, match="cannot set WRITEABLE flag to True"):
        x.setflags(write=True)
    return x, x[1:].flags.writeable


@agrees
def test_shape_and_dtype_may_be_set(xp):
    x = xp.zeros(4)
    x.flags.writeable = False
    x.shape = (2, 2)
    before = x.shape, x.flags.writeable
    x.flags.writeable = True
    return before, x


@agrees
def test_a_view_of_a_view_asks_the_first_array(xp):
    x = xp.arange(4.0)
    x.setflags(write=False)
    view = x[1:][1:]
    with pytest.raises(ValueError, match="cannot set WRITEABLE flag to True"):
        view.setflags(write=True)
    x.setflags(write=True)
    view.setflags(write=True)
    view[0] = 7
    return x, view


@agrees
def test_what_is_made_of_one_can_be_written(xp):
    x, z = locked(xp), locked(xp) * 1j
    z.setflags(write=False)
    made = [x.imag.copy(), x.byteswap(), xp.from_dlpack(x, copy=True)]
    for each in made:
        each[...] = 1
    for change in (lambda: setattr(z, "imag", 3), lambda: x.byteswap(inplace=True), lambda: x[0].resize(1)):
        with pytest.raises(ValueError):
            change()
    return made, x, z


@agrees
def test_base_of_a_read_only_view_is_the_array(xp):
    x = locked(xp)
    return x[0].base is not None, xp.shares_memory(x, x[0].base)


def test_a_read_only_numpy_array_is_not_copied_and_not_written():
    x = numpy.broadcast_to(numpy.arange(3), (2, 3))
    y = tnp.asarray(x)
    assert numpy.shares_memory(x, numpy.asarray(y))
    assert not y.flags.writeable
    with pytest.raises(ValueError):
        numpy.asarray(y)[0, 0] = 1
    assert tnp.shares_memory(y, y.T)
    assert tnp.asarray(x, copy=False).flags.writeable is False
    assert tnp.array(x).flags.writeable


def test_functions_of_a_read_only_numpy_array_share_no_memory_that_could_be_written():
    x = numpy.frombuffer(b"abcd", numpy.uint8)
    y = tnp.transpose(x)
    assert numpy.shares_memory(y, x)
    with pytest.raises(ValueError, match="read-only"):
        y[0] = 1
    assert x[0] == ord("a")


def test_dlpack_tells_of_it():
    x = locked(tnp)
    with pytest.raises(BufferError, match="readonly"):
        x.__dlpack__()
    assert not numpy.from_dlpack(x).flags.writeable


def test_it_is_an_array_to_everything_else():
    x = locked(tnp)
    assert isinstance(x, tnp.ndarray)
    assert repr(x) == repr(x.copy())
    assert torch.equal(torch.as_tensor(x.tensor), torch.arange(6.0, dtype=torch.float64).reshape(2, 3))
    compiled = tnp.compile(lambda a: a * 2 + a[0], backend="eager")
    assert tnp.array_equal(compiled(x), x * 2 + x[0])
    assert tnp.array_equal(tnp.grad(lambda a: tnp.sum(a**2))(x), 2 * x)
    assert tnp.array_equal(tnp.vectorized_map(lambda row: row * 2, x), x * 2)
    assert tnp.array_equal(tnp.where(x > 2, x, 0), tnp.where(x.copy() > 2, x.copy(), 0))
    file = io.BytesIO()
    tnp.save(file, x)
    file.seek(0)
    assert tnp.load(file).flags.writeable


def test_a_tape_follows_it():
    x = tnp.asarray([1.0, 2.0])
    x.flags.writeable = False
    with tnp.GradientTape() as tape:
        tape.watch(x)
        y = tnp.sum(tnp.broadcast_to(x, (3, 2)) ** 2)
    assert tape.gradient(y, x).tolist() == [6.0, 12.0]


def test_broadcast_views_inside_a_compiled_function():
    @tnp.compile(backend="eager")
    def f(x):
        y = tnp.broadcast_to(x, (2, 3))
        return y, y + x

    x = tnp.arange(3.0)
    for _ in range(2):
        view, total = f(x)
        assert view.tolist() == [[0, 1, 2]] * 2 and total.tolist() == [[0, 2, 4]] * 2


def test_torch_compile_takes_it():
    x = locked(tnp)
    compiled = torch.compile(lambda a: tnp.sum(a * 2, axis=0), backend="eager", fullgraph=True)
    assert compiled(x).tolist() == (x * 2).sum(axis=0).tolist()
