"""repr, str and format: NumPy's text of every array and scalar."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tnp
from tests.oracle import ALL, FLOATS, agrees, compare, sample

pytestmark = pytest.mark.host  # elsewhere the device is part of the text

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-300, 1e300, 1 / 3, 12345.678, 1e-5, 100000.0]


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3,), (2, 3), (2, 0), (2, 2, 2), (1100,), (40, 40)])
@pytest.mark.parametrize("dtype", ALL)
@agrees
def test_arrays(xp: Any, dtype: str, shape: tuple[int, ...]) -> Any:
    x = xp.asarray(sample(np, shape, dtype))
    return repr(x), str(x), f"{x}", repr(x.T)


@pytest.mark.parametrize("dtype", ALL)
@agrees
def test_scalars(xp: Any, dtype: str) -> Any:
    x = sample(xp, (3,), dtype)
    return [(repr(s), str(s), f"{s}", f"{s!r:>30}", "%s" % s) for s in x]  # noqa: UP031


@pytest.mark.parametrize("dtype", [*FLOATS, "complex64", "complex128"])
@agrees
def test_special_values(xp: Any, dtype: str) -> Any:
    with np.errstate(over="ignore"):
        x = xp.asarray(np.array(SPECIAL).astype(dtype))
    return repr(x), str(x), [repr(s) for s in x], [str(s) for s in x]


@pytest.mark.parametrize(
    "spec", ["", ".3f", "10.2e", "+g", "08.1f", "%", "d", "x", "05d", ",", "s", ">12", "j", "n", ".2"]
)
@pytest.mark.parametrize("dtype", ["bool", "int64", "uint8", "float32", "float64", "float16", "complex128"])
def test_format(dtype: str, spec: str) -> None:
    compare(lambda xp: format(xp.asarray(np.array([3, 1]).astype(dtype))[0], spec), may_raise=ValueError)
    compare(lambda xp: format(xp.asarray(np.array(3).astype(dtype)), spec), may_raise=ValueError)
    compare(lambda xp: format(xp.ones(2, dtype), spec), may_raise=TypeError)


@pytest.mark.parametrize(
    "options",
    [
        {"precision": 2}, {"suppress": True}, {"threshold": 3}, {"edgeitems": 1, "threshold": 2}, {"linewidth": 30},
        {"sign": "+"}, {"floatmode": "fixed", "precision": 5}, {"nanstr": "none", "infstr": "big"},
        {"formatter": {"float": "<{:.1f}>".format}}, {"legacy": "1.13"}, {"legacy": "1.25"},
        {"override_repr": lambda a: f"{a.size} elements"},
    ],
    ids=lambda options: str(list(options)),
)  # fmt: skip
@agrees
def test_print_options(xp: Any, options: dict[str, Any]) -> Any:
    x = xp.asarray(np.array(SPECIAL).reshape(11, 1) * [1, 2.5, -3])
    with np.printoptions(**options):
        return repr(x), str(x), repr(x[0, 1]), str(x[0, 1]), repr(xp.arange(30)), f"{x[8, 0]}"


@given(hnp.arrays(st.sampled_from([np.dtype(d) for d in ALL]), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0)))
def test_arrays_drawn_at_random(values: np.ndarray) -> None:
    x = tnp.asarray(values)
    assert (repr(x), str(x)) == (repr(values), str(values))
    if values.ndim == 1 and values.size:
        assert (repr(x[0]), str(x[0])) == (repr(values[0]), str(values[0]))


def test_views_and_lazy_tensors() -> None:
    x = tnp.arange(6).reshape(2, 3)
    assert repr(x.T) == repr(np.asarray(x).T) and repr(tnp.broadcast_to(x, (2, 2, 3))[1]) == repr(x)
    assert repr(tnp.asarray(torch.tensor([1 + 2j]).conj())) == "array([1.-2.j], dtype=complex64)"
    assert repr(tnp.asarray(torch.ones(2, requires_grad=True)) * 2) == "array([2., 2.], dtype=float32)"


def test_arrays_without_values_say_what_they_are() -> None:
    x = tnp.asarray(torch.ones(2, 3, device="meta"))
    text = "array(shape=(2, 3), dtype=float32, device='meta')"
    assert (repr(x), str(x), f"{x}", f"{x:.3f}") == (text,) * 4
    assert repr(tnp.asarray(torch.ones((), device="meta")) + 1).startswith("array(shape=()")


def test_arrays_inside_vmap_can_be_printed() -> None:
    seen = []

    def look(t: torch.Tensor) -> torch.Tensor:
        seen.append(repr(tnp.asarray(t)))
        return t

    torch.vmap(look)(torch.ones(4, 3))
    assert seen == ["array(shape=(3,), dtype=float32, device='cpu')"]


def test_options_of_text_without_values_are_looked_at_for_arrays_alone() -> None:
    assert np.array_str(np.asarray(1.5), precision="no") == "1.5"  # type: ignore[arg-type]
    assert "shape=()" in tnp.array_str(tnp.asarray(torch.ones((), device="meta")), precision="no")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="precision must be an integer"):
        tnp.array_str(tnp.asarray(torch.ones(2, device="meta")), precision="no")  # type: ignore[arg-type]


def test_arrays_from_outside_are_read_inside_transforms() -> None:
    x, z = tnp.asarray([1.5, 2.0]), tnp.asarray([1 + 2j]).conj()
    read: list[Any] = []

    def function(y: Any) -> Any:
        read.append((repr(x), str(z), tnp.array2string(x), tnp.asnumpy(x).tolist()))
        return y.sum()

    function(x)
    tnp.grad(function)(tnp.ones(3))
    tnp.grad(lambda y: tnp.grad(function)(y).sum() + y.sum())(tnp.ones(3))
    tnp.jvp(function, (tnp.ones(3),), (tnp.ones(3),))
    tnp.vectorized_map(function, tnp.ones((2, 3)))
    assert read == read[:1] * 5


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an accelerator")
def test_device_is_named() -> None:
    x = tnp.ones(2, device="cuda")
    assert repr(x) == "array([1., 1.], device='cuda:0')" and str(x) == "[1. 1.]" and repr(x[0]) == "np.float64(1.0)"


@pytest.mark.parametrize("name", ["array_repr", "array_str", "array2string"])
@pytest.mark.parametrize("options", [{}, {"precision": 2}, {"max_line_width": 20}, {"suppress_small": True}])
def test_functions(name: str, options: dict[str, Any]) -> None:
    compare(lambda xp: getattr(xp, name)(sample(xp, (3, 4), "float64") / 1000, **options))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@agrees
def test_format_float(xp: Any, dtype: str) -> Any:
    x = sample(xp, (2,), dtype)[0]
    return [
        xp.format_float_positional(x),
        xp.format_float_positional(x, 3, unique=False),
        xp.format_float_scientific(x),
        xp.format_float_scientific(x, 2, exp_digits=3),
        xp.array2string(sample(xp, (3,), dtype), separator=", ", prefix="x=", floatmode="fixed", sign="+"),
    ]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@agrees
def test_format_float_of_an_array(xp: Any, dtype: str) -> Any:
    """An array of zero dimensions counts as a Python float, whose digits are float64's."""
    x = xp.asarray(0.1, dtype=dtype)
    return xp.format_float_positional(x), xp.format_float_scientific(x), xp.format_float_scientific(x, 2)


@pytest.mark.parametrize("name", ["array_repr", "array_str", "array2string"])
def test_wrong_options_are_refused_where_there_are_no_values(name: str) -> None:
    function = getattr(tnp, name)
    assert "dtype=float64" in tnp.compile(lambda x: function(x, precision=3), backend="eager")(tnp.ones(2))
    with pytest.raises(TypeError, match="precision must be an integer"):
        tnp.compile(lambda x: function(x, precision=b"x"), backend="eager")(tnp.ones(2))
