"""Find and rewrite a function's source: the converted function has the same globals, closure and line numbers.

Layer: owns which functions are converted, where their source is, and why one is not. Libraries' functions are not.
"""

from __future__ import annotations

import ast
import copy
import functools
import linecache
import os
import sysconfig
import types
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from tnp._autograph import rewriting

_PACKAGES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OWN = tuple([os.path.join(_PACKAGES, name, "") for name in ("tnp", "backend_torch")])
CELL = types.CellType()  # the closure cell through which converted functions reach the operators
INNER = "_tnp_function"
_codes: dict[types.CodeType, types.CodeType | str] = {}  # original code -> converted code, or why there is none


@functools.cache
def installed() -> tuple[str, ...]:
    """Return the folders of the standard library and of installed packages."""
    paths = sysconfig.get_paths()
    return tuple(os.path.join(paths[name], "") for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def converted(function: Any, root: bool = False) -> Any:
    """Return a version of a function that can branch and loop over traced values.

    A library function, or one that can't be converted, comes back unchanged.

    Parameters
    ----------
    function : callable
    root : bool
        Whether the user passed this function to tnp. Such a function is converted even if a library defines it.
    """
    if isinstance(function, types.FunctionType):
        file = function.__code__.co_filename
        if is_converted(function):
            return function
        if file.startswith(OWN):
            return _with_converted_cells(function)
        if file.startswith(installed()) and not root:
            return function
        code = _codes.get(function.__code__)
        if code is None:
            code = _codes[function.__code__] = _rewritten(function)
        return function if isinstance(code, str) else _rebuilt(function, code)
    if isinstance(function, types.MethodType):
        inner = converted(function.__func__, root)
        return function if inner is function.__func__ else types.MethodType(inner, function.__self__)
    if isinstance(function, functools.partial) and type(function) is functools.partial:
        inner = converted(function.func, root)
        return function if inner is function.func else functools.partial(inner, *function.args, **function.keywords)
    if isinstance(function, type) or not hasattr(type(function), "__dict__"):
        return function
    call = type(function).__dict__.get("__call__")
    if isinstance(call, types.FunctionType) and not call.__code__.co_filename.startswith(OWN):
        inner = converted(call, root)
        return function if inner is call else types.MethodType(inner, function)
    return function


def is_converted(function: Any) -> bool:
    """Whether a function, a method or a partial function is converted."""
    inner = function.func if isinstance(function, functools.partial) else function
    code = getattr(getattr(inner, "__func__", inner), "__code__", None)
    return rewriting.OPERATORS in getattr(code, "co_freevars", ())


def reason(code: types.CodeType) -> str | None:
    """Return why a function was not converted; None if it was converted, or if no conversion was tried."""
    found = _codes.get(code)
    return found if isinstance(found, str) else None


def _with_converted_cells(function: types.FunctionType) -> Any:
    """Convert the user's function that a function of tnp wraps: ``grad(f)`` becomes ``grad(converted(f))``."""
    cells, changed = [], False
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:
            value = None
        made = converted(value) if isinstance(value, (types.FunctionType, types.MethodType)) else value
        changed = changed or made is not value
        cells.append(types.CellType(made) if made is not value else cell)
    return _rebuilt(function, function.__code__, tuple(cells)) if changed else function


def _rebuilt(
    function: types.FunctionType, code: types.CodeType, closure: Any = None, more: Mapping[str, Any] = {}
) -> types.FunctionType:
    if closure is None:
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        cells |= {rewriting.OPERATORS: CELL, **more}
        closure = tuple([cells[name] for name in code.co_freevars])
    made = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__.update(function.__dict__)
    made.__qualname__, made.__module__, made.__doc__ = function.__qualname__, function.__module__, function.__doc__
    return made


def _rewritten(function: types.FunctionType) -> types.CodeType | str:
    code = function.__code__
    try:
        node, around = source(function)
        rewriting.check(node)
        made: ast.stmt
        if isinstance(node, ast.Lambda):
            made = ast.Return(rewriting.Rewriter().visit(node))
        else:
            made = without_defaults(rewriting.Rewriter().function(node))
            made.name = INNER  # its own name is that of a variable around it
        whole = assembled(code, around, [made])
    except rewriting.NotConvertible as error:
        return str(error) if isinstance(error, NoSource) else f"{function.__qualname__} is not converted: {error}"
    return _named(_inner(whole, code.co_name if isinstance(node, ast.Lambda) else INNER), code)


def rebuilt(
    function: types.FunctionType, around: list[str], node: ast.FunctionDef, cells: Mapping[str, Any], is_whole: bool
) -> types.FunctionType:
    """Return a function of this definition in place of another: with its globals, its closure and these cells.

    If ``is_whole``, it has the defaults of the other.
    """
    code = function.__code__
    inner = _named(_inner(assembled(code, around, [node], list(cells)), node.name), code)
    made = _rebuilt(function, inner, more=cells)
    if not is_whole:
        made.__defaults__ = made.__kwdefaults__ = None
    return made


class NoSource(rewriting.NotConvertible):
    """The source of a function is not known."""


def source(function: types.FunctionType) -> tuple[Any, list[str]]:
    """Return a copy of the syntax node of a function, and the classes around it; raise `NoSource` if there is none."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        raise NoSource(f"the source of {function.__qualname__} is not known")
    try:
        found = _find(_definitions("".join(lines)).get(code.co_name, ()), code)
    except SyntaxError:
        raise NoSource(f"the source of {function.__qualname__} has changed") from None
    if found is None:
        raise NoSource(f"the source of {function.__qualname__} is not found in {code.co_filename}")
    return copy.deepcopy(found[0]), found[1]


def without_defaults(node: ast.FunctionDef) -> ast.FunctionDef:
    """Return a definition whose defaults are not evaluated again: the function gets those of the original."""
    defaults = node.args
    defaults.defaults = [ast.Constant(None) for _ in defaults.defaults]
    defaults.kw_defaults = [each and ast.Constant(None) for each in defaults.kw_defaults]
    return node


def assembled(
    code: types.CodeType, around: list[str], made: list[ast.stmt], more: Sequence[str] = ()
) -> types.CodeType:
    """Return the code of a function that defines others, which have the free variables of ``code`` and ``more``."""
    names = [*code.co_freevars, rewriting.OPERATORS, *more]
    given = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
    factory: ast.stmt = ast.FunctionDef("_tnp_factory", given, made, [])
    factory.type_params = []  # type: ignore[attr-defined]
    for name in reversed(around):  # the classes around it, so that Python mangles private names (__x) alike
        factory = ast.ClassDef(name, [], [], [factory], [])
        factory.type_params = []  # type: ignore[attr-defined]
    module = ast.fix_missing_locations(ast.Module([factory], []))
    whole = compile(module, code.co_filename, "exec", dont_inherit=True, flags=code.co_flags & _FUTURE)
    return _inner(whole, "_tnp_factory")


_FUTURE = __import__("__future__").annotations.compiler_flag


Definition: TypeAlias = tuple[ast.FunctionDef | ast.Lambda, list[str]]
"""The syntax node of a function, and the class around it."""


@functools.lru_cache(8)
def _definitions(source: str) -> dict[str, list[Definition]]:
    """Return the functions of a file by their names."""
    found: dict[str, list[Definition]] = {}

    def visit(node: ast.AST, around: list[str]) -> None:
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            found.setdefault(getattr(node, "name", "<lambda>"), []).append((node, around))
        inside = [node.name] if isinstance(node, ast.ClassDef) else []
        for child in ast.iter_child_nodes(node):
            visit(child, inside or around)

    visit(ast.parse(source), [])
    return found


def _find(definitions: Sequence[Definition], code: types.CodeType) -> Definition | None:
    """Return the definition of its name that a code object was compiled from."""
    found: list[Definition] = []
    spots = [p for p in code.co_positions() if None not in p] if code.co_name == "<lambda>" else []
    for node, around in definitions:
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *[each.lineno for each in node.decorator_list]])
            if first == code.co_firstlineno:
                found.append((node, around))
        else:
            body = node.body
            begin, end = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
            inner = [p for p in spots if p[2] or p[3]]
            if inner and all(begin <= (p[0], p[2]) and (p[1], p[3]) <= end for p in inner):
                found.append((node, around))
    wanted = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    fitting = []
    for node, around in found:
        arguments = node.args
        given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        hidden = tuple([_mangled(each.arg, around) for each in given])
        if hidden == wanted:
            fitting.append((node, around))
    return fitting[-1] if fitting else None


def _mangled(name: str, around: list[str]) -> str:
    if not around or not name.startswith("__") or name.endswith("__"):
        return name
    return f"_{around[-1].lstrip('_')}{name}"


def _inner(code: types.CodeType, name: str) -> types.CodeType:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            if constant.co_name == name:
                return constant
            try:
                return _inner(constant, name)
            except LookupError:
                pass
    raise LookupError(name)


def _named(code: types.CodeType, like: types.CodeType) -> types.CodeType:
    """Give the functions that blocks have become the original function's name, which tracebacks show."""
    constants = tuple([_named(each, like) if isinstance(each, types.CodeType) else each for each in code.co_consts])
    if not code.co_name.startswith("_tnp_") and code.co_name != like.co_name:
        return code.replace(co_consts=constants)
    return code.replace(co_consts=constants, co_name=like.co_name, co_qualname=like.co_qualname)
