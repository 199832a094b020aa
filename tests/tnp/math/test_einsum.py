"""einsum: subscripts, dtypes, options, views and refusals against NumPy."""

from __future__ import annotations

from string import ascii_letters
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tnp
from tests.oracle import ALL, agrees, compare, sample

RTOL = {"float16": 1e-2, "float32": 1e-5, "complex64": 1e-5}
EYE = [[1.0, 2.0], [3.0, 4.0]]


def check(call: Any, dtype: str) -> None:
    """Agreement on a sum of products: exact for integers, else within a tolerance."""
    rtol = RTOL.get(dtype, 1e-12)
    compare(call, **({"rtol": rtol, "atol": rtol} if np.dtype(dtype).kind in "fc" else {}), may_raise=ValueError)


A, B, C = (2, 3), (3, 4), (4, 2)
EINSUMS: list[tuple[str, list[tuple[int, ...]]]] = [
    ("ij,jk", [A, B]),
    ("ij,jk->ik", [A, B]),
    ("ij,jk->ki", [A, B]),
    ("ij,jk->", [A, B]),
    ("ij,jk->j", [A, B]),
    ("ij,kl", [A, B]),
    ("ij,jk,kl", [A, B, C]),
    ("ij,jk,ki", [A, B, C]),
    ("ij,jk,ki->k", [A, B, C]),
    ("ij,kl,m->jlm", [A, B, (5,)]),
    ("ij", [A]),
    ("ba", [A]),
    ("ij->", [A]),
    ("ij->j", [A]),
    ("ij->ji", [A]),
    ("ii", [(3, 3)]),
    ("ii->i", [(3, 3)]),
    ("iij->j", [(3, 3, 2)]),
    ("iji->ij", [(3, 2, 3)]),
    ("iii", [(2, 2, 2)]),
    ("i,i", [(3,), (3,)]),
    ("i,i->i", [(3,), (3,)]),
    ("i,j->ij", [(3,), (2,)]),
    ("i,->i", [(3,), ()]),
    (",", [(), ()]),
    ("", [()]),
    ("->", [()]),
    ("ij,ij->ij", [A, A]),
    ("ii,i->i", [(3, 3), (3,)]),
    ("ii,jj->ij", [(3, 3), (2, 2)]),
    ("aB,Bc", [A, B]),
    ("Ab", [A]),
    ("...", [A]),
    ("...i->i...", [A]),
    ("...i,i", [(2, 4, 3), (3,)]),
    ("i...,...i", [A, (2, 2)]),
    ("i...->...", [A]),
    ("...ij,...jk->...ik", [(5, 2, 3), (1, 3, 4)]),
    ("...ij,jk", [(5, 2, 3), (3, 4)]),
    ("...,...", [(2, 1, 3), (4, 3)]),
    ("...i,...i->...", [(2, 3), (4, 1, 3)]),
    (" i j , j k -> i k ", [A, B]),
    ("ij,j->i", [(2, 1), (3,)]),
    ("i,i->i", [(1,), (3,)]),
    ("ij,jk->ik", [(0, 3), (3, 2)]),
    ("ij,jk->ik", [(2, 0), (0, 2)]),
    # Refused.
    ("ij,jk->q", [A, B]),
    ("ij,jk->ii", [A, B]),
    ("ijk", [A]),
    ("i", [A]),
    ("ij,ij", [A, B]),
    ("i,i", [(2,), (3,)]),
    ("ij,jk", [A]),
    ("ij", [A, B]),
    ("i$", [A]),
    ("i->->", [A]),
    ("i-j", [A]),
    ("i>j", [A]),
    ("i1", [A]),
    ("i...->i", [A]),
    ("ij..", [A]),
    ("ij.", [A]),
    ("...ij...", [A]),
    ("ii->i", [(1, 3)]),
    ("ii", [(2, 3)]),
    ("ij->", []),
]


@pytest.mark.parametrize(("subscripts", "shapes"), EINSUMS, ids=str)
def test_einsum(subscripts: str, shapes: list[tuple[int, ...]]) -> None:
    for dtype in ("int64", "float64", "bool", "uint16", "int8"):
        check(lambda xp, d=dtype: xp.einsum(subscripts, *[sample(xp, s, d, i) for i, s in enumerate(shapes)]), dtype)


@pytest.mark.usefixtures("computed_by")
@pytest.mark.parametrize(
    "subscripts", ["ij,jk", "ij,kj->ki", "ji,jk->ki", "ij,k->ikj", "ij,ij->i", "ijk,kl->lji", "iij->j", "jik->kj"]
)
def test_einsum_of_turned_operands(subscripts: str) -> None:
    """The result has the order in which NumPy's iterator sorts the axes of all operands."""
    terms = subscripts.partition("->")[0].split(",")

    def turned(xp: Any, term: str, rank: int) -> Any:
        x = xp.arange(3 ** len(term)).reshape((3,) * len(term))
        return x.T if rank else xp.broadcast_to(x[:1], x.shape) if term == "ij" else x

    for ranks in ((1, 1), (0, 1), (1, 0), (0, 0)):
        compare(lambda xp, r=ranks: xp.einsum(subscripts, *[turned(xp, *each) for each in zip(terms, r, strict=False)]))


@pytest.mark.parametrize("dtype", ALL)
def test_einsum_dtypes(dtype: str) -> None:
    for other in ALL:
        result = str(np.result_type(dtype, other))
        check(lambda xp, o=other: xp.einsum("ij,kj->ik", sample(xp, A, dtype), sample(xp, A, o, 1)), result)
    check(lambda xp: xp.einsum("ij->j", sample(xp, A, dtype)), dtype)


@agrees
def test_einsum_with_lists(xp: Any) -> Any:
    a, b = xp.arange(6).reshape(2, 3), xp.arange(12).reshape(3, 4)
    return (
        xp.einsum(a, [0, 1]),
        xp.einsum(a, [1, 0]),
        xp.einsum(a, [0, 1], [1]),
        xp.einsum(a, [0, 1], b, [1, 2]),
        xp.einsum(a, [0, 1], b, [1, 2], [2, 0]),
        xp.einsum(a, [0, 30], b, [30, 2]),
        xp.einsum(a, [0, ...], [..., 0]),
        xp.einsum(a, (0, 1), []),
    )


@pytest.mark.parametrize("subscripts", [[0, 99], [0, -1], [0, "i"], [0, 1.0], [0], [0, 1, 2], 3], ids=str)
def test_einsum_with_wrong_lists(subscripts: Any) -> None:
    compare(lambda xp: xp.einsum(xp.ones((2, 3)), subscripts), raises=(TypeError, ValueError))


@pytest.mark.parametrize(
    "options",
    [
        {"dtype": "f8"},
        {"dtype": "f4"},
        {"dtype": "f4", "casting": "same_kind"},
        {"dtype": "f4", "casting": "unsafe"},
        {"dtype": "c16"},
        {"casting": "nonsense"},
        {"order": "F"},
        {"order": "Z"},
        {"optimize": True},
        {"optimize": "greedy"},
        {"nonsense": 1},
    ],
    ids=str,
)
def test_einsum_options(options: dict[str, Any]) -> None:
    compare(
        lambda xp: xp.einsum("ij,jk", xp.asarray(EYE), xp.asarray(EYE), **options),
        rtol=1e-6,
        may_raise=(TypeError, ValueError),
    )
    compare(lambda xp: xp.einsum("ij->j", xp.asarray(EYE), **options), rtol=1e-6, may_raise=(TypeError, ValueError))


@pytest.mark.parametrize("out_dtype", ["int8", "int64", "float32", "float64", "complex64"])
@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
@pytest.mark.parametrize("casting", ["safe", "same_kind", "unsafe"])
def test_einsum_out(dtype: str, out_dtype: str, casting: str) -> None:
    def call(xp: Any) -> Any:
        x = xp.asarray([[100, 100], [3, 4]]).astype(dtype)
        out = xp.zeros(2, dtype=out_dtype)
        return xp.einsum("ij->i", x, out=out, casting=casting) is out, out

    compare(call, may_raise=TypeError)


@pytest.mark.parametrize("name", ["dot", "matmul", "outer", "einsum"])
def test_out_that_is_no_array(name: str) -> None:
    def call(xp: Any) -> Any:
        operands = ("i,i", xp.ones(2), xp.ones(2)) if name == "einsum" else (xp.ones(2), xp.ones(2))
        return getattr(xp, name)(*operands, out=[1.0])

    compare(call, raises=TypeError)
    with pytest.raises(TypeError):
        tnp.einsum("i,i", tnp.ones(2), tnp.ones(2), out=tnp.sum(tnp.ones(2)))


@pytest.mark.parametrize("shape", [(2, 2), (3,), (), (1,)])
def test_einsum_out_of_another_shape(shape: tuple[int, ...]) -> None:
    compare(lambda xp: xp.einsum("ij->i", xp.ones((2, 2)), out=xp.zeros(shape)), raises=ValueError)


@agrees
def test_einsum_views(xp: Any) -> Any:
    x = xp.arange(9.0).reshape(3, 3)
    xp.einsum("ii->i", x)[:] = -1
    xp.einsum("ij->ji", x)[0] = 5
    xp.einsum("...", x)[2, 2] = 7
    xp.einsum("ij->ji", x, out=x)
    y = xp.einsum("ij,->ij", x, 1)
    y[:] = 0
    scalar = xp.asarray(3.0)
    kept = xp.einsum("", scalar)
    scalar[...] = 4
    return x, kept


@pytest.mark.parametrize("subscripts", ["...", "ij", "ji", "ii->i"])
@agrees
def test_a_view_of_a_read_only_operand_is_read_only(xp: Any, subscripts: str) -> Any:
    x, turned = xp.ones((3, 3)), xp.ones((3, 3))[::-1]
    seen = xp.einsum(subscripts, turned)
    seen[...] = 7
    x.flags.writeable = False
    return xp.einsum(subscripts, x).flags.writeable, seen.flags.writeable, turned


@pytest.mark.parametrize("call", [lambda xp: xp.einsum(), lambda xp: xp.einsum("i")])
def test_einsum_of_nothing(call: Any) -> None:
    compare(call, raises=ValueError)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_einsum_of_any_subscripts(data: Any) -> None:
    lengths = {"a": 2, "b": 3, "c": 1, "d": 2}
    terms = data.draw(st.lists(st.text("abcd", max_size=3), min_size=1, max_size=3))
    used = sorted(set("".join(terms)))
    output = data.draw(
        st.one_of(
            st.none(),
            st.permutations(used).flatmap(lambda p: st.sampled_from(range(len(p) + 1)).map(lambda n: "".join(p[:n]))),
        )
    )
    subscripts = ",".join(terms) + ("" if output is None else f"->{output}")
    shapes = [tuple(lengths[s] for s in term) for term in terms]
    dtype = data.draw(st.sampled_from(["int32", "uint64", "bool"]))
    compare(lambda xp: xp.einsum(subscripts, *[sample(xp, s, dtype, i) for i, s in enumerate(shapes)]))


@agrees
def test_subscripts_in_an_array(xp: Any) -> Any:
    x = xp.arange(4).reshape(2, 2)
    places = xp.asarray([0, 1])
    return xp.einsum(x, places, [0]), xp.einsum(x, list(places[::-1])), xp.einsum("ij->ji", x, order="f")


@pytest.mark.parametrize("casting", ["blah", 3])
def test_einsum_refuses_what_is_no_casting(casting: Any) -> None:
    compare(
        lambda xp: xp.einsum("ij,jk", xp.ones((2, 2)), xp.ones((2, 2)), casting=casting), raises=(TypeError, ValueError)
    )
    compare(lambda xp: xp.einsum("", 0, casting=casting), raises=(TypeError, ValueError))


@agrees(raises=ValueError)
def test_einsum_of_one_argument(xp: Any) -> Any:
    return xp.einsum(xp.asarray([1.0]))


@pytest.mark.parametrize("subscripts, shapes", [
    ("...->...", [(1,) * 64]), ("...,...", [(1,) * 64, (1,) * 64]), ("a...b->ba...", [(3, *(1,) * 58, 2)]),
    ("ii...->i...", [(2, 2, *(1,) * 58)]), ("a...,b...->ab...", [(2, *(1,) * 59), (3, *(1,) * 59)]),
    ("...ij,...jk->...ik", [(*(1,) * 58, 2, 2), (3, *(1,) * 57, 2, 3)]), ("...i,...i", [(*(1,) * 58, 2), (2, 2)]),
    (f"{ascii_letters}...->...", [(2, *(1,) * 58, 3)]), ("a...,b...", [(1,) * 64, (1,) * 64]),
])  # fmt: skip
@pytest.mark.parametrize("dtype", ["float64", "int16", "uint64", "bool"])
@pytest.mark.host  # elsewhere last digits are the device's
def test_more_axes_than_letters(subscripts: str, shapes: list[tuple[int, ...]], dtype: str) -> None:
    compare(lambda xp: xp.einsum(subscripts, *[sample(xp, shape, dtype) for shape in shapes]), may_raise=ValueError)


@agrees
def test_a_view_of_more_axes_than_letters(xp: Any) -> Any:
    x = xp.arange(4).reshape((*(1,) * 58, 2, 2))
    xp.einsum("...ij->ij...", x)[1] = 9
    return x


@agrees
def test_one_operand_is_seen_whatever_its_dtype_is_to_be(xp: Any) -> Any:
    x = xp.ones((2, 2), "f4")
    seen = xp.einsum("ii->i", x, dtype="f8", casting="no")
    seen[...] = 7
    return x, seen, xp.einsum("ij->", x, dtype="f8")


@pytest.mark.parametrize("casting", ["safe", "same_kind"])
@pytest.mark.parametrize(("given", "out", "dtype"), [("i4", None, "f4"), ("f8", "i4", None), ("i4", "f8", "c8")])
def test_refused_casts_name_the_operand(casting: str, given: str, out: str | None, dtype: str | None) -> None:
    compare(
        lambda xp: xp.einsum(
            "ij,jk->ik",
            xp.ones((2, 2), given),
            xp.ones((2, 2), given),
            out=None if out is None else xp.zeros((2, 2), out),
            dtype=dtype,
            casting=casting,
        ),
        may_raise=TypeError,
    )


@pytest.mark.parametrize("subscripts", ["i,i->i", "i,j->ij", "i,i,j->ji"])
def test_what_sums_nothing_is_a_product_element_by_element(subscripts: str) -> None:
    operands = [tnp.ones(3)] * (subscripts.count(",") + 1)
    graph = str(tnp.compile(lambda *x: tnp.einsum(subscripts, *x), backend="eager").graph(*operands))
    assert "mul(" in graph and "bmm(" not in graph


def test_booleans_are_no_subscripts() -> None:
    compare(lambda xp: xp.einsum(xp.asarray([1], "int16"), [True]), raises=TypeError)


@pytest.mark.parametrize("subscripts", ["i,i->i", "ij,ij->i", "ij->", "ij->ji", "ii->i", "ij,jk->ik", "i,j->ij"])
def test_some_thousand_elements(subscripts: str) -> None:
    def summed(xp: Any) -> Any:
        shapes = [(90,) * len(term) for term in subscripts.partition("->")[0].split(",")]
        operands = [xp.arange(90 ** len(shape)).reshape(shape) * 1.0 for shape in shapes]
        result = xp.einsum(subscripts, *operands)
        return result, xp.may_share_memory(result, operands[0])

    compare(summed)


def test_negative_subscripts() -> None:
    compare(lambda xp: xp.einsum(xp.ones(2), [-6]), raises=ValueError)
    compare(lambda xp: xp.einsum(xp.arange(2.0), [-6], optimize=True))
