"""tnp.linalg does what numpy.linalg does: values, dtypes, shapes and exceptions; and it can be differentiated."""

from __future__ import annotations

import contextlib
import inspect
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import tnp
from backend_torch.tensors import memory
from tests.oracle import ALL, FLOATS, agrees, compare, sample
from tnp.linalg import LinAlgError

WHOLE = ["bool", "int8", "int64", "uint8", "uint64"]
INEXACT = ["float32", "float64", "complex64", "complex128"]
DTYPES = WHOLE + INEXACT
STACKS = [(3, 3), (1, 1), (2, 4, 4), (2, 1, 3, 3)]
EMPTY = [(0, 0), (0, 3, 3), (2, 0, 0)]
RECTANGLES = [(3, 5), (5, 3), (4, 4), (2, 3, 2), (0, 3), (3, 0), (0, 2, 3)]


def tolerance(dtype: str) -> float:
    return 1e-4 if dtype in ("float32", "complex64") else 1e-9


def regular(xp: Any, shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    """Well-conditioned matrices: small numbers, and a heavy diagonal."""
    values = np.asarray(sample(np, shape, dtype, seed)) % 2 if dtype in WHOLE else sample(np, shape, dtype, seed)
    heavy = np.eye(shape[-1]) * (1 if dtype == "bool" else 7)
    return xp.asarray((values + heavy).astype(dtype) if dtype != "bool" else values.astype(bool) | (heavy > 0))


def positive(xp: Any, shape: tuple[int, ...], dtype: str) -> Any:
    """Hermitian, positive definite matrices."""
    a = sample(np, shape, dtype if dtype not in WHOLE else "int8")
    if dtype in WHOLE:
        a = a % 2
    product = np.matmul(a, np.swapaxes(a, -1, -2).conj()) + 9 * np.eye(shape[-1])
    return xp.asarray(product.astype("uint8" if dtype == "bool" else dtype))


def hermitian(xp: Any, shape: tuple[int, ...], dtype: str) -> Any:
    a = sample(np, shape, dtype if dtype not in WHOLE else "int8") % 5 if dtype in WHOLE else sample(np, shape, dtype)
    return xp.asarray((a + np.swapaxes(a, -1, -2).conj()).astype(dtype))


def lower(x: np.ndarray) -> np.ndarray:
    return np.swapaxes(x, -1, -2).conj()


def test_names_and_signatures() -> None:
    assert set(np.linalg.__all__) <= set(tnp.linalg.__all__)
    for name in np.linalg.__all__:
        ours, theirs = getattr(tnp.linalg, name), getattr(np.linalg, name)
        if ours is theirs:
            continue
        signature = inspect.signature(ours)
        bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
        assert str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty)) == str(
            inspect.signature(theirs)
        ), name
    assert LinAlgError is np.linalg.LinAlgError


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["inv", "det", "slogdet"])
def test_of_square_matrices(name: str, dtype: str) -> None:
    for shape in STACKS + EMPTY:
        compare(
            lambda xp, shape=shape: getattr(xp.linalg, name)(regular(xp, shape, dtype)),
            rtol=tolerance(dtype),
            atol=tolerance(dtype),
            may_raise=np.linalg.LinAlgError,
        )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky(dtype: str, upper: bool) -> None:
    for shape in STACKS + EMPTY:
        compare(
            lambda xp, shape=shape: xp.linalg.cholesky(positive(xp, shape, dtype), upper=upper),
            rtol=tolerance(dtype),
            atol=tolerance(dtype),
        )


@pytest.mark.usefixtures("computed_by")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("uplo", ["L", "U", "l"])
def test_eigenvalues_of_hermitian_matrices(dtype: str, uplo: str) -> None:
    for shape in STACKS + EMPTY:
        compare(
            lambda xp, shape=shape: xp.linalg.eigvalsh(hermitian(xp, shape, dtype), uplo),
            rtol=tolerance(dtype),
            atol=10 * tolerance(dtype),
        )
        x = hermitian(tnp, shape, dtype)
        values, vectors = result = tnp.linalg.eigh(x, UPLO=uplo)
        expected = np.linalg.eigh(tnp.asnumpy(x), uplo)
        assert type(result).__name__ == type(expected).__name__ and result._fields == expected._fields
        assert (values.dtype, vectors.dtype) == (expected.eigenvalues.dtype, expected.eigenvectors.dtype)
        one, other = tnp.asnumpy(vectors), tnp.asnumpy(values)
        np.testing.assert_allclose(one * other[..., None, :] @ lower(one), tnp.asnumpy(x), atol=1e3 * tolerance(dtype))


def test_one_triangle_is_read() -> None:
    x = [[1.0, 5.0], [2.0, 3.0]]
    for uplo in "LU":
        compare(lambda xp, uplo=uplo: xp.linalg.eigvalsh(xp.asarray(x), uplo), rtol=1e-12)


@pytest.mark.usefixtures("computed_by")
@pytest.mark.parametrize("dtype", DTYPES)
def test_eigenvalues(dtype: str) -> None:
    for shape in STACKS + EMPTY:
        x = sample(tnp, shape, dtype)
        if dtype in WHOLE:
            x = x % 2 if dtype != "bool" else x
        expected = np.linalg.eig(tnp.asnumpy(x))
        values, vectors = tnp.linalg.eig(x)
        alone = tnp.linalg.eigvals(x)
        assert type(tnp.linalg.eig(x)).__name__ == "EigResult"
        assert (values.dtype, vectors.dtype) == (expected.eigenvalues.dtype, expected.eigenvectors.dtype)
        assert (values.shape, vectors.shape) == (expected.eigenvalues.shape, expected.eigenvectors.shape)
        assert (alone.dtype, alone.shape) == (values.dtype, values.shape)
        w, v = tnp.asnumpy(values), tnp.asnumpy(vectors)
        np.testing.assert_allclose(tnp.asnumpy(x) @ v, v * w[..., None, :], atol=100 * tolerance(dtype))
        sides = [np.sort_complex(each) for each in (expected.eigenvalues, tnp.asnumpy(alone))]
        np.testing.assert_allclose(sides[1], sides[0], atol=100 * tolerance(dtype))


@pytest.mark.usefixtures("computed_by")
@agrees(atol=1e-12)
def test_real_eigenvalues_are_real(xp: Any) -> Any:
    values = [xp.linalg.eigvals(xp.asarray(x)) for x in ([[2.0, 1.0], [0.0, 3.0]], [[0.0, 1.0], [-1.0, 0.0]])]
    return [(str(v.dtype), xp.sort(v.real)) for v in values], xp.linalg.eig(xp.asarray([[2.0]], dtype="float32"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_svd(dtype: str) -> None:
    for shape in RECTANGLES:
        for full in (True, False):
            x = sample(tnp, shape, dtype)
            expected = np.linalg.svd(tnp.asnumpy(x), full_matrices=full)
            u, s, vh = result = tnp.linalg.svd(x, full_matrices=full)
            assert type(result).__name__ == "SVDResult" and result._fields == expected._fields
            for one, other in zip(result, expected, strict=True):
                assert (one.dtype, one.shape) == (other.dtype, other.shape)
            np.testing.assert_allclose(tnp.asnumpy(s), expected.S, rtol=tolerance(dtype), atol=1e3 * tolerance(dtype))
            k = s.shape[-1]
            product = tnp.asnumpy(u)[..., :k] * tnp.asnumpy(s)[..., None, :] @ tnp.asnumpy(vh)[..., :k, :]
            np.testing.assert_allclose(product, tnp.asnumpy(x), atol=1e3 * tolerance(dtype))
        for function in (
            lambda xp, shape=shape: xp.linalg.svd(sample(xp, shape, dtype), compute_uv=False),
            lambda xp, shape=shape: xp.linalg.svdvals(sample(xp, shape, dtype)),
        ):
            compare(function, rtol=tolerance(dtype), atol=1e3 * tolerance(dtype))


@pytest.mark.parametrize("dtype", INEXACT)
def test_svd_of_hermitian_matrices(dtype: str) -> None:
    for shape in STACKS + EMPTY:
        x = hermitian(tnp, shape, dtype)
        expected = np.linalg.svd(tnp.asnumpy(x), hermitian=True)
        result = tnp.linalg.svd(x, hermitian=True)
        for one, other in zip(result, expected, strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
        u, s, vh = map(tnp.asnumpy, result)
        np.testing.assert_allclose(u * s[..., None, :] @ vh, tnp.asnumpy(x), atol=10 * tolerance(dtype))
        np.testing.assert_allclose(s, expected.S, atol=10 * tolerance(dtype))
        compare(
            lambda xp, shape=shape: xp.linalg.svd(hermitian(xp, shape, dtype), compute_uv=False, hermitian=True),
            atol=10 * tolerance(dtype),
        )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", ["reduced", "complete", "r", "raw", "economic"])
def test_qr(mode: str, dtype: str) -> None:
    for shape in RECTANGLES:
        x = sample(tnp, shape, dtype)
        if dtype == "bool":  # a drawn one has less than full rank, where the sign of a column of Q is nobody's
            x = tnp.broadcast_to(tnp.tri(*shape[-2:], dtype=bool), shape)
        with pytest.warns(DeprecationWarning) if mode == "economic" else contextlib.nullcontext():
            result = tnp.linalg.qr(x, mode)
        with pytest.warns(DeprecationWarning) if mode == "economic" else contextlib.nullcontext():
            expected = np.linalg.qr(tnp.asnumpy(x), mode)
        if mode in ("r", "economic"):
            result, expected = (result,), (expected,)
        assert type(result).__name__ == type(expected).__name__  # "raw" has no named tuple
        for one, other in zip(result, expected, strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            np.testing.assert_allclose(tnp.asnumpy(one), other, rtol=tolerance(dtype), atol=100 * tolerance(dtype))
        if mode in ("reduced", "complete"):
            assert type(result).__name__ == "QRResult"
            np.testing.assert_allclose(tnp.asnumpy(result[0] @ result[1]), tnp.asnumpy(x), atol=1e3 * tolerance(dtype))


@pytest.mark.parametrize("shape", [(0, 2, 3), (2, 0), (3, 0, 2, 1), (0, 2, 0)])
def test_solve_of_nothing_has_no_singular_matrix(shape: tuple[int, ...]) -> None:
    compare(lambda xp: xp.linalg.solve(xp.zeros((2, 2)), xp.zeros(shape)), may_raise=np.linalg.LinAlgError)
    compare(lambda xp: xp.linalg.solve(xp.zeros((3, 1, 2, 2)), xp.zeros(shape)), may_raise=np.linalg.LinAlgError)


@pytest.mark.parametrize("dtype", DTYPES)
def test_solve(dtype: str) -> None:
    shapes = [
        ((3, 3), (3,)),
        ((3, 3), (3, 2)),
        ((2, 3, 3), (3,)),
        ((2, 3, 3), (3, 2)),
        ((2, 2, 2), (2, 2)),  # a matrix, not a stack of vectors
        ((2, 1, 3, 3), (4, 3, 2)),
        ((3, 3), (2, 3, 1)),
        ((0, 0), (0,)),
        ((0, 0), (0, 2)),
        ((3, 3), (3, 0)),
        ((0, 3, 3), (3,)),
        ((3, 3), (4,)),
        ((3, 3), (4, 3)),
        ((2, 3, 3), (5, 3, 1)),
        ((3, 3), ()),
        ((3,), (3,)),
        ((2, 3), (3,)),
    ]
    for one, other in shapes:
        compare(
            lambda xp, one=one, other=other: xp.linalg.solve(
                regular(xp, one, dtype) if one[-2:] != (3,) else xp.ones(one), sample(xp, other, "float32")
            ),
            rtol=tolerance("float32"),
            atol=tolerance("float32"),
            may_raise=ValueError,
        )


@pytest.mark.parametrize("one", DTYPES)
@pytest.mark.parametrize("other", DTYPES)
def test_dtypes_of_two_operands(one: str, other: str) -> None:
    for name in ("solve", "lstsq"):
        result = getattr(tnp.linalg, name)(tnp.ones((1, 1), one), tnp.ones(1, other))
        expected = getattr(np.linalg, name)(np.ones((1, 1), one), np.ones(1, other))
        both = [(result, expected)] if name == "solve" else zip(result, expected, strict=True)
        assert [(r.dtype, r.shape) for r, _ in both] == [
            (e.dtype, e.shape) for e in ([expected] if name == "solve" else expected)
        ]


@pytest.mark.parametrize("dtype", DTYPES)
def test_lstsq(dtype: str) -> None:
    for shape in [(5, 3), (3, 5), (3, 3), (0, 3), (3, 0), (0, 0), (4, 1)]:
        for columns in ((), (1,), (2,), (0,)):
            right = (shape[0], *columns)
            compare(
                lambda xp, shape=shape, right=right: xp.linalg.lstsq(
                    regular(xp, shape, dtype) if shape[0] == shape[1] else sample(xp, shape, dtype),
                    sample(xp, right, "float64", 1),
                ),
                rtol=tolerance(dtype),
                atol=tolerance(dtype),
            )


@pytest.mark.parametrize("rcond", [None, -1, 0, 1e-3, 0.9, 2])
@pytest.mark.parametrize("dtype", INEXACT)
def test_lstsq_without_full_rank(dtype: str, rcond: Any) -> None:
    def function(xp: Any) -> Any:
        a = sample(np, (6, 2), dtype) @ sample(np, (2, 4), dtype, 3) + 1e-5 * np.eye(6, 4)
        if rcond in (0, -1, 2):
            a = sample(np, (6, 4), dtype)
        return xp.linalg.lstsq(xp.asarray(a.astype(dtype)), xp.asarray(sample(np, (6, 2), dtype, 1)), rcond)

    compare(function, rtol=100 * tolerance(dtype), atol=tolerance(dtype))
    x = tnp.linalg.lstsq(tnp.ones((3, 2)), tnp.ones(3))
    assert x[1].shape == (0,) and int(x[2]) == 1
    np.testing.assert_allclose(tnp.asnumpy(x[0]), [0.5, 0.5])


@pytest.mark.parametrize("dtype", DTYPES)
def test_pinv_and_rank(dtype: str) -> None:
    for shape in RECTANGLES:
        for options in ({}, {"rcond": 0.2}, {"rtol": 1e-3}, {"rtol": np.full(shape[:-2], 1e-2)}):
            compare(
                lambda xp, shape=shape, o=options: xp.linalg.pinv(sample(xp, shape, dtype), **o),
                rtol=100 * tolerance(dtype),
                atol=tolerance(dtype),
            )
        for options in ({}, {"tol": 0.5}, {"rtol": 0.3}, {"rtol": np.full(shape[:-2], 0.3)}, {"tol": 1, "rtol": 1}):
            compare(
                lambda xp, shape=shape, o=options: xp.linalg.matrix_rank(sample(xp, shape, dtype), **o),
                may_raise=ValueError,
            )
    compare(
        lambda xp: (
            xp.linalg.pinv(hermitian(xp, (3, 3), dtype), hermitian=True),
            xp.linalg.matrix_rank(hermitian(xp, (3, 3), dtype), hermitian=True),
        ),
        rtol=100 * tolerance(dtype),
        atol=10 * tolerance(dtype),
    )
    compare(lambda xp: xp.linalg.pinv(sample(xp, (3, 3), dtype), rtol=None), rtol=1e-2, atol=1e-2, may_raise=ValueError)


def test_rank_of_vectors() -> None:
    for x in (0, 3, [0, 0], [0, 1.5], []):
        assert tnp.linalg.matrix_rank(tnp.asarray(x)) == np.linalg.matrix_rank(np.asarray(x))
    ones = np.ones((3, 4, 4), "float32")
    assert tnp.linalg.matrix_rank(tnp.asarray(ones)).tolist() == [1, 1, 1]
    np.testing.assert_allclose(tnp.asnumpy(tnp.linalg.pinv(tnp.asarray(ones))), np.linalg.pinv(ones), atol=1e-6)


ORDERS = [None, "fro", "nuc", np.inf, -np.inf, 0, 1, -1, 2, -2, 3, 0.5, -1.5, "f", "wrong"]


@pytest.mark.parametrize("dtype", ALL)
def test_norm(dtype: str) -> None:
    rtol = {"float16": 3e-3, "float32": 1e-5, "complex64": 1e-5}.get(dtype, 1e-12)
    for ord in ORDERS:
        for shape in [(), (5,), (3, 4), (0,), (0, 3), (2, 3, 4)]:
            for axis in (None, 0, -1, (0, 1), (-1, 0), (0, 0), 7):
                for keepdims in (False, True):
                    compare(
                        lambda xp, shape=shape, options=(ord, axis, keepdims): xp.linalg.norm(
                            sample(xp, shape, dtype), *options
                        ),
                        rtol=rtol,
                        atol=1e-12 if dtype not in ("float16", "float32", "complex64") else 1e-4,
                        may_raise=(TypeError, ValueError),
                    )


@pytest.mark.parametrize("dtype", [*FLOATS, "complex128", "int32"])
@pytest.mark.parametrize("keepdims", [False, True])
def test_vector_and_matrix_norm(dtype: str, keepdims: bool) -> None:
    rtol = {"float16": 3e-3, "float32": 1e-5}.get(dtype, 1e-12)
    for ord in [o for o in ORDERS if o is not None]:
        for axis in (None, 0, (0, 2), (1,), (2, 0, 1)):
            compare(
                lambda xp, o=ord, axis=axis: xp.linalg.vector_norm(
                    sample(xp, (2, 3, 4), dtype), axis=axis, keepdims=keepdims, ord=o
                ),
                rtol=rtol,
                may_raise=ValueError,
            )
        compare(
            lambda xp, o=ord: xp.linalg.matrix_norm(sample(xp, (2, 3, 4), dtype), keepdims=keepdims, ord=o),
            rtol=rtol,
            may_raise=(TypeError, ValueError),
        )


def test_norm_of_long_vectors_and_other_layouts() -> None:
    x = np.random.default_rng(0).random(10**6).astype(np.float32)
    exact = np.linalg.norm(x.astype(float))
    assert abs(float(tnp.linalg.norm(tnp.asarray(x))) / exact - 1) < 2e-6
    assert abs(float(tnp.linalg.norm(tnp.asarray(x), axis=0)) / exact - 1) < 2e-6
    for layout in (lambda a: a.T, lambda a: a[::2], lambda a: a[:, 1]):
        compare(lambda xp, layout=layout: xp.linalg.norm(layout(sample(xp, (6, 4), "complex128"))), rtol=1e-12)
        for options in ({"axis": -1}, {"axis": 0, "keepdims": True}, {}):
            compare(
                lambda xp, layout=layout, options=options: xp.linalg.norm(
                    layout(sample(xp, (6, 4), "float64")), **options
                ),
                rtol=1e-12,
            )
    compare(lambda xp: xp.linalg.norm(xp.asarray([[np.nan, 1.0], [np.inf, 2.0]]), np.inf, axis=1))


@pytest.mark.parametrize("name", ["eig", "eigvals", "svdvals", "pinv"])
def test_large_numbers_are_finite(name: str) -> None:
    compare(lambda xp: getattr(xp.linalg, name)(xp.asarray([[1.5e308, 1e308], [1e308, 1.5e308]])), rtol=1e-12)


KNOWS_INFINITIES = np.lib.NumpyVersion(np.__version__) >= "2.5.4"
ASKS_LAPACK = pytest.mark.skipif(not KNOWS_INFINITIES, reason="NumPy asks LAPACK, which may hang")


@pytest.mark.parametrize("name", ["svd", "svdvals", "norm 2", "norm nuc", "norm -2", "matrix_rank", "pinv", "cond"])
@pytest.mark.parametrize("value", [pytest.param(np.inf, marks=ASKS_LAPACK), np.nan])
def test_no_singular_values_of_what_is_not_finite(name: str, value: float) -> None:
    function, *order = name.split()
    orders = [int(each) if each != "nuc" else each for each in order]
    is_refused = name != "cond" or not KNOWS_INFINITIES
    compare(
        lambda xp: getattr(xp.linalg, function)(xp.asarray([[[value, 1.0], [1.0, 1.0]], np.eye(2)]), *orders),
        raises=ValueError if is_refused else (),
    )
    compare(
        lambda xp: getattr(xp.linalg, function)(xp.asarray([[value, 1.0], [1.0, 1.0]]), *orders),
        raises=np.linalg.LinAlgError if is_refused else (),
    )


@pytest.mark.parametrize("dtype", INEXACT)
@pytest.mark.parametrize("p", [None, 1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc"])
def test_cond(dtype: str, p: Any) -> None:
    def function(xp: Any) -> Any:
        x = np.array(sample(np, (5, 3, 3), dtype))
        x[1] = 0
        x[2, :, 0] = 0
        x[3, 0, 0] = np.nan if p not in (None, 2, -2) else 1
        return xp.linalg.cond(xp.asarray(x)), xp.linalg.cond(xp.asarray(x[0], copy=True), p)

    def stacked(xp: Any) -> Any:
        x = np.array(sample(np, (4, 3, 3), dtype))
        x[1] = 0
        return xp.linalg.cond(xp.asarray(x), p)

    compare(function, rtol=1e-3, may_raise=np.linalg.LinAlgError)
    compare(stacked, rtol=1e-3, may_raise=np.linalg.LinAlgError)


@agrees
def test_cond_of_singular_and_nan(xp: Any) -> Any:
    return (
        xp.linalg.cond(xp.asarray([[1.0, 1.0], [1.0, 1.0]]), 1),
        xp.linalg.cond(xp.asarray([[np.nan, 1.0], [1.0, 1.0]]), 1),
        xp.linalg.cond(xp.zeros((2, 2), int)),
    )


def test_cond_is_never_negative() -> None:
    x = tnp.asarray([[1, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [1, 1, 0, 0]])  # torch finds a singular value of -0.0
    assert tnp.linalg.cond(x) > 1e15
    assert tnp.compile(lambda x: tnp.linalg.cond(x), backend="eager")(x) > 1e15


@pytest.mark.parametrize("dtype", [d for d in ALL if d != "float16"])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 8, -1, -3])
def test_matrix_power(dtype: str, n: int) -> None:
    compare(
        lambda xp: xp.linalg.matrix_power(regular(xp, (2, 3, 3), dtype), n),
        rtol=1e-3 if dtype in ("float32", "complex64") else 1e-8,
        atol=1e-7,
        may_raise=np.linalg.LinAlgError,
    )


@given(st.lists(st.integers(1, 6), min_size=3, max_size=7), st.booleans(), st.booleans())
@settings(max_examples=30, deadline=None)
def test_multi_dot(sizes: list[int], first: bool, last: bool) -> None:
    def function(xp: Any) -> Any:
        operands = [sample(xp, pair, "float64", i) for i, pair in enumerate(itertools.pairwise(sizes))]
        if first:
            operands[0] = operands[0][0]
        if last:
            operands[-1] = operands[-1][:, 0]
        return xp.linalg.multi_dot(operands)

    compare(function, rtol=1e-8, atol=1e-10)


def test_multi_dot_out_and_errors() -> None:
    parts = [sample(tnp, shape, "float64") for shape in [(2, 3), (3, 4), (4, 5), (5, 2)]]
    out = tnp.zeros((2, 2))
    assert tnp.linalg.multi_dot(parts, out=out) is out
    np.testing.assert_allclose(tnp.asnumpy(out), np.linalg.multi_dot([tnp.asnumpy(p) for p in parts]))
    for shapes in ([(2, 3)], [(2, 3), (3,), (3, 2)], [(2, 3), (4, 5), (5, 2)], [(2, 2, 2), (2, 2), (2, 2)]):
        compare(lambda xp, shapes=shapes: xp.linalg.multi_dot([xp.ones(shape) for shape in shapes]), raises=ValueError)


def test_tensor_equations() -> None:
    compare(
        lambda xp: (
            xp.linalg.tensorsolve(xp.asarray(regular(np, (6, 6), "float64").reshape(2, 3, 6)), xp.ones((2, 3))),
            xp.linalg.tensorsolve(
                xp.asarray(regular(np, (6, 6), "float64").reshape(6, 3, 2)), xp.ones((3, 2)), axes=(0,)
            ),
            xp.linalg.tensorinv(xp.asarray(regular(np, (6, 6), "float64").reshape(2, 3, 6)), ind=2),
            xp.linalg.tensorinv(xp.asarray(regular(np, (6, 6), "float64").reshape(6, 3, 2)), ind=1),
        ),
        rtol=1e-10,
        atol=1e-12,
    )


ERRORS: list[Callable[[Any], Any]] = [
    lambda xp: xp.linalg.inv(xp.ones((3, 3))),
    lambda xp: xp.linalg.inv(xp.asarray(np.stack([np.eye(2), np.zeros((2, 2))]))),
    lambda xp: xp.linalg.inv(xp.ones(3)),
    lambda xp: xp.linalg.inv(xp.ones((2, 3))),
    lambda xp: xp.linalg.solve(xp.zeros((2, 2)), xp.ones(2)),
    lambda xp: xp.linalg.matrix_power(xp.zeros((2, 2)), -1),
    lambda xp: xp.linalg.matrix_power(xp.eye(2), 1.5),
    lambda xp: xp.linalg.matrix_power(xp.ones((2, 3)), 2),
    lambda xp: xp.linalg.cholesky(-xp.eye(2)),
    lambda xp: xp.linalg.cholesky(xp.ones((2, 3))),
    lambda xp: xp.linalg.eig(xp.full((2, 2), np.nan)),
    lambda xp: xp.linalg.eigvals(xp.full((2, 2), np.inf)),
    lambda xp: xp.linalg.eigh(xp.full((3, 3), np.nan)),
    lambda xp: xp.linalg.eigvalsh(xp.full((3, 3), np.nan)),
    lambda xp: xp.linalg.eigvalsh(xp.eye(2), "X"),
    lambda xp: xp.linalg.svd(xp.full((3, 3), np.nan)),
    lambda xp: xp.linalg.svd(xp.full((3, 3), np.nan), hermitian=True),
    lambda xp: xp.linalg.svd(xp.ones((2, 3)), hermitian=True),
    lambda xp: xp.linalg.svd(xp.ones(3)),
    lambda xp: xp.linalg.pinv(xp.full((2, 2), np.nan)),
    lambda xp: xp.linalg.pinv(xp.ones(2)),
    lambda xp: xp.linalg.pinv(xp.ones((2, 2)), rcond=1e-3, rtol=1e-3),
    lambda xp: xp.linalg.pinv(xp.ones((2, 2), int), rtol=None),
    lambda xp: xp.linalg.lstsq(xp.full((2, 2), np.nan), xp.ones(2)),
    lambda xp: xp.linalg.lstsq(xp.ones((2, 2)), xp.ones(3)),
    lambda xp: xp.linalg.lstsq(xp.ones((2, 2, 2)), xp.ones(2)),
    lambda xp: xp.linalg.qr(xp.ones(3)),
    lambda xp: xp.linalg.qr(xp.ones((2, 2)), "wrong"),
    lambda xp: xp.linalg.cond(xp.zeros((0, 0))),
    lambda xp: xp.linalg.cond(xp.ones((2, 3)), 1),
    lambda xp: xp.linalg.cond(xp.ones(3)),
    lambda xp: xp.linalg.norm(xp.ones(3), axis="x"),
    lambda xp: xp.linalg.norm(xp.ones((2, 2, 2)), axis=(0, 1, 2)),
    lambda xp: xp.linalg.tensorsolve(xp.ones((2, 3)), xp.ones(2)),
    lambda xp: xp.linalg.tensorinv(xp.ones((2, 3)), 1),
    lambda xp: xp.linalg.tensorinv(xp.ones((2, 3)), 0),
    lambda xp: xp.linalg.outer(xp.ones((2, 2)), xp.ones(2)),
    lambda xp: xp.linalg.cross(xp.ones(2), xp.ones(3)),
    lambda xp: xp.linalg.diagonal(xp.ones(3)),
    lambda xp: xp.linalg.trace(xp.ones(3)),
    lambda xp: xp.linalg.matrix_transpose(xp.ones(3)),
    lambda xp: xp.linalg.matrix_norm(xp.ones(3)),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number: int) -> None:
    """Class and text are NumPy's; its own line break within a text is not."""
    with pytest.raises(Exception) as expected:
        ERRORS[number](np)
    with pytest.raises(type(expected.value)) as actual:
        ERRORS[number](tnp)
    assert str(actual.value).split() == str(expected.value).split()


@pytest.mark.parametrize(
    "name", ["inv", "det", "slogdet", "cholesky", "eig", "eigh", "eigvals", "eigvalsh", "svd", "svdvals", "qr", "pinv"]
)
def test_half_precision_is_refused(name: str) -> None:
    compare(lambda xp: getattr(xp.linalg, name)(xp.eye(2, dtype="float16")), raises=TypeError)
    with pytest.raises(TypeError, match="array type float16 is unsupported in linalg"):
        getattr(tnp.linalg, name)(tnp.eye(2, dtype="float16"))


def test_spellings_of_the_standard() -> None:
    def function(xp: Any) -> Any:
        x, y = sample(xp, (2, 3, 3), "int32"), sample(xp, (2, 3, 3), "float32")
        return (
            xp.linalg.diagonal(x, offset=1),
            xp.linalg.trace(x, offset=-1, dtype="float64"),
            xp.linalg.trace(x[0]),
            xp.linalg.matmul(x, y),
            xp.linalg.matrix_transpose(x),
            xp.linalg.tensordot(x, y, axes=([0, 1], [0, 2])),
            xp.linalg.vecdot(x, y, axis=0),
            xp.linalg.cross(x, y, axis=1),
            xp.linalg.outer(x[0, 0], y[0, 0]),
        )

    compare(function, rtol=1e-5)
    x = tnp.zeros((2, 2))
    tnp.linalg.matrix_transpose(x)[0, 1] = 1
    assert x[1, 0] == 1


def test_lists_and_numpy_arrays_are_taken() -> None:
    assert isinstance(tnp.linalg.inv([[2, 0], [0, 2]]), tnp.ndarray)
    assert isinstance(tnp.linalg.norm(np.ones(3)), tnp.ndarray)
    assert isinstance(np.linalg.inv(tnp.eye(2)), tnp.ndarray)


DIFFERENTIABLE: list[Callable[[Any], Any]] = [
    lambda x: tnp.linalg.inv(x),
    lambda x: tnp.linalg.det(x),
    lambda x: tnp.linalg.slogdet(x).logabsdet,
    lambda x: tnp.linalg.cholesky(x @ x.T),
    lambda x: tnp.linalg.solve(x, x[0]),
    lambda x: tnp.linalg.lstsq(x[:, :2], x[0])[0],
    lambda x: tnp.linalg.lstsq(x[:, :2], x[0])[1],
    lambda x: tnp.linalg.pinv(x[:, :2]),
    lambda x: tnp.linalg.eigvalsh(x @ x.T),
    lambda x: tnp.linalg.svdvals(x),
    lambda x: tnp.linalg.qr(x).R,
    lambda x: tnp.linalg.norm(x),
    lambda x: tnp.linalg.norm(x, "nuc"),
    lambda x: tnp.linalg.norm(x, 3, axis=0),
    lambda x: tnp.linalg.matrix_power(x, -3),
    lambda x: tnp.linalg.cond(x),
]


@pytest.mark.parametrize("number", range(len(DIFFERENTIABLE)))
def test_gradients(number: int) -> None:
    def function(tensor: torch.Tensor) -> torch.Tensor:
        return DIFFERENTIABLE[number](tnp.asarray(tensor)).tensor

    x = tnp.asnumpy(regular(tnp, (3, 3), "float64"))
    assert torch.autograd.gradcheck(function, torch.from_numpy(x).clone().requires_grad_())


@pytest.mark.parametrize("number", range(len(DIFFERENTIABLE)))
def test_vmap(number: int) -> None:
    def function(tensor: torch.Tensor) -> torch.Tensor:
        return DIFFERENTIABLE[number](tnp.asarray(tensor)).tensor

    stack = regular(tnp, (4, 3, 3), "float64").tensor
    torch.testing.assert_close(torch.vmap(function)(stack), torch.stack([function(each) for each in stack]))


@pytest.mark.parametrize("number", range(len(DIFFERENTIABLE)))
def test_tracing(number: int) -> None:
    function = DIFFERENTIABLE[number]
    x = regular(tnp, (3, 3), "float64")
    traced = tnp.compile(function, backend="eager")
    np.testing.assert_allclose(tnp.asnumpy(traced(x)), tnp.asnumpy(function(x)), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", ["inv", "det", "cholesky", "eig", "eigvals", "eigh", "svd", "qr", "pinv", "norm"])
def test_dynamo(name: str) -> None:
    """Dynamo traces them whole, and no value is looked at."""
    torch._dynamo.reset()  # what it has compiled for other tests counts
    x = positive(tnp, (3, 3), "float64")
    compiled = torch.compile(getattr(tnp.linalg, name), fullgraph=True, backend="eager")
    result, expected = compiled(x), getattr(tnp.linalg, name)(x)
    for one, other in zip(
        result if isinstance(result, tuple) else [result],
        expected if isinstance(expected, tuple) else [expected],
        strict=True,
    ):
        found, wanted = tnp.asnumpy(one), tnp.asnumpy(other)
        if name in ("eig", "eigh") and wanted.ndim == 2:  # eagerly they are NumPy's, whose signs may be others
            found = found * np.sign(found[0].real) * np.sign(wanted[0].real)
        np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize("hermitian", [99, None, "yes", 0])
def test_pinv_takes_any_truth_value(hermitian: Any) -> None:
    compare(lambda xp: xp.linalg.pinv(xp.eye(2), hermitian=hermitian))


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("limit", [-1, -1.0, np.asarray([-1.0, 0.1]), np.nan])
@agrees(rtol=1e-12)
def test_pinv_inverts_zeros_under_a_negative_tolerance(xp: Any, limit: Any, hermitian: bool) -> Any:
    return xp.linalg.pinv(xp.asarray([[[1.0, 0.0], [0.0, 0.0]]] * 2), rtol=limit, hermitian=hermitian)


@pytest.mark.parametrize("dtype", ["int32", "float32", "complex128"])
def test_slogdet_of_singular_matrices_has_no_negative_zero(dtype: str) -> None:
    for matrix in ([[1, 2], [2, 4]], [[-1, 2], [2, -4]], [[0, 0], [0, 0]], [[0, -1], [0, -1]]):
        assert not tnp.signbit(tnp.linalg.slogdet(tnp.asarray(matrix, dtype)).sign.real)
        compare(lambda xp, matrix=matrix: tuple(xp.linalg.slogdet(xp.asarray(matrix, dtype))))


def test_a_tolerance_has_the_gradient_zero() -> None:
    x = tnp.asarray([[1.0, 2.0], [3.0, 4.5]])
    found = tnp.grad(lambda x, r: tnp.linalg.pinv(x, rtol=r).sum(), argnums=[0, 1])(x, tnp.asarray(0.01))
    expected = tnp.grad(lambda x: tnp.linalg.pinv(x).sum())(x)
    assert found[0].tolist() == expected.tolist() and float(found[1]) == 0.0


MATRICES = np.array([[[4.0, 1, 0], [1, 5, 2], [0, 2, 6]], [[3, 1, 1], [1, 4, 1], [1, 1, 5]]])
LAID_OUT = {
    "cholesky": lambda xp, a: [xp.linalg.cholesky(a), xp.linalg.cholesky(a, upper=True)],
    "inv": lambda xp, a: [xp.linalg.inv(a), xp.linalg.matrix_power(a, -2), xp.linalg.matrix_power(a, 3)],
    "solve": lambda xp, a: [xp.linalg.solve(a, a[..., :2])],
    "qr": lambda xp, a: [*xp.linalg.qr(a[..., :2]), *xp.linalg.qr(a, "complete"), xp.linalg.qr(a, "r")],
    "raw": lambda xp, a: list(xp.linalg.qr(a, "raw")),
    "svd": lambda xp, a: [*xp.linalg.svd(a), *xp.linalg.svd(a[..., :2], full_matrices=False)],
    "eigh": lambda xp, a: [*xp.linalg.eigh(a)],
    "pinv": lambda xp, a: [xp.linalg.pinv(a[..., :2])],
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("name", LAID_OUT)
@agrees
def test_results_are_in_numpys_memory_order(xp: Any, name: str, dtype: str) -> Any:
    a = xp.asarray(MATRICES.astype(dtype))
    results = [*LAID_OUT[name](xp, a), *LAID_OUT[name](xp, a[0])]
    if name != "raw":
        results.append(xp.linalg.lstsq(a[0], a[1])[0])
    return [(each.strides, each.flags.c_contiguous, each.flags.f_contiguous) for each in results]


@pytest.mark.parametrize("name", ["inv", "solve"])
def test_a_singular_matrix_is_seen_where_numpy_sees_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rounding of another library may leave a pivot that is not quite zero."""
    monkeypatch.setattr(memory, "host_computes", True)

    def solved(xp: Any) -> Any:
        x = xp.asarray([[[-7, 1, 1], [-4, 1, 1]], [[7, 1, 8], [4, 0, 1]]], "int8").T
        return xp.linalg.inv(x) if name == "inv" else xp.linalg.solve(x, xp.ones((2, 1)))

    compare(solved, raises=np.linalg.LinAlgError)


@pytest.mark.parametrize(("shape", "rtol"), [((0, 1, 1), (1, 2, 3)), ((3, 1, 1), (1e-3, 1e-3))])
def test_tolerances_of_pinv_broadcast(shape: tuple[int, ...], rtol: Any) -> None:
    compare(lambda xp: xp.linalg.pinv(xp.zeros(shape), rtol), raises=ValueError)
