"""Functions of functions do what NumPy's do."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tnp
from tests.oracle import ALL, agrees, compare, sample


@pytest.mark.parametrize("axis", [0, 1, -1, 2, 5])
@pytest.mark.parametrize("dtype", ["int8", "float32", "complex128"])
def test_apply_along_axis(axis: int, dtype: str) -> None:
    functions = [
        lambda v: v.sum(),
        lambda v: v[:2] * 2,
        lambda v, k=1: v[None] + v[:, None] + k,
        lambda v: 3.5,
        lambda v: [1, 2],
    ]
    for function in functions:
        compare(
            lambda xp, function=function: xp.apply_along_axis(function, axis, sample(xp, (2, 3, 4), dtype)),
            rtol=1e-6,
            may_raise=np.exceptions.AxisError,
        )


@agrees
def test_the_first_result_decides_the_dtype(xp: Any) -> list[Any]:
    results = [(1, 2.5), (True, 2), (2.5, 1), (1.5, 2j), (xp.ones(2).sum(), 3), (3, xp.ones(2).sum()), (1, True)]
    results += [(xp.ones(2, "f4").sum(), xp.ones(2).sum()), (xp.ones(2).sum(), xp.ones(2, "f4").sum())]
    results += [([1], [2.5]), (xp.ones(2, int), xp.ones(2)), (xp.ones(2), xp.ones(1))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            xp.apply_along_axis(lambda v, pair=pair: pair[int(v[0])], 1, xp.asarray([[0, 1], [1, 1]]))
            for pair in results
        ]


@agrees
def test_vectorize_passes_what_is_excluded_and_named(xp: Any) -> list[Any]:
    with_options = xp.vectorize(lambda a, b=2, *, c=1: a * b + c, excluded={"c", 1})
    plain = xp.vectorize(lambda *values: sum(values))
    texts = xp.vectorize(lambda *values: ", ".join(map(repr, values)), otypes=["U40"])
    mixed = [1, 2.5], ([1, 2], [True, 3.5]), [np.float32(1.5), 2], ["a", "b"], xp.asarray([1, 2.5]), [None, 1], 3
    told = [texts(each) for each in mixed] + [texts([1, 2.5], xp.asarray([1, 2])), xp.vectorize(str)([1, 2.5])]
    named = with_options([1, 2]), with_options([1, 2], 3, c=5)
    return [*named, plain(1, [2, 3], xp.arange(2)), plain([1.5]), plain(2), told]


def test_apply_along_no_slices() -> None:
    compare(lambda xp: xp.apply_along_axis(lambda v: v, 1, xp.zeros((0, 2))), raises=ValueError)
    compare(lambda xp: xp.apply_along_axis(lambda v, k: v * k, 0, [[1, 2], [3, 4]], k=3))


@pytest.mark.parametrize("axes", [0, 1, [0, 2], (0, -1), [3]])
def test_apply_over_axes(axes: Any) -> None:
    compare(
        lambda xp: xp.apply_over_axes(xp.sum, sample(xp, (2, 3, 4), "int64"), axes), may_raise=np.exceptions.AxisError
    )
    compare(
        lambda xp: xp.apply_over_axes(lambda a, axis: a.sum(), sample(xp, (2, 3, 4), "int64"), axes), raises=ValueError
    )


@pytest.mark.parametrize("dtype", ALL)
@agrees
def test_piecewise(xp: Any, dtype: str) -> Any:
    x = sample(xp, (2, 3), dtype)
    low = x.real < 0
    return [
        xp.piecewise(x, [low, ~low], [lambda v: v * 0, 1]),
        xp.piecewise(x[0], low[0], [lambda v, k: v + k, 1], 1),
        xp.piecewise(x, [low], [1]),
        xp.piecewise(x, [low, low], [1, 0, lambda v, k=1: v * k], k=0),
    ]


@pytest.mark.parametrize("arguments", [
    (0, True, [1]), (0, [True, False], [1, 2]), (0.5, [0.5 < 1], [lambda v: v * 2]), ([0, 0], [True, False], [1]),
    ([1.0, 2.0], [[True, False]], [1, 2, 3]), ([0, 1], [[1, 0], [0, 1]], [5, -5]),
])  # fmt: skip
def test_piecewise_arguments(arguments: Any) -> None:
    compare(lambda xp: xp.piecewise(xp.asarray(arguments[0]), *arguments[1:]), may_raise=ValueError)


@pytest.mark.parametrize("options", [
    {}, {"otypes": "d"}, {"otypes": [np.float32]}, {"otypes": "i"}, {"cache": True}, {"otypes": "?"}, {"excluded": {1}},
    {"otypes": 5}, {"otypes": "@"}, {"signature": "(),()->()"}, {"signature": "(m->()"},
])  # fmt: skip
def test_vectorize(options: dict[str, Any]) -> None:
    def applied(xp: Any, x: Any, y: Any) -> Any:
        return xp.vectorize(lambda a, b: a - b if a > b else a + b, **options)(xp.asarray(x), y)

    for x, y in (([1, 2, 3], 2), ([[1.5], [2.5]], 2), (3, 2), ([], 2)):
        compare(applied, x, y, may_raise=ValueError)


@agrees
def test_vectorize_keywords_and_outputs(xp: Any) -> Any:
    powers = xp.vectorize(lambda a, p, scale=1: scale * sum(c * a**i for i, c in enumerate(p)), excluded=["p"])
    both = xp.vectorize(lambda a: (a, a / 2))
    named = xp.vectorize(otypes=[float])(lambda a: a)
    return powers(a=xp.asarray([1, 2]), p=[1, 2], scale=2), both(xp.asarray([1, 2])), named(xp.asarray([1, 2]))


@pytest.mark.parametrize("signature", ["(n)->()", "(n)->(n)", "(m,n),(n)->(m)", "(n),(n)->(),(n)", "(n)->(k)"])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 2, 3), (0, 3)])
def test_vectorize_signature(signature: str, shape: tuple[int, ...]) -> None:
    functions = {
        "(n)->()": lambda v: v.sum(),
        "(n)->(n)": lambda v: v * 2,
        "(m,n),(n)->(m)": lambda a, v: a @ v,
        "(n),(n)->(),(n)": lambda u, v: ((u * v).sum(), u + v),
        "(n)->(k)": lambda v: v[:2],
    }

    def applied(xp: Any) -> Any:
        x = sample(xp, shape, "float64")
        args = [x] if signature.count("(n)") + signature.count("(m,n)") < 3 and ",(n)->" not in signature else [x, x]
        if signature.startswith("(m"):
            args = [sample(xp, (4, 3), "float64"), x]
        return xp.vectorize(functions[signature], signature=signature)(*args)

    compare(applied, rtol=1e-12, may_raise=ValueError)


@agrees
def test_vectorize_makes_strings_as_wide_as_they_are(xp: Any) -> Any:
    kinds = xp.vectorize(lambda a: type(a).__name__)
    wide, text = xp.vectorize(lambda a: "x" * a, otypes=["U5"]), xp.vectorize(str, otypes=["S3"])
    x = xp.asarray([1, 2])
    return kinds(x), kinds(xp.asarray([1.5])), kinds(3), wide(x), text(x), wide.otypes, xp.vectorize(str).otypes


@agrees
def test_python_s_results_of_a_function_stay_python_s(xp: Any) -> Any:
    product = xp.frompyfunc(lambda a, b: a * b, 2, 1)
    return [type(each).__name__ for each in (product.reduce(xp.asarray([1, 2, 3])), product(xp.asarray([2]), 3)[0])]


def test_vectorize_calls() -> None:
    compare(lambda xp: xp.vectorize(lambda a: a)(), raises=TypeError)
    compare(lambda xp: xp.vectorize(3), raises=TypeError)
    compare(lambda xp: xp.vectorize(lambda a, b: a + b)([1, 2], [1, 2, 3]), raises=ValueError)
    compare(lambda xp: xp.vectorize(lambda a: a, signature="(n)->(n)")(1), raises=ValueError)

    def documented(a: float) -> float:
        """What it does."""
        return a

    for function in (tnp.vectorize(documented), tnp.vectorize()(documented)):
        assert (function.__name__, function.__doc__) == ("documented", "What it does.")
    assert tnp.vectorize(documented, doc="Else").__doc__ == "Else"


def test_gradients() -> None:
    x = tnp.asarray([[1.0, 2.0], [3.0, 4.0]])
    x.tensor.requires_grad_()
    tnp.apply_along_axis(lambda v: (v * v).sum(), 1, x).sum().tensor.backward()
    assert tnp.asarray(x.tensor.grad).tolist() == [[2.0, 4.0], [6.0, 8.0]]


def test_vectorize_takes_objects() -> None:
    class Power:
        exponent = 2

        def of(self, x: Any) -> Any:
            return x**self.exponent

    for xp in (np, tnp):
        assert xp.vectorize(Power.of)(Power(), xp.arange(4)).tolist() == [0, 1, 4, 9]
        assert xp.vectorize(len)(["a", "bcd"]).tolist() == [1, 3]


@pytest.mark.parametrize("xp", [np, tnp])
def test_calls_of_a_function_keep_the_class(xp: Any) -> None:
    derived = type("Derived", (xp.ndarray,), {})
    x, plain = xp.eye(3).view(derived), xp.ones((3, 2))
    assert type(xp.vectorize(lambda a, b: a * b)(x, 2)) is derived
    assert type(xp.vectorize(xp.matmul, signature="(m,m),(m)->(m)")(x, x)) is derived
    assert type(xp.apply_along_axis(lambda line: line.view(derived), 0, plain)) is derived
    assert [type(each) for each in xp.broadcast_arrays(x, plain[:, :1], subok=True)] == [derived, xp.ndarray]


@pytest.mark.parametrize("xp", [np, tnp])
def test_a_squeeze_that_knows_no_axis(xp: Any) -> None:
    given = xp.ones((3, 1)).view(type("Old", (xp.ndarray,), {"squeeze": lambda self: xp.ones(7)}))
    assert xp.squeeze(given).shape == xp.squeeze(given, axis=None).shape == (7,)
    with pytest.raises(TypeError):
        xp.squeeze(given, axis=1)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tnp.vectorize(lambda a, b: (a @ b, a * b.sum()), signature="(n),(n)->(),(n)")(x, x[0]),
        lambda x: tnp.vectorize(lambda a: 3, signature="(n)->()", otypes=[float])(x),
        lambda x: tnp.vectorize(lambda a: a * 2, signature="()->()")(x[:, :2].T),
        lambda x: tnp.apply_along_axis(lambda row: [row.sum(), row[0], 1], 1, x),
        lambda x: tnp.apply_along_axis(lambda column: tnp.cumsum(column[::-1]), 0, x.T),
    ],
)
def test_a_graph_calls_a_function_of_slices_once(function: Any) -> None:
    """So it has few operations for hundreds of slices, and what it computes is the same."""
    compiled = tnp.compile(function, backend="eager")
    for n in (10, 200):
        x = tnp.arange(3.0 * n).reshape(n, 3) / 7
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found, expected = compiled(x), function(x)
        for one, other in zip(found, expected, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(tnp.asnumpy(one), tnp.asnumpy(other), rtol=1e-14)
        assert len(list(compiled.graph(x))) < 40


def test_slices_may_be_written_to_in_a_graph() -> None:
    def halved(row: Any) -> Any:
        row[0] = row.sum() / 2
        return row[0]

    ours, theirs = tnp.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3)
    found = tnp.compile(lambda x: tnp.apply_along_axis(halved, 1, x), backend="eager")(ours)
    assert found.tolist() == np.apply_along_axis(halved, 1, theirs).tolist()
    assert ours.tolist() == theirs.tolist()


def test_a_function_of_slices_that_loops_in_a_graph() -> None:
    """One that writes to what all slices share is called for each, and none is called for each unseen outside."""
    calls = []

    def counted(row: Any) -> Any:
        calls.append(row)
        total[...] += row.sum()
        return total * 1

    total = tnp.zeros(())
    found = tnp.compile(lambda x: tnp.apply_along_axis(counted, 1, x), backend="eager")(tnp.ones((3, 2)))
    assert found.tolist() == [2, 4, 6] and float(total) == 6
    calls.clear()
    tnp.apply_along_axis(counted, 1, tnp.ones((3, 2)))
    assert len(calls) == 3


@agrees
def test_along_an_axis_without_elements(xp: Any) -> Any:
    empty = xp.zeros((0, 10))
    return [xp.apply_along_axis(function, 0, empty) for function in (xp.sum, lambda line: xp.ones(2), xp.cumsum)]


@agrees
def test_vectorized_over_rows_without_elements(xp: Any) -> Any:
    return xp.vectorize(lambda row: row, signature="(n)->(n)", otypes="i")(xp.zeros((5, 0), dtype=int))
