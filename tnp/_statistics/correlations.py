"""Covariances and correlations of variables, and correlations and convolutions of sequences.

Layer: owns their arguments; the sums are matrix products and sums over sliding windows.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from backend_torch.graphs import symbolic
from backend_torch.kernels import signal
from backend_torch.native import heads
from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import to_numpy
from backend_torch.tensors.shape import flip
from tnp._core.base import ndarray, wrap, wrap_array
from tnp._core.convert import tensor_of, tensors_of
from tnp._core.dtypes import numpy_dtype, tensor_dtype
from tnp._core.errors import check_line, warn
from tnp._creation.filled import empty_like, zeros
from tnp._indexing.diagonals import diagonal
from tnp._manipulation.joining import concatenate
from tnp._manipulation.shape import atleast_1d, atleast_2d
from tnp._math import mathematics
from tnp._math.mathematics import clip
from tnp._math.products import dot
from tnp._statistics.averages import average
from tnp._ufunc.table import sqrt, true_divide

_MODES = {"valid": 0, "same": 1, "full": 2, 0: 0, 1: 1, 2: 2}


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> ndarray:
    """Covariance matrix of variables.

    Parameters
    ----------
    m : array_like
        A variable, or one in each row.
    y : array_like, optional
        More variables.
    rowvar : bool, optional
        Variables are rows, not columns.
    bias : bool, optional
        Divide by the number of observations, not by that number minus one.
    ddof : int, optional
        Divide by the number of observations minus this, whatever ``bias`` says.
    fweights : array_like of int, optional
        How often each observation was made.
    aweights : array_like, optional
        How much each observation counts.
    dtype : dtype_like, optional
        At least float64 by default.

    Returns
    -------
    ndarray
        0-d for one variable.

    Raises
    ------
    RuntimeError
        Weights are not one-dimensional, or not as many as the observations.
    TypeError
        ``fweights`` are not integers.
    ValueError
        There are more than two dimensions, ``ddof`` is not an integer, or a weight is negative.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.cov.html

    Examples
    --------
    >>> import tnp as np
    >>> np.cov(np.asarray([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    first = wrap_array(tensor_of(m))
    if first.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    variables = [atleast_2d(first)]
    if not rowvar and first.ndim != 1:
        variables[0] = variables[0].T
    if y is not None:
        second = wrap_array(tensor_of(y, device=first.tensor.device))
        if second.ndim > 2:
            raise ValueError("y has more than 2 dimensions")
        second = atleast_2d(second)
        variables.append(second.T if not rowvar and second.shape[0] != 1 else second)
    if dtype is None:
        dtype = np.result_type(*[v.dtype for v in variables], np.float64)
    if not variables[0].shape[0]:
        numpy_dtype(dtype)
        return zeros((0, 0), device=first.device)
    table = concatenate([v.astype(dtype) for v in variables])
    if ddof is None:
        ddof = 1 if bias == 0 else 0
    weights, divisor = _weighing(table, ddof, fweights, aweights)
    means = average(table, axis=1, weights=weights)
    if divisor <= 0:
        warn("Degrees of freedom <= 0 for slice", RuntimeWarning)
        divisor = 0.0
    if table.dtype.kind not in "fc":
        raise TypeError(
            f"Cannot cast ufunc 'subtract' output from {np.dtype(float)!r} to {table.dtype!r} with casting rule "
            "'same_kind'"
        )
    table = table - means[:, None]
    other = table if weights is None else table * weights
    matrix = dot(table, other.T.conj())
    factor = 1 / divisor if symbolic.is_symbol(divisor) else true_divide(1, divisor).astype(matrix.real.dtype)
    return (matrix * factor).squeeze()


def _weighing(table: ndarray, ddof: Any, fweights: Any, aweights: Any) -> tuple[Any, Any]:
    """Return the product of both kinds of weights, or None, and the divisor of the sums."""
    count = table.shape[1]
    weights: Any = None
    analytic: Any = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        each = wrap_array(tensor_of(given, float, device=table.tensor.device))
        if name == "fweights" and not bool((each == mathematics.round(each)).all()):
            raise TypeError("fweights must be integer")
        if each.ndim > 1:
            raise RuntimeError(f"cannot handle multidimensional {name}")
        if each.shape[0] != count:
            raise RuntimeError(f"incompatible numbers of samples and {name}")
        if bool((each < 0).any()):
            raise ValueError(f"{name} cannot be negative")
        if name == "aweights":
            analytic = each
        weights = each if weights is None else weights * each
    if weights is None:
        return None, count - ddof
    total = weights.sum()
    if ddof == 0:
        return weights, total
    return weights, total - ddof if analytic is None else total - ddof * (weights * analytic).sum() / total


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> ndarray:
    """Correlation coefficients of variables.

    Parameters
    ----------
    x : array_like
        A variable, or one in each row.
    y : array_like, optional
        More variables.
    rowvar : bool, optional
        Variables are rows, not columns.
    dtype : dtype_like, optional
        At least float64 by default.

    Returns
    -------
    ndarray
        Between -1 and 1; one for one variable.

    Raises
    ------
    ValueError
        There are more than two dimensions.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.corrcoef.html

    Examples
    --------
    >>> import tnp as np
    >>> np.corrcoef(np.asarray([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    matrix = cov(x, y, rowvar, dtype=dtype)
    if not matrix.ndim:
        return matrix / matrix
    spread = sqrt(diagonal(matrix).real)
    matrix = matrix / spread[:, None] / spread[None, :]
    if matrix.dtype.kind != "c":
        return clip(matrix, -1, 1)
    clipped = empty_like(matrix)
    clipped.real, clipped.imag = clip(matrix.real, -1, 1), clip(matrix.imag, -1, 1)
    return clipped


def correlate(a: Any, v: Any, mode: Any = "valid") -> ndarray:
    """Cross-correlation of two sequences: the sums of ``a[n + k] * conj(v[n])`` for each shift k.

    Parameters
    ----------
    a, v : array_like, one-dimensional
    mode : {'valid', 'same', 'full'}, optional
        The shifts with full overlap, as many as the longer sequence has elements, or all with any overlap.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        A sequence is empty or not one-dimensional, or the mode is unknown.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.correlate.html

    Examples
    --------
    >>> import tnp as np
    >>> np.correlate(np.asarray([1, 2, 3]), np.asarray([0.0, 1.0, 0.5]), "same")
    array([2. , 3.5, 3. ])
    """
    if (found := _by_numpy(np.correlate, a, v, mode)) is not None:
        return found
    one, other = tensors_of(a, v)
    return _correlated(one, other.conj().resolve_conj(), mode)


def convolve(a: Any, v: Any, mode: Any = "full") -> ndarray:
    """Convolution of two sequences: the sums of ``a[m] * v[n - m]``.

    Parameters
    ----------
    a, v : array_like, one-dimensional
    mode : {'full', 'same', 'valid'}, optional
        All sums, as many as the longer sequence has elements, or those with full overlap.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        A sequence is empty or not one-dimensional, or the mode is unknown.

    Notes
    -----
    The sums are computed one by one, as NumPy does, not by Fourier transform.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.convolve.html

    Examples
    --------
    >>> import tnp as np
    >>> np.convolve(np.asarray([1, 2, 3]), np.asarray([0.0, 1.0, 0.5]))
    array([0. , 1. , 2.5, 4. , 1.5])
    """
    if (found := _by_numpy(np.convolve, a, v, mode)) is not None:
        return found
    one, other = [atleast_1d(wrap(tensor)) for tensor in tensors_of(a, v)]
    for name, sequence in (("a", one), ("v", other)):
        if not sequence.shape[0]:
            raise ValueError(f"{name} cannot be empty")
    if other.shape[0] > one.shape[0]:
        one, other = other, one
    return _correlated(one.tensor, other[::-1].tensor, mode)


def _by_numpy(function: Any, a: Any, v: Any, mode: Any) -> Any:
    """Let NumPy correlate a line with a short window, as the kernel does; None if the kernel has to."""
    if mode.__class__ is not str:
        return None
    one, other = _length(a), _length(v)  # a comparison of symbolic sizes would be a guard
    known = one.__class__ is other.__class__ is int
    return heads.by_numpy(function, a, v, mode) if known and 0 < min(one, other) <= signal.FEW else None


def _length(x: Any) -> Any:
    return x.size if type(x) is ndarray else len(x) if x.__class__ in (list, tuple) else None


def _correlated(one: Any, other: Any, mode: Any) -> ndarray:
    """Return the correlation without conjugation."""
    if isinstance(mode, (bool, float)):
        raise TypeError("convolve/correlate mode not understood")
    if isinstance(mode, ndarray):
        mode = operator.index(mode)
    if mode not in _MODES:
        if isinstance(mode, str):
            raise ValueError(f"Use one of 'valid', 'same', or 'full' for convolve/correlate mode, not {mode!r}")
        if isinstance(mode, (int, np.integer)):
            raise ValueError(f"integer convolve/correlate mode must be 0, 1, or 2, not {mode}")
        raise TypeError(f"convolve/correlate mode not understood: {mode!r}")
    for tensor in (one, other):
        check_line(tensor.shape)
    for name, tensor in (("first", one), ("second", other)):
        if not tensor.shape[0]:
            raise ValueError(f"{name} array argument cannot be empty")
    common = tensor_dtype(np.promote_types(to_numpy[one.dtype], to_numpy[other.dtype]))
    line, window = cast(one, common), cast(other, common)
    swapped = line.shape[0] < window.shape[0]
    if swapped:
        line, window = window, line
    size = window.shape[0]
    spare = size - 1
    left, right = {0: (0, 0), 1: (size // 2, spare - size // 2), 2: (spare, spare)}[_MODES[mode]]
    result = signal.correlate(line, window, left, right)
    return wrap_array(flip(result, (0,)) if swapped else result)
