"""Printing: NumPy prints the values, on whatever device they are.

Layer: owns ``repr``, ``str``, ``format`` and NumPy's functions for them. NumPy prints the elements. The text of an
array on another device names it, and the text of a traced array says that it has no values yet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from backend_torch.native import heads
from backend_torch.tensors import memory, trace_state
from backend_torch.torch_private import dynamo
from tnp._core.base import ndarray, subclass
from tnp._core.convert import asarray
from tnp._core.host_fallback import computed


def _values(array: ndarray) -> np.ndarray:
    return memory.to_numpy(memory.to_host(array.tensor))


def _without_values(array: ndarray, printed: Callable[..., str] | None = None, *args: Any, **options: Any) -> str:
    """Return the text of an array without values; NumPy's function first refuses wrong options."""
    dynamo.break_for_text()
    if printed is not None:
        printed(np.ones([int(min(size, 1)) for size in array.shape], array.dtype), *args, **options)
    if memory.is_sharded(array.tensor):  # no values: if only one process prints, the others would not send theirs
        return f"array(shape={array.shape}, dtype={array.dtype}, sharding={array.sharding})"
    return f"array(shape={array.shape}, dtype={array.dtype}, device='{array.device}')"


def _array_of(given: Any, attribute: str) -> ndarray:
    """Return a tnp array; AttributeError for a number or a list, as in NumPy."""
    if isinstance(given, ndarray):
        return given
    getattr(given, attribute)
    return asarray(given)


def array_repr(arr: Any, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None) -> str:
    """Return an array's text in a console: ``array([1., 2.])``, with its device if that is not the CPU.

    Parameters
    ----------
    arr : array_like
    max_line_width : int, optional
        Longer lines are broken; 75 by default.
    precision : int, optional
        Digits after the point; 8 by default.
    suppress_small : bool, optional
        Print numbers close to zero as zero.

    Returns
    -------
    str

    Notes
    -----
    Defaults are those of NumPy's ``set_printoptions``.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.array_repr.html

    Examples
    --------
    >>> import tnp as np
    >>> np.array_repr(np.asarray([1, 2]))
    'array([1, 2])'
    """
    array = _array_of(arr, "size")
    if not memory.is_readable(array.tensor):
        return _without_values(array, np.array_repr, max_line_width, precision, suppress_small)
    text = np.array_repr(_values(array), max_line_width, precision, suppress_small)
    if isinstance(arr, subclass):
        text = _named(type(arr).__name__, text)
    return text if array.tensor.device.type == "cpu" else f"{text[:-1]}, device='{array.device}')"


def _named(name: str, text: str) -> str:
    """Return the text of an array with its class's name, and its lines indented to match."""
    return text.replace("array", name, 1).replace("\n      ", "\n" + " " * (len(name) + 1))


def scalar_repr(array: ndarray) -> str:
    """``np.float64(1.0)``."""
    if (number := heads.item(array)) is not None:
        return repr(array.dtype.type(number))
    if not memory.is_readable(array.tensor):
        return _without_values(array)
    return repr(_values(array)[()])


def array_str(a: Any, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None) -> str:
    """Return the text that ``print`` shows: without class and dtype.

    Parameters
    ----------
    a : array_like
    max_line_width, precision, suppress_small
        As in ``array_repr``.

    Returns
    -------
    str

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.array_str.html

    Examples
    --------
    >>> import tnp as np
    >>> np.array_str(np.asarray([1, 2]))
    '[1 2]'
    """
    if max_line_width is precision is suppress_small is None and (number := heads.item(a)) is not None:
        return str(a.dtype.type(number))
    array = _array_of(a, "shape")
    if not memory.is_readable(array.tensor):
        return _without_values(array, np.array_str, max_line_width, precision, suppress_small)
    return np.array_str(_values(array), max_line_width, precision, suppress_small)


def array_format(array: ndarray, spec: str) -> str:
    """Format a 0-d array as its value; other arrays accept no format, as in NumPy."""
    if (number := heads.item(array)) is not None:
        return format(array.dtype.type(number), spec)
    if not memory.is_readable(array.tensor):
        if spec and trace_state.is_tracing():
            raise trace_state.value_error()
        return _without_values(array)
    if array.tensor.dim() and not spec:
        return str(array)  # which a derived class may define
    return format(_values(array)[()], spec)


def array2string(
    a: Any,
    max_line_width: Any = None,
    precision: Any = None,
    suppress_small: Any = None,
    separator: str = " ",
    prefix: str = "",
    *,
    formatter: Any = None,
    threshold: Any = None,
    edgeitems: Any = None,
    sign: Any = None,
    floatmode: Any = None,
    suffix: str = "",
    legacy: Any = None,
) -> str:
    """Convert an array to text, with all of NumPy's options.

    Parameters
    ----------
    a : array_like
    max_line_width, precision, suppress_small
        As in ``array_repr``.
    separator : str, optional
        Between elements.
    prefix, suffix : str, optional
        Their lengths count in the first and the last line.
    formatter : dict, optional
        A function for each kind of element.
    threshold, edgeitems : int, optional
        How many elements are printed in full, and how many at each end if there are more.
    sign, floatmode, legacy : optional
        As in NumPy's ``set_printoptions``.

    Returns
    -------
    str

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.array2string.html

    Examples
    --------
    >>> import tnp as np
    >>> np.array2string(np.asarray([1e-16, 1, 2]), precision=2, separator=",", suppress_small=True)
    '[0.,1.,2.]'
    """
    array = _array_of(a, "size")
    options: dict[str, Any] = {
        "formatter": formatter,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "sign": sign,
        "floatmode": floatmode,
        "suffix": suffix,
        "legacy": legacy,
    }
    given = (max_line_width, precision, suppress_small, separator, prefix)
    if not memory.is_readable(array.tensor):
        return _without_values(array, np.array2string, *given, **options)
    return np.array2string(_values(array), *given, **options)


def format_float_positional(
    x: Any,
    precision: Any = None,
    unique: bool = True,
    fractional: bool = True,
    trim: Any = "k",
    sign: bool = False,
    pad_left: Any = None,
    pad_right: Any = None,
    min_digits: Any = None,
) -> str:
    """Format a number in positional notation, with as many digits as distinguish it from its neighbours.

    Parameters
    ----------
    x : float
    precision, unique, fractional, trim, sign, pad_left, pad_right, min_digits
        As in NumPy.

    Returns
    -------
    str

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.format_float_positional.html

    Examples
    --------
    >>> import tnp as np
    >>> np.format_float_positional(np.float32(np.pi))
    '3.1415927'
    """
    text: str = computed(
        np.format_float_positional, x, precision, unique, fractional, trim, sign, pad_left, pad_right, min_digits
    )
    return text


def format_float_scientific(
    x: Any,
    precision: Any = None,
    unique: bool = True,
    trim: Any = "k",
    sign: bool = False,
    pad_left: Any = None,
    exp_digits: Any = None,
    min_digits: Any = None,
) -> str:
    """Format a number in scientific notation, with as many digits as distinguish it from its neighbours.

    Parameters
    ----------
    x : float
    precision, unique, trim, sign, pad_left, exp_digits, min_digits
        As in NumPy.

    Returns
    -------
    str

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.format_float_scientific.html

    Examples
    --------
    >>> import tnp as np
    >>> np.format_float_scientific(np.float32(np.pi))
    '3.1415927e+00'
    """
    text: str = computed(np.format_float_scientific, x, precision, unique, trim, sign, pad_left, exp_digits, min_digits)
    return text
