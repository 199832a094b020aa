"""Einstein's summation convention.

Layer: owns the notation of subscripts and its errors. The backend receives one letter for each axis.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from backend_torch.kernels import products as kernels
from backend_torch.kernels.indexing import assign
from backend_torch.tensors import memory
from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import to_numpy
from tnp._core.base import ndarray, wrap
from tnp._core.convert import ours, output_tensor, tensors_of
from tnp._core.dtypes import numpy_dtype, tensor_dtype
from tnp._core.errors import MOST_DIMENSIONS, broadcast_error, index_of
from tnp._core.readonly_views import view_of
from tnp._core.strided_views import put_back
from tnp._ufunc.ufunc import checked_order

Tensor = Any
_LETTERS = string.ascii_uppercase + string.ascii_lowercase  # in the order of the numbers in the other notation
_BEYOND = "".join(map(chr, range(256, 256 + MOST_DIMENSIONS)))  # for the axes of an ellipsis where letters run out


def einsum(
    *operands: Any, out: Any = None, optimize: Any = False, dtype: Any = None, order: str = "K", casting: Any = "safe"
) -> ndarray:
    """Sum of products by Einstein's convention.

    Parameters
    ----------
    *operands : str and arrays, or arrays and lists
        ``einsum("ij,jk->ik", a, b)``, or ``einsum(a, [0, 1], b, [1, 2], [0, 2])`` with numbers below 52. Without an
        output, the subscripts that occur once, in alphabetical order. ``...`` stands for further axes, broadcast.
    out : ndarray, optional
        Where to put the result.
    optimize : bool, str or list, optional
        Accepted. More than two operands are always multiplied from the left.
    dtype : dtype_like, optional
        The dtype of the computation; by default that to which the operands, and ``out``, promote.
    order : {'K', 'A', 'C', 'F'}, optional
        Memory order of the result.
    casting : {'safe', 'no', 'equiv', 'same_kind', 'unsafe'}, optional
        What conversions of the operands are allowed.

    Returns
    -------
    ndarray
        One operand without a sum gives a view, whatever ``dtype`` and ``order`` say.

    Raises
    ------
    ValueError
        The subscripts do not fit the operands, or the operands each other.
    TypeError
        ``casting`` does not allow a conversion.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.einsum.html

    Examples
    --------
    >>> import tnp as np
    >>> a = np.arange(6).reshape(2, 3)
    >>> np.einsum("ij->i", a)
    array([ 3, 12])
    >>> np.einsum("ij,kj", a, a)
    array([[ 5, 14],
           [14, 50]])
    """
    order = checked_order(order)
    np.can_cast(bool, bool, casting)  # raises for an unknown casting rule
    if len(operands) < 2:
        raise ValueError(
            "must specify the einstein sum subscripts string and at least one operand, or at least one operand and its "
            "corresponding subscripts list"
        )
    if isinstance(optimize, (list, tuple)):
        einsum_path(*operands, optimize=optimize)  # raises for an invalid path
    terms, explicit, arrays = _terms(operands, bool(optimize))
    if out is None and len(arrays) == 1:
        arrays = [ours(arrays[0])]
    tensors = tensors_of(*arrays)
    inputs, output = _letters(terms, explicit, [tuple(tensor.shape) for tensor in tensors])
    wanted = None if dtype is None else numpy_dtype(dtype)
    if out is None and len(tensors) == 1 and set(inputs[0]) == set(output):
        view = kernels.einsum(inputs, output, tensors)
        return view_of(arrays[0], view) if view.dim() else wrap(view.clone())
    target = None if out is None else output_tensor(out)
    computed = _dtype(tensors, target, wanted, casting)
    tensors = [cast(tensor, computed) for tensor in tensors]
    if target is None and order not in ("C", "F"):
        return wrap(kernels.summed(inputs, output, tensors))
    result = kernels.einsum(inputs, output, tensors)
    if target is None:
        return wrap(memory.in_order(result, order))
    if target.shape != result.shape:
        raise broadcast_error(*[tuple(tensor.shape) for tensor in (*tensors, target)])
    assign(target, cast(result, target.dtype))
    return put_back(out, target)


def _dtype(tensors: Sequence[Tensor], target: Tensor | None, dtype: Any, casting: Any) -> Any:
    """Return the torch dtype of the computation; TypeError if ``casting`` forbids the cast to it, or from it."""
    given = [to_numpy[tensor.dtype] for tensor in tensors]
    into = [] if target is None else [to_numpy[target.dtype]]
    wanted = np.result_type(*given, *into) if dtype is None else dtype
    for i, one in enumerate(given):
        if not np.can_cast(one, wanted, casting):
            raise TypeError(
                f"Iterator operand {i} dtype could not be cast from {one!r} to {wanted!r} according to the rule "
                f"'{casting}'"
            )
    for one in into:
        if not np.can_cast(wanted, one, casting):
            raise TypeError(
                f"Iterator requested dtype could not be cast from {wanted!r} to {one!r}, the operand {len(given)} "
                f"dtype, according to the rule '{casting}'"
            )
    return tensor_dtype(wanted)


def _terms(operands: Sequence[Any], wraps: bool) -> tuple[list[str], str | None, list[Any]]:
    """Return the subscripts of each operand, those of the output if given, and the operands.

    With ``optimize``, NumPy takes negative subscripts, which count from the end of the alphabet.
    """
    if not operands:
        raise ValueError(
            "must specify the einstein sum subscripts string and at least one operand, or at least one operand and its "
            "corresponding subscripts list"
        )
    if isinstance(operands[0], str):
        subscripts = operands[0].replace(" ", "")
        arrays = list(operands[1:])
        if not arrays:
            raise ValueError("must specify the einstein sum subscripts string and at least one operand")
        left, arrow, right = subscripts.partition("->")
        terms = left.split(",")
        explicit = right if arrow else None
    else:
        pairs = len(operands) // 2
        arrays = [operands[2 * i] for i in range(pairs)]
        terms = [_from_list(operands[2 * i + 1], wraps) for i in range(pairs)]
        explicit = _from_list(operands[-1], wraps) if len(operands) % 2 else None
        if not arrays:
            raise ValueError("must specify at least one operand and its corresponding subscripts list")
    if len(terms) < len(arrays):
        raise ValueError("more operands provided to einstein sum function than specified in the subscripts string")
    if len(terms) > len(arrays):
        raise ValueError("fewer operands provided to einstein sum function than specified in the subscripts string")
    return terms, explicit, arrays


def _from_list(subscripts: Any, wraps: bool) -> str:
    """Return a list of numbers and Ellipsis as a string; if ``wraps``, negative numbers count from the end."""
    try:
        numbers = ["..." if s is Ellipsis else range(52)[_number(s, wraps)] for s in subscripts]
    except IndexError:
        raise ValueError("subscript is not within the valid range [0, 52)") from None
    return "".join(_LETTERS[s] if isinstance(s, int) else s for s in numbers)


def _number(subscript: Any, wraps: bool) -> int:
    message = "each subscript must be either an integer or an ellipsis"
    if isinstance(subscript, (bool, np.bool_)):
        raise TypeError(message)
    if (number := index_of(subscript, message)) < 0 and not wraps:
        raise ValueError("subscript is not within the valid range [0, 52)")
    return number


def _letters(terms: Sequence[str], explicit: str | None, shapes: Sequence[tuple[int, ...]]) -> tuple[list[str], str]:
    """Return each operand's subscripts and the output's, one letter for each axis: an ellipsis gets its own letters."""
    parts = [_split(term, f"operand {i}") for i, term in enumerate(terms)]
    extra = []
    for i, (part, shape) in enumerate(zip(parts, shapes, strict=True)):
        extra.append(len(shape) - sum(map(len, part)))
        if extra[-1] < 0:
            raise ValueError(f"einstein sum subscripts string contains too many subscripts for operand {i}")
        if extra[-1] and len(part) == 1:
            raise ValueError(
                "operand has more dimensions than subscripts given in einstein sum, but no '...' ellipsis provided to "
                f"broadcast the extra dimensions: operand {i} has shape {shape}, subscripts '{terms[i]}'."
            )
    broadcast = max(extra)
    used = "".join(["".join(part) for part in parts])
    free = [letter for letter in _LETTERS + _BEYOND if letter not in used][:broadcast] if broadcast else []
    if len({*used, *free}) > MOST_DIMENSIONS:
        raise ValueError("einstein sum subscript string has too many distinct labels")
    inputs = [free[broadcast - n :] for n in extra]
    letters = ["".join([part[0], *dims, *part[1:]]) for part, dims in zip(parts, inputs, strict=True)]
    _check_lengths(letters, shapes)
    if explicit is None:
        return letters, "".join([*free, *sorted(s for s in set(used) if used.count(s) == 1)])
    output = _split(explicit, "the output")
    if broadcast and len(output) == 1:
        raise ValueError(
            "output has more dimensions than subscripts given in einstein sum, but no '...' ellipsis provided to "
            "broadcast the extra dimensions."
        )
    for subscript in "".join(output):
        if subscript not in used:
            raise ValueError(
                f"einstein sum subscripts string included output subscript '{subscript}' which never appeared in an "
                "input"
            )
        if "".join(output).count(subscript) > 1:
            raise ValueError(f"einstein sum subscripts string includes output subscript '{subscript}' multiple times")
    return letters, "".join([output[0], *free, *output[1:]])


def _split(term: str, what: str) -> list[str]:
    """Return the letters before and after an ellipsis, or all of them if there is none."""
    parts = term.split("...")
    if len(parts) > 2 or "." in "".join(parts):
        raise ValueError(
            f"einstein sum subscripts string contains a '.' that is not part of an ellipsis ('...') in {what}"
        )
    for subscript in "".join(parts):
        if subscript not in _LETTERS:
            raise ValueError(
                f"invalid subscript '{subscript}' in einstein sum subscripts string, subscripts must be letters"
            )
    return parts


def _check_lengths(letters: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> None:
    """Check that axes of one subscript have one length, or in different operands length one."""
    lengths: dict[str, int] = {}
    for subscripts, shape in zip(letters, shapes, strict=True):
        own: dict[str, int] = {}
        for subscript, length in zip(subscripts, shape, strict=True):
            if own.setdefault(subscript, length) != length:
                raise ValueError(
                    f"dimensions in single operand for collapsing index '{subscript}' don't match "
                    f"({own[subscript]} != {length})"
                )
        for subscript, length in own.items():
            known = lengths.get(subscript, 1)
            if length != known and 1 not in (length, known):
                raise broadcast_error(*shapes)
            lengths[subscript] = length if known == 1 else known


def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: Any = False) -> tuple[list[Any], Any]:
    """Return the order in which ``einsum`` should contract its operands.

    Parameters
    ----------
    *operands
        As in ``einsum``.
    optimize : {True, False, 'greedy', 'optimal'} or tuple, optional
        How to look for it; a tuple may give the largest size of an intermediate result.
    einsum_call : bool, optional
        Return what NumPy's own ``einsum`` needs.

    Returns
    -------
    path : list
        'einsum_path' and the places of the operands of each step.
    description : str

    Notes
    -----
    NumPy finds the path, from shapes alone.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.einsum_path.html

    Examples
    --------
    >>> import tnp as np
    >>> np.einsum_path("ij,jk,kl->il", np.ones((2, 2)), np.ones((2, 5)), np.ones((5, 2)))[0]
    ['einsum_path', (1, 2), (0, 1)]
    """
    shapes = [
        np.broadcast_to(np.empty((), operand.dtype), operand.shape) if isinstance(operand, ndarray) else operand
        for operand in operands
    ]
    found: Any = np.einsum_path(*shapes, optimize=optimize, einsum_call=einsum_call)
    return found
