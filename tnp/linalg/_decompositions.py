"""Decompositions of stacks of matrices: Cholesky, QR, singular values, eigenvalues.

Layer: owns their modes, the classes of their results and what is said when they fail.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

from numpy.linalg import LinAlgError

from backend_torch.kernels import linalg as kernels
from backend_torch.tensors.casting import cast
from tnp._core.base import ndarray, wrap_array
from tnp._core.errors import explain, warn
from tnp._core.numpy_version import NUMPY
from tnp.linalg._matrices import matrices, result_dtype, square, square_matrices

_INFINITE_SVD = NUMPY < "2.5.4"  # infinite matrices had meaningless singular values; NaN has always been an error
_REAL_IF_REAL = NUMPY < "2.5.0"  # since then eigenvalues of real matrices are complex, whatever their values


class EigResult(NamedTuple):
    """The result of ``eig``."""

    eigenvalues: ndarray
    eigenvectors: ndarray


class EighResult(NamedTuple):
    """The result of ``eigh``."""

    eigenvalues: ndarray
    eigenvectors: ndarray


class QRResult(NamedTuple):
    """The result of ``qr``."""

    Q: ndarray
    R: ndarray


class SVDResult(NamedTuple):
    """The result of ``svd``."""

    U: ndarray
    S: ndarray
    Vh: ndarray


def cholesky(a: Any, /, *, upper: bool = False) -> ndarray:
    """Cholesky decomposition ``a = L @ L.mT.conj()``.

    Parameters
    ----------
    a : array_like
        Hermitian, positive definite matrices. Only one triangle is read.
    upper : bool, optional
        Whether to return ``U`` of ``a = U.mT.conj() @ U``, from the upper triangle.

    Returns
    -------
    ndarray
        Lower triangular matrices, or upper ones.

    Raises
    ------
    LinAlgError
        A matrix is not positive definite, or not square.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.cholesky.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
    array([[2., 0.],
           [1., 2.]])
    """
    return wrap_array(kernels.cholesky(square_matrices(a), upper=bool(upper)))


@overload
def qr(a: Any, mode: Literal["reduced", "complete"] = "reduced") -> QRResult: ...
@overload
def qr(a: Any, mode: Literal["r"]) -> ndarray: ...
@overload
def qr(a: Any, mode: str = "reduced") -> ndarray | tuple[ndarray, ndarray]: ...
def qr(a: Any, mode: str = "reduced") -> ndarray | tuple[ndarray, ndarray]:
    """QR decomposition: the product of an orthonormal and an upper triangular matrix.

    Parameters
    ----------
    a : array_like
        Matrices of shape ``(..., M, N)``; let K be the smaller of M and N.
    mode : {'reduced', 'complete', 'r', 'raw'}, optional
        'reduced' gives Q of shape ``(..., M, K)`` and R of shape ``(..., K, N)``, 'complete' ``(..., M, M)`` and
        ``(..., M, N)``, 'r' R alone, and 'raw' what LAPACK's ``geqrf`` does: h, transposed, and tau.

    Returns
    -------
    QRResult or ndarray or tuple of ndarray
        A named tuple of Q and R in the first two modes.

    Raises
    ------
    LinAlgError
        The array has less than two dimensions.
    ValueError
        Another mode.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.qr.html

    Examples
    --------
    >>> import tnp as np
    >>> a = np.asarray([[3.0, 1.0], [4.0, 2.0]])
    >>> q, r = np.linalg.qr(a)
    >>> np.allclose(a, q @ r)
    True
    """
    if mode in ("f", "full"):
        warn(
            "The 'full' option is deprecated in favor of 'reduced'.\nFor backward compatibility let mode default.",
            DeprecationWarning,
        )
        mode = "reduced"
    elif mode in ("e", "economic"):
        warn("The 'economic' option is deprecated.", DeprecationWarning)
        mode = "economic"
    elif mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    tensor = matrices(a)
    if mode in ("raw", "economic"):
        reflectors, scales = kernels.householder(tensor)
        if mode == "economic":
            return wrap_array(reflectors)
        return wrap_array(reflectors.mT), wrap_array(scales)
    q, r = kernels.qr(tensor, mode=mode)
    return wrap_array(r) if mode == "r" else QRResult(wrap_array(q), wrap_array(r))


@overload
def svd(a: Any, full_matrices: bool = True, compute_uv: Literal[True] = True, hermitian: bool = False) -> SVDResult: ...
@overload
def svd(a: Any, full_matrices: bool = True, *, compute_uv: Literal[False], hermitian: bool = False) -> ndarray: ...
@overload
def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> ndarray | SVDResult: ...
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> ndarray | SVDResult:
    """Singular value decomposition ``a = U @ diag(S) @ Vh``.

    Parameters
    ----------
    a : array_like
        Matrices of shape ``(..., M, N)``; let K be the smaller of M and N.
    full_matrices : bool, optional
        Whether U and Vh have shapes ``(..., M, M)`` and ``(..., N, N)``, or ``(..., M, K)`` and ``(..., K, N)``.
    compute_uv : bool, optional
        Whether to return them, or S alone.
    hermitian : bool, optional
        The matrices are Hermitian, which is faster.

    Returns
    -------
    SVDResult or ndarray
        A named tuple of U, S (descending, of shape ``(..., K)``) and Vh.

    Raises
    ------
    LinAlgError
        The computation does not converge, as with NaNs.

    See Also
    --------
    svdvals

    Notes
    -----
    Infinite elements are an error since NumPy 2.5.4; with an older one, and on an accelerator, singular values of them
    mean nothing.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.svd.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.svd([[0.0, 3.0], [4.0, 0.0]], compute_uv=False)
    array([4., 3.])
    """
    tensor = square_matrices(a) if hermitian else matrices(a)
    if not hermitian:
        refuse_infinite(tensor)
    if not compute_uv:
        return wrap_array((kernels.svdvals_of_hermitian if hermitian else kernels.svdvals)(tensor))
    parts = kernels.svd_of_hermitian(tensor) if hermitian else kernels.svd(tensor, full_matrices=bool(full_matrices))
    return SVDResult(*map(wrap_array, parts))


def refuse_infinite(tensor: Any) -> None:
    """Raise NumPy's error for singular values of a matrix that is not finite, without waiting for an accelerator."""
    if not _INFINITE_SVD and tensor.is_cpu and kernels.is_not_finite(tensor):
        raise LinAlgError("SVD did not converge")


def svdvals(x: Any, /) -> ndarray:
    """Singular values.

    Parameters
    ----------
    x : array_like
        Matrices of shape ``(..., M, N)``.

    Returns
    -------
    ndarray
        In descending order, of shape ``(..., min(M, N))``.

    Raises
    ------
    LinAlgError
        The computation does not converge, as with NaNs.

    See Also
    --------
    svd

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.svdvals.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.svdvals([[0.0, 3.0], [4.0, 0.0]])
    array([4., 3.])
    """
    values: ndarray = svd(x, compute_uv=False)
    return values


def eig(a: Any) -> EigResult:
    """Eigenvalues and right eigenvectors.

    Parameters
    ----------
    a : array_like
        Square matrices.

    Returns
    -------
    EigResult
        A named tuple of the eigenvalues, in no order, and the eigenvectors: column ``eigenvectors[..., :, i]``, of
        length one, belongs to ``eigenvalues[..., i]``.

    Raises
    ------
    LinAlgError
        A matrix is not square or not finite, or the computation does not converge.

    See Also
    --------
    eigh : for Hermitian matrices

    Notes
    -----
    Complex since NumPy 2.5. With an older one the results are real, as NumPy's, if all imaginary parts of real
    matrices' eigenvalues are zero: that looks at values, which on an accelerator waits for them, and traced by
    ``tnp.compile`` or ``torch.vmap`` they are complex all the same.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.eig.html

    Examples
    --------
    >>> import tnp as np
    >>> values, vectors = np.linalg.eig(np.diag([1.0, 2.0]))
    >>> values.real
    array([1., 2.])
    """
    tensor = _finite_matrices(a)
    try:
        values, vectors = kernels.eig(tensor)
    except RuntimeError as error:
        raise explain(error) from None
    if _REAL_IF_REAL and not tensor.is_complex() and kernels.is_real(values):
        values, vectors = values.real.contiguous(), vectors.real.contiguous()
    return EigResult(wrap_array(values), wrap_array(vectors))


def eigvals(a: Any) -> ndarray:
    """Eigenvalues.

    Parameters
    ----------
    a : array_like
        Square matrices.

    Returns
    -------
    ndarray
        In no order.

    Raises
    ------
    LinAlgError
        A matrix is not square or not finite, or the computation does not converge.

    See Also
    --------
    eigvalsh : for Hermitian matrices

    Notes
    -----
    Real or complex as in `eig`.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.eigvals.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.eigvals(np.diag([1.0, 2.0])).real
    array([1., 2.])
    """
    tensor = _finite_matrices(a)
    try:
        values = kernels.eigvals(tensor)
    except RuntimeError as error:
        raise explain(error) from None
    found = wrap_array(values)
    return real_if_real(found, tensor) if _REAL_IF_REAL else found


def real_if_real(values: ndarray, matrix: Any) -> ndarray:
    """Drop the imaginary parts of a real matrix's eigenvalues, if all are zero."""
    if matrix.is_complex() or not values.tensor.is_complex() or not kernels.is_real(values.tensor):
        return values
    return wrap_array(values.tensor.real.contiguous())


def _finite_matrices(a: Any) -> Any:
    tensor = square(a)
    if kernels.is_not_finite(tensor):
        raise LinAlgError("Array must not contain infs or NaNs")
    return cast(tensor, result_dtype(tensor))


def eigh(a: Any, UPLO: str = "L") -> EighResult:
    """Eigenvalues and eigenvectors of Hermitian matrices.

    Parameters
    ----------
    a : array_like
        Square matrices of which one triangle is read.
    UPLO : {'L', 'U'}, optional
        Which triangle: the lower or the upper one.

    Returns
    -------
    EighResult
        A named tuple of the eigenvalues, real and ascending, and the eigenvectors, as columns of length one.

    Raises
    ------
    LinAlgError
        A matrix is not square, or the computation does not converge, as with NaNs.
    ValueError
        Another triangle.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.eigh.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.eigh([[2.0, 0.0], [0.0, 1.0]]).eigenvalues
    array([1., 2.])
    """
    triangle = _triangle(UPLO)
    return EighResult(*map(wrap_array, kernels.eigh(square_matrices(a), UPLO=triangle)))


def eigvalsh(a: Any, UPLO: str = "L") -> ndarray:
    """Eigenvalues of Hermitian matrices.

    Parameters
    ----------
    a : array_like
        Square matrices of which one triangle is read.
    UPLO : {'L', 'U'}, optional
        Which triangle: the lower or the upper one.

    Returns
    -------
    ndarray
        Real and ascending.

    Raises
    ------
    LinAlgError
        A matrix is not square, or the computation does not converge, as with NaNs.
    ValueError
        Another triangle.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.eigvalsh.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.eigvalsh([[2.0, 0.0], [0.0, 1.0]])
    array([1., 2.])
    """
    triangle = _triangle(UPLO)
    return wrap_array(kernels.eigvalsh(square_matrices(a), UPLO=triangle))


def _triangle(uplo: str) -> str:
    triangle = uplo.upper()
    if triangle not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return triangle
