"""tnp.polynomial does what numpy.polynomial does, with arrays of ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tnp
from tests.oracle import agrees, compare

pytestmark = pytest.mark.reads  # NumPy computes
KINDS = {
    "polynomial": ("poly", "Polynomial"),
    "chebyshev": ("cheb", "Chebyshev"),
    "legendre": ("leg", "Legendre"),
    "hermite": ("herm", "Hermite"),
    "hermite_e": ("herme", "HermiteE"),
    "laguerre": ("lag", "Laguerre"),
}
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


@pytest.mark.parametrize("kind", KINDS)
@agrees(**CLOSE)
def test_functions(xp: Any, kind: str) -> Any:
    module = getattr(xp.polynomial, kind)
    prefix = KINDS[kind][0]
    c, x = xp.asarray([1.0, 2.0, 3.0]), xp.asarray([[-0.5, 0.25], [0.0, 1.0]])
    names = ["add", "sub", "mul", "div"]
    return [
        *[getattr(module, prefix + name)(c, xp.asarray([2.0, 1.0])) for name in names],
        getattr(module, f"{prefix}val")(x, c),
        getattr(module, f"{prefix}der")(c),
        getattr(module, f"{prefix}int")(c, k=[1]),
        getattr(module, f"{prefix}roots")(c),
        getattr(module, f"{prefix}vander")(x, 3),
        getattr(module, f"{prefix}fit")(xp.asarray([0.0, 1.0, 2.0]), xp.asarray([1.0, 3.0, 5.0]), 1),
        getattr(module, f"{prefix}one"),
        getattr(module, f"{prefix}domain"),
    ]


@pytest.mark.parametrize("kind", KINDS)
@agrees(**CLOSE)
def test_classes(xp: Any, kind: str) -> Any:
    cls = getattr(xp.polynomial, KINDS[kind][1])
    p, q = cls(xp.asarray([1.0, -3.0, 2.0])), cls([0.5, 1.0])
    return [
        p.coef, (p + q).coef, (p * q).coef, (p - 1).coef, (2 * p).coef, (p // q).coef, (p**2).coef, (-p).coef,
        p(xp.asarray([0.0, 0.5])), p(0.25), p.roots(), p.deriv().coef, p.integ().coef, p.linspace(3), p.degree(),
        str(p), repr(p), f"{p:ascii}", p == p, len(p), p.cutdeg(1).coef, p.trim().coef, bool(p == q),
        cls.fit(xp.asarray([0.0, 1.0, 2.0]), xp.asarray([1.0, 3.0, 5.0]), 1).coef,
        cls.fromroots(xp.asarray([1.0, 2.0])).coef, p.convert(kind=xp.polynomial.Polynomial).coef, cls.basis(2).coef,
    ]  # fmt: skip


def test_names() -> None:
    from tnp.polynomial.chebyshev import chebval

    assert float(chebval(0.5, tnp.asarray([1.0, 2.0]))) == 2.0
    assert set(dir(tnp.polynomial.legendre)) == set(np.polynomial.legendre.__all__)
    with pytest.raises(AttributeError):
        tnp.polynomial.hermite.no_such  # noqa: B018
    compare(lambda xp: xp.polynomial.polynomial.polyval(1, []), raises=IndexError)
    compare(lambda xp: xp.polynomial.polyutils.trimseq(xp.asarray([1, 2, 0])))


@pytest.mark.parametrize("kind", KINDS)
def test_names_and_formulas_are_numpys(kind: str) -> None:
    assert dir(getattr(tnp.polynomial, kind)) == sorted(getattr(np.polynomial, kind).__all__)
    compare(lambda xp: getattr(xp.polynomial, KINDS[kind][1])([1.0, -2.0, 3.0])._repr_latex_())
