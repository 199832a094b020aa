"""Logic functions that are not ufuncs: closeness, equality of whole arrays, the kind of a number.

Layer: owns their signatures and dtype rules. They consist of ufuncs, or of one kernel if torch has the function.
"""

from __future__ import annotations

from typing import Any

import numpy

from backend_torch.kernels import comparison as kernels
from backend_torch.native import heads
from backend_torch.tensors import memory, trace_state
from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import to_torch
from tnp._core.base import ndarray, wrap, wrap_array
from tnp._core.convert import asarray, home_of, tensor_of
from tnp._core.dtypes import DtypeError
from tnp._core.errors import explain, warn
from tnp._creation.filled import ones_like, zeros_like
from tnp._math.mathematics import INEXACT, imag
from tnp._ufunc import table as ufuncs

_REALS = (int, float)
_SCALARS = (*_REALS, complex)


def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> ndarray:
    """Where ``a`` and ``b`` are equal within a tolerance: ``|a - b| <= atol + rtol * |b|``.

    Parameters
    ----------
    a, b : array_like
    rtol, atol : array_like
        Relative and absolute tolerance.
    equal_nan : bool, default False
        Whether nan is close to nan.

    Returns
    -------
    ndarray of bool

    Notes
    -----
    The tolerance counts relative to ``b``, so ``isclose(a, b)`` and ``isclose(b, a)`` may differ.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.isclose.html

    Examples
    --------
    >>> import tnp as np
    >>> np.isclose(np.asarray([1e10, 1e-7]), np.asarray([1.00001e10, 1e-8]))
    array([ True, False])
    """
    if (found := heads.isclose(a, b, rtol, atol, equal_nan)) is not None:
        return found
    home = home_of((a, b))
    x, y = (value if type(value) in _SCALARS else wrap_array(tensor_of(value, device=home)) for value in (a, b))
    dtype = _common_inexact(x, y)
    first, second = (cast(tensor_of(value, device=home), dtype) for value in (x, y))
    if isinstance(y, ndarray):
        alike = not isinstance(x, ndarray) or INEXACT[y.tensor.dtype] is dtype
    else:
        alike = abs(y) <= 3e4
    # Within these bounds no tolerance overflows, not even float16's: torch's isclose takes no infinite one.
    if alike and type(rtol) in _REALS and type(atol) in _REALS and 0 <= rtol <= 0.5 and 0 <= atol <= 3e4:
        try:
            return wrap(kernels.isclose(first, second, rtol, atol, bool(equal_nan)))
        except RuntimeError as error:
            raise explain(error, first, second) from None
    if not (_is_finite(rtol) and _is_finite(atol)):
        warn(f"One of rtol or atol is not valid, atol: {atol}, rtol: {rtol}", RuntimeWarning)
    # The tolerance has the precision of b alone, and b is finite as it is given: numbers are weak, as NumPy's are not.
    rtol, atol = (each if type(each) in _SCALARS else wrap_array(tensor_of(each, device=home)) for each in (rtol, atol))
    given = wrap_array(cast(y.tensor, INEXACT[y.tensor.dtype])) if isinstance(y, ndarray) else y
    x, y = wrap_array(first), wrap_array(second)
    result = ufuncs.less_equal(abs(x - y), atol + rtol * abs(given)) & ufuncs.isfinite(given) | (x == y)
    return result | ufuncs.isnan(x) & ufuncs.isnan(y) if equal_nan else result


def _is_finite(tolerance: Any) -> bool:
    """Whether a tolerance is known to be finite, without a read from an accelerator or of a traced value."""
    if isinstance(tolerance, ndarray) and not (
        memory.is_readable(tolerance.tensor) and tolerance.tensor.device.type == "cpu"
    ):
        return True
    return bool(numpy.isfinite(numpy.asarray(tolerance)).all())


def _common_inexact(x: Any, y: Any) -> Any:
    """Return the torch dtype in which two operands are compared: a float or complex one."""
    if isinstance(x, ndarray) and isinstance(y, ndarray) and x.tensor.dtype is y.tensor.dtype:
        return INEXACT[x.tensor.dtype]
    return to_torch[numpy.result_type(*[v.dtype if isinstance(v, ndarray) else v for v in (x, y)], 1.0)]


def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are equal within a tolerance; see `isclose`.

    Parameters
    ----------
    a, b : array_like
    rtol, atol : array_like
        Relative and absolute tolerance.
    equal_nan : bool, default False
        Whether nan is close to nan.

    Returns
    -------
    bool
        A traced scalar in a compiled function.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.allclose.html

    Examples
    --------
    >>> import tnp as np
    >>> np.allclose(np.asarray([1.0, np.nan]), np.asarray([1.0, np.nan]), equal_nan=True)
    True
    """
    return _whether_all(isclose(a, b, rtol, atol, equal_nan))


def _whether_all(found: ndarray) -> Any:
    """Whether all elements are true: a scalar of the graph in a trace, which branches and loops may test."""
    whole = found.all()
    return bool(whole) if not trace_state.is_tracing() or memory.may_be_asked(whole.tensor) else whole


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Whether two arrays have one shape and the same elements.

    Parameters
    ----------
    a1, a2 : array_like
    equal_nan : bool, default False
        Whether nan equals nan.

    Returns
    -------
    bool
        A traced scalar in a compiled function.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.array_equal.html

    Examples
    --------
    >>> import tnp as np
    >>> np.array_equal(np.asarray([1, 2]), [1, 2])
    True
    """
    try:
        x, y = asarray(a1), asarray(a2)
    except DtypeError:
        raise
    except (TypeError, ValueError):
        return False
    if x.shape != y.shape:
        return False
    same = x == y
    return _whether_all(same | ufuncs.isnan(x) & ufuncs.isnan(y) if equal_nan else same)


def array_equiv(a1: Any, a2: Any) -> bool:
    """Whether two arrays have the same elements once they are broadcast against each other.

    Parameters
    ----------
    a1, a2 : array_like

    Returns
    -------
    bool
        False where they can't be broadcast; a traced scalar in a compiled function.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.array_equiv.html

    Examples
    --------
    >>> import tnp as np
    >>> np.array_equiv([1, 2], [[1, 2], [1, 2]])
    True
    """
    try:
        x, y = asarray(a1), asarray(a2)
        numpy.broadcast_shapes(x.shape, y.shape)
    except DtypeError:
        raise
    except (TypeError, ValueError):
        return False
    return _whether_all(x == y)


def isposinf(x: Any, out: Any = None) -> ndarray:
    """Where the elements are positive infinity.

    Parameters
    ----------
    x : array_like
        Real numbers.
    out : ndarray, optional
        Where to put the result.

    Returns
    -------
    ndarray of bool

    Raises
    ------
    TypeError
        ``x`` is complex.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.isposinf.html

    Examples
    --------
    >>> import tnp as np
    >>> np.isposinf(np.asarray([np.inf, -np.inf, 1.0]))
    array([ True, False, False])
    """
    if out is Ellipsis:
        raise TypeError("out=... is only allowed as a keyword argument of ufuncs")
    return ufuncs.equal(_real_array(x), numpy.inf, out=out)


def isneginf(x: Any, out: Any = None) -> ndarray:
    """Where the elements are negative infinity.

    Parameters
    ----------
    x : array_like
        Real numbers.
    out : ndarray, optional
        Where to put the result.

    Returns
    -------
    ndarray of bool

    Raises
    ------
    TypeError
        ``x`` is complex.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.isneginf.html

    Examples
    --------
    >>> import tnp as np
    >>> np.isneginf(np.asarray([np.inf, -np.inf, 1.0]))
    array([False,  True, False])
    """
    if out is Ellipsis:
        raise TypeError("out=... is only allowed as a keyword argument of ufuncs")
    return ufuncs.equal(_real_array(x), -numpy.inf, out=out)


def _real_array(x: Any) -> ndarray:
    x = asarray(x)
    if x.dtype.kind == "c":
        raise TypeError(f"This operation is not supported for {x.dtype} values because it would be ambiguous.")
    return x


def iscomplex(x: Any) -> ndarray:
    """Where the imaginary part is not zero.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    ndarray of bool

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.iscomplex.html

    Examples
    --------
    >>> import tnp as np
    >>> np.iscomplex(np.asarray([1 + 1j, 2]))
    array([ True, False])
    """
    array = x if type(x) is ndarray else asarray(x)
    if array.dtype.kind != "c":
        found = heads.like(array, False, bool)
        return (zeros_like(array, bool, "C") if found is None else found)[()]
    return ufuncs.not_equal(array.imag, 0)


def isreal(x: Any) -> ndarray:
    """Where the imaginary part is zero.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    ndarray of bool

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.isreal.html

    Examples
    --------
    >>> import tnp as np
    >>> np.isreal(np.asarray([1 + 1j, 2]))
    array([False,  True])
    """
    if type(x) is ndarray and x.ndim and x.dtype.kind != "c":
        found = heads.like(x, True, bool)
        return ones_like(x, bool, "A") if found is None else found
    return imag(x) == 0


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex, whatever the values.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    bool

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.iscomplexobj.html

    Examples
    --------
    >>> import tnp as np
    >>> np.iscomplexobj(np.asarray([1 + 0j]))
    True
    """
    try:
        kind: type = x.dtype.type  # of any object with a dtype, such as pandas' extension arrays
    except AttributeError:
        kind = asarray(x).dtype.type
    return issubclass(kind, numpy.complexfloating)


def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex, whatever the values.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    bool

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.isrealobj.html

    Examples
    --------
    >>> import tnp as np
    >>> np.isrealobj(np.asarray([1, 2]))
    True
    """
    return not iscomplexobj(x)
