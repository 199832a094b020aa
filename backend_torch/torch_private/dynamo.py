"""torch.compile's front end, Dynamo, over functions of arrays: which of them it takes as one operation.

Layer: owns Dynamo's private entry points and the patches of it. They come with the first object of ours that Dynamo
meets, act on our classes and functions only, and leave all others to Dynamo: a program that compiles nothing of ours
has it as it was. What is taken whole is traced afterwards, by the operations that it does.
"""

from __future__ import annotations

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

_FRONT_END = "torch._dynamo"


def when_met(package: str, kinds: Sequence[type], action: Callable[[], None]) -> None:
    """Call ``action`` once Dynamo meets a function of a package or an object of one of ``kinds``.

    That is after its own import, which takes seconds.
    """

    def watch() -> None:
        from torch._dynamo import trace_rules
        from torch._dynamo.guards import GuardBuilder
        from torch._dynamo.variables.builder import VariableBuilder
        from torch._dynamo.variables.user_defined import UserDefinedObjectVariable

        def build(self: Any, value: Any) -> Any:
            """As ``wrap_user_defined``, which takes what says that it is a float for a constant of the graph."""
            trace_rules._maybe_init_lazy_module(action)
            self.install_guards(GuardBuilder.TYPE_MATCH)
            made = UserDefinedObjectVariable(value, source=self.source)
            return self.tx.output.side_effects.track_object_existing(value, made)

        trace_rules.add_module_init_func(package, action)
        for trace_numpy in (False, True):
            VariableBuilder._type_dispatch_impl(trace_numpy).update(dict.fromkeys(kinds, build))

    if _FRONT_END in sys.modules:
        watch()
    else:
        sys.meta_path.insert(0, _Finder(watch))


NO_TEXT = "the text of an array depends on its values, which a graph has only when it runs"


def break_for_text() -> None:
    """Break the graph at the call that asks for an array's text; a full graph is refused with the reason.

    Nothing happens in a function that is taken whole, which runs to be traced.
    """
    if torch.compiler.is_dynamo_compiling():
        torch._dynamo.graph_break(msg=NO_TEXT)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds Dynamo as Python does, and acts when it is loaded."""

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
        with no_dispatch():  # it computes with tensors, which a trace that asks for it would record
            self.loader.exec_module(module)
        self.action()


def take_whole(functions: Sequence[Callable[..., Any]], kinds: tuple[type, ...]) -> None:
    """Make each function one operation of a graph, as ``torch._dynamo.nonstrict_trace`` does for a copy of it.

    What is given to one or comes of it may be any Python value; torch's own way is for tensors, numbers and strings.
    Objects of ``kinds`` never change: those among the functions have methods, which are one operation each too.
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
        """A method of ``kinds``, which torch 2.11 reads at once and has no variable for."""
        if type(value) is MethodType and isinstance(value.__self__, kinds):
            return GetAttrVariable(build(tx, value.__self__), value.__name__)
        return build(tx, value)

    SourcelessBuilder.create = staticmethod(create)  # type: ignore[method-assign]
    Variable._call_nonstrict_traceable_function = call  # type: ignore[method-assign]
    Variable.call_method = call_method  # type: ignore[method-assign]


def look_into(function: Callable[..., Any], whole: Any) -> None:
    """Look into a function where another is called, which does the same."""
    whole._torchdynamo_inline = function


def leave_to_python(values: Sequence[Any]) -> None:
    """Where a graph broke at one of the functions, or of the classes' methods, run it and what it calls as Python does.

    It reads values, which are there by then, or takes NumPy's, of which Dynamo, asked anew, would make fake tensors.
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
    """The class of the user's object that a variable of Dynamo's stands for, asked without a guard; None of others."""
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
    """Break the graph at the format of an object of ``kind``.

    Dynamo formats at the end, when the object may have been written to, or has no attributes yet.
    """
    from torch._dynamo.exc import unimplemented
    from torch._dynamo.variables.misc import StringFormatVariable

    create = StringFormatVariable.create

    def created(*arguments: Any) -> Any:
        text, args, kwargs = arguments[-3:]  # torch 2.15 gives its translator first
        if any(_is_of(given, kind) for given in (*args, *kwargs.values())):
            unimplemented(gb_type="format of an array", context=text, explanation=NO_TEXT, hints=[])
        return create(*arguments)

    StringFormatVariable.create = created  # type: ignore[method-assign,assignment]


def take_operators(kind: type) -> None:
    """Let ``kind`` define ``~``, ``@`` and, before torch 2.13, ``divmod``, as classes may all other operators."""
    from torch._dynamo.variables.builtin import BuiltinVariable
    from torch._dynamo.variables.tensor import NumpyNdarrayVariable
    from torch._dynamo.variables.user_defined import UserDefinedVariable

    def operator(name: str, reflected: str | None = None) -> Callable[..., Any]:
        def call(self: Any, tx: Any, *operands: Any) -> Any:
            if not any(_is_of(each, kind) for each in operands):
                return None  # as if there were no such handler
            first, *others = operands
            if isinstance(first, UserDefinedVariable):
                return first.call_method(tx, name, others, {})
            return None if reflected is None else others[0].call_method(tx, reflected, [first], {})

        return call

    if not hasattr(BuiltinVariable, "call_divmod"):
        BuiltinVariable.call_divmod = operator("__divmod__", "__rdivmod__")  # type: ignore[method-assign]
    if not hasattr(BuiltinVariable, "call_matmul"):
        BuiltinVariable.call_invert = operator("__invert__")  # type: ignore[attr-defined]
        BuiltinVariable.call_matmul = operator("__matmul__", "__rmatmul__")  # type: ignore[attr-defined]
        BuiltinVariable.call_imatmul = operator("__imatmul__")  # type: ignore[attr-defined]
    on_tensors = BuiltinVariable._handle_insert_op_in_graph

    def on_numbers(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        """Operators between an array and one of NumPy's, a scalar above all, which Dynamo takes for a tensor."""
        name = self.fn.__name__.strip("_")
        if len(args) == 2 and not kwargs and any(type(arg) is NumpyNdarrayVariable for arg in args):
            if _is_of(args[0], kind):
                return args[0].call_method(tx, f"__{name}__", [args[1]], {})
            if _is_of(args[1], kind):
                return args[1].call_method(tx, f"__{_REFLECTED.get(name, 'r' + name)}__", [args[0]], {})
        return on_tensors(self, tx, args, kwargs)

    BuiltinVariable._handle_insert_op_in_graph = on_numbers  # type: ignore[method-assign]
    BuiltinVariable.call_function_handler_cache.clear()  # of what was asked for before, by the types of variables


_REFLECTED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


class _Part:
    """The place of a tensor, or of what holds some, among the Python values of a call."""

    def __init__(self, position: int) -> None:
        self.position = position


class _Operation:
    """A call as a node of the graph: the tensors are the node's, Python's values belong to its function."""

    def __init__(self, function: Callable[..., Any], graphed: Callable[..., Any], kinds: tuple[type, ...]) -> None:
        self.function = function
        self.graphed = graphed
        self.kinds = kinds
        self.given: list[Any] = []  # Dynamo's variables of what holds tensors
        self.taken: list[int] | None = None  # which leaves of the result are the graph's
        self.leaves: list[Any] = []
        self.spec: Any = None

    def call(self, tx: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Dynamo's variable of the result."""
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
        """The Python value of one of Dynamo's variables, with a `_Part` wherever tensors are."""
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
        if kind is NumpyNdarrayVariable:  # which is a tensor in the graph
            alias = tx.output.create_proxy("call_function", torch.ops.aten.alias.default, (variable.as_proxy(),), {})
            variable = wrap_fx_proxy(tx, alias)
        self.given.append(variable)
        return _Part(len(self.given) - 1)

    def _graphed(self, result: Any) -> list[Any]:
        """The tensors of a result, and what depends on symbols; the rest is known once the function was traced."""
        leaves, spec = trees.flatten(result, is_leaf=lambda value: trees.is_constant_class(type(value)))
        if self.taken is None:
            self.taken = [i for i, leaf in enumerate(leaves) if isinstance(leaf, _IN_GRAPHS)]
            self.leaves, self.spec = leaves, spec
        return [leaves[i] for i in self.taken]


def _keep_structures(graph: torch.fx.Graph) -> None:
    """Let torch.export take what says how arguments are built for what it is: it takes constants for tensors."""
    for node in graph.find_nodes(op="get_attr"):
        held = node.meta.get("example_value")
        if held is not None and not isinstance(held, (torch.Tensor, torch.nn.Module)):
            node.meta.setdefault("val", held)


_NUMBERS = (bool, int, float, complex, str)
_IN_GRAPHS = (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool)


def _filled(part: Any, given: Sequence[Any]) -> Any:
    """What `_Operation` took apart, with the values of a run."""
    if type(part) is _Part:
        return given[part.position]
    if type(part) is slice:
        return slice(_filled(part.start, given), _filled(part.stop, given), _filled(part.step, given))
    return type(part)([_filled(item, given) for item in part]) if type(part) in (list, tuple) else part


def _is_closed(function: FunctionType, fresh: bool) -> bool:
    """Whether a function reads nothing that can change, where a graph would go on with what it was at first.

    The numbers around a ``fresh`` one, made while tracing, are the graph's own.
    """
    for cell in function.__closure__ or ():
        if not (fresh and isinstance(cell.cell_contents, _NUMBERS)):
            return False
    return all(_is_fixed(function.__globals__[name]) for name in _names(function.__code__, function.__globals__))


def _is_fixed(value: Any) -> bool:
    """Whether a global name's value is one that programs leave as it is: a module, a class, a function of ours."""
    from torch._dynamo.trace_rules import _allowed_callable_ids

    return isinstance(value, (ModuleType, type, BuiltinFunctionType)) or id(value) in _allowed_callable_ids


def _names(code: CodeType, known: dict[str, Any]) -> set[str]:
    """The global names that code may read, that of the functions in it included."""
    inner = [_names(constant, known) for constant in code.co_consts if isinstance(constant, CodeType)]
    return {name for name in code.co_names if name in known}.union(*inner)


def _allow_constants() -> None:
    """Until Dynamo is done here, let graphs hold the constants that an operation taken whole reads: small, not fake.

    torch itself allows them while it traces the operation, and forgets that before Inductor sees the graph. Derivatives
    are compiled later, when they are first asked for.
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
    """Trace other functions in the place of some, which must have the same parameters."""
    for function, replacement in replacements.items():
        torch._dynamo.substitute_in_graph(function)(replacement)


def trace_refused(functions: Sequence[Callable[..., Any]]) -> None:
    """Trace native heads of functions as what they are in a graph: refused."""
    for function in functions:
        torch._dynamo.substitute_in_graph(function, skip_signature_check=True)(lambda *args: None)


def hash_dtypes(package: str) -> None:
    """Let a package's functions look up NumPy's dtypes in dictionaries, which torch 2.11 refuses."""
    from torch._dynamo.symbolic_convert import InstructionTranslator
    from torch._dynamo.variables.misc import NumpyDTypeVariable

    kind: Any = NumpyDTypeVariable
    if not hasattr(kind, "get_python_hash"):
        return  # later ones ask the value itself

    def either(ours: Callable[..., Any], theirs: Callable[..., Any]) -> Callable[..., Any]:
        def chosen(self: Any, *others: Any) -> Any:
            names = InstructionTranslator.current_tx().output.current_tx.f_globals
            is_ours = names.get("__name__", "").partition(".")[0] == package
            return (ours if is_ours else theirs)(self, *others)

        return chosen

    kind.is_python_hashable = either(lambda self: True, kind.is_python_hashable)
    kind.get_python_hash = either(lambda self: hash(self.value), kind.get_python_hash)
    kind.is_python_equal = either(lambda self, other: self.value == getattr(other, "value", None), kind.is_python_equal)
