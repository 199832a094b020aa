"""Derivatives of functions: gradients, Jacobians, Hessians and products with them.

Layer: owns which arguments are differentiated, the containers of the results, and the errors; the backend
differentiates.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from backend_torch.autodiff import autodiff, jacobians
from backend_torch.graphs.compiling import is_inside
from backend_torch.tensors import memory, trace_state
from tnp._core.base import like, ndarray, wrap_array
from tnp._core.convert import asarray, tensor_of
from tnp._transforms import pytree
from tnp._transforms.of_compiled import alike, compiled_too
from tnp._transforms.reruns import Runs

Tensor = Any
_DIFFERENTIABLE = ("float", "bfloat", "complex")
_MODES = ("auto", "forward", "reverse")


def as_array(value: Any) -> Any:
    """Return a leaf as the function sees it: a tnp array, or a scalar."""
    if isinstance(value, ndarray):
        return value
    array = asarray(value)
    return array if array.ndim else array[()]


def tensor_in(array: Any) -> Tensor:
    """Return the tensor itself of an array or a scalar: ``tensor_of`` copies a scalar's, which cuts the gradient."""
    return array.tensor if isinstance(array, ndarray) else tensor_of(array)


class _Call:
    """A call of a function, with the arrays of the differentiated arguments.

    Parameters
    ----------
    name : str
        The transform that the user called, for errors.
    fn : callable
    args : tuple
        Its positional arguments.
    kwargs : dict
    argnums : int or sequence of int
        The arguments that are differentiated.
    has_aux : bool
        Whether the function returns a pair: the differentiated value, and another.
    """

    def __init__(self, name: str, fn: Any, args: Any, kwargs: Any, argnums: Any, has_aux: bool) -> None:
        self.name, self.kwargs, self.has_aux = name, kwargs, has_aux
        self.single = not isinstance(argnums, (tuple, list))
        self.numbers: list[int] = []
        for number in argnums if isinstance(argnums, (tuple, list)) else [argnums]:
            index = operator.index(number)
            if not -len(args) <= index < len(args):
                raise ValueError(f"{name}: argnums is {argnums}, but the function is called with {len(args)} arguments")
            self.numbers.append(index % len(args))
        self.args = [
            pytree.mapped(as_array, arg, pytree.becomes_array) if number in self.numbers else arg
            for number, arg in enumerate(args)
        ]
        self.wanted = tuple([self.args[number] for number in self.numbers])
        self.arrays: list[Any] = []
        pytree.flatten(self.wanted, self.arrays)
        if not self.arrays:
            raise TypeError(f"{name}: there is no array in what is differentiated")
        self.tensors = [tensor_in(array) for array in self.arrays]
        if not autodiff.are_differentiable(self.tensors):
            self._refuse()
        self.runs = Runs(fn, args)
        self.outputs: list[Any] = []
        self.result: Any = None
        self.aux: Any = None
        self.count = 0

    def _refuse(self) -> None:
        """Raise TypeError if an array among the arguments has no derivatives."""
        for number, arg in zip(self.numbers, self.wanted, strict=True):
            for path, kind in _without_derivatives(arg, f"argument {number}"):
                raise TypeError(
                    f"{self.name}: {path} has dtype {kind}: only floating and complex numbers have derivatives; "
                    "convert it, or leave it out of argnums"
                )

    def run(self, *tensors: Tensor) -> list[Tensor]:
        """Call the function with these tensors; return the differentiated results first, then the others."""
        remaining = iter(tensors)
        wanted = pytree.mapped(lambda array: like(array, next(remaining)), self.wanted)
        args = list(self.args)
        for number, arg in zip(self.numbers, wanted, strict=True):
            args[number] = arg
        trace_state.state.differentiating.append(self.name)
        try:
            result = self.runs.run(*args, **self.kwargs)
        finally:
            trace_state.state.differentiating.pop()
        aux = None
        if self.has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError(f"{self.name}: has_aux is for functions that return a pair, not {result!r}")
            result, aux = result
        result = pytree.mapped(as_array, result, pytree.becomes_array)
        self.outputs = []
        pytree.flatten(result, self.outputs)
        self.count = len(self.outputs)
        self.result, self.aux = result, aux
        pytree.flatten(aux, self.outputs)
        return [tensor_in(array) for array in self.outputs]

    def floating(self, *tensors: Tensor) -> list[Tensor]:
        """`run`; TypeError if a result has no derivatives."""
        results = self.run(*tensors)
        self.check_floating()
        return results

    def scalar(self, *tensors: Tensor) -> list[Tensor]:
        """`run`; TypeError if the result is not one real number."""
        results = self.run(*tensors)
        self.check_scalar()
        return results

    def returned(self, tensors: Sequence[Tensor]) -> tuple[Any, Any]:
        """Return the function's result and aux, with tensors that have left the transform, which is over."""
        self.runs.end()
        remaining = iter(tensors)
        result = pytree.mapped(lambda array: _as(array, next(remaining)), self.result)
        return result, pytree.mapped(lambda array: _as(array, next(remaining)), self.aux)

    def built(self, values: Sequence[Any]) -> Any:
        """Return one value for each array, in containers like the differentiated arguments."""
        remaining = iter(values)
        built = pytree.mapped(lambda _: next(remaining), self.wanted)
        return built[0] if self.single else built

    def gradients(self, tensors: Sequence[Tensor]) -> Any:
        return self.built([like(array, tensor) for array, tensor in zip(self.arrays, tensors, strict=True)])

    def check_scalar(self) -> None:
        """Raise TypeError or ValueError unless the result is one real number."""
        if isinstance(self.result, ndarray) and autodiff.is_loss(self.result.tensor):
            return
        if type(self.result) is tuple or not isinstance(self.result, ndarray):
            raise TypeError(f"{self.name}: the function returns {self.result!r}: a gradient is that of one number")
        if self.result.shape != ():
            raise ValueError(
                f"{self.name}: the function returns an array of shape {self.result.shape}: a gradient is that of one "
                "number; take its sum, or use jacobian"
            )
        self.check_floating()
        if self.result.dtype.kind == "c":
            raise TypeError(f"{self.name}: the function returns a complex number: a gradient is that of a real one")

    def check_floating(self) -> None:
        """Raise TypeError for results of integers or booleans, which have no derivatives."""
        if autodiff.are_differentiable([tensor_in(output) for output in self.outputs[: self.count]]):
            return
        for path, kind in _without_derivatives(self.result, "the result"):
            raise TypeError(f"{self.name}: {path} has dtype {kind}, which has no derivative")


def _without_derivatives(tree: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield the path and dtype name of each array whose dtype has no derivatives."""
    for where, leaf in pytree.named(tree, path):
        if pytree.is_array(leaf) and not (kind := pytree.dtype_name(leaf)).startswith(_DIFFERENTIABLE):
            yield where, kind


def _as(array: Any, tensor: Tensor) -> Any:
    if isinstance(array, ndarray):
        return like(array, tensor)
    return tensor if memory.is_tensor(array) else array


def value_and_grad(
    fn: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes ``fn`` and its gradient.

    Parameters
    ----------
    fn : callable
        Returns one real number.
    argnums : int or sequence of int, default 0
        The positional arguments to differentiate with respect to: arrays or containers of arrays.
    has_aux : bool, default False
        Whether ``fn`` returns a pair of the number and something else.

    Returns
    -------
    callable
        Returns ``(value, gradient)``, or ``((value, aux), gradient)``; the gradient is built like the argument, or is a
        tuple of such if ``argnums`` is a sequence.

    Raises
    ------
    TypeError
        When called: an argument to differentiate with respect to holds integers or booleans, or the value isn't one
        real number.
    ValueError
        When called: the value is an array, or ``argnums`` names no argument.

    Notes
    -----
    ``fn`` may overwrite arrays that it made. A differentiated argument that it writes to is copied before. If ``fn``
    overwrites values that the gradient needs, it runs once more, and the old values are kept. If it writes to arrays
    from outside, it runs once more with copies of these, which are written back at the end. Before ``fn`` runs once
    more, what it assigned outside of itself is undone: attributes, items, globals. Its prints appear again. The
    gradient of a complex argument is torch's: the conjugate of the derivative.

    See also ``jax.value_and_grad`` and ``torch.func.grad_and_value``.

    Examples
    --------
    >>> import tnp as np
    >>> np.value_and_grad(lambda x: (x**2).sum())(np.asarray([1.0, 2.0]))
    (np.float64(5.0), array([2., 4.]))
    """

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return _value_and_grad("value_and_grad", fn, args, kwargs, argnums, has_aux)

    key = "value_and_grad", argnums, has_aux
    return compiled_too(fn, key, wrapped, lambda args: _with_arrays(args, argnums))


def _with_arrays(args: tuple[Any, ...], argnums: int | Sequence[int]) -> list[Any]:
    """Return the arguments with arrays for differentiated Python numbers: a trace takes numbers for constants."""
    numbers: Sequence[int] = argnums if isinstance(argnums, (tuple, list)) else [argnums]  # type: ignore[list-item]
    chosen = {number % len(args) for number in numbers} if args else set()
    return [_arrays(arg) if number in chosen else arg for number, arg in enumerate(args)]


def _arrays(tree: Any) -> Any:
    return pytree.mapped(as_array, tree, pytree.becomes_array)


def _value_and_grad(name: str, fn: Any, args: Any, kwargs: Any, argnums: Any, has_aux: bool) -> Any:
    call = _Call(name, fn, args, kwargs, argnums, has_aux)

    results, found = autodiff.value_and_gradients(call.scalar, call.tensors)
    value, aux = call.returned(results)
    return ((value, aux) if has_aux else value), call.gradients(found)


def grad(fn: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the gradient of ``fn``.

    Parameters
    ----------
    fn : callable
        Returns one real number.
    argnums : int or sequence of int, default 0
        The positional arguments to differentiate with respect to.
    has_aux : bool, default False
        Whether ``fn`` returns a pair of the number and something else.

    Returns
    -------
    callable
        Returns the gradient, or ``(gradient, aux)``.

    Raises
    ------
    TypeError, ValueError
        As `value_and_grad`.

    Notes
    -----
    See `value_and_grad`; ``jax.grad`` and ``torch.func.grad``.

    Examples
    --------
    >>> import tnp as np
    >>> np.grad(lambda x: (x**2).sum())(np.asarray([1.0, 2.0]))
    array([2., 4.])
    >>> np.grad(np.grad(np.sin))(0.5) == -np.sin(0.5)
    np.True_
    """

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        value, found = _value_and_grad("grad", fn, args, kwargs, argnums, has_aux)
        return (found, value[1]) if has_aux else found

    return compiled_too(fn, ("grad", argnums, has_aux), wrapped, lambda args: _with_arrays(args, argnums))


def jacobian(
    fn: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    *,
    mode: str = "auto",
    chunk_size: int | None = None,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """Return a function that computes the derivatives of each element of the result of ``fn``.

    Parameters
    ----------
    fn : callable
        Returns an array or a container of arrays.
    argnums : int or sequence of int, default 0
        The positional arguments to differentiate with respect to.
    has_aux : bool, default False
        Whether ``fn`` returns a pair of what is differentiated and something else.
    mode : {'auto', 'forward', 'reverse'}
        Forward mode takes a pass for each element of the arguments, reverse mode one for each of the results; 'auto'
        takes the one with fewer.
    chunk_size : int, optional
        Number of passes at once, by default all: a smaller number takes less memory.
    holomorphic : bool, default False
        Whether ``fn`` is a holomorphic function of complex arguments, so that it has one complex derivative.

    Returns
    -------
    callable
        Returns, for each array of the result, a container like the argument with arrays of shape
        ``result.shape + argument.shape``; or the pair of that and aux.

    Raises
    ------
    TypeError
        When called: an argument or a result holds integers or booleans; an argument is complex without
        ``holomorphic=True``; or a result is complex and the mode is 'reverse'.
    ValueError
        The mode is unknown, or when called: ``argnums`` names no argument.

    Notes
    -----
    With 'auto' forward mode calls ``fn`` once more, see `value_and_grad`.

    See also ``torch.func.jacrev`` and ``jacfwd``.

    Examples
    --------
    >>> import tnp as np
    >>> np.jacobian(lambda x: np.stack([x[0] * x[1], x[1]]))(np.asarray([2.0, 3.0]))
    array([[3., 2.],
           [0., 1.]])
    """
    if mode not in _MODES:
        raise ValueError(f"mode must be one of {', '.join(map(repr, _MODES))}, not {mode!r}")
    if chunk_size is not None and operator.index(chunk_size) < 1:
        raise ValueError(f"chunk_size must be at least 1, not {chunk_size}")

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        call = _Call("jacobian", fn, args, kwargs, argnums, has_aux)
        if not holomorphic and any(map(_is_complex, call.arrays)):
            raise TypeError(
                "jacobian: complex arrays: differentiate with respect to real and imaginary parts, or give "
                "holomorphic=True if the function is complex differentiable"
            )

        def run(*tensors: Tensor) -> list[Tensor]:
            results = call.floating(*tensors)
            if mode == "reverse" and any(map(_is_complex, call.outputs[: call.count])):
                raise TypeError("jacobian: complex results have their derivatives in forward mode")
            return results

        size = sum(tensor.numel() for tensor in call.tensors)
        found = None
        if mode != "forward" and not holomorphic:
            results, pullback = autodiff.vjp(run, call.tensors, lambda: call.count)
            outputs = results[: call.count]
            if any(map(_is_complex, call.outputs[: call.count])):
                pass  # reverse mode gives the conjugate, and for the real part only
            elif mode == "reverse" or pullback.wrote or sum(output.numel() for output in outputs) <= size:
                try:
                    found = jacobians.reverse(outputs, pullback, call.tensors, chunk_size)
                except autodiff.ForwardOnlyError:  # a compiled loop without a bound
                    if mode == "reverse":
                        raise
        if found is None:
            results, found = jacobians.forward(run, call.tensors, lambda: call.count, chunk_size)
        _, aux = call.returned(results)
        remaining = iter(found)
        built = pytree.mapped(lambda _: call.built([wrap_array(part) for part in next(remaining)]), call.result)
        return (built, aux) if has_aux else built

    key = "jacobian", argnums, has_aux, mode, chunk_size, holomorphic
    return compiled_too(fn, key, wrapped, lambda args: _with_arrays(args, argnums))


def _is_complex(array: Any) -> bool:
    return asarray(array).dtype.kind == "c"


def hessian(
    fn: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that computes the second derivatives of ``fn``: forward mode over reverse mode.

    Parameters
    ----------
    fn : callable
        Returns one real number.
    argnums : int or sequence of int, default 0
        The positional arguments to differentiate with respect to.
    has_aux : bool, default False
        Whether ``fn`` returns a pair of the number and something else.
    chunk_size : int, optional
        Number of rows at once: a smaller number takes less memory.

    Returns
    -------
    callable
        Returns, for each array of the argument, a container like the argument; or the pair of that and aux.

    Raises
    ------
    TypeError, ValueError
        As `value_and_grad` and `jacobian`.

    Notes
    -----
    See also ``jax.hessian`` and ``torch.func.hessian``.

    Examples
    --------
    >>> import tnp as np
    >>> np.hessian(lambda x: x[0] ** 2 * x[1])(np.asarray([2.0, 3.0]))
    array([[6., 4.],
           [4., 0.]])
    """
    return jacobian(grad(fn, argnums, has_aux), argnums, has_aux, mode="forward", chunk_size=chunk_size)


def vjp(fn: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Return the result of ``fn``, and a function that multiplies a vector by its Jacobian from the left.

    Parameters
    ----------
    fn : callable
    *primals : array_like or containers of arrays
        Its arguments; all are differentiated.
    has_aux : bool, default False
        Whether ``fn`` returns a pair of what is differentiated and something else.

    Returns
    -------
    value : array or container
    pullback : callable
        Takes a container like ``value``; returns a tuple of containers like ``primals``.
    aux : object
        With ``has_aux`` only.

    Raises
    ------
    TypeError
        An argument or a result holds integers or booleans.

    Notes
    -----
    See also ``jax.vjp`` and ``torch.func.vjp``.

    Examples
    --------
    >>> import tnp as np
    >>> value, pullback = np.vjp(np.sin, np.asarray([0.0, 1.0]))
    >>> pullback(np.ones(2))
    (array([1.        , 0.54030231]),)
    """
    call = _Call("vjp", fn, primals, {}, tuple(range(len(primals))), has_aux)

    results, function = autodiff.vjp(call.floating, call.tensors, lambda: call.count, True, _read(fn, call.args))
    value, aux = call.returned(results)
    outputs = results[: call.count]

    def pullback(cotangents: Any) -> Any:
        return call.gradients(function(tuple(_given("vjp", cotangents, outputs))))

    return (value, pullback, aux) if has_aux else (value, pullback)


def _read(fn: Any, args: Sequence[Any]) -> list[Tensor] | None:
    """Return what a compiled function that can be recorded reads from outside; None for any other function."""
    by = alike(fn)
    return None if by is None or is_inside() or autodiff.is_recording() else by.reads(*args)


def _given(name: str, tree: Any, expected: Sequence[Tensor]) -> list[Tensor]:
    """Return the tensors of tangents or cotangents, of the expected shapes (else ValueError) and dtypes."""
    arrays: list[Any] = []
    pytree.flatten(pytree.mapped(as_array, tree, pytree.becomes_array), arrays)
    shapes = [asarray(array).shape for array in arrays]
    wanted = [tuple(tensor.shape) for tensor in expected]
    if shapes != wanted:
        raise ValueError(f"{name}: arrays of shapes {shapes} are given for shapes {wanted}")
    return [autodiff.as_type_of(tensor_of(array), tensor) for array, tensor in zip(arrays, expected, strict=True)]


def jvp(fn: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], *, has_aux: bool = False) -> Any:
    """Return the result of ``fn``, and its derivative along ``tangents``: the Jacobian times a vector.

    Parameters
    ----------
    fn : callable
    primals : sequence
        Its arguments; all are differentiated.
    tangents : sequence
        Built like ``primals``.
    has_aux : bool, default False
        Whether ``fn`` returns a pair of what is differentiated and something else.

    Returns
    -------
    value : array or container
    derivative : array or container
        Built like ``value``.
    aux : object
        With ``has_aux`` only.

    Raises
    ------
    TypeError
        An argument or a result holds integers or booleans, or ``primals`` is no tuple or list.
    ValueError
        The shapes of the tangents aren't those of the arguments.

    Notes
    -----
    See also ``jax.jvp`` and ``torch.func.jvp``.

    Examples
    --------
    >>> import tnp as np
    >>> np.jvp(np.sin, (np.asarray(0.0),), (np.asarray(2.0),))
    (np.float64(0.0), np.float64(2.0))
    """
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise TypeError(f"jvp: {name} is a {type(given).__name__}: it is a tuple with an entry for each argument")
    if alike(fn) is not None and not is_inside():

        def along(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
            return _jvp(fn, primals, tangents, has_aux)

        compiled = compiled_too(fn, ("jvp", has_aux), along)
        return compiled(_arrays(tuple(primals)), _arrays(tuple(tangents)))
    return _jvp(fn, primals, tangents, has_aux)


def _jvp(fn: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool) -> Any:
    call = _Call("jvp", fn, tuple(primals), {}, tuple(range(len(primals))), has_aux)

    # Copies: a function that writes to its arguments writes to their tangents too.
    along = [memory.copied(tensor) for tensor in _given("jvp", tuple(tangents), call.tensors)]
    results, derivatives = autodiff.jvp(call.floating, call.tensors, along, lambda: call.count)
    value, aux = call.returned(results)
    remaining = iter(derivatives)
    derivative = pytree.mapped(lambda array: like(array, next(remaining)), call.result)
    return (value, derivative, aux) if has_aux else (value, derivative)


def linearize(fn: Callable[..., Any], *primals: Any) -> Any:
    """Return the result of ``fn``, and its derivative at ``primals`` as a function that can be applied repeatedly.

    Parameters
    ----------
    fn : callable
    *primals : array_like or containers of arrays
        Its arguments; all are differentiated.

    Returns
    -------
    value : array or container
    derivative : callable
        Takes tangents, one for each of ``primals`` and built like it; returns a container like ``value``. It does not
        run ``fn`` again.

    Raises
    ------
    TypeError
        An argument or a result holds integers or booleans.

    Notes
    -----
    See also ``jax.linearize`` and ``torch.func.linearize``.

    Examples
    --------
    >>> import tnp as np
    >>> value, derivative = np.linearize(np.sin, np.asarray([0.0, 1.0]))
    >>> derivative(np.ones(2))
    array([1.        , 0.54030231])
    """
    call = _Call("linearize", fn, primals, {}, tuple(range(len(primals))), False)

    results, function = autodiff.linearize(call.floating, call.tensors, lambda: call.count, True, _read(fn, call.args))
    value, _ = call.returned(results)

    def derivative(*tangents: Any) -> Any:
        remaining = iter(function(*_given("linearize", tangents, call.tensors)))
        return pytree.mapped(lambda array: like(array, next(remaining)), call.result)

    return value, derivative
