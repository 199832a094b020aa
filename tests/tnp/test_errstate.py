"""Floating-point errors are treated as NumPy treats them where somebody asks for it."""

from __future__ import annotations

import io
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tnp
from tests.oracle import compare

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
]


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

    compare(acted)


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
    compare(lambda xp: xp.seterr(all="no such"))
    compare(lambda xp: xp.seterrcall(5))


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


def test_a_scope_is_entered_once() -> None:
    def entered(xp: Any) -> None:
        scope = xp.errstate(all="ignore")
        for _ in range(2):
            with scope:
                pass

    compare(entered)


def test_compiled_functions_run_inside() -> None:
    function = tnp.compile(lambda x: x / 0 * 0)
    with tnp.errstate(all="raise"):
        assert np.isnan(np.asarray(function(tnp.ones(2)))).all()
