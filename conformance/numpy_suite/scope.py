"""Which tests concern what no numeric array library can be asked for.

`Scopes.rule` names the rule by which a test case is out of scope.  It looks at the
values of the case's parameters and at the source of the test, together with the class
attributes and module constants that this source refers to.  `array_rule` does so with the
arrays that turn up while the test runs.
"""

from __future__ import annotations

import ast
import decimal
import fractions
import functools
import importlib
import re
from collections.abc import Iterator
from typing import Any

import numpy

from conformance.numpy_suite.binding import NEUTRAL_NAMES, belongs, is_neutral, public_path

Rule = str | None

RULES = {  # in order of precedence
    "internals": "NumPy's private helpers, reference counts, ctypes, buffers, subprocesses",
    "object": "dtype object: arrays of Python objects",
    "string": "string, bytes and unicode dtypes",
    "void": "void, structured and record dtypes",
    "datetime": "datetime64 and timedelta64",
    "longdouble": "longdouble and clongdouble",
    "byteorder": "non-native byte order",
    "userdtype": "a user-defined dtype written in C",
    "arrayclass": "NumPy's matrix, masked, record, character and memory-mapped arrays",
    "bitstream": "random numbers recorded from NumPy's own streams",
}

_KINDS = {"O": "object", "S": "string", "U": "string", "T": "string", "V": "void", "M": "datetime", "m": "datetime"}

_NAMES = {
    "object": "object_ frompyfunc",
    "string": "str_ bytes_ character flexible char strings dtypes.StringDType",
    "void": "void record lib.recfunctions",
    "datetime": "datetime64 timedelta64 isnat busday_count busday_offset busdaycalendar "
    "is_busday datetime_data datetime_as_string",
    "longdouble": "longdouble clongdouble float128 complex256",
    "arrayclass": "ma matrix asmatrix bmat matlib recarray rec memmap chararray",
    "internals": "ctypeslib test show_config __config__ f2py get_include",
}
_NAMES = {f"numpy.{name}": rule for rule, names in _NAMES.items() for name in names.split()}

_TYPE_TABLES = {
    "All": "object",
    "AllFloat": "longdouble",
    "Float": "longdouble",
    "Complex": "longdouble",
    "float": "longdouble",
    "complex": "longdouble",
    "others": "object",
    "Character": "string",
    "Datetime": "datetime",
}

_FOREIGN = {
    "ctypes": "internals",
    "subprocess": "internals",
    "memoryview": "internals",
    "Decimal": "object",
    "Fraction": "object",
    "getrefcount": "internals",
    "__array_struct__": "internals",
    "__array_interface__": "internals",
    "_rational_tests": "userdtype",
    "rational": "userdtype",
    "hashlib": "bitstream",
}

_TYPE_PARAMETER = re.compile(
    r"(^|_)(dtypes?|d?type\d?|dt\w?|scalar\w*|char|t[12]?|sctype"
    r"|typecode|tc|code)\d*($|_)|dtype",
    re.IGNORECASE,
)
_TYPE_STRING = re.compile(
    r"[<>=|]?([mM]8(\[\w+\])?|[SUVa]\d+)|[<>=][?\w]\d*"
    r"|(datetime64|timedelta64)(\[\w+\])?|\w\d*(,\w\d*)+"
)
_TYPE_ALPHABET = re.compile(r"(?=.*[a-z?])(?=.*[A-Z])[?bhilqpnBHILQPNefdgFDGOSUVMm]{8,}")
_TYPE_LETTERS = re.compile(r"[?bhilqpnBHILQPNefdgFDGOSUVMm]{4,}")
_ARRAY_MAKERS = {
    "array": 1,
    "asarray": 1,
    "asanyarray": 1,
    "zeros": 1,
    "ones": 1,
    "empty": 1,
    "full": 2,
    "arange": 3,
    "fromiter": 1,
    "ndarray": 1,
    "zeros_like": 1,
    "ones_like": 1,
    "empty_like": 1,
    "dtype": 0,
    "astype": 0,
    "view": 0,
    "can_cast": 1,
    "promote_types": 1,
}


def dtype_rule(dtype: numpy.dtype) -> Rule:
    """The rule that excludes a dtype, if any."""
    if dtype.subdtype:
        return dtype_rule(dtype.base)
    if type(dtype).__module__.endswith("_rational_tests") or dtype.kind == "r":
        return "userdtype"
    if dtype.char in "gG":
        return "longdouble"
    return _KINDS.get(dtype.kind) or (None if dtype.isnative else "byteorder")


def _string_rule(text: str) -> Rule:
    """The rule that excludes a string taken to be a dtype."""
    try:
        return dtype_rule(numpy.dtype(text))
    except (TypeError, ValueError, SyntaxError):
        return None


def value_rule(value: Any, name: str = "", depth: int = 4) -> Rule:
    """The rule that excludes a value given to a test."""
    if isinstance(value, (numpy.matrix, numpy.ma.MaskedArray, numpy.memmap)):
        return "arrayclass"
    if isinstance(value, (numpy.ndarray, numpy.generic, numpy.dtype)):
        return array_rule(value)
    if isinstance(value, type):
        return _class_rule(value)
    if type(value) is object or isinstance(value, (decimal.Decimal, fractions.Fraction)):
        return "object"
    if isinstance(value, str):
        typed = _TYPE_PARAMETER.search(name) or _TYPE_STRING.fullmatch(value)
        return _string_rule(value) if typed else None
    if isinstance(value, numpy.ufunc) and not hasattr(numpy, value.__name__):
        return "internals"
    if callable(value) and hasattr(value, "__name__"):
        return _NAMES.get(f"numpy.{value.__name__}") or _NAMES.get(str(getattr(value, "__module__", None)))
    if depth and isinstance(value, (list, tuple, dict)):
        if isinstance(value, dict):
            value = [*value, *value.values()]
        return next(filter(None, (value_rule(v, name, depth - 1) for v in value)), None)
    return None


def _class_rule(cls: type) -> Rule:
    """The rule that excludes a class of scalars, arrays or dtypes."""
    if cls in (object, str, bytes):
        return dtype_rule(numpy.dtype(cls))
    if cls.__module__.endswith("_rational_tests"):
        return "userdtype"
    if issubclass(cls, numpy.dtype):
        cls = getattr(cls, "type")  # noqa: B009  a class attribute that the stubs call a property
    names = (f"numpy.{base.__name__}" for base in cls.__mro__ if base is not object)
    return next((_NAMES[n] for n in names if n in _NAMES), None)


def _is_module(path: str) -> bool:
    try:
        importlib.import_module(path)
    except ImportError:
        return False
    return True


def array_rule(value: object, depth: int = 2) -> Rule:
    """The rule that excludes an array, a dtype, or a collection of them."""
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        return dtype_rule(value.dtype)
    if isinstance(value, numpy.dtype):
        return dtype_rule(value)
    if depth and isinstance(value, (list, tuple)) and len(value) < 100:
        return next(filter(None, (array_rule(v, depth - 1) for v in value)), None)
    return None


class Scopes:
    """Scope of the tests of all modules."""

    def __init__(self) -> None:
        self._modules: dict[Any, ModuleScope] = {}

    def rule(self, item: Any) -> Rule:
        """The rule by which a test case is out of scope, or None."""
        path = item.path
        if path not in self._modules:
            source = path.read_text(encoding="utf-8")
            self._modules[path] = ModuleScope(source, draws_random="random" in path.parts)
        classes = [c.__name__ for c in item.cls.__mro__] if item.cls else []
        callspec = getattr(item, "callspec", None)
        return self._modules[path].rule(item.originalname, classes, callspec.params if callspec else {})


class ModuleScope:
    """Scope of the tests of one module, from its source."""

    def __init__(self, source: str, draws_random: bool = False) -> None:
        self._draws_random = draws_random
        self._modules: dict[str, str] = {}  # name -> NumPy module
        self._imported: dict[str, str] = {}  # name -> dotted path of an object of NumPy
        self._definitions: dict[str, list[Any]] = {}  # "name" or "Class.name" -> nodes
        self._rules: dict[tuple[str, tuple[str, ...]], Rule] = {}
        self._stack: set[tuple[str, tuple[str, ...]]] = set()
        tree = ast.parse(source)
        for node in ast.walk(tree):
            self._read_import(node)
        self._read_body(tree.body, "")

    def _read_import(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if belongs(alias.name, "numpy"):
                    name = alias.name if alias.asname else "numpy"
                    self._modules[alias.asname or "numpy"] = name
        elif isinstance(node, ast.ImportFrom) and belongs(node.module or "", "numpy"):
            for alias in node.names:
                path = f"{node.module}.{alias.name}"
                table = self._modules if _is_module(path) else self._imported
                table[alias.asname or alias.name] = path

    def _read_body(self, body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                if isinstance(node, ast.ClassDef):
                    self._read_body(node.body, f"{node.name}.")
                self._definitions.setdefault(prefix + node.name, []).append(node)
            elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    for name in ast.walk(target):
                        if isinstance(name, ast.Name):
                            nodes = self._definitions.setdefault(prefix + name.id, [])
                            nodes.append(node.value)
            elif isinstance(node, (ast.If, ast.Try, ast.With, ast.For)):
                self._read_body(node.body, prefix)

    def rule(self, function: str, classes: list[str], parameters: dict[str, Any]) -> Rule:
        """The rule by which a test case is out of scope, or None.

        ``classes`` are the names of the test's class and its bases.
        """
        for name, value in parameters.items():
            rule = value_rule(value, name)
            if rule:
                return rule
        for prefix in (*(f"{c}." for c in classes), ""):
            if prefix + function in self._definitions:
                return self._definition_rule(prefix + function, tuple(classes))
        return None

    def _reference_rule(self, name: str, classes: tuple[str, ...]) -> Rule:
        """The rule that applies to a test because of a definition it refers to.

        Of other functions only the use of internals counts: they may well serve many dtypes.
        """
        rule = self._definition_rule(name, classes)
        is_function = isinstance(self._definitions[name][0], ast.FunctionDef)
        return rule if rule == "internals" or not is_function else None

    def _definition_rule(self, name: str, classes: tuple[str, ...]) -> Rule:
        key = name, classes
        if key not in self._rules:
            if key in self._stack or len(self._stack) > 20:
                return None
            self._stack.add(key)
            found: dict[str, None] = {}
            for node in self._definitions[name]:
                for rule in self._rules_in(node, classes):
                    found.setdefault(rule)
            self._stack.remove(key)
            self._rules[key] = next((r for r in RULES if r in found), None)
        return self._rules[key]

    def _rules_in(self, node: ast.AST, classes: tuple[str, ...]) -> Iterator[str]:
        """All rules that apply within a syntax tree (its decorators excepted)."""
        if isinstance(node, ast.ClassDef):
            return
        if isinstance(node, ast.FunctionDef):
            roots = [*node.body, *node.args.defaults]
            own = {a.arg for a in node.args.args}
        else:
            roots, own = [node], set()
        for root in roots:
            for part in ast.walk(root):
                rule = self._node_rule(part, classes, own)
                if rule:
                    yield rule

    def _node_rule(self, node: ast.AST, classes: tuple[str, ...], own: set[str]) -> Rule:
        if isinstance(node, ast.Attribute):
            return self._attribute_rule(node, classes)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if node.id in own:
                return None
            if node.id in self._imported:
                return self._path_rule(*self._imported[node.id].rpartition(".")[::2])
            if node.id in self._definitions:
                return self._reference_rule(node.id, classes)
            return _FOREIGN.get(node.id)
        if isinstance(node, ast.Call):
            return self._call_rule(node)
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.slice, ast.Constant)
            and ast.unparse(node.value).endswith(("typecodes", "sctypes"))
        ):
            return _TYPE_TABLES.get(str(node.slice.value))
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if _TYPE_STRING.fullmatch(node.value):
                return _string_rule(node.value)
            if _TYPE_ALPHABET.fullmatch(node.value):
                return self._letters_rule(node)
        if isinstance(node, (ast.List, ast.Tuple)):
            return self._list_rule(node)
        if isinstance(node, (ast.For, ast.comprehension)):
            return self._letters_rule(node.iter)
        if isinstance(node, ast.keyword) and node.arg in ("dtype", "otypes"):
            return self._dtype_rule(node.value)
        if isinstance(node, ast.Assign) and self._draws_random:
            recorded = any(isinstance(n, ast.List) for n in ast.walk(node.value))
            if recorded and ast.unparse(node.targets[0]).startswith("desired"):
                return "bitstream"
        return None

    def _attribute_rule(self, node: ast.expr, classes: tuple[str, ...]) -> Rule:
        names: list[str] = []
        while isinstance(node, ast.Attribute):
            names.insert(0, node.attr)
            node = node.value
        foreign = next((_FOREIGN[n] for n in names if n in _FOREIGN), None)
        if foreign or not isinstance(node, ast.Name):
            return foreign
        if node.id in ("self", "cls"):
            owner = next((c for c in classes if f"{c}.{names[0]}" in self._definitions), None)
            return owner and self._reference_rule(f"{owner}.{names[0]}", classes)
        if node.id in self._modules:
            return self._path_rule(self._modules[node.id], names[0], *names[1:])
        return None

    @staticmethod
    @functools.cache
    def _path_rule(module: str, name: str, *rest: str) -> Rule:
        """The rule that excludes an object of NumPy."""
        foreign = next((_FOREIGN[n] for n in (name, *rest) if n in _FOREIGN), None)
        if foreign or belongs(module, "numpy.testing") or name == "testing":
            return foreign
        path = f"{module}.{name}"
        known = _NAMES.get(path) or _NAMES.get(module)
        if known:
            return known
        if _is_module(path):
            return ModuleScope._path_rule(path, *rest) if rest else None
        if name == "sctypes" or name in NEUTRAL_NAMES:
            return None
        public = public_path(module, name)
        if public:
            return _NAMES.get(public)
        return None if is_neutral(module, name) else "internals"

    def _call_rule(self, node: ast.Call) -> Rule:
        name = getattr(node.func, "attr", None) or getattr(node.func, "id", None)
        if name == "newbyteorder":
            return "byteorder"
        if name in ("list", "iter", "product", "zip") and node.args:
            return next(filter(None, map(self._letters_rule, node.args)), None)
        place = _ARRAY_MAKERS.get(str(name))
        if place is None or len(node.args) <= place:
            return None
        return self._dtype_rule(node.args[place])

    def _dtype_rule(self, node: ast.expr) -> Rule:
        """The rule that excludes an expression in the place of a dtype."""
        if isinstance(node, ast.Name):
            return {"object": "object", "str": "string", "bytes": "string"}.get(node.id)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return _string_rule(node.value)
        if isinstance(node, (ast.List, ast.Tuple, ast.Dict)):
            try:
                return dtype_rule(numpy.dtype(ast.literal_eval(node)))
            except (TypeError, ValueError, SyntaxError):
                return "void" if isinstance(node, (ast.List, ast.Dict)) else None
        return None

    @staticmethod
    def _list_rule(node: ast.List | ast.Tuple) -> Rule:
        """The rule that excludes a list of strings which all name dtypes."""
        texts = [getattr(e, "value", None) for e in node.elts]
        if len(texts) < 3 or not all(isinstance(t, str) for t in texts):
            return None
        try:
            dtypes = [numpy.dtype(t) for t in texts]
        except (TypeError, ValueError, SyntaxError):
            return None
        return next(filter(None, map(dtype_rule, dtypes)), None)

    @staticmethod
    def _letters_rule(node: ast.expr) -> Rule:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _TYPE_LETTERS.fullmatch(node.value):
            return next(filter(None, map(_string_rule, node.value)), None)
        if isinstance(node, (ast.List, ast.Tuple)):
            rules = {"object": "object", "str": "string", "bytes": "string"}
            names = (getattr(e, "id", None) for e in node.elts)
            return next((rules[n] for n in names if n in rules), None)
        return None
