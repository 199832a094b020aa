"""Control flow over arrays: branches and loops that a compiled function keeps, with JAX's names and argument order.

Layer: owns the containers of operands and results, and the checks that they match. The backend branches and loops.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from backend_torch.graphs import control_flow
from backend_torch.tensors import memory, trace_state
from backend_torch.tensors.dtypes import to_numpy
from backend_torch.tensors.memory import Layout
from tnp._core.base import ndarray, wrap, wrap_array
from tnp._core.convert import tensor_of
from tnp._core.strided_views import Shares, Source, left_view, shares
from tnp._manipulation.joining import concatenate, stack
from tnp._manipulation.rearranging import flip, moveaxis
from tnp._transforms import pytree
from tnp._transforms.traced_numbers import Number

Tensor = Any
Tree = TypeVar("Tree")
_LEAF = object()


class Leaves:
    """The arrays of a container. Python numbers count as arrays of NumPy's default dtypes."""

    def __init__(self, tree: Any) -> None:
        self.leaves: list[Any] = []
        self._build = pytree.builder(tree, self._taken, pytree.becomes_array)
        self.tensors: list[Tensor] = [
            leaf.tensor if type(leaf) is Number and leaf.trace else tensor_of(leaf) for leaf in self.leaves
        ]
        self.structure = pytree.flatten(self._build([_LEAF] * len(self.leaves), ()), [])

    def _taken(self, leaf: Any) -> Callable[[Any, Any], Any]:
        index = len(self.leaves)
        self.leaves.append(leaf)
        return lambda values, arrays: values[index]

    def filled(self, tensors: list[Tensor], kind: Callable[[Any, Tensor], Any] = pytree.like) -> Any:
        """Return the same containers with other tensors; ``kind(leaf, tensor)`` makes each array."""
        return self._build([kind(leaf, tensor) for leaf, tensor in zip(self.leaves, tensors, strict=True)], ())

    def paths(self) -> list[str]:
        """Return the path to each array, for messages."""
        return [path for path, _ in pytree.named(self._build(self.tensors, ()), "")]

    def check(self, other: Leaves, what: str, than: str) -> None:
        """Raise TypeError unless ``other`` has equal structure, dtypes and shapes; ``what`` and ``than`` name both."""
        if other.structure != self.structure:
            raise TypeError(f"{what} is not built as {than} is: {other} where {self} is expected")
        for index, (own, tensor) in enumerate(zip(self.tensors, other.tensors, strict=True)):
            if own.dtype is not tensor.dtype or own.shape != tensor.shape:
                raise TypeError(
                    f"{what} is not of the dtypes and shapes of {than}: {self.paths()[index] or 'it'} is "
                    f"{described(tensor)} where {described(own)} is expected"
                )

    def __repr__(self) -> str:
        return repr(self._build([_Named(described(tensor)) for tensor in self.tensors], ()))


class _Named(str):
    """A text whose repr is itself."""

    __repr__ = str.__str__


def described(tensor: Tensor) -> str:
    return f"{to_numpy[tensor.dtype]}{tuple(tensor.shape)}"


def _truth(value: Any, what: str) -> Tensor:
    """Return the tensor of a predicate.

    Raises
    ------
    TypeError
        The predicate is not a scalar.
    """
    tensor = tensor_of(value)
    if tensor.dim():
        raise TypeError(f"{what} is a scalar, not an array of shape {tuple(tensor.shape)}: use tnp.all or tnp.any")
    return tensor


def cond(pred: Any, true_fun: Callable[..., Tree], false_fun: Callable[..., Tree], *operands: Any) -> Tree:
    """Apply ``true_fun`` or ``false_fun`` to the operands.

    Parameters
    ----------
    pred : bool or scalar array
        Selects the function: ``true_fun`` if it is not zero.
    true_fun, false_fun : callable
        Functions of the operands.
    *operands : pytrees of arrays

    Returns
    -------
    pytree of arrays
        The result of the selected function.

    Raises
    ------
    TypeError
        ``pred`` is not a scalar; or, in a compiled function, the two results differ in structure, dtype or shape.
    NotImplementedError
        In a compiled function, a branch writes to an array.

    Notes
    -----
    Outside of compiled functions this is ``if``. A compiled function traces both functions and runs one of them.

    Source: https://docs.jax.dev/en/latest/_autosummary/jax.lax.cond.html

    Examples
    --------
    >>> import tnp as np
    >>> @np.compile
    ... def half_or_triple(x):
    ...     return np.cond(x % 2 == 0, lambda x: x // 2, lambda x: 3 * x + 1, x)
    >>> half_or_triple(np.asarray(7))
    np.int64(22)
    """
    if not pytree.is_array(pred):
        return true_fun(*operands) if pred else false_fun(*operands)
    results: list[Leaves] = []
    arrays: list[list[Shares]] = []
    around: list[Tensor] = []

    def branch(function: Callable[..., Any]) -> Callable[[], list[Tensor]]:
        def run() -> list[Tensor]:
            result = Leaves(function(*operands))
            if results:
                what = f"the result of false_fun, {trace_state.named(false_fun)},"
                results[0].check(result, what, "that of true_fun")
            results.append(result)
            arrays.append([shares(leaf) if isinstance(leaf, ndarray) else [] for leaf in result.leaves])
            return result.tensors

        return run

    predicate = _truth(pred, "pred")
    tensors = control_flow.cond(predicate, branch(true_fun), branch(false_fun), around)
    known = {control_flow.storage_of(tensor): tensor for tensor in around}
    sources = iter(_shared(predicate, arrays, known) if known else ())

    def made(leaf: Any, tensor: Tensor) -> Any:
        own = next(sources, None)
        return left_view(tensor, own, "the result of cond") if own and tensor.dim() else pytree.like(leaf, tensor)

    return results[0].filled(tensors, made)


def _shared(predicate: Tensor, arrays: Sequence[Sequence[Shares]], known: dict[int, Tensor]) -> list[list[Source]]:
    """For each result of `cond` return the arrays from around it whose memory it may share."""
    found: list[list[Source]] = [[] for _ in arrays[0]]
    taken = control_flow.is_true(predicate)
    for results, condition in zip(arrays, (taken, ~taken), strict=True):
        for place, each in enumerate(results):
            for tensor, is_exact, inside in each:
                array = known.get(control_flow.storage_of(tensor))
                if array is not None:
                    when = condition if is_exact and inside is None else None
                    found[place].append(source_of(tensor, array, when, is_own=True))
    return found


def source_of(tensor: Tensor, array: Tensor, when: Tensor | None, is_own: bool) -> Source:
    """Return the source of a result that may be ``tensor``, in the memory of an array from around its branch or loop.

    The source is forgotten with the array, which then nothing else can write to or read.
    """
    base = control_flow.base_of(array)
    is_seen = not control_flow.is_recorded() or control_flow.is_from_outside(array)
    reference = (lambda: base) if is_seen else weakref.ref(base)
    return Source(reference, None if when is None else Layout.of(tensor, base), when, is_own)


def switch(index: Any, branches: Sequence[Callable[..., Tree]], *operands: Any) -> Tree:
    """Apply one of several functions to the operands.

    Parameters
    ----------
    index : int or integer scalar array
        Number of the function; clamped to the first and the last.
    branches : sequence of callables
        Functions of the operands.
    *operands : pytrees of arrays

    Returns
    -------
    pytree of arrays
        The result of the selected function.

    Raises
    ------
    ValueError
        There are no branches.
    TypeError
        ``index`` is not an integer scalar; or, in a compiled function, results differ in structure, dtype or shape.

    Notes
    -----
    Outside of compiled functions only the selected function is called. A compiled function traces all and runs one.

    Source: https://docs.jax.dev/en/latest/_autosummary/jax.lax.switch.html

    Examples
    --------
    >>> import tnp as np
    >>> branches = [np.sin, np.cos, lambda x: x * 0]
    >>> np.compile(lambda i, x: np.switch(i, branches, x))(np.asarray(1), np.asarray(0.0))
    np.float64(1.0)
    """
    branches = list(branches)
    if not branches:
        raise ValueError("switch: there are no branches")
    number = _bound(index, "the index")
    if isinstance(number, int):
        return branches[min(max(number, 0), len(branches) - 1)](*operands)

    def among(first: int, last: int) -> Tree:
        if last - first == 1:
            return branches[first](*operands)
        middle = (first + last) // 2
        return cond(index < middle, lambda: among(first, middle), lambda: among(middle, last))

    return among(0, len(branches))


def while_loop(
    cond_fun: Callable[[Tree], Any],
    body_fun: Callable[[Tree], Any],
    init_val: Tree,
    maximum_iterations: int | None = None,
) -> Tree:
    """Repeat ``val = body_fun(val)`` while ``cond_fun(val)`` is true.

    Parameters
    ----------
    cond_fun : callable
        Function of the carried value; returns a scalar.
    body_fun : callable
        Function of the carried value; returns the next, of the same structure, dtypes and shapes.
    init_val : pytree of arrays
        The first carried value. Python numbers become arrays of NumPy's default dtypes.
    maximum_iterations : int, optional
        The largest number of steps. In a compiled function reverse mode needs this bound: all these steps are then
        computed, and each takes memory.

    Returns
    -------
    pytree of arrays
        The last carried value.

    Raises
    ------
    TypeError
        The body returns another structure, dtype or shape than it got, or the condition is not a scalar.
    NotImplementedError
        In a compiled function, the body writes to an array that is not carried, or the loop is differentiated in
        reverse mode without ``maximum_iterations``.

    Notes
    -----
    Outside of compiled functions this is Python's ``while``. A compiled function traces condition and body once,
    whatever the number of steps; gradients flow through both. The body's writes to its argument stay in the loop.
    A compiled loop without ``maximum_iterations`` has forward-mode derivatives: `jvp`, and `jacobian`.
    In `vectorized_map` all elements take their steps together until none goes on; one that has ended keeps its value.

    Source: https://docs.jax.dev/en/latest/_autosummary/jax.lax.while_loop.html

    Examples
    --------
    >>> import tnp as np
    >>> @np.compile
    ... def root(x):
    ...     newton = lambda r: (r + x / r) / 2
    ...     return np.while_loop(lambda r: np.abs(r * r - x) > 1e-9, newton, x)
    >>> root(np.asarray(2.0)).round(6)
    np.float64(1.414214)
    """
    carry = Leaves(init_val)

    def condition(tensors: list[Tensor]) -> Tensor:
        return _truth(cond_fun(carry.filled(tensors)), "the result of cond_fun")

    def body(tensors: list[Tensor]) -> list[Tensor]:
        return _next(carry, body_fun(carry.filled(tensors)), body_fun)

    most = None if maximum_iterations is None else operator.index(maximum_iterations)
    return carry.filled(control_flow.while_loop(condition, body, carry.tensors, most))


def _next(carry: Leaves, value: Any, step: Callable[..., Any]) -> list[Tensor]:
    """Return what a loop's step carries on."""
    after = Leaves(value)
    carry.check(after, f"what {trace_state.named(step)} returns", "what it carries")
    return after.tensors


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Tree], Any], init_val: Tree) -> Tree:
    """Repeat ``val = body_fun(i, val)`` for i from ``lower`` up to ``upper``.

    Parameters
    ----------
    lower, upper : int or integer scalar array
        The first i, and the end, which is not included.
    body_fun : callable
        Function of i, an int64 scalar, and the carried value; returns the next, of the same structure, dtypes and
        shapes.
    init_val : pytree of arrays
        The first carried value.

    Returns
    -------
    pytree of arrays
        The last carried value.

    Raises
    ------
    TypeError
        The body returns another structure, dtype or shape than it got, or a bound is not an integer.

    Notes
    -----
    Outside of compiled functions this is Python's ``for``. A compiled function traces the body once, whatever the
    number of steps.

    Source: https://docs.jax.dev/en/latest/_autosummary/jax.lax.fori_loop.html

    Examples
    --------
    >>> import tnp as np
    >>> np.compile(lambda x: np.fori_loop(0, 10, lambda i, x: x + i, x))(np.asarray([0, 100]))
    array([ 45, 145])
    """
    carry = Leaves(init_val)

    def body(i: Tensor, tensors: list[Tensor]) -> list[Tensor]:
        return _next(carry, body_fun(pytree.like(0, i), carry.filled(tensors)), body_fun)

    return carry.filled(control_flow.fori_loop(_bound(lower), _bound(upper), body, carry.tensors))


def _bound(value: Any, what: str = "a bound") -> Any:
    """Return a bound of a loop as a Python integer or a 0-d tensor; ``what`` names it in the error."""
    if not pytree.is_array(value):
        return value.__index__()
    tensor = _truth(value, what)
    if to_numpy[tensor.dtype].kind not in "iu":
        raise TypeError(f"{what} is an integer, not {to_numpy[tensor.dtype]}")
    return int(value) if issubclass(type(value), np.generic) else tensor


def scan(
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Any, Any]:
    """Carry a value along the first axis of arrays, and stack the results of the steps.

    Parameters
    ----------
    f : callable
        Function of the carried value and of one slice of ``xs``; returns the next carried value, of the same
        structure, dtypes and shapes, and a result.
    init : pytree of arrays
        The first carried value.
    xs : pytree of arrays, optional
        Arrays whose first axes have one length. Without arrays ``f`` gets None, ``length`` times.
    length : int, optional
        Number of steps: the length of the first axes.
    reverse : bool, default False
        Go from the last slice to the first; the results are stacked in the order of ``xs``.
    unroll : int or bool, default 1
        In a compiled function, the number of steps in one turn of the loop: a larger number gives a larger graph with
        fewer turns. True unrolls the whole loop.

    Returns
    -------
    carry : pytree of arrays
        The last carried value.
    ys : pytree of arrays
        The results of all steps, stacked along a new first axis.

    Raises
    ------
    TypeError
        The next carried value has another structure, dtype or shape than the one before.
    ValueError
        The lengths differ, no length is given, or ``unroll`` is less than 1.

    Notes
    -----
    Outside of compiled functions this is a Python loop. A compiled function traces one step, or ``unroll`` steps;
    gradients flow through both.

    Source: https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html

    Examples
    --------
    >>> import tnp as np
    >>> total, sums = np.scan(lambda total, x: (total + x, total + x), 0, np.arange(5))
    >>> total
    np.int64(10)
    >>> sums
    array([ 0,  1,  3,  6, 10])
    """
    carry, given = Leaves(init), Leaves(xs)
    length = _length(given, length)
    turns = length if unroll is True else operator.index(unroll)
    if turns < 1 and length:
        raise ValueError(f"scan: unroll must be at least 1, not {unroll}")
    results: list[Leaves] = []

    def step(values: list[Tensor], x: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        found = f(carry.filled(values), given.filled(x, _element))
        if not isinstance(found, (tuple, list)) or len(found) != 2:
            raise TypeError(
                f"scan: {trace_state.named(f)} returns {type(found).__name__}: it has to return a pair, the carried "
                "value for the next step and the result of this one (or None)"
            )
        after, y = found
        result = Leaves(y)
        if results:
            results[0].check(result, f"the result of {trace_state.named(f)}", "that of the step before")
        results[:] = [result]
        return _next(carry, after, f), result.tensors

    values, ys = control_flow.scan(step, carry.tensors, given.tensors, length, reverse, unroll=turns)
    return carry.filled(values), results[0].filled(ys, _stack)


def _element(array: Any, tensor: Tensor) -> Any:
    return tensor if memory.is_tensor(array) else wrap(tensor)


def _stack(array: Any, tensor: Tensor) -> Any:
    return tensor if memory.is_tensor(array) else wrap_array(tensor)


def _length(xs: Leaves, length: int | None) -> int:
    lengths = [] if length is None else [length.__index__()]
    for tensor in xs.tensors:
        if not tensor.dim():
            raise ValueError("scan goes along the first axes of xs, but an array of it has no axes")
        if tensor.shape[0] not in lengths:  # a size that a trace leaves open has no hash
            lengths.append(tensor.shape[0])
    if len(lengths) != 1:
        known = ", ".join(map(str, sorted(lengths)))
        raise ValueError(f"the first axes of xs have different lengths: {known}" if known else "xs or length is needed")
    return lengths.pop()


def associative_scan(fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """Cumulative results of an associative operation, as ``cumsum`` is those of the sum.

    Parameters
    ----------
    fn : callable
        The operation on pairs of elements: takes two containers like ``elems``, with equal numbers of elements, and
        returns one like them.
    elems : pytree of arrays
        The elements, along an axis of each array.
    reverse : bool, default False
        Start from the last element.
    axis : int, default 0
        The axis of the elements.

    Returns
    -------
    pytree of arrays
        Built like ``elems``.

    Raises
    ------
    ValueError
        The arrays differ in their numbers of elements.
    TypeError
        ``fn`` returns something of another structure.

    Notes
    -----
    It takes about twice as many operations as `scan`, in logarithmically many calls of ``fn``.

    Source: https://docs.jax.dev/en/latest/_autosummary/jax.lax.associative_scan.html

    Examples
    --------
    >>> import tnp as np
    >>> np.associative_scan(np.add, np.arange(5))
    array([ 0,  1,  3,  6, 10])
    >>> np.associative_scan(np.maximum, np.asarray([2, 5, 3, 7]), reverse=True)
    array([7, 7, 7, 7])
    """
    tree = Leaves(elems)
    arrays = [moveaxis(wrap_array(tensor), axis, 0) for tensor in tree.tensors]
    if len({len(array) for array in arrays}) != 1:
        raise ValueError(f"associative_scan: elems has arrays of {sorted({len(array) for array in arrays})} elements")

    def filled(arrays: list[Any]) -> Any:
        return tree.filled([moveaxis(array, 0, axis).tensor for array in arrays], _stack)

    def combined(one: list[Any], other: list[Any]) -> list[Any]:
        first, second = (other, one) if reverse else (one, other)
        given = [filled([array.copy() for array in arrays]) for arrays in (first, second)]  # fn may write to them
        result = Leaves(fn(*given))
        if result.structure != Leaves(filled(first)).structure:
            raise TypeError(f"associative_scan: what fn returns is not built as elems is: {result}")
        return [moveaxis(wrap_array(tensor), axis, 0) for tensor in result.tensors]

    def scanned(arrays: list[Any]) -> list[Any]:
        length = len(arrays[0])
        if length < 2:
            return arrays
        pairs = combined([array[: length - 1 : 2] for array in arrays], [array[1::2] for array in arrays])
        odd = scanned(pairs)
        even = [array[:1] for array in arrays]
        if length > 2:
            later = combined([each[: (length - 1) // 2] for each in odd], [array[2::2] for array in arrays])
            even = [concatenate([first, rest]) for first, rest in zip(even, later, strict=True)]
        return [_woven(one, other) for one, other in zip(even, odd, strict=True)]

    if reverse:
        return filled([flip(each, 0).copy() for each in scanned([flip(array, 0) for array in arrays])])
    return filled(scanned(arrays))


def _woven(even: Any, odd: Any) -> Any:
    """Return the elements of two arrays in turn; the first array may have one more."""
    length = len(odd)
    both = stack([even[:length], odd], axis=1).reshape((2 * length, *odd.shape[1:]))
    return concatenate([both, even[length:]])
