"""Each public function and method has NumPy's parameters: names, order, kinds and defaults, as inspect reads them."""

from __future__ import annotations

import importlib
import inspect
import types
from collections.abc import Iterator
from inspect import Parameter, Signature
from typing import Any

import numpy
import pytest

import tnp

POLYNOMIALS = ("chebyshev", "hermite", "hermite_e", "laguerre", "legendre", "polynomial", "polyutils")
MODULES = ("", ".fft", ".lib.array_utils", ".linalg", ".random", *(f".polynomial.{name}" for name in POLYNOMIALS))
EXCEPTIONS = {
    "arange": "NumPy names the first parameter start_or_stop here, start in its documentation",
    "clip": "min and max, the Array API's names, come first; a_min and a_max are taken by name",
    "errstate": "what says that call is not given is each library's own object",
    "flatiter": "made by x.flat only; NumPy's can't be called either",
    "ndarray.choose": "NumPy takes the choices one by one as well, and doesn't tell",
    "ndarray.conj": "NumPy takes out as well, and doesn't tell",
    "ndarray.conjugate": "NumPy takes out as well, and doesn't tell",
    "ndarray.dot": "NumPy documents the other array as b",
    "ndarray.view": "dtype and type stand for *args and **kwargs, as NumPy documents",
    "random.ranf": "an alias with the parameters of random_sample; NumPy's takes any and hands them on",
    "random.sample": "the same",
    "ufunc": "made of a NumPy ufunc and a kernel; NumPy's can't be called",
    "where": "None is a value to choose from: without x and y it is where(condition)",
}
if numpy.lib.NumpyVersion(numpy.__version__) >= "2.5.0":
    EXCEPTIONS["fromstring"] = "NumPy says that it needs sep; without it NumPy and tnp raise the same ValueError"
"""Name -> why its signature is not NumPy's."""


def functions() -> Iterator[tuple[str, Any, Any]]:
    """Name, NumPy's object and tnp's, where tnp has one of its own and NumPy tells the signature of its."""
    for module in MODULES:
        theirs, ours = (importlib.import_module(package + module) for package in ("numpy", "tnp"))
        for name in sorted(theirs.__all__):
            if not isinstance(getattr(theirs, name), types.ModuleType):
                yield f"{module}.{name}".lstrip("."), getattr(theirs, name), getattr(ours, name, None)
    for name in ("as_strided", "sliding_window_view"):  # there is no __all__
        yield f"lib.{name}", getattr(numpy.lib.stride_tricks, name), getattr(tnp.lib.stride_tricks, name)
    for name in dir(numpy.ndarray):
        yield f"ndarray.{name}", getattr(numpy.ndarray, name), getattr(tnp.ndarray, name, None)


def pairs() -> Iterator[Any]:
    for name, theirs, ours in functions():
        private = name.rpartition(".")[2].startswith("_")
        if private or not callable(theirs) or ours is None or ours is theirs:
            continue
        try:
            yield pytest.param(name, inspect.signature(theirs), ours, id=name)
        except ValueError:  # C functions that don't tell
            continue


def default_agrees(theirs: Parameter, ours: Parameter) -> bool:
    """Whether leaving the parameter out means the same.

    NumPy's _NoValue stands for a default that the function finds elsewhere, and so does None for a float dtype.
    """
    float_dtype = theirs.name == "dtype" and theirs.default is None and ours.default is float
    return float_dtype or repr(theirs.default) in ("<no value>", repr(ours.default))


def kind_agrees(theirs: Parameter, ours: Parameter) -> bool:
    """Whether the parameter is taken in at least the ways that NumPy takes it."""
    return ours.kind == theirs.kind or (
        ours.kind == Parameter.POSITIONAL_OR_KEYWORD and theirs.kind != Parameter.VAR_POSITIONAL
    )


def differences(theirs: Signature, ours: Signature) -> list[str]:
    """What NumPy's callers would notice; parameters of tnp's own must be keywords with defaults."""
    open_ended = any(p.kind == Parameter.VAR_KEYWORD for p in theirs.parameters.values())
    wanted = [p for p in theirs.parameters.values() if p.kind != Parameter.VAR_KEYWORD]
    found = [ours.parameters[p.name] for p in wanted if p.name in ours.parameters]
    order = [p.name for p in ours.parameters.values() if p in found and p.kind != Parameter.KEYWORD_ONLY]
    by_place = [p.name for p in wanted if p.name in order]
    extra = [p for p in ours.parameters.values() if p.name not in theirs.parameters]
    return [
        *(f"{p.name} is missing" for p in wanted if p.name not in ours.parameters),
        *([f"{order} is not the order {by_place}"] if order != by_place else []),
        *(f"{p.name} is {q.kind.description}" for p, q in zip(wanted, found, strict=False) if not kind_agrees(p, q)),
        *(f"{p.name}={q.default}" for p, q in zip(wanted, found, strict=False) if not default_agrees(p, q)),
        *(
            f"{p.name} is new and has no default"
            for p in extra
            if p.default is p.empty and p.kind < 4 and not open_ended
        ),
        *(f"{p.name} is new and positional" for p in extra if p.kind < 3 and not open_ended),
    ]


@pytest.mark.parametrize("name, theirs, ours", list(pairs()))
def test_signature_is_numpys(name: str, theirs: Signature, ours: Any) -> None:
    found = differences(theirs, inspect.signature(ours))
    if name in EXCEPTIONS:
        assert found, f"{name} is no exception any more"
    else:
        assert not found, f"NumPy has {name}{theirs}"


def test_every_exception_is_a_public_function() -> None:
    assert EXCEPTIONS.keys() <= {name for name, _, _ in functions()}


def f(a: int, b: int = 1, /, c: int = 2, *, d: int = 3) -> None: ...


@pytest.mark.parametrize(
    "ours, difference",
    [
        (lambda a, b=1, c=2, *, d=3: 0, None),
        (lambda a, b=1, c=2, *, d=3, e=4: 0, None),
        (lambda a, b=1, c=2: 0, "d is missing"),
        (lambda b, a=1, c=2, *, d=3: 0, "is not the order"),
        (lambda a, b=1, c=2, e=4, *, d=3: 0, "e is new and positional"),
        (lambda a, b=1, c=2, *, d=3, e: 0, "e is new and has no default"),
        (lambda a, b=1, c=5, *, d=3: 0, "c=5"),
        (lambda a, b=1, *, c=2, d=3: 0, "c is keyword-only"),
    ],
)
def test_differences_are_seen(ours: Any, difference: str | None) -> None:
    found = differences(inspect.signature(f), inspect.signature(ours))
    assert not found if difference is None else any(difference in text for text in found)
