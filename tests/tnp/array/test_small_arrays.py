"""Small arrays of a program that knows NumPy only: expressions, writes, views, transforms, threads.

What computes them, the native core or the Python methods, may not show.
"""

from __future__ import annotations

import contextlib
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import tnp
from tnp._program import import_hook

np: Any = import_hook.module("numpy")


def array(*values: Any) -> Any:
    return np.array(values)


EXPRESSIONS = """
-x; +x; abs(-x); ~i; x[i]; m[i, 0]; m[0, i]; m[i]; m[i[:1], i[1:]]; x[i > 0]; list(m); list(m[0]); list(x[0, ...])
x.T; m.T; m.squeeze(); m.ravel(); m.reshape(-1, 1); m.swapaxes(0, 1); m.reshape(3); m.transpose(1, 0).copy()
np.add.reduce(m, axis=1); np.add.reduce(x); np.multiply.accumulate(x); np.subtract.outer(x, i); np.sqrt(np.array(2.0))
np.modf(x); divmod(x, 2); divmod(3, x); np.divmod(x, x); np.split(x, 2); np.linalg.slogdet(m); np.linalg.qr(m)
np.linalg.eigh(m); np.unique(x, return_counts=True); np.nonzero(x); np.broadcast_arrays(x, m); np.histogram(x, 2)
numpy.add(x, i); numpy.sqrt(x); numpy.sqrt(x[0]); numpy.add(x, x, out=x); numpy.add.reduce(x); numpy.modf(x)
x @ m; m @ [1, 2]; [1, 2] @ m; x @ tnp.ones(2); i << 1; 1 << i; i // 2; x.astype(int); x.astype("f4"); x.sort()
x.dot(m)
np.random.default_rng(1).integers(9, size=3, dtype="u1"); np.random.default_rng(1).random(3)
np.random.default_rng(1).permuted(x, out=x); np.random.default_rng(1).standard_normal(out=x)
"""
WRITES = """
x[i] = m[0]; x[:] = [5, 6]; x[i] = (x[0], 3); x[i > 0] = 7; m[i, i] = x; m[0] = np.zeros(70)[:2]; x[0] = i[1]
m[:, 1] = (1, i[0]); m[i] = [[1, 2], x]; x += i; m @= m; x **= 2; i <<= 1; np.add.at(x, i, 2); np.add.at(x, [0, 0], 1)
x[...] = tnp.ones(2); x[:] = numpy.ones(2); m.T[0] = x; m.ravel()[3] = 8; x.real = 4; x.shape = (2, 1); x[:] = ["a", 1]
x[5] = 1; x["a"] = 1; x[:] = [1, 2, 3]; x[i] = [[1], [2]]; x += 1j; x[[0]] = range(1); x.sort(); x.fill(3)
x.resize(3, refcheck=False)
"""


def done(xp: Any, code: str, run: Callable[..., Any]) -> Any:
    """What code gives or does to some arrays, or the class of what it raises."""
    arrays = {"x": xp.array([3.0, 2.0]), "i": xp.array([0, 1]), "m": xp.array([[2.0, 1.0], [1.0, 3.0]])}
    names = {"np": xp, "numpy": numpy, "tnp": tnp if xp is np else numpy, **arrays}
    try:
        result = run(code, names)
    except Exception as error:
        result = next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")
    return plain([result, *[names[name] for name in arrays]])


def plain(value: Any) -> Any:
    """Lists of what can be compared."""
    if isinstance(value, (tuple, list)):
        return [plain(each) for each in value]
    if isinstance(value, (numpy.ndarray, numpy.generic, tnp.ndarray)):
        is_scalar = isinstance(value, (numpy.generic, tnp._array.ndarray.scalar))
        return is_scalar, value.dtype, value.shape, numpy.asarray(value).round(12).tolist()
    return value


@pytest.mark.parametrize("watches", [False, True])
@pytest.mark.parametrize("code", [code.strip() for code in EXPRESSIONS.replace("\n", ";").split(";") if code.strip()])
def test_each_expression_gives_what_numpy_does(code: str, watches: bool) -> None:
    with tnp.GradientTape() if watches else contextlib.nullcontext():
        assert done(np, code, eval) == done(numpy, code, eval)


@pytest.mark.parametrize("code", [code.strip() for code in WRITES.replace("\n", ";").split(";") if code.strip()])
def test_each_write_does_what_numpy_does(code: str) -> None:
    assert done(np, code, exec) == done(numpy, code, exec)


# Memory.


@pytest.mark.parametrize("make", [lambda x: x[::-1], lambda x: np.flip(x), lambda x: x.reshape(2, 1)[::-1, 0]])
def test_views_backwards_write_to_their_array(make: Callable[[Any], Any]) -> None:
    x = array(1.0, 2.0)
    view = make(x)
    assert view.tolist() == [2.0, 1.0]
    view[0] = 9
    assert x.tolist() == [1.0, 9.0]


def test_read_only_views_stay_so() -> None:
    spread, diagonal = np.broadcast_to(array(1.0, 2.0), (2, 2)), np.diag(np.eye(2))
    for view in (spread, diagonal):
        for _ in range(2):
            with pytest.raises(ValueError, match="read-only"):
                view[0] = 5
            assert not view.flags.writeable
    for write in (
        lambda x: x.__iadd__(1),
        lambda x: x.__iadd__(tnp.ones(2)),
        lambda x: x.sort(),
        lambda x: x.__setitem__(0, tnp.ones(())),
        lambda x: x[:1].__setitem__(0, 5),
        lambda x: x.byteswap(inplace=True),
        lambda x: x.fill(3),
        lambda x: np.add(x, 1, out=x),
        lambda x: type(x).real.__set__(x, 5),
    ):
        eye = np.eye(2)
        with pytest.raises(ValueError, match="read-only"):
            write(np.diag(eye))
        assert eye.tolist() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize("length", [3, 5000])
def test_broadcast_views_are_read_only_without_repetition_too(length: int) -> None:
    x = np.zeros(length)
    view = np.broadcast_to(x, (1, length))
    with pytest.raises(ValueError, match="read-only"):
        view += 1
    assert not view.flags.writeable and not x.any()


# Gradients, transforms and traces.


def test_a_write_to_what_autograd_has_kept_is_noticed() -> None:
    x = array(1.0, 2.0, 3.0)
    view = x[:]
    weights = torch.ones(3, dtype=torch.float64, requires_grad=True)
    total = (weights * x.tensor).sum()
    version = x.tensor._version
    view[0] = 5.0
    assert x.tensor._version == version + 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()


def test_gradients_flow_through_views_of_one_memory() -> None:
    x = array(1.0, 2.0, 3.0)
    buffer = np.zeros(3)
    row = buffer[1:]
    with tnp.GradientTape() as tape:
        tape.watch(x)
        buffer[1] = x[0] * x[1]
        total = (row * row).sum() + (x * array(1.0, 0.0, 0.0)).sum()
    assert tape.gradient(total, x).tolist() == [9.0, 4.0, 0.0]


def filled(a: Any) -> Any:
    """Fills arrays that it makes with what it is given, beside arrays from outside."""
    made = np.zeros(3)
    for i in range(3):
        made[i] = a[i] * OUTSIDE[i]
    copied = OUTSIDE.copy()
    copied[0] = a[0]
    copied *= 2
    return (made + copied).sum()


OUTSIDE = np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        (lambda x: tnp.grad(filled)(x), [3.0, 2.0, 3.0]),
        (lambda x: tnp.jacobian(filled)(x), [3.0, 2.0, 3.0]),
        (lambda x: tnp.hessian(filled)(x)[0], [0.0, 0.0, 0.0]),
        (lambda x: tnp.jvp(filled, (x,), (x,))[1], 8.0),
        (lambda x: tnp.vectorized_map(filled, np.array([[1.0, 1.0, 1.0]] * 2)), [18.0, 18.0]),
        (lambda x: tnp.compile(filled, backend="eager")(x), 18.0),
    ],
)
def test_transforms_see_every_operation(
    transform: Callable[[Any], Any], expected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "OUTSIDE", np.array([1.0, 2.0, 3.0]))
    assert transform(np.array([1.0, 1.0, 1.0])).tolist() == expected


def test_compiled_functions_read_and_write_arrays_from_outside() -> None:
    kept = array(1.0, 2.0, 3.0)
    view = kept[:2]

    def step(a: Any) -> Any:
        kept[2] = a[0]
        return a * view[0] + kept[1] + np.ones(2)

    compiled = tnp.compile(step, backend="eager")
    assert compiled(array(1.0, 2.0)).tolist() == [4.0, 5.0] and kept.tolist() == [1.0, 2.0, 1.0]
    view[0] = 10.0
    assert compiled(array(5.0, 6.0)).tolist() == [53.0, 63.0] and kept.tolist() == [10.0, 2.0, 5.0]


@pytest.mark.parametrize(
    "ask",
    [float, bool, repr, lambda x: x.item(), lambda x: x.tolist(), numpy.asarray, pickle.dumps],
    ids=["float", "bool", "repr", "item", "tolist", "asarray", "dumps"],
)
def test_what_a_trace_may_not_know_it_is_not_told(ask: Callable[[Any], Any]) -> None:
    def outcome_of(kept: Any) -> Any:
        found: list[Any] = []

        def step(a: Any) -> Any:
            try:
                found.append(ask(kept))
            except Exception as error:
                found.append(type(error))
            return a + kept

        tnp.compile(step, backend="eager")(tnp.ones(2))
        return found

    assert str(outcome_of(np.array(3.0))) == str(outcome_of(tnp.array(3.0)))


def test_errors_that_are_asked_for() -> None:
    with tnp.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        array(1.0) / array(0.0)


def test_threads_that_share_an_array() -> None:
    for _ in range(20):
        x = np.zeros(64)
        rows = [x[i:] for i in range(8)]
        start = threading.Barrier(8)
        tensors: list[Any] = []
        failures: list[Exception] = []

        def work(i: int, x: Any = x, rows: Any = rows, start: Any = start, ours: Any = (tensors, failures)) -> None:
            start.wait()
            try:
                for k in range(50):
                    rows[i][8 - i] = x[8] + 0
                    _ = x + rows[i][0]
                    if k == 10 * (i % 4):
                        ours[0].append((rows[i] if i % 2 else x).tensor)
            except Exception as error:
                ours[1].append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures and len({each.untyped_storage().data_ptr() for each in tensors}) == 1
        del x, rows, tensors, start, work, threads
