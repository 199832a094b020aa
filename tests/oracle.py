"""NumPy as the oracle: one function over ``xp``, run on NumPy and on tnp, must do the same.

With ``pytest --compiled=BACKEND`` each is run a third time, as a function that ``tnp.compile`` traces. What can't be
traced is listed in ``compiled_gaps.toml`` with the reason, and nothing else is let pass.

``@agrees`` turns ``def test_x(xp, ...)`` into a test that runs it twice and compares what it returned (a pytree of
arrays, scalars and other values: value, dtype, shape, memory order, whether it may be written to), the warnings, and
the exception that it raised: class and text. A test that expects an exception says so with ``raises`` or
``may_raise``, so that a misspelt name is no agreement. What differs is listed in ``differences.toml`` with the reason.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import hypothesis
import numpy as np
import torch

import backend_torch
import tnp
from backend_torch.graphs import compiling
from backend_torch.tensors.dtypes import to_torch

BOOL = ["bool"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
INTEGERS = SIGNED + UNSIGNED
REAL = INTEGERS + FLOATS
ALL = BOOL + REAL + COMPLEX

Errors = type[Exception] | tuple[type[Exception], ...]
REFUSALS = (ArithmeticError, IndexError, MemoryError, TypeError, ValueError)


device: str | None = None  # where ``--device`` has the suite's arrays; None is the CPU


class Placing:
    """tnp as it is tested on a device: the arrays that a test made by NumPy go there, which tnp leaves where they are.

    Parameters
    ----------
    given : object
        tnp, one of its modules, or a function, whose arguments are placed.
    """

    def __init__(self, given: Any) -> None:
        self._given = given

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._given, name)
        is_told_arrays = isinstance(value, ModuleType) or (callable(value) and not isinstance(value, type))
        return Placing(value) if is_told_arrays else value

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._given(*_on_device(args), **_on_device(options))


def _on_device(value: Any) -> Any:
    if type(value) is dict:
        return {name: _on_device(item) for name, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_on_device, value))
    return tnp.asarray(value, device=device) if isinstance(value, np.ndarray) and value.dtype.kind in "biufc" else value


def ours() -> Any:
    """The ``xp`` that is compared with NumPy."""
    return tnp if device is None else Placing(tnp)


class Listed:
    """The tests that a file lists as ones that differ, by kind, each with the reason there.

    Parameters
    ----------
    file : str
        The file's name beside this one: tables ``[[kind]]`` of ``reason`` and ``tests``, each a
        ``folder/test_file.py::test_name``.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.ran: set[str] = set()  # the listed tests that were run
        self.differed: set[str] = set()  # those of them that did what they are listed for

    @functools.cached_property
    def tests(self) -> Mapping[str, frozenset[str]]:
        """Kind -> the tests listed under it."""
        listed = tomllib.loads(Path(__file__).with_name(self.file).read_text())
        return {kind: frozenset(t for entry in entries for t in entry["tests"]) for kind, entries in listed.items()}

    def runs(self, test: str) -> None:
        """Note that a test is run."""
        self.ran |= {f"{kind}: {test}" for kind, tests in self.tests.items() if test in tests}

    def lists(self, test: str, kind: str) -> bool:
        """Whether a test is listed under a kind; it is counted as one that is like that."""
        listed = test in self.tests.get(kind, ())
        if listed:
            self.differed.add(f"{kind}: {test}")
        return listed

    def stale(self) -> list[str]:
        """The listed tests that were run, and did as every other test does."""
        return sorted(self.ran - self.differed)


compiled_gaps = Listed("compiled_gaps.toml")
differences = Listed("differences.toml")
compiled_backend: str | None = None  # what ``--compiled`` asks for


class Raised:
    """The exception that one side raised."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __repr__(self) -> str:
        return f"{type(self.error).__name__}: {self.error}"


def outcome(function: Callable[..., Any], xp: Any, *args: Any, **kwargs: Any) -> Any:
    """What ``function(xp, ...)`` returns, or the exception that it raises."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(xp, *args, **kwargs)
        except Exception as error:
            return Raised(error)


@dataclasses.dataclass
class Watched:
    """What ``function(xp, ...)`` did."""

    found: Any  # what it returned, or ``Raised``
    warned: dict[str, bool]  # category of a warning on the way -> whether one names the package's own line
    inputs: list[Any]  # the arrays that ``placed`` made for it


PACKAGES = tuple(str(Path(module.__file__).parent) for module in (np, tnp, backend_torch, torch))  # type: ignore[arg-type]
made: list[Any] = []  # the arrays that ``placed`` made since the last call of ``watched`` began


def watched(function: Callable[..., Any], xp: Any, *args: Any, **kwargs: Any) -> Watched:
    """What ``function(xp, ...)`` does, its warnings and its inputs."""
    made.clear()
    with warnings.catch_warnings(record=True) as seen, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            found = function(xp, *args, **kwargs)
        except Exception as error:
            found = Raised(error)
    warned = dict.fromkeys(sorted({warning.category.__name__ for warning in seen}), False)
    warned |= {warning.category.__name__: True for warning in seen if warning.filename.startswith(PACKAGES)}
    return Watched(found, warned, list(made))


def assert_same(expected: Any, actual: Any, rtol: float | None = None, atol: float = 0.0, where: str = "") -> None:
    """``actual``, from tnp, is what ``expected``, from NumPy, says."""
    if isinstance(expected, Raised) or isinstance(actual, Raised):
        assert isinstance(expected, Raised), f"tnp raised {actual!r}{where}; NumPy returned {expected!r}"
        assert isinstance(actual, Raised), f"tnp returned {actual!r}{where}; NumPy raised {expected!r}"
        wanted = next(c for c in type(expected.error).__mro__ if not c.__module__.startswith("numpy._core"))
        assert isinstance(actual.error, wanted), f"tnp raised {actual!r}; NumPy {expected!r}"
    elif isinstance(expected, Mapping):
        assert list(expected) == list(actual)
        for key in expected:
            assert_same(expected[key], actual[key], rtol, atol, f"{where}[{key!r}]")
    elif isinstance(expected, (np.ndarray, np.generic)):
        wanted = tnp.ndarray if expected.dtype in to_torch else type(expected)  # what no tensor holds is NumPy's own
        assert isinstance(actual, wanted), f"{type(actual)}{where} is no {wanted}; NumPy: {expected!r}"
        assert actual.dtype == expected.dtype, f"dtype {actual.dtype}{where}; NumPy: {expected.dtype}"
        assert actual.shape == expected.shape, f"shape {actual.shape}{where}; NumPy: {expected.shape}"
        values = tnp.asnumpy(actual) if wanted is tnp.ndarray else actual
        if wanted is tnp.ndarray and values.tobytes() == expected.tobytes():
            return  # the same bits: what NumPy's assertions take 0.1 ms for
        if rtol is None and atol == 0.0:
            np.testing.assert_array_equal(values, expected, err_msg=where)
        else:
            np.testing.assert_allclose(values, expected, rtol=rtol or 0.0, atol=atol, err_msg=where)
    elif isinstance(expected, Sequence) and not isinstance(expected, (str, bytes)):
        assert len(actual) == len(expected), f"{len(actual)} items{where}; NumPy: {len(expected)}"
        for i, (one, other) in enumerate(zip(expected, actual, strict=True)):
            assert_same(one, other, rtol, atol, f"{where}[{i}]")
    else:
        assert actual == expected or (actual != actual and expected != expected), f"{actual!r}{where}; {expected!r}"


def texts_agree(expected: str, actual: str) -> bool:
    """Whether tnp's text is NumPy's, or NumPy's with more behind it: the user's own shapes, or advice."""
    return actual.startswith(expected.rstrip(" .\n"))


def differing(expected: Any, actual: Any) -> Iterator[tuple[str, str]]:
    """What two outcomes of the same values differ in, as kind and description."""
    if isinstance(expected, (np.ndarray, np.generic)) and np.asarray(actual).tobytes() == expected.tobytes():
        for prints in (repr, str) if isinstance(expected, np.generic) else (repr,):
            if prints(expected) != prints(actual):
                yield "repr", f"tnp prints {prints(actual)}; NumPy: {prints(expected)}"
                break
    if isinstance(expected, Raised):
        if not texts_agree(str(expected.error), str(actual.error)):
            yield "text", f"NumPy: {expected!r}\ntnp: {actual!r}"
    elif isinstance(expected, Mapping):
        for key in expected:
            yield from differing(expected[key], actual[key])
    elif isinstance(expected, np.ndarray):
        for kind, flags in {"order": ("c_contiguous", "f_contiguous"), "writeable": ("writeable",)}.items():
            numpys, ours = ([getattr(x.flags, flag) for flag in flags] for x in (expected, actual))
            if numpys != ours:
                found = f"{ours}, strides {actual.strides}; NumPy: {numpys}, {expected.strides}"
                yield kind, f"{flags} of {expected.shape}: {found}"
    elif isinstance(expected, Sequence) and not isinstance(expected, (str, bytes, np.generic)):
        for one, other in zip(expected, actual, strict=True):
            yield from differing(one, other)


def arrays_in(expected: Any, actual: Any) -> Iterator[tuple[Any, Any]]:
    """The arrays of two outcomes of the same structure, in pairs; what NumPy gives as a scalar is none."""
    if isinstance(expected, np.ndarray):
        yield expected, actual
    elif isinstance(expected, Mapping):
        for key in expected:
            yield from arrays_in(expected[key], actual[key])
    elif isinstance(expected, Sequence) and not isinstance(expected, (str, bytes, np.generic)):
        for one, other in zip(expected, actual, strict=True):
            yield from arrays_in(one, other)


def sharing(xp: Any, inputs: Sequence[Any], results: Sequence[Any]) -> dict[tuple[int, int], str]:
    """Which results are, or share memory with, which arrays: of the inputs (from -1 down), or of the results before."""
    arrays = [*reversed(inputs), *results]
    first = len(inputs)
    return {
        (i - first, j - first): "is" if arrays[i] is arrays[j] else "shares"
        for i in range(first, len(arrays))
        for j in range(i)
        if xp.may_share_memory(arrays[i], arrays[j])
    }


def assert_alike(numpys: Watched, ours: Watched) -> None:
    """Two calls differ in nothing beside values that isn't listed for the running test."""
    test = running_test()
    differences.runs(test)
    found = list(differing(numpys.found, ours.found))
    if list(numpys.warned) != list(ours.warned):
        found.append(("warnings", f"tnp warned of {list(ours.warned)}; NumPy: {list(numpys.warned)}"))
    elif any(ours.warned[each] > numpys.warned[each] for each in ours.warned):
        found.append(("places", f"tnp names a line of its own: {ours.warned}; NumPy: {numpys.warned}"))
    if len(numpys.inputs) == len(ours.inputs) and not isinstance(numpys.found, Raised):
        pairs = list(arrays_in(numpys.found, ours.found))
        shared = [
            sharing(xp, side.inputs, [pair[which] for pair in pairs])
            for which, (xp, side) in enumerate([(np, numpys), (tnp, ours)])
        ]
        if shared[0] != shared[1]:
            found.append(("aliasing", f"tnp's results share memory as {shared[1]}; NumPy's as {shared[0]}"))
    for kind, how in found:
        assert differences.lists(test, kind), f"{kind} differs and is not listed in {differences.file}: {how}"


def compare(
    function: Callable[..., Any],
    *args: Any,
    rtol: float | None = None,
    atol: float = 0.0,
    raises: Errors = (),
    may_raise: Errors = (),
    **kwargs: Any,
) -> Any:
    """Run ``function(xp, ...)`` on both and assert that they agree; returns NumPy's outcome.

    ``raises`` are the classes of which NumPy must raise one, ``may_raise`` those of which it may. What Hypothesis draws
    may raise any refusal, and is compared in values and classes alone: a list of what else differs would depend on
    what was drawn.
    """
    drawn = hypothesis.currently_in_test_context()
    numpys = watched(function, np, *args, **kwargs)
    tnps = watched(function, ours(), *args, **kwargs)
    expected, actual = numpys.found, tnps.found
    assert_same(expected, actual, rtol, atol)
    if isinstance(expected, Raised):
        assert isinstance(expected.error, raises or may_raise or (REFUSALS if drawn else ())), (
            f"NumPy itself raised {expected!r}"
        )
    else:
        assert not raises, f"NumPy returned {expected!r}"
    if device is None and not drawn:
        assert_alike(numpys, tnps)
    if compiled_backend is not None:
        compare_compiled(expected, function, *args, rtol=rtol, atol=atol, **kwargs)
    return expected


def outcome_compiled(function: Callable[..., Any], backend: str | None, *args: Any, **kwargs: Any) -> Any:
    """The outcome of ``function(tnp, ...)`` as a compiled function; a graph that can't be compiled is an error."""

    def traced(xp: Any) -> Any:
        found = xp.compile(lambda: function(xp, *args, **kwargs), backend=backend)
        compiling.warned.clear()
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "tnp.compile runs the traced operations one by one", RuntimeWarning)
            return found()

    return outcome(traced, ours())


def running_test() -> str:
    """The running test as ``folder/test_file.py::test_name``."""
    return os.environ["PYTEST_CURRENT_TEST"].partition("[")[0].partition(" ")[0].removeprefix("tests/")


def compare_compiled(
    expected: Any, function: Callable[..., Any], *args: Any, rtol: float | None, atol: float, **kwargs: Any
) -> None:
    """Assert that the compiled function does as expected, unless the running test is listed as one that can't."""
    test = running_test()
    compiled_gaps.runs(test)
    actual = outcome_compiled(function, compiled_backend, *args, **kwargs)
    if isinstance(actual, Raised) and isinstance(actual.error, tnp.TracedValueError):
        assert compiled_gaps.lists(test, "untraced"), f"can't be traced and is not in {compiled_gaps.file}: {actual!r}"
        return
    try:
        assert_same(expected, actual, rtol, atol, " (compiled)")
    except AssertionError:
        may_differ = compiled_gaps.lists(test, "different")
        if not (may_differ or (isinstance(expected, Raised) and compiled_gaps.lists(test, "values"))):
            raise


def agrees(
    test: Callable[..., Any] | None = None, *, rtol: float | None = None, atol: float = 0.0, raises: Errors = ()
) -> Callable[..., Any]:
    """Decorator: the test's function of ``xp`` agrees on NumPy and tnp; ``raises`` says that NumPy must raise."""

    def decorate(test: Callable[..., Any]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(*args: Any, **kwargs: Any) -> None:
            compare(test, *args, rtol=rtol, atol=atol, raises=raises, **kwargs)

        parameters = list(inspect.signature(test).parameters.values())
        run.__signature__ = inspect.Signature(parameters[1:])  # type: ignore[attr-defined]
        return run

    return decorate if test is None else decorate(test)


def sample(xp: Any, shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    """The same array of small mixed values on both sides, drawn by NumPy."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        values = rng.integers(0, 2, shape).astype(bool)
    elif np.dtype(dtype).kind == "u":
        values = rng.integers(0, 100, shape).astype(dtype)
    elif np.dtype(dtype).kind == "i":
        values = rng.integers(-50, 50, shape).astype(dtype)
    elif np.dtype(dtype).kind == "c":
        values = (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    else:
        values = rng.normal(size=shape).astype(dtype)
    return placed(xp, values)


def placed(xp: Any, values: Any) -> Any:
    """NumPy's values as an array of the side that is tested: for tnp on the device that the suite runs on."""
    array = np.asarray(values) if xp is np else xp.asarray(values, device=device)
    made.append(array)
    return array


def beside(xp: Any, value: Any) -> Any:
    """An operand beside arrays of the device: NumPy's array goes there where the suite runs on one."""
    return placed(xp, value) if device and isinstance(value, np.ndarray) else value
