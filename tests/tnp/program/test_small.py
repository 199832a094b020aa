"""Small arrays in NumPy's hands: what they are, what aliases, who takes them over, and that off is off.

The functions over ``xp`` run this way with ``pytest --small-arrays``; here is what NumPy has no word for.
"""

from __future__ import annotations

import contextlib
import copy
import gc
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

import tnp
from backend_torch.tensors import trace_state
from tests.oracle import assert_same, outcome
from tests.tnp.array.test_subclass import REFLECTED, SAYS, asked
from tnp._array.readonly import readonly
from tnp._program import import_hook
from tnp._program.small import LIMIT, held, small
from tnp._program.small_functions import FUNCTIONS

pytestmark = pytest.mark.host  # they are in the host's memory

np: Any = import_hook.module("numpy", True)


@pytest.fixture(autouse=True)
def _nothing_is_left(device: str) -> Iterator[None]:
    """Each test begins and ends with nothing watched, which another default device is."""
    tnp.set_default_device(None)
    yield
    if trace_state.watched:
        gc.collect()
    assert not trace_state.watched
    if device != "cpu":
        tnp.set_default_device(device)


def array(*values: Any) -> Any:
    made = np.array(values)
    assert type(made) is small
    return made


# What it is.


def test_it_is_an_array_like_any_other() -> None:
    x = array(1.0, 2.0)
    assert isinstance(x, tnp.ndarray) and isinstance(x, np.ndarray) and type(x) == np.ndarray  # noqa: E721
    assert (x.dtype, x.shape, x.ndim, x.size, x.nbytes, x.strides) == (numpy.dtype(float), (2,), 1, 2, 16, (8,))
    assert (repr(x), str(x), f"{x}", x.tolist(), len(x), list(x)) == (
        "array([1., 2.])",
        "[1. 2.]",
        "[1. 2.]",
        [1.0, 2.0],
        2,
        [1.0, 2.0],
    )
    assert x.device == torch.device("cpu") and x.base is None and type(x) is small
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)


def test_elements_are_numpys_scalars() -> None:
    x = array(1.0, 2.0)
    assert [type(each) for each in (x[0], x.sum(), x @ x, np.linalg.norm(x), np.sqrt(2.0))] == [numpy.float64] * 5
    assert type(x[0] * x) is type(x * x[0]) is type(x[0] + x) is small


def test_numpy_computes_up_to_a_size_and_reads_elements_of_any() -> None:
    x = np.zeros(LIMIT + 1)
    assert type(x) is held and type(x[1:]) is small and type(x[5]) is numpy.float64
    x[3] = 7
    assert x[3] == 7 and type(x) is held and type(x.reshape(1, -1)) is held
    assert type(x[1:] + 1) is small and type(np.zeros((LIMIT, 1)) + np.zeros(2)) is held
    assert type(x + 1) is tnp.ndarray and type(x) is tnp.ndarray


@pytest.mark.parametrize("use", ["tensor", "dlpack", "torch", "tnp", "flags", "flat"])
def test_who_asks_torch_gets_an_ordinary_array_over_the_same_memory(use: str) -> None:
    x = array(1.0, 2.0)
    address = x.__array_interface__["data"][0]
    {
        "tensor": lambda: x.tensor,
        "dlpack": lambda: torch.from_dlpack(x),
        "torch": lambda: torch.sin(x),
        "tnp": lambda: tnp.add(x, 1),
        "flags": lambda: x.flags,
        "flat": lambda: x.flat[0],
    }[use]()
    assert type(x) is tnp.ndarray and x.tensor.data_ptr() == address and x.tensor is x.tensor


@pytest.mark.parametrize(
    "use",
    [
        lambda x: numpy.asarray(x),
        lambda x: pickle.dumps(x),
        lambda x: copy.deepcopy(x),
        lambda x: (repr(x), float(x[0]), bool(x[0]), x.item(0), x.tobytes(), x.T, x.device, x.base),
        lambda x: np.concatenate([x, [1], (x, x)[0]]),
        lambda x: numpy.float64(2) * x + numpy.ones(2) * x,
        lambda x: np.add(x, 1, out=x),
        lambda x: np.cumsum(x, 0, None, x),
    ],
)
def test_who_does_not_leaves_it_to_numpy(use: Callable[[Any], Any]) -> None:
    x = array(1.0, 2.0)
    use(x)
    assert type(x) is small


@pytest.mark.parametrize("length", [2, 70])
@pytest.mark.parametrize("left", ["writeable", "read-only", "broadcast"])
@pytest.mark.parametrize("says", ["is a matrix", "inherits", *SAYS])
@pytest.mark.parametrize("name", REFLECTED)
def test_a_derived_class_is_asked_first(name: str, says: str, left: str, length: int) -> None:
    arguments = name, says, left, length
    assert_same(outcome(asked, numpy, *arguments), outcome(asked, np, *arguments))


def test_ordinary_arrays_and_numpys_beside_it() -> None:
    x = array(1.0, 2.0)
    assert type(x + tnp.ones(2)) is type(tnp.ones(2) + array(1.0, 2.0)) is tnp.ndarray
    assert type(x) is tnp.ndarray
    assert type(array(1.0, 2.0) + numpy.ones(2)) is type(numpy.ones(2) + array(1.0, 2.0)) is small
    given = numpy.ones(2)
    mine = np.asarray(given)
    mine[0] = 5
    assert type(mine) is small and given[0] == 5
    foreign = numpy.ones(4)[::-1]
    assert type(np.asarray(foreign)) is tnp.ndarray  # torch has no such strides


def test_out_is_given_back() -> None:
    x, out = array(1.0, 2.0), np.zeros(2)
    fraction, whole = np.zeros(2), np.zeros(2)
    assert np.add(x, 1, out=out) is np.add(x, 1, out) is np.add(x, 1, out=(out,)) is np.cumsum(x, 0, None, out) is out
    assert np.sum(np.ones((2, 2)), axis=0, out=out) is x.conj(out) is out
    results = np.modf(x, fraction, whole)
    assert results[0] is fraction and results[1] is whole and whole.tolist() == [1, 2]
    assert np.asarray(x) is x and np.atleast_1d(x) is x


def test_pickles() -> None:
    x = array(1, 2)
    assert pickle.loads(pickle.dumps(x)).tolist() == [1, 2]
    assert pickle.loads(pickle.dumps(np.sqrt)) is np.sqrt and pickle.loads(pickle.dumps(np.mean)) is np.mean
    rng = np.random.default_rng(3)
    again = pickle.loads(pickle.dumps(rng))
    assert type(again) is type(rng) and again.random(3).tolist() == rng.random(3).tolist()
    for made in (copy.copy(x), copy.deepcopy(x)):
        made[0] = 7
        assert x[0] == 1 and type(made) is small


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


@pytest.mark.parametrize("first", range(4))
def test_views_share_memory_whoever_is_taken_over_first(first: int) -> None:
    base = array(1.0, 2.0, 3.0, 4.0)
    views = [base, base[1:], base.reshape(2, 2), base[1:][::2]]
    tensor = views[first].tensor
    assert type(views[first]) is tnp.ndarray and len(trace_state.watched) == 1
    base[1] = 20.0
    assert [float(each.tensor.flatten()[i]) for each, i in zip(views, (1, 0, 1, 0), strict=True)] == [20.0] * 4
    tensor.mul_(2)
    assert [float(each[k]) for each, k in zip(views, (1, 0, (0, 1), 0), strict=True)] == [40.0] * 4
    assert {type(each) for each in views} == {tnp.ndarray}
    assert len({each.tensor.untyped_storage().data_ptr() for each in views}) == 1


def test_an_array_without_views_is_not_watched() -> None:
    """In a process of its own: once Dynamo evaluates frames, each array counts as shared."""
    code = (
        "from backend_torch.tensors import trace_state; from tnp._program import import_hook;"
        "np = import_hook.module('numpy', True);"
        "x = np.array([1.0, 2.0]); x.tensor; alone = len(trace_state.watched);"
        "y = np.array([1.0, 2.0])[:1]; y.tensor; view_alone = len(trace_state.watched);"  # its base has no other holder
        "base = np.array([1.0, 2.0]); view = base[:1]; view.tensor; print(alone, view_alone, len(trace_state.watched))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["0", "0", "1"]


def test_memory_is_numpys_again_when_the_tensor_is_gone() -> None:
    base = array(1.0, 2.0, 3.0)
    view = base[1:]
    view.tensor.add_(1)
    assert trace_state.watched
    del view
    gc.collect()
    assert not trace_state.watched
    base += 1
    assert type(base) is small


@pytest.mark.parametrize("make", [lambda x: x[::-1], lambda x: np.flip(x), lambda x: x.reshape(2, 1)[::-1, 0]])
def test_views_backwards_are_copies_as_in_tnp(make: Callable[[Any], Any]) -> None:
    x = array(1.0, 2.0)
    view = make(x)
    assert view.tolist() == [2.0, 1.0]
    view[0] = 9
    assert x.tolist() == [1.0, 2.0]


def test_read_only_views_stay_so() -> None:
    spread, diagonal = np.broadcast_to(array(1.0, 2.0), (2, 2)), np.diag(np.eye(2))
    for view in (spread, diagonal):
        for _ in range(2):  # in NumPy's hands and in torch's
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
    assert type(spread) is tnp.ndarray and spread.tensor.stride() == (0, 1) and type(diagonal) is readonly


@pytest.mark.parametrize("length", [3, LIMIT + 1])
def test_broadcast_views_are_read_only_without_repetition_too(length: int) -> None:
    x = np.zeros(length)
    view = np.broadcast_to(x, (1, length))
    with pytest.raises(ValueError, match="read-only"):
        view += 1
    assert not view.flags.writeable and not x.any()


@pytest.mark.parametrize("dtype", "?bhilqBHILQefdFD")
def test_every_dtype_is_taken_over(dtype: str) -> None:
    x = np.zeros(3, dtype=dtype)
    view = x[1:]
    assert type(x) is small
    view.tensor.fill_(1)
    assert x.tolist() == [0, 1, 1] and x.dtype == view.dtype == numpy.dtype(dtype)


@pytest.mark.parametrize("dtype", ["S1", "M8[s]", "O", ">f8", "g"])
def test_what_no_tensor_holds_is_as_it_is_without(dtype: str) -> None:
    ordinary: Any = import_hook.module("numpy")
    made = [outcome(lambda xp: xp.zeros(2, dtype), each) for each in (ordinary, np)]
    assert type(made[0]) is type(made[1]) is not small and repr(made[0]) == repr(made[1])


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
    assert type(np.zeros(1)) is small


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


def test_torch_compile_breaks_its_graph() -> None:
    kept = array(1.0, 2.0, 3.0)
    run = torch.compile(lambda a: (np.sqrt(a) * kept + kept[0]).sum(), backend="eager")
    assert float(run(array(1.0, 4.0, 9.0))) == 17.0
    kept[0] = 2.0
    assert float(run(array(1.0, 4.0, 9.0))) == 21.0
    torch.compiler.reset()


def test_scopes_of_other_devices() -> None:
    with tnp.device("meta"):
        assert {str(each.device) for each in (np.zeros(2), np.array([1.0]), np.concatenate([[1], [2]]))} == {"meta"}
        assert trace_state.watched
    assert type(np.zeros(2)) is small


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


# Off, and how it is turned on.


def test_off_is_off() -> None:
    code = "import sys, tnp; print('tnp._program.small' in sys.modules, type(tnp.zeros(2)).__name__)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "ndarray"]
    assert import_hook.module("numpy") is not np and type(import_hook.module("numpy").zeros(2)) is tnp.ndarray
    assert tnp.add is not np.add and type(tnp.sqrt(tnp.ones(2))) is tnp.ndarray


def test_every_listed_function_is_one_of_both() -> None:
    for name in FUNCTIONS:
        ours: Any = tnp
        theirs: Any = numpy
        for part in name.split("."):
            ours, theirs = getattr(ours, part), getattr(theirs, part)
        assert callable(ours) and callable(theirs), name
    for name in numpy.__all__:
        if isinstance(getattr(numpy, name), numpy.ufunc) and hasattr(tnp, name):
            assert isinstance(getattr(np, name), np.ufunc) and type(getattr(np, name)) is not type(getattr(tnp, name))


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(
        "import sys, numpy as np\nfrom numpy import zeros\nfrom numpy.random import default_rng\n"
        "print(type(np.ones(2)).__name__, type(zeros(2)).__name__, type(default_rng(0).random(2)).__name__,\n"
        "      type(np.linalg.inv(np.eye(2))).__name__, isinstance(np.ones(2), np.ndarray), sys.argv[1:])\n"
    )
    for option, name in (([], "ndarray"), (["--small-arrays"], "small")):
        command = [sys.executable, "-m", "tnp", *option, str(tmp_path / "main.py"), "a"]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        assert run.stdout.split() == [name] * 4 + ["True", "['a']"]
