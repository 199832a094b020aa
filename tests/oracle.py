"""NumPy as the oracle: one function over ``xp``, run on NumPy and on tnp, must do the same.

With ``pytest --compiled=BACKEND`` each is run a third time, as a function that ``tnp.compile`` traces. What can't be
traced is listed in ``compiled_gaps.toml`` with the reason, and nothing else is let pass.

``@agrees`` turns ``def test_x(xp, ...)`` into a test that runs it twice and compares what it returned (a pytree of
arrays, scalars and other values: value, dtype, shape) or the class of the exception that it raised.
"""

from __future__ import annotations

import functools
import inspect
import os
import tomllib
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import tnp
from backend_torch.graphs import compiling

BOOL = ["bool"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
INTEGERS = SIGNED + UNSIGNED
REAL = INTEGERS + FLOATS
ALL = BOOL + REAL + COMPLEX


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


class Compiled:
    """What ``--compiled`` asks for: the backend, or None, and the tests that differ, as in ``compiled_gaps.toml``."""

    def __init__(self) -> None:
        self.backend: str | None = None
        self.gaps: Mapping[str, frozenset[str]] = {}
        self.ran: set[str] = set()  # the listed tests that were run, compiled
        self.differed: set[str] = set()  # those of them that did what they are listed for

    def start(self, backend: str) -> None:
        """Check compiled functions too, from now on."""
        self.backend = backend
        self.gaps = listed_gaps()

    def lists(self, test: str, kind: str) -> bool:
        """Whether a test is listed under a kind; it is counted as one that is like that."""
        listed = test in self.gaps[kind]
        if listed:
            self.differed.add(f"{kind}: {test}")
        return listed

    def stale(self) -> list[str]:
        """The listed tests that were run, and did as every other test does."""
        return sorted(self.ran - self.differed)


GAPS = Path(__file__).with_name("compiled_gaps.toml")
compiled = Compiled()


def listed_gaps() -> dict[str, frozenset[str]]:
    """Kind -> ``folder/test_file.py::test_name`` of the tests that are listed under it."""
    listed = tomllib.loads(GAPS.read_text())
    return {kind: frozenset(t for entry in entries for t in entry["tests"]) for kind, entries in listed.items()}


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
        assert isinstance(actual, tnp.ndarray), f"{type(actual)}{where} is no tnp.ndarray; NumPy: {expected!r}"
        assert actual.dtype == expected.dtype, f"dtype {actual.dtype}{where}; NumPy: {expected.dtype}"
        assert actual.shape == expected.shape, f"shape {actual.shape}{where}; NumPy: {expected.shape}"
        values = tnp.asnumpy(actual)
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


def compare(
    function: Callable[..., Any], *args: Any, rtol: float | None = None, atol: float = 0.0, **kwargs: Any
) -> Any:
    """Run ``function(xp, ...)`` on both and assert that they agree; returns NumPy's outcome."""
    expected = outcome(function, np, *args, **kwargs)
    assert_same(expected, outcome(function, ours(), *args, **kwargs), rtol, atol)
    if compiled.backend is not None:
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
    compiled.ran |= {f"{kind}: {test}" for kind, listed in compiled.gaps.items() if test in listed}
    actual = outcome_compiled(function, compiled.backend, *args, **kwargs)
    if isinstance(actual, Raised) and isinstance(actual.error, tnp.TracedValueError):
        assert compiled.lists(test, "untraced"), f"can't be traced and is not listed in {GAPS.name}: {actual!r}"
        return
    try:
        assert_same(expected, actual, rtol, atol, " (compiled)")
    except AssertionError:
        if not (compiled.lists(test, "different") or (isinstance(expected, Raised) and compiled.lists(test, "values"))):
            raise


def agrees(
    test: Callable[..., Any] | None = None, *, rtol: float | None = None, atol: float = 0.0, raises: Any = None
) -> Callable[..., Any]:
    """Decorator: the test's function of ``xp`` agrees on NumPy and tnp; ``raises`` says that NumPy must raise."""

    def decorate(test: Callable[..., Any]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(*args: Any, **kwargs: Any) -> None:
            expected = compare(test, *args, rtol=rtol, atol=atol, **kwargs)
            if raises is not None:
                assert isinstance(expected, Raised) and isinstance(expected.error, raises), expected
            else:
                assert not isinstance(expected, Raised), f"NumPy itself raised {expected!r}"

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
    return np.asarray(values) if xp is np else xp.asarray(values, device=device)


def beside(xp: Any, value: Any) -> Any:
    """An operand beside arrays of the device: NumPy's array goes there where the suite runs on one."""
    return placed(xp, value) if device and isinstance(value, np.ndarray) else value
