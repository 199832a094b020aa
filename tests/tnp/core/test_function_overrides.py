"""Libraries' arrays that override functions by ``__array_function__``, and derive from no array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tnp
from tests.oracle import agrees, compare

pytestmark = pytest.mark.host  # elsewhere xp stands for tnp, and its functions for tnp's


def quantities(xp: Any) -> Any:
    """Return a class that implements some functions of ``xp``, as a program writes it."""
    implemented: dict[Any, Callable[..., Any]] = {
        xp.sum: lambda a, axis=None: ("sum", axis),
        xp.max: lambda a, axis=None, out=None: ("max", axis, out),
        xp.concatenate: lambda arrays, axis=0: ("concatenate", len(arrays), axis),
        xp.where: lambda condition, x, y: "where",
        xp.dot: lambda a, b: "dot",
        xp.reshape: lambda a, shape, order="C": ("reshape", shape, order),
        xp.einsum: lambda *operands, **options: ("einsum", len(operands), options),
        xp.meshgrid: lambda *xi, indexing="xy": ("meshgrid", len(xi), indexing),
        xp.copyto: lambda dst, src, casting="same_kind": ("copyto", casting),
        xp.linalg.norm: lambda x, ord=None: ("norm", ord),
        xp.fft.fft: lambda a, n=None: ("fft", n),
        xp.shape: lambda a: (7,),
        xp.clip: lambda a, a_min, a_max: ("clip", a_min, a_max),
    }

    class Quantity:
        def __init__(self, values: Any) -> None:
            self.values = xp.asarray(values)

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return self.values

        def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
            if function not in implemented or not all(issubclass(kind, (Quantity, xp.ndarray)) for kind in types):
                return NotImplemented
            return implemented[function](*args, **kwargs)

        def max(self) -> str:
            return "the method"

    return Quantity


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda xp, q: (xp.sum(q), xp.sum(q, axis=0), xp.sum(q, 0)),
    "a method of its name": lambda xp, q: xp.max(q, axis=0),
    "concatenate": lambda xp, q: (xp.concatenate([q, q], axis=1), xp.concatenate([xp.ones(2), q])),
    "where": lambda xp, q: (xp.where(xp.ones(2) > 0, q, 1.0), xp.where(q, 1.0, 2.0)),
    "dot": lambda xp, q: (xp.dot(q, xp.ones(2)), xp.dot(xp.ones(2), q)),
    "reshape": lambda xp, q: (xp.reshape(q, (2, 1)), xp.reshape(q, -1, order="F")),
    "einsum": lambda xp, q: xp.einsum("i,i", q, xp.ones(2)),
    "meshgrid": lambda xp, q: (xp.meshgrid(q, q), xp.meshgrid(q, indexing="ij")),
    "copyto": lambda xp, q: (xp.copyto(q, 1), xp.copyto(xp.ones(2), q, casting="unsafe")),
    "linalg and fft": lambda xp, q: (xp.linalg.norm(q, ord=2), xp.fft.fft(q)),
    "shape": lambda xp, q: xp.shape(q),
    "clip": lambda xp, q: xp.clip(q, 0, 1),
    "no function of a list": lambda xp, q: xp.asarray([q, q]),
    "no overridable function": lambda xp, q: (xp.asarray(q), xp.add(q, xp.ones(2)), xp.ones(2) + xp.ones(2).dot(q)),
}


@pytest.mark.parametrize("bins", [lambda q: q, lambda q: [q, 5], lambda q: [5, q]])
def test_bins_are_asked(bins: Any) -> None:
    compare(lambda xp: xp.histogram2d([1, 2], [3, 4], bins=bins(quantities(xp)([1.0, 2.0]))), raises=TypeError)


@pytest.mark.parametrize("name", CALLS)
def test_overrides(name: str) -> None:
    compare(lambda xp: CALLS[name](xp, quantities(xp)([1.0, 2.0])))


REFUSED = [
    "mean", "median", "linalg.inv", "linalg.lstsq", "split", "unstack", "rollaxis", "putmask", "place",
    "fill_diagonal", "take_along_axis", "astype", "histogram2d", "array2string", "lexsort", "common_type", "isclose",
]  # fmt: skip
ARGUMENTS: dict[str, int] = {
    "linalg.lstsq": 2, "split": 2, "rollaxis": 2, "putmask": 3, "place": 3, "fill_diagonal": 2, "take_along_axis": 2,
    "astype": 2, "histogram2d": 2, "isclose": 2,
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
@agrees(raises=TypeError)
def test_what_the_class_does_not_implement(xp: Any, name: str) -> Any:
    """The class is asked before the function looks at its arguments; nothing is stripped of its units."""
    function = xp
    for part in name.split("."):
        function = getattr(function, part)
    quantity = quantities(xp)([1.0, 2.0])
    return function(*[quantity] * ARGUMENTS.get(name, 1))


def test_a_class_written_for_numpy_gets_numpys_function() -> None:
    seen = []

    class Quantity:
        def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
            seen.append((function, types, kwargs))
            return "asked"

    alone = dict(vars(Quantity))
    code = alone["__array_function__"]
    library = type(code)(code.__code__, {}, code.__name__, None, code.__closure__)
    Quantity.__array_function__ = library  # type: ignore[method-assign]  as in a module that knows NumPy alone
    assert tnp.mean(Quantity(), axis=0) == "asked"
    assert tnp.linalg.norm(Quantity()) == "asked"
    assert [function for function, _, _ in seen] == [np.mean, np.linalg.norm]
    assert seen[0][1:] == ((Quantity,), {"axis": 0})


def test_an_error_of_the_function_itself_stays() -> None:
    with pytest.raises(AttributeError, match="'str' object has no attribute"):
        tnp.rollaxis("text", 0)
