"""fn.package: machine code in files, run by a C++ program without Python, and by load_compiled where told to."""

from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch.utils import cpp_extension

import tnp as np

COMPILER = shutil.which(os.environ.get("CXX", "g++"))
SOURCE = Path(__file__).parents[3] / "examples" / "cpp" / "run.cpp"
WEIGHTS = np.asarray([1.0, 2.0, 3.0])

pytestmark = [pytest.mark.host, pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler here")]


def function(x: Any, pair: Any, *, scale: int) -> Any:
    hidden = np.tanh(x @ pair["m"]) * WEIGHTS
    return {"hidden": hidden, "sum": hidden.sum() * scale, "views": (x.T, hidden[1:])}, x, pair["n"] * 2


def arguments(factor: float = 1) -> Any:
    x = np.asarray(numpy.arange(6, dtype=numpy.float64).reshape(2, 3) * factor)
    matrix = np.asarray(numpy.linspace(-1, 1, 9).reshape(3, 3).T)  # columns one after the other
    return (x, {"m": matrix, "n": np.asarray(numpy.arange(3, dtype=numpy.int16))}), {"scale": 3}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("package") / "f.pt2"
    args, kwargs = arguments()
    np.compile(function).package(file, *args, **kwargs)
    return file


def test_a_program_in_cpp(path: Path, tmp_path: Path) -> None:
    assert COMPILER is not None
    program = tmp_path / "run"
    folders = cpp_extension.library_paths()
    command = [COMPILER, "-std=c++20", "-O0", str(SOURCE), "-o", str(program)]
    command += [f"-I{folder}" for folder in cpp_extension.include_paths()]
    command += [f"-L{folder}" for folder in folders] + [f"-Wl,-rpath,{folder}" for folder in folders]
    subprocess.run([*command, "-ltorch", "-ltorch_cpu", "-lc10"], check=True)
    needed = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
    assert "libtorch_cpu" in needed and "libpython" not in needed
    for factor in (1, -0.25):
        args, kwargs = arguments(factor)
        numbers = " ".join(str(number) for array in (args[0], *args[1].values()) for number in array.ravel().tolist())
        done = subprocess.run([program, path], input=numbers, capture_output=True, text=True, check=False, env={})
        assert done.returncode == 0, done.stderr
        (result, _, twice) = function(*args, **kwargs)
        expected = [result["hidden"], result["sum"], *result["views"], twice]
        lines = done.stdout.splitlines()
        assert len(lines) == len(expected)
        for line, array in zip(lines, expected, strict=True):
            shape, _, values = line.partition(":")
            assert shape == str(list(np.shape(array)))
            assert numpy.allclose([float(value) for value in values.split()], np.ravel(array).tolist(), 1e-14, 1e-15)
    done = subprocess.run([program, path], input="1 2", capture_output=True, text=True, check=False, env={})
    assert (done.returncode, done.stderr) == (1, "too few numbers for x\n")


def test_in_python(path: Path) -> None:
    loaded = np.load_compiled(path, native=True)
    for factor in (1, -0.25):
        args, kwargs = arguments(factor)
        args[1]["m"] = args[1]["m"].copy()  # laid out otherwise
        (result, same, twice), (expected, _, expected_twice) = loaded(*args, **kwargs), function(*args, **kwargs)
        assert same is args[0] and type(result["sum"]) is type(expected["sum"])
        assert numpy.allclose(np.asnumpy(result["hidden"]), np.asnumpy(expected["hidden"]), 1e-14, 1e-15)
        assert result["views"][0].tolist() == args[0].T.tolist()
        assert twice.tolist() == expected_twice.tolist() and twice.dtype == np.int16
    args, kwargs = arguments()
    with pytest.raises(ValueError, match=r"\[0\] has shape \(3, 3\) where \(2, 3\)"):
        loaded(args[1]["m"], args[1], **kwargs)
    with pytest.raises(TypeError, match=r"\[0\] is float32 where float64"):
        loaded(args[0].astype("f4"), args[1], **kwargs)
    with pytest.raises(NotImplementedError, match="no gradients"):
        loaded(np.asarray(torch.ones(2, 3, dtype=torch.float64, requires_grad=True)), args[1], **kwargs)
    with pytest.raises(NotImplementedError, match="can't be traced"):
        np.compile(loaded)(*args, **kwargs)
    with pytest.raises(TypeError, match="backend can't be chosen"):
        np.load_compiled(path, native=True, backend="eager")


def test_machine_code_runs_where_told_to_only(path: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="native=True"):
        np.load_compiled(path)
    saved = tmp_path / "saved.pt2"
    np.compile(lambda x: x + 1, backend="eager").save(saved, np.ones(2))
    with pytest.raises(ValueError, match="holds no machine code"):
        np.load_compiled(saved, native=True)
    (tmp_path / "cut.pt2").write_bytes(path.read_bytes()[:5000])
    with pytest.raises(ValueError, match="BadZipFile"):
        np.load_compiled(tmp_path / "cut.pt2", native=True)
    with pytest.raises(FileNotFoundError):
        np.load_compiled(tmp_path / "none.pt2", native=True)
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(tmp_path / "other.pt2", "w") as target:
        for name in source.namelist():  # what another system's compiler made
            target.writestr(name, b"nothing" if name.endswith(".so") else source.read(name))
    with pytest.raises(ValueError, match=r"can't load the code .* made by torch"):
        np.load_compiled(tmp_path / "other.pt2", native=True)


def test_what_can_not_be_packaged(tmp_path: Path) -> None:
    def writes(x: Any) -> Any:
        x += 1
        return x

    with pytest.raises(NotImplementedError, match="writes to its arguments"):
        np.compile(writes).package(tmp_path / "f.pt2", np.ones(2))
    with pytest.raises(NotImplementedError, match="draws random numbers"):
        np.compile(lambda x: x + np.random.random(2)).package(tmp_path / "f.pt2", np.ones(2))
    with pytest.raises(np.TracedValueError):  # NumPy's function needs the values
        np.compile(lambda x: x + numpy.unwrap(np.asnumpy(x))).package(tmp_path / "f.pt2", np.ones(2))
    with pytest.raises(ValueError, match=r"ends in \.pt2"):
        np.compile(lambda x: x + 1).package(tmp_path / "f.so", np.ones(2))
    with (
        torch._inductor.config.patch({"cpp.cxx": ("no-such-compiler",)}),
        pytest.raises(RuntimeError, match=r"can't be packaged: .*compiler"),
    ):
        np.compile(lambda x: x * 3.25 - 1).package(tmp_path / "f.pt2", np.ones(2))
    assert not list(tmp_path.iterdir())
