"""Branches and loops of a converted function: Python's own, or the graph's if their condition is traced.

Layer: owns when a branch or a loop becomes a part of the graph, and which variables it carries then.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import operator
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

from backend_torch.graphs import control_flow as backend
from backend_torch.kernels import value_checks
from backend_torch.tensors import trace_state
from tnp._array.numbers import ANY, Line, largest_of, number_of
from tnp._autograph import effects, iteration, surroundings
from tnp._autograph.jumps import RESULT
from tnp._autograph.lists import Collected, Growing, Grows, Kind, refused
from tnp._autograph.places import MISSING, Place
from tnp._autograph.surroundings import Surroundings
from tnp._autograph.values import (
    Conflict,
    Form,
    Maybe,
    NotStaged,
    Part,
    Undefined,
    alike,
    as_forms,
    common,
    is_same,
    mutable,
    predicate,
    python_type,
)
from tnp._core.base import SCALARS, ndarray, wrap
from tnp._core.mask_selection import Selection
from tnp._core.strided_views import Left, Shares, Source, follow_writes, is_whole, root
from tnp._transforms.control_flow import source_of

Tensor = Any
Block = Callable[..., Any]
State = dict[str, Any]
Moves = list[tuple[int, Tensor | None]]
"""The carried tensors from before a step that one after it may be, and the conditions; None: it is."""
MOST_OPERATIONS = 256
"""A loop over a range or an array is unrolled if its steps times the operations of one step do not exceed this."""
_FEW_STEPS = 8  # a loop of at most this many steps is unrolled, unless its body has a loop around another
_MANY_STEPS = 100  # unrolling a loop of at least this many steps warns
_TOO_MANY_STEPS = 1024  # a loop of so many steps is Python's rather than unrolled
_TOO_MANY_OPERATIONS = 1024  # or of so many steps times the operations of its first one
_MANY_CALLS = 16  # of a function to itself in branches on values: two calls in each are 2**n, and all are traced
_MANY_ITEMS = 2**24  # no list of a loop has more
_FEW_ITEMS = 32  # a loop of so few steps that appends to lists is unrolled as others are
_SMALL = 64  # elements of an item that loops append to a list
_MOST_TIMES = 2**44  # no loop makes more steps
_FEW = 2**18  # an int that grows by at most this each step never reaches 2**62
EXPRESSION = "the result of the expression"
_MOST_ROUNDS = 12  # a loop's body is traced at most this often to find the dtypes of what it carries


class _Short(NotStaged):
    """A loop has so few operations that unrolling it is better."""


class _State(threading.local):
    def __init__(self) -> None:
        self.is_branch = False  # whether the innermost block is a branch
        self.loops: list[_Loop] = []  # whose steps are being traced, from the outermost to the innermost
        self.branches: dict[types.CodeType, int] = {}  # code of a branch being traced -> how often it is in itself


_state = _State()


def loop_around(items: Any) -> _Loop | None:
    """Return the outermost loop of the graph in a step of which a list from before it is known by a variable.

    None if there is none, or if the number of its steps is unknown.
    """
    for loop in _state.loops:
        if any(value is items for value in loop.before.values()):
            return loop if loop.most_steps is not None else None
    return None


class _Rebound(Exception):
    """A block calls functions that assign to globals or closure variables, so its state must hold these too."""

    def __init__(self, places: list[Place]) -> None:
        super().__init__()
        self.places = places


class _Raises(BaseException):
    """A traced branch ends with a ``raise``, which the graph does; no handler of the program may take this."""


def raised(error: Callable[[], Any]) -> Any:
    """Return the exception of a ``raise``; in a traced branch, leave the exception to the graph.

    Raises
    ------
    TracedValueError
        The graph can't raise it: the exception holds traced values, or the program may handle it.
    """
    if not surroundings.state.blocks:
        return error()
    line = trace_state.user_line()
    if _state.is_branch and not trace_state.state.handlers:
        with contextlib.suppress(trace_state.TracedValueError):
            made = error()
            text = value_checks.raising(made() if isinstance(made, type) else made, line)
            value_checks.demand(backend.number(False), text)
            raise _Raises
    return trace_state.TracedValueError(
        f"{line}: this `raise` in a branch or a loop whose condition is a traced array can't be kept in a graph: no "
        "`try` around it may handle it, and a traced `if` has to stand directly around it; or `assert` the condition"
    ).because("a `raise` depends on values")


@contextlib.contextmanager
def handled() -> Iterator[None]:
    """The scope of a ``try`` with handlers."""
    trace_state.state.handlers += 1
    try:
        yield
    finally:
        trace_state.state.handlers -= 1


def caught() -> None:
    """Begin a handler of exceptions, which takes none of tracing: Python itself could run the statement."""
    error = sys.exception()
    if isinstance(error, trace_state.OfTracing):
        raise error


class _Variables:
    """The variables that a block changes, with the lines of the assignments; none if only the block reads it."""

    def __init__(
        self, get: Callable[[], Any], put: Callable[[Any], None], lines: Sequence[tuple[str, int | None]]
    ) -> None:
        self._get = get
        self._put = put
        self.lines = {name: line or 0 for name, line in lines}
        self._inner = {name for name, line in lines if line is None}
        self.places: dict[str, Place] = {}  # globals and closure variables that called functions assign to

    def get(self) -> State:
        state = dict(zip(self.lines, self._get(), strict=False))
        for name, place in self.places.items():
            value = place.get()
            state[name] = Undefined(name) if value is MISSING else value
        return state

    def put(self, state: State) -> None:
        own = len(self.lines) - len(self.places)
        self._put(tuple([state[name] for name in list(self.lines)[:own]]))
        for name, place in self.places.items():
            if name not in state:  # found after the state was taken; whoever traced the block has restored it
                continue
            if isinstance(value := state[name], Undefined):
                if _is_entry(place):
                    raise NotStaged(str(value.error()))
                value = MISSING
            place.put(value)

    def complete(self, test: Callable[[], Any], traced: Callable[[], Any]) -> Any:
        """Return ``traced()``, repeated until these are all the variables that the block changes.

        ``test()`` is the block's condition. If a batch can't trace the block, testing the condition raises the error
        that tells `vectorized_map` so.
        """
        while True:
            try:
                return traced()
            except _Rebound as found:
                line = int(trace_state.user_line().rpartition(":")[2])
                for place in found.places:
                    name = _name_of(place)
                    while name in self.lines:  # another module or function has a variable of the same name
                        name += "'"
                    self.lines[name], self.places[name] = line, place
            except RecursionError:
                raise _endless() from None
            except NotImplementedError:
                if backend.is_in_a_batch():
                    bool(test())
                raise

    @property
    def results(self) -> list[str]:
        """The variables that may be read after the block."""
        return [name for name in self.lines if name not in self._inner]

    @property
    def own(self) -> set[str]:
        """The function's local variables, which a traced block may leave without a value."""
        return {name for name in self.lines if "." not in name and name not in self.places}

    def where(self, name: str) -> str:
        """Return the file and line where a variable is assigned; an expression, where it is."""
        line = trace_state.user_line()
        return f"{line.rpartition(':')[0]}:{self.lines[name]}" if self.lines[name] else line


def _is_entry(place: Place) -> bool:
    """Whether a place is an entry of a container or an attribute of an object, not a variable."""
    return place.kind == "item" and not (type(place.holder) is dict and "__builtins__" in place.holder)


def _endless() -> NotStaged:
    why = "a function calls itself in a branch or a loop whose condition is a traced array"
    return NotStaged(f"{trace_state.user_line()}: {why}, and tracing it never ends: write a loop").because(why)


@contextlib.contextmanager
def _within(body: Block) -> Iterator[None]:
    """A scope in which a branch is traced; raise if its function calls itself there again and again."""
    code, inside = body.__code__, _state.branches
    is_first = code not in inside
    inside[code] = inside.get(code, -1) + 1
    try:
        if inside[code] > _MANY_CALLS:
            raise _endless()
        yield
    finally:
        if is_first:
            del inside[code]


def _name_of(place: Place) -> str:
    if _is_entry(place):
        return f"the entry {place.key!r}"
    return f"{'global' if place.kind == 'item' else 'nonlocal'} {place.key}"


def _shown(name: str) -> str:
    return "the result of the function" if name == RESULT else name


def if_(test: Any, body: Block, orelse: Block, get: Any, put: Any, lines: Any) -> None:
    """``if test: body() else: orelse()``; for a traced test both branches are traced, and the graph runs one."""
    condition = predicate(test)
    if condition is None:
        (body if test else orelse)()
    else:
        variables = _Variables(get, put, lines)
        with _within(body):
            variables.complete(lambda: test, lambda: _branch(condition, body, orelse, variables))


def choose(test: Any, body: Block, orelse: Block, get: Any, put: Any) -> None:
    """Like `if_` with a traced condition, for an expression with one result.

    Raises
    ------
    TypeError
        The results of the two branches differ in dtype or shape.
    """
    condition = predicate(test)
    variables = _Variables(get, put, [("the expression", 0)])
    with _within(body):
        variables.complete(lambda: test, lambda: _branch(condition, body, orelse, variables))
    (value,) = get()
    if isinstance(value, Undefined):
        raise value.error()


def demand(condition: Tensor, message: Callable[[], Any] | None) -> None:
    """Let the graph raise an AssertionError when it runs, unless a condition holds; its message asks for no value."""
    text = value_checks.ASSERTED
    if message is not None:
        with contextlib.suppress(trace_state.TracedValueError):
            text = value_checks.raising(AssertionError(message()), trace_state.user_line())
    value_checks.demand(backend.is_true(condition), text)


Forms = dict[str, list[Form]]
"""Variable -> the forms of its arrays after a branch."""


Key = tuple[str, int, int]
"""A variable, the number of an array in it, and the number of one of the arrays whose memory that may share."""


class _Branch(NamedTuple):
    """A branch that has been traced, whatever the other one changes."""

    traced: backend.Traced
    parts: dict[str, Part] | None
    """The variables that it results in; None if it ends with a ``raise``."""
    results: list[tuple[str, list[Form]]]
    """The variables of its results: these, and others that it leaves as they are."""
    scope: object
    """The trace of it."""

    def chosen(self, wanted: Forms) -> backend.Traced | None:
        """Return the branch with these variables as results; None if it has to be traced again for them."""
        numbers: dict[str, range] = {}
        count = 0
        for name, forms in self.results:
            if [each[:3] for each in forms] == [each[:3] for each in wanted.get(name, ())]:
                numbers[name] = range(count, count + len(forms))
            count += len(forms)
        if numbers.keys() != wanted.keys():
            return None
        return backend.with_results(self.traced, [each for name in wanted for each in numbers[name]] or [count])


class _Block(NamedTuple):
    """A traced block, for what its results may share memory with."""

    traced: backend.Traced
    parts: dict[str, Part]
    shares: Callable[[Part], list[Shares]]
    """Returns what a variable may share memory with."""
    when: Callable[[], Tensor | None]
    """Returns whether the graph runs the block; None if its last step decides what the results share."""
    inner: dict[Key, Tensor]
    """Whether the graph runs the blocks inside it after which its results share memory."""


def _branch(condition: Tensor, body: Block, orelse: Block, variables: _Variables) -> None:
    follow_writes()  # here: in one of the blocks it would be done once, and may be traced again
    line = trace_state.user_line()
    before = variables.get()
    traced = [_one_branch(body, variables, before)]
    traced.append(_one_branch(orelse, variables, before, _forms(traced[0].parts)))
    one, two = [each.parts for each in traced]
    values, wanted, others = _merged(before, one, two, line, variables)
    for parts in [each for each in (one, two) if each is not None]:
        parts.update({name: Part(before[name]) for name in wanted if name not in parts})
    ones, twos = [_conditions(each, wanted) for each in traced]
    keys: list[list[Key | None]] = [[*ones, *[None] * len(twos)], [*[None] * len(ones), *twos]]
    fitting = [None if ones or twos else each.chosen(wanted) for each in traced]
    first, second = [
        fits or _one_branch(block, variables, before, wanted, values, own).traced
        for fits, block, own in zip(fitting, (body, orelse), keys, strict=True)
    ]
    results = backend.branched(condition, first, second)
    flags = results[sum(map(len, wanted.values())) :]
    blocks = [
        _Block(block, each.parts or {}, functools.partial(Part.shares_in, scope=each.scope), when, inner)
        for block, each, when, inner in (
            (first, traced[0], lambda: backend.is_true(condition), dict(zip(ones, flags, strict=False))),
            (second, traced[1], lambda: ~backend.is_true(condition), dict(zip(twos, flags[len(ones) :], strict=False))),
        )
    ]
    sources = _shared(wanted, results, before, blocks)
    found = zip(results, sources, strict=False)
    after = {}
    for name, form in wanted.items():
        pairs = [next(found) for _ in form]
        reaches = zip(*[_reaches(parts[name]) for parts in (one, two) if parts], strict=False)
        for pair, reach in zip(pairs, reaches, strict=False):
            if None not in reach:
                pair[0].reach = max(reach)  # type: ignore[attr-defined]
        after[name] = values[name].filled([each[0] for each in pairs], form, [each[1] for each in pairs], name)
    replaced = [before[name] for name in after if _is_grown(before[name])]
    _share([one, two], after, line)
    for value in replaced:
        value.is_old = True
    variables.put({**before, **others, **after})


def _share(blocks: Sequence[dict[str, Part] | None], after: State, line: str) -> None:
    """Note lists that a variable has anew after blocks, where those that it had in one of them have other names."""
    for name, value in after.items():
        made = list(mutable(value))
        if not made:
            continue
        parts = [(each, part.value) for block in blocks for each, part in (block or {}).items()]
        others = {id(each) for other, held in parts if other != name for each in mutable(held)}
        stands_for = [each for other, held in parts if other == name for each in mutable(held)]
        others |= surroundings.shared()
        if any(id(each) in others or _has_another_name(each, name) for each in stands_for):
            surroundings.share([*stands_for, *made], line)
            for each in [*stands_for, *made]:
                if type(each) is Collected:
                    each.freeze()


def _reaches(part: Part) -> list[Any]:
    """Return the largest absolute value that each int in a value may have; None for what is no Python int."""
    return [
        None if python_type(leaf) is not int else ANY if (largest := largest_of(leaf)) is None else largest
        for leaf in ([] if part.tree is None else part.tree.leaves)
    ]


def _is_beyond(part: Part, limit: int) -> bool:
    """Whether an int in a value may be larger than a limit."""
    return any(reach is not None and reach > limit for reach in _reaches(part))


def _forms(parts: dict[str, Part] | None) -> Forms:
    return {name: part.forms for name, part in (parts or {}).items()}


def _conditions(branch: _Branch, forms: Forms) -> list[Key]:
    """Return where a block's results share memory if an inner branch has run, or has not."""
    return [
        (name, place, number)
        for name, part in (branch.parts or {}).items()
        for place, each in enumerate(part.shares_in(branch.scope) if name in forms else ())
        for number, (_, _, when) in enumerate(each)
        if when is not None
    ]


def _shared(forms: Forms, results: Sequence[Tensor], before: State, blocks: Sequence[_Block]) -> list[list[Source]]:
    """For each result, return the other arrays of after the block whose memory it may share.

    These are tensors from around the block, and earlier results.
    """
    found: list[list[Source]] = [[] for _ in results]
    for traced, parts, shares, when, inner in blocks:
        known = {backend.storage_of(tensor): tensor for tensor in traced.graph[1]}
        owners = _owners(forms, results, parts)
        condition = functools.cache(when)
        index = 0
        for name, form in forms.items():
            arrays = shares(parts[name]) if name in parts else []
            own = [
                tensor for tensor in (Part(before[name]).tensors if any(arrays) else []) if not backend.is_view(tensor)
            ]
            is_all = len(form) - len(arrays) in (0, 1)  # but for whether a `Maybe` is set
            for place, each in enumerate(arrays if is_all else []):
                for number, (tensor, is_exact, condition_inside) in enumerate(each):
                    storage = backend.storage_of(tensor)
                    taken = condition() if condition_inside is None else inner.get((name, place, number))
                    if (array := known.get(storage)) is not None:
                        is_own = any(array is one and not backend.is_view(one) for one in own)
                    elif storage in owners and owners[storage][1] is not results[index + place]:
                        inside, array = owners[storage]
                        is_own = False
                        if is_whole(tensor, inside):
                            tensor = array
                        elif backend.is_view(inside) or not is_whole(inside, array):
                            is_exact = False  # the result lies otherwise in memory than the array in the block
                    else:
                        continue
                    found[index + place].append(source_of(tensor, array, taken if is_exact else None, is_own))
            index += len(form)
    return found


def _owners(forms: Forms, results: Sequence[Tensor], parts: dict[str, Part]) -> dict[int, tuple[Tensor, Tensor]]:
    """Return for each memory in a block an array there and its result: rather the whole memory than a view of it."""
    found: dict[int, tuple[Tensor, Tensor]] = {}
    index = 0
    for name, form in forms.items():
        for tensor, result in zip(parts[name].tensors if name in parts else (), results[index:], strict=False):
            known = found.get(backend.storage_of(tensor))
            if known is None or (backend.is_view(known[0]) and not backend.is_view(tensor)):
                found[backend.storage_of(tensor)] = tensor, result
        index += len(form)
    return found


def _one_branch(
    block: Block,
    variables: _Variables,
    before: State,
    forms: Forms | None = None,
    like: dict[str, Part] | None = None,
    flags: Sequence[Key | None] = (),
) -> _Branch:
    """Trace a branch, with the variables in ``forms`` and those that it changes as results.

    With ``like``, its results are the variables in ``forms`` alone, in the forms of these values, and after them the
    conditions at ``flags``. Without it, variables that it leaves as they are follow, as the other branch may change
    them; so a branch in branches is not traced once more for each of these.
    """
    forms = forms or {}
    parts: dict[str, Part] = {}
    results: list[tuple[str, list[Form]]] = []
    raises = False
    scope: object = None

    def run(_: list[Tensor]) -> list[Tensor]:
        nonlocal raises, scope
        scope = trace_state.state.scopes[-1]
        try:
            after = _run(block, block, variables, before, "a branch", is_branch=True)
        except (LookupError, ZeroDivisionError) as error:
            if isinstance(error, trace_state.OfTracing):
                raise
            why = f"a branch whose condition is traced raises {error!r} while it is traced"
            line = trace_state.line_of(error)
            raise NotStaged(f"{line}: {why}, and values decide whether it runs").because(why, line) from error
        except _Raises:
            raises = True
            empty = [backend.zeros(form.shape, form.dtype, form.device) for each in forms.values() for form in each]
            return [*empty, *[backend.number(False) for _ in flags]] or [backend.number(0)]
        changed = [name for name in variables.results if like is None and not is_same(before[name], after[name])]
        parts.update({name: Part(after[name]) for name in dict.fromkeys([*forms, *changed])})
        if like is None:
            others = {
                name: Part(after[name]) for name in variables.results if name not in parts and _is_plain(after[name])
            }
            results[:] = [(name, part.forms) for name, part in {**parts, **others}.items()]
            found = [tensor for part in (*parts.values(), *others.values()) for tensor in part.tensors]
            for part in parts.values():
                part.shares_in(scope)  # now: to ask may add operations, which belong to this trace
            return [*found, backend.number(0)]  # a result keeps a branch that only prints from being dead code
        found = [tensor for name, form in forms.items() for tensor in _formed(parts[name], like[name], form)]
        arrays = {name: part.shares_in(scope) for name, part in parts.items()}  # now, as above
        for key in flags:
            found.append(arrays[key[0]][key[1]][key[2]][2] if key else backend.number(False))
        return found or [backend.number(0)]

    traced = backend.traced(run, [])
    return _Branch(traced, None if raises else parts, results, scope)


def _is_plain(value: Any) -> bool:
    """Whether a variable holds an array or a number that is no view which only the graph knows."""
    return type(value) is ndarray or type(value) in SCALARS or python_type(value) is not None


def _formed(part: Part, like: Part, forms: list[Form]) -> list[Tensor]:
    if isinstance(part.value, Undefined):
        return [backend.zeros(form.shape, form.dtype, form.device) for form in forms]
    return as_forms(part.like(like), forms)


def _merged(
    before: State, one: dict[str, Part] | None, two: dict[str, Part] | None, line: str, variables: _Variables
) -> tuple[dict[str, Part], Forms, State]:
    """Merge the variables after two branches.

    Returns
    -------
    values : dict
        Variables that go through the graph -> how to build their values from tensors.
    forms : dict
        The same variables -> the forms of their arrays.
    others : dict
        Variables that do not go through the graph -> their value, or `Undefined` or `Conflict`.
    """
    values: dict[str, Part] = {}
    forms: Forms = {}
    others: State = {}
    if one is None or two is None:  # one branch raises: what follows comes after the other
        one = two = one or two or {}
    for name in {**one, **two}:
        first = one[name] if name in one else Part(before[name])
        second = two[name] if name in two else Part(before[name])
        if name != RESULT and name in variables.own:
            first, second = alike(first, second)
        if first is second and first.tree is not None:
            values[name], forms[name] = first, first.forms
        elif is_same(first.value, second.value):
            others[name] = first.value
        elif type(first.value) is Growing and type(second.value) is Growing and first.value.count != second.value.count:
            kind = first.value.kind
            raise Grows(kind.loop, first.value, kind.item, is_counted=True)
        elif conflict := next((each for each in (first.value, second.value) if isinstance(each, Conflict)), None):
            others[name] = conflict
        elif isinstance(first.value, Undefined) or isinstance(second.value, Undefined):
            there = second if isinstance(first.value, Undefined) else first
            if name == RESULT and there.tree is None:  # a flag says whether the function has returned it
                others[name] = there.value
            elif name == RESULT:
                values[name], forms[name] = there, there.forms
            else:
                why = f"one branch of the `if` at {line} assigns it, and its condition is a traced array"
                others[name] = Undefined(name, f"{why}; assign to it before, too")
        elif (found := common(first, second)) is None:
            why = (
                f"{variables.where(name)}: {_shown(name)} is {first} after one branch of the `if` at {line}, and "
                f"{second} after the other: its condition is a traced array, so both have to be of one dtype and shape"
            )
            others[name] = Conflict(name, why)
        else:
            values[name] = second if first.is_number else first
            forms[name] = found
    return values, forms, others


def _run(
    block: Block, run: Callable[[], Any], variables: _Variables, before: State, what: str, is_branch: bool = False
) -> State:
    """Trace a block by ``run()``. Return its variables; then restore them, and check that no container has changed.

    Raises
    ------
    NotImplementedError
        The block changes a container.
    """
    around, entry, shared = Surroundings(block, before.values()), variables.get(), len(surroundings.state.shared or ())
    surroundings.state.blocks.append(around)
    outer, _state.is_branch = _state.is_branch, is_branch
    try:
        lists = {name: value.renewed() for name, value in before.items() if _is_grown(value)}
        variables.put({**before, **lists})
        run()
        after = variables.get()
        for name, value in lists.items():
            if after[name] is value:
                value.check()
                after[name] = before[name]
    finally:
        surroundings.state.blocks.pop()
        _state.is_branch = outer
        rebound = around.rebound()
        variables.put(entry)
        entries, changed = around.restored()
    surroundings.check_names(after.values(), entries, shared)
    own = {(id(place.holder), place.key) for place in variables.places.values()}
    if changed is not None:
        raise NotImplementedError(
            f"{trace_state.user_line()}: {what} whose condition is traced changes a {type(changed).__name__} or an "
            "attribute of an object: that would happen once, while tracing, and not at each call; keep the values in "
            "an array, or give the variable a new value"
        )
    if more := [place for place in [*rebound, *entries] if (id(place.holder), place.key) not in own]:
        raise _Rebound(more)
    return after


def _is_grown(value: Any) -> bool:
    """Whether a value is a list of a loop's graph, which another object takes the place of once an item is appended."""
    return type(value) is Growing or (type(value) is Collected and value.takes_rows)


# ---------------------------------------------------------------------------------------------------------------------
# Loops


def while_(test: Block, body: Block, get: Any, put: Any, lines: Any) -> None:
    """``while test(): body()``; once ``test()`` is traced, the remaining steps are a loop of the graph.

    So are the steps after the first ones if these have many operations.
    """
    before, steps = backend.operations(), 0
    refusal: _Refusal | None = None
    while True:
        value = test()
        if predicate(value) is not None:
            _staged_while(value, test, body, _Variables(get, put, lines))
            return
        if not value:
            return
        operations = backend.operations() - before
        if steps >= _FEW_STEPS and operations > MOST_OPERATIONS and backend.is_recorded():
            if refusal is None:
                refusal = _refused_while(value, test, body, _Variables(get, put, lines), steps)
                if refusal is None:
                    return
            if steps >= _MANY_STEPS and operations > _TOO_MANY_OPERATIONS and not trace_state.state.is_whole:
                refusal.leave()
        body()
        steps += 1


def _refused_while(first: Any, test: Block, body: Block, variables: _Variables, steps: int) -> _Refusal | None:
    """Make what is left of a loop, whose condition Python can test, one of the graph; return why not."""
    what = "the steps of a `while`"
    return _refused(lambda: _staged_while(first, test, body, variables), body, variables, what, steps)


def _staged_while(first: Any, test: Block, body: Block, variables: _Variables) -> None:
    def condition(_: list[Tensor]) -> Any:
        return test()

    what = "the `while` at " + trace_state.user_line()
    variables.complete(lambda: first, lambda: _Loop(variables, condition, body, lambda _: body(), [], what).run())


def for_(items: Any, test: Block | None, body: Block, get: Any, put: Any, lines: Any) -> None:
    """``for item in items: body(item)``; the loop ends early if there is a ``test`` and it becomes false."""
    source = iteration.source(effects.iterated(items))
    if source is None:
        _python_for(items, test, body, get, put, lines)
        return
    variables = _Variables(get, put, lines)
    length = source.length
    few = _FEW_STEPS if _loops_in(body.__code__) < 2 else 1
    if isinstance(length, int) and not (length > few and backend.keeps_loops(length)):
        _python_for(items, test, body, get, put, lines)
        return
    if not isinstance(length, int):
        _staged_for(source, 0, length, test, body, variables, None)
    else:
        what = f"the {length} steps of a loop"
        refusal = _refused(
            lambda: _staged_for(source, 0, length, test, body, variables, length), body, variables, what, length
        )
        if refusal is not None:
            refusal.check(0)  # of too many steps the first one need not run
            _python_for(items, test, body, get, put, lines, refusal.check)
            return
    iteration.pass_over(items)


@functools.cache
def _loops_in(code: types.CodeType) -> int:
    """Return how many `for` loops of a block are around each other; unrolled, their steps multiply."""
    blocks = [each for each in code.co_consts if isinstance(each, types.CodeType)]
    return ("for_" in code.co_names) + max(map(_loops_in, blocks), default=0)


def _python_for(
    items: Any,
    test: Block | None,
    body: Block,
    get: Any,
    put: Any,
    lines: Any,
    check: Callable[[int], None] | None = None,
) -> None:
    """Run the loop in Python; once the flags that end it are traced, each further step is a branch.

    ``check`` gets the number of operations of the first step.
    """
    before = backend.operations()
    for number, item in enumerate(items):
        if number == 1 and check is not None:
            check(backend.operations() - before)
        if test is not None:
            value = test()
            if predicate(value) is not None:
                if number >= _FEW_STEPS and _may_be_endless(items):
                    why = "values decide when a loop over an iterator ends, which may go on for ever"
                    raise NotStaged(f"{trace_state.user_line()}: {why}").because(why)
                if_(value, lambda item=item: body(item), _nothing, get, put, lines)
                continue
            if not value:
                return
        body(item)


def _may_be_endless(items: Any) -> bool:
    """Whether an iterator may go on for ever; not one of `unroll`."""
    if isinstance(items, types.GeneratorType):
        return not trace_state.is_own(items.gi_code.co_filename)
    return isinstance(items, (itertools.count, itertools.cycle, itertools.repeat))


def _nothing() -> None:
    """An empty block."""


class _Refusal(NamedTuple):
    """Why a graph can't hold a loop; ``steps`` is 0 for one that is too short."""

    what: str
    reason: str
    steps: int
    error: Exception
    is_expression: bool

    def check(self, operations: int) -> None:
        """Raise if unrolling a loop whose steps have so many operations takes minutes; warn if it takes long."""
        if self.steps < _MANY_STEPS or (self.is_expression and not operations):
            return
        is_long = self.steps * operations > _TOO_MANY_OPERATIONS and not trace_state.state.is_whole
        if self.steps >= _TOO_MANY_STEPS or is_long:
            self.leave()
        if operations:
            trace_state.warn(f"{self.what} are unrolled, each traced and compiled: {self.reason}")

    def leave(self) -> NoReturn:
        """Raise, so that Python runs the loop."""
        why = f"{self.what} would be unrolled, each traced and compiled, which takes minutes: {self.reason}"
        raise trace_state.TracedValueError(f"{trace_state.user_line()}: {why}").because(why) from self.error


def _refused(run: Callable[[], None], body: Block, variables: _Variables, what: str, steps: int) -> _Refusal | None:
    """Make a loop that Python could run one of the graph; return why not if it is too short or the graph can't hold it.

    ``steps`` is how many it does, if that is known.
    """
    before = variables.get()
    around = Surroundings(body, before.values())
    try:
        run()
    except Exception as error:  # if the function itself raised it, Python's loop will raise it again
        trace_state.raise_of_signal(error)
        variables.put(before)
        around.restored()
        steps = 0 if isinstance(error, _Short) else steps
        reason = str(error) or type(error).__name__
        return _Refusal(what, reason, steps, error.with_traceback(None), EXPRESSION in variables.lines)
    return None


def _staged_for(
    source: Any, start: int, stop: Any, test: Block | None, body: Block, variables: _Variables, steps: int | None
) -> None:
    counter = backend.number(start)
    end = stop if isinstance(stop, int) else stop.tensor

    def condition(values: list[Tensor]) -> Any:
        before_end = wrap(values[0] < end)
        if test is None:
            return before_end
        more = test()
        return before_end & more if predicate(more) is not None else (before_end if more else wrap(values[0] < start))

    def step(values: list[Tensor]) -> None:
        body(source.item(number_of(values[0])))

    what = "the `for` at " + trace_state.user_line()
    variables.complete(
        lambda: wrap(counter < end),
        lambda: _Loop(
            variables, condition, body, step, [counter], what, test is not None, source.most if steps is None else steps
        ).run(steps),
    )


_carried: weakref.WeakKeyDictionary[types.CodeType, dict[str, list[Form]]] = weakref.WeakKeyDictionary()
"""Code of a loop's body -> the variables that the loop carried when it was last traced."""


def _named_besides(names: Iterable[str]) -> set[int]:
    """Return the memory of arrays that the function being traced has in other variables than these."""
    known = frozenset(names)
    tensors = []
    for frame in trace_state.frames_of_function("._tnp_"):
        for name, value in frame.f_locals.items():
            if name not in known and not name.startswith("_tnp_"):
                tensors += [root(leaf) for leaf in _arrays(value)]  # to read a view of a trace that is over would fail
    return set(map(backend.storage_of, tensors))


def _arrays(value: Any, depth: int = 2) -> Iterator[ndarray]:
    """Yield the arrays with memory of their own in a value: itself, and what containers and objects hold."""
    if isinstance(value, ndarray):
        if not isinstance(value, Selection):
            yield value
    elif depth and isinstance(value, (list, tuple)):
        for each in value:
            yield from _arrays(each, depth - 1)
    elif depth and python_type(value) is None and not isinstance(value, (type, types.ModuleType, types.FunctionType)):
        held = value if isinstance(value, dict) else getattr(value, "__dict__", {})
        for each in list(held.values()):
            yield from _arrays(each, depth - 1)


def _has_another_name(items: Any, name: str) -> bool:
    """Whether the function being traced has a list in another variable, or in what one holds."""

    def holds(value: Any, depth: int) -> bool:
        if value is items:
            return True
        if not depth or isinstance(value, (type, types.ModuleType, types.FunctionType, ndarray)):
            return False
        held = value if isinstance(value, dict) else getattr(value, "__dict__", {})
        inside = value if isinstance(value, (list, tuple)) else list(held.values())
        return any(holds(each, depth - 1) for each in inside)

    for frame in trace_state.frames_of_function("._tnp_"):
        for other, value in frame.f_locals.items():
            if other != name and not other.startswith("_tnp_") and holds(value, 2):
                return True
    return False


class _Changed(Exception):
    """A step changes variables that the loop does not carry yet, or not in this dtype."""

    def __init__(self, after: State) -> None:
        super().__init__()
        self.after = {name: Part(value) for name, value in after.items()}  # now: this may add operations to the trace


class _Loop:
    """A loop of the graph.

    Parameters
    ----------
    variables : _Variables
    condition, step : callable
        They take the counter, if there is one, and read and set the variables.
    body : callable
        The program's block, which ``step`` calls.
    counter : list of Tensor
        An integer that grows by one each step; empty for a `while` loop.
    what : str
        The loop's name in error messages.
    ends_early : bool
        Whether a loop of a known number of steps may do fewer.
    most_steps : int, optional
        How many steps it does at most.
    """

    def __init__(
        self,
        variables: _Variables,
        condition: Block,
        body: Block,
        step: Block,
        counter: list[Tensor],
        what: str,
        ends_early: bool = False,
        most_steps: int | None = None,
    ) -> None:
        self.variables = variables
        self.most_steps = most_steps if most_steps is not None and most_steps <= _MANY_ITEMS else None
        self.ends_early = ends_early
        self.condition = condition
        self.body = body
        self.step = step
        self.counter = counter
        self.what = what
        self.before = variables.get()
        self.named = _named_besides(variables.lines)  # the memory that other variables of the function share
        self.parts: dict[str, Part] = {}  # the carried variables
        self.large: set[str] = set()  # those with ints that may have any size
        self.after: dict[str, Part] = {}  # the same after a step
        self.start: dict[str, list[Tensor]] = {}
        self.last: list[Part] = []
        self.unset: list[str] = []
        self.sources: list[set[int]] = []  # for each carried tensor: those before the step whose memory it may share
        self.lost: list[Left] = []  # the results of blocks before it that miss what a step writes
        self.exact: list[Moves | None] = []  # the same with conditions; None for a view, or what only the graph knows
        self.origins: dict[int, Any] = {}  # for those that change hands which array it is; after the loop its result
        self.steps: int | None = None
        self.lists: dict[str, Kind] = {}  # the lists to which a step appends
        self.most: dict[Kind, int] = {}  # how many items there may be before the loop, of those whose items are counted
        self.asked: Exception | None = None  # that of an item at a traced place, unless the step appends to its list

    def is_named(self, tensor: Tensor) -> bool:
        """Whether the function being traced has an array, or one that shares its memory, by a name."""
        return backend.storage_of(tensor) in _named_besides(())

    def run(self, steps: int | None = None) -> None:
        """Trace the loop; ``steps`` is their number if it is known, and raises `_Short` if unrolling is better."""
        self.steps = steps
        traced = self._traced()
        self._check_appended(traced)
        lost = self._rebound_after_writes(traced)
        known = set(map(backend.storage_of, traced.graph[1]))
        for place in self.lost:
            if backend.storage_of(place.values) in known:
                place.get(place.values)
        if steps is not None and (self._is_short(steps, steps * traced.operations) or self._is_pythons(traced)):
            raise _Short
        if steps is None and self.unset:
            self._demand_a_step()
        starts = self._starts()
        begins = self._first_test() if not steps and self._may_share(traced, starts) else None
        results = backend.repeated(self._tested, traced, self._carry(), steps, self.ends_early)[len(self.counter) :]
        results, origins = results[: len(starts)], results[len(starts) :]
        self.origins = dict(zip(self.origins, origins, strict=True))
        forms = {name: part.forms for name, part in self.parts.items()}
        shares = operator.attrgetter("shares")
        block = _Block(traced, self.after, shares, lambda: backend.number(True) if steps else begins, {})
        sources = self._passed_on(_shared(forms, results, self.before, [block]))
        memory = {backend.storage_of(tensor) for tensors in lost.values() for tensor in tensors}
        for index, start in enumerate(starts):
            if start is not None and backend.storage_of(start) not in memory:
                sources[index] += self._kept(index, starts, begins)
        for name, tensors in lost.items():
            backend.lose(tensors, functools.partial(self._lost_error, name))
        state = self._state(results, iter(sources))
        for name, each in self.lists.items():
            state[name] = each.after(self.before, state, self.steps or 0)
        before = {name: Part(self.before[name]) for name in self.parts}
        _share([before, self.after], {name: state[name] for name in self.parts}, trace_state.user_line())
        self.variables.put(state)

    def _is_short(self, steps: int, operations: int) -> bool:
        """Whether unrolling so few operations is better: not if many small items of lists would be tensors."""
        sizes = [math.prod(form.shape) for kind in self.lists.values() for form in kind.forms]
        return operations <= MOST_OPERATIONS and (steps <= _FEW_ITEMS or not sizes or max(sizes) > _SMALL)

    def _is_pythons(self, traced: backend.Traced) -> bool:
        """Whether a loop computes a list or an expression of nothing but the program's own numbers."""
        rows = {backend.storage_of(tensor) for kind in self.lists.values() for tensor in Part(kind.tree).tensors}
        return (
            bool(self.lists or EXPRESSION in self.variables.lines)
            and all(isinstance(x, Undefined) or python_type(x) for x in map(self.before.get, self.parts))
            and rows.issuperset(map(backend.storage_of, traced.graph[1]))
            and not any(traced.graph[0].children())  # blocks, of which Python would trace each by itself
        )

    def _starts(self) -> list[Tensor | None]:
        """For each carried tensor the array that it starts as; None for a number, and for what starts as nothing."""
        found: list[Tensor | None] = []
        for name, start in self.start.items():
            value = self.before[name]
            arrays = [] if python_type(value) is not None else Part(value).shares
            own = [each[0][0] if each else None for each in arrays]
            found += (own + [None] * len(start))[: len(start)]
        return found

    def _may_share(self, traced: backend.Traced, starts: list[Tensor | None]) -> bool:
        """Whether a variable is the caller's array if the loop does no step, or an array from around it if it does."""
        known = set(map(backend.storage_of, traced.graph[1]))
        arrays = [each for part in self.after.values() for shares in part.shares for each, _, _ in shares]
        return not known.isdisjoint(map(backend.storage_of, arrays)) or any(
            start is not None and self._is_seen(start) and not self.sources[index] for index, start in enumerate(starts)
        )

    def _is_seen(self, tensor: Tensor) -> bool:
        """Whether memory from before the loop has another name: the caller's, or another variable's."""
        return backend.is_from_outside(tensor) or backend.storage_of(tensor) in self.named

    def _kept(self, index: int, starts: list[Tensor | None], begins: Tensor | None) -> list[Source]:
        """Return the arrays from before the loop whose memory a carried tensor may share after it."""
        start = starts[index]
        assert start is not None
        if not self.sources[index]:
            return [] if begins is None else [source_of(start, start, ~begins, not backend.is_view(start))]
        found, reached = [], self._reached(self.sources[index]) | {index}
        for number in sorted(reached):
            each = starts[number]
            if each is None or (reached != {index} and not self._is_seen(each)):
                continue  # a trace keeps it for itself
            when = backend.number(True) if self.exact[index] == [(index, None)] else None
            if index in self.origins:
                when = self.origins[index] == number
            found.append(source_of(each, each, when, number == index and not backend.is_view(each)))
        return found

    def _passed_on(self, sources: list[list[Source]]) -> list[list[Source]]:
        """Add what steps pass on from one carried tensor to another: only the graph knows whether one has got it."""
        unknown = [[each._replace(place=None, when=None, is_own=False) for each in found] for found in sources]
        return [
            sources[index] + [each for other in self._reached(self.sources[index]) - {index} for each in unknown[other]]
            for index in range(len(sources))
        ]

    def _reached(self, indices: Iterable[int]) -> set[int]:
        """Return the carried tensors whose memory steps may pass on to some of them, as ``u, v = v, u`` does."""
        reached = set(indices)
        while more := set().union(*[self.sources[index] for index in reached]) - reached:
            reached |= more
        return reached

    def _rebound_after_writes(self, traced: backend.Traced) -> dict[str, list[Tensor]]:
        """Return the variables that a step writes to and rebinds, and their arrays before the loop.

        A carried variable starts as a copy: other names of the array would not see its writes.

        Raises
        ------
        NotStaged
            The caller or another variable of the function has the array, or the variable misses writes to another.
        """
        lost: dict[str, list[Tensor]] = {}
        names = [name for name, tensors in self.start.items() for _ in tensors]
        count = len(self.counter)
        reached = self._reached({index - count for index in traced.overwritten})
        for name in dict.fromkeys([names[index] for index in sorted(reached)]):
            part = Part(self.before[name])
            tensors = part.tensors
            seen = [tensor for shares in part.shares for tensor, *_ in shares]  # those that a branch chose from, too
            if any(map(self._is_seen, seen)):
                is_callers = any(map(backend.is_from_outside, seen))
                whose = f"the caller's array {name}" if is_callers else f"the array of {name}, which has another name,"
                raise NotStaged(
                    f"{self.variables.where(name)}: {self.what}, which is traced, writes to {whose} "
                    f"and gives {name} another array: write to a copy of it ({name} = {name}.copy() before the loop)"
                )
            if python_type(self.before[name]) is None:
                lost[name] = tensors
        starts = self._starts()
        memory = [set() if start is None else {backend.storage_of(start)} for start in starts]
        for index in [number for number in sorted(traced.used) if count <= number < count + len(names)]:
            others = {index - count for index in traced.overwritten} - {index - count}
            written = set(map(backend.storage_of, traced.written)).union(*[memory[other] for other in others])
            if not written.isdisjoint(memory[index - count]):
                name = names[index - count]
                raise NotStaged(
                    f"{self.variables.where(name)}: {self.what}, which is traced, gives {name} another array, and "
                    f"writes to memory that {name} shares before: let it be a copy ({name} = {name}.copy())"
                )
        return lost

    def _lost_error(self, name: str) -> NotStaged:
        """Return the error of reading the array that a variable had before the loop by a name that others have."""
        line, why = self.variables.where(name), f"{self.what} writes to the array of {name} and rebinds {name}"
        return NotStaged(
            f"{line}: {why}, and the array, which has another name, is read after it at {trace_state.user_line()}: the "
            f"loop is traced; write to a copy of it ({name} = {name}.copy() before the loop)"
        ).because(why, line)

    def _carry(self) -> list[Tensor]:
        origins = map(backend.number, self.origins)
        return [*self.counter, *[tensor for tensors in self.start.values() for tensor in tensors], *origins]

    def _state(self, tensors: Sequence[Tensor], sources: Iterable[list[Source]] = ()) -> State:
        state, rest = dict(self.before), iter(tensors)
        for name, part in self.parts.items():
            given = [next(rest) for _ in part.tensors]
            for tensor, form in zip(given, part.forms, strict=True):
                if form.is_number:
                    tensor.reach = ANY if name in self.large else 2**62
            state[name] = part.filled(given, part.forms, sources, name)
        return state

    def _tested(self, tensors: list[Tensor]) -> Tensor:
        self.variables.put(self._state(tensors[len(self.counter) :]))
        try:
            value = self.condition(tensors)
        finally:
            self.variables.put(self.before)
        found = predicate(value)
        return found if found is not None else backend.number(bool(value))

    def _traced(self) -> backend.Traced:
        self._carry_as_before()
        for _ in range(_MOST_ROUNDS):
            for kind in self.lists.values():
                kind.begin(self.steps or 0)
            for value in self.before.values():
                if type(value) is Growing and value.kind.counter is not None:
                    value.kind.most = self.most.setdefault(value.kind, value.kind.most)
            known = backend.known_memory()  # a trace may take values as constants that a step then writes
            self.asked = None
            try:
                traced = backend.traced(self._stepped, self._carry())
                if self.asked is not None:
                    raise self.asked
            except _Changed as change:
                self._carry_also(change.after)
                continue
            except Grows as found:
                if found.loop is not self:
                    raise
                self._append_also(found)
                continue
            if known.isdisjoint(map(backend.storage_of, traced.written)):
                _carried[self.body.__code__] = {name: part.forms for name, part in self.parts.items()}
                return traced
        raise NotStaged(f"{self.what}: the dtypes of its variables do not settle")

    def _append_also(self, found: Grows) -> None:
        """Let a step append to a list."""
        name, value = next((name, value) for name, value in self.before.items() if self._is_of(found.items, name))
        item, each = found.item, 1
        if type(value) is list and _has_another_name(value, name):
            raise refused(f"{name} has another name, too")
        if known := self.lists.get(name):
            value, each, forms = known.before, known.each, common(known.item, item)
            item = known.item if item.is_number else item
        else:
            forms = item.forms
            for held in value if type(value) is list else ():
                forms = forms and common(Part(held), item)
        if forms is None:
            raise refused(f"the items of {name} differ in dtype, shape or structure")
        like = Part(item.filled([backend.zeros(form.shape, form.dtype, form.device) for form in forms], forms))
        kind = Kind(name, self, like, forms, each)
        if found.is_counted or self.ends_early or self.steps is None or (known and known.counter is not None):
            kind.count()
        self._begin(kind, value)

    def _is_of(self, items: Any, name: str) -> bool:
        return items is self.before[name] or (type(items) is Growing and items.kind.name == name and name in self.lists)

    def _begin(self, kind: Kind, before: Any) -> None:
        kind.before, kind.tree = before, None
        self.lists[kind.name] = kind
        self.before = {**self.before, kind.name: Growing(kind)}

    def _write_appended(self, after: State) -> State:
        """Write to the lists what a step has appended; return the variables as if it had not."""
        for name, before in self.before.items():
            value = after[name]
            if type(before) is not Growing or value is before:
                continue
            if type(value) is not Growing or value.kind is not before.kind:
                raise refused(f"the list {name} is another one in each step")
            if self.most_steps is not None and (self.ends_early or self.steps is None):
                raise Grows(before.kind.loop, before, before.kind.item, is_counted=True)
            if self.most_steps is None:
                raise refused(f"{self.what} appends to {name}, and values decide how many steps it does")
            if (kind := self.lists.get(name)) is None:
                self._begin(before.kind.nested(value.count - before.count), before)
                raise _Changed({})
            if value.count != kind.each:
                kind.each = value.count
                self._begin(kind, kind.before)
                raise _Changed({})
            value.write()
            after = {**after, name: before}
        return after

    def _count_appended(self) -> None:
        """Add up how many items the steps append at most to lists whose items are counted."""
        for kind, before in self.most.items():
            added = kind.most - before
            kind.most = before + added * (self.most_steps or 0)
            if kind.most > _MANY_ITEMS or (added and self.most_steps is None):
                raise refused(f"{self.what} appends to {kind.name}, and values decide how many steps it does")
            if kind.loop is self and kind.most > kind.room:
                kind.room = kind.most
                self._begin(kind, kind.before)
                raise _Changed({})

    def _check_appended(self, traced: backend.Traced) -> None:
        """Refuse writes of a step to what one before it has appended."""
        names = [name for name, tensors in self.start.items() for _ in tensors]
        written = {names[index - len(self.counter)] for index in traced.overwritten if index >= len(self.counter)}
        around = set(map(backend.storage_of, traced.graph[1]))
        for kind in self.lists.values():
            if not around.isdisjoint(map(backend.storage_of, kind.appended)):
                raise kind.shared("an array from before the loop")
            for name, _ in kind.kept.values():
                index = names.index(name)
                if name in written or any(index in found for other, found in enumerate(self.sources) if other != index):
                    raise refused(f"{name} is appended to {kind.name}, and then written to or given another name")

    def _carry_as_before(self) -> None:
        """Carry the variables that the same loop carried before, in another step of the loop around it."""
        for name, forms in _carried.get(self.body.__code__, {}).items():
            value = self.before.get(name)
            if value is None or python_type(value) is not None:
                continue  # a step has made an array of the number: its forms differ, and Part adds an operation
            part = Part(value)
            if part.forms == forms:
                self._set(name, part, part.tensors, forms)

    def _stepped(self, tensors: list[Tensor]) -> list[Tensor]:
        count = len(self.counter)
        if count:
            tensors[0].reach = _MOST_TIMES if self.steps is None else self.steps
        if count and self.steps is not None:
            tensors[0].line = Line(tensors[0], self.steps)
        state = self._state(tensors[count:])
        for kind in self.lists.values():
            if kind.loop is self:
                kind.read.clear()
            if kind.counter is None:
                kind.base = kind.first + kind.each * number_of(tensors[0])
        _state.loops.append(self)
        try:
            after = _run(self.body, lambda: self.step(tensors), self.variables, state, "a loop")
        finally:
            _state.loops.pop()
        lists, after = {name: after[name] for name in self.lists}, self._write_appended(after)
        self._count_appended()
        self.lost = follow_writes()  # the next step reads them
        results = [tensors[0] + 1] if count else []
        for name in self.variables.lines:
            part = self.parts.get(name)
            if part is None:
                if not is_same(self.before[name], after[name]):
                    raise _Changed(after)
                continue
            new = Part(after[name]).like(part)
            if not self._keeps(part, new):
                raise _Changed(after)
            if name not in self.large and _is_beyond(new, 2**62 + _FEW):
                self.large.add(name)
                raise _Changed({})
            results += as_forms(new, part.forms)
        # Results have the order of the carried values.
        ordered = self._ordered(results, after)
        places = {backend.storage_of(tensor): index for index, tensor in enumerate(tensors[count:])}
        self.after = {name: Part(after[name]) for name in self.parts}
        self.sources, self.exact = [], []
        for name, part in self.parts.items():
            arrays = (self.after[name].shares + [[] for _ in part.tensors])[: len(part.tensors)]
            for each in arrays:
                shared = [(places.get(backend.storage_of(tensor)), *rest) for tensor, *rest in each]
                self.sources.append({place for place, *_ in shared if place is not None})
                moves = [
                    (place, condition)
                    for (place, is_exact, condition), (tensor, *_) in zip(shared, each, strict=True)
                    if place is not None and is_exact and is_whole(tensor, tensors[count + place])
                ]
                is_known = len(moves) == sum(place is not None for place, *_ in shared)
                self.exact.append(moves if is_known else None)
        carried = [name for name, part in self.parts.items() for _ in part.tensors]
        for name, kind in self.lists.items():
            if type(lists[name]) is Growing and kind.counter is None:
                kind.follow(lists[name], tensors[count : count + len(carried)], self.after, carried)
        followed = self._followed()
        if followed != self.origins.keys():
            self.origins = dict.fromkeys(sorted(followed))
            raise _Changed({})
        origins = dict(zip(self.origins, tensors[len(tensors) - len(self.origins) :], strict=True))
        return [*ordered, *[self._origin(index, origins) for index in origins]]

    def _followed(self) -> set[int]:
        """Return the carried tensors of which the graph has to say which array from before the loop they are."""
        found: set[int] = set()
        starts = self._starts()
        for index, moves in enumerate(self.exact):
            if moves and moves != [(index, None)]:
                reached = self._reached({index})
                seen = [each for each in [starts[number] for number in reached] if each is not None]
                if (reached == {index} or any(map(self._is_seen, seen))) and None not in [
                    self.exact[number] for number in reached
                ]:
                    found |= reached | {index}
        return found

    def _origin(self, index: int, before: dict[int, Tensor]) -> Tensor:
        """Return which array from before the loop a carried tensor is after a step; -1 for another one."""
        found = backend.number(-1)
        for place, condition in self.exact[index] or ():
            found = before[place] if condition is None else backend.selected(condition, before[place], found)
        return found

    def _keeps(self, part: Part, new: Part) -> bool:
        """Whether a carried variable's forms can still hold its value after a step."""
        return common(part, new) == part.forms

    def _ordered(self, results: list[Tensor], after: State) -> list[Tensor]:
        head = results[: len(self.counter)]
        rest = iter(results[len(head) :])
        found = {}
        for name in self.variables.lines:
            if name in self.parts:
                found[name] = [next(rest) for _ in self.parts[name].tensors]
        return [*head, *[tensor for name in self.parts for tensor in found[name]]]

    def _carry_also(self, after: dict[str, Part]) -> None:
        """Carry the variables that a step has changed, starting from their values before the loop."""
        for name, new in after.items():
            value, before, part = new.value, self.before[name], self.parts.get(name)
            if part is None and is_same(before, value):
                continue
            if part is not None and self._keeps(part, new):
                continue
            if isinstance(value, Undefined):
                raise self._error(name, part or Part(before), new)
            if isinstance(before, Undefined):
                if new.tree is None:
                    raise self._error(name, Part(before), new)
                if name not in self.unset and not isinstance(value, Maybe):
                    self.unset.append(name)
                start = [backend.zeros(tuple(tensor.shape), tensor.dtype, tensor.device) for tensor in new.tensors]
                self._set(name, new, start, new.forms)
                continue
            old = Part(before).like(new)
            forms = common(old, new)
            if forms is None or (part is not None and forms == part.forms):
                raise self._error(name, part or old, new)
            if any(
                not own.is_number and own.dtype is not form.dtype for own, form in zip(old.forms, forms, strict=True)
            ):
                raise self._error(name, old, new)
            self._set(name, new if old.is_number else old, as_forms(old, forms), forms)

    def _set(self, name: str, like: Part, start: list[Tensor], forms: list[Form]) -> None:
        self.parts[name] = Part(like.filled(start, forms))
        self.start[name] = start
        if not isinstance(self.before[name], Undefined) and _is_beyond(Part(self.before[name]), 2**61):
            self.large.add(name)

    def _error(self, name: str, old: Part, new: Part) -> NotStaged:
        return NotStaged(
            f"{self.variables.where(name)}: {_shown(name)} changes from {old} to {new} in {self.what}, which is "
            "traced: a variable must keep its dtype and shape from step to step"
        )

    def _demand_a_step(self) -> None:
        if all(each.startswith("_tnp_") for each in self.unset):
            return
        condition, name = self._first_test(), next(each for each in self.unset if not each.startswith("_tnp_"))
        value_checks.demand(backend.is_true(condition), value_checks.unassigned(name))

    def _first_test(self) -> Tensor:
        self.variables.put(self.before)
        found = predicate(self.condition(self.counter))
        return found if found is not None else backend.number(True)
