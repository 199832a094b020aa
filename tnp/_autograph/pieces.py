"""Split a function where its graph is cut: statements that need values are Python's, and those between are functions.

Layer: owns which statements can be in a graph, and the variables that each part takes and gives. Who compiles the
parts, and when a part is split in turn, is the caller's.
"""

from __future__ import annotations

import ast
import copy
import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tnp._autograph import conversion, jumps, names, rewriting
from tnp._autograph.jumps import RESULT
from tnp._autograph.names import Names
from tnp._autograph.rewriting import _arguments, _assign, _name, _operator, _placed, _text

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
_PYTHONS = (*_DEFINITIONS, ast.With, ast.Try, ast.Match, ast.Raise, ast.Assert, ast.Delete, ast.Return)
_EFFECTS = frozenset({"print", "input", "open", "breakpoint", "super"})
_RANDOM = frozenset({"random", "default_rng", "seed", "RandomState"})  # a generator made here draws NumPy's numbers
_GROWING = frozenset({"append", "extend", "insert", "pop", "remove", "add", "update", "clear"})
_STEPS_OF_A_TURN = 1024  # of a `while` that appends to lists
_SIZES = frozenset({"shape", "size", "ndim", "dtype", "T"})


@dataclass(frozen=True)
class Part:
    """Statements of a function that can be one graph.

    Attributes
    ----------
    given : tuple of str
        The variables that they read; ``unbound`` are those that may have no value.
    results : tuple of str
        The variables that they give to what follows.
    """

    statements: tuple[ast.stmt, ...]
    given: tuple[str, ...]
    unbound: Names
    results: tuple[str, ...]

    @property
    def has_loops(self) -> bool:
        """Whether there is a loop in it."""
        return any(isinstance(each, (ast.For, ast.While)) for top in self.statements for each in ast.walk(top))

    @property
    def lines(self) -> range:
        """The lines of the program."""
        return range(self.statements[0].lineno, (self.statements[-1].end_lineno or 0) + 1)


class Function:
    """A function of the program that is split."""

    def __init__(self, function: types.FunctionType) -> None:
        node, self._around = conversion.source(function)
        rewriting.check(node)
        self._function = function
        self.file = function.__code__.co_filename
        if isinstance(node, ast.Lambda):
            made = ast.Return(node.body)
            node = ast.FunctionDef("_tnp_lambda", node.args, [ast.copy_location(made, node.body)], [])
            node.type_params = []  # type: ignore[attr-defined]
        self._node = node
        scope = (ast.Global, ast.Nonlocal)
        self._body = [each for each in node.body if not isinstance(each, scope)]
        if names.declared(ast.Module(self._body, []), scope):
            raise rewriting.NotConvertible(f"line {node.lineno} holds a global or nonlocal statement in a block")
        self._globals, self._outer = names.declared(node, ast.Global), names.declared(node, ast.Nonlocal)
        parameters = names.parameters(node.args)
        own = (names.assigned(self._body) | parameters | {RESULT}) - self._globals - self._outer
        self.parameters = parameters
        self.own = frozenset(name for name in own if "." not in name)
        self.always = names.captured(self._body) & self.own
        self.functions = frozenset(_functions(self._body))

    def new(self, name: str) -> str:
        """Return a name for a further variable of the function."""
        while name in self.own or name in self._globals or name in self._outer:
            name += "_"
        self.own |= {name}
        return name

    def split(self, part: Part | None, lines: Iterable[int], call: Callable[[Part], Any], within: Any) -> Any:
        """Return a function like this one, or like a part of it, that runs statements on these lines by Python.

        ``call(part)`` returns what is called for each part between them, and ``within`` takes what these statements
        call, and returns what is called instead.
        """
        splitter = _Splitter(self, frozenset(lines))
        if part is None:
            body = splitter.block(copy.deepcopy(self._body), frozenset(), set(self.parameters))
            arguments, known = copy.deepcopy(self._node.args), self.parameters
        else:
            body = splitter.block(
                copy.deepcopy(list(part.statements)), frozenset(part.results), set(part.given) - part.unbound
            )
            body.append(_results(part, ast.Tuple([_name(name) for name in part.results], ast.Load())))
            arguments, known = _arguments(part.given), frozenset(part.given)
        first = [
            _placed(_assign(name, _operator("unbound", _text(name))), self._node)
            for name in sorted({each for made in splitter.parts for each in made.given} - known)
        ]
        cells = {f"_tnp_part_{index}": types.CellType(call(made)) for index, made in enumerate(splitter.parts)}
        return self._made(arguments, [*first, *body], {**cells, "_tnp_within": types.CellType(within)}, part is None)

    def plain(self, part: Part) -> Any:
        """Return a part as a function that Python runs as it is written."""
        body = [_Plain(self, part.unbound, False).visit(each) for each in copy.deepcopy(list(part.statements))]
        body.append(_results(part, ast.Tuple([_name(name) for name in part.results], ast.Load())))
        return self._made(_arguments(part.given), body, {}, False)

    def converted(self, part: Part) -> Any:
        """Return a part as a function that can be traced."""
        node = self._defined(_arguments(part.given), copy.deepcopy(list(part.statements)))
        made = rewriting.Rewriter().function(node, frozenset(part.results), part.unbound)
        lines = [ast.Constant(_line(part.statements, name)) for name in part.results]
        values: list[ast.expr] = [_name(name) for name in part.results]
        texts = [_text(name) for name in part.results]
        given: list[ast.expr] = [_name(name) for name in part.given]
        kept = [ast.Tuple(list(each), ast.Load()) for each in (texts, lines, values)]
        starts = [_assign("_tnp_given", ast.Tuple(given, ast.Load()))]
        made.body[:0] = [_placed(each, part.statements[0]) for each in starts]
        made.body.append(_results(part, _operator("kept", *kept, _name("_tnp_given"))))
        return self._rebuilt(made, {}, False)

    def _defined(self, arguments: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
        assigned = names.assigned(body)
        scope: list[ast.stmt] = [
            kind(sorted(declared & assigned))
            for kind, declared in ((ast.Global, self._globals), (ast.Nonlocal, self._outer))
            if declared & assigned
        ]
        made = ast.FunctionDef(conversion.INNER, arguments, [*scope, *body] or [ast.Pass()], [])
        made.type_params = []  # type: ignore[attr-defined]
        return ast.copy_location(made, self._node)

    def _made(self, arguments: Any, body: list[ast.stmt], cells: dict[str, Any], is_whole: bool) -> Any:
        return self._rebuilt(self._defined(arguments, body), cells, is_whole)

    def _rebuilt(self, node: ast.FunctionDef, cells: dict[str, Any], is_whole: bool) -> Any:
        for each in ast.walk(node.args):
            if isinstance(each, ast.arg):
                each.annotation = None
        node = conversion.without_defaults(node)
        return conversion.rebuilt(self._function, self._around, node, cells, is_whole)


class _Splitter:
    """Splits statements; ``parts`` are those found."""

    def __init__(self, function: Function, lines: frozenset[int]) -> None:
        self.function = function
        self.lines = lines
        self.parts: list[Part] = []

    def block(self, statements: Sequence[ast.stmt], after: Names, bound: set[str]) -> list[ast.stmt]:
        """Split statements; ``after`` are the variables read later, and ``bound`` those that surely have a value."""
        made: list[ast.stmt] = []
        run: list[ast.stmt] = []
        for number, statement in enumerate(statements):
            rest = statements[number:]
            if self._stays(statement):
                run.append(statement)
                continue
            if isinstance(statement, ast.Return) and statement.value is not None and not _is_trivial(statement.value):
                value = _placed(_assign(RESULT, statement.value), statement)
                if self._stays(value):
                    made += self._part([*run, value], frozenset({RESULT}), bound)
                    made.append(_placed(ast.Return(_name(RESULT)), statement))
                    return made
            made += self._part(run, names.live_before(rest, after), bound)
            run = []
            if isinstance(statement, ast.While) and (lists := self._lists_of(statement)):
                made.append(self._in_turns(statement, lists, names.live_before(rest[1:], after), bound))
                continue
            made.append(self._python(statement, names.live_before(rest[1:], after), bound))
            if isinstance(statement, ast.Return):
                return made
        return [*made, *self._part(run, after, bound)]

    def _stays(self, statement: ast.stmt) -> bool:
        """Whether a statement can be a part of a graph."""
        return not self._is_cut(statement) and self._is_traceable(statement)

    def _is_traceable(self, statement: ast.stmt) -> bool:
        """Whether a statement can be a part of a graph, wherever that is cut."""
        if isinstance(statement, _PYTHONS) or jumps._jumps(statement):
            return False
        inside = list(ast.walk(statement))
        if isinstance(statement, ast.Assign) and any(isinstance(each, ast.Lambda) for each in inside):
            return False
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            func = statement.value.func
            if isinstance(func, ast.Attribute) and func.attr in _GROWING:
                return False
        for each in inside:
            if isinstance(each, _DEFINITIONS):
                return False
            if isinstance(each, ast.Name) and (each.id in self.function.functions or each.id in _EFFECTS | _RANDOM):
                return False
            if isinstance(each, ast.Attribute) and each.attr in _RANDOM:
                return False
        return True

    def _lists_of(self, loop: ast.While) -> dict[str, str]:
        """Return the lists to which a `while` appends, and names for its next items, if nothing else cuts it."""
        appends = [each for each in ast.walk(loop) if isinstance(each, ast.Expr) and rewriting.appended_to(each)]
        lists = {name for each in appends if (name := rewriting.appended_to(each)) in self.function.own}
        counts = [each.id for each in ast.walk(loop) if isinstance(each, ast.Name) and each.id in lists]
        lines = {each.lineno for each in ast.walk(loop) if isinstance(each, (ast.While, ast.For, ast.If))}
        lines |= {line for each in appends for line in range(each.lineno, (each.end_lineno or 0) + 1)}
        cut = self.lines.intersection(range(loop.lineno, (loop.end_lineno or 0) + 1))
        if loop.orelse or len(counts) > len(appends) or not cut <= lines or not self._is_traceable(loop):
            return {}
        return {name: self.function.new(name) for name in sorted(lists)}

    def _in_turns(self, loop: ast.While, lists: dict[str, str], live: Names, bound: set[str]) -> ast.stmt:
        """Return a `while` whose steps a part does, so many in a turn: a graph has room for so many items of a list."""
        goes = self.function.new("goes_on")
        turn = _Turn(lists, goes)
        body = [each for statement in loop.body for each in turn.all(statement)]
        ends = ast.If(ast.UnaryOp(ast.Not(), _name(goes)), [ast.Break()], [])
        steps = ast.Call(_name("range"), [ast.Constant(_STEPS_OF_A_TURN)], [])
        target = ast.Name(self.function.new("number"), ast.Store())
        made: list[ast.stmt] = [
            _assign(goes, ast.Constant(True)),
            *[_assign(new, ast.List([], ast.Load())) for new in lists.values()],
            ast.For(target, steps, [_assign(goes, loop.test), copy.deepcopy(ends), *body], []),
        ]
        made = [_placed(each, loop) for each in made]
        live = names.live_in_loop(loop, live) | {goes, *lists.values()}
        inner = self._part(made, live, set(bound), is_whole=True)
        grown = [ast.Expr(_operator("extend", _name(name), _name(new))) for name, new in lists.items()]
        turns = ast.While(ast.Constant(True), [*inner, *grown, ends], [])
        return ast.fix_missing_locations(_placed(turns, loop))

    def _is_cut(self, statement: ast.stmt) -> bool:
        return not self.lines.isdisjoint(range(statement.lineno, (statement.end_lineno or 0) + 1))

    def _part(self, run: list[ast.stmt], after: Names, bound: set[str], is_whole: bool = False) -> list[ast.stmt]:
        """Make a part of statements, and return its call; what only moves values is Python's at both ends."""
        first, last = 0, len(run)
        while first < last and _is_trivial_statement(run[first]) and not is_whole:
            first += 1
        while last > first and _is_trivial_statement(run[last - 1]):
            last -= 1
        head = [self._python(each, frozenset(), bound) for each in run[:first]]
        inner, tail = run[first:last], run[last:]
        if not inner:
            return head
        after = names.live_before(tail, after) | self.function.always
        results = names.assigned(inner) & after & self.function.own
        given = names.live_before(inner, results) & self.function.own
        part = Part(tuple(inner), tuple(sorted(given)), given - bound, tuple(sorted(results)))
        call: ast.expr = ast.Call(_name(f"_tnp_part_{len(self.parts)}"), [_name(name) for name in part.given], [])
        self.parts.append(part)
        made: ast.stmt = ast.Expr(call)
        if results:
            targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in part.results]
            made = ast.Assign([ast.Tuple(targets, ast.Store())], call)
        bound |= results - part.unbound
        return [*head, _placed(made, inner[0]), *[self._python(each, frozenset(), bound) for each in tail]]

    def _python(self, statement: ast.stmt, live: Names, bound: set[str]) -> ast.stmt:
        """Return a statement that Python runs; the blocks in it are split."""
        plain = _Plain(self.function, self.function.own - bound, self._is_cut(statement))
        if isinstance(statement, ast.If):
            statement.test = plain.visit(statement.test)
            both = [set(bound), set(bound)]
            statement.body = self.block(statement.body, live, both[0]) or [ast.Pass()]
            statement.orelse = self.block(statement.orelse, live, both[1])
            bound |= both[0] & both[1]
        elif isinstance(statement, (ast.For, ast.While)):
            inner = names.live_in_loop(statement, live)
            within = set(bound)
            if isinstance(statement, ast.For):
                statement.iter = plain.visit(statement.iter)
                within |= names.assigned([statement.target])
            else:
                statement.test = plain.visit(statement.test)
            statement.body = self.block(statement.body, inner, within) or [ast.Pass()]
            statement.orelse = self.block(statement.orelse, live, set(bound))
        elif isinstance(statement, ast.With):
            statement.items = [plain.visit(each) for each in statement.items]
            bound |= names.assigned(statement.items)
            statement.body = self.block(statement.body, live, bound) or [ast.Pass()]
        else:
            made = plain.visit(statement)
            if isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign, *_DEFINITIONS)):
                bound |= names.assigned([statement])
            if isinstance(statement, ast.Delete):
                bound -= {each.id for each in statement.targets if isinstance(each, ast.Name)}
            return ast.fix_missing_locations(made)
        return ast.fix_missing_locations(statement)


class _Turn(ast.NodeTransformer):
    """Rewrites the body of a `while` for `_Splitter._in_turns`: new lists take its items, and a ``break`` ends it."""

    def __init__(self, lists: dict[str, str], goes: str) -> None:
        self.lists = lists
        self.goes = goes
        self.is_inner = False

    def all(self, statement: ast.stmt) -> list[ast.stmt]:
        """Return what stands for a statement."""
        made = self.visit(statement)
        return made if isinstance(made, list) else [made]

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.lists.get(node.id, node.id)
        return node

    def visit_Break(self, node: ast.Break) -> Any:
        return node if self.is_inner else [_placed(_assign(self.goes, ast.Constant(False)), node), node]

    def _loop(self, node: Any) -> ast.AST:
        before, self.is_inner = self.is_inner, True
        self.generic_visit(node)
        self.is_inner = before
        return node

    visit_For = visit_While = _loop


class _Plain(ast.NodeTransformer):
    """Rewrites a statement that Python runs: variables without a value raise, calls in a cut go on in parts."""

    def __init__(self, function: Function, unbound: Names, is_cut: bool) -> None:
        self.function = function
        self.unbound = unbound
        self.is_cut = is_cut

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and node.id in self.unbound:
            return _placed(_operator("read", _name(node.id), ast.Constant(node.id)), node)
        return node

    def visit_Delete(self, node: ast.Delete) -> ast.AST:
        if not all(isinstance(each, ast.Name) and each.id in self.function.own for each in node.targets):
            return self.generic_visit(node)
        targets: list[ast.expr] = [ast.Name(each.id, ast.Store()) for each in node.targets]  # type: ignore[attr-defined]
        values: list[ast.expr] = [_operator("unbound", _text(each.id)) for each in node.targets]  # type: ignore[attr-defined]
        return _placed(ast.Assign([ast.Tuple(targets, ast.Store())], ast.Tuple(values, ast.Load())), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if self.is_cut and not (isinstance(node.func, ast.Name) and node.func.id in _EFFECTS):
            node.func = _placed(ast.Call(_name("_tnp_within"), [node.func], []), node.func)
        return node

    def _scope(self, node: Any) -> ast.AST:
        return node  # its variables may be others of the same names

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _scope
    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _scope


def _functions(body: Iterable[ast.stmt]) -> Iterable[str]:
    """Yield the variables that are functions or classes defined in the function: each call has its own."""
    for each in [each for statement in body for each in ast.walk(statement)]:
        if isinstance(each, _DEFINITIONS[:3]):
            yield each.name
        elif isinstance(each, ast.Assign) and isinstance(each.value, ast.Lambda):
            yield from names.assigned(each.targets)


def _is_trivial_statement(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Pass):
        return True
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.AugAssign):
        return isinstance(statement.target, ast.Name) and isinstance(statement.value, ast.Constant)
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    simple = all(isinstance(each, (ast.Name, ast.Tuple)) for each in targets)
    return simple and (_is_trivial(statement.value) or _is_count(statement.value))


def _is_trivial(value: ast.expr) -> bool:
    """Whether an expression only names values: there is nothing to compile."""
    if isinstance(value, (ast.Constant, ast.Name)):
        return True
    if isinstance(value, ast.Attribute):
        return _is_trivial(value.value)
    if isinstance(value, (ast.Tuple, ast.List)):
        return all(map(_is_trivial, value.elts))
    return _is_of_sizes(value)


def _is_of_sizes(value: ast.expr) -> bool:
    """Whether an expression is computed from constants and the sizes of arrays."""
    if isinstance(value, ast.Constant):
        return True
    if isinstance(value, ast.Attribute):
        return value.attr in _SIZES and isinstance(value.value, (ast.Name, ast.Attribute))
    if isinstance(value, ast.Subscript):
        return isinstance(value.value, ast.Attribute) and value.value.attr == "shape"
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id == "len"
    if isinstance(value, ast.BinOp):
        return _is_of_sizes(value.left) and _is_of_sizes(value.right)
    return isinstance(value, ast.UnaryOp) and _is_of_sizes(value.operand)


def _is_count(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.BinOp)
        and isinstance(value.left, ast.Name)
        and isinstance(value.right, ast.Constant)
        and type(value.right.value) is int
    )


def _line(statements: Sequence[ast.stmt], name: str) -> int:
    """Return the last line that assigns to a variable."""
    found = [
        each.lineno
        for statement in statements
        for each in ast.walk(statement)
        if isinstance(each, ast.stmt) and not isinstance(each, (ast.If, ast.While)) and name in names.assigned([each])
    ]
    return max(found, default=statements[-1].lineno)


def _results(part: Part, value: ast.expr) -> ast.stmt:
    made: ast.stmt = _placed(ast.Return(value), part.statements[-1])
    return made
