"""Custom derivatives: none at all, recomputation, or a rule of the function's own.

Layer: owns the arguments and results of such functions. The backend registers their rules with autograd.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from backend_torch.autodiff import autodiff
from backend_torch.autodiff.replayed_draws import Draws
from backend_torch.tensors import memory, trace_state
from tnp._core.base import like, ndarray, wrap, wrap_array
from tnp._core.convert import tensor_of
from tnp._core.strided_views import UNDESCRIBED
from tnp._transforms import pytree
from tnp._transforms.gradients import as_array, tensor_in, vjp
from tnp._transforms.of_compiled import alike, mark
from tnp._transforms.reruns import Runs

Tensor = Any
Tree = TypeVar("Tree")


def stop_gradient(x: Tree) -> Tree:
    """Return the same values as constants: no gradient flows to them.

    Parameters
    ----------
    x : array or container of arrays

    Returns
    -------
    array or container
        Over the same memory.

    Notes
    -----
    See also ``jax.lax.stop_gradient`` and ``tf.stop_gradient``.

    Examples
    --------
    >>> import tnp as np
    >>> np.grad(lambda x: x * np.stop_gradient(x))(3.0)
    np.float64(3.0)
    """
    return pytree.mapped(lambda array: like(array, autodiff.detached(array.tensor)), pytree.mapped(as_array, x))


def checkpoint(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function recompute its intermediate values for the gradient instead of keeping them.

    Parameters
    ----------
    fn : callable

    Returns
    -------
    callable

    Notes
    -----
    This takes less memory and more time. It acts on ``GradientTape`` and on torch's ``backward``. ``grad`` and the
    other transforms keep the values; ``tnp.compile`` decides itself what to recompute. A function that writes to an
    array from outside, to its arguments, or to what the gradient needs, is not run again: its values are kept, with a
    warning. What it reads from outside must not be written to before the gradient is taken: of tnp's and NumPy's arrays
    a RuntimeError tells, if it reads them by tnp's functions or has a name for them (``c``, not ``self.c``); what else
    Python or NumPy itself reads (an attribute, an item of a list) nobody watches.

    The recomputation draws the same random numbers from ``tnp.random`` and from torch's default generators, but not
    from other libraries' generators, such as NumPy's own.

    See also ``jax.checkpoint`` and ``torch.utils.checkpoint``.

    Examples
    --------
    >>> import tnp as np
    >>> x = np.asarray(3.0)
    >>> with np.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = np.checkpoint(lambda x: np.sin(x) ** 2)(x)
    >>> np.allclose(tape.gradient(y, x), 2 * np.sin(3.0) * np.cos(3.0))
    True
    """

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        tensors: list[Any] = []
        result: Any = None
        runs = Runs(fn, args)

        def run() -> tuple[Tensor, ...]:
            nonlocal result
            tensors.clear()
            result = pytree.mapped(as_array, runs.run(*args, **kwargs), pytree.becomes_array)
            pytree.flatten(result, tensors)
            return tuple([tensor_of(array) for array in tensors])

        remaining = iter(autodiff.checkpoint(run, trace_state.named(fn), _captured(fn)))
        runs.end()
        return pytree.mapped(lambda array: like(array, next(remaining)), result)

    if (by := alike(fn)) is None:
        return wrapped
    mark(wrapped, by.compiles, by.reads)  # itself it runs compiled code; its transforms are compiled as a whole
    return by.kept("checkpoint", lambda: wrapped)


def _captured(fn: Any) -> dict[str, Any]:
    """Return the arrays from outside that a function has names for: NumPy's, and the tensors of tnp's."""
    function = inspect.unwrap(getattr(fn, "__func__", fn))
    code = getattr(function, "__code__", None)
    if code is None:
        return {}
    named = {name: function.__globals__[name] for name in code.co_names if name in function.__globals__}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # a variable that is not assigned yet
            named[name] = cell.cell_contents
    found = {name: value.tensor if isinstance(value, ndarray) else value for name, value in named.items()}
    return {
        name: value
        for name, value in found.items()
        if memory.is_tensor(value) or (type(value) is np.ndarray and value.dtype.kind in "biufc")
    }


def custom_gradient(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function a gradient of its own.

    Parameters
    ----------
    fn : callable
        Takes arrays, containers of arrays and other values, and returns a pair: its result, an array or a tuple or
        another container of arrays, and a function that takes a gradient for each result and returns one for each
        argument, built like it. None stands for zeros, and for arguments that have no gradient.

    Returns
    -------
    callable
        Returns the results alone.

    Raises
    ------
    ValueError
        When differentiated: the gradients and the arguments differ in number, structure or a shape.
    NotImplementedError
        When differentiated: the derivative depends on what ``fn`` wrote to an argument.

    Notes
    -----
    When the gradient is needed, ``fn`` is called again for its function, which can be differentiated as well, with
    copies of the arguments as they were. Arguments by name come in the order of the signature, and defaults too.

    See also ``tf.custom_gradient`` and ``jax.custom_vjp``.

    Examples
    --------
    >>> import tnp as np
    >>> @np.custom_gradient
    ... def log1pexp(x):
    ...     e = np.exp(x)
    ...     return np.log(1 + e), lambda upstream: upstream * (1 - 1 / (1 + e))
    >>> np.grad(log1pexp)(100.0)
    np.float64(1.0)
    """

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        def gradients(args: tuple[Any, ...], upstream: tuple[Any, ...]) -> list[Any]:
            given = fn(*args)[1](*upstream)
            given = list(given) if isinstance(given, (tuple, list)) else [given]
            if len(given) not in (count, len(args)):
                raise ValueError(f"custom_gradient: {len(given)} gradients for {len(args)} arguments")
            given += [None] * (len(args) - len(given))
            names = [f"gradient {index}" for index in range(len(args))]
            return [part for each in zip(given, args, names, strict=True) for part in _parts(*each)]

        count, args = len(args), _positional(fn, args, kwargs)
        return _custom(lambda *args: fn(*args)[0], args, gradients)

    return wrapped


def _positional(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Return all arguments of a call, defaults too, by position; TypeError for one that has only a name."""
    try:
        signature = inspect.signature(fn)
    except ValueError:  # of a builtin
        pass
    else:
        bound = signature.bind(*args, **kwargs)
        kwargs = bound.kwargs
        bound.apply_defaults()
        args = bound.args
    if kwargs:
        raise TypeError(f"a function with a derivative of its own takes no argument by name alone: {', '.join(kwargs)}")
    return args


def _custom(
    fn: Callable[..., Any], args: tuple[Any, ...], gradients: Callable[[tuple[Any, ...], tuple[Any, ...]], list[Any]]
) -> Any:
    """Return ``fn(*args)``, whose derivative is ``gradients(args, gradients of the results)``: one for each array.

    Where something differentiates, ``fn`` gets copies, because the derivative is that at the values before ``fn`` wrote
    to them. What it wrote is then written to the arguments.
    """
    args = pytree.mapped(as_array, args, pytree.becomes_array)
    arrays: list[Any] = []
    pytree.flatten(args, arrays)
    tensors = [tensor_in(array) for array in arrays]
    is_copied = any(map(autodiff.may_be_differentiated, tensors)) or any(type(each) in UNDESCRIBED for each in arrays)
    drawn, result, written = Draws(), None, list[int]()

    def built(tensors: Sequence[Tensor], is_copied: bool) -> Any:
        remaining = iter([memory.copied(tensor) for tensor in tensors] if is_copied else tensors)
        return pytree.mapped(lambda array: like(array, next(remaining)), args)

    def run(*tensors: Tensor) -> list[Tensor]:
        nonlocal result, written
        own: list[Any] = []
        given = built(tensors, is_copied)
        pytree.flatten(given, own)
        versions = [_writes(each) for each in own]
        result = pytree.mapped(as_array, fn(*given), pytree.becomes_array)
        written = [i for i, each in enumerate(own) if is_copied and _writes(each) != versions[i]]
        leaves: list[Any] = []
        pytree.flatten(result, leaves)
        return [tensor_in(leaf) for leaf in leaves] + [memory.copied(own[i].tensor) for i in written]

    def pulled(tensors: Sequence[Tensor], upstream: Sequence[Tensor]) -> list[Any]:
        weights = _in_place_of_arrays(result, upstream)
        with drawn.again():
            given = built(tensors, True)
            found = gradients(given, tuple(weights) if isinstance(result, (tuple, list)) else (weights,))
        return [None if each is None else tensor_in(each) for each in found]

    with drawn:
        results = autodiff.custom(run, pulled, tensors)
    made = _in_place_of_arrays(result, results)
    for index, values in zip(written, results[len(results) - len(written) :], strict=True):
        arrays[index][...] = wrap_array(autodiff.without_rule(values))
    return made


def _writes(array: Any) -> int:
    return autodiff.version(memory.unwrapped(array.tensor))


def _in_place_of_arrays(tree: Any, tensors: Sequence[Tensor]) -> Any:
    remaining = iter(tensors)
    return pytree.mapped(lambda _: wrap(next(remaining)), tree)


def _parts(gradient: Any, argument: Any, name: str) -> list[Any]:
    """Return the gradient of each array of an argument; None for zeros. ValueError if one does not fit."""
    if pytree.is_array(argument):
        gradient = None if gradient is None else as_array(gradient)
        if gradient is not None and gradient.shape != argument.shape:
            raise ValueError(
                f"custom_gradient: {name} has shape {gradient.shape}, but the argument {argument.shape}"
            )
        return [gradient]
    children = pytree.children(argument)
    if children is None:
        return []
    given = dict.fromkeys(children) if gradient is None else pytree.children(gradient)
    if given is None or set(given) != set(children):
        raise ValueError(f"custom_gradient: {name} is built differently from the argument {argument!r}")
    return [part for key, child in children.items() for part in _parts(given[key], child, f"{name}[{key!r}]")]


def custom_jvp(fn: Callable[..., Any]) -> CustomJvp:
    """Give a function a forward-mode derivative of its own; the reverse mode follows from it.

    Parameters
    ----------
    fn : callable
        Takes arrays, containers of arrays and other values, and returns an array or a container of arrays.

    Returns
    -------
    CustomJvp
        A function like ``fn``; its method ``defjvp`` takes the rule: a function of a tuple of arguments and a tuple of
        their tangents, linear in the tangents, that returns the result and its tangent. Tangents of integers are zeros.

    Raises
    ------
    ValueError
        When differentiated: ``defjvp`` has not been called, or a tangent has another shape than its result.
    NotImplementedError
        When differentiated: the derivative depends on what ``fn`` wrote to an argument.

    Notes
    -----
    Gradients are the rule's transpose, which `vjp` finds; the rule can be differentiated as well.

    See also `custom_gradient`, which takes a gradient, and ``jax.custom_jvp``.

    Examples
    --------
    >>> import tnp as np
    >>> @np.custom_jvp
    ... def log1pexp(x):
    ...     return np.log(1 + np.exp(x))
    >>> @log1pexp.defjvp
    ... def log1pexp_jvp(primals, tangents):
    ...     (x,), (x_dot,) = primals, tangents
    ...     return log1pexp(x), (1 - 1 / (1 + np.exp(x))) * x_dot
    >>> np.grad(log1pexp)(100.0)
    np.float64(1.0)
    >>> np.jvp(log1pexp, (0.0,), (2.0,))
    (np.float64(0.6931471805599453), np.float64(1.0))
    """
    return CustomJvp(fn)


class CustomJvp:
    """A function with a forward-mode rule, made by `custom_jvp`."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._rule: Callable[[Any, Any], Any] | None = None
        self._fn = fn
        functools.update_wrapper(self, fn)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _custom(self._fn, _positional(self._fn, args, kwargs), self._gradients)

    def defjvp(self, rule: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """Set the rule of the derivative and return it, as a decorator does."""
        self._rule = rule
        return rule

    def _gradients(self, primals: tuple[Any, ...], upstream: tuple[Any, ...]) -> list[Any]:
        if self._rule is None:
            raise ValueError("custom_jvp: the function has no rule: call its defjvp")
        rule = self._rule
        arrays: list[Any] = []
        pytree.flatten(primals, arrays)
        zeros = [like(array, autodiff.zeros(array.tensor)) for array in arrays]
        places = [place for place, array in enumerate(arrays) if autodiff.is_differentiable(array.tensor)]

        def tangent(*given: Any) -> Any:
            remaining = iter([given[places.index(i)] if i in places else zero for i, zero in enumerate(zeros)])
            return rule(primals, pytree.mapped(lambda _: next(remaining), primals))[1]

        result, pullback = vjp(tangent, *[zeros[place] for place in places])
        found = pullback(upstream if isinstance(result, (tuple, list)) else upstream[0])
        return [found[places.index(i)] if i in places else None for i in range(len(arrays))]
