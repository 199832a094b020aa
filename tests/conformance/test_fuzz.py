"""The fuzzer: a fixed run finds nothing new, and each kind of wrong answer that is planted is found and shrunk."""

from __future__ import annotations

import ctypes.util
import fnmatch
import itertools
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tnp
from conformance.__main__ import main
from conformance.fuzz import branches, compositions, containers, drawing, known, lines, lists, modes, run
from conformance.fuzz.compare import Disagreement
from conformance.fuzz.modes import Compared
from conformance.fuzz.program import Base, Call, Items, Text, View, run_numpy
from conformance.fuzz.report import Finding, Report
from conformance.fuzz.run import Settings
from conformance.fuzz.shrink import shrunk

CALLS = 1500

pytestmark = pytest.mark.filterwarnings("ignore")


def test_a_fixed_run_has_no_unexplained_disagreement() -> None:
    report = run.run(Settings(seed=0), 0, CALLS)
    assert report.calls == CALLS
    assert [f"{f.source}  NumPy: {f.found.numpy}  tnp: {f.found.tnp}" for f in report.unexplained] == []


def test_a_seed_draws_the_same_calls() -> None:
    assert [str(drawing.call(f"5:{i}")[1]) for i in range(50)] == [str(drawing.call(f"5:{i}")[1]) for i in range(50)]


def test_most_calls_are_good_ones() -> None:
    errors = [run_numpy(drawing.call(f"1:{i}")[1]).error for i in range(300)]
    assert sum(error is None for error in errors) > 150


def _found(patterns: str, calls: int = 120) -> dict[str, list[str]]:
    report = run.run(Settings(seed=3, patterns=tuple(patterns.split(","))), 0, calls)
    kinds: dict[str, list[str]] = {}
    for finding in report.unexplained:
        kinds.setdefault(finding.found.kind, []).append(finding.source)
    return kinds


def _raise(error: Exception) -> Callable[..., Any]:
    def raises(*args: Any, **kwargs: Any) -> Any:
        raise error

    return raises


def _copied_last(x: Any, *args: Any, **kwargs: Any) -> Any:
    result = tnp._manipulation.shape.atleast_1d(x)
    return result.copy()


def _wrong_class(x: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        return tnp._manipulation.rearranging.moveaxis(x, *args, **kwargs)
    except Exception as error:
        raise KeyError(str(error)) from None


def _writing(x: Any, *args: Any, **kwargs: Any) -> Any:
    result = tnp._math.reductions.count_nonzero(x, *args, **kwargs)
    if isinstance(x, tnp.ndarray) and x.ndim:
        x[...] = 1
    return result


@pytest.mark.parametrize(
    ("name", "planted", "kind"),
    [
        ("sign", lambda x, **kwargs: tnp._ufunc.table.negative(tnp._ufunc.table.sign(x, **kwargs)), "value"),
        ("nonzero", lambda x: tuple(a.astype("int32") for a in tnp._indexing.selection.nonzero(x)), "dtype"),
        ("diff", lambda x, *args, **kwargs: tnp._math.scans.diff(x, *args, **kwargs)[None], "shape"),
        ("ndim", _raise(RuntimeError("broken")), "raises"),
        ("moveaxis", _wrong_class, "raises another"),
        ("atleast_1d", _copied_last, "memory"),
        ("count_nonzero", _writing, "writes: value"),
        ("identity", lambda n, *args, **kwargs: 5, "type"),
        ("swapaxes", lambda *args, **kwargs: tnp._signal.windows.bartlett(3), "accepts"),
    ],
)
def test_planted_bugs_are_found(name: str, planted: Any, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _found(f"np.{name}") == {}
    monkeypatch.setattr(tnp, name, planted)
    kinds = _found(f"np.{name}")
    assert kind in kinds
    assert min(len(source) for source in kinds[kind]) < 100, "it was not shrunk"


def test_shrinking_keeps_what_matters_and_drops_the_rest() -> None:
    base = Base("float32", (3, 4), tuple(float(i) for i in range(12)))
    call = Call("np.sum", (View(base, ".T"), Text("1")), {"keepdims": Text("True"), "dtype": Text("'float64'")})
    small = shrunk(call, lambda candidate: "dtype" in candidate.keywords)
    assert small.keywords == {"dtype": Text("'float64'")}
    assert len(str(small)) < len(str(call)) / 2


def test_a_line_reproduces_the_call() -> None:
    values = (np.nan, -np.inf, -0.0, 1.5)
    base = Base("float64", (2, 2), values)
    call = Call("{0}.sum({rest})", (View(base, ".T"),), {"axis": Text("0")})
    line = str(call)
    assert line == "x = np.asarray([[np.nan, -np.inf], [-0.0, 1.5]], 'float64'); x.T.sum(axis=0)"
    made, expression = line.split("; ")
    names: dict[str, Any] = {"np": np}
    exec(made, names)
    np.testing.assert_array_equal(eval(expression, names), run_numpy(call).value)


def test_numpy_is_not_asked_to_write_beyond_its_memory() -> None:
    x = Base("int8", (3,), (0, 1, 0))
    out, choices = View(x, "[::-1]"), Text("[[1], [2]]")
    assert Call("np.choose", (View(x), choices), {"mode": Text("'clip'"), "out": out}).corrupts
    assert Call("{0}.choose({rest})", (View(x), choices, out, Text("'wrap'"))).corrupts
    assert not Call("np.choose", (View(x), choices), {"out": out}).corrupts
    assert not Call("np.choose", (out, choices), {"mode": Text("'clip'"), "out": View(x)}).corrupts
    assert not Call("np.choose", (View(x), Items("[]", (out, out))), {"mode": Text("'wrap'")}).corrupts


def test_no_integer_is_raised_to_a_power_without_end() -> None:
    x, y = View(Base("int8", (1,), (7,))), View(Base("float64", (1,), (7.0,)))
    huge = Text("2**70")
    assert Call("np.pow.outer", (x, huge)).is_endless and not Call("np.pow.outer", (y, huge)).is_endless
    assert not Call("np.add", (x, huge)).is_endless and not Call("np.pow", (x, Text("7"))).is_endless
    assert modes.vectorised(Call("np.pow", (x, huge)), "np.pow", "cpu", "0", lambda: None) is None


def test_numpy_is_not_asked_to_accumulate_into_no_dimensions() -> None:
    x, number = Base("int8", (3,), (0, 1, 0)), Base("int8", (), (0,))
    for callee in ("np.cumsum", "np.nancumprod", "np.cumulative_sum", "{0}.cumprod({rest})", "np.add.accumulate"):
        assert Call(callee, (View(x),), {"out": View(number)}).corrupts
        assert Call(callee, (View(x), Text("0"), Text("None"), View(number))).corrupts
        assert not Call(callee, (View(x),), {"out": View(x)}).corrupts
        assert not Call(callee, (View(number),)).corrupts


def test_every_known_disagreement_has_a_reason() -> None:
    entries = known.load()
    assert len({entry.id for entry in entries}) == len(entries)
    assert all(entry.reason or entry.difference for entry in entries)


def test_every_pattern_of_an_entry_means_a_few_functions() -> None:
    names = {target.name for target in drawing.targets(())}
    for entry in known.load():
        for pattern in set(entry.functions) - {"*", "np.*"}:
            covered = [name for name in names if fnmatch.fnmatchcase(name, pattern)]
            assert 0 < len(covered) < 200, (entry.id, pattern)  # "**" is every function: the operator is "[*][*]"


def test_an_entry_without_a_reason_is_refused(tmp_path: Any) -> None:
    path = tmp_path / "known.toml"
    path.write_text('[[known]]\nid = "because"\n')
    with pytest.raises(ValueError, match="because: no reason"):
        known.load(path)


def test_the_command_prints_the_seed_and_agrees(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["fuzz", "--calls", "30", "--seed", "7", "--functions", "reshape,getitem", "-n", "1"])
    printed = capsys.readouterr().out
    assert status == 0, printed
    assert "seed 7" in printed and "30 calls" in printed


def test_a_stopped_run_reports_what_it_has(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def parts(*args: Any) -> Iterator[Report]:
        yield Report(7, unexplained=[Finding(3, "sum", "np.sum(x)", Disagreement("result", "1", "2"))])
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "run_in_processes", parts)
    assert main(["fuzz", "--calls", "9", "--seed", "0"]) == 1
    told = capsys.readouterr()
    assert "np.sum(x), call 3" in told.err
    assert re.search(r"stopped: .*\n(.*\n)*.*7 calls", told.out)


def test_the_command_refuses_what_matches_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "--functions", "no_such_function"]) == 2
    assert "no_such_function" in capsys.readouterr().out


def _dies(settings: Settings, start: int, stop: int, progress: Any, pipe: Any) -> None:
    for index in range(start, stop):
        progress.value = index + 0.5
        if index == 0:
            os._exit(11)
        if index == 4:
            progress.value = index
            os._exit(12)
    pipe.send(run.Report(stop - start))


def test_a_crash_is_a_finding_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "_work", _dies)
    total = run.Report()
    for part in run.run_in_processes(Settings(seed=0), 8, 1):
        total.add(part)
    assert total.calls == 8
    assert [(f.index, f.found.kind) for f in total.unexplained] == [(0, "crash")]
    assert "exit status 11" in total.unexplained[0].found.tnp
    assert list(total.known) == ["NumPy itself: the process ends with exit status 12"]


def _hangs(settings: Settings, start: int, stop: int, progress: Any, pipe: Any) -> None:
    progress.value = start  # eager code is at its turn
    time.sleep(60)


def test_a_reference_that_hangs_is_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "_work", _hangs)
    monkeypatch.setattr(run, "NUMPY_HANGS_AFTER", 0.0)
    total = run.Report()
    for part in run.run_in_processes(Settings(seed=0, under="vmap"), 1, 1):
        total.add(part)
    assert not total.unexplained
    assert total.known == {"NumPy itself: the process hangs": 1}


class _Textless:
    def __repr__(self) -> str:
        raise MemoryError("no text")


def test_a_result_that_can_not_be_compared_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tnp, "count_nonzero", lambda *args, **kwargs: _Textless())
    report = run.run(Settings(seed=3, patterns=("np.count_nonzero",)), 0, 10)
    assert report.calls == 10
    assert {finding.found.kind for finding in report.unexplained} == {"uncomparable"}


def _written_behind(x: Any, *args: Any, **kwargs: Any) -> Any:
    if isinstance(x, tnp.ndarray) and x.nbytes and x.flags.c_contiguous:
        ctypes.memset(x.tensor.data_ptr() + x.nbytes, 0, 1)
    return tnp._math.reductions.count_nonzero(x, *args, **kwargs)


def test_writes_beside_operands_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(seed=3, patterns=("np.count_nonzero",), heap=True)
    assert run.run(settings, 0, 60).unexplained == []
    monkeypatch.setattr(tnp, "count_nonzero", _written_behind)
    found = run.run(settings, 0, 60).unexplained
    assert {(finding.found.kind, finding.found.numpy) for finding in found} == {("heap", "")}
    assert min(len(finding.source) for finding in found) < 70, "it was not shrunk"


@pytest.mark.skipif(ctypes.util.find_library("c_malloc_debug") is None, reason="glibc's library that checks the heap")
def test_processes_of_a_run_have_their_heap_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    overruns = """
import ctypes
block = ctypes.create_string_buffer(25)  # and 7 bytes that only a checked heap misses
ctypes.c_ubyte.from_address(ctypes.addressof(block) + 25).value ^= 1"""
    ends = []
    monkeypatch.setattr(run, "run_in_processes", lambda *args: ends.append(subprocess.run(child).returncode) or [])
    child = [sys.executable, "-c", overruns]
    for option in ([], ["--heap"]):
        main(["fuzz", "--calls", "1", "--seed", "0", *option])
    assert ends == [0, -signal.SIGABRT]
    assert "LD_PRELOAD" not in os.environ


def test_a_platform_that_checks_no_heap_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ctypes.util, "find_library", lambda name: None)
    assert main(["fuzz", "--calls", "1", "--heap"]) == 2
    assert "no libc_malloc_debug on this platform" in capsys.readouterr().out


@pytest.mark.parametrize("under", ["numpy", "compiled"])
def test_dates_are_compared_as_they_are(under: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(seed=819, under=under)
    for dates in (Text("np.int8(-3)"), Text("['2024-01-05', '2024-01-08']")):
        call = Call("np.busday_offset", (dates, Text("2")))
        compared = settings.check(call, "np.busday_offset", 0)
        assert compared is not None and compared.accepted and compared.found is None
    days = itertools.count()
    for module in (np, tnp):
        monkeypatch.setattr(module, "busday_offset", lambda *args: np.datetime64(next(days), "D"))
    compared = settings.check(call, "np.busday_offset", 0)
    assert compared is not None and compared.found is not None and compared.found.kind == "value"


def test_objects_are_compared_by_what_they_print(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(seed=819)
    given = {"real": "object()", "ravel": "[None, object(), 2**70]", "add.reduce": "object()", "sum": "10**5000"}
    for name, source in given.items():
        compared = settings.check(Call(f"np.{name}", (Text(source),)), f"np.{name}", 0)
        assert compared is not None and compared.accepted and compared.found is None
    monkeypatch.setattr(tnp, "ravel", lambda x: np.array([None, object(), 2**71]))
    compared = settings.check(Call("np.ravel", (Text("[None, object(), 2**70]"),)), "np.ravel", 0)
    assert compared is not None and compared.found is not None and compared.found.kind == "value"


def test_what_numpy_makes_alone_is_the_same_compiled() -> None:
    call = Call("operator.imod", (Text("np.int8(-3)"), Text("[2, 5]")))
    assert modes.compiled(call, "imod", "cpu", "eager", lambda: None) == Compared(None, True)


def test_compiled_calls_are_compared_too() -> None:
    report = run.run(Settings(seed=1, under="compiled", patterns=("np.add", "np.sum", "np.reshape")), 0, 60)
    assert report.calls == 60
    assert [f.source for f in report.unexplained] == []


def check_drawn(module: Any, count: int) -> list[Any]:
    """That a seed draws the same programs each time, of which the first two agree; return them."""
    drawn = [module.drawn(f"1:{index}") for index in range(count)]
    texts = list(map(str, drawn))
    assert texts == [str(module.drawn(f"1:{index}")) for index in range(count)] and len(set(texts)) == count
    report = run.run(Settings(seed=1, under=module.__name__.rpartition(".")[2]), 0, 2)
    assert (report.calls, report.compared, report.unexplained) == (2, 2, [])
    return drawn


def test_programs_of_branches_are_drawn_and_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    check_drawn(branches, 4)

    def compared(source: str, **options: Any) -> Any:
        given = {"function": "apart", "is_numpys": False, "fullgraph": False, "backend": "eager", **options}
        return branches.Program(f"def program(np, flag, a, b):\n    {source}\n", **given).disagreement()

    chosen = "if flag > 0: a = a[::-1]\n    a[0] = 5\n    return b,"
    assert compared(chosen) is None and compared(chosen, fullgraph=True, function="reversed") is None
    assert compared(chosen, is_batched=True) is None
    real = tnp.compile
    monkeypatch.setattr(tnp, "compile", lambda f, **settings: real(lambda *x: f(*x, 1), **settings))
    assert compared("return a,").kind == "error"
    monkeypatch.setattr(tnp, "compile", lambda f, **settings: real(lambda *x: [y + 1 for y in f(*x)], **settings))
    assert compared("return a[0],").kind == compared("return a[0],", is_batched=True).kind == "values"
    monkeypatch.setattr(tnp, "compile", lambda f, **settings: real(lambda *x: [y.copy() for y in f(*x)], **settings))
    assert compared("return a[1:],").kind == "later writes"


def test_programs_of_lists_are_drawn_and_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    check_drawn(lists, 4)

    def compared(source: str, **options: Any) -> Any:
        given = {"function": "numbers", "is_numpys": False, "fullgraph": False, "backend": "eager", **options}
        return lists.Program(f"def program(np, flag, a, b):\n    {source}\n", **given).disagreement()

    grown = "out = [a[0]]\n    for i in range(12): out.append(a[i % 3] * flag)\n    return out, np.array(out)"
    assert compared(grown) is None and compared(grown, fullgraph=True) is None
    assert compared("return a[5],") is None
    real = tnp.compile
    monkeypatch.setattr(tnp, "compile", lambda f, **settings: real(lambda *x: [1, *f(*x)], **settings))
    assert compared("return a,").kind == "lengths"
    monkeypatch.setattr(tnp, "compile", lambda f, **settings: real(lambda *x: [y + 1 for y in f(*x)], **settings))
    assert compared("return a,").kind == "values"
    monkeypatch.setattr(tnp, "compile", lambda f, **settings: real(lambda *x: [y.copy() for y in f(*x)], **settings))
    assert compared("return a[1:],").kind == "later writes"
    monkeypatch.setattr(tnp, "compile", lambda f, **settings: lambda *x: (1,))
    assert compared("return a[5],").kind == "no error"
    monkeypatch.setattr(tnp, "compile", lambda f, **settings: real(lambda *x: f(*x, 1), **settings))
    assert compared("return a,").kind == compared("return a[5],").kind == "error"


def test_programs_of_containers_are_drawn() -> None:
    assert {each.function for each in check_drawn(containers, 40)} == containers.NAMES


def test_programs_of_lines_are_drawn_and_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {each.function for each in check_drawn(lines, 8)} == set(lines.KINDS)

    def compared(source: str, function: str = "values") -> Any:
        source = f"def program(np, x, v, k, c):\n    {source}\n"
        found = lines.Program(source, function, "eager", "1:1", (3, 4)).disagreement()
        return found and found.kind

    written = "x[1:] = x[:-1]\n    np.add.at(v, k % 4, 1)\n    return np.where(c, x, v), x.sum()"
    assert compared(written) is None and compared(written, "gradient") is None
    assert compared("return x * np.pi if np.__name__ == 'tnp' else x,") == "eager"
    missing = "return x.not_there if np.__name__ == 'tnp' else x,"
    assert compared(missing) == compared(missing, "gradient") == "error"
    real = tnp.compile
    monkeypatch.setattr(tnp, "compile", lambda f, **settings: real(lambda *x: [y + 1 for y in f(*x)], **settings))
    assert compared("return x,") == "compiled"
    assert compared("return x * x,", "gradient") == "gradient"


def test_compositions_are_drawn_and_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(seed=1, under="compositions")
    drawn = [str(compositions.drawn(f"1:{index}")) for index in range(2)]
    report = run.run(settings, 0, 2)
    assert (report.calls, report.compared, report.unexplained) == (2, 2, [])
    monkeypatch.setitem(compositions.REFERENCES, "compile", lambda f, state: lambda x: f(x) + 1)
    wrong = compositions.Composition("smooth", ("compile",))
    found = wrong.disagreement()
    assert found is not None
    assert found.kind == "result"
    assert len(set(drawn)) == 2


def test_a_chaotic_composition_is_no_finding() -> None:
    case = compositions.Composition(
        "rebinds an attribute", ("scan", "hessian", "long scan"), values=(-0.73, -1.37, -0.05)
    )
    assert case.is_chaotic()
    assert not compositions.Composition("smooth", ("grad", "scan")).is_chaotic()
