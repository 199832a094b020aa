"""Lists to which a loop of the graph appends: arrays that have a row for each item.

Layer: owns such a list while the loop is traced (`Growing`) and after it (`Collected`). The loop is `statements`'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from backend_torch.graphs import control_flow as backend
from backend_torch.kernels import value_checks
from backend_torch.tensors import memory, trace_state
from tnp._array.numbers import line_of, number_of
from tnp._autograph import surroundings
from tnp._autograph.values import Form, NotStaged, Part, as_forms, common, mutable, python_type, traced
from tnp._core.base import SCALARS, ndarray, number, wrap, wrap_array
from tnp._core.convert import asarray
from tnp._core.readonly_views import as_readonly
from tnp._core.strided_views import is_whole
from tnp._indexing.selection import where
from tnp._transforms import pytree
from tnp._transforms.registered_pytrees import register_pytree_node

NUMBER, SCALAR, ARRAY = "number", "scalar", "array"
_MOST_ITEMS = 1024  # Python goes through at most so many items of a list while it is traced
_SPARE = 4  # rows for items that are appended after the loop, in branches too
_OUT_OF_RANGE = value_checks.raising(IndexError("list index out of range"), "")
_MUTATORS = frozenset({"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"})


class Grows(BaseException):
    """A step of a loop of the graph appends a value to a list that is not one of arrays yet, or not of its dtype.

    With ``is_counted``, values decide how many items it appends. No handler of the program may take this.
    """

    def __init__(self, loop: Any, items: Any, item: Part, is_counted: bool = False) -> None:
        super().__init__()
        self.loop = loop
        self.items = items
        self.item = item
        self.is_counted = is_counted


class Kind:
    """What all items of a list have in common, and where the items of a loop's step lie.

    Attributes
    ----------
    name : str
        The variable.
    loop
        The outermost loop that appends.
    item : Part
        An item, with values of no meaning.
    forms : list of Form
    each : int
        How many items a step appends.
    """

    def __init__(self, name: str, loop: Any, item: Part, forms: list[Form], each: int) -> None:
        self.name = name
        self.loop = loop
        self.item = item
        self.forms = forms
        self.each = each
        self.first: Any = 0  # how many items there are before the loop
        self.base: Any = 0  # and before the step
        self.tree: Any = None  # an item whose arrays have a row for each item
        self.before: Any = None  # the list before the loop
        self.read: dict[int, Any] = {}  # memory -> an array that the step has read from the list
        self.kept: dict[int, tuple[str, bool]] = {}  # item of a step -> the variable that is it, before it or after it
        self.appended: list[Any] = []  # the arrays that a step appends
        self.changeable: list[str] = []  # the variables that are lists which a step of a loop in one appends
        self.counter: Any = None  # a 0-d array with the number of items, where values decide how many a step appends
        self.most = 0  # how many items there may be then, as far as the loop is traced
        self.room = 1  # and how many there is room for

    @property
    def kinds(self) -> tuple[str, ...]:
        """For each array of an item whether it is a Python number, a scalar or an array."""
        assert self.item.tree is not None
        leaves = zip(self.item.tree.leaves, self.forms, strict=True)
        return tuple([NUMBER if form.is_number else ARRAY if _is_array(leaf) else SCALAR for leaf, form in leaves])

    @property
    def hides(self) -> bool:
        """Whether the step around the loop has appended items that are no rows yet."""
        return type(self.before) is Growing and (bool(self.before.pending) or self.before.kind.hides)

    def begin(self, steps: int) -> None:
        """Make the arrays for the items from before the loop and those of its steps, before these are traced.

        Raises
        ------
        NotStaged
            The items from before differ from these.
        """
        before = self.before
        if type(before) is Growing:
            self.tree, self.first = before.kind.tree, before.length
        if self.tree is not None:
            return
        if type(before) is Collected and before.is_counted:
            raise refused(f"values decide how many items {self.name} has")
        if type(before) is Collected and (before._all is not None or before.is_old):
            before = before.all()
        self.first = len(before)
        length = self.first + (steps * self.each if self.counter is None else self.room + _SPARE)
        rows = [backend.zeros((length, *form.shape), form.dtype, form.device) for form in self.forms]
        assert self.item.tree is not None
        self.tree = self.item.tree.filled(rows, lambda leaf, tensor: wrap_array(tensor))
        if type(before) is Collected:
            first, form = Part(before.tree), [(each.dtype, each.shape[1:]) for each in Part(before.tree).forms]
            if before.kinds != self.kinds or form != [(each.dtype, each.shape) for each in self.forms]:
                raise refused(f"the items of {self.name} change from those of {first} to {self.item}")
            for row, tensor in zip(rows, first.tensors, strict=True):
                wrap(row)[: self.first] = wrap_array(tensor)
            before = before.items
        places, values = (list(before), before.values()) if type(before) is dict else (range(self.first), before)
        parts = list(map(Part, values))
        for part in parts:
            is_like = self.counter is None or part.kinds == self.item.kinds
            if common(part, self.item) != self.forms or not is_like:
                raise refused(f"{self.name} holds {part}, and {self.item} is appended")
        columns = zip(*[as_forms(part, self.forms) for part in parts], strict=True)
        for row, column in zip(rows, columns, strict=False):  # no column without items
            wrap(row)[places if type(places) is list else slice(self.first)] = wrap_array(memory.stacked(list(column)))
        if self.counter is not None:
            self.counter = asarray(backend.number(self.first))

    def count(self) -> None:
        """Let values decide how many items a step appends."""
        self.counter = True

    def nested(self, each: int) -> Kind:
        """Return the same for a loop in a step, which appends to the same arrays."""
        made = Kind(self.name, self.loop, self.item, self.forms, each)
        made.read = self.read
        return made

    def follow(self, growing: Growing, carried: Sequence[Any], after: dict[str, Part], names: Sequence[str]) -> None:
        """Find which variables are arrays that a step has appended.

        ``carried`` are the tensors before the step, and ``names`` their variables.

        Raises
        ------
        NotStaged
            An array that is appended has another name, by which its item of the list could be written to.
        """
        self.kept, self.appended, self.changeable = {}, [], []
        inputs = {backend.storage_of(tensor): number for number, tensor in enumerate(carried)}
        held = [(name, leaf) for name, part in after.items() for leaf in part.tensors]
        known = set(self.read)
        for name, tensor in held:
            if backend.storage_of(tensor) in self.read and tensor.dim():
                raise self.shared(f"{name} is an item of {self.name}")
        for offset, value in growing.pending:
            self._follow_lists(offset, value, after)
            part = Part(value)
            assert part.tree is not None
            for leaf, shares in zip(part.tree.leaves, part.shares, strict=True):
                if not _is_array(leaf) or type(leaf) is number:
                    continue
                tensor, is_exact, _ = shares[0]
                storage = backend.storage_of(tensor)
                owners = [(name, each) for name, each in held if backend.storage_of(each) == storage]
                if len(shares) > 1 or storage in known or len(owners) > 1:
                    raise self.shared("an array")
                known.add(storage)
                self.appended.append(tensor)
                if storage not in inputs and not owners:
                    continue
                place = inputs.get(storage, -1)
                name, whole = owners[0] if owners else (names[place], carried[place])
                is_one = value is leaf and (place < 0) is bool(owners)
                if type(self.before) is Growing or not (is_one and is_exact and is_whole(tensor, whole)):
                    raise self.shared(f"{name} or a part of it")
                self.kept[offset] = name, place < 0

    def _follow_lists(self, offset: int, value: Any, after: dict[str, Part]) -> None:
        """Find the variable that is a list which a step has appended."""
        own = set(map(id, mutable(value)))
        for name, part in after.items() if own else ():
            if own.isdisjoint(map(id, mutable(part.value))):
                continue
            if type(self.before) is Growing:
                self.changeable.append(name)
            elif part.value is not value or offset in self.kept:
                raise self.shared(f"{name} or a part of it")
            else:
                self.kept[offset] = name, True

    def shared(self, what: str) -> NotStaged:
        """Return the error of an array that is appended and has another name."""
        return refused(f"{what} is appended to {self.name}, and has another name, too: append a copy of it")

    def counted(self) -> Any:
        """Return how many items there are, where values decide that."""
        tensor = self.counter.copy().tensor
        tensor.reach = self.first + self.room
        return number_of(tensor)

    def after(self, before: dict[str, Any], state: dict[str, Any], steps: int) -> Any:
        """Return the list after the loop, from the variables before and after it."""
        before_loop = self.before
        for name in self.changeable:
            _lent(state[name])
        if type(before_loop) is Growing:
            before_loop.is_old = True
            return Growing(before_loop.kind, before_loop.pending, before_loop.count + steps * self.each)
        is_lazy = type(before_loop) is Collected and before_loop._all is None
        items = dict(before_loop.items if is_lazy else enumerate(before_loop))
        for offset, (name, is_after) in self.kept.items():
            step = steps - 1 if is_after else 0
            items[self.first + step * self.each + offset] = (state if is_after else before)[name]
        length = self.first + steps * self.each
        if self.counter is not None:
            length, items = self.counted(), items if ARRAY in self.kinds else {}
        if type(before_loop) is Collected:
            before_loop.is_old = True
        else:
            before_loop[:] = [_Moved(self.name)]
        return Collected(self.tree, self.kinds, length, items)


class _Moved:
    """What a list of Python's holds that has become a `Collected` one: another name of it still refers to it."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise refused(f"a loop of the graph appends to {self._name}, which has another name, too")

    def __getattr__(self, name: str) -> Any:
        return self.__array__()


def of_rows(value: Any) -> Any:
    """Return a value to append, in which lists that loops have built have rows for all their items."""
    if type(value) is not Collected or value._all is not None or value.is_old:
        return value
    if value.is_counted or (found := value.rows()) is None:
        raise refused("a list of lists whose lengths or items differ")
    return found


def _is_array(leaf: Any) -> bool:
    return type(leaf) not in SCALARS and python_type(leaf) is None


def _item(tree: Any, kinds: Sequence[str], row: Callable[[ndarray], Any]) -> Any:
    """Return an item; ``row(array)`` reads its row of an array."""
    rest = iter(kinds)

    def leaf(array: Any) -> Any:
        kind, value = next(rest), row(array)
        if kind == NUMBER:
            return number_of(value.tensor)
        return wrap_array(value.tensor) if kind == ARRAY and type(value) in SCALARS else value

    return pytree.mapped(leaf, tree)


def _lent(item: Any) -> Any:
    """Return an item. The lists in it may not change from now on: to read the item again makes others."""
    if made := list(mutable(item)):
        surroundings.share(made, trace_state.user_line())
    return item


def _placed(place: Any, length: Any) -> Any:
    """Return the number of the item at a place, which the graph checks."""
    if type(place) is not int and type(place) is not number:
        place = number_of(asarray(place).astype("int64").tensor)
    if type(place) is int:
        at = place if place >= 0 else length + place
    else:
        at = number_of(where(place < 0, place + length, place).tensor)
    value_checks.demand(asarray((at >= 0) & (at < length)).tensor, _OUT_OF_RANGE)
    return at


def refused(why: str) -> NotStaged:
    """Return the error of what such a list can't do."""
    return NotStaged(f"{trace_state.user_line()}: {why}").because(why)


class Growing:
    """The list in a step of the loop.

    Parameters
    ----------
    kind : Kind
    pending : tuple of (int, Any)
        What this step has appended, and where it comes after the items from before the step: rows after the step.
    count : int
        How many items the step has appended.
    """

    __slots__ = ("count", "is_old", "kind", "pending")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, kind: Kind, pending: tuple[tuple[int, Any], ...] = (), count: int = 0) -> None:
        self.kind = kind
        self.pending = pending
        self.count = count
        self.is_old = False

    @property
    def length(self) -> Any:
        """How many items there are."""
        return self.kind.base + self.count if self.kind.counter is None else self.kind.counted()

    def renewed(self) -> Growing:
        """Return the same list for a trace of a block."""
        return Growing(self.kind, self.pending, self.count)

    def appended(self, value: Any) -> Growing:
        """Return the list with one item more, in place of this."""
        self.check()
        value = of_rows(value)
        part = Part(value)
        forms = common(self.kind.item, part)
        if forms is None or part.tree is None:
            raise refused(f"{self.kind.name} has items of {self.kind.item}, and {part} is appended")
        if forms != self.kind.forms:
            raise Grows(self.kind.loop, self, part)
        if self.kind.counter is not None:
            place = self.kind.counted()
            self._put(place, part)
            self.kind.counter[...] = place + 1
            self.kind.most += 1
            return self
        self.is_old = True
        return Growing(self.kind, (*self.pending, (self.count, value)), self.count + 1)

    def _put(self, place: Any, item: Part) -> None:
        """Make an item a row now: so nothing else may have its arrays, by which they could be written to later."""
        assert item.tree is not None
        for leaf, shares in zip(item.tree.leaves, item.shares, strict=True):
            if _is_array(leaf) and any(self.kind.loop.is_named(tensor) for tensor, _, _ in shares):
                raise self.kind.shared("an array")
        _lent(item.value)
        for row, tensor in zip(Part(self.kind.tree).tensors, as_forms(item, self.kind.forms), strict=True):
            wrap(row)[place] = wrap_array(tensor)

    def __setitem__(self, place: Any, value: Any) -> None:
        self.check()
        part = Part(of_rows(value))
        if common(self.kind.item, part) != self.kind.forms:
            raise refused(f"{self.kind.name} has items of {self.kind.item}, and {part} takes the place of one")
        if ARRAY in self.kind.kinds and self.kind.first:
            raise refused(f"an item of {self.kind.name} from before the loop may be another one then")
        if self.kind.counter is None:
            raise Grows(self.kind.loop, self, self.kind.item, is_counted=True)  # where all items are rows
        self._put(self._place(place), part)

    def check(self) -> None:
        """Raise if something was appended by another name."""
        if self.is_old:
            raise refused(f"the list {self.kind.name} has another name, too")

    def write(self) -> None:
        """Make rows of what the step has appended."""
        self.check()
        rows = Part(self.kind.tree).tensors
        for offset, value in self.pending:
            place, part = self.kind.base + offset, Part(value)
            if (forms := common(self.kind.item, part)) is None:
                raise refused(f"{self.kind.name} has items of {self.kind.item}, and one becomes {part}")
            if forms != self.kind.forms:  # a list that is an item has another number since it was appended
                raise Grows(self.kind.loop, self, part)
            for row, tensor in zip(rows, as_forms(part, self.kind.forms), strict=True):
                wrap(row)[place] = wrap_array(tensor)

    def __getitem__(self, place: Any) -> Any:
        self.check()
        if type(place) is int and place < 0 and (value := self._of_step(self.count + place)) is not None:
            return value[0]
        is_first = type(place) is int and type(self.kind.first) is int and 0 <= place < self.kind.first
        if self.kind.hides or (self.pending and not is_first and not (type(place) is int and place < 0)):
            raise refused(f"an item of the list {self.kind.name} is read after another was appended in the same step")
        at = self._place(place)
        item = _item(self.kind.tree, self.kind.kinds, lambda array: array[at])
        return _lent(pytree.mapped(self._copied, item))

    def _of_step(self, offset: int) -> tuple[Any] | None:
        return next(((value,) for number, value in self.pending if number == offset), None)

    def _place(self, place: Any) -> Any:
        """Return the number of an item that is at a place; IndexError if there is none."""
        if not isinstance(place, ndarray) or place.ndim or place.dtype.kind not in "iu":
            if type(place) is not int:
                raise refused(f"the list {self.kind.name} grows in a loop of the graph, and a part of it is read")
            if place < 0:
                at = self.length + place
                if not (type(self.kind.first) is int and self.kind.first + self.count + place >= 0):
                    value_checks.demand(asarray(at >= 0).tensor, _OUT_OF_RANGE)
                return at
            if not (type(self.kind.first) is int and place < self.kind.first):
                value_checks.demand(asarray(self.length > place).tensor, _OUT_OF_RANGE)
            return place
        if self._is_known(place):
            return place
        return _placed(place, self.length)

    def _is_known(self, place: Any) -> bool:
        """Whether a place counts from the first item, and is in the list at each step, by what counts the steps."""
        line, base = line_of(place), None if self.kind.counter is not None else line_of(self.kind.base)
        if line is None or base is None or line.counter is not base.counter or line.factor != base.factor:
            return False
        return line.ends[0] >= 0 and line.offset < base.offset + self.count

    def _copied(self, value: Any) -> Any:
        """Return an array that was read as one that refuses writes: they would not reach the list's other names."""
        if not isinstance(value, ndarray) or type(value) in SCALARS or type(value) is number:
            return value
        made = value.copy()
        self.kind.read[backend.storage_of(made.tensor)] = made.tensor
        return as_readonly(made)

    def __len__(self) -> int:
        raise refused(f"{self.kind.name} grows in a loop of the graph, and how many items it has is asked for")

    def __iter__(self) -> Iterator[Any]:
        raise refused(f"{self.kind.name} grows in a loop of the graph, and its items are gone through")

    def __eq__(self, other: object) -> bool:
        raise refused(f"{self.kind.name} grows in a loop of the graph, and is compared")

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise refused(f"{self.kind.name} grows in a loop of the graph, and an array is made of it")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(list, name):
            raise AttributeError(f"'list' object has no attribute '{name}'")
        raise refused(f"{self.kind.name} grows in a loop of the graph, and `{name}` is called")


def _parts_of_growing(growing: Growing) -> tuple[list[Any], Any]:
    offsets, values = [offset for offset, _ in growing.pending], [value for _, value in growing.pending]
    return values, (growing.kind, tuple(offsets), growing.count)


def _growing(static: Any, children: Any) -> Growing:
    kind, offsets, count = static
    return Growing(kind, tuple(zip(offsets, children, strict=True)), count)


class Collected:
    """A list whose items a loop of the graph has computed.

    Parameters
    ----------
    tree
        An item whose arrays have a row for each item of the list.
    kinds : tuple of str
    length : int or number
        How many items there are; there may be more rows.
    items : dict
        Place -> an item that the program has, too: as it is, and no row.
    """

    __slots__ = ("_all", "_parts", "_scope", "is_old", "items", "kinds", "length", "tree")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, tree: Any, kinds: tuple[str, ...], length: Any, items: dict[int, Any]) -> None:
        self.tree = tree
        self.kinds = kinds
        self.length = length
        self.items = items
        self.is_old = False
        self._all: list[Any] | None = None
        self._parts: Any = None  # the tree, in which lists in it are `_Inner`
        self._scope = trace_state.state.scopes[-1]

    def all(self, reads: bool = True) -> list[Any]:
        """Return the items as a list of Python's, which is this list from now on."""
        self.check()
        if self._all is not None and (reads or self._scope is trace_state.state.scopes[-1]):
            return self._all
        if self._scope is not trace_state.state.scopes[-1] and not reads:
            raise refused("a list from around a branch or a loop of the graph is changed")
        if self.is_counted:
            why = "values decide how many items a list has to which a loop appends"
            raise trace_state.TracedValueError(f"{trace_state.user_line()}: {why}").because(why)
        if self.length > _MOST_ITEMS:
            why = f"the {self.length} items of a list are read one by one: make an array of it"
            raise trace_state.TracedValueError(f"{trace_state.user_line()}: {why}").because(why)
        found = [self[place] for place in range(self.length)]
        if self._scope is trace_state.state.scopes[-1]:
            self._all = found
        return found

    def own(self) -> list[Any]:
        """Return a list of Python's that is this list."""
        found = self.all()
        return found if found is self._all else _lent(found)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> ndarray:
        made = self.whole()
        return made if dtype is None else made.astype(dtype)

    __array__.gives_ours = True  # type: ignore[attr-defined]

    def whole(self) -> ndarray:
        """Return an array of the items."""
        return asarray(self.all()) if self.is_counted else self.filled()

    def filled(self) -> ndarray:
        """Return an array of all rows, with the program's items in theirs."""
        tree = self.tree
        while type(tree) is Collected and not tree.items and tree._all is None:
            tree = tree.tree
        if self._all is not None or self.is_old or not isinstance(tree, ndarray):
            return asarray(self.all())
        given = {place: asarray(item) for place, item in self.items.items()}
        made = tree.astype(np.result_type(tree.dtype, *[item.dtype for item in given.values()]))
        for place, item in given.items():
            made[place] = item
        return made

    def __getitem__(self, place: Any) -> Any:
        if self._all is not None or self.is_old or (self.is_counted and isinstance(place, slice)):
            return self.all()[place]
        if self.is_counted:
            if traced(place) is None and place in self.items:
                return self.items[place]
            if self.items and (traced(place) is not None or place < 0):
                raise refused("an item of a list is read, and values decide which array that is")
            at = _placed(place, self.length)
            return _lent(_item(self.tree, self.kinds, lambda array: array[at]))
        if isinstance(place, slice) and self._holds_lists:
            return self.all()[place]
        if isinstance(place, slice) and traced(place.start) is None and traced(place.stop) is None:
            places = range(self.length)[place]
            tree = pytree.mapped(lambda array: array[place], self.tree)
            items = {number: self.items[at] for number, at in enumerate(places) if at in self.items}
            return Collected(tree, self.kinds, len(places), items)
        if traced(place) is not None and (not self.items or ARRAY not in self.kinds):
            return _lent(_item(self.tree, self.kinds, lambda array: array[place]))
        number = range(self.length)[place]
        if number not in self.items:
            made = _item(self.tree, self.kinds, lambda array: array[number])
            if self._scope is not trace_state.state.scopes[-1]:
                return _lent(made)
            if ARRAY not in self.kinds and not self._holds_lists:
                return made
            self.items[number] = made
        return self.items[number]

    @property
    def _holds_lists(self) -> bool:
        """Whether an item is a list or has one in it, which may be changed."""
        return any(True for _ in mutable(self.tree))

    @property
    def is_counted(self) -> bool:
        """Whether the graph counts the items."""
        return type(self.length) is not int

    def rows(self) -> Collected | None:
        """Return the same list with rows for all items, to be read at any place; None if there is none."""
        if self._all is not None or self.is_old:
            return None
        if not self.items:
            return self
        if self.is_counted or len(self.kinds) > 1 or not isinstance(self.tree, ndarray):
            return None
        whole = self.whole()
        if whole.dtype != self.tree.dtype:
            return None
        return Collected(as_readonly(whole) if ARRAY in self.kinds else whole, self.kinds, self.length, {})

    def __setitem__(self, place: Any, value: Any) -> None:
        self.all(reads=False)[place] = value

    def __delitem__(self, place: Any) -> None:
        del self.all(reads=False)[place]

    def __len__(self) -> int:
        self.check()
        return self.length if self._all is None and not self.is_counted else len(self.all())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.all())

    def __contains__(self, value: Any) -> bool:
        return value in self.all()

    def __eq__(self, other: Any) -> bool:
        return self.all() == (other.all() if type(other) is Collected else other)

    def __add__(self, other: Any) -> Any:
        return self.all() + (other.all() if type(other) is Collected else other)

    def __radd__(self, other: Any) -> Any:
        return other + self.all()

    def __iadd__(self, other: Any) -> Any:
        self.all(reads=False).extend(other)
        return self

    def __imul__(self, other: Any) -> Any:
        self.all(reads=False)[:] = self.all() * other
        return self

    def __mul__(self, other: Any) -> Any:
        return self.all() * other

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return repr(self.all())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(list, name):
            raise AttributeError(f"'list' object has no attribute '{name}'")
        return getattr(self.all(name not in _MUTATORS), name)

    @property
    def takes_rows(self) -> bool:
        """Whether an item may be appended after the loop, where the graph counts the items."""
        is_counted = self.is_counted and not self.is_old and ARRAY not in self.kinds
        return is_counted and getattr(self.length.tensor, "reach", None) is not None

    def freeze(self) -> None:
        """Let no more items be appended by the graph: values decide which other names the list has."""
        if self.is_counted:
            self.length.tensor.reach = None

    def renewed(self) -> Collected:
        """Return the same list for a trace of a block."""
        return Collected(self.tree, self.kinds, self.length, self.items)

    def check(self) -> None:
        """Raise if something was appended by another name."""
        if self.is_old:
            raise refused("a list to which a loop of the graph appends has another name, too")

    def appended(self, value: Any) -> Collected:
        """Return the list with one item more, in place of this, which `takes_rows`."""
        item, rows = Part(of_rows(value)), Part(self.tree)
        assert rows.tree is not None
        forms = [
            Form(each.dtype, each.shape[1:], each.device, kind == NUMBER)
            for each, kind in zip(rows.forms, self.kinds, strict=True)
        ]
        if common(item, Part(_item(self.tree, self.kinds, lambda array: array[0]))) != forms:
            raise refused(f"the items of a list change from those of {rows} to {item}")
        reach = self.length.tensor.reach
        spare = 0 if reach < len(rows.tensors[0]) else _SPARE
        made = [
            backend.zeros((len(row) + spare, *form.shape), form.dtype, form.device)
            for row, form in zip(rows.tensors, forms, strict=True)
        ]
        for row, before, tensor in zip(made, rows.tensors, as_forms(item, forms), strict=True):
            wrap(row)[: len(before)] = wrap_array(before)
            wrap(row)[self.length] = wrap_array(tensor)
        length = (self.length + 1).tensor
        length.reach = reach + 1
        self.is_old = True
        tree = rows.tree.filled(made, lambda leaf, tensor: wrap_array(tensor))
        return Collected(tree, self.kinds, number_of(length), self.items)


def _parts_of_collected(value: Collected) -> tuple[tuple[Any, ...], Any]:
    if value._all is not None or value.is_old:
        return tuple(value.all()), None
    if value._parts is None:  # kept: a container is known by its identity
        value._parts = pytree.mapped(_inner, value.tree, _ends)
    tree = value._parts
    if value.is_counted:
        return (tree, value.length, *value.items.values()), (value.kinds, None, tuple(value.items))
    return (tree, *value.items.values()), (value.kinds, value.length, tuple(value.items))


def _inner(value: Any) -> Any:
    if type(value) is not Collected:
        return value
    return _Inner(pytree.mapped(_inner, value.tree, _ends), value.kinds, value.length)


def _outer(value: Any) -> Any:
    if type(value) is not _Inner:
        return value
    return Collected(pytree.mapped(_outer, value.tree, _is_inner), value.kinds, value.length, {})


def _ends(value: Any) -> bool:
    return type(value) is Collected or pytree.is_array(value)


class _Inner:
    """A list that is an item of one, in the parts of that; its arrays have rows for both."""

    def __init__(self, tree: Any, kinds: tuple[str, ...], length: int) -> None:
        self.tree = tree
        self.kinds = kinds
        self.length = length


def _collected(static: Any, children: Any) -> Any:
    """Build a list again: of a trace, or of a compiled function's result."""
    if static is None:
        return list(children)
    (kinds, length, places), (tree, *values) = static, children
    if length is None:
        length, *values = values
    items = dict(zip(places, values, strict=True))
    if not trace_state.is_tracing():
        return _result(tree, kinds, length, items)
    return Collected(pytree.mapped(_outer, tree, _is_inner), kinds, length, items)


def _is_inner(value: Any) -> bool:
    return type(value) is _Inner or pytree.is_array(value)


def _result(tree: Any, kinds: Sequence[str], length: Any, items: dict[int, Any]) -> list[Any]:
    """Return the list that a compiled function returns."""
    rest = iter(kinds)

    def column(rows: Any) -> list[Any]:
        if type(rows) is _Inner:
            for _ in rows.kinds:
                next(rest)
            parts = [pytree.mapped(lambda x, at=at: x[at], rows.tree) for at in places]  # type: ignore[misc]
            return [_result(part, rows.kinds, rows.length, {}) for part in parts]
        kind, rows = next(rest), rows[: len(places)]
        found = rows.tolist() if kind == NUMBER else list(rows)
        return [wrap_array(each.tensor) for each in found] if kind == ARRAY and rows.ndim == 1 else found

    places = range(int(length))
    columns: list[list[Any]] = []
    pytree.mapped(lambda rows: columns.append(column(rows)), tree, _is_inner)
    if _is_inner(tree):
        made = columns[0]
    else:
        given = [iter(each) for each in zip(*columns, strict=True)]
        made = [pytree.mapped(lambda _, each=each: next(each), tree, _is_inner) for each in given]  # type: ignore[misc]
    for place, value in items.items():
        made[place] = value
    return made


Sequence.register(Growing)
Sequence.register(Collected)
register_pytree_node(_Inner, lambda x: ((x.tree,), (x.kinds, x.length)), lambda static, trees: _Inner(*trees, *static))
register_pytree_node(Growing, _parts_of_growing, _growing)
register_pytree_node(Collected, _parts_of_collected, _collected)
