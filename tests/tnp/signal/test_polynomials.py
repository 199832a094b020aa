"""Polynomials by their coefficients, and poly1d, do what NumPy's do."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tnp
from tests.oracle import ALL, agrees, compare, sample

CLOSE = {"rtol": 1e-9, "atol": 1e-9}
PAIRS = ["polyadd", "polysub", "polymul", "polydiv"]


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", PAIRS)
def test_pairs(name: str, dtype: str) -> None:
    tolerance = {"rtol": 2e-2, "atol": 1e-1} if dtype in ("float16", "float32", "complex64") else CLOSE
    for sizes in ((3, 3), (2, 4), (4, 2), (1, 1)):
        if dtype == "bool" and name == "polysub":
            continue  # no subtraction of bools: same error on both sides, tested with the ufuncs
        one, other = sizes
        compare(
            lambda xp, one=one, other=other: getattr(xp, name)(
                sample(xp, (one,), dtype, 5), sample(xp, (other,), dtype, 7)
            ),
            **tolerance,
        )


@pytest.mark.parametrize("roots", [[], [1, 2], [1.5, -2, 3], [1j, -1j], [1j, 2], [[1.0, 2], [3, 4]], [[1, 2, 3]]])
def test_poly(roots: Any) -> None:
    compare(lambda xp: xp.poly(roots), **CLOSE, may_raise=ValueError)


@pytest.mark.parametrize("p", [[1, -3, 2], [0, 0, 1, -3, 0], [0, 0], [], [5], [1, 0, 1], [1j, 2, 1], [[1, 2]]])
def test_roots(p: Any) -> None:
    compare(lambda xp: xp.sort(xp.roots(p)), **CLOSE, may_raise=ValueError)


@pytest.mark.parametrize("m", [0, 1, 2, 5, -1])
@pytest.mark.parametrize("dtype", ["int32", "float32", "complex128"])
def test_integrals_and_derivatives(m: int, dtype: str) -> None:
    compare(lambda xp: xp.polyder(sample(xp, (4,), dtype), m), **CLOSE, may_raise=ValueError)
    for k in (None, 3, [1, 2, 3]):
        compare(lambda xp, k=k: xp.polyint(sample(xp, (4,), dtype), m, k), rtol=1e-6, may_raise=ValueError)
        if m == 0:
            compare(lambda xp, k=k: xp.polyint(sample(xp, (), dtype), m, k))


@pytest.mark.parametrize("m", [2**31, 2**62, 10**5])
def test_integrals_without_end(m: int) -> None:
    """As many as NumPy's recursion does not reach; of derivatives nothing is left."""
    compare(lambda xp: xp.polyint(xp.asarray([1.0, 2.0]), m), raises=(RecursionError, ValueError))
    if m < 2**31:  # NumPy makes as many ones
        compare(lambda xp: xp.poly1d([1.0, 2.0]).integ(m), raises=RecursionError)
    compare(lambda xp: xp.polyint(xp.asarray([1.0, 2.0]), m, [1, 2]), raises=ValueError)
    assert tnp.polyder([1.0, 2.0], m).shape == tnp.diff([1.0, 2.0], m).shape == (0,)


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64", "complex128"])
@agrees(rtol=1e-5, atol=1e-5)
def test_polyval(xp: Any, dtype: str) -> Any:
    p, x = sample(xp, (4,), dtype), sample(xp, (2, 3), "float64", 1)
    return xp.polyval(p, x), xp.polyval(p, 2), xp.polyval(p, x[0, 0]), xp.polyval([], 3)


@pytest.mark.parametrize("options", [
    {}, {"w": [1, 2, 1, 2, 1, 2]}, {"full": True}, {"cov": True}, {"cov": "unscaled"}, {"deg": 0}, {"deg": -1},
    {"w": [1]}, {"w": [[1]]}, {"deg": 5, "cov": True},
])  # fmt: skip
@pytest.mark.parametrize("columns", [(), (2,)])
def test_polyfit(options: dict[str, Any], columns: tuple[int, ...]) -> None:
    def fitted(xp: Any) -> Any:
        x, y = sample(xp, (6,), "float64"), sample(xp, (6, *columns), "float64", 1)
        result = xp.polyfit(x, y, **{"deg": 2, **options})
        if not options.get("full"):
            return result
        c, residuals, rank, values, rcond = result
        return c, residuals, int(rank), values, float(rcond)

    compare(fitted, rtol=1e-6, atol=1e-8, may_raise=(TypeError, ValueError))


@pytest.mark.parametrize("arguments", [([[1]], [1], 1), ([], [], 1), ([1, 2], [1], 1), ([1], [[[1]]], 1)])
def test_polyfit_arguments(arguments: Any) -> None:
    compare(lambda xp: xp.polyfit(*arguments), raises=TypeError)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv"])
@pytest.mark.parametrize("other", [2, [1.0, 4.0, 2.0], "poly"])
def test_operators(name: str, other: Any) -> None:
    def computed(xp: Any, reflected: bool) -> Any:
        p = xp.poly1d([2.0, -1.0, 4.0, 1.0])
        right = xp.poly1d([1.0, 3.0]) if other == "poly" else other
        result = getattr(operator, name)(right, p) if reflected else getattr(operator, name)(p, right)
        return [each.coeffs for each in result] if isinstance(result, tuple) else result.coeffs

    compare(computed, False, **CLOSE)
    compare(computed, True, **CLOSE)


@pytest.mark.reads
@agrees(**CLOSE)
def test_poly1d(xp: Any) -> Any:
    p = xp.poly1d([0, 0, 2, -3, 1], variable="z")
    q = xp.poly1d([1, 2], r=True)
    p[5] = 7
    return [
        p.coeffs, p.order, len(p), p.variable, p[0], p[5], p[9], list(p), p(3), p(xp.asarray([1, 2])),
        p(q).coeffs, (p**2).coeffs, (-p).coeffs, p.deriv().coeffs, p.integ(2, [1, 2]).coeffs, q.roots, q.r, q == p,
        q != p, q == xp.poly1d([1, -3, 2]), xp.asarray(p), xp.polyadd(p, [1]).coeffs, xp.poly1d([0]).coeffs, q == 3,
        xp.asarray([1.0, 2.0, 4.0]) * q,
    ]  # fmt: skip


@pytest.mark.host
@agrees
def test_poly1d_as_text(xp: Any) -> Any:
    p = xp.poly1d([0, 0, 2, -3, 1], variable="z")
    p[5] = 7
    return str(p), repr(p), str(xp.poly1d([1.5, 1j, 2 - 1j, 0]))


@pytest.mark.parametrize("wrong", [[[1, 2]], None])
def test_poly1d_arguments(wrong: Any) -> None:
    compare(
        lambda xp: xp.poly1d([[1, 2]] if wrong else [1, 2]).coeffs if wrong else xp.poly1d([1, 2]) ** -1,
        raises=ValueError,
    )


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=6), st.lists(st.integers(-9, 9), min_size=1, max_size=6))
def test_any(one: list[int], other: list[int]) -> None:
    for name in PAIRS[:3]:
        compare(lambda xp, name=name: getattr(xp, name)(xp.asarray(one), xp.asarray(other)))
    if other[0]:
        compare(lambda xp: xp.polydiv(xp.asarray(one), xp.asarray(other)), **CLOSE)


def test_gradient_of_a_fit() -> None:
    y = tnp.asarray([1.0, 3.0, 5.0])
    y.tensor.requires_grad_()
    tnp.polyfit(tnp.asarray([0.0, 1.0, 2.0]), y, 1)[0].tensor.backward()
    np.testing.assert_allclose(y.tensor.grad.tolist(), [-0.5, 0.0, 0.5], atol=1e-12)


@pytest.mark.parametrize("shapes", [((3,), (2, 3)), ((2, 3), (3,))])
def test_a_traced_product_names_the_shape_that_is_wrong(shapes: tuple[tuple[int, ...], ...]) -> None:
    compare(lambda xp: xp.polymul(*map(xp.ones, shapes)), raises=ValueError)
    with pytest.raises(ValueError, match="1d only"):
        tnp.compile(tnp.polymul, backend="eager")(*map(tnp.ones, shapes))
