"""Custom derivatives: none at all, recomputation, or a rule of the function's own.

Layer: owns the arguments and results of such functions. The backend registers their rules with autograd.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from backend_torch.autodiff import autodiff
from backend_torch.autodiff.replayed_draws import Draws
from tnp._core.base import like, wrap
from tnp._core.convert import tensor_of
from tnp._transforms import pytree
from tnp._transforms.gradients import as_array, vjp
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
    warning. What it reads from outside must not be written to before the gradient is taken.

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

        remaining = iter(autodiff.checkpoint(run))
        runs.end()
        return pytree.mapped(lambda array: like(array, next(remaining)), result)

    return wrapped


def custom_gradient(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function a gradient of its own.

    Parameters
    ----------
    fn : callable
        Takes arrays, and returns a pair: its result, an array or a tuple of arrays, and a function that takes a
        gradient for each result and returns one for each argument.

    Returns
    -------
    callable
        Returns the results alone.

    Raises
    ------
    ValueError
        When differentiated: the gradients and the arguments differ in number or in a shape.

    Notes
    -----
    When the gradient is needed, ``fn`` is called again for its function, which can be differentiated as well.

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
    def wrapped(*args: Any) -> Any:
        arrays = [as_array(arg) for arg in args]
        single, drawn = False, Draws()

        def call(tensors: Sequence[Tensor]) -> tuple[list[Tensor], Any]:
            nonlocal single
            result, gradient = fn(*[like(array, tensor) for array, tensor in zip(arrays, tensors, strict=True)])
            single = not isinstance(result, (tuple, list))
            return [tensor_of(each) for each in ([result] if single else result)], gradient

        def gradients(tensors: Sequence[Tensor], upstream: Sequence[Tensor]) -> list[Any]:
            with drawn.again():
                _, gradient = call(tensors)
            given = gradient(*[wrap(tensor) for tensor in upstream])
            given = list(given) if isinstance(given, (tuple, list)) else [given]
            if len(given) != len(arrays):
                raise ValueError(f"custom_gradient: {len(given)} gradients for {len(arrays)} arguments")
            return [
                None if each is None else _fitting(tensor_of(each), array, index)
                for index, (each, array) in enumerate(zip(given, arrays, strict=True))
            ]

        with drawn:
            results = autodiff.custom(lambda *tensors: call(tensors)[0], gradients, [tensor_of(a) for a in arrays])
        made = tuple([wrap(result) for result in results])
        return made[0] if single else made

    return wrapped


def custom_jvp(fn: Callable[..., Any]) -> CustomJvp:
    """Give a function a forward-mode derivative of its own; the reverse mode follows from it.

    Parameters
    ----------
    fn : callable
        Takes arrays, and returns an array or a tuple of arrays.

    Returns
    -------
    CustomJvp
        A function like ``fn``; its method ``defjvp`` takes the rule: a function of a tuple of arguments and a tuple of
        their tangents, linear in the tangents, that returns the result and its tangent.

    Raises
    ------
    ValueError
        When differentiated: ``defjvp`` has not been called, or a tangent has another shape than its result.

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
        self._call = custom_gradient(self._with_gradient)
        functools.update_wrapper(self, fn)

    def __call__(self, *args: Any) -> Any:
        return self._call(*args)

    def defjvp(self, rule: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """Set the rule of the derivative and return it, as a decorator does."""
        self._rule = rule
        return rule

    def _with_gradient(self, *primals: Any) -> tuple[Any, Callable[..., Any]]:
        result = self._fn(*primals)

        def gradient(*upstream: Any) -> Any:
            if self._rule is None:
                raise ValueError("custom_jvp: the function has no rule: call its defjvp")
            rule = self._rule
            zeros = [like(array, autodiff.zeros(array.tensor)) for array in primals]
            _, pullback = vjp(lambda *tangents: rule(primals, tangents)[1], *zeros)
            return pullback(upstream if isinstance(result, (tuple, list)) else upstream[0])

        return result, gradient


def _fitting(gradient: Tensor, argument: Any, index: int) -> Tensor:
    """Return a gradient in the shape of its argument; ValueError if it does not fit."""
    if tuple(gradient.shape) != argument.shape:
        raise ValueError(
            f"custom_gradient: gradient {index} has shape {tuple(gradient.shape)}, but the argument {argument.shape}"
        )
    return gradient
