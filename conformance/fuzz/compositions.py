"""Compositions: a small function under two to four transforms (compile, derivatives, maps, loops), against plain torch.

Layer: owns the functions, the transforms, and the same transforms on torch's tensors, by Python loops and
torch.autograd alone.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

import tnp
from backend_torch.autodiff.autodiff import ForwardOnlyError
from conformance import trials
from conformance.fuzz.compare import Disagreement

Function = Callable[[Any], Any]
LENGTH = 3
_REFUSALS = (NotImplementedError, ForwardOnlyError, tnp.TracedValueError)  # their texts say what to write instead
_ADVICE = (  # texts of other errors that do
    "GradientTape(overwrites=True)",
    "it is being batched or differentiated",
    "use tnp.grad there instead",
)
_CHAOTIC = 1e6  # larger results depend on rounding
_STEPS = {  # of loops, and calls that a derivative makes
    "repeats": 20, "writes in a loop": 21, "rebinds in a loop": 40, "halves": 6, "long scan": 18, "scan": 3,
    "map_fn": 3, "vectorized_map": 2, "cond": 2, "fori_loop": 3, "fori_loop to a traced bound": 3, "while_loop": 3,
    "grad": 2, "jvp": 2, "vjp": 2, "linearize": 3, "tape": 2, "jacobian": 4, "tape's jacobian": 4, "hessian": 8,
    "checkpoint": 2, "switch": 2, "if": 2, "for": 18, "vmap of columns": 2,
}  # fmt: skip
_MOST_STEPS = 150  # what takes more is drawn again: it takes minutes, and finds no more


class State:
    """The arrays of one library that the functions read and write besides their arguments."""

    def __init__(self, made: Callable[[Any], Any]) -> None:
        self.made = made
        self.numbers = np.zeros(3)  # NumPy's own
        self.places = np.array([2, 0])
        self.fill()

    def fill(self, factor: float = 1.0) -> None:
        """Give all arrays their values, times a factor."""
        self.buffer = self.made([factor * each for each in (0.5, -1.0, 0.25)])
        self.captured = self.made([factor * each for each in (0.5, 1.5, -0.75)])
        self.attribute = self.made([factor * each for each in (0.1, 0.2, 0.3)])
        self.steps = self.made(3 if factor == 1.0 else 2)
        self.numbers[:] = [factor * each for each in (1.25, -0.5, 0.75)]


# Functions of an array and the state: first NumPy code, then the same on torch's tensors without writes.


def _is_scaled(x: Any, state: State) -> Any:
    return tnp.sin(x) * state.captured


def _scaled(x: Any, state: State) -> Any:
    return torch.sin(x) * state.captured


def _reads_numpy(x: Any, state: State) -> Any:
    return tnp.tanh(x) * state.numbers


def _with_numpy(x: Any, state: State) -> Any:
    return torch.tanh(x) * torch.as_tensor(state.numbers)


def _writes_a_copy(x: Any, state: State) -> Any:
    y = x.copy()
    y[1:] *= x[:-1]
    return tnp.sin(y)


def _copied(x: Any, state: State) -> Any:
    return torch.sin(torch.cat([x[:1], x[1:] * x[:-1]]))


def _fills(x: Any, state: State) -> Any:
    y = tnp.zeros_like(x)
    y[::2] = x[::2] ** 2
    y += x
    return y * 0.5


def _filled(x: Any, state: State) -> Any:
    return (x + x**2 * torch.tensor([1.0, 0.0, 1.0], dtype=x.dtype)) * 0.5


def _writes_its_argument(x: Any, state: State) -> Any:
    x *= state.captured
    return tnp.sin(x)


def _overwritten(x: Any, state: State) -> Any:
    return torch.sin(x * state.captured)


def _writes_outside(x: Any, state: State) -> Any:
    state.buffer[...] = x * 2
    return tnp.sin(state.buffer) * x


def _outside(x: Any, state: State) -> Any:
    state.buffer = x * 2
    return torch.sin(state.buffer) * x


def _writes_an_element(x: Any, state: State) -> Any:
    state.buffer[1] = x[0] * x[2]
    return tnp.tanh(x * state.buffer)


def _element(x: Any, state: State) -> Any:
    state.buffer = torch.stack([state.buffer[0], x[0] * x[2], state.buffer[2]])
    return torch.tanh(x * state.buffer)


def _writes_by_out(x: Any, state: State) -> Any:
    tnp.multiply(x, x, out=state.buffer)
    return state.buffer * 0.5 + x


def _by_out(x: Any, state: State) -> Any:
    state.buffer = x * x
    return state.buffer * 0.5 + x


def _adds_outside(x: Any, state: State) -> Any:
    state.buffer += tnp.sin(x)
    return state.buffer * x


def _added(x: Any, state: State) -> Any:
    state.buffer = state.buffer + torch.sin(x)
    return state.buffer * x


def _rebinds(x: Any, state: State) -> Any:
    state.attribute = state.attribute * 0.5 + x
    return tnp.cos(state.attribute)


def _rebound(x: Any, state: State) -> Any:
    state.attribute = state.attribute * 0.5 + x
    return torch.cos(state.attribute)


def _multiplies(x: Any, state: State) -> Any:
    return tnp.outer(x, x) @ x / (1 + (x * x).sum())


def _multiplied(x: Any, state: State) -> Any:
    return torch.outer(x, x) @ x / (1 + (x * x).sum())


def _sorts(x: Any, state: State) -> Any:
    return tnp.cumsum(tnp.sort(x) * state.captured)


def _sorted(x: Any, state: State) -> Any:
    return torch.cumsum(torch.sort(x)[0] * state.captured, 0)


def _masks(x: Any, state: State) -> Any:
    y = x * 1.0
    y[y > 0] *= 2
    return tnp.sin(y)


def _masked(x: Any, state: State) -> Any:
    return torch.sin(torch.where(x > 0, x * 2, x))


def _writes_at_places(x: Any, state: State) -> Any:
    y = x * x
    y[state.places] = x[:2] ** 3
    return y * 0.5


def _at_places(x: Any, state: State) -> Any:
    return torch.stack([x[1] ** 3, x[1] ** 2, x[0] ** 3]) * 0.5


def _adds_at_places(x: Any, state: State) -> Any:
    y = tnp.sin(x)
    tnp.add.at(y, tnp.asarray([2, 0, 2]), x * state.captured)
    return y


def _added_at_places(x: Any, state: State) -> Any:
    z = x * state.captured
    return torch.sin(x) + torch.stack([z[1], 0 * z[1], z[0] + z[2]])


def _writes_where_it_is_least(x: Any, state: State) -> Any:
    y = tnp.zeros_like(x)
    y[tnp.argmin(x)] = x[0] * x[1]
    return y + x


def _where_it_is_least(x: Any, state: State) -> Any:
    return torch.where(torch.arange(LENGTH) == torch.argmin(x), x[0] * x[1], 0.0) + x


def _puts_outside(x: Any, state: State) -> Any:
    tnp.put(state.buffer, state.places, x[:2] * 2)
    return tnp.sin(state.buffer) * x


def _put_outside(x: Any, state: State) -> Any:
    state.buffer = torch.stack([x[1] * 2, state.buffer[1], x[0] * 2])
    return torch.sin(state.buffer) * x


def _repeats(x: Any, state: State) -> Any:
    return tnp.fori_loop(0, 20, lambda i, c: tnp.sin(c) + 0.01 * i, x)


def _repeated(x: Any, state: State) -> Any:
    for i in range(20):
        x = torch.sin(x) + 0.01 * i
    return x


def _reverses(x: Any, state: State) -> Any:
    y = x[::-1]
    return tnp.concatenate([y[:1], y[1:] * x[1:]])


def _reversed(x: Any, state: State) -> Any:
    y = x.flip(0)
    return torch.cat([y[:1], y[1:] * x[1:]])


def _writes_after_a_branch(x: Any, state: State) -> Any:
    y = x * 1.0
    z = y
    if x[2] > 0.1:
        y = y * 2 + 1
    y[0] = x[1] * x[2]
    return tnp.sin(z) * y


def _after_a_branch(x: Any, state: State) -> Any:
    first = (x[1] * x[2])[None]
    if x[2] > 0.1:
        return torch.sin(x) * torch.cat([first, x[1:] * 2 + 1])
    y = torch.cat([first, x[1:]])
    return torch.sin(y) * y


def _writes_to_a_chosen_view(x: Any, state: State) -> Any:
    y = x * 1.0
    if x[0] > 0:
        z = y[:2]
    else:
        z = y[1:]
    z *= 2 * x[1]
    return tnp.sin(y)


def _chosen_view(x: Any, state: State) -> Any:
    doubled = x * 2 * x[1]
    return torch.sin(torch.cat([doubled[:2], x[2:]] if x[0] > 0 else [x[:1], doubled[1:]]))


def _writes_outside_in_a_branch(x: Any, state: State) -> Any:
    if x[1] > 0:
        state.buffer[0] = x[0] * x[1]
    else:
        state.buffer += x
    return x * state.buffer


def _in_a_branch(x: Any, state: State) -> Any:
    rest = state.buffer
    state.buffer = torch.cat([(x[0] * x[1])[None], rest[1:]]) if x[1] > 0 else rest + x
    return x * state.buffer


def _writes_in_a_loop(x: Any, state: State) -> Any:
    y = x * 1.0
    for i in range(21):
        y[i % 3] = 0.5 * tnp.sin(y[(i + 1) % 3]) + 0.25 * y[i % 3] * x[2]
    y[0] *= 2
    return y


def _in_a_loop(x: Any, state: State) -> Any:
    y = list(x)
    for i in range(21):
        y[i % 3] = 0.5 * torch.sin(y[(i + 1) % 3]) + 0.25 * y[i % 3] * x[2]
    return torch.stack([y[0] * 2, *y[1:]])


def _rebinds_in_a_loop(x: Any, state: State) -> Any:
    y = x * 1.0
    for _ in range(40):
        y[1] = tnp.cos(y[0])
        y = y * 0.5 + x
    state.attribute = y + state.attribute
    y[0] = 1
    return y * x


def _rebound_in_a_loop(x: Any, state: State) -> Any:
    y = x
    for _ in range(40):
        y = torch.stack([y[0], torch.cos(y[0]), y[2]]) * 0.5 + x
    state.attribute = y + state.attribute
    return torch.cat([torch.ones_like(y[:1]), y[1:]]) * x


def _halves(x: Any, state: State) -> Any:
    y, steps = x * 1.0, 0
    while y.sum() > 0.3 and steps < 6:
        y = y * 0.5
        y[steps % 3] = x[0] * y[1]
        steps += 1
    return y + steps


def _halved(x: Any, state: State) -> Any:
    y, steps = x, 0
    while y.sum() > 0.3 and steps < 6:
        parts = list(y * 0.5)
        parts[steps % 3] = x[0] * parts[1]
        y, steps = torch.stack(parts), steps + 1
    return y + steps


def _is_smooth(x: Any, state: State) -> Any:
    return tnp.tanh(x) ** 3


def _smooth(x: Any, state: State) -> Any:
    return torch.tanh(x) ** 3


FUNCTIONS: dict[str, tuple[Callable[[Any, State], Any], Callable[[Any, State], Any]]] = {
    "smooth": (_is_smooth, _smooth),
    "scaled": (_is_scaled, _scaled),
    "reads NumPy's": (_reads_numpy, _with_numpy),
    "writes a copy": (_writes_a_copy, _copied),
    "fills": (_fills, _filled),
    "writes its argument": (_writes_its_argument, _overwritten),
    "writes outside": (_writes_outside, _outside),
    "writes an element outside": (_writes_an_element, _element),
    "writes outside by out=": (_writes_by_out, _by_out),
    "adds outside": (_adds_outside, _added),
    "rebinds an attribute": (_rebinds, _rebound),
    "multiplies": (_multiplies, _multiplied),
    "sorts": (_sorts, _sorted),
    "masks": (_masks, _masked),
    "writes at places": (_writes_at_places, _at_places),
    "adds at places": (_adds_at_places, _added_at_places),
    "writes where it is least": (_writes_where_it_is_least, _where_it_is_least),
    "puts outside": (_puts_outside, _put_outside),
    "repeats": (_repeats, _repeated),
    "reverses": (_reverses, _reversed),
    "writes after a branch": (_writes_after_a_branch, _after_a_branch),
    "writes to a chosen view": (_writes_to_a_chosen_view, _chosen_view),
    "writes outside in a branch": (_writes_outside_in_a_branch, _in_a_branch),
    "writes in a loop": (_writes_in_a_loop, _in_a_loop),
    "rebinds in a loop": (_rebinds_in_a_loop, _rebound_in_a_loop),
    "halves": (_halves, _halved),
}

# The transforms: each turns a function of LENGTH numbers into another such function.


def _total(f: Function) -> Function:
    return lambda x: f(x).sum()


def _jvp(f: Function, state: State, backend: str | None) -> Function:
    return lambda x: tnp.jvp(f, (x,), (tnp.asarray([1.0, -0.5, 2.0]),))[1]


def _vjp(f: Function, state: State, backend: str | None) -> Function:
    return lambda x: tnp.vjp(f, x)[1](tnp.asarray([1.0, -0.5, 2.0]))[0]


def _linearize(f: Function, state: State, backend: str | None) -> Function:
    return lambda x: tnp.linearize(f, x)[1](tnp.asarray([1.0, -0.5, 2.0]))


def _tape(f: Function, state: State, backend: str | None) -> Function:
    def run(x: Any) -> Any:
        with tnp.GradientTape() as tape:
            x = x * 1.0
            tape.watch(x)
            y = f(x).sum()
        found = tape.gradient(y, x)
        return tnp.zeros_like(x) if found is None else found

    return run


def _tapes_jacobian(f: Function, state: State, backend: str | None) -> Function:
    def run(x: Any) -> Any:
        with tnp.GradientTape() as tape:
            x = x * 1.0
            tape.watch(x)
            y = f(x)
        found = tape.jacobian(y, x)
        return tnp.zeros_like(x) if found is None else found.sum(0)

    return run


def _vmap(f: Function, state: State, backend: str | None) -> Function:
    return lambda x: tnp.vectorized_map(f, tnp.stack([x, x * 0.5, -x])).sum(0)


def _map_fn(f: Function, state: State, backend: str | None) -> Function:
    return lambda x: tnp.map_fn(f, tnp.stack([x, x * 0.5, -x])).sum(0)


def _cond(f: Function, state: State, backend: str | None) -> Function:
    return lambda x: tnp.cond(x[0] > 0.2, f, lambda x: f(x * 1.0) * 0.5 - x, x * 1.0)


def _scan(f: Function, state: State, backend: str | None) -> Function:
    def run(x: Any) -> Any:
        carry, rows = tnp.scan(lambda c, r: (f(c * 1.0) + r, c * r), x * 1.0, tnp.stack([x, x * 0.5, -x]))
        return carry + rows.sum(0)

    return run


def _long_scan(f: Function, state: State, backend: str | None) -> Function:
    def run(x: Any) -> Any:
        carry, _ = tnp.scan(lambda c, i: (f(c) * 0.5 + i * 0.01, None), x * 1.0, tnp.arange(18.0))
        return carry

    return run


def _fori(f: Function, state: State, backend: str | None) -> Function:
    return lambda x: tnp.fori_loop(0, 3, lambda i, c: f(c) * 0.5, x * 1.0)


def _traced_fori(f: Function, state: State, backend: str | None) -> Function:
    return lambda x: tnp.fori_loop(0, state.steps, lambda i, c: f(c) * 0.5, x * 1.0)


def _while(f: Function, state: State, backend: str | None) -> Function:
    def run(x: Any) -> Any:
        return tnp.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, f(c[1]) * 0.5), (0, x * 1.0))[1]

    return run


def _switch(f: Function, state: State, backend: str | None) -> Function:
    return lambda x: tnp.switch((x[0] > 0.2).astype(int), [lambda x: f(x * 1.0) * 0.5 - x, f], x * 1.0)


def _if(f: Function, state: State, backend: str | None) -> Function:
    def run(x: Any) -> Any:
        if x[0] > 0.2:
            return f(x * 1.0)
        return f(x * 1.0) * 0.5 - x

    return run


def _for(f: Function, state: State, backend: str | None) -> Function:
    def run(x: Any) -> Any:
        x = x * 1.0
        for i in range(18):
            x = f(x) * 0.5 + i * 0.01
        return x

    return run


def _columns(f: Function, state: State, backend: str | None) -> Function:
    return lambda x: tnp.vmap(f, in_axes=1, out_axes=1)(tnp.stack([x, x * 0.5, -x], 1)).sum(1)


@tnp.custom_jvp
def _sine(x: Any) -> Any:
    return tnp.sin(x)


@_sine.defjvp
def _sines_tangent(primals: Any, tangents: Any) -> Any:
    return _sine(primals[0]), tnp.cos(primals[0]) * tangents[0]


@tnp.custom_gradient
def _tangent(x: Any) -> Any:
    return tnp.tanh(x), lambda upstream: upstream * (1 - tnp.tanh(x) ** 2)


TRANSFORMS: dict[str, Callable[[Function, State, str | None], Function]] = {
    "checkpoint": lambda f, state, backend: tnp.checkpoint(f),
    "custom_jvp": lambda f, state, backend: lambda x: f(_sine(x)),
    "custom_gradient": lambda f, state, backend: lambda x: f(_tangent(x)),
    "stop_gradient": lambda f, state, backend: lambda x: f(x * 1.0) * tnp.stop_gradient(x),
    "switch": _switch,
    "if": _if,
    "for": _for,
    "vmap of columns": _columns,
    "compile": lambda f, state, backend: f if backend is None else tnp.compile(f, backend=trials.backend(backend)),
    "grad": lambda f, state, backend: tnp.grad(_total(f)),
    "jvp": _jvp,
    "vjp": _vjp,
    "linearize": _linearize,
    "tape": _tape,
    "tape's jacobian": _tapes_jacobian,
    "jacobian": lambda f, state, backend: lambda x: tnp.jacobian(f)(x).sum(0),
    "hessian": lambda f, state, backend: lambda x: tnp.hessian(_total(f))(x).sum(0),
    "vectorized_map": _vmap,
    "map_fn": _map_fn,
    "cond": _cond,
    "scan": _scan,
    "long scan": _long_scan,
    "fori_loop": _fori,
    "fori_loop to a traced bound": _traced_fori,
    "while_loop": _while,
}

# The same on torch's tensors.


def _gradient(result: Any, x: Any, weights: Any = None) -> Any:
    """Return the gradient; None if the result does not depend on ``x``."""
    if not result.requires_grad:
        return None
    return torch.autograd.grad(result, x, weights, create_graph=True, allow_unused=True)[0]


def _by_reverse(f: Function, weights: list[float]) -> Function:
    def run(x: Any) -> Any:
        with torch.enable_grad():
            inside = (x if x.requires_grad else x.detach().requires_grad_()) * 1.0
            total = (f(inside) * torch.tensor(weights, dtype=x.dtype)).sum()
            found = _gradient(total, inside)
        return torch.zeros_like(x) if found is None else found

    return run


def _by_forward(f: Function) -> Function:
    """Forward mode as the derivative of reverse mode, by its weights."""

    def run(x: Any) -> Any:
        with torch.enable_grad():
            inside = (x if x.requires_grad else x.detach().requires_grad_()) * 1.0
            result = f(inside)
            weights = torch.zeros_like(result).requires_grad_()
            back = _gradient(result, inside, weights)
            found = None if back is None else _gradient(back, weights, torch.tensor([1.0, -0.5, 2.0], dtype=x.dtype))
        return torch.zeros_like(result) if found is None else found

    return run


def _rows(x: Any) -> list[Any]:
    return [x, x * 0.5, -x]


def _mapped(f: Function, state: State) -> Function:
    return lambda x: torch.stack([f(row) for row in _rows(x)]).sum(0)


def _chosen(f: Function, state: State) -> Function:
    return lambda x: f(x * 1.0) if x[0] > 0.2 else f(x * 1.0) * 0.5 - x


def _scanned(f: Function, state: State) -> Function:
    def run(x: Any) -> Any:
        carry, total = x, 0
        for row in _rows(x):
            total = total + carry * row
            carry = f(carry) + row
        return carry + total

    return run


def _looped(f: Function, steps: int, shift: float = 0.0) -> Function:
    def run(x: Any) -> Any:
        for i in range(steps):
            x = f(x) * 0.5 + shift * i
        return x

    return run


def _once(f: Function) -> Function:
    """The Hessian's rows summed: the gradient of the gradient's sum."""
    ones = [1.0] * LENGTH
    return _by_reverse(_by_reverse(f, ones), ones)


REFERENCES: dict[str, Callable[[Function, State], Function]] = {
    "checkpoint": lambda f, state: f,
    "custom_jvp": lambda f, state: lambda x: f(torch.sin(x)),
    "custom_gradient": lambda f, state: lambda x: f(torch.tanh(x)),
    "stop_gradient": lambda f, state: lambda x: f(x * 1.0) * x.detach(),
    "switch": _chosen,
    "if": _chosen,
    "for": lambda f, state: _looped(f, 18, 0.01),
    "vmap of columns": _mapped,
    "compile": lambda f, state: f,
    "grad": lambda f, state: _by_reverse(f, [1.0] * LENGTH),
    "jvp": lambda f, state: _by_forward(f),
    "vjp": lambda f, state: _by_reverse(f, [1.0, -0.5, 2.0]),
    "linearize": lambda f, state: _by_forward(f),
    "tape": lambda f, state: _by_reverse(f, [1.0] * LENGTH),
    "tape's jacobian": lambda f, state: _by_reverse(f, [1.0] * LENGTH),
    "jacobian": lambda f, state: _by_reverse(f, [1.0] * LENGTH),
    "hessian": lambda f, state: _once(f),
    "vectorized_map": _mapped,
    "map_fn": _mapped,
    "cond": _chosen,
    "scan": _scanned,
    "long scan": lambda f, state: _looped(f, 18, 0.01),
    "fori_loop": lambda f, state: _looped(f, 3),
    "fori_loop to a traced bound": lambda f, state: _looped(f, 3),
    "while_loop": lambda f, state: _looped(f, 3),
}


@dataclass(frozen=True)
class Composition:
    """A function under transforms, the innermost first.

    Attributes
    ----------
    backend : str or None
        Of ``tnp.compile``; None leaves it out.
    """

    function: str
    transforms: tuple[str, ...]
    backend: str | None = "eager"
    values: tuple[float, ...] = field(default=(0.6, -0.4, 0.9))

    def __str__(self) -> str:
        text = self.function
        for name in self.transforms:
            text = f"{name}({text})"
        return f"{text} at {list(self.values)}, {self.backend}"

    def by_torch(self) -> tuple[np.ndarray, ...]:
        """Return the result, and the contents of the outside arrays afterwards."""
        state = State(lambda value: torch.as_tensor(value, dtype=None if isinstance(value, int) else torch.float64))
        plain = FUNCTIONS[self.function][1]
        function: Function = functools.partial(plain, state=state)
        for name in self.transforms:
            function = REFERENCES[name](function, state)
        result = function(torch.tensor(self.values, dtype=torch.float64))
        return tuple([each.detach().numpy() for each in (result, state.buffer, state.attribute)])

    def by_tnp(self, calls: int = 1) -> tuple[np.ndarray, ...]:
        """Return the same with tnp, with the state after the last call; the calls before it have other values."""
        state = State(tnp.asarray)
        plain = FUNCTIONS[self.function][0]
        function: Function = functools.partial(plain, state=state)
        for name in self.transforms:
            function = TRANSFORMS[name](function, state, self.backend)
        for number in range(calls):
            factor = 1.0 if number == calls - 1 else -0.5
            state.fill(factor)
            result = function(tnp.asarray([factor * value for value in self.values]))
        return tuple([tnp.asnumpy(each) for each in (result, state.buffer, state.attribute)])

    def disagreement(self) -> Disagreement | None:
        """Return how tnp's second call disagrees, else None; a refusal that says what to write instead is fine."""
        expected = self.by_torch()
        try:
            actual = self.by_tnp(calls=2)
        except Exception as error:
            says_where = type(error) in _REFUSALS and ".py:" in str(error)
            if says_where or any(advice in str(error) for advice in _ADVICE):
                return None
            return Disagreement("error", "", f"{type(error).__name__}: {error}")
        for what, right, found in zip(("result", "buffer", "attribute"), expected, actual, strict=True):
            if not np.abs(right).max() <= _CHAOTIC:  # NaN is of numbers that are too large, too
                return None
            if right.shape != found.shape or not np.allclose(found, right, rtol=1e-7, atol=1e-9, equal_nan=True):
                return None if self.is_chaotic() else Disagreement(what, str(right), str(found))
        return None

    def is_chaotic(self) -> bool:
        """Whether a change of the values by their last bits changes torch's own result beyond the tolerance."""
        given = self.by_torch()
        for change in (1e-15, -1e-15, 3e-14, -3e-14):  # a rounding, and what those of many steps may add up to
            moved = replace(self, values=tuple([value * (1 + change) for value in self.values]))
            pairs = zip(given, moved.by_torch(), strict=True)
            if not all(np.allclose(one, other, rtol=1e-7, atol=1e-9, equal_nan=True) for one, other in pairs):
                return True
        return False


def drawn(seed: str, machine_code: int = 0, index: int = 0) -> Composition:
    """Draw a composition of two to four transforms."""
    rng = random.Random(seed)
    backend = "default" if machine_code and index % machine_code == 0 else "eager"
    while True:
        function, transforms = rng.choice(list(FUNCTIONS)), tuple(rng.choices(list(TRANSFORMS), k=rng.randint(2, 4)))
        if math.prod([_STEPS.get(name, 1) for name in (function, *transforms)]) <= _MOST_STEPS:
            values = tuple(round(rng.uniform(-1.5, 1.5), 2) for _ in range(LENGTH))
            return Composition(function, transforms, backend, values)
