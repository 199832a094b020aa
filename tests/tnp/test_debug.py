"""tnp.debug: what is printed and called when programs run, by all ways of running them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tnp as np

BACKENDS = ["eager", "inductor"]
Lines = Callable[[Callable[[], Any]], list[str]]


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Lines:
    def printed(run: Callable[[], Any]) -> list[str]:
        capsys.readouterr()
        run()
        return capsys.readouterr().out.splitlines()

    return printed


def shown(text: str, value: Any, *args: Any, **kwargs: Any) -> Any:
    np.debug.print(text, *args, **kwargs)
    return value


def everywhere(x: Any) -> Any:
    """A program whose lines come from its top, a loop's body, branches of both kinds, and the end."""
    np.debug.print("first {}", x)
    total = np.fori_loop(0, 2, lambda i, c: shown("turn {}", c + i, i), x.sum())
    np.cond(total > 2, lambda: np.debug.print("large {total}", total=total), lambda: None)
    if total > 100:
        np.debug.print("huge")
    else:
        np.debug.print("not huge")
    return shown("last {:.1f} {}", x * 2, total, "static")


EXPECTED = ["first [0. 1. 2.]", "turn 0", "turn 1", "large 4.0", "not huge", "last 4.0 static"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_lines_of_compiled_programs(backend: str, lines: Lines) -> None:
    x = np.arange(3.0)
    compiled = np.compile(everywhere, backend=backend)
    for _ in range(2):
        assert lines(lambda: compiled(x)) == EXPECTED
    assert lines(lambda: everywhere(x)) == EXPECTED
    assert compiled(x).tolist() == [0, 2, 4]


def test_results_that_nobody_uses(lines: Lines) -> None:
    def program(x: Any) -> Any:
        np.fori_loop(0, 2, lambda i, c: shown("turn {}", c + 1, i), x)
        np.debug.print("no result")

    assert lines(lambda: np.compile(program, backend="eager")(np.ones(2))) == ["turn 0", "turn 1", "no result"]


def test_maps(lines: Lines) -> None:
    program = np.vmap(lambda x, y: shown("{} {}", x, x, y), (0, None))
    expected = ["0 7", "1 7"]
    assert lines(lambda: program(np.arange(2), np.asarray(7))) == expected
    assert lines(lambda: np.compile(program, backend="eager")(np.arange(2), np.asarray(7))) == expected
    slopes = np.compile(np.vmap(np.grad(lambda x: shown("{}", x**2, x))), backend="eager")
    assert lines(lambda: slopes(np.arange(2.0))) == ["0.0", "1.0"]
    nested = np.vmap(np.vmap(lambda x: shown("{}", x, x)))
    assert lines(lambda: nested(np.arange(4).reshape(2, 2))) == ["0", "1", "2", "3"]


@pytest.mark.parametrize("length", [3, 20])
def test_derivatives(length: int, lines: Lines) -> None:
    x = np.arange(float(length))
    program = lambda x: np.scan(lambda c, x: (shown("{}", c + x**2, x), None), np.asarray(0.0), x)[0]  # noqa: E731
    compiled = np.compile(program, backend="eager")
    expected = [str(float(i)) for i in range(length)]

    def taped() -> Any:
        with np.GradientTape() as tape:
            tape.watch(x)
            y = compiled(x)
        return tape.gradient(y, x)

    found: list[Any] = []
    runs: list[Any] = [
        lambda: np.grad(program)(x),
        lambda: np.compile(np.grad(program), backend="eager")(x),
        lambda: np.grad(compiled)(x),
        taped,
        lambda: np.jvp(compiled, (x,), (2 * x / 2,))[1] * 0 + 2 * x,
    ]
    for run in runs:
        printed = lines(lambda run=run: found.append(run()))
        assert printed[:length] == expected and len(printed) in (length, 2 * length)  # steps may be computed again
        assert found[-1].tolist() == (2 * x).tolist()


def test_callback() -> None:
    seen: list[Any] = []
    program = np.compile(lambda x: np.debug.callback(seen.append, {"sum": x.sum(), "n": 3}), backend="eager")
    program(np.ones(2))
    program(np.zeros(2))
    assert seen == [{"sum": 2.0, "n": 3}, {"sum": 0.0, "n": 3}]


# nans


def logs(x: Any) -> Any:
    y = x - 2
    return np.log(y).sum()


def roots(x: Any) -> Any:
    return np.fori_loop(0, 5, lambda i, c: np.sqrt(c - 1), x)


GOOD, BAD = [3.0, 4.0], [3.0, 1.0]
LINES = {
    "eager": (logs, "return np.log"),
    "compiled": (np.compile(logs, backend="eager"), "return np.log"),
    "loop": (np.compile(roots, backend="eager"), "return np.fori_loop"),
    "vmap": (np.vmap(logs), "return np.log"),
    "derivative": (np.grad(logs), "return np.log"),
}


@pytest.mark.parametrize("name", LINES)
def test_the_line_that_makes_a_nan(name: str) -> None:
    run, source = LINES[name]
    bad = np.asarray([BAD, BAD] if name == "vmap" else BAD)
    run(bad)
    with (
        np.debug.nans(),
        pytest.raises(FloatingPointError, match=r"invalid value \(nan\) encountered in \w+ at") as info,
    ):
        run(bad)
    file, _, line = str(info.value).rpartition(" at ")[2].rpartition(":")
    with open(file) as text:
        assert source in text.read().splitlines()[int(line) - 1]
    run(bad)


def test_a_nan_of_machine_code() -> None:
    compiled = np.compile(logs)
    for _ in range(2):
        assert np.isnan(compiled(np.asarray(BAD)))
    with np.debug.nans():
        assert compiled(np.asarray(GOOD)) == np.log(2.0)
        with pytest.raises(FloatingPointError):
            compiled(np.asarray(BAD))


def test_what_makes_no_nan() -> None:
    with np.debug.nans():
        x = np.asarray([np.nan, 1.0])
        assert np.isnan(x + 1).tolist() == [True, False]
        x += 1
        x[1] = np.nan
        assert np.isnan(np.full(2, np.nan)).all() and np.isnan(np.where(x > 0, x, np.nan)).all()
        assert np.isinf(np.ones(1) / np.zeros(1)).all()
        assert np.var(np.asarray(GOOD)) == 0.25
    with np.debug.nans(infs=True), pytest.raises(FloatingPointError, match="inf"):
        np.ones(1) / np.zeros(1)


def test_a_derivative_that_makes_a_nan() -> None:
    masked = np.grad(lambda x: np.where(x > 0, np.sqrt(x), 0.0).sum())
    with np.debug.nans(), pytest.raises(FloatingPointError):
        masked(np.zeros(2))


def test_a_decorator() -> None:
    @np.debug.nans()
    def checked(x: Any) -> Any:
        return np.log(x)

    assert checked(1.0) == 0
    with pytest.raises(FloatingPointError):
        checked(-1.0)
    assert np.isnan(np.log(np.asarray(-1.0)))
