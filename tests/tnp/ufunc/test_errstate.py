"""Floating-point errors are treated as NumPy treats them where somebody asks for it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import gc
import io
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tnp
from tests.oracle import agrees, compare
from tnp._core.dtype_table import Loops

OPERATIONS: list[Callable[[Any, Any], Any]] = [
    lambda xp, x: x / 0,
    lambda xp, x: x * 1e308 * 10,
    lambda xp, x: xp.log(x - 1),
    lambda xp, x: xp.sqrt(-x),
    lambda xp, x: xp.exp(x * 1000),
    lambda xp, x: xp.exp(-x * 1000),
    lambda xp, x: xp.log(-x),
    lambda xp, x: x * 1e-300 * 1e-300,
    lambda xp, x: x * xp.inf - x * xp.inf,
    lambda xp, x: xp.sum(x * 1.7e308),
    lambda xp, x: xp.sin(x * xp.inf),
    lambda xp, x: xp.arctanh(x),
    lambda xp, x: (x - 1) ** -1.0,
    lambda xp, x: x + xp.nan,
    lambda xp, x: x / xp.inf,
    lambda xp, x: 0 * x,
    lambda xp, x: xp.hypot(x, 0 * x),
    lambda xp, x: xp.std(x) + xp.median(x),
    lambda xp, x: xp.isnan(x * xp.nan) & xp.isinf(x),
    lambda xp, x: x.astype(int) // 0,
    lambda xp, x: 7 % (x - x).astype(int),
    lambda xp, x: xp.divmod(x.astype(int) * xp.iinfo(int).min, -1),
    lambda xp, x: xp.remainder(x.astype(int) * xp.iinfo(int).min, -1),
    lambda xp, x: xp.reciprocal(0 * x.astype(int)),
    lambda xp, x: divmod(x, 0),
    lambda xp, x: divmod(4 * x, xp.finfo(float).tiny),
    lambda xp, x: xp.divide(x, 0, where=xp.asarray([False, False])),
    lambda xp, x: xp.divide(x, 0, where=xp.asarray([False, True])),
    lambda xp, x: (x * xp.nan).astype(xp.int32),
    lambda xp, x: (x * 1e300).astype(xp.float32),
    lambda xp, x: x.astype(xp.float32) * 1e300,
    lambda xp, x: xp.logaddexp(x * -xp.inf, -xp.inf),
    lambda xp, x: xp.arctan2(0 * x, -0.0),
    lambda xp, x: (0 * x + 0j) ** -1,
    lambda xp, x: xp.dot(x, xp.asarray([xp.inf, -xp.inf])),
    lambda xp, x: xp.floor_divide.outer(x.astype(int), xp.asarray([0])),
]


def divided_in_place(xp: Any, x: Any) -> None:
    x /= 0 * x


def doubled_in_place(xp: Any, x: Any) -> None:
    x *= 2.0


OPERATIONS += [divided_in_place, doubled_in_place]


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("kind", ["all", "divide", "over", "under", "invalid"])
def test_raise(operation: Callable[[Any, Any], Any], kind: str) -> None:
    def checked(xp: Any) -> Any:
        with xp.errstate(**{"all": "ignore", kind: "raise"}):
            try:
                operation(xp, xp.ones(2))
            except FloatingPointError as error:
                return str(error).split(" encountered")[0]
        return "fine"

    compare(checked)


@pytest.mark.parametrize("action", ["warn", "raise", "call", "print", "log", "ignore"])
def test_actions(action: str, capsys: pytest.CaptureFixture[str]) -> None:
    def acted(xp: Any) -> Any:
        calls: list[Any] = []
        log = io.StringIO()
        target = log if action == "log" else lambda kind, flag: calls.append((kind, flag))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with xp.errstate(all=action, call=target):
                xp.ones(2) / 0.0
        return calls, log.getvalue(), [str(w.message) for w in caught], capsys.readouterr().out

    compare(acted, may_raise=FloatingPointError)


def test_nothing_is_looked_for_by_default() -> None:
    assert tnp.geterr() == dict.fromkeys(["divide", "over", "under", "invalid"], "ignore")
    assert torch.utils._python_dispatch._get_current_dispatch_mode() is None
    with tnp.errstate(all="raise"):
        assert torch.utils._python_dispatch._get_current_dispatch_mode() is not None
        with tnp.errstate(all="ignore"):
            assert torch.utils._python_dispatch._get_current_dispatch_mode() is None
            tnp.ones(1) / 0
        with pytest.raises(FloatingPointError):
            tnp.ones(1) / 0
    assert torch.utils._python_dispatch._get_current_dispatch_mode() is None


def test_seterr() -> None:
    def changed(xp: Any) -> Any:
        with xp.errstate(all="ignore"):
            before = xp.seterr(over="raise", invalid="print")
            now = xp.geterr()
            xp.seterr(**before)
            return before, now, xp.geterr(), xp.seterrcall(len) is None, xp.geterrcall() is len, xp.seterrcall(None)

    compare(changed)
    compare(lambda xp: xp.seterr(all="no such"), raises=ValueError)
    compare(lambda xp: xp.seterrcall(5), raises=TypeError)


@pytest.mark.parametrize("dtype", ["?", "u1", "u2", "u4", "u8", "i1", "i8", "f2", "f8", "c16"])
def test_poles_of_every_dtype(dtype: str) -> None:
    for name in ("arctanh", "log", "log1p", "reciprocal", "arctan2"):
        for values in ([0, 1], [1, 1], [0, 3]):

            def call(xp: Any, name: str = name, values: Any = values) -> Any:
                x = xp.asarray(values, dtype)
                with xp.errstate(all="warn"):
                    return getattr(xp, name)(x, x) if name == "arctan2" else getattr(xp, name)(x)

            compare(call, rtol=1e-6, may_raise=TypeError)


@agrees
def test_new_arrays_in_fortran_order_are_views_of_none_in_a_scope(xp: Any) -> Any:
    with xp.errstate(all="warn"):
        x = xp.ones((3, 2), "i4")
        made = xp.zeros((3, 2), order="F"), xp.zeros_like(x, order="F"), xp.asfortranarray(x), x.T.copy("K")
    return [(each, each.base is None, each.flags.owndata) for each in made]


def test_call_without_a_function() -> None:
    for action in ("call", "log"):
        with tnp.errstate(all=action, call=None), pytest.raises(NameError):
            tnp.ones(1) / 0


def test_decorator_and_threads() -> None:
    @tnp.errstate(divide="raise")
    def divide() -> Any:
        return tnp.ones(1) / 0

    for _ in range(2):
        with pytest.raises(FloatingPointError):
            divide()
    seen = []
    with tnp.errstate(all="raise"):
        thread = threading.Thread(target=lambda: seen.append((tnp.geterr()["over"], float((tnp.ones(1) / 0)[0]))))
        thread.start()
        thread.join()
    assert seen == [("ignore", np.inf)]


def test_a_setting_ends_with_its_thread() -> None:
    gc.collect()  # contexts that errors of former tests lead to
    before = Loops.suspended
    thread = threading.Thread(target=lambda: tnp.seterr(all="raise"))
    thread.start()
    thread.join()
    assert Loops.suspended == before


def test_a_context_copied_to_another_thread_asks_there() -> None:
    """As NumPy does, also once the thread that asked has stopped to ask."""

    def work(xp: Any) -> list[str]:
        return [outcome_of(lambda: xp.ones(2) / xp.zeros(2)), outcome_of(lambda: xp.exp(xp.full(40_000, 1e4)))]

    def outcome_of(call: Callable[[], Any]) -> str:
        try:
            call()
        except FloatingPointError as error:
            return str(error)
        return "none"

    def seen(xp: Any) -> list[Any]:
        with xp.errstate(all="raise"):
            context = contextvars.copy_context()
            inside = in_thread(lambda: context.run(work, xp)), asyncio.run(asyncio.to_thread(work, xp))
        return [*inside, in_thread(lambda: context.run(work, xp)), in_thread(lambda: work(tnp)), work(tnp)]

    def in_thread(call: Callable[[], Any]) -> Any:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            return pool.submit(call).result()

    found, expected = seen(tnp), seen(np)
    assert found == expected and found[0] == found[2] != found[3]
    assert not Loops.suspended


def test_a_loop_built_while_another_thread_asks_is_checked() -> None:
    """No table keeps an unchecked loop that was on its way when the tables were emptied."""

    def build(key: str) -> str:
        Loops.suspend()  # by another thread, as far as the table is concerned
        return "unchecked"

    table = Loops(build, lambda key: "checked")
    assert table["loop"] == "unchecked"  # the thread that asked for it has no check
    assert table["loop"] == "checked"
    Loops.resume()
    assert table["loop"] == "unchecked"


def test_threads_switch_checks_on_and_off() -> None:
    """Each thread gets its own errors, although tables are emptied and filled all the time."""
    dtypes = ["float16", "float32", "float64", "complex64", "int32", "uint8"]

    def work(number: int) -> list[str]:
        wrong = []
        for turn in range(30):
            with Loops.lock:  # loops are built anew
                for table in Loops.tables:
                    table.clear()
                    table.kept.clear()
            with tnp.errstate(divide="raise" if number % 2 else "ignore"):
                x = tnp.ones(2, dtypes[(number + turn) % 6])
                for divide in (tnp.divide, tnp.floor_divide) if x.dtype.kind != "c" else (tnp.divide,):
                    try:
                        divide(x, tnp.zeros_like(x))
                        raised = False
                    except FloatingPointError:
                        raised = True
                    if raised != bool(number % 2):
                        wrong.append(f"{divide.__name__} of {x.dtype} raised: {raised}")
        return wrong

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            assert not list(filter(None, pool.map(work, range(16))))
    finally:
        sys.setswitchinterval(before)
    assert not Loops.suspended


def test_each_asyncio_task_has_its_own() -> None:
    async def divide(action: str) -> tuple[str, str]:
        with tnp.errstate(divide=action):
            await asyncio.sleep(0)
            try:
                tnp.ones(1) / 0
            except FloatingPointError:
                return tnp.geterr()["divide"], "raised"
            return tnp.geterr()["divide"], "went on"

    async def main() -> list[tuple[str, str]]:
        return await asyncio.gather(*map(divide, ["ignore", "raise", "ignore", "raise"]))

    assert asyncio.run(main()) == [("ignore", "went on"), ("raise", "raised")] * 2
    with tnp.errstate(all="raise"):
        pass
    assert torch.utils._python_dispatch._get_current_dispatch_mode() is None


def test_a_warning_is_about_the_callers_line() -> None:
    with tnp.errstate(all="warn"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tnp.ones(1) / 0
        tnp.log(tnp.zeros(1))
        tnp.mean(tnp.ones(2) * 1e308 * 1.5)
        tnp.arange(3) // 0
    assert [(w.category, w.filename) for w in caught] == [(RuntimeWarning, __file__)] * 4


@pytest.mark.reads
def test_values_are_the_same_while_errors_are_looked_for() -> None:
    x = tnp.asarray([1 + 2j, 0.5 - 3j])
    plain = x**2, 1 / x, x * 3
    with tnp.errstate(all="raise"):
        looked_for = x**2, 1 / x, x * 3
    for one, other in zip(plain, looked_for, strict=True):
        assert one.tobytes() == other.tobytes()


def test_a_scope_is_entered_once() -> None:
    def entered(xp: Any) -> None:
        scope = xp.errstate(all="ignore")
        for _ in range(2):
            with scope:
                pass

    compare(entered, raises=TypeError)


VALUES = [
    lambda xp, x: xp.nanmean(x),
    lambda xp, x: xp.nanvar(x, axis=0),
    lambda xp, x: xp.nanstd(x),
    lambda xp, x: xp.nanmax(x),
    lambda xp, x: xp.nanmin(x, axis=1),
    lambda xp, x: xp.nanmedian(x),
]


@pytest.mark.parametrize("function", VALUES)
@pytest.mark.parametrize("fill", [np.nan, 1.0])
@pytest.mark.parametrize("action", ["ignore", "warn"])
def test_too_few_elements_are_warned_of(function: Any, fill: float, action: str) -> None:
    found = []
    for xp in (np, tnp):
        with xp.errstate(divide=action, over=action, invalid=action), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function(xp, xp.full((1, 3), fill))
        found.append({(w.category, str(w.message).rstrip("."), w.filename) for w in caught})
    numpys, ours = found
    assert {each[:2] for each in ours} == {each[:2] for each in numpys if "Degrees" not in each[1] or ours}
    assert all(name == __file__ for *_, name in ours)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tnp.vectorized_map(lambda x: function(tnp, x), tnp.full((2, 1, 3), fill))


@pytest.mark.parametrize("dtype", [np.int8, np.uint64])
@pytest.mark.parametrize(
    "call",
    [
        lambda xp, x: xp.floor_divide.reduce(x),
        lambda xp, x: xp.floor_divide.accumulate(x),
        lambda xp, x: xp.floor_divide.reduceat(x, [0]),
        lambda xp, x: xp.floor_divide.at(x, [0], 0),
    ],
)
def test_a_method_says_its_own_name(call: Any, dtype: Any) -> None:
    texts = []
    for xp in (np, tnp):
        with xp.errstate(divide="raise"), pytest.raises(FloatingPointError) as caught:
            call(xp, xp.asarray([5, 0, 1], dtype=dtype))
        texts.append(str(caught.value))
    assert texts[0] == texts[1]


def test_booleans_are_divided() -> None:
    for xp in (np, tnp):
        with xp.errstate(divide="raise"):
            assert xp.floor_divide(xp.asarray([True]), True)[0] == 1
            with pytest.raises(FloatingPointError, match="divide by zero encountered in floor_divide"):
                xp.floor_divide(xp.asarray([True]), False)


def test_scalars_of_numpy_follow() -> None:
    before = np.geterr()
    with tnp.errstate(divide="raise", over="ignore"):
        assert np.geterr()["divide"] == "raise" and np.geterr()["over"] == "ignore"
        with pytest.raises(FloatingPointError):
            tnp.float32(1) / tnp.float32(0)
        tnp.float32(3e38) * tnp.float32(3e38)
    assert np.geterr() == before
    with np.errstate():
        old = tnp.seterr(invalid="raise")
        assert np.geterr()["invalid"] == "raise"
        tnp.seterr(**old)


@pytest.mark.parametrize("name", ["dot", "inner"])
@pytest.mark.parametrize("dtype", ["e", "f", "d"])
def test_products_say_dot(name: str, dtype: str) -> None:
    for xp in (np, tnp):
        one, other = xp.asarray([1, 1], dtype), xp.asarray([-xp.inf, xp.inf], dtype)
        with xp.errstate(invalid="raise"):
            with pytest.raises(FloatingPointError, match="in dot"):
                getattr(xp, name)(one, other)
            with pytest.raises(FloatingPointError, match="in dot"):
                getattr(xp, name)(one[None, None], other[None, :, None] if name == "dot" else other[None, None])


def test_medians_of_nothing_warn_as_often() -> None:
    for xp in (np, tnp):
        table = xp.full((3, 4), xp.nan)
        with warnings.catch_warnings(record=True) as caught, xp.errstate(invalid="warn"):
            warnings.simplefilter("always")
            xp.nanmedian(table, axis=0)
            assert len(caught) == 4
            xp.nanmedian(table)
            assert len(caught) == 5
            xp.median(xp.ones(0))
            assert len(caught) == 7
            xp.nanmedian(xp.ones(0))
            assert len(caught) == 8


@pytest.mark.parametrize("action", ["raise", "warn", "ignore"])
@pytest.mark.parametrize("outside", ["raise", "ignore"])
@pytest.mark.filterwarnings("ignore:tnp.compile")
def test_what_a_compiled_function_sets_ends_with_its_call(action: str, outside: str) -> None:
    seen = []

    @tnp.compile(backend="eager")
    def function(x: Any, fails: bool = False) -> Any:
        tnp.seterr(all=action)
        tnp.seterrcall(print)
        seen.append(tnp.geterr()["over"])
        if fails:
            raise KeyError
        return tnp.cond(x.sum() > 0, lambda: x + 1, lambda: x - 1)

    with tnp.errstate(all=outside):
        before = tnp.geterr(), np.geterr(), tnp.geterrcall(), np.geterrcall()
        for fails in (False, True):
            with pytest.raises(KeyError) if fails else contextlib.nullcontext():
                function(tnp.ones(2), fails)
            assert (tnp.geterr(), np.geterr(), tnp.geterrcall(), np.geterrcall()) == before
            with pytest.raises(FloatingPointError) if outside == "raise" else contextlib.nullcontext():
                tnp.ones(1) / 0
    assert seen == [action, action]
    assert torch.utils._python_dispatch._get_current_dispatch_mode() is None
    assert (tnp.ones(2) / 0 + 1).tolist() == [np.inf] * 2


def _in_a_scope(x: Any) -> Any:
    with tnp.errstate(divide="raise"):
        return 1 / x


@tnp.errstate(divide="raise")
def _decorated(x: Any) -> Any:
    return 1 / x


def _in_between(x: Any) -> Any:
    y = x + 2
    before = tnp.seterr(divide="raise")
    try:
        return y / x
    finally:
        tnp.seterr(**before)


def _caught(x: Any) -> Any:
    try:
        with tnp.errstate(divide="raise"):
            return 1 / x
    except FloatingPointError:
        return x - 1


@pytest.mark.host  # Inductor has no code for the stand-in
@pytest.mark.parametrize("function", [_in_a_scope, _decorated, _in_between, _caught])
@pytest.mark.parametrize("backend", [None, "eager"])
def test_a_check_inside_of_a_compiled_function_cuts_it(function: Callable[[Any], Any], backend: str | None) -> None:
    def outcome(function: Callable[[Any], Any], x: Any) -> Any:
        try:
            return function(x).tolist()
        except FloatingPointError as error:
            return str(error)

    compiled = tnp.compile(function, backend=backend)
    with pytest.warns(RuntimeWarning, match="is cut at .* a check for floating-point errors"):
        assert compiled(tnp.ones(2)).tolist() == function(tnp.ones(2)).tolist()
    for x in (tnp.ones(2), tnp.zeros(2), tnp.zeros(2)):
        assert outcome(compiled, x) == outcome(function, x)
    assert set(tnp.geterr().values()) == {"ignore"}
    with pytest.raises(TypeError, match=r"leave it outside tnp.compile, or find NaNs with tnp.debug.nans"):
        tnp.compile(function, backend=backend, fullgraph=True)(tnp.ones(2))


@pytest.mark.host
def test_a_compiled_function_runs_uncompiled_where_a_check_is_on() -> None:
    compiled = tnp.compile(lambda x: tnp.log(x) + 1)
    for _ in range(2):
        assert compiled(tnp.zeros(1))[0] == -np.inf
    with tnp.errstate(divide="raise"):
        with pytest.warns(RuntimeWarning, match="runs uncompiled: np.errstate asks for checks"):
            assert compiled(tnp.ones(1))[0] == 1
        with pytest.raises(FloatingPointError, match="divide by zero encountered in log"):
            compiled(tnp.zeros(1))
    assert compiled(tnp.zeros(1))[0] == -np.inf


def test_an_action_that_does_not_exist_leaves_the_setting() -> None:
    before = np.geterr()
    for xp in (np, tnp):
        with pytest.raises(ValueError, match=r"invalid error mode|no such"), xp.errstate(divide="no such"):
            pass
    assert np.geterr() == before
