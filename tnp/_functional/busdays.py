"""Business days: counting them, and testing dates.

Layer: owns nothing: NumPy counts on the host, as no tensor holds dates; the results are arrays of ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp._core.base import ndarray, wrap
from tnp._core.convert import tensor_of
from tnp._core.host_fallback import computed
from tnp._indexing.assignment import copyto


def busday_count(
    begindates: Any,
    enddates: Any,
    weekmask: Any = "1111100",
    holidays: Any = (),
    busdaycal: Any = None,
    out: Any = None,
) -> ndarray:
    """The number of business days from one date to another.

    Parameters
    ----------
    begindates, enddates : array_like of datetime64 or str
        The first is counted, the last is not.
    weekmask, holidays, busdaycal
        As in NumPy.
    out : ndarray, optional
        Where to put the result.

    Returns
    -------
    ndarray
        Of int64.

    Notes
    -----
    Computed on the host.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.busday_count.html

    Examples
    --------
    >>> import tnp as np
    >>> np.busday_count("2011-01", "2011-02")
    np.int64(21)
    """
    calendar = _calendar(weekmask, holidays, busdaycal)
    return _delivered(computed(np.busday_count, begindates, enddates, **calendar), out)


def is_busday(
    dates: Any, weekmask: Any = "1111100", holidays: Any = None, busdaycal: Any = None, out: Any = None
) -> ndarray:
    """Whether dates are business days.

    Parameters
    ----------
    dates : array_like of datetime64 or str
    weekmask, holidays, busdaycal
        As in NumPy.
    out : ndarray, optional
        Where to put the result.

    Returns
    -------
    ndarray
        Of bool.

    Notes
    -----
    Computed on the host.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.is_busday.html

    Examples
    --------
    >>> import tnp as np
    >>> np.is_busday("2011-07-01")
    np.True_
    """
    return _delivered(computed(np.is_busday, dates, **_calendar(weekmask, holidays, busdaycal)), out)


def _calendar(weekmask: Any, holidays: Any, busdaycal: Any) -> dict[str, Any]:
    """Return what the program gave: NumPy refuses the parts of a calendar beside a calendar, defaults too."""
    given = {} if type(weekmask) is str and weekmask == "1111100" else {"weekmask": weekmask}
    if holidays is not None and (type(holidays) is not tuple or holidays):
        given["holidays"] = holidays
    return given if busdaycal is None else given | {"busdaycal": busdaycal}


def _delivered(result: Any, out: Any) -> Any:
    if out is None:
        return wrap(tensor_of(result))
    copyto(out, result, "safe")
    return out
