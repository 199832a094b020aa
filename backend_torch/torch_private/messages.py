"""Classify torch's errors by their text, in one place: torch has no exception classes for these cases.

Layer: owns the texts, and which errors come from the program itself. The text of such an error is never read.
"""

from __future__ import annotations

import builtins
import hashlib
import opcode
import os
import re
from pathlib import Path

import torch

OVERWRITTEN = ("modified by an inplace operation",)
WRITES_TO_LEAF = ("a leaf Variable that requires grad",)
NO_SECOND_DERIVATIVE = ("does not currently support double backward",)
NO_FORWARD_MODE = ("forward mode AD",)
MACHINE_CODE = ("have storage", "compiled backward function")  # in a batch
NOT_BATCHED = (
    *("vmap", "atching rule", "being batched", "mutate a captured Tensor", "have storage", "shape of the mask"),
    "stack expects each tensor to be equal size",  # what torch computed for each slice in turn
)
RANDOMNESS = ("randomness",)
WRITE_OUTSIDE = ("mutate a captured Tensor",)
VALUE_OF_BATCH = ("data-dependent control flow", "calling .item() on a Tensor", "access data pointer of Tensor")
SHAPE_OF_BATCH = ("dynamic shape",)
ESCAPED_FROM_NESTED = ("current_level INTERNAL ASSERT FAILED",)
ESCAPED_FROM_BATCH = ("escaped from inside a function being vmapped",)
OUT_OF_BOUNDS = ("index out of bounds",)
UNBATCHED_WRITE = ("`self` not being vmapped over",)

MIXED_WITH_SHARDED = ("mixed torch.Tensor and DTensor",)
UNSUPPORTED_OF_SHARDED = ("not supported with DTensor",)
NO_SHARDING_RULE = ("harding",)

OUT_OF_MEMORY = ("not enough memory", "out of memory", "can't allocate memory", "alloc_cpu.cpp")
TOO_BIG = (
    "Storage size calculation overflowed",
    "Stride calculation overflowed",
    "cannot be represented as a SymInt",
    "numel: integer multiplication overflow",
    "Trying to create tensor with negative dimension",  # a sum of lengths overflows
)
NO_INT64 = ("Overflow when unpacking long", "int too big to convert", "to type int64_t without overflow")
OVERFLOW = ("verflow",)
NO_VIEW = ("view",)
OF_DIMENSION = ("for dimension",)
NEGATIVE = ("negative",)

_LINALG = {
    "singular": "Singular matrix",
    "positive-definite": "Matrix is not positive definite",
    "svd": "SVD did not converge",
    "eig": "Eigenvalues did not converge",
}
"""A part of the text of torch's LinAlgError -> NumPy's text."""

NOT_BROADCAST = ("too large",)
NO_ARRAY_RETURNED = ("not producing an array",)
NO_COPY_ARGUMENT = ("__array__() got an unexpected keyword argument 'copy'",)
NO_ELEMENT = ("setting an array element with a sequence",)
"""NumPy's texts, where its exception classes do not say enough either."""

_OVERWRITTEN = re.compile(r"\[torch\.(?:\w+\.)?(?P<kind>[A-Za-z0-9]+)Tensor \[(?P<sizes>[\d, ]*)\]\]")
_DTYPES = {"Double": "float64", "Float": "float32", "Half": "float16", "BFloat16": "bfloat16"}
_DTYPES |= {"ComplexDouble": "complex128", "ComplexFloat": "complex64", "Long": "int64", "Int": "int32", "Bool": "bool"}
_OF_LOOPS = {f"tnp.{kind.__name__}: ": kind for kind in (RuntimeError, IndexError, KeyboardInterrupt, MemoryError)}
"""How the text of an error begins that a loop in machine code met -> the error's class."""
_KEPT = re.compile("raise ([A-Z][A-Za-z]+) ([0-9a-f]*) of the program")

_RAISE = opcode.opmap["RAISE_VARARGS"]  # the opcode of ``raise`` and ``assert``
_FOLDERS = (Path(torch.__file__).parent, *map(Path(__file__).parents[2].joinpath, ("backend_torch", "tnp")))
_INNER = tuple([os.path.join(folder, "") for folder in _FOLDERS])


def is_of_program(error: BaseException) -> bool:
    """Whether the program itself raised an error, rather than tnp or torch, in Python or C++."""
    traceback = error.__traceback__
    if traceback is None:
        return False
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    code = traceback.tb_frame.f_code
    return code.co_code[traceback.tb_lasti] == _RAISE and not code.co_filename.startswith(_INNER)


def says(error: BaseException, texts: tuple[str, ...]) -> bool:
    """Whether an error, not the program's own, contains one of these texts."""
    text = str(error)
    return any(each in text for each in texts) and not is_of_program(error)


def overwritten(error: BaseException) -> str:
    """Return the words for the array that torch's error says was overwritten."""
    found = _OVERWRITTEN.search(str(error))
    if found is None:
        return "an array that the gradient needs"
    shape = tuple(map(int, found["sizes"].split(", "))) if found["sizes"] else ()
    kind = _DTYPES.get(found["kind"], found["kind"].lower())
    return f"an array of shape {shape} and dtype {kind}, which the gradient needs,"


def uncovered(error: Exception) -> Exception:
    """Return the error that NumPy has put its own in place of, for an element that it could not get; else the error."""
    cause = error.__cause__
    if isinstance(cause, Exception) and says(error, NO_ELEMENT):
        error.__cause__ = error.__context__ = None  # it becomes the context of its cause: no circle
        return cause.with_traceback(error.__traceback__)  # which has the program's line
    return error


def of_loop(error: RuntimeError) -> BaseException:
    """Return the error that a loop in machine code met; any other error as it is."""
    text = str(error)
    for prefix, kind in _OF_LOOPS.items():
        if text.startswith(prefix) and not is_of_program(error):
            return kind(text.removeprefix(prefix))
    return error


def kept(error: BaseException, line: str) -> str:
    """Return a text for a program's exception, which code that is kept holds; `raised` knows most of Python's own."""
    name = type(error).__qualname__
    if type(error).__module__ == "builtins" and [*map(type, error.args)] in ([], [str]):
        return f"raise {name} {''.join(error.args).encode().hex()} of the program"
    return f"raise {hashlib.sha256(f'{name} {line} {error}'.encode()).hexdigest()[:16]} of the program"


def raised(error: BaseException) -> Exception | None:
    """Return the program's exception that a check in a running graph stands for; None for another error."""
    found = _KEPT.search(str(error))
    kind = getattr(builtins, found[1], None) if found is not None and not is_of_program(error) else None
    if found is None or not (isinstance(kind, type) and issubclass(kind, Exception)):  # a file may name anything
        return None
    return kind(*([bytes.fromhex(found[2]).decode()] if found[2] else []))


def of_linalg(error: torch.linalg.LinAlgError) -> str:
    """Return NumPy's text for torch's error about a matrix that has no such factorization or inverse."""
    text = str(error)
    return next((numpys for part, numpys in _LINALG.items() if part in text), text)
