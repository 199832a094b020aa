"""Functions of data that no tensor can hold, dates and records: the host computes them, and returns NumPy's arrays.

Layer: owns nothing: NumPy does it, over the memory of the arrays of numbers that it is given. The submodules ``char``,
``strings``, ``rec`` and ``f2py`` are NumPy's too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp._core.host_fallback import computed


def busday_offset(
    dates: Any,
    offsets: Any,
    roll: Any = "raise",
    weekmask: Any = "1111100",
    holidays: Any = None,
    busdaycal: Any = None,
    out: Any = None,
) -> np.datetime64 | np.ndarray:
    """The business day that follows a date by so many business days.

    Parameters
    ----------
    dates : array_like of datetime64 or str
    offsets : array_like of int
        How many business days to go on from each date.
    roll : {'raise', 'nat', 'forward', 'following', 'backward', 'preceding', 'modifiedfollowing', 'modifiedpreceding'}
        What to do about a date that is no business day.
    weekmask, holidays, busdaycal
        Which days are business days.
    out : numpy.ndarray of datetime64, optional
        Where to put the result.

    Returns
    -------
    numpy.datetime64 or numpy.ndarray
        NumPy's own: no tensor holds dates.

    Raises
    ------
    ValueError
        A date is no business day and ``roll`` is 'raise'.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.busday_offset.html

    Examples
    --------
    >>> import tnp as np
    >>> np.busday_offset("2024-01-06", np.asarray([0, 1]), roll="forward")
    array(['2024-01-08', '2024-01-09'], dtype='datetime64[D]')
    """
    days: dict[str, Any] = {"weekmask": weekmask, "holidays": () if holidays is None else holidays}
    if busdaycal is not None:
        days = {**(days if weekmask != "1111100" or holidays is not None else {}), "busdaycal": busdaycal}
    if out is not None:
        days["out"] = out
    found: Any = computed(np.busday_offset, dates, offsets, roll, **days)
    return found


def datetime_as_string(
    arr: Any, unit: Any = None, timezone: Any = "naive", casting: Any = "same_kind"
) -> np.str_ | np.ndarray:
    """Dates as strings.

    Parameters
    ----------
    arr : array_like of datetime64
    unit : str, optional
        How precisely: 'D', 's', ...; 'auto' as the dates need it.
    timezone : {'naive', 'UTC', 'local'} or datetime.tzinfo, optional
    casting : {'same_kind', 'no', 'equiv', 'safe', 'unsafe'}, optional
        Which changes of the unit are allowed.

    Returns
    -------
    ``numpy.str_`` or ndarray of them
        NumPy's own: no tensor holds strings.

    Raises
    ------
    TypeError
        The array holds no dates, or the unit may not be changed so.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.datetime_as_string.html

    Examples
    --------
    >>> import tnp as np
    >>> str(np.datetime_as_string(np.datetime64("2024-02-29T12"), unit="D", casting="unsafe"))
    '2024-02-29'
    """
    found: Any = computed(np.datetime_as_string, arr, unit, timezone, casting)
    return found


def fromregex(file: Any, regexp: Any, dtype: Any, encoding: str | None = None) -> np.ndarray:
    """An array of structures from the groups of a regular expression in a text file.

    Parameters
    ----------
    file : str, path or file
    regexp : str or compiled expression
    dtype : dtype_like
        A structure with a field for each group.
    encoding : str, optional

    Returns
    -------
    numpy.ndarray
        NumPy's own: no tensor holds structures. Its fields of numbers become arrays by ``asarray``.

    Raises
    ------
    TypeError
        The dtype is no structure.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.fromregex.html

    Examples
    --------
    >>> import io
    >>> import tnp as np
    >>> found = np.fromregex(io.StringIO("1312 foo 1534 bar"), r"(\\d+)\\s+(...)", [("n", np.int64), ("key", "S3")])
    >>> np.asarray(found["n"])
    array([1312, 1534])
    """
    found: Any = np.fromregex(file, regexp, dtype, encoding)
    return found
