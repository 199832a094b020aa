"""Error texts for a traced array whose value is read: the user's expression that reads it, and what to write instead.

Layer: owns the wording. The user's frame shows the expression; the name of the tnp function that it called says how the
value is read. This module imports nothing of the project.
"""

from __future__ import annotations

import ast
import linecache
from itertools import islice
from types import FrameType

_ANYTHING = (
    "if, while, int(), float(), bool(), item(), an index or a function that NumPy computes",
    "choose with tnp.where or tnp.cond, repeat with tnp.while_loop",
)
_STATIC = "pass a Python int, which is static, or take it from a shape"
_BY_FUNCTION = {
    "range": "repeat with tnp.fori_loop, or " + _STATIC,
    "int": "leave int() out, as arrays of no dimension count and index too, or x.astype(int)",
    "float": "leave float() out: an array of no dimension goes wherever a number does",
    "complex": "leave complex() out: an array of no dimension goes wherever a number does",
    "item": "leave item() out: an array of no dimension goes wherever a number does",
    "tolist": "leave tolist() out: an array goes wherever a list of numbers does",
    "bool": "keep the array, choose with tnp.where or tnp.cond",
    "max": "use tnp.max, or tnp.maximum of two",
    "min": "use tnp.min, or tnp.minimum of two",
    "sorted": "use tnp.sort",
    "any": "use tnp.any",
    "all": "use tnp.all",
    "round": "use tnp.round",
}
_BY_METHOD = {
    "__float__": "use tnp's function of that name",
    "__complex__": "use tnp's function of that name",
    "__array__": "use tnp's function of that name",
    "__hash__": "a key of a dictionary is static: put what is chosen from into an array, tnp.stack(list)[i], or choose "
    "with tnp.switch",
    "text": "the text of a traced array has no values: use the array itself",
    "__contains__": "use (x == value).any()",
    "__format__": "print it when the function runs: tnp.debug.print",
    "tobytes": "return the array, and take its bytes outside",
}
_CONTROL_FLOW = {"cond", "switch", "while_loop", "fori_loop", "scan"}
_SHAPES = {"zeros", "ones", "empty", "full", "eye", "identity", "reshape", "resize", "broadcast_to", "tile"}
_SLICE = (
    "a slice's length is a part of the trace: of one that is fixed take the elements, x[i + tnp.arange(1)] for "
    "x[i:i+1], or tnp.dynamic_slice; of another choose with tnp.where(tnp.arange(len(x)) < i, x, 0) for x[:i]"
)
_ITEM = "put what is chosen from into an array, tnp.stack(list)[i], or choose with tnp.cond"


def question(frame: FrameType, called: str) -> tuple[str, str]:
    """Return what reads the value in a user's frame, where tnp's function ``called`` runs, and what to do instead."""
    expression = _expression(frame)
    if not called:
        return _ANYTHING
    function, is_method = _called(expression)
    shown = f"`{expression}`" if expression else called
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    if called in ("__getitem__", "__setitem__"):
        return f"the bounds of a slice, {shown}", _SLICE
    is_comprehension = " for " in expression or (function == "range" and " for " in line)  # since Python 3.12
    if called == "__iter__" or (called in ("__index__", "__int__") and is_comprehension):
        return f"range(), {shown}", "go through it by a for statement, or " + _BY_FUNCTION["range"]
    if called in ("item", "tolist") or (function in _BY_FUNCTION and called != function and not is_method):
        asking = called if called in ("item", "tolist") else function
        return f"{asking}(), {shown}", _BY_FUNCTION[asking]
    if called == "__bool__":
        if line.startswith("while "):
            return f"while, {shown}", "repeat with tnp.while_loop"
        if line.startswith("assert "):
            return f"assert, {shown}", "return the condition, and assert it outside"
        word = "if" if line.startswith(("if ", "elif ")) else "if, and, or, not or bool()"
        advice = "choose with tnp.where or tnp.cond, combine conditions by &, | and ~, repeat with tnp.while_loop"
        return f"{word}, {shown}", advice
    if called in ("__index__", "__int__"):
        if expression.endswith("]"):
            return f"the index of a list or a tuple, {shown}", _ITEM
        return f"what wants a Python int, {shown}", _STATIC
    if called in _BY_METHOD:
        return f"{function + '()' if function else 'what NumPy or Python computes'}, {shown}", _BY_METHOD[called]
    if called in _CONTROL_FLOW:
        advice = "choose with tnp.where, or compile the function around it (tnp.compile), whose graph has it for each"
        return f"{called}(), {shown}", advice
    if called in _SHAPES:
        return f"a shape, {shown}", f"a shape is a part of the trace: {_STATIC}"
    return f"{called}(), {shown}", f"an axis or a number of elements is a part of the trace: {_STATIC}"


def _called(expression: str) -> tuple[str, bool]:
    """Return the name of the function that an expression calls last ("" if none), and whether it is a method."""
    try:
        call = ast.parse(expression, mode="eval").body
    except SyntaxError:  # a part of a statement
        return "", False
    function = call.func if isinstance(call, ast.Call) else None
    if isinstance(function, ast.Attribute):
        return function.attr, True
    return (function.id if isinstance(function, ast.Name) else ""), False


def _expression(frame: FrameType) -> str:
    """Return the source of the expression that runs in a frame, on one line; "" for code without a file."""
    code = frame.f_code
    first, last, start, end = next(islice(code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    if first is None or last is None or start is None or end is None:
        return ""
    lines = [linecache.getline(code.co_filename, number) for number in range(first, last + 1)]
    if not all(lines):
        return ""
    lines[-1] = _cut(lines[-1], 0, end)
    lines[0] = _cut(lines[0], start, None)
    word, _, rest = lines[0].partition(" ")
    if word in ("if", "elif", "while", "assert"):  # the whole statement, of which its condition asks
        return rest.strip().removesuffix(":").partition(": ")[0]
    return " ".join(" ".join(lines).split())


def _cut(line: str, start: int, end: int | None) -> str:
    """Return a part of a line; the positions count bytes."""
    return line.encode()[start:end].decode(errors="replace")
