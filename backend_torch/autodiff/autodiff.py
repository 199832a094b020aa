"""Differentiation: recordings of operations on tensors, and derivatives of functions of tensors.

Layer: owns the differentiation of NumPy programs, which overwrite, by torch. A recorded tensor may be written to, and a
function that overwrites values of its derivative is run again with copies. The caller chooses the differentiated values
and builds the results.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.autograd.graph import GradientEdge
from torch.utils.checkpoint import CheckpointError
from torch.utils.checkpoint import checkpoint as _torch_checkpoint

from backend_torch.autodiff import outside, transform_levels
from backend_torch.autodiff.old_values import (
    ChangedError,
    hooks_known,
    old_values_kept,
    privately,
    told_of,
    unhooked,
    was_overwritten,
)
from backend_torch.autodiff.replayed_draws import Draws
from backend_torch.native import heads
from backend_torch.tensors import trace_state
from backend_torch.tensors.memory import is_readable
from backend_torch.torch_private import autograd, functorch, messages, traces
from backend_torch.torch_private.functorch import is_transforming
from backend_torch.torch_private.tensor_internals import is_view, version_of

Tensor = torch.Tensor
Function = Callable[..., Any]
Source = Any  # a tensor, or torch.autograd.graph.GradientEdge
_unsafe_view = torch.ops.aten._unsafe_view.default


def is_differentiable(tensor: Tensor) -> bool:
    """Whether derivatives with respect to the tensor make sense: it has a floating-point or complex dtype."""
    return tensor.is_floating_point() or tensor.is_complex()


def are_differentiable(tensors: Sequence[Tensor]) -> bool:
    """Whether derivatives with respect to all of the tensors make sense."""
    with transform_levels.unseen():
        return all(tensor.is_floating_point() or tensor.is_complex() for tensor in tensors)


def is_loss(tensor: Tensor) -> bool:
    """Whether the tensor is one real number that has a gradient."""
    with transform_levels.unseen():
        return tensor.dim() == 0 and tensor.is_floating_point()


def is_tracked(tensor: Tensor) -> bool:
    """Whether gradients flow to the tensor."""
    return tensor.requires_grad


def may_be_differentiated(tensor: Tensor) -> bool:
    """Whether gradients flow to the tensor, or it can't be known: a trace or a transform is under way."""
    return tensor.requires_grad or is_transforming() or trace_state.is_tracing() or torch.compiler.is_compiling()


def as_type_of(tensor: Tensor, other: Tensor) -> Tensor:
    """Return the tensor in the dtype and on the device of another."""
    return tensor.to(other)


def detached(tensor: Tensor) -> Tensor:
    """Return a tensor over the same memory to which no gradient flows."""
    return tensor.detach()


# ---------------------------------------------------------------------------------------------------------------------
# Recording


class _State(threading.local):
    """The recordings of this thread."""

    def __init__(self) -> None:
        self.tapes = 0
        self.begun = 0
        self.checkpoints = 0
        self.again = ""  # the function of a checkpoint that was run again last
        self.boundaries: list[_Boundary] = []


_state = _State()


class _Boundary:
    """The scope of a transformed function: recordings inside form a level of torch.func."""

    def __init__(self) -> None:
        self.outside = functorch.current_level()
        self.level: int | None = None
        self._hooks: contextlib.ExitStack | None = None
        innermost = functorch.innermost()
        self.is_batch = innermost is not None and innermost.key() == functorch.TransformType.Vmap
        self.ends: list[Callable[[], None]] = []

    def open(self) -> int:
        if self.level is None:
            if functorch.current_level() != self.outside:
                raise RuntimeError(_FOREIGN)
            self._hooks = contextlib.ExitStack()
            self._hooks.enter_context(unhooked())  # which would keep values of the level without what is below it
            self.level = functorch.enter_grad()
        return self.level

    def close(self) -> None:
        if self.level is not None:
            functorch.leave_grad()
        if self._hooks is not None:
            self._hooks.close()


_FOREIGN = (
    "a GradientTape can't record inside a transform of torch.func: use tnp.vectorized_map, tnp.grad and the other "
    "transforms of tnp around it"
)


def bounded(function: Callable[..., Sequence[Tensor]], *args: Any, outside_too: bool = False) -> tuple[Tensor, ...]:
    """Call ``function(*args)`` inside a transform of torch.func so that it may record.

    If ``outside_too``, it may also write recorded values to arrays from outside of the recording.
    """
    boundary = _Boundary()
    _state.boundaries.append(boundary)
    try:
        if outside_too:
            boundary.open()
            results = outside.written_back(function, args)
        else:
            results = tuple(function(*args))
        for end in boundary.ends:
            end()
        level = boundary.level
        return results if level is None else tuple([functorch.unwrapped_for_grad(each, level) for each in results])
    finally:
        _state.boundaries.pop().close()


class _Watch(torch.autograd.Function):
    """Returns tensors over the memory of the given ones, as results of an operation."""

    @staticmethod
    def forward(ctx: Any, root: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple([tensor.data for tensor in tensors])  # no views, which have rules of their own

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        return (None,) * (len(gradients) + 1)


_watch = super(torch.autograd.Function, _Watch).apply
"""``_Watch.apply`` without torch's search for transforms of torch.func, which is done here before."""

_root = torch.zeros((), requires_grad=True)  # so that there is something to record


def watched(tensors: Sequence[Tensor]) -> tuple[Sequence[Any], Sequence[Tensor], bool]:
    """Return the sources of gradients, the program's tensors, and whether these may be differentiated further.

    Both have the memory of the given tensors. torch refuses writes to leaves that require gradients, so the program
    gets results of an operation: of one for all, or each of its own if gradients flow further or a trace or a
    transform is under way. A source is a tensor, or that operation's node, which is the same for all.
    """
    if not torch.is_grad_enabled():
        with torch.enable_grad():
            return watched(tensors)
    for tensor in tensors:
        if tensor.requires_grad:
            break
    else:
        is_functional = functorch.innermost() is not None or trace_state.state.depth
        if tensors and not (is_functional or torch.compiler.is_compiling()):
            found = _watch(_root, *tensors)
            return [found[0].grad_fn] * len(found), found, False
    handles = [_handle(tensor) for tensor in tensors]
    return handles, [_unsafe_view(handle, handle.shape) for handle in handles], bool(handles)


def source(handle: Any, number: int, used: Tensor) -> Source:
    """Return the source of a watched tensor with this number for `gradients`: ``used`` until it is written to."""
    if isinstance(handle, Tensor):
        return handle
    return used if used.grad_fn is handle else GradientEdge(handle, number)


def _handle(tensor: Tensor) -> Tensor:
    """Return the source of gradients: a tensor that requires them, connected to ``tensor`` if that does."""
    if is_transforming():
        if not _state.boundaries:
            raise RuntimeError(_FOREIGN)
        level = _state.boundaries[-1].open()
        if functorch.level_of(tensor) != level or not tensor.requires_grad:
            if functorch.level_of(tensor) == level:
                tensor = functorch.get_unwrapped(tensor)  # detach() would cut it off from the levels below, too
            (handle,) = transform_levels.require_gradients([tensor], level)
            return handle
    elif not tensor.requires_grad:
        if not trace_state.is_tracing():
            return tensor.detach().requires_grad_()
        handle = _unsafe_view(tensor, tensor.shape).requires_grad_()  # detach() would cut off derivatives of the graph
        traces.mark_recording(handle)
        return handle
    return _unsafe_view(tensor, tensor.shape)


def written_through(tensor: Tensor) -> None:
    """Tell autograd, at each level of derivatives, of a write through another tensor over the same memory."""
    torch.autograd.graph.increment_version(tensor)
    if functorch.is_wrapped(tensor):
        written_through(functorch.get_unwrapped(tensor))


def write_to(tensor: Tensor, used: Tensor) -> None:
    """Let derivatives around know of what was written to a tensor by its stand-in, which has the same memory."""
    if not (is_transforming() or (tensor.requires_grad and not tensor.is_leaf)):
        return
    level, below = (_state.boundaries[-1].level if is_transforming() else functorch.level_of(tensor)), [tensor]
    while functorch.is_wrapped(below[-1]):
        below.append(functorch.get_unwrapped(below[-1]))
    with autograd.unseen_by_versions(tuple(below)):
        if functorch.level_of(tensor) == level:
            tensor.copy_(used)
            return
        value = functorch.unwrapped_for_grad(used, level)
        with functorch.down_to(functorch.stack()[-2].level()):
            tensor.copy_(value)


def at_end(call: Callable[[], None]) -> None:
    """Call a function where each transformed function that runs now ends, before its derivative is taken.

    Not beyond a batch, whose tensors are of no use after it.
    """
    for boundary in reversed(_state.boundaries):
        boundary.ends.append(call)
        if boundary.is_batch:
            break


def version(tensor: Tensor) -> int:
    """Return a number that changes with each write to the tensor; 0 for tensors of inference mode, which have none."""
    return 0 if tensor.is_inference() else version_of(tensor)


Before = tuple[bool, int, int]
"""Whether gradients were on when a recording began, and how many recordings and checkpoints there had been."""


def begin() -> Before:
    """Begin a recording, with gradients on; return the state that `end` takes."""
    state = _state
    state.tapes += 1
    state.begun += 1
    before = torch.is_grad_enabled(), state.begun, state.checkpoints
    if not before[0]:
        autograd.set_grad_enabled(True)
    return before


def is_second_of_compiled(error: RuntimeError) -> bool:
    """Whether an error is that of a second derivative of a compiled function."""
    return messages.says(error, messages.NO_SECOND_DERIVATIVE)


def explained(error: RuntimeError) -> RuntimeError:
    """Return the error of a gradient in place of torch's, which says how torch noticed; any other error as it is."""
    if isinstance(error, CheckpointError):
        return RuntimeError(
            f"{_state.again}, which tnp.checkpoint runs again for the gradient, computes otherwise than before: "
            "something that Python read there (a number, a list, an attribute) has changed since. Take the gradient "
            "before, or pass it to the function"
        )
    if isinstance(error, ChangedError):
        return RuntimeError(str(error))
    if was_overwritten(error):
        return RuntimeError(
            f"{messages.overwritten(error)} was overwritten after it was used (as by e = np.exp(x); e /= 2): "
            "write e = e / 2, or record with GradientTape(overwrites=True)"
        )
    return error


def is_inner() -> bool:
    """Whether a recording is inside of another one."""
    return _state.tapes > 1


def end(before: Before) -> tuple[bool, bool]:
    """End a recording; return whether it had others inside, and whether functions are run again for gradients."""
    state = _state
    state.tapes -= 1
    if torch.is_grad_enabled() is not before[0]:
        autograd.set_grad_enabled(before[0])
    return state.begun != before[1], state.checkpoints != before[2]


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """A scope without recording."""
    with torch.no_grad():
        yield


def gradients(
    targets: Sequence[Tensor], sources: Sequence[Source], output_gradients: Sequence[Tensor] | None, retain: bool
) -> Sequence[Tensor | None]:
    """Return the gradients of the sum of ``targets`` with respect to the watched tensors; None without a connection.

    They are recorded themselves if anything is recorded.
    """
    again = _state.tapes > 0 or is_transforming()
    if len(targets) == 1 and output_gradients is None and not again and sources:
        (target,) = targets
        if target.requires_grad and type(target) is Tensor and target.is_cpu and not target.dim():
            # One number: the checks of torch.autograd.grad take longer than the smaller operations of such a program.
            if not torch.compiler.is_compiling() and (found := heads.gradients(target, sources, retain)) is not None:
                return found
            return transform_levels.own(autograd.gradients_of_one(target, sources, retain))
    pairs = [
        (target, torch.ones_like(target) if given is None else given)
        for target, given in zip(targets, output_gradients or (None,) * len(targets), strict=True)
        if target.requires_grad
    ]
    if not pairs or not sources:
        return (None,) * len(sources)
    found = transform_levels.gradients_of(
        [target for target, _ in pairs],
        sources,
        [given for _, given in pairs],
        retain_graph=retain or again,
        create_graph=again,
        allow_unused=True,
    )
    return transform_levels.own(found, output_gradients or ())


def zeros(tensor: Tensor, leading: tuple[int, ...] = ()) -> Tensor:
    """Return zeros of a tensor's shape, after ``leading`` dimensions."""
    return tensor.detach().new_zeros(leading + tuple(tensor.shape))


def is_recording() -> bool:
    """Whether a recording is under way."""
    return _state.tapes > 0


def check_constant(tensor: Tensor, by: str) -> None:
    """Raise TracedValueError if a function's derivative depends on the tensor, which ``by`` converts to numbers.

    A recording allows it: programs print the loss there.
    """
    if torch.compiler.is_compiling():
        return
    recording = {boundary.level for boundary in _state.boundaries}
    while functorch.is_wrapped(tensor) and not functorch.is_batched(tensor):
        level = functorch.level_of(tensor)
        if level not in recording and functorch.is_followed(tensor, level):
            raise trace_state.constant_error(by)
        tensor = functorch.get_unwrapped(tensor)


def keeps_operands() -> bool:
    """Whether a gradient may keep operands: it needs copies of memory that torch does not watch, such as NumPy's."""
    if torch.compiler.is_compiling() or trace_state.is_tracing():  # a graph reads arrays from outside by reference
        return False
    return is_transforming() or (_state.tapes > 0 and torch.is_grad_enabled())


def is_result(tensor: Tensor) -> bool:
    """Whether the tensor was computed from one that gradients flow to."""
    return not tensor.is_leaf


# ---------------------------------------------------------------------------------------------------------------------
# Derivatives of functions. They take and return lists or tuples of tensors.


class ForwardOnlyError(trace_state.UntraceableError):
    """Raised by reverse mode where there is forward mode alone."""


by_graph: Any = None
"""`jvp` of a traced function that has forward mode alone: that of ``graphs.loop_derivatives``."""


class _WroteError(Exception):
    """Raised where a function has written to arrays from outside."""


class _Attempts:
    """Differentiates a function, with only the precautions that it turns out to need.

    The function is run once more with copies of its arguments if it writes to them; with stand-ins for arrays from
    outside if it writes to those; and with old values if it overwrites values of its derivative. ``kept``, which sees
    each operation, keeps these, or copies for each operation if torch.func transforms. A tape inside that records such
    a write gets its own stand-ins.

    Parameters
    ----------
    function : callable
    attempt : callable
        Differentiates a function; returns the function's result and another value.
    kept : callable or None
    later : bool, default False
        Whether the function is differentiated later, and may only then turn out to overwrite a needed value.
    keeps : bool, default False
        Whether arrays from outside may be written to before that.
    """

    def __init__(
        self,
        function: Function,
        attempt: Callable[[Function], Any],
        kept: Callable[[Function], Any] | None = None,
        later: bool = False,
        keeps: bool = False,
    ) -> None:
        self.function, self._attempt, self._kept = function, attempt, kept
        self._later, self._keeps = later, keeps
        self.outside = self.copies = keeps
        self.private = self.wrote = self.records = False
        self._held: dict[Any, tuple[Tensor, Tensor]] = {}  # arrays from outside that the function read

    def __call__(self, drawn: Draws) -> Any:
        if (
            functorch.IS_BLIND_IN_INFERENCE_MODE
            and not torch.compiler.is_compiling()
            and torch.is_inference_mode_enabled()
        ):
            raise RuntimeError(
                "this version of torch records nothing in inference mode, not even for torch.func: all derivatives "
                "would be zero; use torch.no_grad() instead, or torch 2.13"
            )
        if torch.compiler.is_compiling():  # Dynamo sees no error of a level; the copies are compiled away
            return self._attempt(lambda *tensors: tuple(self.function(*[tensor.clone() for tensor in tensors])))
        with unhooked(), drawn:
            while True:
                try:
                    return self.once()
                except Exception as error:
                    if not self._learns(error):
                        if messages.says(error, messages.WRITE_OUTSIDE):
                            raise trace_state.alias_write_error() from None
                        raise
                drawn.rewind()

    def once(self) -> Any:
        """Make one attempt, with the precautions that are known to be needed."""
        function = privately(self.function) if self.private else self.function

        def inside(*tensors: Tensor) -> tuple[Tensor, ...]:
            given = [tensor.clone() for tensor in tensors] if self.copies else tensors
            return bounded(function, *given, outside_too=self.records)

        if self.outside:
            done = self.private or not self._later
            found, self.wrote, held = outside.differentiated(self._attempt, inside, self._keeps, self._held, done)
            if self.wrote and not done:  # it can't be run again once it is known that it overwrites, too
                raise _WroteError
            self._held = held
            return found
        # Not in a trace: the hooks that keep values detach them, which would end the derivatives of the graph.
        if self.private and self._kept is not None and not is_transforming() and not trace_state.is_tracing():
            return self._kept(lambda *tensors: self.function(*[tensor.clone() for tensor in tensors]))
        return self._attempt(inside)

    def _learns(self, error: Exception) -> bool:
        """Whether the error says that another precaution is needed; note it."""
        if not self.outside and outside.is_refused(error):
            self.outside = self.copies = True
        elif not self.records and outside.is_refused(error):  # a tape inside has a level of its own
            self.records = True
        elif isinstance(error, _WroteError):
            self.private = True
        elif not isinstance(error, RuntimeError):
            return False
        elif not self.copies and messages.says(error, messages.WRITES_TO_LEAF):
            self.copies = True
        elif not self.private and was_overwritten(error):
            self.private = self.copies = True
        elif self.private and self._kept is not None and was_overwritten(error):
            self._kept = None  # a transform inside keeps nothing
        else:
            return False
        return True


def value_and_gradients(function: Function, tensors: Sequence[Tensor]) -> tuple[tuple[Tensor, ...], list[Tensor]]:
    """Return the results of ``function(*tensors)``, the loss first, and the gradients of the loss."""
    tensors = trace_state.entered(tensors)

    def kept(function: Function) -> Any:
        with torch.enable_grad(), old_values_kept():
            again = _state.tapes > 0 or any(tensor.requires_grad for tensor in tensors)
            handles = [_unsafe_view(t, t.shape) if t.requires_grad else t.detach().requires_grad_() for t in tensors]
            _state.tapes += 1  # so that tapes inside record their gradients
            try:
                results = function(*handles)
            finally:
                _state.tapes -= 1
            found = transform_levels.gradients_of(results[:1], handles, create_graph=again, allow_unused=True)
        known = [zeros(t) if gradient is None else gradient for t, gradient in zip(tensors, found, strict=True)]
        return tuple(results if again else [result.detach() for result in results]), transform_levels.own(known)

    return _Attempts(function, lambda function: transform_levels.value_and_gradients(function, tensors), kept)(Draws())


class Pullback:
    """Takes gradients of a function's results back to its arguments.

    Parameters
    ----------
    pull : callable
        The function that ``torch.func.vjp`` returned.
    again : callable or None
        Makes another one with old values, in case the function has overwritten values that the first needs.
    wrote : bool
        Whether the function wrote to arrays from outside, so that it can't be run again.
    """

    def __init__(self, pull: Function, again: Callable[[], Function] | None, wrote: bool) -> None:
        self._pull = pull
        self._again = again
        self.wrote = wrote

    def __call__(self, cotangents: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        cotangents = tuple(trace_state.entered(cotangents))
        return tuple(transform_levels.own(self._with_old_values(lambda: self._pull(cotangents)), cotangents))

    def all(self, cotangents: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Take several gradients back at once, along a new first dimension."""
        pull = torch.vmap(lambda *each: self._pull(each), randomness="same")
        return self._with_old_values(lambda: pull(*cotangents))

    def _with_old_values(self, call: Callable[[], Any]) -> Any:
        """Return the result of ``call``; run the function again if it overwrote a needed value."""
        try:
            return call()
        except RuntimeError as error:
            if self._again is None or not was_overwritten(error):
                raise
        self._pull, self._again = self._again(), None
        return call()


def vjp(
    function: Function,
    tensors: Sequence[Tensor],
    count: Callable[[], int],
    keeps: bool = False,
    outside: Sequence[Tensor] | None = None,
) -> tuple[tuple[Tensor, ...], Any]:
    """Return the results of ``function``, and the function that takes gradients of the first ``count()`` of them back.

    If that ``keeps``, it does not see later writes to arguments, results and arrays from outside. A function of machine
    code, which writes to nothing, has those that it reads as ``outside``.
    """
    if outside is not None:
        results, handles = _recorded(function, tensors, outside, False)
        outputs = results[: count()]
        found = tuple([result.detach().clone() for result in results])
        return found, lambda cotangents: tuple(transform_levels.own(_pulled(outputs, handles, cotangents), cotangents))
    if autograd.is_exporting():
        raise transform_levels.not_exported()
    tensors = trace_state.entered(tensors)
    if keeps:
        tensors = [tensor.clone() for tensor in tensors]

    def attempt(function: Function) -> Any:
        def split(*tensors: Tensor) -> Any:
            results = function(*tensors)
            return results[: count()], results[count() :]

        found: Any = torch.func.vjp(split, *tensors, has_aux=True)
        outputs, pull, others = found
        return (*outputs, *others), pull

    drawn = Draws()
    attempts = _Attempts(function, attempt, later=True, keeps=keeps)

    def again() -> Function:
        attempts.private = attempts.copies = True
        with unhooked(), drawn.again():
            return attempts.once()[1]

    results, pull = attempts(drawn)
    if keeps:
        results = tuple([result.clone() for result in results])
    return results, Pullback(pull, None if attempts.wrote else again, attempts.wrote)


def _recorded(
    function: Function, tensors: Sequence[Tensor], outside: Sequence[Tensor], twice: bool
) -> tuple[tuple[Tensor, ...], list[Tensor]]:
    """Return the results of a function that writes to nothing, and the sources of gradients, by a recording.

    torch.func can't transform machine code. What is saved of the tensors from ``outside`` is copied: they may be
    written to later. So is what the function overwrites itself. ``twice``: whether the gradients are differentiated.
    """
    handles = [tensor.detach().clone().requires_grad_() for tensor in tensors]
    _state.tapes += 1 + twice
    try:
        with torch.enable_grad(), old_values_kept() as keeper:
            results = tuple(function(*handles))
            if keeper is not None:  # no transform is under way
                for tensor in outside:
                    keeper.keep(tensor)
            return results, handles
    finally:
        _state.tapes -= 1 + twice


def _pulled(
    outputs: Sequence[Tensor], handles: Sequence[Tensor], weights: Sequence[Tensor], again: bool = False
) -> tuple[Tensor, ...]:
    """Return the gradients of recorded results, or zeros; ``again`` says whether these are differentiated too."""
    again = again or is_recording() or is_transforming()
    pairs = [pair for pair in zip(outputs, weights, strict=True) if pair[0].requires_grad]
    found: Sequence[Tensor | None] = [None] * len(handles)
    if pairs:
        followed, given = zip(*pairs, strict=True)
        try:
            found = transform_levels.gradients_of(
                followed, handles, given, retain_graph=True, create_graph=again, allow_unused=True
            )
        except RuntimeError as error:
            if any(level.key() != functorch.TransformType.Vmap for level in functorch.stack() or ()):
                raise NotImplementedError(
                    "the derivative of a compiled function is machine code, which has no derivative where it is "
                    "applied: take the second derivative of the function, as by tnp.grad of tnp.grad"
                ) from error
            if (found_out := explained(error)) is not error:
                raise found_out from error
            raise
    return tuple([zeros(t) if gradient is None else gradient for t, gradient in zip(handles, found, strict=True)])


def jvp(function: Function, tensors: Sequence[Tensor], tangents: Sequence[Tensor], count: Callable[[], int]) -> Any:
    """Return the results of ``function``, and the derivatives of the first ``count()`` of them along ``tangents``."""
    if autograd.is_exporting() and not transform_levels.EXPORTS_FORWARD_MODE:
        raise transform_levels.not_exported()
    drawn = Draws()
    tensors, tangents = trace_state.entered(tensors), trace_state.entered(tangents)

    def attempt(function: Function) -> Any:
        def split(*tensors: Tensor) -> Any:
            results = function(*tensors)
            return results[: count()], results[count() :]

        # In a trace of a batch torch has tangents without memory on the meta device, and results computed of them.
        is_traced = trace_state.is_tracing() and trace_state.is_batching()
        if not functorch.is_forward_mode_nested() and not is_traced:
            primals = tuple([tensor.clone() for tensor in tensors])  # torch does not refuse writes to dual numbers
            directions = tuple(tangents)
            if trace_state.is_batching():  # what is written to them differs among the slices where the tensors do
                directions = tuple([torch.zeros_like(p) + t for p, t in zip(primals, directions, strict=True)])
            try:
                found: Any = torch.func.jvp(split, primals, directions, has_aux=True)
            except NotImplementedError as error:
                if not messages.says(error, messages.NO_FORWARD_MODE):
                    raise
            else:
                outputs, derivatives, others = found
                return (*outputs, *others), derivatives
        # Forward mode of forward mode: torch's derivatives of those of det and solve are wrong (torch 2.13), and what
        # has none may not be written to. The inner one is made of the other mode.
        drawn.rewind()
        try:
            results, derivative = linearize(function, tensors, count)
        except ForwardOnlyError:
            drawn.rewind()
            results, derivatives = by_graph(function, tensors, tangents)
            return results, derivatives[: count()]
        return results, derivative(*tangents)

    return _Attempts(function, attempt)(drawn)


def linearize(
    function: Function,
    tensors: Sequence[Tensor],
    count: Callable[[], int],
    keeps: bool = False,
    outside: Sequence[Tensor] | None = None,
) -> tuple[Any, Function]:
    """Return the results of ``function``, and its derivative at ``tensors`` as a function of tangents.

    The pullback is linear in its argument, so the pullback of the pullback is the derivative. (torch's own
    ``linearize`` traces, and a trace has no values.) ``keeps`` and ``outside`` are as for `vjp`.
    """
    if outside is not None:
        recorded, handles = _recorded(function, tensors, outside, True)
        weights = [torch.zeros_like(result).requires_grad_() for result in recorded[: count()]]
        gradients = _pulled(recorded[: count()], handles, weights, again=True)
        values = tuple([result.detach().clone() for result in recorded])
        return values, lambda *tangents: _pulled(gradients, weights, tangents)
    results, pullback = vjp(function, tensors, count, keeps)
    outputs = tuple([torch.zeros_like(result) for result in results[: count()]])
    with unhooked():
        found: Any = torch.func.vjp(pullback, outputs)
    push = found[1]

    def derivative(*tangents: Tensor) -> tuple[Tensor, ...]:
        (found,) = push(tuple(trace_state.entered(tangents)))
        return tuple(transform_levels.own(found))

    return results, derivative


# ---------------------------------------------------------------------------------------------------------------------
# Functions with a derivative of their own


def checkpoint(function: Callable[[], Any], name: str, captured: Mapping[str, Any]) -> Any:
    """Return ``function()``; its values are recomputed when gradients need them.

    ``name`` says for errors which function it is; ``captured`` are tensors and NumPy's arrays that it has names for.

    The values are kept in a transform of torch.func and in a trace, which have no recomputation, and where the function
    writes to memory from outside, or to values that the gradient needs: the second run would find other ones.

    Raises
    ------
    ChangedError
        When gradients need the values: what the function read from outside has been written to since.
    """
    if is_transforming() or trace_state.is_tracing() or not torch.is_grad_enabled():
        return function()
    _state.checkpoints += 1
    tapes = _state.tapes
    drawn, first = Draws(), outside.FirstRun(captured)
    is_first = True

    def drawing() -> Any:
        nonlocal is_first
        was_first, is_first = is_first, False
        with drawn if was_first else drawn.again():
            return function()

    def run() -> Any:
        if is_first:
            with hooks_known(), told_of(first.save), first:
                result = drawing()
            first.end()
            return result
        _state.again = name
        if (changed := first.changed()) is not None:
            raise ChangedError(
                f"{changed} was overwritten after it was used by {name}, which tnp.checkpoint runs again for the "
                "gradient: take the gradient before, or write to a copy"
            )
        before, _state.tapes = _state.tapes, tapes  # gradients are recorded as they were
        try:
            with functorch.down_to(None), hooks_known():  # the run may be in a transform, or in a batch of them
                return drawing()
        finally:
            _state.tapes = before

    is_compiled = torch.compiler.is_compiling()  # Dynamo finds such writes itself
    try:
        return _torch_checkpoint(drawing if is_compiled else run, use_reentrant=False, preserve_rng_state=False)
    except outside.RunOnceError:
        trace_state.warn("checkpoint keeps all values: the function overwrites what a second run would need")
    drawn.rewind()
    with drawn:
        return function()


class _Custom(torch.autograd.Function):
    """``function(*tensors)`` with its own gradient. (torch's generated rule for batches has no forward mode.)"""

    @staticmethod
    def forward(function: Function, gradient: Function, *tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple([result.clone() if any(result is t for t in tensors) else result for result in function(*tensors)])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        _, ctx.gradient, *tensors = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        return None, None, *ctx.gradient(ctx.saved_tensors, gradients)

    @staticmethod
    def vmap(info: Any, in_dims: Any, function: Function, gradient: Function, *tensors: Tensor) -> Any:
        dims = in_dims[2:]

        def batched(*tensors: Tensor) -> tuple[Tensor, ...]:
            found: Any = torch.func.vmap(lambda *each: tuple(function(*each)), dims, randomness=info.randomness)
            results: tuple[Tensor, ...] = found(*tensors)
            memory = [outside.memory_of(each) for each in (*tensors, *results)]
            return tuple([_no_view(each) if memory.count(outside.memory_of(each)) == 1 else each for each in results])

        def slopes(tensors: Any, gradients: Any) -> list[Tensor]:
            def one(tensors: Any, gradients: Any) -> list[Tensor]:
                pairs = zip(gradient(tensors, gradients), tensors, strict=True)
                return [torch.zeros_like(tensor) if each is None else each for each, tensor in pairs]

            found: Any = torch.func.vmap(one, (dims, 0), randomness=info.randomness)
            pairs = zip(found(tuple(tensors), tuple(gradients)), dims, strict=True)
            return [each.sum(0) if dim is None else each.movedim(0, dim) for each, dim in pairs]

        results = _Custom.apply(batched, slopes, *tensors)
        return results, (0,) * len(results)


class _WithoutRule(torch.autograd.Function):
    """The same values; an error for their derivative, unless that is zero."""

    generate_vmap_rule = True

    @staticmethod
    def forward(values: Tensor) -> Tensor:
        return values.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        if _is_zero(gradient):  # a part that was overwritten, or beside what is used
            return None
        raise NotImplementedError(
            "the derivative depends on what a function with a derivative of its own wrote to its argument, for which "
            "it has no rule: return that from the function, or give it a copy"
        )


def _is_zero(gradient: Tensor) -> bool:
    """Whether a gradient is known to be zero, and is not differentiated itself."""
    while functorch.is_wrapped(gradient) and not gradient.requires_grad:
        gradient = functorch.get_unwrapped(gradient)
    return is_readable(gradient) and not gradient.requires_grad and not gradient.any()


def without_rule(values: Tensor) -> Tensor:
    """Return what a `custom` function wrote to an argument; NotImplementedError when that is differentiated."""
    made: Tensor = _WithoutRule.apply(values)
    return made


def _no_view(results: Tensor) -> Tensor:
    """Return the results of a batch as no view of their memory: autograd refuses writes to views that a rule returns.

    torch moves the dimension of the batch to the front by a view; a result that is the same for all has no stride.
    """
    return _unsafe_view(results, results.shape) if is_view(results) and results.stride(0) else results


def custom(function: Function, gradient: Function, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return ``function(*tensors)``, differentiated by ``gradient(tensors, gradients of the results)``."""
    results: tuple[Tensor, ...] = _Custom.apply(function, gradient, *tensors)
    is_part = trace_state.is_tracing() and trace_state.state.subgraphs  # whose graph is differentiated
    if is_part or (trace_state.is_tracing() and not all(map(transform_levels.is_differentiated, results))):
        trace_state.state.rules.append(trace_state.user_line())
    return results
