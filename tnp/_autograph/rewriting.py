"""Rewrite a function's statements and expressions into calls of operators that work for traced values too.

Layer: owns the new source: which variables go through a branch or a loop, and their line numbers. `operators` owns
what the operators do.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from tnp._autograph import names
from tnp._autograph.jumps import RESULT, flags_of, without_jumps
from tnp._autograph.names import Names

OPERATORS = "_tnp_operators"
_FRAME_READERS = {"locals", "vars", "dir", "eval", "exec", "globals"}
_NONE: Names = frozenset()


class NotConvertible(Exception):
    """A function can't be converted; the text names the construct and its line."""


def check(function: ast.AST) -> None:
    """Raise NotConvertible if rewriting would change what a function does: generators, ``eval``, ``locals``."""
    for node in ast.walk(function):
        line = getattr(node, "lineno", 0)
        if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFunctionDef)):
            raise NotConvertible(f"line {line} makes it a generator or a coroutine")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FRAME_READERS:
            if node.func.id not in ("vars", "dir") or not node.args:
                raise NotConvertible(f"line {line} calls {node.func.id}()")


class Rewriter(ast.NodeTransformer):
    """Rewrites one function; each nested function has a rewriter of its own."""

    def __init__(self, first_parameter: str | None = None) -> None:
        self.count = 0
        self.first_parameter = first_parameter
        self.globals: Names = _NONE
        self.stateful: Names = _NONE
        self.always: Names = _NONE  # variables that nested functions may read at any time

    # -- functions ----------------------------------------------------------------------------------------------------

    def function(self, node: ast.FunctionDef, after: Names = _NONE, unbound: Names = _NONE) -> ast.FunctionDef:
        """Convert a function definition.

        ``after`` are the variables that are read after its statements, and ``unbound`` the parameters that may stand
        for variables without a value.
        """
        arguments = node.args
        first = [*arguments.posonlyargs, *arguments.args]
        self.first_parameter = first[0].arg if first else None
        self.globals = names.declared(node, ast.Global)
        outer = names.declared(node, ast.Nonlocal)
        body = [statement for statement in node.body if not isinstance(statement, (ast.Global, ast.Nonlocal))]
        scope = [each for each in node.body if isinstance(each, (ast.Global, ast.Nonlocal))]
        if names.declared(ast.Module(body, []), (ast.Global, ast.Nonlocal)):
            raise NotConvertible(f"line {node.lineno} holds a global or nonlocal statement in a block")
        own = (names.assigned(body) | names.parameters(arguments)) - self.globals - outer
        body = [_Simpler(own).visit(statement) for statement in body]
        body = without_jumps(body or [ast.copy_location(ast.Pass(), node)])
        blocks = [each for s in body for each in ast.walk(s) if isinstance(each, (ast.If, ast.While, ast.For))]
        self.stateful = names.assigned(blocks) | unbound
        self.always = names.captured(body) | self.globals | outer
        made = self.block(body, after)
        unbound = self.stateful - names.parameters(arguments) - self.globals - outer
        unbound = frozenset(name for name in unbound if "." not in name)
        start = [_placed(_assign(name, _operator("Undefined", _text(name))), node) for name in sorted(unbound)]
        docstring = (
            made[:1] if made and isinstance(made[0], ast.Expr) and isinstance(made[0].value, ast.Constant) else []
        )
        node.body = [*docstring, *scope, *start, *made[len(docstring) :]]
        node.decorator_list, node.returns = [], None
        for each in [*first, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]:
            if each is not None:
                each.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        try:
            check(node)
        except NotConvertible:
            return node
        decorators = [self.visit(each) for each in node.decorator_list]
        node.args.defaults = [self.visit(each) for each in node.args.defaults]
        node.args.kw_defaults = [each and self.visit(each) for each in node.args.kw_defaults]
        made = Rewriter().function(node)
        made.decorator_list = decorators
        return made

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    # -- statements ---------------------------------------------------------------------------------------------------

    def block(self, statements: Sequence[ast.stmt], after: Names) -> list[ast.stmt]:
        """Convert statements; ``after`` are the variables that may be read after them."""
        made: list[ast.stmt] = []
        for number, statement in enumerate(statements):
            live = names.live_before(statements[number + 1 :], after)
            if isinstance(statement, ast.If):
                made += self.branch(statement, live)
            elif isinstance(statement, (ast.While, ast.For)):
                made += self.loop(statement, live)
            elif isinstance(statement, (ast.With, ast.Try, ast.Match)):
                made.append(self.nested(statement, live))
            elif isinstance(statement, ast.Assert):
                message = _thunk(self.visit(statement.msg)) if statement.msg else ast.Constant(None)
                call = ast.Expr(_operator("assert_", self.test(statement.test), message))
                made.append(_placed(call, statement))
            elif isinstance(statement, ast.Raise) and statement.exc is not None:
                made.append(self.visit(statement))
                statement.exc = _placed(_operator("raised", _thunk(statement.exc)), statement)
            elif isinstance(statement, ast.Delete) and all(
                isinstance(target, ast.Name) and target.id in self.stateful for target in statement.targets
            ):
                for target in statement.targets:
                    name = target.id  # type: ignore[attr-defined]
                    made.append(_placed(_assign(name, _operator("Undefined", _text(name))), statement))
            else:
                if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
                    if statement.target.id in self.stateful:
                        name = statement.target.id
                        made.append(_placed(_assign(name, _operator("updated", _name(name), _text(name))), statement))
                made.append(self.visit(statement))
        return made

    def nested(self, statement: ast.With | ast.Try | ast.Match, live: Names) -> ast.stmt:
        """Convert the blocks of a `with`, `try` or `match` statement, which itself stays Python's."""
        # An exception may leave any block of a `try`, so each may read what another has assigned.
        seen = live | names.read([statement]) if isinstance(statement, ast.Try) else live
        for field in ("body", "orelse", "finalbody"):
            if getattr(statement, field, None):
                names.put(statement, field, self.block(getattr(statement, field), seen))
        for holder in [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]:
            holder.body = self.block(holder.body, seen)
        if isinstance(statement, ast.Try) and statement.handlers:
            inside = ast.With([ast.withitem(_operator("handled"))], statement.body)
            statement.body = [_placed(inside, statement)]
            for handler in statement.handlers:
                handler.body.insert(0, _placed(ast.Expr(_operator("caught")), handler))
        if isinstance(statement, ast.Match):
            statement.subject = _placed(_operator("matched", self.visit(statement.subject)), statement.subject)
        if isinstance(statement, ast.With):
            statement.items = [self.visit(each) for each in statement.items]
        return statement

    def branch(self, statement: ast.If, live: Names) -> list[ast.stmt]:
        self.count += 1
        number = self.count
        changed = names.assigned([*statement.body, *statement.orelse])
        inside = names.live_before(statement.body, live) | names.live_before(statement.orelse, live)
        test = self.test(statement.test)
        made = [
            self.part(f"_tnp_body_{number}", self.block(statement.body, live), changed, statement),
            self.part(f"_tnp_orelse_{number}", self.block(statement.orelse, live), changed, statement),
        ]
        state = self.state(number, changed, live, [*statement.body, *statement.orelse], statement, inside)
        call = _operator("if_", test, _name(f"_tnp_body_{number}"), _name(f"_tnp_orelse_{number}"), *state.values)
        return [*made, *state.made, _placed(ast.Expr(call), statement)]

    def loop(self, statement: ast.While | ast.For, live: Names) -> list[ast.stmt]:
        self.count += 1
        number = self.count
        flags = flags_of(statement)
        changed = names.assigned([statement] if isinstance(statement, ast.For) else statement.body)
        live = names.live_in_loop(statement, live) | frozenset(flags)
        body = self.block(statement.body, live)
        ending: list[ast.expr] = [ast.UnaryOp(ast.Not(), _name(flag)) for flag in flags]
        made: list[ast.stmt] = []
        target = f"_tnp_test_{number}"
        if isinstance(statement, ast.While):
            constant = isinstance(statement.test, ast.Constant) and bool(statement.test.value)
            tests = [*ending, *([] if constant and ending else [statement.test])]
            test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
            made.append(self.part(target, [ast.Return(self.test(test))], _NONE, statement))
            made.append(self.part(f"_tnp_body_{number}", body, changed, statement))
            first: list[ast.expr] = [_name(target)]
        else:
            item = f"_tnp_item_{number}"
            bind = ast.Assign([self.visit(statement.target)], _name(item))
            made.append(self.part(f"_tnp_body_{number}", [bind, *body], changed, statement, [item]))
            first = [self.visit(statement.iter)]
            if ending:
                test = ending[0] if len(ending) == 1 else ast.BoolOp(ast.And(), ending)
                made.append(self.part(target, [ast.Return(self.visit(test))], _NONE, statement))
                first.append(_name(target))
            else:
                first.append(ast.Constant(None))
        state = self.state(number, changed, live, [statement], statement)
        operator = "while_" if isinstance(statement, ast.While) else "for_"
        call = _operator(operator, *first, _name(f"_tnp_body_{number}"), *state.values)
        return [*made, *state.made, _placed(ast.Expr(call), statement)]

    def part(
        self, name: str, body: list[ast.stmt], changed: Names, where: ast.AST, given: Sequence[str] = ()
    ) -> ast.stmt:
        """Make a nested function of a block's statements, which assigns to the enclosing function's variables."""
        bound = [each for each in sorted(changed) if "." not in each]
        statements: list[ast.stmt] = []
        if shared := [each for each in bound if each in self.globals]:
            statements.append(ast.Global(shared))
        if outer := [each for each in bound if each not in self.globals]:
            statements.append(ast.Nonlocal(outer))
        made = ast.FunctionDef(name, _arguments(given), [*statements, *(body or [ast.Pass()])], [])
        made.type_params = []  # type: ignore[attr-defined]
        return _placed(made, where)

    def state(
        self,
        number: int,
        changed: Names,
        live: Names,
        nodes: list[ast.stmt],
        where: ast.AST,
        inside: Names = _NONE,
    ) -> _State:
        """Make the functions that get and set a block's state: variables that it changes and that are read later.

        Those that only the block itself reads, ``inside``, have no line: each trace of it starts from their values.
        """
        lines: dict[str, int] = {}
        for node in [each for top in nodes for each in ast.walk(top) if hasattr(each, "lineno")]:
            for name in (
                names.assigned([node]) if isinstance(node, (ast.Assign, ast.AugAssign, ast.For, ast.AnnAssign)) else ()
            ):
                lines[name] = node.lineno
        own = sorted(n for n in changed if "." not in n)
        later = live | self.always
        restored = [n for n in own if n in inside - later]
        kept = [*[n for n in own if n in later], *restored]
        roots = [n for n in sorted(changed) if "." in n and n.partition(".")[0] not in changed]
        values: list[ast.expr] = [_name(name) for name in kept]
        body: list[ast.stmt] = []
        parts = [f"_tnp_part_{index}" for index in range(len(roots))]
        for text, part in zip(roots, parts, strict=True):
            owner, _, attribute = text.rpartition(".")
            holder = ast.parse(owner, mode="eval").body
            values.append(_operator("attribute", _thunk(holder), _text(attribute)))
            body.append(ast.Expr(_operator("set_attribute", _thunk(holder), _text(attribute), _name(part))))
        made = [self.part(f"_tnp_get_{number}", [ast.Return(ast.Tuple(values, ast.Load()))], _NONE, where)]
        if kept or parts:
            targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in [*kept, *parts]]
            body.insert(0, ast.Assign([ast.Tuple(targets, ast.Store())], _name("_tnp_values")))
        made.append(self.part(f"_tnp_set_{number}", body, frozenset(kept), where, ["_tnp_values"]))
        places = {name: lines.get(name, where.lineno) for name in [*kept, *roots]}  # type: ignore[attr-defined]
        places.update(dict.fromkeys(restored))
        described = ast.Tuple(
            [ast.Tuple([_text(name), ast.Constant(line)], ast.Load()) for name, line in places.items()], ast.Load()
        )
        return _State(made, [_name(f"_tnp_get_{number}"), _name(f"_tnp_set_{number}"), described])

    # -- expressions --------------------------------------------------------------------------------------------------

    def loaded(self, name: str) -> ast.expr:
        return _operator("read", _name(name), _text(name))

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and node.id in self.stateful and not node.id.startswith("_tnp_"):
            return _placed(self.loaded(node.id), node)
        if node.id == RESULT and isinstance(node.ctx, ast.Load):
            return _placed(_operator("returned", _name(node.id)), node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or not (_has_bounds(node.slice) or _has_places(node.slice)):
            return node
        return _placed(_operator("item", node.value, _as_value(node.slice)), node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        (target, *others) = node.targets
        if isinstance(target, (ast.Tuple, ast.List)) and isinstance(node.value, (ast.Name, ast.Attribute)):
            node.value = _iterated(node.value)
        if not others and isinstance(target, ast.Tuple) and _is_written(*target.elts):
            return _placed(ast.Expr(_operator("set_each", node.value, *map(_place, target.elts))), node)
        written = [each for each in node.targets if isinstance(each, ast.Subscript)]
        if not any(_has_bounds(each.slice) for each in written):
            return node
        value = _operator("set_items", node.value, *map(_place, written))
        names = [each for each in node.targets if each not in written]
        return _placed(ast.Assign(names, value) if names else ast.Expr(value), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        target = node.target
        if not isinstance(target, ast.Subscript) or not _has_bounds(target.slice) or _binds(node.value):
            return node
        name = _text(_IN_PLACE[type(node.op)])
        call = _operator("update", target.value, _as_value(target.slice), _thunk(node.value), name)
        return _placed(ast.Expr(call), node)

    def test(self, node: ast.expr) -> Any:
        """Convert an expression of which only the truth matters: the operands of `and` may differ in dtype."""
        if not isinstance(node, ast.BoolOp) or _binds(node):
            return self.visit(node)
        return self.joined(node, lambda value: _placed(_operator("truth", self.test(value)), value))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        return self.generic_visit(node) if _binds(node) else self.joined(node, self.visit)

    def joined(self, node: ast.BoolOp, operand: Callable[[ast.expr], Any]) -> Any:
        operator = "and_" if isinstance(node.op, ast.And) else "or_"
        made = operand(node.values[-1])
        for value in reversed(node.values[:-1]):
            made = _operator(operator, operand(value), _thunk(made))
        return _placed(made, node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if not isinstance(node.op, ast.Not):
            return self.generic_visit(node)
        return _placed(_operator("not_", self.test(node.operand)), node)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        self.generic_visit(node)
        node.value = _placed(_operator("with_text", node.value), node.value)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant) and type(node.left.value) is str:
            node.right = _placed(_operator("with_text", node.right), node.right)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        is_traced = len(node.ops) > 1 or isinstance(node.ops[0], (ast.In, ast.NotIn))
        if not is_traced or _binds(node):
            return self.generic_visit(node)
        pairs: list[ast.expr] = []
        for operation, value in zip(node.ops, node.comparators, strict=True):
            pairs.append(ast.Tuple([_text(type(operation).__name__), _thunk(self.visit(value))], ast.Load()))
        return _placed(_operator("compare", self.visit(node.left), *pairs), node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        if _binds(node):
            return self.generic_visit(node)
        thunks = [_thunk(self.visit(node.body)), _thunk(self.visit(node.orelse))]
        return _placed(_operator("choose", self.test(node.test), *thunks), node)

    def visit_Starred(self, node: ast.Starred) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = _iterated(node.value)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        if not node.is_async:
            node.iter = _iterated(node.iter)
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        is_one = _is_of_one_loop(node)
        self.generic_visit(node)
        return _placed(_operator("listed", *_mapped(node)), node) if is_one else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        inner = node.args[0] if len(node.args) == 1 else None
        if isinstance(inner, ast.GeneratorExp) and isinstance(node.func, ast.Name) and _is_of_one_loop(inner):
            taker = self.visit(node.func)
            self.generic_visit(inner)
            node.args = [_placed(_operator("generated", taker, *_mapped(inner)), inner)]
            node.func = _placed(_operator("callee", taker), node.func)
            node.keywords = [self.visit(each) for each in node.keywords]
            return node
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args and self.first_parameter:
            node.args = [_placed(_name("__class__"), node), _placed(_name(self.first_parameter), node)]
            return node
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and _is_operators(node.func.value):
            return node  # `_Simpler` has written it
        node.func = _placed(_operator("callee", node.func), node.func)
        return node


class _Simpler(ast.NodeTransformer):
    """Make ``x.append(value)`` an assignment to a function's own variable: so loops and branches carry x.

    A ``while`` whose test assigns to a variable tests at the start of its body.
    """

    def __init__(self, own: Names) -> None:
        self.own = own

    def visit(self, node: ast.AST) -> Any:
        return node if isinstance(node, names.SCOPES) else super().visit(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        if _binds(node.test) and not node.orelse:
            ends = ast.If(ast.UnaryOp(ast.Not(), node.test), [ast.Break()], [])
            node.test, node.body = ast.Constant(True), [_placed(ends, node.test), *node.body]
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        name = appended_to(node)
        if name is None or name not in self.own:
            return node
        value = _operator("appended", _name(name), node.value.args[0])  # type: ignore[attr-defined]
        return _placed(_assign(name, value), node)


def appended_to(statement: ast.Expr) -> str | None:
    """Return the variable of ``variable.append(value)``."""
    call = statement.value
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "append":
        return None
    is_plain = len(call.args) == 1 and not call.keywords and not isinstance(call.args[0], ast.Starred)
    return call.func.value.id if is_plain and isinstance(call.func.value, ast.Name) else None


class _State:
    def __init__(self, made: list[ast.stmt], values: list[ast.expr]) -> None:
        self.made = made
        self.values = values


_IN_PLACE: dict[type[ast.operator], str] = {
    ast.Add: "iadd", ast.Sub: "isub", ast.Mult: "imul", ast.Div: "itruediv", ast.FloorDiv: "ifloordiv",
    ast.Mod: "imod", ast.Pow: "ipow", ast.MatMult: "imatmul", ast.BitAnd: "iand", ast.BitOr: "ior",
    ast.BitXor: "ixor", ast.LShift: "ilshift", ast.RShift: "irshift",
}  # fmt: skip


def _has_bounds(key: ast.expr) -> bool:
    """Whether an index holds a slice with a bound that is not written as a number."""
    items = key.elts if isinstance(key, ast.Tuple) else [key]
    slices = [each for each in items if isinstance(each, ast.Slice)]
    bounds = [bound for each in slices for bound in (each.lower, each.upper, each.step)]
    return any(bound is not None and not _is_literal(bound) for bound in bounds)


def _has_places(key: ast.expr) -> bool:
    """Whether an index holds a value that may be a slice with traced bounds, of places to read."""
    items = key.elts if isinstance(key, ast.Tuple) else [key]
    return any(not isinstance(each, ast.Slice) and not _is_literal(each) for each in items)


def _is_literal(node: ast.expr) -> bool:
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def _as_value(key: ast.expr) -> ast.expr:
    """An index as an expression: its slices are calls of ``slice``."""
    if isinstance(key, ast.Tuple):
        return ast.Tuple([_as_value(each) for each in key.elts], ast.Load())
    if not isinstance(key, ast.Slice):
        return key
    parts = [each or ast.Constant(None) for each in (key.lower, key.upper, key.step)]
    return ast.Call(ast.Attribute(_name(OPERATORS), "slice", ast.Load()), parts, [])


def _binds(node: ast.AST) -> bool:
    """Whether an expression holds ``:=``, whose variable would become local to the thunk around it."""
    return any(isinstance(each, ast.NamedExpr) for each in ast.walk(node))


def _is_of_one_loop(node: ast.ListComp | ast.GeneratorExp) -> bool:
    """Whether a comprehension has one ``for``, over variables or pairs of such."""
    (first, *others) = node.generators
    names_ = [each.id for each in _targets(first.target) if isinstance(each, ast.Name)]
    is_plain = len(names_) == len(_targets(first.target)) == len(set(names_))
    binds = any(isinstance(each, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for each in ast.walk(node))
    return is_plain and not others and not first.is_async and not binds and not _runs_later(node.elt)


def _runs_later(item: ast.AST) -> bool:
    """Whether an item is a function, or has one in it, which reads the variables of the last item."""
    if isinstance(item, (ast.Lambda, ast.GeneratorExp)):
        return True
    return not isinstance(item, ast.Call) and any(map(_runs_later, ast.iter_child_nodes(item)))


def _targets(target: ast.expr) -> list[ast.expr]:
    return target.elts if isinstance(target, ast.Tuple) else [target]


def _mapped(node: ast.ListComp | ast.GeneratorExp) -> list[ast.expr]:
    """Return the iterable, the function of an item, the number of its variables, and its condition or None."""
    (first,) = node.generators
    parameters = [each.id for each in _targets(first.target) if isinstance(each, ast.Name)]
    condition: ast.expr = ast.Constant(None)
    if first.ifs:
        (*tests, test) = first.ifs
        for each in reversed(tests):
            test = _operator("and_", each, _thunk(test))
        condition = ast.Lambda(_arguments(parameters), test)
    count = ast.Constant(len(parameters) if isinstance(first.target, ast.Tuple) else None)
    return [first.iter, ast.Lambda(_arguments(parameters), node.elt), count, condition]


def _iterated(items: ast.expr) -> ast.expr:
    return _placed(_operator("iterated", items), items)


def _is_operators(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == OPERATORS


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _text(text: str) -> ast.Constant:
    return ast.Constant(text)


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _is_written(*targets: ast.expr) -> bool:
    """Whether targets are all subscripts, of which one has slices with bounds."""
    written = [each.slice for each in targets if isinstance(each, ast.Subscript)]
    return len(written) == len(targets) and any(map(_has_bounds, written))


def _place(target: Any) -> ast.expr:
    return ast.Tuple([target.value, _as_value(target.slice)], ast.Load())


def _operator(name: str, *args: ast.expr) -> ast.expr:
    return ast.Call(ast.Attribute(_name(OPERATORS), name, ast.Load()), list(args), [])


def _thunk(value: ast.expr) -> ast.expr:
    return ast.Lambda(_arguments(()), value)


def _arguments(given: Sequence[str]) -> ast.arguments:
    return ast.arguments([], [ast.arg(name) for name in given], None, [], [], None, [])


def _placed(node: ast.AST, where: ast.AST) -> Any:
    """Give a node and its children the source position of another node, where they have none of their own."""

    def place(each: ast.AST, line: tuple[int, int, int, int]) -> None:
        if "lineno" in each._attributes:
            if not hasattr(each, "lineno"):
                each.lineno, each.col_offset, each.end_lineno, each.end_col_offset = line  # type: ignore[attr-defined]
            else:
                line = (each.lineno, each.col_offset, each.end_lineno, each.end_col_offset)  # type: ignore[attr-defined]
        for child in ast.iter_child_nodes(each):
            place(child, line)

    if hasattr(where, "lineno"):  # without one, the caller places the node around this one
        line, end = (where.lineno, where.col_offset), (where.end_lineno, where.end_col_offset)  # type: ignore[attr-defined]
        # Python reports an attribute that spans several lines at its last line; so let it end where it starts.
        place(node, (*line, *(end if end[0] == line[0] else line)))
    return node
