"""The drop-in: who gets tnp for ``import numpy``, what no tensor holds, and that programs run as with Python alone."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

import tnp
from backend_torch import native
from tests import processes
from tests.oracle import assert_same, outcome
from tests.tnp.array import test_subclass
from tnp._program import import_hook, library_adapters

ROOT = Path(__file__).parents[3]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``python -m tnp`` with these arguments in a folder."""
    return processes.run("-m", "tnp", *arguments, cwd=folder)


def started(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python with these arguments in a folder, from its start on."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True)


def same(folder: Path, *arguments: str, start: Any = run) -> subprocess.CompletedProcess[str]:
    """What ``python -m tnp`` and Python alone give: output, errors and exit status."""
    ours, theirs = start(folder, *arguments), started(folder, *arguments)
    assert (ours.stdout, ours.stderr, ours.returncode) == (theirs.stdout, theirs.stderr, theirs.returncode)
    return ours


# Who gets which.

WHO = """
import importlib
import numpy, numpy.linalg as la, numpy.lib.stride_tricks
import numpy as np
from numpy import zeros, linalg
from numpy.random import default_rng
from numpy.lib.stride_tricks import sliding_window_view
kinds = [numpy.zeros(1), np.zeros(1), zeros(1), la.inv(np.eye(1)), default_rng(0).random(1),
         __import__("numpy").ones(1), importlib.import_module("numpy").ones(1), sliding_window_view(np.arange(3), 2)]
print(__name__, {type(each).__module__ for each in kinds}, la is linalg is np.linalg is numpy.linalg)
"""


def test_every_spelling_in_every_module_of_the_users(tmp_path: Path) -> None:
    (tmp_path / "package" / "deep").mkdir(parents=True)
    (tmp_path / "package" / "__init__.py").write_text("from . import deep\n" + WHO)
    (tmp_path / "package" / "deep" / "__init__.py").write_text(WHO)
    (tmp_path / "beside.py").write_text(WHO)
    (tmp_path / "main.py").write_text("import beside, package\n" + WHO)
    lines = run(tmp_path, "main.py").stdout.splitlines()
    assert lines == [f"{name} {{'tnp'}} True" for name in ("beside", "package.deep", "package", "__main__")]


def test_libraries_keep_numpy(tmp_path: Path) -> None:
    library = tmp_path / "env" / "lib" / "site-packages" / "somelibrary"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text(WHO)
    (tmp_path / "main.py").write_text(
        "import sys\nsys.path.append('env/lib/site-packages')\nimport somelibrary\n"
        "import array_api_compat.numpy as library, tnp\n"
        "print(type(library.zeros(1)).__module__, type(tnp.asnumpy([1])).__module__)"
    )
    result = run(tmp_path, "main.py")
    assert result.stdout.splitlines() == ["somelibrary {'numpy'} True", "numpy numpy"], result.stderr


def test_numpy_itself_is_untouched(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(
        "import sys, numpy as np\nreal = sys.modules['numpy']\n"
        "print(real is np, np.__name__, type(real.zeros(1)) is np.ndarray)\n"
        "print(np.__version__ == real.__version__, sorted(np.__all__) == sorted(real.__all__), hasattr(np, 'compile'))"
    )
    assert run(tmp_path, "main.py").stdout.split() == ["False", "numpy", "False", "True", "True", "False"]


def test_names_that_numpy_has_not() -> None:
    with pytest.raises(AttributeError, match="module 'numpy' has no attribute 'compile'"):
        _ = import_hook.module("numpy").compile


def test_the_dictionary_of_names(np: Any) -> None:
    """Programs evaluate formulas in it, and wrap what is there."""
    module = import_hook.module.__wrapped__("numpy")
    assert set(vars(numpy)) <= set(vars(module))
    assert eval("sin(zeros(2)) + linalg.norm([3, 4])", vars(module)).tolist() == [5, 5]
    assert type(module.__dict__["zeros"](1)) is tnp.ndarray


# As with Python alone.


def test_the_programs_surroundings(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(
        "import os, sys\nimport numpy as np\n"
        "print(sys.argv, __name__, __file__, sys.path[0], __spec__, __package__, sys.modules['__main__'].np is np)\n"
        "print(sys.argv[0], os.path.basename(sys.executable), __doc__)\nsys.exit(int(sys.argv[1]))"
    )
    start = functools.partial(started, tmp_path, "-m", "tnp")
    assert same(tmp_path, "main.py", "3", "--report", "-m", start=lambda _, *words: start(*words)).returncode == 3
    assert same(tmp_path, str(tmp_path / "main.py"), "0").returncode == 0


@pytest.mark.parametrize(
    "end",
    [
        "1 / 0",
        "raise ValueError('no') from KeyError('k')",
        "sys.exit('words')",
        "assert np.zeros(1).sum(), 'text'",
        "os._exit(7)",
    ],
)
def test_how_it_ends(tmp_path: Path, end: str) -> None:
    (tmp_path / "main.py").write_text(f"import os, sys\nimport numpy as np\n\ndef f():\n    {end}\n\nf()\n")
    same(tmp_path, "main.py")


@pytest.mark.parametrize(
    "error", ["v @ np.zeros(5)", "v.reshape(4)", "v[7]", "v.transpose(0, 2)", "np.matvec(v, np.zeros(2))"]
)
def test_tracebacks_show_the_programs_lines(tmp_path: Path, error: str) -> None:
    """NumPy's compiled functions have no frames, nor have tnp's; nor does an error hide another one."""
    (tmp_path / "main.py").write_text(f"import numpy as np\n\ndef f(v):\n    return {error}\n\nf(np.zeros((2, 3)))\n")
    same(tmp_path, "main.py")


def test_numpys_functions_read_objects_of_the_programs(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(
        "import numpy as np\nclass V:\n    def __init__(self, v): self.v = np.array(v, dtype=float)\n"
        "    def __array__(self, dtype=None, copy=None): return self.v\n"
        "    def __rmul__(self, other): return 'reflected'\n"
        "v = V([1, 2])\nnp.testing.assert_allclose(v, [1, 2])\n"
        "print(np.float64(2) * v, np.float64(1) + v, np.asarray(v) is v.v, np.sum(v), np.array([v, v]))\n"
        "np.asarray(v)[0] = 5\nprint(v.v, np.mean(v), np.add(v, 1))\n"
    )
    same(tmp_path, "main.py")


def test_an_object_is_asked_once_for_its_array(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(
        "import numpy as np\nclass V:\n"
        "    def __array__(self, dtype=None, copy=None):\n        print('asked', dtype, copy)\n"
        "        return np.arange(3, dtype=dtype)\n"
        "class Old:\n    def __array__(self): return np.arange(3)\n"
        "class Wrong:\n    def __array__(self, dtype=None, copy=None): return 5\n"
        "v = V()\nprint(np.asarray(v), np.asarray(v, 'f4'), np.array(v, dtype=float), np.asanyarray(v))\n"
        "print(np.asarray(Old()), np.asarray(v, copy=False))\n"
        "for call in (lambda: np.asarray(Old(), float), lambda: np.asarray(Wrong())):\n"
        "    try: call()\n    except Exception as error: print(type(error), error)\n"
    )
    same(tmp_path, "main.py")


def test_an_object_whose_array_has_no_argument_copy(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(
        "import numpy as np, warnings\nwarnings.simplefilter('always')\nclass V:\n    array = np.arange(3)\n"
        "    def __array__(self, dtype=None):\n        print('asked', dtype)\n        return self.array\n"
        "v = V()\ncopy = np.array(v)\ncopy[0] = 5\nnp.asarray(v)[1] = 7\nprint(copy, v.array, np.array(v, 'i8'))\n"
        "try: np.array(v, copy=False)\nexcept ValueError as error: print(error)\n"
    )
    same(tmp_path, "main.py")


def test_a_syntax_error(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("x = 1\nif x\n")
    same(tmp_path, "main.py")


def test_an_excepthook_of_the_programs(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(
        "import sys, traceback\ndef hook(kind, error, tb):\n"
        "    print(kind.__name__, error, len(traceback.extract_tb(tb)))\n"
        "sys.excepthook = hook\n1 / 0\n"
    )
    assert same(tmp_path, "main.py").stdout == "ZeroDivisionError division by zero 1\n"


def test_a_module_with_relative_imports(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "helper.py").write_text("import numpy as np\nx = np.arange(3)\n")
    (package / "__main__.py").write_text(
        "import sys\nfrom .helper import x\nfrom . import helper\n"
        "print(x, sys.argv, __name__, __package__, __spec__.name, sys.path[0] == sys.argv[1])\n"
    )
    assert same(tmp_path, "-m", "package", str(tmp_path), "--device").stdout.startswith("[0 1 2]")
    assert same(tmp_path, "package/__main__.py").returncode == 1  # relative imports need the package, in both


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "part.py").write_text("import numpy as np\nx = np.ones(2)\n")
    (tmp_path / "app" / "__main__.py").write_text(
        "import sys\nfrom part import x\nprint(x, sys.argv, sys.path[0], __name__)\n"
    )
    same(tmp_path, "app", "1")


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_processes(tmp_path: Path, method: str) -> None:
    (tmp_path / "main.py").write_text(
        "import multiprocessing, sys\nimport numpy as np\n\n"
        "def work(x):\n    return type(np.zeros(1)).__module__, type(x).__module__, float((x * 2).sum())\n\n"
        f"if __name__ == '__main__':\n    with multiprocessing.get_context('{method}').Pool(1) as pool:\n"
        "        print(pool.map(work, [np.arange(3.0), np.ones(2)]))\n"
    )
    result = started(tmp_path, "-m", "tnp", "main.py")
    assert result.stdout == "[('tnp', 'tnp', 6.0), ('tnp', 'tnp', 4.0)]\n", result.stderr


def test_no_program(tmp_path: Path) -> None:
    assert run(tmp_path).returncode == 2
    assert "can't open file" in run(tmp_path, "absent.py").stderr
    assert run(tmp_path, "-m", "absent_module").returncode == 1


# What no tensor holds.


@pytest.fixture
def np() -> Any:
    """What a program has for ``numpy``."""
    import_hook.install([])
    yield import_hook.module("numpy")
    import_hook.remove()


def test_the_class_of_arrays(np: Any) -> None:
    x = np.zeros(3)
    assert isinstance(x, np.ndarray) and isinstance(np.array(["a"]), np.ndarray)
    assert not isinstance(x.sum(), np.ndarray) and not isinstance([1], np.ndarray)
    assert type(x) == np.ndarray and issubclass(type(x), np.ndarray) and issubclass(numpy.ndarray, np.ndarray)  # noqa: E721
    assert type(np.broadcast_to(x, (2, 3))) == np.ndarray and type(x.sum()) != np.ndarray  # noqa: E721
    assert type(x[::-1]) == np.ndarray  # noqa: E721
    assert type(np.ndarray((2,), dtype=object)) is numpy.ndarray and type(np.ndarray((2,))) is tnp.ndarray
    assert np.ndarray.sum(x) == 0


def test_arrays_over_files(np: Any, tmp_path: Path) -> None:
    file = tmp_path / "x.bin"
    x = np.memmap(file, dtype=float, mode="w+", shape=(2, 3))
    x[:] = np.arange(6.0).reshape(2, 3)
    x[1] *= np.ones(3) * 2
    x.flush()
    assert numpy.fromfile(file).tolist() == [0, 1, 2, 6, 8, 10]
    y = np.memmap(file, dtype=float, mode="r", offset=8)
    assert isinstance(y, np.memmap) and isinstance(y, np.ndarray) and y.mode == "r" and y.filename.name == "x.bin"
    assert type(np.sqrt(y)) is type(y[1:] + np.ones(4)) is tnp.ndarray and np.sum(y) == y.sum() == 27


def test_names_of_blocks_are_the_programs(np: Any) -> None:
    m = np.asmatrix("1 2; 3 4")
    assert np.bmat("m, m").tolist() == np.r_["m, m"].tolist() == [[1, 2, 1, 2], [3, 4, 3, 4]], m


@pytest.mark.host
def test_what_a_library_is_given(np: Any) -> None:
    x = np.arange(3)
    mask, number, row, table = library_adapters.numpys(((x > 1), x[1], [x, "a"], {"a": x.sum()}))
    assert (
        type(mask) is numpy.ndarray
        and type(number) is type(table["a"]) is numpy.int64
        and type(row[0]) is numpy.ndarray
    )
    assert (
        library_adapters.numpys(np.sqrt) is numpy.sqrt
        and type(library_adapters.numpys(lambda: x.sum())()) is numpy.int64
    )
    assert library_adapters.numpys(np.mean).__name__ == "mean"
    assert isinstance(part := library_adapters.numpys(functools.partial(np.sum, axis=0)), functools.partial)
    assert type(part(x)) is numpy.int64 and part.func.__name__ == "sum"
    unchanged = [1, "a", (2, None), test_what_a_library_is_given]
    assert library_adapters.numpys(unchanged, calls=False) is unchanged
    mask[0] = True
    shared = library_adapters.numpys(x)
    shared[0] = 7
    assert x[0] == 7


DERIVED = """
import abc, pickle, copy
import numpy as np

class Quantity(np.ndarray):
    def __new__(cls, values, unit):
        made = np.asarray(values).view(cls)
        made.unit = unit
        return made

    def __array_finalize__(self, source):
        self.unit = getattr(source, "unit", None)

    def __array_function__(self, function, types, args, kwargs):
        if function in (np.concatenate, np.linalg.norm):
            print("called with", args, kwargs)
        return super().__array_function__(function, types, args, kwargs)

class Base(abc.ABC):
    @abc.abstractmethod
    def double(self): ...

class Both(np.ndarray, Base):
    def double(self):
        return self * 2

x = Quantity([3.0, 4.0], "m")
for y in (x + 1, np.sin(x), x[1:], x.sum(), x.view(np.ndarray), np.asarray(x), np.concat([x, x]), np.linalg.norm(x),
          np.median(x), np.lib.stride_tricks.sliding_window_view(x, 2), copy.copy(x), pickle.loads(pickle.dumps(x)),
          np.ndarray.__new__(Quantity, (2,), float, np.ones(2))):
    print(isinstance(y, Quantity), isinstance(y, np.ndarray), getattr(y, "unit", None), y)
print(isinstance(x, np.ndarray), issubclass(Quantity, np.ndarray), issubclass(np.ndarray, Quantity), x.base is None)
print(type(x.view(np.ndarray)) == np.ndarray, isinstance(Quantity, type))
print(type("Made", (np.ndarray,), {}).__mro__[-1])
print(Both((2,)).view(np.ndarray).shape, np.ones(2).view(Both).double(), isinstance(np.ones(1).view(Both), Base))
print(np.concat is np.concatenate, np.permute_dims is np.transpose)
"""


@pytest.mark.parametrize("options", [(), ("--report",)])
def test_classes_derived_from_its_class_of_arrays(tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "main.py").write_text(DERIVED)
    ours, theirs = run(tmp_path, *options, "main.py"), started(tmp_path, "main.py")
    assert theirs.returncode == 0 and ours.stdout == theirs.stdout, ours.stderr


@pytest.mark.parametrize("name", test_subclass.CALLS)
def test_what_is_of_a_derived_class_and_what_is_not(np: Any, name: str) -> None:
    def call(xp: Any) -> Any:
        return test_subclass.seen(test_subclass.CALLS[name](xp, test_subclass.quantity(xp)([1.0, 2.0, 3.0], "m")))

    assert_same(outcome(call, numpy), outcome(call, np))


def test_functions_are_pickled_by_where_they_are() -> None:
    import pickle

    np = import_hook.module("numpy")
    for function in (np.zeros, np.linalg.norm, np.exp, np.fft.fft):
        assert pickle.loads(pickle.dumps(function)) == function


def test_off_is_off() -> None:
    import builtins
    import importlib

    before = builtins.__import__, importlib.import_module
    import_hook.install([])
    import_hook.install([])
    assert builtins.__import__ is not before[0]
    import_hook.remove()
    assert (builtins.__import__, importlib.import_module) == before


# --report, --device, notebooks.


def test_the_report(tmp_path: Path) -> None:
    pytest.importorskip("rich")
    (tmp_path / "main.py").write_text(
        "import numpy as np\nx = np.random.default_rng(0).random(5)\n"
        "for _ in range(4):\n    y = np.sin(x) + 1\nnames = np.sort(np.array(['b', 'a']))\nprint(y.shape)\n1 / 0\n"
    )
    plain, told = run(tmp_path, "main.py"), run(tmp_path, "--report", "main.py")
    assert (told.stdout, told.returncode) == (plain.stdout, plain.returncode) == ("(5,)\n", 1)
    assert told.stderr.startswith(plain.stderr)
    lines = [" ".join(line.split()) for line in told.stderr.splitlines()]

    def row(name: str) -> str:
        return next(line for line in lines if line.startswith(name + " "))

    assert row("numpy.sin").startswith("numpy.sin torch 4 ") and row("numpy.sin").endswith("main.py:4 x4")
    assert row("ndarray.__add__").startswith("ndarray.__add__ torch 4 ")
    assert row("numpy.random.random").startswith("numpy.random.random host: NumPy's random stream 1 ")
    assert row("numpy.sort").startswith("numpy.sort host: no tensor holds the data 1 ")


def test_nothing_is_counted_unless_asked(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(
        "import sys, numpy as np\nnp.zeros(1) + 1\nprint('tnp._program.report' in sys.modules)\n"
    )
    assert run(tmp_path, "main.py").stdout == "False\n"


def test_the_device(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(
        "import numpy as np\nx = np.zeros((3, 4)) + np.arange(4.0)\nprint((x @ x.T).shape, x.device)\n"
    )
    assert run(tmp_path, "--device", "meta", "main.py").stdout == "(3, 3) meta\n"
    assert run(tmp_path, "--device=meta", "main.py").stdout == "(3, 3) meta\n"
    (tmp_path / "fields.py").write_text(
        "import numpy as np\nrows = np.zeros(3, [('a', float), ('b', 'U3')])\nx = np.arange(3.0)\n"
        "print({each.device for each in (x * rows['a'], rows['a'] * x, np.histogram2d(rows['a'], x, [x, x])[0])})\n"
    )
    assert run(tmp_path, "--device", "meta", "fields.py").stdout == "{device(type='meta')}\n"


def test_a_notebook() -> None:
    shells = pytest.importorskip("IPython.core.interactiveshell")
    shell = shells.InteractiveShell.instance()
    try:
        shell.run_line_magic("load_ext", "tnp")
        shell.run_cell(
            "import numpy as np; kind = type(np.zeros(1)).__module__; names = type(np.array(['a'])).__module__"
        )
        assert (shell.user_ns["kind"], shell.user_ns["names"]) == ("tnp", "numpy")
        shell.run_line_magic("unload_ext", "tnp")
        shell.run_cell("import numpy as np; kind = type(np.zeros(1)).__module__")
        assert shell.user_ns["kind"] == "numpy"
    finally:
        import_hook.remove()
        shells.InteractiveShell.clear_instance()


def test_scalars_are_floats_to_c(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import json, numpy as np\n"
        "s = np.arange(4.0).mean()\n"
        "print(json.dumps({'mean': s}), float.hex(s), isinstance(s, np.float64), isinstance(s, np.ndarray))\n"
    )
    done = run(tmp_path, "script.py") if native.state == "on" else started(tmp_path, "script.py")
    assert done.stdout == '{"mean": 1.5} 0x1.8000000000000p+0 True False\n', done.stderr


OF_EITHER = """
import pickle
import numpy as np

class Mixed:
    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return {np.add: "add", np.matmul: "matmul", np.negative: "negative"}.get(ufunc, NotImplemented)

    def __array_function__(self, function, types, args, kwargs):
        return "sum" if function is np.sum else "svd" if function is np.linalg.svd else NotImplemented

class Vectors(Mixed, np.ndarray):
    def __getitem__(self, where):
        found = np.ndarray.__getitem__(self, where)
        return ("one", found.tolist()) if isinstance(found, np.void) else found

v = np.array([(1.0, 2.0), (3.0, 4.0)], [("x", "f8"), ("y", "f8")]).view(Vectors)
print(v + v, v @ v, -v, np.sum(v), np.linalg.svd(v), v[1], v["x"], v[:1].tolist())
numbers = np.arange(3.0).view(Vectors)
print(numbers + numbers, -numbers, np.sum(numbers), np.linalg.svd(numbers), np.ndarray.tolist(numbers))
print(np.ndarray.tolist(np.array(["a", "b"])), np.ndarray.reshape(np.arange(4), (2, 2)).tolist())
print(isinstance(pickle.loads(pickle.dumps(np.zeros(1))), pickle.loads(pickle.dumps(np.ndarray))))
"""


def test_a_class_knows_functions_by_themselves_or_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(
        "import numpy as np\nclass Named:\n    def __array_function__(self, function, types, args, kwargs):\n"
        "        known = function is np.pad or (function.__module__, function.__name__) == ('numpy', 'where')\n"
        "        return sorted(kwargs) if known else NotImplemented\n"
        "print(np.where([True], Named(), 1), np.pad(Named(), 1, constant_values=2))\n"
        "try: np.dot(Named(), 1)\nexcept TypeError as error: print(error)\n"
    )
    same(tmp_path, "main.py")


def test_classes_of_numbers_and_structures_know_the_programs_functions(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(OF_EITHER)
    same(tmp_path, "main.py")


def test_a_matrix_of_numpys_becomes_one_of_the_programs(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(
        "import numpy as np, pickle, warnings\nwarnings.simplefilter('ignore')\n"
        "m = np.matrix(np.array([[1, None]], dtype=object))\nm[0, 1] = 2\n"
        "n = m.astype(float)\nprint(isinstance(n, np.matrix), n.view(np.matrix) * np.array([[1.0], [2.0]]), n.T @ n)\n"
        "print(repr(np.vectorize(float)(m)), np.array_equal(n, [[1, 2]]), np.linalg.norm(n), n + np.ones(2))\n"
    )
    same(tmp_path, "main.py")
