"""What a compiled function reads outside of its arguments is what is there at each call; what it assigns happens."""

from __future__ import annotations

import array
import collections
import contextvars
import dataclasses
import functools
import operator
import sys
import types
import weakref
from typing import Any

import numpy
import pytest
import torch
from numpy.testing import assert_array_equal

import tnp as np
from tnp._compile import outer_state

pytestmark = pytest.mark.reads  # compares with NumPy's functions

FACTOR = 2.0
ARRAY: Any = None
TABLE: dict[str, Any] = {}


def compiled(function: Any) -> Any:
    return np.compile(function, backend="eager")


class Model:
    rate = 0.5

    def __init__(self) -> None:
        self.weight = np.ones(3)
        self.name = "linear"
        self.steps = 0
        self.layers = [np.ones(3), np.zeros(3)]

    def predict(self, x: Any) -> Any:
        return x * self.weight * self.rate + (1 if self.name == "linear" else 2)

    def step(self, gradient: Any) -> Any:
        self.weight = self.weight - self.rate * gradient
        return self.weight.sum()

    def count(self, x: Any) -> Any:
        self.steps += 1
        return x + self.steps

    def deep(self, x: Any) -> Any:
        for layer in self.layers:
            x = x + layer
        return x


def multiplied(x: Any) -> Any:
    return x * FACTOR


def shifted(x: Any) -> Any:
    return multiplied(x) + ARRAY


def looked_up(x: Any) -> Any:
    return x * TABLE["scale"] + TABLE["bias"]["b"]


def checked(function: Any, traced: Any, *changes: Any) -> None:
    """Compiled and not, the function gives the same, before and after each change."""
    x = np.arange(3.0)
    for change in (lambda: None, *changes):
        change()
        for _ in range(2):
            assert_array_equal(function(x), traced(x))


def test_attributes_of_self() -> None:
    model = Model()
    traced = compiled(Model.predict)

    def set_to(name: str, value: Any) -> Any:
        return lambda: setattr(model, name, value)

    changes = [
        set_to("weight", np.full(3, 4.0)),
        set_to("rate", 0.25),
        set_to("name", "other"),
        set_to("weight", np.float32(3)),
        set_to("weight", np.ones((2, 1))),
        lambda: delattr(model, "rate"),
        lambda: setattr(Model, "rate", 3.0),
        lambda: setattr(Model, "rate", 0.5),
    ]
    checked(model.predict, lambda x: traced(model, x), *changes)
    other = Model()
    other.weight = np.full(3, 9.0)
    checked(other.predict, lambda x: traced(other, x))


def test_arrays_that_take_the_place_of_others_need_no_trace() -> None:
    model = Model()
    traced = compiled(model.predict)
    for value in range(4):
        model.weight = np.full(3, float(value))
        assert_array_equal(traced(np.ones(3)), model.predict(np.ones(3)))
        model.layers = [np.ones(3), np.zeros(3)]  # not read
    assert traced.cache_info().traces == 1


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_attributes_are_assigned_at_each_call(backend: str) -> None:
    model, expected = Model(), Model()
    traced = np.compile(Model.step, backend=backend)
    for number in range(4):
        gradient = np.full(3, float(number))
        assert traced(model, gradient) == expected.step(gradient)
        assert_array_equal(model.weight, expected.weight)
        assert type(model.weight) is np.ndarray
    assert traced.cache_info().traces == 1


def test_numbers_are_assigned_at_each_call() -> None:
    model = Model()
    traced = compiled(model.count)
    assert [traced(np.ones(())).item() for _ in range(3)] == [2.0, 3.0, 4.0]
    assert model.steps == 3


def test_items_of_a_list() -> None:
    model = Model()
    checked(
        model.deep,
        compiled(model.deep),
        lambda: model.layers.append(np.full(3, 5.0)),
        lambda: model.layers.__setitem__(0, np.full(3, 7.0)),
        lambda: model.layers.pop(),
        lambda: setattr(model, "layers", (np.ones(3),)),
        lambda: setattr(model, "layers", {0.5: 1}),
    )


def test_globals_and_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    module = globals()
    monkeypatch.setitem(module, "ARRAY", np.ones(3))
    checked(
        shifted,
        compiled(shifted),
        lambda: monkeypatch.setitem(module, "FACTOR", 3.0),
        lambda: monkeypatch.setitem(module, "ARRAY", np.full(3, 8.0)),
        lambda: monkeypatch.setitem(module, "multiplied", lambda x: x - 1),
        lambda: monkeypatch.setitem(module, "ARRAY", 3),
    )
    monkeypatch.setitem(module, "TABLE", {"scale": 2.0, "bias": {"b": np.ones(3)}})
    checked(
        looked_up,
        compiled(looked_up),
        lambda: TABLE.__setitem__("scale", 3.0),
        lambda: TABLE["bias"].__setitem__("b", np.full(3, 2.0)),
        lambda: TABLE.__setitem__("bias", {"b": np.full(3, 4.0), "c": 1}),
        lambda: monkeypatch.setitem(module, "TABLE", {"scale": 0.5, "bias": {"b": 1}}),
    )


def test_variables_of_a_closure() -> None:
    scale, offset = 2.0, np.ones(3)

    def inner(x: Any) -> Any:
        return x * scale

    def function(x: Any) -> Any:
        return inner(x) + offset

    traced = compiled(function)
    checked(function, traced)
    scale = 3.0
    checked(function, traced)
    offset = np.full(3, 5.0)
    checked(function, traced)
    assert traced.cache_info().traces == 2


def test_assignments_to_variables_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    total = np.zeros(3)

    def add(x: Any) -> Any:
        nonlocal total
        total = total + x
        return total * 2

    traced = compiled(add)
    for _ in range(3):
        traced(np.ones(3))
    assert_array_equal(total, [3.0, 3.0, 3.0])
    assert traced.cache_info().traces == 1

    monkeypatch.setitem(globals(), "ARRAY", np.zeros(3))

    def add_to_global(x: Any) -> Any:
        global ARRAY
        ARRAY = ARRAY + x
        TABLE["last"] = x * 2
        return x

    traced = compiled(add_to_global)
    for number in range(3):
        traced(np.full(3, number))
        assert_array_equal(TABLE["last"], np.full(3, 2 * number))
    assert_array_equal(ARRAY, [3.0, 3.0, 3.0])
    TABLE.clear()


@dataclasses.dataclass
class State:
    weight: Any
    history: Any


def test_containers_among_the_arguments_are_assigned_to() -> None:
    def function(xp: Any, state: State, entries: dict[str, Any], items: list[Any]) -> Any:
        state.weight = state.weight * 2
        state.history.append(state.weight + 1)
        entries["new"] = entries.pop("old") - 1
        items[0], items[1]["a"] = items[1]["a"], items[0]
        return state.weight.sum()

    def run(xp: Any) -> Any:
        call = (lambda *args: function(np, *args)) if xp is numpy else compiled(lambda *args: function(np, *args))
        states = []
        for _ in range(3):
            state, entries, items = State(np.ones(2), []), {"old": np.ones(2), "kept": 1}, [np.zeros(1), {"a": 5}]
            result = call(state, entries, items)
            states.append((result, state.weight, state.history, sorted(entries), entries["new"], items))
        return repr(states)

    assert run(numpy) == run(np)


def test_a_state_that_is_replaced_needs_no_trace() -> None:
    model = types.SimpleNamespace(state=State(np.ones(2), (np.zeros(2), {"m": np.ones(2)})))

    def step(x: Any) -> Any:
        first, second = model.state.history
        model.state = State(model.state.weight - x, (first + x, {"m": second["m"] * 2}))
        return model.state.weight

    traced = compiled(step)
    for number in range(4):
        assert_array_equal(traced(np.ones(2)), np.full(2, -float(number)))
    assert_array_equal(model.state.history[1]["m"], [16.0, 16.0])
    assert traced.cache_info().traces == 1


def test_notes_of_a_trace_are_taken_while_tracing_only() -> None:
    runs, seen = [], {}

    def function(x: Any) -> Any:
        runs.append(x.shape)
        seen[x.shape] = len(runs)
        return x

    traced = compiled(function)
    for length in (2, 3, 2, 3, 2):
        traced(np.ones(length))
    assert runs == [(2,), (3,)]
    assert seen == {(2,): 1, (3,): 2}


def test_an_array_that_two_places_hold() -> None:
    model = types.SimpleNamespace(one=np.ones(2), other=None)
    model.other = model.one

    def function(x: Any) -> Any:
        model.one[0] = x[0]
        return model.other * x

    traced = compiled(function)
    for _ in range(3):
        assert_array_equal(traced(np.full(2, 3.0)), [9.0, 3.0])
    model.other = np.ones(2)
    for _ in range(3):
        assert_array_equal(traced(np.full(2, 3.0)), [3.0, 3.0])


def test_objects_that_are_equal_have_their_own_attributes() -> None:
    class Setting:
        def __init__(self, value: float) -> None:
            self.value = value

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 1

    traced = compiled(lambda setting, x: x * setting.value)
    settings = [Setting(2.0), Setting(3.0)]
    for _ in range(2):
        for setting in settings:
            assert_array_equal(traced(setting, np.ones(2)), np.full(2, setting.value))


def test_modules_of_torch() -> None:
    class Linear(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(2))

        def forward(self, x: Any) -> Any:
            return np.asarray(self.weight) * x

    module = Linear()
    traced = compiled(module.forward)
    with torch.no_grad():
        for value in (1.0, 2.0, 3.0):
            module.weight = torch.nn.Parameter(torch.full((2,), value))
            assert_array_equal(traced(np.ones(2)), [value, value])


def test_slots_properties_and_hasattr() -> None:
    class Slotted:
        __slots__ = ("hidden", "late")

        def __init__(self) -> None:
            self.hidden = 2.0

        @property
        def shown(self) -> float:
            return self.hidden + 1

    each = Slotted()

    def function(x: Any) -> Any:
        return x * each.shown + (each.late if hasattr(each, "late") else 0)

    checked(
        function,
        compiled(function),
        lambda: setattr(each, "hidden", 5.0),
        lambda: setattr(each, "late", np.ones(3)),
        lambda: delattr(each, "late"),
    )


def test_methods_that_are_replaced() -> None:
    class Scaled:
        def scaled(self, x: Any) -> Any:
            return x * 2

        @staticmethod
        def shifted(x: Any) -> Any:
            return x + 1

        @property
        def rate(self) -> float:
            return 0.5

    each = Scaled()

    def function(x: Any) -> Any:
        return Scaled.shifted(each.scaled(x)) * each.rate

    checked(
        function,
        compiled(function),
        lambda: setattr(Scaled, "scaled", lambda self, x: x * 5),
        lambda: setattr(Scaled, "shifted", staticmethod(lambda x: x + 7)),
        lambda: setattr(Scaled, "rate", property(lambda self: 3.0)),
        lambda: setattr(each, "scaled", lambda x: x * 11),
    )


def test_what_functions_and_libraries_objects_hold() -> None:
    numbers, maps = [2.0], collections.ChainMap({"a": 1.0}, {"b": 2.0})
    setting = contextvars.ContextVar("setting", default=1.0)
    part = functools.partial(lambda factors, x, shift: x * factors[0] + shift[0], numbers, shift=[1.0])
    space = Model()
    of_rate, of_space = operator.attrgetter("rate"), weakref.ref(space)

    def function(x: Any, factors: Any = numbers, *, more: Any = (space,)) -> Any:
        x = part(x) * factors[0] + maps["b"] * of_rate(space)
        return x + of_space().rate + globals()["FACTOR"]

    def in_context(x: Any) -> Any:
        return x * setting.get()

    checked(
        function,
        compiled(function),
        lambda: numbers.__setitem__(0, 3.0),
        lambda: part.keywords.update(shift=[4.0]),
        lambda: maps.maps[1].update(b=5.0),
        lambda: setattr(space, "rate", 7.0),
        lambda: setattr(function, "__defaults__", ([6.0],)),
    )
    with pytest.warns(RuntimeWarning, match="get does something else at each call"):
        checked(in_context, compiled(in_context), lambda: setting.set(3.0))


def test_what_an_object_computes_once() -> None:
    class Cached:
        def __init__(self) -> None:
            self.weight = np.ones(3)

        @functools.cached_property
        def scaled(self) -> Any:
            return self.weight * 10

    each, expected = Cached(), Cached()
    traced = compiled(lambda x: x + each.scaled)
    for value in (1.0, 0.0, 2.0):
        each.weight = expected.weight = np.full(3, value)
        assert_array_equal(traced(np.ones(3)), np.ones(3) + expected.scaled)
    assert_array_equal(each.scaled, expected.scaled)


def test_an_optimizers_step() -> None:
    class Momentum:
        def __init__(self) -> None:
            self.weights = {"w": np.ones(2), "b": np.zeros(1)}
            self.speed = {name: np.zeros_like(each) for name, each in self.weights.items()}

        def step(self, gradients: dict[str, Any]) -> Any:
            for name in self.weights:
                self.speed[name] = 0.9 * self.speed[name] + gradients[name]
                self.weights[name] = self.weights[name] - 0.1 * self.speed[name]
            return sum(each.sum() for each in self.weights.values())

    model, expected = Momentum(), Momentum()
    traced = compiled(model.step)
    gradients = {"w": np.ones(2), "b": np.ones(1)}
    for _ in range(4):
        assert traced(gradients) == expected.step(gradients)
    assert_array_equal(model.weights["w"], expected.weights["w"])
    assert traced.cache_info().traces == 1


def test_an_error_leaves_what_was_there() -> None:
    model = Model()

    def function(x: Any) -> Any:
        model.weight = model.weight + x
        raise KeyError("here")

    with pytest.raises(KeyError, match="here"):
        compiled(function)(np.ones(3))
    assert_array_equal(model.weight, np.ones(3))


def test_what_assigns_outside_is_not_saved(tmp_path: Any) -> None:
    model = Model()
    with pytest.raises(NotImplementedError, match="step assigns to what is outside of it"):
        compiled(model.step).save(tmp_path / "step.pt2", np.ones(3))


def test_a_graph_has_what_is_there_now(tmp_path: Any) -> None:
    model = Model()
    traced = compiled(model.predict)
    traced(np.ones(3))
    model.weight = np.full(3, 6.0)
    traced.save(tmp_path / "predict.pt2", np.ones(3))
    assert_array_equal(np.load_compiled(tmp_path / "predict.pt2", backend="eager")(np.ones(3)), [4.0, 4.0, 4.0])


def test_what_changed_is_told() -> None:
    model = Model()
    traced = compiled(model.predict)
    with pytest.warns(RuntimeWarning, match=r"Model\.rate was the float 6\.0 and is the float 7\.0"):
        for number in range(8):
            model.rate = float(number)
            traced(np.ones(3))


def test_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TNP_TEST_RATE", "2")

    def function(x: Any) -> Any:
        import os

        rate = float(os.environ["TNP_TEST_RATE"]) + float(os.getenv("TNP_TEST_" + "OTHER", "1"))
        return x * rate * (2 if "TNP_TEST_OTHER" in os.environ else 1)

    checked(
        function,
        compiled(function),
        lambda: monkeypatch.setenv("TNP_TEST_RATE", "3"),
        lambda: monkeypatch.setenv("TNP_TEST_OTHER", "5"),
        lambda: monkeypatch.delenv("TNP_TEST_OTHER"),
    )


def test_names_that_are_no_constants_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    space, ending = types.SimpleNamespace(), "1"
    setattr(space, "rate" + ending, 2.0)
    monkeypatch.setitem(globals(), "MADE1", 2.0)

    def function(x: Any, start: str = "rate", name: str = "MADE") -> Any:
        x = x * getattr(space, start + ending) + (1 if hasattr(space, start + "2") else 0)
        return x + operator.attrgetter(start + ending)(space)

    def evaluated(x: Any, name: str = "MADE") -> Any:
        scope = {"x": x}
        exec("x = x + FACTOR", globals(), scope)
        return scope["x"] * eval(name + ending) + eval("ARRAY" if name else "x")

    checked(
        function,
        compiled(function),
        lambda: setattr(space, "rate1", 3.0),
        lambda: setattr(space, "rate2", 0.0),
    )
    monkeypatch.setitem(globals(), "ARRAY", np.ones(3))
    checked(
        evaluated,
        compiled(evaluated),
        lambda: monkeypatch.setitem(globals(), "MADE1", 5.0),
        lambda: monkeypatch.setitem(globals(), "FACTOR", 7.0),
        lambda: monkeypatch.setitem(globals(), "ARRAY", np.full(3, 9.0)),
    )


def test_all_names_of_an_object() -> None:
    space = types.SimpleNamespace(first=1.0)

    def function(x: Any) -> Any:
        return x * sum(vars(space).values()) + sum(getattr(space, name) for name in dir(space) if name.isalpha())

    checked(
        function,
        compiled(function),
        lambda: setattr(space, "second", 5.0),
        lambda: setattr(space, "second", 7.0),
        lambda: delattr(space, "second"),
    )


def test_classes_and_their_classes() -> None:
    class Kind(type):
        scale = 2.0

        @property
        def rate(cls) -> float:
            return cls._rate + 1  # type: ignore[attr-defined, no-any-return]

    class Reader:
        def __get__(self, owner: Any, kind: Any) -> float:
            return 2.0

    class Layer(metaclass=Kind):
        _rate = 1.0
        __weight__ = 3.0
        read = Reader()

        @classmethod
        def made(cls) -> float:
            return 2.0

        def shifted(self, x: Any) -> Any:
            return x + 1

    class Other(Layer):
        def shifted(self, x: Any) -> Any:
            return x - 1

    layer = Layer()

    def function(x: Any) -> Any:
        x = layer.shifted(x) * Layer.rate * Layer.scale * layer.__weight__ + Layer.made()
        return x * layer.read + (5 if isinstance(layer, Other) else 0)

    checked(
        function,
        compiled(function),
        lambda: setattr(Layer, "_rate", 5.0),
        lambda: setattr(Kind, "scale", 3.0),
        lambda: setattr(Kind, "rate", property(lambda cls: 7.0)),
        lambda: setattr(Layer, "scale", 11.0),
        lambda: setattr(Layer, "made", classmethod(lambda cls: 5.0)),
        lambda: setattr(Layer, "read", 13.0),
        lambda: setattr(layer, "__weight__", 7.0),
        lambda: setattr(layer, "__class__", Other),
    )


def test_defaults_and_code_of_functions() -> None:
    def helper(x: Any, factor: float = 2.0, *, shift: float = 1.0) -> Any:
        return x * factor + shift

    def function(x: Any, power: int = 1) -> Any:
        return helper(x) ** power

    def replacement(x: Any, factor: float = 2.0, *, shift: float = 1.0) -> Any:
        return x - factor - shift

    def change(name: str, value: Any, of: Any = helper) -> Any:
        return lambda: setattr(of, name, value)

    checked(
        function,
        compiled(function),
        change("__defaults__", (3.0,)),
        change("__kwdefaults__", {"shift": 4.0}),
        lambda: helper.__kwdefaults__.update(shift=5.0),
        change("__code__", replacement.__code__),
        change("__defaults__", (2,), function),
        change("__code__", (lambda x, power=1: helper(x) + power).__code__, function),
    )


def test_names_that_getattr_makes_until_they_are_set() -> None:
    class Made:
        def __getattr__(self, name: str) -> float:
            if name == "rate":
                return 2.0
            raise AttributeError(name)

    made, module = Made(), types.ModuleType("made")
    module.__getattr__ = lambda name: 3.0  # type: ignore[method-assign]

    def function(x: Any) -> Any:
        return x * made.rate + module.rate

    checked(
        function,
        compiled(function),
        lambda: setattr(made, "rate", 3.0),
        lambda: delattr(made, "rate"),
        lambda: setattr(Made, "rate", 5.0),
        lambda: setattr(module, "rate", 7.0),
    )


def test_what_large_containers_hold() -> None:
    layers = [types.SimpleNamespace(weight=1.0, call=lambda x: x + FACTOR) for _ in range(70)]
    pairs = [[1.0, [2.0]] for _ in range(70)]
    entries = {number: {"weight": np.ones(3)} for number in range(70)}
    states = [State(1.0, None) for _ in range(70)]

    def function(x: Any) -> Any:
        for layer in layers:
            x = x * layer.weight
        x = layers[5].call(x)
        return x * pairs[69][1][0] + entries[68]["weight"] + states[67].weight

    checked(
        function,
        compiled(function),
        lambda: setattr(layers[69], "weight", 2.0),
        lambda: setattr(layers[5], "call", lambda x: x - 1),
        lambda: operator.setitem(pairs[69][1], 0, 5.0),  # type: ignore[call-overload]
        lambda: entries[68].update(weight=np.full(3, 4.0)),
        lambda: setattr(states[67], "weight", 9.0),
    )


def test_views_buffers_and_derived_classes_of_containers() -> None:
    class Numbers(set):  # type: ignore[type-arg]
        pass

    entries, numbers, buffer = {"a": 1.0}, Numbers({1.0}), array.array("d", [1.0, 2.0])
    shown, weak, space = types.MappingProxyType(entries), weakref.WeakValueDictionary(), Model()
    weak["space"] = space
    raw, seen = bytearray(b"ab"), memoryview(buffer)

    def function(x: Any) -> Any:
        return x * shown["a"] + sum(numbers) + buffer[0] + seen[1] + weak["space"].rate * raw[0]

    checked(
        function,
        compiled(function),
        lambda: entries.update(a=3.0),
        lambda: numbers.add(5.0),
        lambda: operator.setitem(buffer, 0, 7.0),
        lambda: operator.setitem(buffer, 1, 9.0),
        lambda: setattr(space, "rate", 4.0),
        lambda: operator.setitem(raw, 0, 1),
    )


def test_modules_that_a_function_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = types.ModuleType("tnp_test_settings")
    settings.rate, settings.scale = 2.0, 3.0  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, settings.__name__, settings)
    monkeypatch.setattr(sys, "argv", ["name"])

    def function(x: Any) -> Any:
        import tnp_test_settings as own  # type: ignore[import-not-found]
        from tnp_test_settings import rate

        return x * rate + own.scale + len(sys.argv)

    checked(
        function,
        compiled(function),
        lambda: setattr(settings, "rate", 5.0),
        lambda: setattr(settings, "scale", 7.0),
        lambda: sys.argv.append("more"),
    )


CONTENTS = {i: [float(i), (i, [i])] for i in range(100)}


def test_changes_inside_of_a_large_container() -> None:
    """A call compares the items by identity, and looks only into those that can change."""
    function = np.compile(lambda x: x * CONTENTS[3][0] + CONTENTS[4][1][1][0], backend="eager")
    x = np.ones(1)
    assert function(x).tolist() == [7]
    for change, expected in [
        (lambda: CONTENTS[3].__setitem__(0, 5.0), 9),
        (lambda: CONTENTS[4][1][1].__setitem__(0, 6), 11),
        (lambda: CONTENTS.__setitem__(3, [1.0]), 7),
        (lambda: CONTENTS.pop(99), 7),
    ]:
        change()
        assert function(x).tolist() == [expected]
    assert function.cache_info().traces == 5
    assert outer_state.Content([(i, "text") for i in range(100)]).inner == []


OPERANDS: dict[str, Any] = {
    "times": lambda r, x: r * x,
    "reflected": lambda r, x: x * r,
    "array": lambda r, x: np.asarray(r) * x,
    "copied": lambda r, x: np.array(r) * x,
    "reduced": lambda r, x: np.sum(r) + x,
    "sliced": lambda r, x: r[1:] * x[1:],
    "listed": lambda r, x: np.asarray([r, r]) + x,
    "stacked": lambda r, x: np.stack([r, x]),
    "chosen": lambda r, x: np.where(x > 0, r, x),
    "assigned": lambda r, x: (y := np.zeros(5, complex), y.__setitem__(..., r), y + x)[2],
}


def field(values: Any) -> Any:
    records = numpy.zeros(5, dtype=[("a", "u1"), ("x", "f8")])
    records["x"] = values
    return records["x"]


def read_only(values: Any) -> Any:
    view = values.view()
    view.flags.writeable = False
    return view


LAYOUTS: dict[str, Any] = {
    "ordinary": lambda c: c,
    "reversed": lambda c: c[::-1],
    "read-only": read_only,
    "broadcast": lambda c: numpy.broadcast_to(c, (2, 5))[0],
    "of the other byte order": lambda c: c.astype(">f8"),
    "complex of the other byte order": lambda c: c.astype(">c8"),
    "not aligned": field,
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_a_numpy_array_from_outside_is_read_at_each_call(layout: Any) -> None:
    """One whose memory no tensor has was a constant: the graph kept the values it had while traced."""
    whole = numpy.arange(5.0)
    outside = layout(whole)
    for name, operation in OPERANDS.items():
        run = np.compile(lambda x, operation=operation: operation(outside, x), backend="eager", fullgraph=True)
        for x in (np.ones(5), np.arange(5.0)):
            numpy.testing.assert_array_equal(run(x), operation(np.asarray(outside), x), name)
            target = whole if numpy.may_share_memory(whole, outside) else outside
            target[...] = target[::-1] * 3 + 1
        assert run.cache_info().traces == 1


class OwnDict(dict):  # type: ignore[type-arg]
    rate = 1.0

    def doubled(self) -> Any:
        return self["a"] * 2 * self.rate


class OwnList(list):  # type: ignore[type-arg]
    rate = 1.0


class OwnUserDict(collections.UserDict):  # type: ignore[type-arg]
    rate = 1.0


class OwnTuple(tuple):  # type: ignore[type-arg]
    rate = 1.0


class OwnStr(str):
    rate = 1.0


class OwnInt(int):
    rate = 1.0


class OwnDeque(collections.deque):  # type: ignore[type-arg]
    rate = 1.0


@pytest.mark.parametrize("kind", [OwnDict, OwnList, OwnUserDict, OwnTuple, OwnStr, OwnInt, OwnDeque])
def test_attributes_of_the_class_of_an_object_of_a_class_derived_from_pythons(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = kind()
    function = compiled(lambda x: x * held.rate)
    assert_array_equal(function(np.ones(2)), [1, 1])
    monkeypatch.setattr(kind, "rate", 3.0)
    assert_array_equal(function(np.ones(2)), [3, 3])
    if hasattr(held, "__dict__"):
        held.rate = 4.0
        assert_array_equal(function(np.ones(2)), [4, 4])


def test_attributes_that_a_method_of_a_dictionary_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    held = OwnDict(a=1.0)
    function = compiled(lambda x: x * held.doubled())
    assert_array_equal(function(np.ones(2)), [2, 2])
    monkeypatch.setattr(OwnDict, "rate", 3.0)
    assert_array_equal(function(np.ones(2)), [6, 6])


@pytest.mark.filterwarnings("ignore:tnp.compile.*adds to:RuntimeWarning")
def test_a_key_that_a_defaultdict_made_may_get_another_value() -> None:
    numbers: Any = collections.defaultdict(float)
    function = compiled(lambda x: x + numbers["b"])
    assert_array_equal(function(np.ones(2)), [1, 1])
    numbers["b"] = 5.0
    assert_array_equal(function(np.ones(2)), [6, 6])
    lists: Any = collections.defaultdict(list)
    function = compiled(lambda x: x + len(lists["b"]))
    assert_array_equal(function(np.ones(2)), [1, 1])
    lists["b"].append(5.0)
    assert_array_equal(function(np.ones(2)), [2, 2])


@pytest.mark.filterwarnings("ignore:Setting the:DeprecationWarning")
@pytest.mark.parametrize(("name", "value"), [("shape", (2, 2)), ("strides", (16,)), ("dtype", numpy.dtype("i8"))])
def test_what_is_assigned_to_a_numpy_array_outside(name: str, value: Any) -> None:
    held = numpy.arange(8.0)[:4]
    function = compiled(lambda x: x * held + held.shape[0])
    expected = held + len(held)
    assert_array_equal(function(np.ones(1)), expected)
    setattr(held, name, value)
    assert_array_equal(function(np.ones(1)), held + len(held))
