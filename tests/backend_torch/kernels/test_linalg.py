"""Kernels of linear algebra: those that stand in on an accelerator do the same as those of the CPU."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from backend_torch.kernels import linalg


@pytest.fixture(params=["cpu", "elsewhere"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each test runs on the CPU's path and on the one for tensors whose least squares torch leaves out."""
    if request.param == "elsewhere":
        monkeypatch.setattr(linalg, "is_readable", lambda tensor: False)
    return str(request.param)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (4, 4), (0, 3), (3, 0)])
@pytest.mark.parametrize("rank", [1, 2, 9])
def test_lstsq(shape: tuple[int, int], rank: int, dtype: type, place: str) -> None:
    rng = np.random.default_rng(0)
    rank = min(rank, *shape)
    a = (rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1]))).astype(dtype)
    b = rng.normal(size=(shape[0], 2)).astype(dtype)
    rcond = 1e-5
    x, _, found, s = linalg.lstsq(torch.from_numpy(a), torch.from_numpy(b), rcond=rcond)
    expected = np.linalg.lstsq(a, b, rcond=rcond)
    rtol = 1e-3 if np.finfo(dtype).bits == 32 else 1e-8
    np.testing.assert_allclose(x.numpy(), expected[0], rtol=rtol, atol=rtol)
    np.testing.assert_allclose(s.numpy(), expected[3], rtol=rtol, atol=rtol)
    assert int(found) == expected[2] and found.dtype is torch.int32
    assert x.dtype is torch.from_numpy(a).dtype


def test_single_precision_is_computed_in_double() -> None:
    matrix = np.vander(np.linspace(1, 2, 6)).astype(np.float32)
    exact = np.linalg.inv(matrix.astype(np.float64))
    np.testing.assert_allclose(linalg.inv(torch.from_numpy(matrix)).numpy(), exact, rtol=1e-6)


def test_inverse_or_nan() -> None:
    result = linalg.inv_or_nan(torch.stack([torch.eye(2), torch.zeros(2, 2)]))
    assert torch.equal(result[0], torch.eye(2)) and bool(result[1].isnan().all())


def test_singular_values_or_nan() -> None:
    x = torch.tensor([[[3.0, 0.0], [0.0, 4.0]], [[torch.nan, 1.0], [1.0, 1.0]], [[torch.inf, 1.0], [1.0, 1.0]]])
    values = linalg.svdvals_or_nan(x)
    assert values.dtype == x.dtype and values[0].tolist() == [4, 3] and bool(values[1:].isnan().all())


def test_values_are_not_looked_at_under_vmap() -> None:
    real = torch.zeros(2, dtype=torch.complex128)
    assert linalg.is_real(real) and not linalg.is_real(real + 1j)
    seen = []
    torch.vmap(lambda x: seen.append((linalg.is_real(x), linalg.lacks_rank(x.real[0], 3))) or x)(real[None])
    assert seen == [(False, False)]


@pytest.mark.parametrize("values", [[], [1, 2], [3e38, 3e38], [1, np.inf], [np.inf, -np.inf], [np.nan, 1]])
@pytest.mark.parametrize("dtype", ["uint64", "bool", "float16", "float32", "float64", "complex64"])
def test_what_is_not_finite(values: list[float], dtype: str) -> None:
    """Large numbers are, whose sum is not."""
    with np.errstate(all="ignore"):
        array = np.array(values).astype(dtype)
    assert linalg.is_not_finite(torch.from_numpy(array)) == (not np.isfinite(array).all())


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_eigenvalues_and_vectors_are_numpys_on_the_cpu(dtype: type) -> None:
    """In the same order, with the same signs and phases: several answers are right, and NumPy's is what is expected."""
    rng = np.random.default_rng(0)
    for shape in [(5, 5), (30, 3, 3), (0, 2, 2), (70, 70)]:
        matrix = rng.normal(size=shape).astype(dtype)
        expected = np.linalg.eig(matrix)
        for found, part in zip(linalg.eig(torch.from_numpy(matrix)), expected, strict=True):
            np.testing.assert_array_equal(found.numpy(), part)
            assert found.numpy().dtype == part.dtype
        alone, values = linalg.eigvals(torch.from_numpy(matrix)).numpy(), np.linalg.eigvals(matrix)
        np.testing.assert_array_equal(alone, values)
        assert alone.dtype == values.dtype


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("triangle", ["L", "U"])
def test_eigenvectors_of_hermitian_matrices_have_numpys_signs(dtype: type, triangle: str) -> None:
    rng = np.random.default_rng(0)
    for shape in [(3, 3), (30, 8, 8), (0, 2, 2), (25, 25), (26, 26), (40, 40)]:
        matrix = rng.normal(size=shape).astype(dtype)
        found = linalg.eigh(torch.from_numpy(matrix), UPLO=triangle)
        for one, part in zip(found, np.linalg.eigh(matrix, triangle), strict=True):
            np.testing.assert_allclose(one.numpy(), part, atol=1e3 * np.finfo(dtype).eps)
            assert one.numpy().dtype == part.dtype
