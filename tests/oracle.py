"""NumPy as the oracle: a function over ``xp`` runs on NumPy and on tnp, and must do the same on both.

With ``pytest --compiled=BACKEND`` each function runs a third time, traced by ``tnp.compile``. ``compiled_gaps.toml``
lists the tests that can't be traced, with the reason; every other test must pass.

``@agrees`` turns ``def test_x(xp, ...)`` into a test that runs it twice. It compares the results (a pytree of arrays,
scalars and other values: value, type, dtype, shape, strides, signs of zeros, writeability), the warnings with their
lines, and the exception's class and text. A test that expects an exception says so with ``raises`` or ``may_raise``;
otherwise a misspelt name would raise on both sides and pass. ``differences.toml`` lists the tests that differ, with the
reason.
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
from backend_torch.tensors import trace_state
from backend_torch.tensors.dtypes import to_torch
from tnp._core.base import number  # what a graph returns for a number of Python's

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


device: str | None = None  # the device of ``--device``; None is the CPU


class Placing:
    """tnp as it is tested on a device: NumPy arrays among the arguments go there; tnp would leave them on the CPU.

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
    """Return the ``xp`` that is compared with NumPy."""
    return tnp if device is None else Placing(tnp)


class Listed:
    """The tests that a file lists as different, by kind, with the reason.

    Parameters
    ----------
    file : str
        The file's name beside this one: tables ``[[kind]]`` of ``reason`` and ``tests``, each a
        ``folder/test_file.py::test_name``, and perhaps ``until``, the first release of NumPy without the difference,
        or ``by_processor``, whether NumPy's result depends on the instructions that a processor has.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.ran: set[str] = set()  # the listed tests that ran
        self.differed: set[str] = set()  # those of them that differed as listed

    @functools.cached_property
    def entries(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Kinds and their entries that hold for this release of NumPy."""
        listed = tomllib.loads((Path(__file__).parent / self.file).read_text())
        release = np.lib.NumpyVersion(np.__version__)
        pairs = ((kind, entry) for kind, entries in listed.items() for entry in entries)
        return [(kind, entry) for kind, entry in pairs if release < entry.get("until", "99.0.0")]

    @functools.cached_property
    def tests(self) -> Mapping[str, frozenset[str]]:
        """Kind -> the tests listed under it."""
        kinds = {kind for kind, _ in self.entries}
        return {kind: frozenset(t for k, entry in self.entries if k == kind for t in entry["tests"]) for kind in kinds}

    def runs(self, test: str) -> None:
        """Note that a test runs which differs on every processor."""
        self.ran |= {
            f"{kind}: {test}"
            for kind, entry in self.entries
            if test in entry["tests"] and not entry.get("by_processor", False)
        }

    def lists(self, test: str, kind: str) -> bool:
        """Whether a test is listed under a kind; if so, note that it differed as listed."""
        listed = test in self.tests.get(kind, ())
        if listed:
            self.differed.add(f"{kind}: {test}")
        return listed

    def stale(self) -> list[str]:
        """Return the listed tests that ran and did not differ."""
        return sorted(self.ran - self.differed)


compiled_gaps = Listed("compiled_gaps.toml")
differences = Listed("differences.toml")
compiled_backend: str | None = None  # the backend of ``--compiled``


class Raised:
    """An exception that one side raised."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __repr__(self) -> str:
        return f"{type(self.error).__name__}: {self.error}"


def outcome(function: Callable[..., Any], xp: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the result of ``function(xp, ...)``, or the exception that it raises."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(xp, *args, **kwargs)
        except Exception as error:
            return Raised(error)


@dataclasses.dataclass
class Watched:
    """The outcome of ``function(xp, ...)``, with warnings and inputs."""

    found: Any  # the result, or ``Raised``
    warned: dict[str, set[str]]  # category of a warning -> the lines named; INSIDE stands for those of the packages
    inputs: list[Any]  # the arrays that ``placed`` made for it


INSIDE = "a line inside the package"
PACKAGES = tuple(str(Path(module.__file__).parent) for module in (np, tnp, backend_torch, torch))  # type: ignore[arg-type]
made: list[Any] | None = None  # the arrays that ``placed`` made in the present call of ``watched``; None outside


def watched(function: Callable[..., Any], xp: Any, *args: Any, **kwargs: Any) -> Watched:
    """Run ``function(xp, ...)``; return its outcome, warnings and inputs."""
    global made
    made = inputs = []
    with warnings.catch_warnings(record=True) as seen, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            found = function(xp, *args, **kwargs)
        except Exception as error:
            found = Raised(error)
        finally:
            made = None
    warned: dict[str, set[str]] = {name: set() for name in sorted({each.category.__name__ for each in seen})}
    for each in seen:
        place = INSIDE if each.filename.startswith(PACKAGES) else f"{each.filename}:{each.lineno}"
        warned[each.category.__name__].add(place)
    return Watched(found, warned, inputs)


def assert_same(expected: Any, actual: Any, rtol: float | None = None, atol: float = 0.0, where: str = "") -> None:
    """Assert that ``actual``, from tnp, equals ``expected``, from NumPy."""
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
        wanted = tnp.ndarray if expected.dtype in to_torch else type(expected)  # others stay NumPy's
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
        assert kind_of(actual) == kind_of(expected), f"{kind_of(actual)}{where}; NumPy: {kind_of(expected)}"
        assert len(actual) == len(expected), f"{len(actual)} items{where}; NumPy: {len(expected)}"
        for i, (one, other) in enumerate(zip(expected, actual, strict=True)):
            assert_same(one, other, rtol, atol, f"{where}[{i}]")
    else:
        if isinstance(expected, (bool, int, float, complex, str, bytes)) and not isinstance(actual, number):
            assert type(actual) is type(expected), f"{type(actual)}{where}; NumPy: {type(expected)}"
        assert actual == expected or (actual != actual and expected != expected), f"{actual!r}{where}; {expected!r}"


def kind_of(sequence: Any) -> Any:
    """Return what tells a list from a tuple, and named tuples from each other."""
    if isinstance(sequence, (list, tuple)):
        return list if isinstance(sequence, list) else getattr(sequence, "_fields", tuple)
    return type(sequence)


def texts_agree(expected: str, actual: str) -> bool:
    """Whether tnp's text is NumPy's, possibly with more after it, such as the user's shapes or advice."""
    wanted = expected.rstrip(" .\n")
    return actual.startswith(wanted) and not actual[len(wanted) :][:1].isalnum()  # a size of 3 is none of 30


def strides_of(array: Any) -> list[int]:
    """Return the strides that say where elements are: those of axes with several of them."""
    return [step for step, length in zip(array.strides, array.shape, strict=True) if length > 1] if array.size else []


def orders_of(array: Any) -> str:
    """Return the orders that an array has: C, F, both or neither."""
    return "C" * array.flags.c_contiguous + "F" * array.flags.f_contiguous


def zeros_signs(array: Any) -> list[Any]:
    """Return where the zeros of an array are negative, for its real and its imaginary parts."""
    parts = [array.real, array.imag] if array.dtype.kind == "c" else [array] if array.dtype.kind == "f" else []
    return [((part == 0) & np.signbit(part)).tolist() for part in parts]


def differing(expected: Any, actual: Any) -> Iterator[tuple[str, str]]:
    """Yield how two outcomes with the same values differ, as kind and description."""
    if isinstance(expected, (np.ndarray, np.generic)):
        values = np.asarray(actual)
        if values.tobytes() == expected.tobytes():
            if repr(expected) != repr(actual):  # str is asked for by tests of printing: each takes a call's time
                yield "repr", f"tnp prints {actual!r}; NumPy: {expected!r}"
        elif zeros_signs(values) != zeros_signs(expected):
            yield "zeros", f"tnp: {values}; NumPy: {expected}"
    if isinstance(expected, Raised):
        if not texts_agree(str(expected.error), str(actual.error)):
            yield "text", f"NumPy: {expected!r}\ntnp: {actual!r}"
    elif isinstance(expected, Mapping):
        for key in expected:
            yield from differing(expected[key], actual[key])
    elif isinstance(expected, np.ndarray):
        if orders_of(expected) != orders_of(actual) or strides_of(expected) != strides_of(actual):
            found = f"{orders_of(actual)}, strides {actual.strides}; NumPy: {orders_of(expected)}, {expected.strides}"
            yield "order", f"of {expected.shape}: {found}"
        if expected.flags.writeable != actual.flags.writeable:
            yield "writeable", f"{actual.flags.writeable} of {expected.shape}; NumPy: {expected.flags.writeable}"
    elif isinstance(expected, Sequence) and not isinstance(expected, (str, bytes, np.generic)):
        for one, other in zip(expected, actual, strict=True):
            yield from differing(one, other)


def arrays_in(expected: Any, actual: Any) -> Iterator[tuple[Any, Any]]:
    """Return pairs of the arrays in two outcomes of the same structure; NumPy's scalars do not count."""
    if isinstance(expected, np.ndarray):
        yield expected, actual
    elif isinstance(expected, Mapping):
        for key in expected:
            yield from arrays_in(expected[key], actual[key])
    elif isinstance(expected, Sequence) and not isinstance(expected, (str, bytes, np.generic)):
        for one, other in zip(expected, actual, strict=True):
            yield from arrays_in(one, other)


def sharing(xp: Any, inputs: Sequence[Any], results: Sequence[Any]) -> dict[tuple[int, int], str]:
    """Return which results are, or share memory with, which arrays: inputs (from -1 down) or earlier results."""
    arrays = [*reversed(inputs), *results]
    first = len(inputs)
    return {
        (i - first, j - first): "is" if arrays[i] is arrays[j] else "shares"
        for i in range(first, len(arrays))
        for j in range(i)
        if xp.may_share_memory(arrays[i], arrays[j])
    }


def assert_alike(numpys: Watched, ours: Watched) -> None:
    """Assert that two calls with the same values differ only as listed for the running test."""
    test = running_test()
    differences.runs(test)
    found = list(differing(numpys.found, ours.found))
    if list(numpys.warned) != list(ours.warned):
        found.append(("warnings", f"tnp warned of {list(ours.warned)}; NumPy: {list(numpys.warned)}"))
    elif any(
        places - ours.warned[each] - {INSIDE} or (INSIDE not in places and ours.warned[each] - places)
        for each, places in numpys.warned.items()
    ):
        found.append(("places", f"tnp names {ours.warned}; NumPy: {numpys.warned}"))
    assert len(numpys.inputs) == len(ours.inputs), "the test gives the two sides different numbers of inputs"
    if not isinstance(numpys.found, Raised):
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

    NumPy must raise one of the classes ``raises``, and may raise one of ``may_raise``. Calls that Hypothesis draws may
    raise any refusal. Only their values and exception classes are compared: other differences would depend on the draw.
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
    """Return the outcome of ``function(tnp, ...)``, compiled whole; a graph that can't be compiled is an error."""

    def traced(xp: Any) -> Any:
        found = xp.compile(lambda: function(xp, *args, **kwargs), backend=backend, fullgraph=True)
        compiling.warned.clear()
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "tnp.compile runs the traced operations one by one", RuntimeWarning)
            return found()

    return outcome(traced, ours())


def running_test() -> str:
    """Return the running test as ``folder/test_file.py::test_name``."""
    return os.environ["PYTEST_CURRENT_TEST"].partition("[")[0].partition(" ")[0].removeprefix("tests/")


def compare_compiled(
    expected: Any, function: Callable[..., Any], *args: Any, rtol: float | None, atol: float, **kwargs: Any
) -> None:
    """Assert that the compiled function has the expected outcome, unless the running test is listed as a gap."""
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
    """Decorator: assert that a test's function of ``xp`` agrees on NumPy and tnp; ``raises``: NumPy must raise."""

    def decorate(test: Callable[..., Any]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(*args: Any, **kwargs: Any) -> None:
            compare(test, *args, rtol=rtol, atol=atol, raises=raises, **kwargs)

        parameters = list(inspect.signature(test).parameters.values())
        run.__signature__ = inspect.Signature(parameters[1:])  # type: ignore[attr-defined]
        return run

    return decorate if test is None else decorate(test)


def sample(xp: Any, shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    """Return an array of small mixed values, the same on both sides, drawn by NumPy."""
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
    """Return NumPy's values as an array of ``xp``; tnp's array is on the suite's device."""
    array = np.asarray(values) if xp is np else xp.asarray(values, device=device)
    if made is not None and not trace_state.is_tracing():  # a graph can't note it
        made.append(array)
    return array


def beside(xp: Any, value: Any) -> Any:
    """Return an operand for arrays of the suite's device: a NumPy array goes to that device."""
    return placed(xp, value) if device and isinstance(value, np.ndarray) else value
