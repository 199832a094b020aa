"""Python runs the statements of a compiled function whose data no tensor holds: text, objects, dates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tnp
from tests.oracle import assert_same

NAMES = numpy.array(["x", "y", "x"])


def by_name(np: Any, x: Any) -> Any:
    order = np.argsort(np.array(["b", "a", "c"]))
    return x[order] * 2


def by_date(np: Any, x: Any) -> Any:
    days = np.array(["2020-01-01", "2020-01-03"], dtype="M8[D]")
    return x * (days[1] - days[0]).astype(int)


def by_object(np: Any, x: Any) -> Any:
    values = np.array([1, None], dtype=object)
    return x + len(values)


def by_label(np: Any, x: Any) -> Any:
    labels, places = np.unique(NAMES, return_inverse=True)
    return np.bincount(places, weights=x) / len(labels)


@pytest.mark.filterwarnings("ignore:tnp.compile:RuntimeWarning")
@pytest.mark.parametrize("program", [by_name, by_date, by_object, by_label])
def test_the_graph_is_cut(program: Callable[..., Any]) -> None:
    compiled = tnp.compile(lambda x: program(tnp, x), backend="eager")
    for values in ([1.0, 2.0, 3.0], [4.0, 5.0, 7.0]):
        assert_same(program(numpy, numpy.array(values)), compiled(tnp.array(values)))


def test_text_among_the_arguments() -> None:
    def counted(np: Any, x: Any, names: Any) -> Any:
        labels, places = np.unique(names, return_inverse=True)
        return np.bincount(places, weights=x), labels

    compiled = tnp.compile(lambda x, names: counted(tnp, x, names), backend="eager")
    with pytest.warns(RuntimeWarning, match="is cut at .*no tensor has dtype"):
        compiled(tnp.ones(3), NAMES)
    for names in (NAMES, numpy.array(["a", "b", "c"])):
        x = numpy.arange(3.0)
        expected, actual = counted(numpy, x, names), compiled(tnp.asarray(x), names)
        assert_same(expected[0], actual[0])
        assert actual[1].tolist() == expected[1].tolist()


def test_a_full_graph_refuses_them() -> None:
    with pytest.raises(TypeError, match="no tensor has dtype"):
        tnp.compile(lambda x: by_name(tnp, x), backend="eager", fullgraph=True)(tnp.ones(3))
