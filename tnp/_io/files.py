"""Files: arrays written and read as NumPy does, byte for byte.

Layer: owns nothing of the formats. NumPy reads and writes on the host, through shared memory; results are arrays of
ours. An array on an accelerator is copied to the host, which a log of transfers shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from backend_torch.tensors.dtypes import to_torch
from tnp._core.base import ndarray
from tnp._core.convert import asarray, asnumpy, check_like
from tnp._core.errors import call


def _host(value: Any) -> Any:
    """An array of ours as NumPy's, over the same memory on the host; other values as they are."""
    return asnumpy(value) if isinstance(value, ndarray) else value


def save(file: Any, arr: Any, allow_pickle: bool = True) -> None:
    """Write an array to a ``.npy`` file.

    Parameters
    ----------
    file : str, path or file
    arr : array_like
    allow_pickle : bool, default True
        Whether arrays of objects may be written, which are NumPy's.

    Notes
    -----
    Computed on the host.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.save.html

    Examples
    --------
    >>> import io, tnp as np
    >>> file = io.BytesIO()
    >>> np.save(file, np.arange(3))
    >>> _ = file.seek(0)
    >>> np.load(file)
    array([0, 1, 2])
    """
    call(np.save, file, _host(arr), allow_pickle)


def savez(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Write several arrays to an ``.npz`` file.

    Parameters
    ----------
    file : str, path or file
    *args, **kwds : array_like
        The arrays, by the names arr_0, arr_1 and so on, or their own.
    allow_pickle : bool, default True

    Notes
    -----
    Computed on the host.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.savez.html

    Examples
    --------
    >>> import io, tnp as np
    >>> file = io.BytesIO()
    >>> np.savez(file, np.arange(2), x=np.ones(2))
    >>> _ = file.seek(0)
    >>> sorted(np.load(file))
    ['arr_0', 'x']
    """
    np.savez(file, *map(_host, args), allow_pickle=allow_pickle, **{name: _host(each) for name, each in kwds.items()})


def savez_compressed(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Write several arrays to a compressed ``.npz`` file.

    Parameters
    ----------
    file : str, path or file
    *args, **kwds : array_like
        The arrays, by the names arr_0, arr_1 and so on, or their own.
    allow_pickle : bool, default True

    Notes
    -----
    Computed on the host.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.savez_compressed.html

    Examples
    --------
    >>> import io, tnp as np
    >>> file = io.BytesIO()
    >>> np.savez_compressed(file, x=np.ones(2))
    >>> _ = file.seek(0)
    >>> np.load(file)["x"]
    array([1., 1.])
    """
    np.savez_compressed(
        file, *map(_host, args), allow_pickle=allow_pickle, **{name: _host(each) for name, each in kwds.items()}
    )


READ: dict[type, Any] = {np.ndarray: asarray}
"""NumPy's class of what is read -> what makes our array of it."""


class NpzFile(Mapping[str, Any]):
    """The arrays of an ``.npz`` file by their names, read when they are asked for.

    Parameters
    ----------
    file : numpy.lib.npyio.NpzFile
    """

    __slots__ = ("_file",)

    def __init__(self, file: Any) -> None:
        self._file = file

    @property
    def files(self) -> list[str]:
        """The names."""
        return self._file.files

    def __getitem__(self, key: str) -> Any:
        return _ours(self._file[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._file)

    def __len__(self) -> int:
        return len(self._file)

    def __repr__(self) -> str:
        return repr(self._file)

    def __enter__(self) -> NpzFile:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _ours(value: Any) -> Any:
    """NumPy's plain array of numbers as ours, over the same memory where that can be; anything else stays."""
    return READ[type(value)](value) if type(value) in READ and value.dtype in to_torch else value


def load(
    file: Any,
    mmap_mode: Any = None,
    allow_pickle: bool = False,
    fix_imports: bool = True,
    encoding: Any = "ASCII",
    *,
    max_header_size: int = 10000,
) -> Any:
    """Read what ``save``, ``savez`` or ``savez_compressed`` wrote.

    Parameters
    ----------
    file : str, path or file
    mmap_mode : {None, 'r+', 'c', 'r', 'w+'}, optional
        Map the file into memory; what is written goes there with 'r+' and 'w+'.
    allow_pickle, fix_imports, encoding, max_header_size
        As in NumPy.

    Returns
    -------
    ndarray or NpzFile

    Raises
    ------
    TypeError
        The file holds no numbers.
    ValueError
        The file would have to be unpickled, or is none.

    Notes
    -----
    Computed on the host.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.load.html

    Examples
    --------
    >>> import io, tnp as np
    >>> file = io.BytesIO()
    >>> np.save(file, np.arange(3))
    >>> _ = file.seek(0)
    >>> np.load(file)
    array([0, 1, 2])
    """
    loaded = np.load(file, mmap_mode, allow_pickle, fix_imports, encoding, max_header_size=max_header_size)
    return NpzFile(loaded) if isinstance(loaded, Mapping) else _ours(loaded)


def fromfile(
    file: Any, dtype: Any = None, count: int = -1, sep: str = "", offset: int = 0, *, like: Any = None
) -> ndarray:
    """Read an array from a file of bytes or of text.

    Parameters
    ----------
    file : str, path or file
    dtype : dtype_like, optional
    count : int, optional
        The number of elements; all by default.
    sep : str, optional
        The separator between elements of a text file.
    offset : int, optional
        The byte at which to begin.
    like : ndarray, optional
        Only tnp arrays.

    Returns
    -------
    ndarray

    Notes
    -----
    Computed on the host.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.fromfile.html

    Examples
    --------
    >>> import tempfile, tnp as np
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     np.arange(3.0).tofile(file.name)
    ...     x = np.fromfile(file.name)
    >>> x
    array([0., 1., 2.])
    """
    check_like(like)
    return _ours(call(np.fromfile, file, float if dtype is None else dtype, count, sep, offset))


def savetxt(
    fname: Any,
    X: Any,
    fmt: Any = "%.18e",
    delimiter: str = " ",
    newline: str = "\n",
    header: str = "",
    footer: str = "",
    comments: str = "# ",
    encoding: Any = None,
) -> None:
    """Write an array of one or two dimensions to a file of text.

    Parameters
    ----------
    fname, fmt, delimiter, newline, header, footer, comments, encoding
        As in NumPy.
    X : array_like

    Notes
    -----
    Computed on the host.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.savetxt.html

    Examples
    --------
    >>> import io, tnp as np
    >>> file = io.StringIO()
    >>> np.savetxt(file, [[1, 2], [3, 4]], fmt="%d")
    >>> file.getvalue()
    '1 2\\n3 4\\n'
    """
    np.savetxt(fname, _host(X), fmt, delimiter, newline, header, footer, comments, encoding)


def loadtxt(
    fname: Any,
    dtype: Any = float,
    comments: Any = "#",
    delimiter: Any = None,
    converters: Any = None,
    skiprows: int = 0,
    usecols: Any = None,
    unpack: bool = False,
    ndmin: Any = 0,
    encoding: Any = None,
    max_rows: Any = None,
    *,
    quotechar: Any = None,
    like: Any = None,
) -> ndarray:
    """Read an array from a file of text.

    Parameters
    ----------
    fname, dtype, comments, delimiter, converters, skiprows, usecols, unpack, ndmin, encoding, max_rows, quotechar
        As in NumPy.
    like : ndarray, optional
        Only tnp arrays.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        A text is no number, or rows differ in length.

    Notes
    -----
    Computed on the host.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.loadtxt.html

    Examples
    --------
    >>> import io, tnp as np
    >>> np.loadtxt(io.StringIO("1 2\\n3 4"))
    array([[1., 2.],
           [3., 4.]])
    """
    check_like(like)
    given = (
        fname, dtype, comments, delimiter, converters, skiprows, usecols, unpack, ndmin, encoding, max_rows,
    )  # fmt: skip
    return _ours(call(np.loadtxt, *given, quotechar=quotechar))


def genfromtxt(
    fname: Any,
    dtype: Any = float,
    comments: Any = "#",
    delimiter: Any = None,
    skip_header: int = 0,
    skip_footer: int = 0,
    converters: Any = None,
    missing_values: Any = None,
    filling_values: Any = None,
    usecols: Any = None,
    names: Any = None,
    excludelist: Any = None,
    deletechars: str = " !#$%&'()*+,-./:;<=>?@[\\]^{|}~",
    replace_space: str = "_",
    autostrip: bool = False,
    case_sensitive: Any = True,
    defaultfmt: str = "f%i",
    unpack: Any = None,
    usemask: bool = False,
    loose: bool = True,
    invalid_raise: bool = True,
    max_rows: Any = None,
    encoding: Any = None,
    *,
    ndmin: Any = 0,
    like: Any = None,
) -> ndarray:
    """Read an array from a file of text in which values may be missing.

    Parameters
    ----------
    fname, dtype, comments, delimiter, skip_header, skip_footer, converters, missing_values, filling_values, usecols
        As in NumPy.
    names, excludelist, deletechars, replace_space, autostrip, case_sensitive, defaultfmt, unpack, loose
        As in NumPy.
    invalid_raise, max_rows, encoding, ndmin
        As in NumPy.
    usemask : bool, optional
        Whether the result is a masked array, which is NumPy's.
    like : ndarray, optional
        Only tnp arrays.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        Rows differ in length.

    Notes
    -----
    Computed on the host.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.genfromtxt.html

    Examples
    --------
    >>> import io, tnp as np
    >>> np.genfromtxt(io.StringIO("1,2\\n3,"), delimiter=",")
    array([[ 1.,  2.],
           [ 3., nan]])
    """
    check_like(like)
    given = (
        fname, dtype, comments, delimiter, skip_header, skip_footer, converters, missing_values, filling_values,
        usecols, names, excludelist, deletechars, replace_space, autostrip, case_sensitive, defaultfmt, unpack, usemask,
        loose, invalid_raise, max_rows, encoding,
    )  # fmt: skip
    read: Any = call(np.genfromtxt, *given, ndmin=ndmin)
    # Unpacked, columns of several dtypes are a tuple, which a checker may take for an array: it unpacks alike.
    return tuple(map(_ours, read)) if isinstance(read, (list, tuple)) else _ours(read)  # type: ignore[return-value]
