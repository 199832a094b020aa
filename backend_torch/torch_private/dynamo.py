"""Dynamo, the front end of torch.compile: how it traces tnp's functions and arrays.

Layer: owns Dynamo's private entry points and the patches of Dynamo. The patches are in place from where a compile meets
an object of tnp to the end of that compile, and act on tnp's classes and functions only. Dynamo makes each function of
arrays one operation of its graph; the backend then traces through it.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import torch

from backend_torch.torch_private import trees
from backend_torch.torch_private.modes import no_dispatch
from backend_torch.torch_private.patches import Undo, replaced_attribute

_FRONT_END = "torch._dynamo"


_puts: list[Callable[[], list[Undo]]] = []
"""What puts the patches in place; the functions of this module that patch fill the list."""


def when_met(package: str, kinds: Sequence[type], action: Callable[[], None]) -> None:
    """Call ``action`` when Dynamo first meets a function of a package or an object of one of ``kinds``.

    Patches that the action asks for are in place from there, and from later such meetings, to the end of the compile.
    Dynamo itself is not imported for that: its import takes seconds.
    """
    placed: list[Undo] = []

    def meet() -> None:
        from torch._dynamo import callback_handler
        from torch._dynamo.variables.builtin import BuiltinVariable

        if not _puts:
            action()
        for put in _puts:
            placed.extend(put())
        BuiltinVariable.call_function_handler_cache.clear()  # it maps types of operands to the handlers found before
        if leave not in callback_handler.end_callbacks:  # torch._dynamo.reset() drops them
            callback_handler.register_end_callback(leave)

    def leave(args: Any) -> None:
        from torch._dynamo import trace_rules
        from torch._dynamo.variables.builtin import BuiltinVariable

        if placed:
            while placed:
                placed.pop()()
            BuiltinVariable.call_function_handler_cache.clear()
            trace_rules.add_module_init_func(package, meet)

    def watch() -> None:
        from torch._dynamo import trace_rules
        from torch._dynamo.guards import GuardBuilder
        from torch._dynamo.variables.builder import VariableBuilder
        from torch._dynamo.variables.user_defined import UserDefinedObjectVariable

        def build(self: Any, value: Any) -> Any:
            """Like ``wrap_user_defined``, which would make an object that is a float a constant of the graph."""
            trace_rules._maybe_init_lazy_module(action)  # it calls `meet`
            self.install_guards(GuardBuilder.TYPE_MATCH)
            made = UserDefinedObjectVariable(value, source=self.source)
            return self.tx.output.side_effects.track_object_existing(value, made)

        trace_rules.add_module_init_func(package, meet)
        # A public function asks its native head before anything else.
        trace_rules.add_module_init_func(
            __name__.partition(".")[0], lambda: trace_rules._maybe_init_lazy_module(action)
        )
        for trace_numpy in (False, True):
            VariableBuilder._type_dispatch_impl(trace_numpy).update(dict.fromkeys(kinds, build))

    if _FRONT_END in sys.modules:
        watch()
    else:
        sys.meta_path.insert(0, _Finder(watch))


NO_TEXT = "the text of an array depends on its values, which a graph has only when it runs"


def break_for_text() -> None:
    """Break the graph at the call that needs an array's text; ``fullgraph=True`` raises the reason.

    This does nothing inside a function that is one operation of the graph: Dynamo does not trace through that.
    """
    if torch.compiler.is_dynamo_compiling():
        torch._dynamo.graph_break(msg=NO_TEXT)


class _Finder(importlib.abc.MetaPathFinder):
    """An import finder that loads Dynamo as Python does, and then calls an action."""

    def __init__(self, action: Callable[[], None]) -> None:
        self.action = action

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != _FRONT_END:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self.action)
        return spec


class _Loader(importlib.abc.Loader):
    def __init__(self, loader: Any, action: Callable[[], None]) -> None:
        self.loader = loader
        self.action = action

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        with no_dispatch():  # the import computes with tensors; a trace that triggers it must not record that
            self.loader.exec_module(module)
        self.action()


def take_whole(functions: Sequence[Callable[..., Any]], kinds: tuple[type, ...]) -> None:
    """Make each function one operation of a graph, as ``torch._dynamo.nonstrict_trace`` does for a copy of a function.

    Arguments and results may be any Python value; ``nonstrict_trace`` takes tensors, numbers and strings only.
    Objects of ``kinds`` must be immutable. Each method of such an object is one operation too.
    """
    from torch._dynamo.trace_rules import _allowed_callable_ids, _nonstrict_trace_callable_ids
    from torch._dynamo.variables.builder import SourcelessBuilder
    from torch._dynamo.variables.misc import GetAttrVariable
    from torch._dynamo.variables.torch import TorchInGraphFunctionVariable as Variable

    whole = {id(function) for function in functions}
    for key in whole:
        _allowed_callable_ids.add(key)
        _nonstrict_trace_callable_ids.add(key)
    graphed, method, build = Variable._call_nonstrict_traceable_function, Variable.call_method, SourcelessBuilder.create

    def call(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        if id(self.value) not in whole:
            return graphed(self, tx, args, kwargs)
        return _Operation(self.value, graphed, kinds).call(tx, args, kwargs)

    def call_method(self: Any, tx: Any, name: str, args: Any, kwargs: Any) -> Any:
        if not isinstance(self.value, kinds):
            return method(self, tx, name, args, kwargs)
        return _Operation(getattr(self.value, name), graphed, kinds).call(tx, args, kwargs)

    def create(tx: Any, value: Any) -> Any:
        """Make a variable for a bound method of ``kinds``: torch 2.11 has none for it."""
        if type(value) is MethodType and isinstance(value.__self__, kinds):
            return GetAttrVariable(build(tx, value.__self__), value.__name__)
        return build(tx, value)

    _puts.append(
        lambda: [
            replaced_attribute(SourcelessBuilder, "create", staticmethod(create)),
            replaced_attribute(Variable, "_call_nonstrict_traceable_function", call),
            replaced_attribute(Variable, "call_method", call_method),
        ]
    )


def look_into(function: Callable[..., Any], whole: Any) -> None:
    """Let Dynamo trace into ``function`` where ``whole``, which computes the same, is called."""
    whole._torchdynamo_inline = function


def leave_to_python(values: Sequence[Any]) -> None:
    """Run functions and the methods of classes in Python, with all that they call, after a graph break at one of them.

    Such a function reads values or computes with NumPy; if Dynamo traced it, it would see fake tensors there.
    """
    from torch._C._dynamo.eval_frame import set_code_exec_strategy
    from torch._dynamo.types import FrameAction, FrameExecStrategy

    strategy = FrameExecStrategy(FrameAction.SKIP, FrameAction.SKIP)
    for value in values:
        for part in value.__dict__.values() if isinstance(value, type) else (value,):
            function = part.fget if isinstance(part, property) else part
            if isinstance(function, FunctionType):
                set_code_exec_strategy(function.__code__, strategy)


def _kind_of(variable: Any) -> type | None:
    """Return the class of the user's object that a Dynamo variable stands for, adding no guard; None for others."""
    from torch._dynamo.variables.lazy import LazyVariableTracker
    from torch._dynamo.variables.user_defined import UserDefinedObjectVariable

    if isinstance(variable, LazyVariableTracker):
        if not variable.is_realized():
            return type(variable._cache.value)
        variable = variable.realize()
    return variable.python_type() if isinstance(variable, UserDefinedObjectVariable) else None


def _is_of(variable: Any, kind: type) -> bool:
    found = _kind_of(variable)
    return found is not None and issubclass(found, kind)


def format_outside(kind: type) -> None:
    """Break the graph where an object of ``kind`` is formatted.

    Dynamo formats at the end of the graph. By then the object may have been written to, or may lack its attributes.
    """
    from torch._dynamo.exc import unimplemented
    from torch._dynamo.variables.misc import StringFormatVariable

    create = StringFormatVariable.create

    def created(*arguments: Any) -> Any:
        text, args, kwargs = arguments[-3:]  # torch 2.15 passes the translator as the first argument
        if any(_is_of(given, kind) for given in (*args, *kwargs.values())):
            unimplemented(gb_type="format of an array", context=text, explanation=NO_TEXT, hints=[])
        return create(*arguments)

    _puts.append(lambda: [replaced_attribute(StringFormatVariable, "create", staticmethod(created))])


def take_operators(kind: type) -> None:
    """Let Dynamo trace operators of ``kind`` that it lacks, or computes wrongly.

    It lacks ``~``, ``@`` and, before torch 2.13, ``divmod``. It treats a NumPy array beside an object as a tensor. It
    takes an object to be unequal to a Python number that changes from call to call, and never calls ``__eq__``. Before
    torch 2.12 it compares a number or list on the left by the left one's methods alone.
    """
    from torch._dynamo.variables.builtin import BuiltinVariable
    from torch._dynamo.variables.constant import ConstantVariable
    from torch._dynamo.variables.lists import BaseListVariable
    from torch._dynamo.variables.tensor import NumpyNdarrayVariable, SymNodeVariable
    from torch._dynamo.variables.user_defined import UserDefinedVariable

    def operator(name: str, reflected: str | None = None) -> Callable[..., Any]:
        def call(self: Any, tx: Any, *operands: Any) -> Any:
            if not any(_is_of(each, kind) for each in operands):
                return None  # Dynamo goes on as if this handler did not exist
            first, *others = operands
            if isinstance(first, UserDefinedVariable):
                return first.call_method(tx, name, others, {})
            return None if reflected is None else others[0].call_method(tx, reflected, [first], {})

        return call

    beside = (SymNodeVariable, ConstantVariable, BaseListVariable)
    on_tensors, find = BuiltinVariable._handle_insert_op_in_graph, BuiltinVariable._find_binop_handler

    def by_method(function: Any, tx: Any, first: Any, second: Any) -> Any:
        """Apply a binary operator by the method of an operand of ``kind``; return None if neither is one."""
        name = function.__name__.strip("_")
        if _is_of(first, kind):
            return first.call_method(tx, f"__{name}__", [second], {})
        if _is_of(second, kind):
            return second.call_method(tx, f"__{_REFLECTED.get(name, 'r' + name)}__", [first], {})
        return None

    def on_numbers(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        if len(args) == 2 and not kwargs and any(type(arg) is NumpyNdarrayVariable for arg in args):
            if (found := by_method(self.fn, tx, *args)) is not None:
                return found
        return on_tensors(self, tx, args, kwargs)

    def handlers(function: Any, *kinds: Any) -> Any:
        found = find(function, *kinds)
        if function.__name__ in _REFLECTED and any(issubclass(each, beside) for each in kinds):
            return [functools.partial(by_method, function), *(found or ())]  # Dynamo goes on after a None
        return found

    calls = {"_handle_insert_op_in_graph": on_numbers, "_find_binop_handler": staticmethod(handlers)}
    if not hasattr(BuiltinVariable, "call_divmod"):
        calls["call_divmod"] = operator("__divmod__", "__rdivmod__")
    if not hasattr(BuiltinVariable, "call_matmul"):
        calls["call_invert"] = operator("__invert__")
        calls["call_matmul"] = operator("__matmul__", "__rmatmul__")
        calls["call_imatmul"] = operator("__imatmul__")
    _puts.append(lambda: [replaced_attribute(BuiltinVariable, *call) for call in calls.items()])


_REFLECTED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


class _Part:
    """A placeholder in a call's Python arguments for a tensor, or for an object that holds tensors."""

    def __init__(self, position: int) -> None:
        self.position = position


class _Operation:
    """A call as a node of the graph: tensors are the node's arguments, Python values are part of its function."""

    def __init__(self, function: Callable[..., Any], graphed: Callable[..., Any], kinds: tuple[type, ...]) -> None:
        self.function = function
        self.graphed = graphed
        self.kinds = kinds
        self.given: list[Any] = []  # Dynamo's variables for tensors and for objects that hold tensors
        self.taken: list[int] | None = None  # positions of the result's leaves that the graph computes
        self.leaves: list[Any] = []
        self.spec: Any = None

    def call(self, tx: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Add the node to the graph; return Dynamo's variable for the result."""
        from torch._dynamo.variables.base import VariableTracker
        from torch._dynamo.variables.torch import AllowInGraphKind, TorchInGraphFunctionVariable

        parts = [self._part(tx, value) for value in args]
        named = {name: self._part(tx, value) for name, value in kwargs.items()}

        def operation(*given: Any) -> list[Any]:
            values = [_filled(part, given) for part in parts]
            return self._graphed(self.function(*values, **{name: _filled(part, given) for name, part in named.items()}))

        _allow_constants()
        operation.__name__ = getattr(self.function, "__name__", "operation")
        variable = TorchInGraphFunctionVariable(operation, kind=AllowInGraphKind.NONSTRICT_TRACE)
        results = self.graphed(variable, tx, self.given, {}).unpack_var_sequence(tx)
        _keep_structures(tx.output.graph)
        found = dict(zip(self.taken or (), results, strict=True))
        leaves = [found[i] if i in found else VariableTracker.build(tx, leaf) for i, leaf in enumerate(self.leaves)]
        unflatten = VariableTracker.build(tx, trees.unflatten)
        return unflatten.call_function(
            tx, [VariableTracker.build(tx, leaves), VariableTracker.build(tx, self.spec)], {}
        )

    def _part(self, tx: Any, variable: Any) -> Any:
        """Return the Python value of a Dynamo variable, with a `_Part` in the place of each tensor."""
        from torch._dynamo.trace_rules import _allowed_callable_ids
        from torch._dynamo.variables.builder import wrap_fx_proxy
        from torch._dynamo.variables.functions import NestedUserFunctionVariable
        from torch._dynamo.variables.lists import ListVariable, SizeVariable, SliceVariable, TupleVariable
        from torch._dynamo.variables.tensor import NumpyNdarrayVariable

        variable = variable.realize()
        kind = type(variable)
        if kind is ListVariable:
            return [self._part(tx, item) for item in variable.items]
        if kind in (TupleVariable, SizeVariable):
            return tuple([self._part(tx, item) for item in variable.items])
        if kind is SliceVariable:
            return slice(*[self._part(tx, item) for item in variable.items])
        if variable.is_python_constant():
            value = variable.as_python_constant()
            fresh = kind is NestedUserFunctionVariable
            ours = type(value) is not FunctionType or id(value) in _allowed_callable_ids
            if ours or _is_closed(value, fresh):
                return value
        if isinstance(getattr(variable, "value", None), self.kinds):
            return variable.value
        if kind is NumpyNdarrayVariable:  # a NumPy array is a tensor in the graph
            alias = tx.output.create_proxy("call_function", torch.ops.aten.alias.default, (variable.as_proxy(),), {})
            variable = wrap_fx_proxy(tx, alias)
        self.given.append(variable)
        return _Part(len(self.given) - 1)

    def _graphed(self, result: Any) -> list[Any]:
        """Return a result's tensors and symbolic numbers; its other leaves are constants, known after the trace."""
        leaves, spec = trees.flatten(result, is_leaf=lambda value: trees.is_constant_class(type(value)))
        if self.taken is None:
            self.taken = [i for i, leaf in enumerate(leaves) if isinstance(leaf, _IN_GRAPHS)]
            self.leaves, self.spec = leaves, spec
        return [leaves[i] for i in self.taken]


def _keep_structures(graph: torch.fx.Graph) -> None:
    """Mark constants that describe the structure of arguments: torch.export would treat them as tensors."""
    for node in graph.find_nodes(op="get_attr"):
        held = node.meta.get("example_value")
        if held is not None and not isinstance(held, (torch.Tensor, torch.nn.Module)):
            node.meta.setdefault("val", held)


_NUMBERS = (bool, int, float, complex, str)
_IN_GRAPHS = (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool)


def _filled(part: Any, given: Sequence[Any]) -> Any:
    """Put a run's values in the places of the `_Part` objects."""
    if type(part) is _Part:
        return given[part.position]
    if type(part) is slice:
        return slice(_filled(part.start, given), _filled(part.stop, given), _filled(part.step, given))
    return type(part)([_filled(item, given) for item in part]) if type(part) in (list, tuple) else part


def _is_closed(function: FunctionType, fresh: bool) -> bool:
    """Whether a function reads no variable that can change: the graph would keep the first value.

    A ``fresh`` function was made while tracing; numbers in its closure belong to the graph.
    """
    for cell in function.__closure__ or ():
        if not (fresh and isinstance(cell.cell_contents, _NUMBERS)):
            return False
    return all(_is_fixed(function.__globals__[name]) for name in _names(function.__code__, function.__globals__))


def _is_fixed(value: Any) -> bool:
    """Whether a global's value is of a kind that programs do not rebind: a module, a class, a function of tnp."""
    from torch._dynamo.trace_rules import _allowed_callable_ids

    return isinstance(value, (ModuleType, type, BuiltinFunctionType)) or id(value) in _allowed_callable_ids


def _names(code: CodeType, known: dict[str, Any]) -> set[str]:
    """Return the global names that code may read, nested functions included."""
    inner = [_names(constant, known) for constant in code.co_consts if isinstance(constant, CodeType)]
    return {name for name in code.co_names if name in known}.union(*inner)


def _allow_constants() -> None:
    """Let graphs hold real tensors as constants until Dynamo is done: tnp's operations read small ones.

    torch allows them while it traces the operation, but no longer when Inductor compiles the graph. Derivatives are
    compiled later still, when they are first needed.
    """
    from torch._dynamo import callback_handler

    _set_constants(True)
    if _forget_constants not in callback_handler.end_callbacks:  # torch._dynamo.reset() drops them
        callback_handler.register_start_callback(_allow_in_derivatives)
        callback_handler.register_end_callback(_forget_constants)


def _allow_in_derivatives(args: Any) -> None:
    if args.callback_trigger.name == "LAZY_BACKWARD":
        _set_constants(True)


def _forget_constants(args: Any) -> None:
    _set_constants(None)


def _set_constants(allowed: bool | None) -> None:
    from torch._subclasses.fake_tensor import fake_tensor_tls

    fake_tensor_tls.allow_non_fake_inputs_override = allowed


def trace_instead(replacements: dict[Callable[..., Any], Callable[..., Any]]) -> None:
    """Let Dynamo trace replacements of functions; a replacement must have the same parameters."""
    for function, replacement in replacements.items():
        torch._dynamo.substitute_in_graph(function)(replacement)


def trace_refused(functions: Sequence[Callable[..., Any]]) -> None:
    """Let Dynamo trace native fast paths as functions that return None, as they do for arguments that they refuse."""
    for function in functions:
        torch._dynamo.substitute_in_graph(function, skip_signature_check=True)(lambda *args, **options: None)


def hash_dtypes(package: str) -> None:
    """Let a package's functions use NumPy dtypes as dictionary keys under Dynamo; torch 2.11 refuses that."""
    from torch._dynamo.symbolic_convert import InstructionTranslator
    from torch._dynamo.variables.misc import NumpyDTypeVariable

    kind: Any = NumpyDTypeVariable
    if not hasattr(kind, "get_python_hash"):
        return  # later releases hash the dtype itself

    def either(ours: Callable[..., Any], theirs: Callable[..., Any]) -> Callable[..., Any]:
        def chosen(self: Any, *others: Any) -> Any:
            names = InstructionTranslator.current_tx().output.current_tx.f_globals
            is_ours = names.get("__name__", "").partition(".")[0] == package
            return (ours if is_ours else theirs)(self, *others)

        return chosen

    ours: dict[str, Callable[..., Any]] = {
        "is_python_hashable": lambda self: True,
        "get_python_hash": lambda self: hash(self.value),
        "is_python_equal": lambda self, other: self.value == getattr(other, "value", None),
    }
    calls = {name: either(function, getattr(kind, name)) for name, function in ours.items()}
    _puts.append(lambda: [replaced_attribute(kind, *call) for call in calls.items()])
