"""The wheel and the sdist: their contents, and a program that runs from the wheel in a new environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import tnp

ROOT = Path(__file__).parent.parent
SMOKE = """
import tnp, tnp as np
assert tnp.__file__.startswith(PREFIX), tnp.__file__
x = np.arange(6.0).reshape(2, 3)
assert (x @ x.T).tolist() == [[5.0, 14.0], [14.0, 50.0]]
assert np.linalg.norm(np.fft.fft(np.ones(4))) == 4 and np.random.default_rng(0).random() == 0.6369616873214543
assert float(np.grad(lambda x: np.sum(x**2))(np.ones(3)).sum()) == 6
print(tnp.show_config("dicts")["tnp"]["version"], tnp.__file__.startswith(PREFIX))
"""


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command that must succeed, without the checkout on its path; return its output."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the wheel and the sdist, built from a copy of the sources without a network."""
    pytest.importorskip("setuptools", minversion="77")
    folder = tmp_path_factory.mktemp("distribution")
    source = folder / "source"
    source.mkdir()
    for name in ("tnp", "backend_torch", "tests", "bench"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "results"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    script = "import setuptools.build_meta as b, sys; to = sys.argv[1]; b.build_wheel(to); b.build_sdist(to)"
    run(sys.executable, "-c", script, folder / "dist", cwd=source)
    return folder / "dist"


def test_the_wheel_has_both_packages_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    assert wheel.name == f"tnp-{tnp.__version__}-py3-none-any.whl"
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names} == {"tnp", "backend_torch", f"tnp-{tnp.__version__}.dist-info"}
    sources = {
        str(path.relative_to(ROOT)) for package in ("tnp", "backend_torch") for path in (ROOT / package).rglob("*.py")
    }
    assert sources <= set(names) and {"tnp/py.typed", "backend_torch/py.typed"} <= set(names)


def test_the_sdist_has_what_the_wheel_is_built_from(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "tnp/py.typed", "tnp/__main__.py"} <= names


def test_the_wheel_runs_where_it_is_installed(built: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False, symlinks=True)
    python = environment / "bin" / "python"
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip())
    (wheel,) = built.glob("*.whl")
    install = ["install", "--quiet", "--no-deps", "--no-index", "--target", site, wheel]
    run(sys.executable, "-m", "pip", *install, cwd=tmp_path)
    # Only the dependencies come from the tests' environment: its folder is the last of the path, after the wheel's.
    import torch

    (site / "dependencies.pth").write_text(str(Path(torch.__file__).parent.parent) + "\n")
    smoke = SMOKE.replace("PREFIX", repr(str(environment)))
    assert run(python, "-c", smoke, cwd=tmp_path) == f"{tnp.__version__} True\n"
    program = ROOT / "examples" / "programs" / "sieve.py"
    assert run(python, "-m", "tnp", program, cwd=tmp_path) == run(python, program, cwd=tmp_path)
