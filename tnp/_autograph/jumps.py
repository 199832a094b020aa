"""Replace jumps by flags: `return`, `break` and `continue` inside branches and loops.

Layer: owns the order in which statements run. Afterwards each block ends at its last statement. Statements after a
branch that always jumps move into the other branch. Statements after a branch that may jump run only if its flags
are not set.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tnp._autograph.names import SCOPES, put

RESULT = "_tnp_result"
_DONE = "_tnp_done"
_JUMPS = (ast.Return, ast.Break, ast.Continue)
_BLOCKS = (ast.If, ast.While, ast.For, ast.With, ast.Try)


@dataclass
class _Loop:
    """The flags of a loop."""

    broken: str
    skipped: str


def without_jumps(body: list[ast.stmt]) -> list[ast.stmt]:
    """Rewrite a function's statements: one `return` at most, as the last, and no `break` or `continue` in loops."""
    returns = any(isinstance(each, ast.Return) for s in body if isinstance(s, _BLOCKS) for each in _own(s))
    lowering = _Lowering(returns)
    if returns and not _always_jumps(body):
        body = [*body, ast.copy_location(ast.Return(ast.Constant(None)), body[-1])]
    result, _ = lowering.block(body, None)
    if _DONE in lowering.tested:
        result.insert(0, _assign(_DONE, ast.Constant(False), body[0]))
    if returns:
        result.append(ast.copy_location(ast.Return(ast.Name(RESULT, ast.Load())), body[-1]))
    return _tested(result, lowering.tested)


def flags_of(loop: ast.AST) -> list[str]:
    """Return the names of the flags that end a loop."""
    return getattr(loop, "flags", [])


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a statement, without those inside nested functions."""
    yield node
    if not isinstance(node, SCOPES):
        for child in ast.iter_child_nodes(node):
            yield from _own(child)


def _jumps(node: ast.AST) -> bool:
    """Whether a statement may jump to a place outside it."""
    if isinstance(node, _JUMPS):
        return True
    if isinstance(node, SCOPES):
        return False
    if isinstance(node, (ast.While, ast.For)):
        return any(isinstance(each, ast.Return) for each in _own(node)) or any(map(_jumps, node.orelse))
    return any(map(_jumps, ast.iter_child_nodes(node)))


def _always_jumps(statements: Sequence[ast.stmt]) -> bool:
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ast.If):
        return _always_jumps(last.body) and _always_jumps(last.orelse)
    return isinstance(last, (*_JUMPS, ast.Raise))


def _assign(name: str, value: ast.expr, where: ast.AST) -> ast.stmt:
    statement = ast.Assign([ast.Name(name, ast.Store())], value)
    return ast.fix_missing_locations(ast.copy_location(statement, where))


class _Lowering:
    """Rewrites the statements of one function; ``returns`` says whether its result goes through a variable."""

    def __init__(self, returns: bool) -> None:
        self.returns = returns
        self.tested: set[str] = set()
        self.loops = 0

    def block(self, statements: Sequence[ast.stmt], loop: _Loop | None) -> tuple[list[ast.stmt], list[str]]:
        """Rewrite statements; return them and the flags that they may set."""
        result: list[ast.stmt] = []
        raised: list[str] = []
        for number, statement in enumerate(statements):
            rest = list(statements[number + 1 :])
            if isinstance(statement, ast.Return) and self.returns:
                value = statement.value or ast.copy_location(ast.Constant(None), statement)
                result += [_assign(RESULT, value, statement), _assign(_DONE, ast.Constant(True), statement)]
                return result, _joined(raised, [_DONE])
            if isinstance(statement, (ast.Break, ast.Continue)) and loop is not None:
                flag = loop.broken if isinstance(statement, ast.Break) else loop.skipped
                result.append(_assign(flag, ast.Constant(True), statement))
                return result, _joined(raised, [flag])
            if not isinstance(statement, _BLOCKS) or not (
                _jumps(statement) or isinstance(statement, (ast.While, ast.For))
            ):
                inner = self.inside(statement, loop)
                result.append(inner)
                continue
            flags: list[str] = []
            if isinstance(statement, ast.If):
                if _always_jumps(statement.body):
                    statement.orelse, rest = [*statement.orelse, *rest], []
                elif _always_jumps(statement.orelse):
                    statement.body, rest = [*statement.body, *rest], []
            if isinstance(statement, (ast.While, ast.For)):
                made, flags = self.loop(statement, loop)
                result += made
            else:
                for field in ("body", "handlers", "orelse", "finalbody"):
                    for holder in getattr(statement, "handlers", []) if field == "handlers" else [statement]:
                        name = "body" if field == "handlers" else field
                        if getattr(holder, name, None):
                            block, more = self.block(getattr(holder, name), loop)
                            put(holder, name, block)
                            flags = _joined(flags, more)
                result.append(statement)
            raised = _joined(raised, flags)
            if flags and rest:
                following, more = self.block(rest, loop)
                result.append(self.guarded(flags, following, rest[0]))
                return result, _joined(raised, more)
            if not rest:
                return result, raised
        return result, raised

    def inside(self, statement: ast.stmt, loop: _Loop | None) -> ast.stmt:
        """Rewrite the blocks of a statement that does not jump itself: loops in them may hold jumps."""
        for field in ("body", "orelse", "finalbody"):
            if isinstance(statement, _BLOCKS) and getattr(statement, field, None):
                put(statement, field, self.block(getattr(statement, field), loop)[0])
        for holder in [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]:
            holder.body = self.block(holder.body, loop)[0]
        return statement

    def loop(self, statement: ast.While | ast.For, outer: _Loop | None) -> tuple[list[ast.stmt], list[str]]:
        self.loops += 1
        loop = _Loop(f"_tnp_broken_{self.loops}", f"_tnp_skipped_{self.loops}")
        body, raised = self.block(statement.body, loop)
        statement.body = body
        if loop.skipped in self.tested:
            body.insert(0, _assign(loop.skipped, ast.Constant(False), statement.body[0]))
        ending = [flag for flag in raised if flag != loop.skipped]
        self.tested.update(ending)
        statement.flags = ending  # type: ignore[union-attr]
        result: list[ast.stmt] = [statement]
        if loop.broken in ending:
            result.insert(0, _assign(loop.broken, ast.Constant(False), statement))
        flags = [flag for flag in ending if flag != loop.broken]
        if statement.orelse:
            following, more = self.block(statement.orelse, outer)
            result.append(self.guarded(ending, following, statement) if ending else following[0])
            result += [] if ending else following[1:]
            statement.orelse = []
            flags = _joined(flags, more)
        return result, flags

    def guarded(self, flags: list[str], statements: list[ast.stmt], where: ast.AST) -> ast.stmt:
        self.tested.update(flags)
        tests: list[ast.expr] = [ast.UnaryOp(ast.Not(), ast.Name(flag, ast.Load())) for flag in flags]
        test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
        made = ast.If(test, statements, [])
        for each in (made, *ast.walk(test)):
            ast.copy_location(each, where)
        return made


def _joined(one: list[str], other: list[str]) -> list[str]:
    return list(dict.fromkeys([*one, *other]))


def _tested(statements: list[ast.stmt], tested: set[str]) -> list[ast.stmt]:
    """Remove assignments to flags that no statement tests."""

    class Removal(ast.NodeTransformer):
        def visit_Assign(self, node: ast.Assign) -> ast.AST:
            target = node.targets[0]
            if isinstance(target, ast.Name) and target.id.startswith("_tnp_") and target.id not in {*tested, RESULT}:
                return ast.copy_location(ast.Pass(), node)
            return node

    return [Removal().visit(statement) for statement in statements]
