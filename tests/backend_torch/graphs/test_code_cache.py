"""Machine code on disk: a later process finds it without a compiler, and finds no other graph's."""

from __future__ import annotations

import getpass
import json
import os
import pickle
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from backend_torch.graphs import code_cache, compiling, control_flow, graph_forms, loop_programs, symbolic
from backend_torch.torch_private import inductor, inductor_code
from tests import processes

ROOT = Path(__file__).parents[3]

PROGRAM = """
import functools, json, sys
import numpy, torch
import tnp as np

HEAVY = ["torch._inductor", "torch._dynamo", "sympy", "networkx", "torch.distributed.tensor", "subprocess"]
before = set(sys.modules)
started = []
sys.addaudithook(lambda event, args: started.append(event) if event in ("subprocess.Popen", "os.fork") else None)
held = np.linspace(0, 1, 6, dtype=np.float32)
x = np.linspace(-1, 1, 6, dtype=np.float32)
m = x.reshape(2, 3)

def write(x):
    x[1:] = held[1:] * 2
    return x[::2]

def imported():
    return sorted({name for name in HEAVY if name in sys.modules and name not in before})

results = [
    np.compile(lambda x: 1 / (1 + np.exp(-x)))(x),
    np.compile(lambda x: x * 2.5)(x),
    np.compile(lambda x: x * -2.5)(x),
    np.compile(lambda x: np.tanh(x[::2]) * x.sum())(x),
]
heavy = [imported()]
compile = functools.partial(np.compile, backend="inductor")
results += [  # for the traces of these torch imports DTensor, and with it sympy
    compile(lambda m: np.tanh(m @ m.T))(m),
    compile(lambda x: np.grad(lambda y: (y**3).sum())(x))(x),
    compile(lambda x: {"a": x + held, "b": (x.sum(), x.reshape(3, 2))})(x)["b"][1],
    compile(write)(x),
    x,
]
heavy.append([name for name in imported() if name not in ("sympy", "torch.distributed.tensor")])
results.append(np.compile(lambda x: np.scan(lambda sum, y: (sum * 0.5 + y, sum), x[0], x))(x)[1])
weighed = compile(lambda x: x.sum(axis=0) * x.shape[0])
results += [weighed(np.ones((n, 3))) for n in (4, 5, 6)]
compilers = {name for name in sys.modules if name in ("torch._inductor.compile_fx", "torch._inductor.graph")}
print(json.dumps([[result.tolist() for result in results], heavy, sorted(compilers), started]))
"""


def test_a_later_process_imports_no_compiler(tmp_path: Path) -> None:
    def run() -> Any:
        done = processes.run("-c", PROGRAM, TNP_CACHE_DIR=str(tmp_path / "cache"))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    values, heavy, compilers, _ = run()
    assert "torch._inductor" in heavy[1]
    assert compilers
    assert heavy[0] == []  # elementwise functions and those of small arrays need g++ alone
    entries = list((tmp_path / "cache").iterdir())
    assert len(entries) == 11  # the last function has one for its first size, and one for all others
    assert run() == [values, [[], []], [], []]
    assert len(list((tmp_path / "cache").iterdir())) == 11


# What decides the code is in the key.


def key(function: Callable[..., Any], *tensors: torch.Tensor, options: dict[str, Any] | None = None) -> str | None:
    graph = compiling.trace(lambda given: (function(*given),), list(tensors))
    return code_cache.key(graph, None, options)


def open_key(function: Callable[..., Any], tensor: torch.Tensor, other: torch.Tensor) -> str | None:
    """The key of a function whose argument leaves those sizes open in which two tensors differ."""
    sizes = symbolic.Sizes([tensor], [[tensor.shape], [other.shape]])
    return code_cache.key(compiling.trace(lambda given: (function(*given),), [tensor], sizes), None, None)


def branched(x: torch.Tensor, positive: float, other: float) -> torch.Tensor:
    return control_flow.cond(x.sum() > 0, lambda: [x + positive], lambda: [x + other])[0]


X = torch.ones(4)
HELD = torch.ones(4)
FUNCTIONS: dict[str, Callable[[], str | None]] = {
    "plain": lambda: key(lambda x: x + 2.0, X),
    "another constant": lambda: key(lambda x: x + 3.0, X),
    "the constant as an integer": lambda: key(lambda x: x + 2, X),
    "a zero": lambda: key(lambda x: x + 0.0, X),
    "the zero of another sign": lambda: key(lambda x: x + -0.0, X),
    "no number": lambda: key(lambda x: x + float("nan"), X),
    "another operation": lambda: key(lambda x: x - 2.0, X),
    "another dtype": lambda: key(lambda x: x + 2.0, X.double()),
    "another shape": lambda: key(lambda x: x + 2.0, torch.ones(2, 2)),
    "other strides": lambda: key(lambda x: x + 2.0, torch.ones(8)[::2]),
    "a write": lambda: key(lambda x: x.add_(2.0), X),
    "two inputs": lambda: key(lambda x, y: x + 2.0, X, X),
    "the other input": lambda: key(lambda x, y: y + 2.0, X, X),
    "a captured tensor": lambda: key(lambda x: x + HELD, X),
    "two views of one captured tensor": lambda: key(lambda x: x + HELD[1:].sum() + HELD.view(4), X),
    "a branch": lambda: key(lambda x: branched(x, 2.0, 3.0), X),
    "another branch": lambda: key(lambda x: branched(x, 2.0, 4.0), X),
    "the branches exchanged": lambda: key(lambda x: branched(x, 3.0, 2.0), X),
    "an open size": lambda: open_key(lambda x: x + 2.0, torch.ones(4, 5), torch.ones(6, 5)),
    "the other size open": lambda: open_key(lambda x: x + 2.0, torch.ones(4, 5), torch.ones(4, 6)),
    "both open": lambda: open_key(lambda x: x + 2.0, torch.ones(4, 5), torch.ones(5, 6)),
    "an open size as a number": lambda: open_key(lambda x: x * x.shape[0], torch.ones(4, 5), torch.ones(6, 5)),
    "its double": lambda: open_key(lambda x: x * (2 * x.shape[0]), torch.ones(4, 5), torch.ones(6, 5)),
    "an option": lambda: key(lambda x: x + 2.0, X, options={"cpp.threads": 1}),
    "another value of the option": lambda: key(lambda x: x + 2.0, X, options={"cpp.threads": 2}),
}


def test_each_graph_has_its_own_key() -> None:
    keys = {what: make() for what, make in FUNCTIONS.items()}
    assert None not in keys.values()
    assert len(set(keys.values())) == len(keys)
    assert {what: make() for what, make in FUNCTIONS.items()} == keys


def test_open_sizes_have_one_key_and_the_conditions_of_their_code() -> None:
    tensors = torch.ones(4, 5), torch.ones(6, 5), torch.ones(9, 5)
    assert len({open_key(lambda x: x * x.shape[0], each, tensors[0]) for each in tensors[1:]}) == 1
    sizes = symbolic.Sizes([tensors[0]], [[each.shape] for each in tensors])
    assert not sizes.suppose("L['t0'] > 4", [(0, 0)])
    assert sizes.hold_for([(3, 5)])
    assert sizes.suppose("L['t0'] < 7 and L['t0'] % 2 == 0", [(0, 0)])
    assert [n for n in range(2, 10) if sizes.hold_for([(n, 5)])] == [2, 4, 6]
    with pytest.raises(ValueError, match="conditions on sizes are none"):
        sizes.suppose("open('file')", [(0, 0)])


def test_a_loop_from_the_cache_raises_its_own_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        # An error of C++: one that Python raises is the program's own.
        torch.ops.aten._assert_async.msg(torch.tensor(False), "tnp.IndexError: index 9 is out of bounds")
        return tensors

    def loop(given: list[torch.Tensor]) -> list[torch.Tensor]:
        return control_flow.while_loop(lambda carried: carried[0].sum() < 9, lambda carried: [carried[0] + 1], given)

    monkeypatch.setattr(loop_programs, "program", lambda graph: None)
    monkeypatch.setattr(code_cache, "load", lambda name, sizes: fail)
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        compiling.Executable(compiling.trace(loop, [X])).program([X])([X])


def test_the_state_of_torch_is_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [FUNCTIONS["plain"]()]
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(before + 1)
        keys.append(FUNCTIONS["plain"]())
    finally:
        torch.set_num_threads(before)
    monkeypatch.setenv("TORCHINDUCTOR_MAX_AUTOTUNE", "1")
    keys.append(FUNCTIONS["plain"]())
    with torch._inductor.config.patch(max_fusion_size=2):
        keys.append(FUNCTIONS["plain"]())
    assert len(set(keys)) == 4


def test_a_setting_that_was_set_to_its_default_changes_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch's own tracing of loops does that."""
    monkeypatch.setattr(inductor, "_noted", [])
    with torch._inductor.config.patch(emulate_precision_casts=False):
        first = FUNCTIONS["plain"]()
    monkeypatch.setattr(inductor, "_noted", [])
    assert FUNCTIONS["plain"]() == first
    monkeypatch.setattr(inductor, "_noted", [])
    with torch._inductor.config.patch(emulate_precision_casts=True):
        assert FUNCTIONS["plain"]() != first


def inner(given: list[torch.Tensor]) -> list[torch.Tensor]:
    x, y = given
    y.add_(1)
    steps = control_flow.while_loop(
        lambda carried: carried[1].sum() < 9, lambda carried: [carried[0] * 0.5 + HELD.sum(), carried[1] + 1], [x, y[0]]
    )
    branch = control_flow.cond(x.sum() > 0, lambda: [x + 1.0], lambda: [x - float("-inf")])[0]
    return [steps[0], torch.sort(branch)[0].t(), x.max(dim=0)[0], torch.where(x > 0, x, -0.0), x[1:].to(torch.int64)]


def test_another_process_can_make_the_graph_again() -> None:
    form = graph_forms.form_of(compiling.trace(inner, [torch.ones(4, 4), torch.ones(3, dtype=torch.float64)]))
    again = graph_forms.form_of(compiling.remade(pickle.loads(pickle.dumps(form))))
    assert f"{again}" == f"{form}"


def test_what_has_no_name_has_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator()
    assert key(lambda x: x + torch.rand(4, generator=generator), X) is None
    assert key(lambda x: x + 2.0, X, options={"fx_graph_cache": False}) is None
    monkeypatch.setenv("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")
    assert FUNCTIONS["plain"]() is None


def test_marks_for_a_profiler_change_no_key() -> None:
    """torch.optim sets them around each step; without a key the step would be compiled in each process."""

    def marked(x: torch.Tensor) -> torch.Tensor:
        with torch.autograd.profiler.record_function("a step"):
            return x + 2.0

    assert key(marked, X) == FUNCTIONS["plain"]()


def test_an_operator_of_somebody_else_has_no_key() -> None:
    """Its code may be another in the next process."""
    library = torch.library.Library("theirs", "FRAGMENT")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
    torch.library.register_fake("theirs::twice", torch.empty_like, lib=library)
    assert key(lambda x: torch.ops.theirs.twice(x), X) is None


# The folder.

CODE = inductor_code.Code(
    "class Runner:\n def __init__(self, partitions): pass\n def call(self, args): return (torch.add(args[0], 1),)", {}
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, into which every program is put as `CODE`."""
    monkeypatch.setenv("TNP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(inductor_code, "taken_apart", lambda program: CODE)
    monkeypatch.setattr(code_cache, "_replaced", {})
    return tmp_path / "cache"


def store() -> bool:
    return code_cache.store("key", None, compiling.trace(lambda given: (given[0] + 1,), [X]))


def test_what_is_stored_is_loaded(folder: Path) -> None:
    assert code_cache.load("key") is None
    assert store() and store()  # as another process would
    program = code_cache.load("key")
    assert program is not None
    assert torch.equal(program([X])[0], X + 1)
    assert [path.name for path in folder.iterdir()] == ["key"]
    assert not folder.stat().st_mode & 0o077


@pytest.mark.parametrize("damage", [b"", b"{", b"class Runner: pass"])
@pytest.mark.parametrize("file", ["runner.py", "facts.json"])
def test_a_damaged_entry_is_made_anew(
    folder: Path, capsys: pytest.CaptureFixture[str], file: str, damage: bytes
) -> None:
    store()
    (folder / "key" / file).write_bytes(damage)
    assert code_cache.load("key") is None
    assert "is made anew" in capsys.readouterr().err
    assert store()
    assert code_cache.load("key") is not None


def test_where_the_folder_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any) -> Any:
        raise error

    for name in ("TNP_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert code_cache.folder() == tmp_path / ".cache" / "tnp"
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(code_cache._inductors_own()))  # as its import sets it
    assert code_cache.folder() == tmp_path / ".cache" / "tnp"
    error: Exception = RuntimeError("no home")
    monkeypatch.setattr(Path, "home", fail)
    assert code_cache.folder().name == f"tnp_{os.getuid()}"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert code_cache.folder() == tmp_path / "xdg" / "tnp"
    error = KeyError("no name")
    monkeypatch.setattr(getpass, "getuser", fail)
    code_cache._inductors_own.cache_clear()
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "inductor"))
    assert code_cache.folder() == tmp_path / "inductor" / "tnp"
    code_cache._inductors_own.cache_clear()
    monkeypatch.setenv("TNP_CACHE_DIR", str(tmp_path / "own"))
    assert code_cache.folder() == tmp_path / "own"


def test_a_folder_that_others_may_write_to_is_left_alone(folder: Path) -> None:
    store()
    folder.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="others may write to it") as warned:
        assert code_cache.load("key") is None
        assert store()
    assert [each.filename for each in warned] == [__file__]
    assert code_cache.load("key") is not None  # from the temporary folder


def test_a_folder_that_cannot_be_written_to(folder: Path) -> None:
    folder.write_text("a file")
    with pytest.warns(RuntimeWarning, match="can't be written to") as warned:
        assert store()
        assert store()
    assert len(warned) == 1
    assert code_cache.load("key") is not None  # from the temporary folder


def test_a_folder_that_cannot_be_written_to_is_still_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any, **keywords: Any) -> Any:
        raise OSError("the disk is full")

    store()
    make = tempfile.mkdtemp
    monkeypatch.setattr(tempfile, "mkdtemp", lambda **given: fail() if given.get("dir") == folder else make(**given))
    with pytest.warns(RuntimeWarning, match="the disk is full"):
        code_cache.keep("another", "", {}, [], 1)
    assert code_cache.load("key") is not None
    assert code_cache.kernels("another", dict) == {}


# Many processes.

SHARED = """
import json, os, signal, sys
import tnp as np

started = []
sys.addaudithook(lambda event, args: started.append(event) if event in ("subprocess.Popen", "os.fork") else None)
x = np.linspace(-1, 1, 12).reshape(3, 4)
results = [np.compile(lambda x: 1 / (1 + np.exp(-x)))(x), np.compile(lambda x: np.sin(x) * 0.5)(x)]
print(json.dumps([[result.tolist() for result in results], len(started)]))
"""


def process(place: Path, code: str) -> processes.Process:
    folders = {"TNP_CACHE_DIR": str(place / "tnp"), "TORCHINDUCTOR_CACHE_DIR": str(place / "inductor")}
    return processes.Process("-c", code, **folders)


def test_eight_processes_fill_one_cache(tmp_path: Path) -> None:
    found = []
    for each in [process(tmp_path, SHARED) for _ in range(8)]:
        out, err = each.communicate()
        assert each.returncode == 0, err
        assert "Warning" not in err
        found.append(json.loads(out)[0])
    assert all(each == found[0] for each in found)
    entries = sorted((tmp_path / "tnp").iterdir())
    assert len(entries) == 2
    for entry in entries:
        code_cache._checked(entry)
    later = process(tmp_path, SHARED)
    assert json.loads(later.communicate()[0]) == [found[0], 0]


KILLED = """
import os, pathlib, signal
import tnp as np
pathlib.Path.rename = lambda *names: os.kill(os.getpid(), signal.SIGKILL)
np.compile(lambda x: x * 2.5 + 1)(np.ones(3))
"""


def test_a_killed_process_leaves_no_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed = process(tmp_path, KILLED)
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    (left,) = (tmp_path / "tnp").iterdir()
    assert left.name.startswith("unfinished-")
    monkeypatch.setenv("TNP_CACHE_DIR", str(tmp_path / "tnp"))
    assert code_cache.entries() == []
    assert code_cache.prune(0, 0) == 0
    assert left.is_dir()  # it may be of a process that is at work
    hour = time.time() - 2 * code_cache._STALE
    os.utime(left, (hour, hour))
    code_cache.prune(0, 0)
    assert not left.exists()
