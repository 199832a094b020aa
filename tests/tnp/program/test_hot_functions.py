"""``python -m tnp --compile``: which functions of a program are compiled while it runs."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tnp as np
from tests import processes
from tnp._program import hot_functions


class Clock:
    """Says that each of the first ten calls takes half a second, and each later one so many seconds."""

    def __init__(self) -> None:
        self.now, self.read, self.first, self.later = 0.0, 0, 0.5, 0.0

    def perf_counter(self) -> float:
        self.read += 1
        self.now += self.first if self.read <= 20 else self.later
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    made = Clock()
    monkeypatch.setattr(hot_functions, "time", made)
    monkeypatch.setattr(hot_functions, "compiled_function", functools.partial(np.compile, backend="eager"))
    yield made
    hot_functions.found.clear()


def outcome_of(function: Callable[..., Any], *calls: tuple[Any, ...]) -> str:
    """Call a function and its watched version; the results must be the same. Return what the report says."""
    watched = hot_functions.watched(function)
    for args in calls:
        copies = [each.copy() if isinstance(each, np.ndarray) else each for each in args]
        assert repr(watched(*args)) == repr(function(*copies))
        assert repr(args) == repr(tuple(copies))
    (line,) = hot_functions.report()
    return line.partition(": ")[2]


def test_what_takes_time_in_many_calls_is_compiled(clock: Clock) -> None:
    def function(x: Any, y: Any) -> Any:
        x += 1
        return x * y

    found = outcome_of(function, *[(np.full(3, 1.0 * call), 2.0) for call in range(30)])
    assert found.startswith("compiled: 500 ms a call, 0 ms compiled, which took ")
    assert hot_functions.found[0].compiled.cache_info()[:2] == (1, 19)


@pytest.mark.parametrize("calls", [5, 9])
def test_what_is_called_seldom_is_left(clock: Clock, calls: int) -> None:
    assert outcome_of(lambda x: x + 1, *[(np.ones(2),)] * calls) == "not called often, or not for long"


def test_what_takes_little_is_left(clock: Clock) -> None:
    clock.first = 0.01
    assert outcome_of(lambda x: x + 1, *[(np.ones(2),)] * 30) == "not called often, or not for long"


def test_what_is_no_faster_is_left(clock: Clock) -> None:
    clock.later = 0.49
    found = outcome_of(lambda x: x + 1, *[(np.ones(2),)] * 30)
    assert found.startswith("not compiled: no faster, 500 ms a call, 490 ms compiled")


def test_many_kinds_of_arguments_are_left(clock: Clock) -> None:
    found = outcome_of(lambda x: x + 1, *[(np.ones(length + 2),) for length in range(40)])
    assert found == "not compiled: 5 kinds of arguments would each be compiled"


def printing(x: Any) -> Any:
    print("of", x.shape)
    return x + 1


notes: list[Any] = []


def noting(x: Any) -> Any:
    notes.append(x.shape)
    return x + 1


def drawing(x: Any) -> Any:
    return x.shape, np.random.random(3).shape


def failing(x: Any) -> Any:
    return x + 1 if float(x[0]) > 0 else np.asarray(x.tolist())


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (printing, "print writes"),
        (noting, "is changed"),
        (drawing, "random draws numbers"),
        (failing, "tolist"),
        (lambda n: n + 1, "it was called without an array"),
    ],
)
def test_what_cant_be_compiled_is_left(
    clock: Clock, capsys: pytest.CaptureFixture[str], function: Callable[..., Any], text: str
) -> None:
    notes.clear()
    argument = 1 if text.startswith("it was") else -np.ones(3)
    found = outcome_of(function, *[(argument,)] * 15)
    assert found.startswith("not compiled: ") and text in found
    assert capsys.readouterr().out.count("of (3,)\n") == (30 if function is printing else 0)
    assert len(notes) == (30 if function is noting else 0)


def test_errors_are_the_programs(clock: Clock) -> None:
    def function(x: Any, i: Any) -> Any:
        return x[i] + 1

    watched = hot_functions.watched(function)
    for _ in range(20):
        assert watched(np.arange(3), np.asarray(2)) == 3
        with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
            watched(np.arange(3), np.asarray(3))


def test_a_watched_function_in_a_compiled_one(clock: Clock) -> None:
    @hot_functions.watched
    def inner(x: Any) -> Any:
        return x if x.sum() > 0 else -x

    function = np.compile(lambda x: inner(x) * 2, backend="eager", fullgraph=True)
    assert [function(np.full(2, value)).tolist() for value in (1.0, -2.0)] == [[2, 2], [4, 4]]
    assert hot_functions.report() == []


def test_generators_are_left() -> None:
    def function() -> Iterator[int]:
        yield 1

    assert hot_functions.watched(function) is function


SOURCE = '''
from __future__ import annotations
import functools

@functools.lru_cache
def cached(n):
    """Doc."""
    def inner():
        return n
    return inner()

class Model:
    __scale = 2
    def __init__(self, w): self.w = w
    @property
    def twice(self): return self.__scale * self.w
    @staticmethod
    def of(w): return Model(w)
    @classmethod
    def zero(cls): return cls(0)
'''


def test_functions_and_methods_are_watched(clock: Clock) -> None:
    module = types.ModuleType("program")
    exec(hot_functions.Loader("program", "program.py").source_to_code(SOURCE, "program.py"), vars(module))
    assert (module.cached(3), module.Model.of(4).twice, module.Model.zero().w) == (3, 8, 0)
    assert (module.cached.__doc__, module.Model.of.__name__) == ("Doc.", "of")
    names = [hot.function.__qualname__ for hot in hot_functions.found]
    assert names == ["cached", "Model.twice", "Model.of", "Model.zero"]


@pytest.mark.host
def test_a_program(tmp_path: Path) -> None:
    """With and without ``--compile`` it prints the same, and ends with the same traceback; its modules are watched."""
    (tmp_path / "part.py").write_text("import numpy as np\n\ndef step(x):\n    return 1 / (1 + np.exp(-x))\n")
    (tmp_path / "main.py").write_text(
        "import numpy as np\nfrom part import step\n\ndef main(x):\n    for _ in range(40):\n        x = step(x)\n"
        "    print(x)\n    raise ValueError('at the end')\n\nmain(np.zeros(3))\n"
    )
    run = "from tnp.__main__ import main; main(sys.argv[1:])"
    quick = f"import sys; from tnp._program import hot_functions as hot; hot._SECONDS = 0; {run}"
    plain = processes.run("-c", f"import sys; {run}", "main.py", cwd=tmp_path)
    compiled = processes.run("-c", quick, "--compile", "main.py", cwd=tmp_path)
    reported = processes.run("-c", quick, "--compile", "--report", "main.py", cwd=tmp_path)
    assert plain.stdout == compiled.stdout == reported.stdout == "[0.65904607 0.65904607 0.65904607]\n"
    assert plain.stderr == compiled.stderr and "line 8, in main" in plain.stderr
    line = next(line for line in reported.stderr.splitlines() if line.startswith("step (part.py:3): "))
    assert " ms a call, " in line and " ms compiled, which took " in line
    assert [each.returncode for each in (plain, compiled, reported)] == [1, 1, 1]
