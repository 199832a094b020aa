"""Arrays over files: what is written to the array is written to the file.

Layer: owns ``numpy.memmap``. The class derives from ndarray as a program's own classes do; NumPy maps the file.
"""
# mypy: disable-error-code="misc"

from __future__ import annotations

from typing import Any

import numpy as np

from backend_torch.tensors import memory
from backend_torch.tensors.dtypes import to_torch
from tnp._array.host_classes import Derived
from tnp._core.base import ndarray, strided, subclass
from tnp._core.convert import asarray
from tnp._core.derived_classes import of_class, plain
from tnp._io import files


class memmap(subclass, metaclass=Derived):
    """A file mapped into memory, as an array: what is written to the one is written to the other.

    Parameters
    ----------
    filename : str, path or file
    dtype : dtype_like, optional
        Of data that no tensor holds, such as structures, and of unaligned data the result is NumPy's own ``memmap``.
    mode : {'r+', 'c', 'w+', 'r'}, optional
        Read and write, write to memory only, make a new file, or read.
    offset : int, optional
        Where the array begins, in bytes.
    shape : int or tuple of int, optional
        By default as many elements as there are.
    order : {'C', 'F'}, optional

    Attributes
    ----------
    filename : path or str
    offset : int
        In bytes.
    mode : str

    Raises
    ------
    ValueError
        The mode is none of those, or a new file has no shape.

    Notes
    -----
    Slices are of this class, and results that are not in the file are plain arrays. Differences from NumPy: a slice
    with a negative step is a plain array, too.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.memmap.html

    Examples
    --------
    >>> import tempfile, tnp as np
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     x = np.memmap(file.name, np.float64, "w+", shape=(2, 2))
    ...     x[0] = 1
    ...     x.flush()
    ...     np.fromfile(file.name)
    array([1., 1., 0., 0.])
    """

    __module__ = "tnp"
    __array_priority__ = -100.0
    _mmap: Any = None
    filename: Any = None
    offset: Any = None
    mode: Any = None

    def __new__(
        cls,
        filename: Any,
        dtype: Any = np.uint8,
        mode: Any = "r+",
        offset: int = 0,
        shape: Any = None,
        order: Any = "C",
    ) -> memmap:
        mapped: Any = np.memmap(filename, dtype, mode, offset, shape, order)
        return _over(mapped, cls)

    def _take(self, source: Any) -> None:
        self._mmap, self.filename, self.offset, self.mode = source._mmap, source.filename, source.offset, source.mode

    def __array_finalize__(self, source: Any, /) -> None:
        if getattr(source, "_mmap", None) is not None and memory.same_storage(self.tensor, source.tensor):
            self._take(source)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Return a result, which is not in the file, as a plain array."""
        found = plain(array) if isinstance(array, ndarray) and array is not self else array
        return found[()] if return_scalar else found

    def __getitem__(self, key: Any) -> Any:
        found = plain(self)[key]
        is_view = type(found) is not strided and memory.same_storage(found.tensor, self.tensor)
        return of_class(self, found) if is_view else found

    def flush(self) -> None:
        """Write to the file what was written to the array."""
        if self._mmap is not None:
            self._mmap.flush()


def _over(mapped: Any, cls: Any = memmap) -> Any:
    """Return an array over NumPy's map of a file; the map itself where no tensor can lie over the memory."""
    if mapped.dtype not in to_torch or not mapped.flags.aligned:
        return mapped
    made: Any = asarray(mapped).view(cls)
    made._take(mapped)
    return made


memmap._of_host = np.memmap
files.READ[np.memmap] = _over
