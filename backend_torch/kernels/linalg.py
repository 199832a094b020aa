"""Linear algebra: decompositions, solvers and inverses of stacks of matrices.

Layer: owns the precision of the computation, and the substitutes where torch has no kernel: least squares of
matrices that lack rank on an accelerator (https://github.com/pytorch/pytorch/issues/117122), and what keeps ``eig``
within its memory.

Matrices have one of the four dtypes of LAPACK. Those of single precision are computed in double on the CPU, as NumPy
computes them; on an accelerator only the functions that compare singular values with a tolerance are.
"""

from __future__ import annotations

import cmath
import functools
import operator
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import torch
from torch.autograd import forward_ad
from torch.fx import Graph, GraphModule, Node

from backend_torch.kernels import graph_operations, host
from backend_torch.kernels.reductions import in_memory_order, root
from backend_torch.tensors import out_of_memory, trace_state
from backend_torch.tensors.memory import is_readable, may_be_asked
from backend_torch.torch_private import traces
from backend_torch.torch_private.functorch import is_transforming
from backend_torch.torch_private.operators import below_autograd

Tensor = torch.Tensor
aten = torch.ops.aten

_DOUBLE = {torch.float32: torch.float64, torch.complex64: torch.complex128}
_LONGEST_DOT = {torch.float32: 1 << 17, torch.complex64: 1 << 17, torch.float64: 1 << 62, torch.complex128: 1 << 62}
_FEW = 1 << 15  # elements, up to which NumPy computes: as many as the native core gives to NumPy
_FEW_ROWS = 25  # LAPACK's SMLSIZ: larger matrices are divided, and get the same signs from every LAPACK
_SINGLE = {double: single for single, double in _DOUBLE.items()}


def _finished(result: Any, narrowed: bool) -> Any:
    """Return tensors in C order, like NumPy; LAPACK's results are in Fortran order."""
    if not isinstance(result, Tensor):
        return tuple([_finished(each, narrowed) for each in result])
    return (result.to(_SINGLE.get(result.dtype, result.dtype)) if narrowed else result).contiguous()


def _in_double(function: Callable[..., Any], everywhere: bool = False) -> Callable[..., Any]:
    """Compute ``function`` of matrices of one dtype in double precision, on the CPU or ``everywhere``."""

    @functools.wraps(function)
    def compute(*tensors: Tensor, **options: Any) -> Any:
        wide = _DOUBLE.get(tensors[0].dtype)
        try:
            narrowed = wide is not None and (everywhere or tensors[0].device.type == "cpu")
            if narrowed:
                tensors = tuple([tensor.to(wide) for tensor in tensors])
            return _finished(function(*tensors, **options), narrowed)
        except RuntimeError as error:
            raise out_of_memory.explained(error) from None

    return compute


def _small_by_numpy(theirs: Callable[..., Any], otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """Let NumPy compute on small matrices on the CPU: torch's checks take longer than LAPACK."""

    def compute(*tensors: Tensor, **options: Any) -> Tensor:
        given = host.small(*tensors, most=_FEW)
        return otherwise(*tensors, **options) if given is None else host.wrapped(theirs(*given, **options))

    return compute


def _det(tensor: Tensor) -> Tensor:
    """torch's det, whose derivatives are 0 at a singular matrix, backwards and forwards; ours are `_det_by_svd`'s. A
    trace can't know whether its graph will be differentiated: it holds an operation with these derivatives.
    """
    if tensor.shape[-1] < 2:
        return torch.linalg.det(tensor)
    if trace_state.is_tracing() and not is_transforming():
        return DET(tensor)
    return _det_by_svd(tensor) if tensor.requires_grad or is_transforming() else torch.linalg.det(tensor)


def _det_by_svd(tensor: Tensor) -> Tensor:
    """Return the determinant by Schur's complement of the smallest singular value. The bases of the singular vectors
    are constants, and the derivatives hold in any basis.
    """
    left, sizes, right = torch.linalg.svd(tensor.detach())
    matrix = left.mH @ tensor @ right.mH
    tiny = torch.finfo(sizes.dtype).tiny ** 0.25  # in place of other singular values that are 0
    lost = torch.where(sizes[..., :-1] <= tiny, tiny, torch.zeros_like(sizes[..., :-1]))
    block = matrix[..., :-1, :-1] + torch.diag_embed(lost)
    rest = matrix[..., -1:, -1:] - matrix[..., -1:, :-1] @ torch.linalg.solve(block, matrix[..., :-1, -1:])
    return torch.linalg.det(left) * torch.linalg.det(right) * torch.linalg.det(block) * rest[..., 0, 0]


def _det_recorded(tensor: Tensor) -> Tensor:
    is_recorded = tensor.requires_grad and torch.is_grad_enabled()
    if is_recorded or forward_ad.unpack_dual(tensor).tangent is not None:
        return _det_by_svd(tensor)
    with below_autograd():
        return DET(tensor)


_library = torch.library.Library("tnp", "FRAGMENT")
_library.define("det(Tensor matrices) -> Tensor")
DET = torch.ops.tnp.det.default
"""The determinant in graphs: torch's, with derivatives that hold for singular matrices."""
_det_of_graph = _small_by_numpy(np.linalg.det, torch.linalg.det)
_library.impl("det", _det_of_graph, "CompositeExplicitAutograd")
graph_operations.direct("det", _det_of_graph)
_library.impl("det", _det_recorded, "Autograd")
torch.library.register_fake("tnp::det", lambda matrices: matrices.new_empty(matrices.shape[:-2]), lib=_library)
torch.library.register_vmap(
    "tnp::det", lambda info, dims, matrices: (DET(matrices.movedim(dims[0], 0)), 0), lib=_library
)


inv = _small_by_numpy(np.linalg.inv, _in_double(torch.linalg.inv))
det = _small_by_numpy(np.linalg.det, _in_double(_det))
solve = _small_by_numpy(np.linalg.solve, _in_double(torch.linalg.solve))
cholesky = _small_by_numpy(np.linalg.cholesky, _in_double(torch.linalg.cholesky))
qr = _in_double(torch.linalg.qr)
householder = _in_double(torch.geqrf)


def _eigvals(tensor: Tensor) -> Tensor:
    """Return NumPy's eigenvalues on the CPU, in NumPy's order, real if NumPy returns real ones."""
    given = host.arrays(tensor)
    return torch.linalg.eigvals(tensor) if given is None else host.wrapped(np.linalg.eigvals(*given))


eigvals = _in_double(_eigvals)


def _eig(tensor: Tensor) -> tuple[Tensor, Tensor]:
    """Return NumPy's results on the CPU, real if NumPy's are: the same LAPACK, without torch's out-of-bounds write."""
    given = host.arrays(tensor)
    if given is not None:
        values, vectors = host.wrapped(np.linalg.eig(*given))
        return values, vectors
    if tensor.is_complex() or tensor.device.type != "cpu":
        return torch.linalg.eig(tensor)
    # If LAPACK does not converge, torch takes the last column for the first of a pair and writes the second behind the
    # last matrix (https://github.com/pytorch/pytorch/issues/162358). So one more matrix is added, which converges.
    last = torch.arange(tensor.shape[-1], dtype=tensor.dtype, device=tensor.device).diag().expand(1, *tensor.shape[-2:])
    stack = tensor.unsqueeze(0) if tensor.dim() == 2 else tensor.flatten(0, -3)
    values, vectors = torch.linalg.eig(torch.cat((stack, last)))
    return values[:-1].reshape(tensor.shape[:-1]), vectors[:-1].reshape(tensor.shape)


eig = _in_double(_eig)


def _eigh(tensor: Tensor, UPLO: Literal["L", "U"] = "L") -> tuple[Tensor, Tensor]:
    """Return NumPy's results on the CPU for matrices of few rows: torch's LAPACK gives eigenvectors other signs."""
    given = host.arrays(tensor)
    if given is None or tensor.shape[-1] > _FEW_ROWS:
        return torch.linalg.eigh(tensor, UPLO=UPLO)
    values, vectors = host.wrapped(np.linalg.eigh(given[0], UPLO))
    return values, vectors


eigh = _in_double(_eigh)
eigvalsh = _in_double(torch.linalg.eigvalsh)
svd = _in_double(torch.linalg.svd)
svdvals = _in_double(torch.linalg.svdvals)


def _pinv(tensor: Tensor, *, rtol: float | Tensor, hermitian: bool) -> Tensor:
    """torch's lstsq, which treats singular values up to an absolute tolerance, by default 0, as zero."""
    atol = torch.full_like(rtol, -torch.inf) if isinstance(rtol, Tensor) else -torch.inf
    return torch.linalg.pinv(tensor, rtol=rtol, atol=atol, hermitian=hermitian)


pinv = _in_double(_pinv, everywhere=True)


def _slogdet(tensor: Tensor) -> tuple[Tensor, Tensor]:
    sign, logarithm = torch.linalg.slogdet(tensor)
    return sign + 0, logarithm  # torch's sign of a singular matrix may be -0.0


slogdet = _in_double(_slogdet)


def _inv_or_nan(tensor: Tensor) -> Tensor:
    inverse, failed = torch.linalg.inv_ex(tensor)
    return torch.where(failed[..., None, None] == 0, inverse, torch.nan)


inv_or_nan = _in_double(_inv_or_nan)
"""The inverses, NaN in place of those that are not there."""


def _svdvals_or_nan(tensor: Tensor) -> Tensor:
    finite = tensor.isfinite().all(-1).all(-1)[..., None]
    return torch.where(finite, torch.linalg.svdvals(torch.where(finite[..., None], tensor, 0)), torch.nan)


svdvals_or_nan = _in_double(_svdvals_or_nan)
"""The singular values, NaN in place of those of a matrix that is not finite."""


def _svd_of_hermitian(tensor: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    values, vectors = _eigh(tensor)
    sizes = values.abs()
    order = sizes.argsort(-1).flip(-1)
    signs = torch.copysign(torch.ones((), dtype=values.dtype, device=values.device), values).gather(-1, order)
    left = vectors.gather(-1, order.unsqueeze(-2).expand(vectors.shape))
    return left, sizes.gather(-1, order), (left * signs.unsqueeze(-2)).mH.resolve_conj()


def _svdvals_of_hermitian(tensor: Tensor) -> Tensor:
    return torch.linalg.eigvalsh(tensor).abs().sort(-1, descending=True).values


svd_of_hermitian = _in_double(_svd_of_hermitian)
svdvals_of_hermitian = _in_double(_svdvals_of_hermitian)


def _lstsq(a: Tensor, b: Tensor, *, rcond: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    if a.device.type == "cpu" and is_readable(a) and is_readable(b) and b.shape[-1]:
        solution, _, rank, values = torch.linalg.lstsq(a, b, rcond=rcond, driver="gelsd")
    else:
        solution = torch.linalg.pinv(a, rtol=rcond) @ b
        values = torch.linalg.svdvals(a)
        rank = (values > rcond * values[..., :1]).sum(-1)
    return solution, residuals(a, b, solution), rank.to(torch.int32), values


lstsq = _in_double(_lstsq, everywhere=True)
"""Solution of least length, sums of squared residuals, rank and singular values of one matrix ``a``.

Singular values count as zero up to ``rcond`` times the largest.
"""


def residuals(a: Tensor, b: Tensor, solution: Tensor) -> Tensor:
    """Return the sum of squares of ``b - a @ solution`` for each column of ``b``."""
    difference = b - a @ solution
    return (difference.conj() * difference).real.sum(-2)


def eps(tensor: Tensor) -> float:
    """Return the precision of a tensor's dtype: the distance from one to the next number."""
    return float(torch.finfo(tensor.dtype).eps)


def is_real(tensor: Tensor) -> bool:
    """Whether all imaginary parts are zero; False while the values are unknown."""
    if not tensor.is_complex():
        return True
    some = tensor.imag.count_nonzero() if may_be_asked(tensor) else tensor  # count_nonzero is faster than any()
    return may_be_asked(some) and not bool(some)


def is_not_finite(tensor: Tensor) -> bool:
    """Whether there is a NaN or an infinity; False while the values are unknown."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return False
    total = tensor.sum() if may_be_asked(tensor) else tensor
    # A finite sum means finite elements, and a sum is the fastest check; large numbers may have an infinite sum.
    return may_be_asked(total) and not cmath.isfinite(total.item()) and not bool(tensor.isfinite().all())


def lacks_rank(rank: Tensor, columns: int) -> bool:
    """Whether a rank is less than the number of columns; False while the values are unknown."""
    return may_be_asked(rank) and int(rank) != columns


def euclidean(tensor: Tensor, dims: tuple[int, ...] | None, keepdims: bool) -> Tensor:
    """Return the root of the sum of squares over axes; None means all.

    A dot product is the fastest, but loses digits of long vectors in single precision. ``torch.linalg.vector_norm``
    loses more, and is slow on complex and strided tensors.
    """
    if dims is None and tensor.is_contiguous() and tensor.numel() <= _LONGEST_DOT.get(tensor.dtype, 0):
        flat = tensor.reshape(-1)
        squared = torch.vdot(flat, flat).real if flat.is_complex() else torch.dot(flat, flat)
        found = root(squared)
        return found.reshape([1] * tensor.dim()) if keepdims else found
    squares = tensor.real.square() + tensor.imag.square() if tensor.is_complex() else tensor * tensor
    dims = tuple(range(tensor.dim())) if dims is None else dims
    if not dims:
        return root(squares)  # torch reads no axes as all axes
    return root(in_memory_order(squares.sum(dims, keepdim=bool(keepdims)), squares, dims, bool(keepdims)))


# -- graphs -----------------------------------------------------------------------------------------------------------

_library.define("small_matrix(str name, Tensor[] values) -> Tensor")
_SMALL = {"inv": inv, "solve": solve, "cholesky": cholesky}
_KERNELS: dict[Any, str] = {
    aten.linalg_inv_ex.default: "inv",
    aten._linalg_solve_ex.default: "solve",
    aten.linalg_cholesky_ex.default: "cholesky",
}
"""Operations whose first result `_small_by_numpy` computes."""


@torch.library.register_fake("tnp::small_matrix", lib=_library)
def _without_data(name: str, values: list[Tensor]) -> Tensor:
    return values[-1].new_empty(values[-1].shape)


def _by_name(name: str, values: list[Tensor]) -> Tensor:
    found: Tensor = _SMALL[name](*values)
    return found


_library.impl("small_matrix", _by_name, "CPU")
graph_operations.direct("small_matrix", _by_name)


def choose(module: GraphModule) -> None:
    """Let graphs compute with matrices as eager code does: without vectors that nothing reads, small ones by NumPy."""
    graph = module.graph
    for node in graph.nodes:
        used = {user.args[1] for user in node.users if user.target is operator.getitem}
        if node.target is aten._linalg_svd.default and used == {1}:
            node.args, node.kwargs = (node.args[0], False, False), {}
        elif node.target is aten._linalg_eigh.default and used == {0}:
            node.args, node.kwargs = (*node.args[:2], *["L"][len(node.args) - 1 :], False), {}
        elif node.target in _KERNELS:
            _by_numpy(graph, node)
    module.recompile()


def _by_numpy(graph: Graph, node: Node) -> None:
    """Replace an operation on small matrices, and the check of its error code, which the kernel raises itself."""
    operands = node.all_input_nodes
    values = [operand.meta["val"] for operand in operands]
    if len(node.args) > len(operands) or not set(node.kwargs) <= {"check_errors"}:
        return
    if any(v.device.type != "cpu" or not isinstance(v.numel(), int) or not 0 < v.numel() <= _FEW for v in values):
        return
    if len({v.dim() for v in values}) > 1:
        return
    parts = {user.args[1]: user for user in node.users}
    checks = [user for place in parts if place for user in parts[place].users]
    if 0 not in parts or any(check.target is not aten._linalg_check_errors.default for check in checks):
        return
    with graph.inserting_before(node):
        name = _KERNELS[node.target]
        made = graph.call_function(torch.ops.tnp.small_matrix.default, (name, operands))
    made.meta["val"] = traces.new(traces.new_fake_mode(), node.meta["val"][0])
    parts[0].replace_all_uses_with(made)
    for each in (*checks, *parts.values(), node):
        graph.erase_node(each)
