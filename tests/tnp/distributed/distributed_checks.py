"""What test_distributed.py runs in each of several processes: every check compares with what one process computes.

By hand: ``python -m torch.distributed.run --nproc-per-node 2 tests/tnp/distributed/distributed_checks.py cpu checked``.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from torch.distributed.tensor.debug import CommDebugMode

import tnp as np
import tnp.distributed as dist

ROWS = 7  # of 2 processes one has 4 and one 3; of 4 one has a single row
SHARDED = "DTensor"


def data(dtype: Any = numpy.float64, rows: int = ROWS) -> Any:
    """The same numbers in each process, none of them zero."""
    return numpy.random.default_rng(0).integers(1, 50, (rows, 4)).astype(dtype)


def placed(values: Any) -> Any:
    """The numbers as an array where the processes compute."""
    return np.asarray(values, device=np.empty(0).device)


def same(given: Any, expected: Any, exact: bool = True) -> None:
    """A sharded result, or several, has the values, dtype and shape that one process computes."""
    if isinstance(expected, (tuple, list)):
        for one, other in zip(given, expected, strict=True):
            same(one, other, exact)
        return
    assert given.shape == expected.shape and given.dtype == expected.dtype, (given, expected)
    values, wanted = np.asnumpy(dist.gather(given)), np.asnumpy(expected)
    if exact:
        numpy.testing.assert_array_equal(values, wanted)
    else:
        numpy.testing.assert_allclose(values, wanted, rtol=1e-12 if wanted.dtype.itemsize > 4 else 1e-5, atol=1e-14)


ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "exp": lambda x: np.exp(x / 7),
    "sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)),
    "tanh": np.tanh,
    "sqrt": np.sqrt,
    "floor": lambda x: np.floor(x / 3),
    "sign": np.sign,
    "isnan": np.isnan,
    "modf": lambda x: np.modf(x / 3),
    "frexp": np.frexp,
    "square": lambda x: x**2,
    "remainder": lambda x: x % 7,
    "floor_divide": lambda x: x // 7,
    "hypot": lambda x: np.hypot(x, 3.0),
    "less": lambda x: x < 20,
    "not_equal": lambda x: (x != 20, x != x[:, :1], x[0] != x),
    "gcd": lambda x: (np.gcd(x.astype(int), 12), np.lcm(x.astype(int), x[:1].astype(int))),
    "logical": lambda x: (x > 5) & ~(x > 40),
    "where": lambda x: np.where(x > 20, x, 0.5),
    "clip": lambda x: np.clip(x, 5, 30),
    "scalars": lambda x: (x + 1) * 2.5 - np.float64(3) / x,
    "zero-d": lambda x: x + np.asarray(2.0),
    "maximum": lambda x: np.maximum(x, 10),
    "astype": lambda x: x.astype(np.int32),
    "round": lambda x: (x / 7).round(2),
    "zeros_like": np.zeros_like,
    "ones_like": lambda x: np.ones_like(x, dtype=np.int16),
    "full_like": lambda x: np.full_like(x, 7.5),
    "copy": lambda x: x.copy(),
    "choose": lambda x: np.choose(x.astype(np.int64) % 3, [x, x * 2, -x]),
    "unravel_index": lambda x: np.unravel_index(x.astype(np.int64), (10, 6)),
    "ravel_multi_index": lambda x: np.ravel_multi_index((x.astype(np.int64), x.astype(np.int64) % 5), (60, 5)),
}
HOSTED = ("sigmoid", "tanh", "sqrt")  # NumPy's loops may compute the whole, torch's a part
VIEWS: dict[str, Callable[..., Any]] = {
    "transpose": lambda x: x.T,
    "column": lambda x: x[:, 1],
    "columns": lambda x: x[:, 1:],
    "rows": lambda x: x[2:5],
    "row": lambda x: x[1],
    "new axis": lambda x: x[:, None],
    "reshape": lambda x: x.reshape(ROWS, 1, 4),
    "reshape of the transpose": lambda x: (x.T.reshape(-1), x.T.ravel(), x.T.reshape(2, -1), x.ravel(order="F")),
    "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "concatenate": lambda x: np.concatenate([x, x + 1], axis=1),
    "concatenate rows": lambda x: np.concatenate([x, x + 1]),
    "stack": lambda x: np.stack([x, -x], axis=1),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, ROWS, 4)),
    "sort columns": lambda x: np.sort(x, axis=1),
    "flip": lambda x: np.flip(x, axis=1),
    "flip of the transpose": lambda x: np.flip(x.T) + x.T,
    "roll": lambda x: np.roll(x, (1, -2), axis=(0, 1)),
    "roll of the transpose": lambda x: np.roll(x.T, 2, axis=0) * x.T,
    "squeeze": lambda x: (np.squeeze(x), np.squeeze(x[None, :, None])),
}
REDUCED = ("sum", "mean", "max", "min", "var", "std", "argmax", "argmin", "any", "all", "ptp", "count_nonzero")
REDUCTIONS: dict[str, Callable[..., Any]] = {
    "cbrt": np.cbrt,  # NumPy's loop computes it of an ordinary array, torch's powers of a sharded one
    "power": lambda x: x**1.5,  # torch rounds otherwise at a vector's end than within
    "prod": lambda x: np.prod(x / 20, axis=0),
    "cumsum": lambda x: np.cumsum(x, axis=0),
    "keepdims": lambda x: (x.sum(axis=0, keepdims=True), np.any(x > 60, axis=(0, 1), keepdims=True)),
    "cumprod": lambda x: (np.cumprod(x / 20, axis=1), np.cumprod(x.T / 20, axis=1)),
    "after a sum": lambda x: np.exp(x.sum(axis=0) / 500) + x.mean(),
    "norm": lambda x: np.linalg.norm(x, axis=0),
    "average": lambda x: np.average(x, axis=0),
    "nansum": lambda x: np.nansum(np.where(x > 20, x, np.nan), axis=0),
    "softmax": lambda x: np.exp(x - x.max()) / np.exp(x - x.max()).sum(),
    "centred": lambda x: (x - x.mean(axis=0)) / x.std(axis=0),
    "matmul": lambda x: x @ x.T,
    "gram": lambda x: x.T @ x,
    "dot": lambda x: np.dot(x, x[0]),
    "einsum": lambda x: np.einsum("ij,kj->ik", x, x),
    "tensordot": lambda x: np.tensordot(x, x, ([0], [0])),
    "outer": lambda x: np.outer(x[:, 0], x[:, 1]),
}
for _name in REDUCED:
    for _axis in (None, 0, 1):
        REDUCTIONS[f"{_name} {_axis}"] = functools.partial(getattr(np, _name), axis=_axis)


def arrays(mesh: Any) -> Iterator[str]:
    """Each group of functions, over uneven rows and over columns, and where some processes have nothing."""
    whole = placed(data())
    for axis in (0, 1):
        x = dist.shard(whole, mesh, axis)
        assert type(x.tensor).__name__ == SHARDED and x.sharding.axes == (axis,) and whole.sharding is None
        for table, exact in ((ELEMENTWISE, True), (VIEWS, True), (REDUCTIONS, False)):
            for name, function in table.items():
                if name == "sort columns" and axis == 1:
                    continue  # refused, see below
                try:
                    same(function(x), function(whole), exact and name not in HOSTED)
                except Exception as error:
                    raise AssertionError(f"{name}, sharded along axis {axis}") from error
        yield f"axis {axis}"
    few = placed(data(rows=1))
    x = dist.shard(few, mesh)
    for name in ("sigmoid", "scalars", "where", "zeros_like"):
        same(ELEMENTWISE[name](x), ELEMENTWISE[name](few))
    for name in ("sum None", "sum 0", "mean 1", "gram"):
        same(REDUCTIONS[name](x), REDUCTIONS[name](few), exact=False)
    for extreme in (np.max, np.min, np.argmax, np.argmin, np.ptp):
        for along in (None, 0, 1):
            same(extreme(x, axis=along), extreme(few, axis=along))
    yield "empty parts"


DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128",
]  # fmt: skip
ORDERED = (np.max, np.min, np.argmax, np.argmin, np.ptp, np.nanmax, np.any, np.all, np.maximum.reduce)
OF_DTYPES: dict[str, Callable[..., Any]] = {
    "twice": lambda v: v + v,
    "square": lambda v: v * v,
    "maximum": lambda v: np.maximum(v, v),
    "equal": lambda v: v == v,
    "astype": lambda v: np.real(v).astype(np.float64),
    "transpose": lambda v: v.T,
    "sum": lambda v: v.sum(axis=0),
    "ravel": np.ravel,
    "reshape": lambda v: v.reshape(4, ROWS),
    "rows": lambda v: np.stack([v[0], v[-1], v[3]]),
    "unstack": np.unstack,
    "split": lambda v: np.split(v, [2, 5]),
    "bitwise_count": lambda v: np.bitwise_count(v) if v.dtype.kind in "iu" else v,
    "shifts": lambda v: (v >> 1, v << 1) if v.dtype.kind in "iu" else v,
    "ldexp": lambda v: np.ldexp(v, 3) if v.dtype.kind == "f" else v,
}


def dtypes(mesh: Any) -> Iterator[str]:
    """Each dtype: what torch supports in part, what no backend sends, and all of NumPy's orders."""
    for name in DTYPES:
        whole = placed(data(name))
        if whole.dtype.kind == "c":
            whole = whole + whole[::-1] * np.asarray(1j, name)
        x = dist.shard(whole, mesh)
        for case, function in OF_DTYPES.items():
            try:
                same(function(x), function(whole))
            except Exception as error:
                raise AssertionError(f"{case} of {name}") from error
        for function in ORDERED:
            if function is np.ptp and name == "bool":
                continue
            for axis in (None, 0, 1):
                if function is np.maximum.reduce and axis is None:
                    continue
                try:
                    same(function(x, axis=axis), function(whole, axis=axis))
                except Exception as error:
                    raise AssertionError(f"{function.__name__} of {name} along {axis}") from error
        if name == "bool" or dist.size() > 1:
            found = dist.gather(x.any(axis=0))  # two booleans that gloo adds are none
            assert np.asnumpy(found).view(np.uint8).tolist() == [1] * 4
    yield "dtypes"


def numbers(mesh: Any) -> Iterator[str]:
    """Python's numbers of sharded arrays, printing, and what needs all values in one process."""
    whole = placed(data())
    x = dist.shard(whole, mesh)
    total = x.sum()
    assert repr(x) == str(x) == "array(shape=(7, 4), dtype=float64, sharding=Sharding(rows=0))"
    with np.transfers() as log:
        repr(total), repr(x), x.sharding, x.shape, x.nbytes
    assert not log
    with np.transfers() as log:
        assert float(total) == total.item() == float(whole.sum())
    assert len(log) == 2 * (dist.size() > 1), log
    if dist.size() > 1:
        assert repr(total) == "array(shape=(), dtype=float64, sharding=Sharding(rows='sum'))"
        assert log[0].nbytes == 8 and __file__ in log[0].line and "all_reduce" in log[0].operation
        with pytest.raises(np.TransferError), np.transfers(forbid=True):
            float(total)
    assert int(x.argmax()) == int(whole.argmax()) and bool((x > 0).all()) and not bool((x > 60).any())
    for values in (numpy.asarray, np.asnumpy, np.ndarray.tolist):
        with pytest.raises(TypeError, match="gather"):
            values(x)
    yield "numbers"


KEYS: list[Any] = [
    0, -1, 3, slice(0, 2), slice(1, None), slice(None, None, 2), slice(1, 6, 3), slice(5, 2), slice(None, -1),
    slice(None, None, -1), slice(5, 0, -2), (2, 1), (-2, slice(1, 3)), (slice(None), 2),
    (slice(2, 5), slice(None, None, 2)), (slice(1, None, 2), 3),
    ..., (..., 0), (0, ...), (None, slice(2, 4)), (slice(6, None), slice(3, None)),
]  # fmt: skip


def through_views(x: Any, key: Any, values: Any) -> Any:
    """Writes to a part of an array, by the key and through views of it."""
    y = x.copy()
    y[key] = 7.5
    y[key] += values
    part = y[key] if not _is_element(key) else y[2:3]
    part *= 2
    part[..., :1] = -1
    flat = part.T
    flat -= 0.25
    return y


def _is_element(key: Any) -> bool:
    """Whether a key gives a number, or a copy: a step is negative."""
    items = key if isinstance(key, tuple) else (key,)
    return (len(items) == 2 and all(isinstance(item, int) for item in items)) or any(
        isinstance(item, slice) and (item.step or 1) < 0 for item in items
    )


SUMS: list[Callable[[Any], None]] = [
    lambda y: y.__iadd__(1),
    lambda y: y.__imul__(2),
    lambda y: y.__setitem__(slice(0, 2), 5),
    lambda y: y.__setitem__(1, 5),
    lambda y: y[:2].__iadd__(1),
    lambda y: y.fill(3),
    lambda y: y.__isub__(y * 3),
    lambda y: y.__iadd__(y.sum()),
    lambda y: y.T.fill(2),
    lambda y: y.__itruediv__(4),
    lambda y: y.sort(),
]


def written(mesh: Any) -> Iterator[str]:
    """In place, into ``out=``, and to parts of a sharded axis."""

    def program(x: Any) -> Any:
        y = x.copy()
        y += 1
        y *= x
        y[:, 0] = 5
        z = np.zeros_like(y)
        np.add(y, x, out=z)
        z[z > 300] = 0
        z[:, 1:] -= 2.5
        np.fill_diagonal(z, 3.5)
        flat = np.ravel(z)
        flat[5] = -8
        flat[9:17:3] += 0.5
        rows = z.reshape(2, 2, ROWS)
        rows[1] = 4
        np.copyto(z, x, where=x > 45)
        return z

    whole = placed(data())
    expected = np.asnumpy(whole).copy()
    for axis in (0, 1):
        x = dist.shard(whole, mesh, axis)
        same(program(x), program(np.asnumpy(whole)))
        for key in KEYS:
            values = np.asnumpy(whole)[key] / 8
            given = dist.replicate(values, mesh) if np.ndim(values) else float(values)
            try:
                same(through_views(x, key, given), through_views(expected, key, values))
            except Exception as error:
                raise AssertionError(f"{key}, sharded along axis {axis}") from error
        for offset in (-3, -1, 0, 1, 2):
            y, z = x.copy(), expected.copy()
            np.einsum("ii->i", y[:4])[:] = 6 if not offset else 5
            np.einsum("ii->i", z[:4])[:] = 6 if not offset else 5
            same(y, z)
        same(x, whole)
        if dist.size() > 1:
            y = x.copy()
            view = y[:, 0] if axis else y[0]
            view[1] = -3
            y += 1
            with pytest.raises(ValueError, match="take the view again"):
                view[0] = -3
            assert float(y[1, 0] if axis else y[0, 1]) == -2
        for write in SUMS:  # a sum that is still to be made
            pending, total = x.sum(axis=axis), expected.sum(axis=axis)
            write(total)
            try:
                write(pending)
            except ValueError as error:
                assert "in-place" in str(error), error
            else:
                same(pending, total)
    yield "writes"


def refused(mesh: Any) -> Iterator[str]:
    """What can't be computed says so in every process, with what to do."""
    whole, w = placed(data()), np.ones(4)
    x = dist.shard(whole, mesh)
    mixed: list[Callable[[], Any]] = [
        lambda: x + w,
        lambda: w * x,
        lambda: np.where(x > 1, x, w),
        lambda: np.choose(x.astype(np.int64) % 2, [w, w]),
        lambda: np.concatenate([x, whole]),
        lambda: x[np.asarray([0, 1])],
        lambda: np.add(x, x, out=np.zeros((ROWS, 4))),
    ]
    for operation in mixed:
        with pytest.raises(ValueError, match=r"sharded over processes and not.*replicate.*gather"):
            operation()
    for operation, name in (
        (lambda: np.sort(x, axis=0), "tnp.sort"),
        (lambda: np.argsort(x, axis=0), "tnp.argsort"),
        (lambda: np.nonzero(x), "tnp.nonzero"),
        (lambda: x[x > 1], "nonzero"),
    ):
        with pytest.raises(ValueError, match=f"{name}.*gather"):
            operation()
    with pytest.raises(ValueError, match="out of bounds"):  # in whichever process the number is
        np.choose(x.astype(np.int64), [x, x])
    with pytest.raises(ValueError, match="places for"):
        dist.mesh((dist.size() + 1,), ("rows",))
    with pytest.raises(np.exceptions.AxisError):
        dist.shard(whole, mesh, axis=2)
    yield "refusals"


def loss(w: Any, x: Any) -> Any:
    """Of a small network, without its labels."""
    return np.mean((np.tanh(x @ w / 50) - 1) ** 2)


def differentiated(mesh: Any) -> Iterator[str]:
    """Gradients, compiled functions, and compiled gradients."""
    whole, w = placed(data()), np.linspace(0, 1, 4)
    x, replica = dist.shard(whole, mesh), dist.replicate(w, mesh)
    for argument in (0, 1):
        gradient = np.grad(loss, argument)(replica, x)
        same(gradient, np.grad(loss, argument)(w, whole), exact=False)
    assert gradient.sharding.axes == (0,)  # that of x lies where x does
    with np.GradientTape() as tape:
        tape.watch(replica)
        value = loss(replica, x)
    same(tape.gradient(value, replica), np.grad(loss)(w, whole), exact=False)
    same(np.vectorized_map(lambda row: np.sum(row * row), x), np.sum(whole * whole, axis=1))
    yield "gradients"

    compiled = np.compile(lambda x: {"a": np.exp(-x) * 2 + 1, "b": [x.sum(axis=0)]})
    for _ in range(2):
        results = compiled(x)
        assert results["a"].sharding.axes == (0,)
        same(results["a"], np.exp(-whole) * 2 + 1, exact=False)
        same(results["b"][0], whole.sum(axis=0), exact=False)
    same(compiled(whole)["a"], np.exp(-whole) * 2 + 1, exact=False)  # and the same function of ordinary arrays
    same(np.compile(np.grad(loss), backend="eager")(replica, x), np.grad(loss)(w, whole), exact=False)

    def doubled(x: Any) -> Any:
        x *= 2
        return x.sum()

    y = x.copy()
    assert float(np.compile(doubled, backend="eager")(y)) == float((2 * whole).sum())
    same(y, 2 * whole)
    tracked = np.asarray(dist.replicate(w, mesh).tensor.detach().requires_grad_())
    with pytest.raises(NotImplementedError, match="compile the function that takes the gradient"):
        np.compile(loss)(tracked, x)
    yield "compiled"


def random(mesh: Any) -> Iterator[str]:
    """The numbers are those of one process, wherever the parts are."""
    alone = dist.Generator(3, mesh, axis=None)  # each process makes all of them
    for axis in (0, 1):
        rng = dist.Generator(3, mesh, axis)
        alone.state = rng.state
        for draw in (
            lambda g: g.random((7, 5)),
            lambda g: g.random((4, 3), np.float32),
            lambda g: g.standard_normal((3, 6)),
            lambda g: g.integers(-3, 9, (5, 5)),
            lambda g: g.uniform(2, 3, (1, 2)),
        ):
            given, expected = draw(rng), draw(alone)
            assert given.sharding.axes == (axis,) and expected.sharding.axes == (None,)
            same(given, dist.gather(expected), exact=given.dtype.kind == "i" or given.shape != (3, 6))
    normal = dist.Generator(0, mesh).standard_normal(100_000)
    assert abs(float(normal.mean())) < 0.01 and abs(float(normal.std()) - 1) < 0.01
    yield "random"


def grids(mesh: Any) -> Iterator[str]:
    """A grid of two dimensions cuts two axes."""
    if dist.size() == 4:
        grid = dist.mesh((2, 2), ("rows", "columns"))
        whole = placed(data())
        x = dist.shard(whole, grid, (0, 1))
        assert repr(x.sharding) == "Sharding(rows=0, columns=1)"
        assert dist.local(x).shape == ((4, 3)[dist.rank() // 2], 2)
        for name in ("sigmoid", "sum None", "sum 0", "mean 1", "gram", "centred"):
            function = {**ELEMENTWISE, **REDUCTIONS}[name]
            same(function(x), function(whole), exact=False)
    yield "grids"


def counted(mesh: Any) -> Iterator[str]:
    """The transfer log has as many collectives as torch's own count, and the bytes of what each process gives."""
    from bench import scaling, scaling_programs

    sizes = {"pi": 1000, "matmul": 24, "digits": 64}
    if importlib.util.find_spec("sklearn") is None:  # it has the digits
        del sizes["digits"]
    for name, size in sizes.items():
        call = scaling_programs.PROGRAMS[name](size, mesh)
        call()
        with CommDebugMode() as debug:
            call()
        torchs = {str(kind).rpartition(".")[2]: count for kind, count in debug.get_comm_counts().items()}
        messages = scaling_programs.messages(call)
        assert Counter(message.kind for message in messages) == torchs, (name, messages, torchs)
        assert sorted(map(tuple, messages)) == sorted(scaling.expected(name, size, dist.size())), name
    yield "counts"


def checked(*only: str) -> None:
    """All of them, or those that are named; each says that it was there."""
    mesh = dist.mesh((dist.size(),), ("rows",))
    for group in (arrays, dtypes, numbers, written, refused, differentiated, random, grids, counted):
        for name in group(mesh) if not only or group.__name__ in only else ():
            if dist.rank() == 0:
                print("checked", name, flush=True)


def saved(mesh: Any) -> dict[str, Any]:
    """What the checkpoint holds."""
    whole = placed(data())
    return {
        "rows": dist.shard(whole, mesh),
        "columns": dist.shard(whole * 2, mesh, axis=1),
        "replica": dist.replicate(whole[0], mesh),
        "ordinary": whole[1].copy(),
        "uint16": dist.shard(whole.astype(np.uint16), mesh),
        "key": dist.Generator(5, mesh).state,
    }


def write(folder: str) -> None:
    """Save a checkpoint, twice: the second replaces the first."""
    mesh = dist.mesh((dist.size(),), ("rows",))
    arrays = saved(mesh)
    dist.save(folder, {name: np.zeros_like(array) for name, array in arrays.items()})
    dist.save(folder, arrays)


def read(folder: str) -> None:
    """Read it, over however many processes there are."""
    mesh = dist.mesh((dist.size(),), ("rows",))
    expected = saved(mesh)
    arrays = dist.load(folder, {name: np.zeros_like(array) for name, array in expected.items()})
    for name, array in arrays.items():
        assert array.sharding == expected[name].sharding, name
        same(array, dist.gather(expected[name]))
    with pytest.raises(KeyError, match="no array 'other'"):
        dist.load(folder, {"other": np.zeros(3)})
    with pytest.raises(ValueError, match="was saved with shape"):
        dist.load(folder, {"rows": dist.shard(np.zeros((ROWS, 2)), mesh)})
    with pytest.raises(FileNotFoundError):
        dist.load(folder + "-not", {})


STEPS = 6


def trained(folder: str, killed_at: int | None = None) -> Any:
    """Descend a loss, with noise, from the checkpoint on if there is one; save each step."""
    mesh = dist.mesh((dist.size(),), ("rows",))
    rng = dist.Generator(1, mesh)
    x = dist.shard(placed(data(rows=8)), mesh)
    w = dist.replicate(np.linspace(0, 1, 4), mesh)
    state = {"w": w, "step": np.zeros(1, np.int64), "rng": rng.state}
    if dist.exists(folder):
        dist.load(folder, state)
        rng.state = state["rng"]
        if dist.rank() == 0:
            print("resumed at", int(state["step"][0]), flush=True)
    gradient = np.grad(loss)
    while int(state["step"][0]) < STEPS:
        if killed_at == int(state["step"][0]) and dist.rank() == dist.size() - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        state["w"] -= gradient(state["w"], x + rng.random((8, 4)))
        state["step"] += 1
        state["rng"] = rng.state
        dist.save(folder, state)
    return dist.gather(state["w"])


def train(folder: str, killed_at: str = "") -> None:
    """Train; one process is killed before a step, if one is given."""
    w = trained(folder, int(killed_at) if killed_at else None)
    if dist.rank() == 0:
        print("trained", *[value.hex() for value in w.tolist()], flush=True)


def train_again(killed: str, whole: str) -> None:
    """Go on from a checkpoint, and train once more from the beginning."""
    train(killed)
    train(whole)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    device, *rest = sys.argv[1:]
    dist.init(device, timeout=60)
    np.set_default_device(device)
    commands = {"checked": checked, "write": write, "read": read, "train": train, "train_again": train_again}
    for part in " ".join(rest).split(" then "):
        command, *arguments = part.split()
        commands[command](*arguments)
