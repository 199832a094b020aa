"""Let a test module load although the target cannot evaluate all of it.

A module of tests is full of values made at import: parameters of tests, class
attributes, tables of functions.  Against another library some of these raise, and one
of them would take every test of the module with it.  `harden` rewrites the module so
that each such value is guarded by itself: where evaluating it raises, a `Broken`
placeholder takes its place and only the tests that use it fail.

Code inside of functions is left alone.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from conformance.numpy_suite.broken import Broken, broken_test

GUARD = "__guard__"
_DISPLAYS = (ast.List, ast.Tuple, ast.Set, ast.Dict)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_HARMLESS = (ast.Constant, ast.Name, ast.Slice, ast.Lambda)


class Guard:
    """Run-time half: evaluates the guarded pieces of one module."""

    def __init__(self, filename: str, namespace: dict[str, Any]) -> None:
        self._filename = filename
        self._namespace = namespace
        self._pieces: list[Any] = []
        self.errors: dict[str, Exception] = {}

    def add(self, expression: ast.expr) -> int:
        self._pieces.append(ast.Expression(expression))
        return len(self._pieces) - 1

    def _evaluate(self, index: int, scope: dict[str, Any]) -> Any:
        piece = self._pieces[index]
        if isinstance(piece, ast.Expression):
            piece = compile(ast.fix_missing_locations(piece), self._filename, "eval")
            self._pieces[index] = piece
        return eval(piece, self._namespace, scope)

    def value(self, index: int, scope: dict[str, Any]) -> Any:
        """The value of a piece, or a placeholder."""
        return self.lazy(lambda: self._evaluate(index, scope))

    @staticmethod
    def lazy(function: Callable[[], Any]) -> Any:
        try:
            return function()
        except Exception as error:
            return Broken("value", error)

    def decorator(self, index: int, scope: dict[str, Any]) -> Callable[[Any], Any]:
        """A decorator; where it is broken, the decorated test only raises its error."""
        decorator = self.value(index, scope)

        def apply(function: Any) -> Any:
            if isinstance(function, type):
                return decorator(function)
            if hasattr(function, "broken_by"):
                return function
            try:
                return decorator(function)
            except Exception as error:
                return broken_test(function.__name__, error)

        return apply

    def failed(
        self, scope: dict[str, Any], names: list[str], error: Exception, replace: bool, is_function: bool
    ) -> None:
        """Bind the names that a failed statement should have bound."""
        error = error.with_traceback(None)
        prefix = scope.get("__qualname__")
        for name in names:
            self.errors[f"{prefix}::{name}" if prefix else name] = error
            if replace or name not in scope:
                scope[name] = (broken_test if is_function else Broken)(name, error)


class _Expressions(ast.NodeTransformer):
    """Guards the elements of displays and comprehensions in an expression."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._in_comprehension = False

    def _call(self, method: str, *args: ast.expr) -> ast.Call:
        function = ast.Attribute(ast.Name(GUARD, ast.Load()), method, ast.Load())
        return ast.Call(function, list(args), [])

    def guarded(self, node: ast.expr, method: str = "value") -> Any:
        """Replace ``node`` by a guarded evaluation of it."""
        if self._in_comprehension:
            no_arguments = ast.arguments([], [], None, [], [], None, [])
            call = self._call("lazy", ast.Lambda(no_arguments, node))
        else:
            scope = ast.Call(ast.Name("locals", ast.Load()), [], [])
            call = self._call(method, ast.Constant(self._guard.add(node)), scope)
        return ast.fix_missing_locations(ast.copy_location(call, node))

    def _element(self, node: Any) -> Any:
        if node is None or isinstance(node, _HARMLESS):
            return node
        if isinstance(node, (ast.Starred, *_DISPLAYS)):
            return self.visit(node)
        return self.guarded(self.visit(node))

    def _visit_display(self, node: Any) -> Any:
        if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
            return node
        node.elts = [self._element(e) for e in node.elts]
        return node

    visit_List = visit_Tuple = visit_Set = _visit_display

    def visit_Dict(self, node: ast.Dict) -> ast.Dict:
        node.keys = [self._element(k) for k in node.keys]
        node.values = [self._element(v) for v in node.values]
        return node

    def _visit_comprehension(self, node: Any) -> Any:
        node.generators[0].iter = self.visit(node.generators[0].iter)
        outer, self._in_comprehension = self._in_comprehension, True
        for field in ("elt", "value"):
            if hasattr(node, field):
                setattr(node, field, self._element(getattr(node, field)))
        self._in_comprehension = outer
        return node

    visit_ListComp = visit_SetComp = visit_GeneratorExp = _visit_comprehension
    visit_DictComp = _visit_comprehension

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if ast.unparse(node.func) in ("pytest.param", "param"):
            node.args = [a if isinstance(a, _HARMLESS + _DISPLAYS) else self.guarded(a) for a in node.args]
        return node


def _bound_names(statement: ast.stmt) -> list[str]:
    """Names that a statement binds in its own scope."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [statement.name]
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return [a.asname or a.name.partition(".")[0] for a in statement.names]
    names: list[str] = []
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        elif node is not statement and isinstance(node, ast.stmt) and _bound_names(node):
            names += _bound_names(node)
        elif not isinstance(node, (ast.Lambda, *_COMPREHENSIONS)):
            todo += ast.iter_child_nodes(node)
    return names


class _Statements:
    """Guards the statements of a module or class body."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._expressions = _Expressions(guard)

    def body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        return [self._statement(s) for s in statements]

    def _statement(self, node: Any) -> ast.stmt:
        is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            return node
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return node
        if is_function or isinstance(node, ast.ClassDef):
            node.decorator_list = [
                self._expressions.guarded(self._expressions.visit(d), "decorator") for d in node.decorator_list
            ]
        if isinstance(node, (ast.ClassDef, ast.If)):
            node.body = self.body(node.body)
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)):
            node.value = node.value and self._expressions.visit(node.value)
        if isinstance(node, ast.If):
            node.orelse = self.body(node.orelse)
        return self._attempt(node, is_function)

    def _attempt(self, node: ast.stmt, is_function: bool) -> ast.stmt:
        replace = is_function or isinstance(node, (ast.ClassDef, ast.Assign))
        failed = f"{GUARD}.failed(locals(), {_bound_names(node)!r}, __error__, {replace}, {is_function})"
        handler: Any = ast.parse(f"try: pass\nexcept Exception as __error__:\n    {failed}").body[0]
        for part in ast.walk(handler):
            if hasattr(part, "lineno"):
                ast.copy_location(part, node)
        handler.body = [node]
        return handler


def harden(tree: ast.Module, guard: Guard) -> ast.Module:
    """Rewrite a module's syntax tree in place."""
    tree.body = _Statements(guard).body(tree.body)
    return ast.fix_missing_locations(tree)
