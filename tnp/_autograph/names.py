"""Liveness analysis: which variables statements assign and read, and which may be read later.

Layer: owns the analysis of variables by name, in the order of the source; it changes no code. It expects structured
control flow: `jumps` has replaced `return`, `break` and `continue` by flags.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
Names = frozenset[str]


def put(node: ast.AST, field: str, value: object) -> None:
    """Set a field of a syntax node by name."""
    setattr(node, field, value)


def attribute_text(node: ast.AST) -> str | None:
    """Return ``"self.a.b"`` for an attribute of a variable; None for an attribute of any other expression."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else None


def assigned(nodes: Iterable[ast.AST]) -> Names:
    """Return the variables that statements bind in their own function, and the attributes that they set."""
    found: set[str] = set()

    def visit(node: ast.AST, inside: bool) -> None:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and not inside:
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            text = attribute_text(node)
            if text:
                found.add(text)
        elif isinstance(node, ast.NamedExpr):
            found.add(node.target.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found.add(node.rest)
        if isinstance(node, SCOPES):
            return
        for child in ast.iter_child_nodes(node):
            visit(child, inside or isinstance(node, COMPREHENSIONS))

    for node in nodes:
        visit(node, False)
    return frozenset(found)


def read(nodes: Iterable[ast.AST]) -> Names:
    """Return the variables that statements read, nested functions included. An update or ``del`` counts as a read."""
    found: set[str] = set()
    for node in nodes:
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and isinstance(each.ctx, (ast.Load, ast.Del)):
                found.add(each.id)
            elif isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name):
                found.add(each.target.id)
            elif isinstance(each, ast.Attribute):
                text = attribute_text(each)
                if text:
                    found.add(text)
    return frozenset(found)


def captured(nodes: Iterable[ast.AST]) -> Names:
    """Return the variables that nested functions read: such a function may be called at any time."""
    inner = [each for node in nodes for each in ast.walk(node) if isinstance(each, SCOPES)]
    return read(inner)


def declared(function: ast.AST, kind: Any) -> Names:
    """Return the names in a function's own ``global`` or ``nonlocal`` statements, whichever ``kind`` selects."""
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, kind):
            found.update(node.names)
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, SCOPES):
                visit(child)

    visit(function)
    return frozenset(found)


def parameters(arguments: ast.arguments) -> Names:
    """Return the names of a function's parameters."""
    given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return frozenset(each.arg for each in given if each is not None)


def live_before(statements: Sequence[ast.stmt], after: Names) -> Names:
    """Return the variables live before statements; ``after`` are those live after them."""
    for statement in reversed(statements):
        after = _before(statement, after)
    return after


def live_in_loop(loop: ast.While | ast.For, after: Names) -> Names:
    """Return the variables that may be read after a step begins or after the loop ends, before they are assigned."""
    test = loop.test if isinstance(loop, ast.While) else loop.iter
    live = after | (read([test]) if isinstance(loop, ast.While) else frozenset())
    while True:
        more = live | live_before(loop.body, live) - (_bound(loop.target) if isinstance(loop, ast.For) else frozenset())
        if more == live:
            return live
        live = more


def _bound(target: ast.expr) -> Names:
    """Return the variables that an assignment to a target always binds."""
    return frozenset(each.id for each in ast.walk(target) if isinstance(each, ast.Name) and _is_store(each))


def _is_store(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _before(statement: ast.stmt, after: Names) -> Names:
    if isinstance(statement, ast.Assign):
        kept = after.difference(*[_bound(target) for target in statement.targets])
        return kept | read([statement])
    if isinstance(statement, ast.AnnAssign):
        return after - (_bound(statement.target) if statement.value else frozenset()) | read([statement])
    if isinstance(statement, ast.If):
        return live_before(statement.body, after) | live_before(statement.orelse, after) | read([statement.test])
    if isinstance(statement, (ast.While, ast.For)):
        expression = statement.test if isinstance(statement, ast.While) else statement.iter
        return live_in_loop(statement, after) | read([expression])
    if isinstance(statement, ast.With):
        return live_before(statement.body, after) | read(statement.items)
    if isinstance(statement, (ast.Return, ast.Raise)):
        return read([statement])
    return after | read([statement])
