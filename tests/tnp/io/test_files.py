"""Files are NumPy's, byte for byte, and read as arrays of ours."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tnp
from tests.oracle import ALL, agrees, compare, sample


@pytest.mark.parametrize("dtype", ALL)
@agrees
def test_save(xp: Any, dtype: str) -> Any:
    file = io.BytesIO()
    xp.save(file, sample(xp, (2, 3), dtype))
    file.seek(0)
    return file.getvalue(), xp.load(file)


@pytest.mark.parametrize("name", ["savez", "savez_compressed"])
def test_savez(name: str) -> None:
    def saved(xp: Any) -> Any:
        file = io.BytesIO()
        getattr(xp, name)(file, xp.arange(3), b=xp.ones((2, 2)))
        file.seek(0)
        with xp.load(file) as loaded:
            return sorted(loaded), len(loaded), loaded["arr_0"], loaded["b"], loaded.files, "b" in loaded, repr(loaded)

    compare(saved)


def test_objects_are_loaded_on_demand(tmp_path: Path) -> None:
    path = tmp_path / "objects.npy"
    tnp.save(path, np.array([{}], object))
    with pytest.raises(ValueError, match="allow_pickle"):
        tnp.load(path)
    assert tnp.load(path, allow_pickle=True).tolist() == [{}]
    with pytest.raises(ValueError, match="allow_pickle"):
        tnp.save(path, [{}], allow_pickle=False)


@pytest.mark.parametrize("mode", ["r+", "c", "r", "w+"])
def test_memmap(tmp_path: Path, mode: str) -> None:
    def mapped(xp: Any) -> Any:
        path = tmp_path / f"{xp.__name__}.bin"
        np.arange(6.0).tofile(path)
        x = xp.memmap(path, float, mode, 16, (2,))
        first = xp.asarray(x).copy()
        if mode != "r":
            x[1] = -1
        del x
        return first, xp.fromfile(path)

    expected, (first, written) = mapped(np), mapped(tnp)
    np.testing.assert_array_equal(np.asarray(first), expected[0])
    np.testing.assert_array_equal(np.asarray(written), expected[1])


@pytest.mark.parametrize("mode", ["c", "r+", "r"])
def test_a_memmap_of_unaligned_data_is_written_to(tmp_path: Path, mode: str) -> None:
    def run(xp: Any) -> Any:
        path = tmp_path / xp.__name__
        path.write_bytes(bytes(9) + np.arange(6, dtype="i4").tobytes())
        x = xp.memmap(path, "i4", mode, 9, (2, 3))
        if mode != "r":
            x[0] = 7
            x[1:] += 1
            x.flush()
        return isinstance(x, xp.memmap), x.flags.writeable, xp.asarray(x), xp.sum(x), xp.fromfile(path, "i4", offset=9)

    compare(run)


@pytest.mark.host
@agrees
def test_a_map_of_a_file_is_of_its_class(xp: Any, tmp_path: Path) -> Any:
    path = tmp_path / "x.bin"
    x = xp.memmap(path, dtype="f4", mode="w+", shape=(3, 4))
    x[:] = xp.arange(12.0).reshape(3, 4)
    x[1:][0] *= 2
    x[::-1][0, 0] = 50
    x.flush()
    rows = x[1:]
    rows[1, 1] = 60
    rows.flush()
    kinds = [y.__class__.__name__ for y in (x, rows, x.T, x + 1, x[[0, 1]], x[0, 0], xp.sqrt(x), xp.sort(x), x.sum(0))]
    said = [(y.mode, y.offset, y.filename.name) for y in (x, rows)]
    copies = [isinstance(y, xp.memmap) for y in (x, rows, x + 1, xp.asarray(x), xp.ones(2))]
    xp.save(tmp_path / "x.npy", xp.arange(3))
    y = xp.load(tmp_path / "x.npy", mmap_mode="r")
    kinds += [y.__class__.__name__, y.mode, y.flags.writeable, isinstance(y, xp.memmap)]
    words = xp.memmap(path, dtype="S4", mode="r")
    return kinds, said, copies, isinstance(words, xp.memmap), words.shape, x.sum(), xp.fromfile(path, "f4")


def test_load_maps_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    tnp.save(path, tnp.zeros(3))
    x = tnp.load(path, mmap_mode="r+")
    x[1] = 5
    del x
    assert tnp.load(path).tolist() == [0, 5, 0]


@agrees
def test_text(xp: Any) -> Any:
    file = io.StringIO()
    xp.savetxt(file, xp.asarray([[1.5, 2.0], [3.0, 4.25]]), delimiter=",", header="a,b", fmt="%.3f")
    text = file.getvalue()
    return [
        text,
        xp.loadtxt(io.StringIO(text), delimiter=","),
        xp.loadtxt(io.StringIO("1 2\n3 4"), dtype=int, unpack=True, ndmin=2),
        xp.genfromtxt(io.StringIO("1,,3\n4,5,"), delimiter=",", filling_values=-1),
        xp.genfromtxt(io.StringIO("1 2\n3 4"), dtype=int, usecols=1),
    ]


@pytest.mark.parametrize("sep", ["", " "])
def test_fromfile(tmp_path: Path, sep: str) -> None:
    path = tmp_path / "numbers"
    np.arange(5, dtype="int32").tofile(path, sep)
    compare(lambda xp: xp.fromfile(path, "int32", 3, sep))
    compare(lambda xp: xp.fromfile(path, "int32", -1, sep))


@agrees
def test_what_no_tensor_holds(xp: Any) -> Any:
    masked = xp.genfromtxt(io.StringIO("1,,3"), delimiter=",", usemask=True)
    return type(masked), masked.tolist(), xp.loadtxt(io.StringIO("a"), dtype=str)
