"""``tnp.distributed``: arrays over several processes, on one machine or many.

Layer: owns the public names. Such an array is an ndarray that holds torch's DTensor, and goes through the same
functions as any other; what is known of processes and parts is the backend's.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from backend_torch.distributed import arrays as backend
from backend_torch.distributed.arrays import Mesh
from backend_torch.distributed.operations import ShardingError
from backend_torch.tensors import devices
from tnp._core.base import ndarray, wrap, wrap_array
from tnp._core.convert import tensor_of
from tnp._core.dtypes import tensor_dtype
from tnp._core.errors import normalize_axis
from tnp._creation.filled import as_shape
from tnp._ufunc.table import cos, log1p, sqrt


def init(device: Any = None, *, timeout: float = 300.0) -> None:
    """Join the processes that ``torchrun`` started; without it, be the only one.

    Parameters
    ----------
    device : str, optional
        ``"cpu"`` (processes talk through gloo) or ``"cuda"`` (NCCL, a GPU for each process); by default the device
        that new arrays are made on.
    timeout : float, optional
        Seconds that a process waits for the others before it raises.

    See Also
    --------
    mesh

    Notes
    -----
    ``torchrun --nproc-per-node 4 program.py`` runs a program in 4 processes of one machine. Each runs all of it, and
    all must come to the same functions of sharded arrays in the same order. NumPy has no such function.

    Examples
    --------
    >>> import tnp as np
    >>> np.distributed.init()
    >>> np.distributed.size()
    1
    """
    backend.init((devices.parse(device) or devices.current()).type, timeout)


def rank() -> int:
    """The number of this process, counted from 0.

    Returns
    -------
    int
        Less than `size`.

    Examples
    --------
    >>> import tnp as np
    >>> np.distributed.rank()
    0
    """
    return backend.rank()


def size() -> int:
    """The number of processes.

    Returns
    -------
    int
        1 before `init`, and for a program that torchrun did not start.

    Examples
    --------
    >>> import tnp as np
    >>> np.distributed.size()
    1
    """
    return backend.size()


def mesh(shape: Any, names: Any, *, device: Any = None) -> Mesh:
    """The processes in a grid, along whose dimensions arrays are cut.

    Parameters
    ----------
    shape : int or tuple of int
        Their product is the number of processes.
    names : str or tuple of str
        A name for each dimension.
    device : str, optional
        Where the processes have their parts; by default where new arrays are made.

    Returns
    -------
    torch.distributed.device_mesh.DeviceMesh

    Raises
    ------
    ValueError
        The grid has another number of places than there are processes, or of names.
    RuntimeError
        ``init`` has not been called.

    Examples
    --------
    >>> import tnp as np
    >>> np.distributed.init()
    >>> np.distributed.mesh((1,), ("rows",)).mesh_dim_names
    ('rows',)
    """
    kind = devices.parse(device) or devices.current()
    return backend.mesh(kind.type, as_shape(shape), (names,) if isinstance(names, str) else tuple(names))


@dataclass(frozen=True)
class Sharding:
    """The layout of an array over processes.

    Attributes
    ----------
    mesh : torch.distributed.device_mesh.DeviceMesh
        The grid of processes.
    axes : tuple
        For each dimension of the grid: the axis that is cut along it; None if all processes hold the same; ``"sum"``
        or another reduction if each holds a part of the result, which is combined when it is read.

    Examples
    --------
    >>> import tnp as np
    >>> np.distributed.init()
    >>> rows = np.distributed.mesh((np.distributed.size(),), ("rows",))
    >>> np.distributed.sharding(np.distributed.shard(np.arange(4), rows, axis=0))
    Sharding(rows=0)
    """

    mesh: Mesh
    axes: tuple[Any, ...]

    def __repr__(self) -> str:
        names = self.mesh.mesh_dim_names or tuple([f"dim{i}" for i in range(self.mesh.ndim)])
        return f"Sharding({', '.join(f'{name}={axis!r}' for name, axis in zip(names, self.axes, strict=True))})"


def sharding(x: Any) -> Sharding | None:
    """The layout of an array over processes; None for an ordinary array. The same as ``x.sharding``.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    Sharding or None

    Examples
    --------
    >>> import tnp as np
    >>> np.distributed.init()
    >>> rows = np.distributed.mesh((1,), ("rows",))
    >>> np.distributed.shard(np.ones(3), rows).sharding
    Sharding(rows=0)
    """
    known = backend.sharding(x.tensor if isinstance(x, ndarray) else tensor_of(x))
    return None if known is None else Sharding(*known)


def shard(x: Any, mesh: Mesh, axis: Any = 0) -> ndarray:
    """Cut an array along an axis, a part for each process.

    Parameters
    ----------
    x : array_like
        The whole array, the same in each process, or one that is sharded already. Of the first nothing is sent: each
        process keeps its part.
    mesh : DeviceMesh
        The grid of processes.
    axis : int or tuple, optional
        The axis that is cut along the grid's first dimension; a tuple has one for each dimension, or None.

    Returns
    -------
    ndarray
        Whose parts are as long as each other, but the last ones, which may be shorter or empty.

    Raises
    ------
    AxisError
        The array has no such axis.
    ValueError
        ``axis`` is a tuple of another length than the grid has dimensions.

    Notes
    -----
    Functions of such arrays give such arrays: elementwise ones bit for bit what one process computes, sums to rounding.
    Operands must all be sharded or replicated, but for scalars and 0-d arrays. NumPy has no such function.

    Examples
    --------
    >>> import tnp as np
    >>> np.distributed.init()
    >>> rows = np.distributed.mesh((np.distributed.size(),), ("rows",))
    >>> x = np.distributed.shard(np.arange(6.0).reshape(3, 2), rows)
    >>> x
    array(shape=(3, 2), dtype=float64, sharding=Sharding(rows=0))
    >>> float(np.sum(x * x))
    55.0
    """
    tensor = tensor_of(x)
    return wrap_array(backend.place(tensor, mesh, _axes(axis, mesh, tensor.dim())))


def _axes(axis: Any, mesh: Mesh, ndim: int) -> tuple[int | None, ...]:
    """Return an axis, or None, for each dimension of the mesh."""
    given = axis if isinstance(axis, tuple) else (axis, *[None] * (mesh.ndim - 1))
    if len(given) != mesh.ndim:
        raise ValueError(f"axis has {len(given)} entries for the {mesh.ndim} dimensions of the mesh")
    return tuple([None if one is None else normalize_axis(one, ndim) for one in given])


def replicate(x: Any, mesh: Mesh) -> ndarray:
    """The whole array in each process of a mesh, as an operand beside sharded ones.

    Parameters
    ----------
    x : array_like
        The same in each process, or a sharded array, whose parts are sent to all.
    mesh : DeviceMesh

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import tnp as np
    >>> np.distributed.init()
    >>> rows = np.distributed.mesh((1,), ("rows",))
    >>> np.distributed.replicate([1.0, 2.0], rows).sharding
    Sharding(rows=None)
    """
    return wrap_array(backend.place(tensor_of(x), mesh, (None,) * mesh.ndim))


def gather(x: Any) -> Any:
    """The whole array in each process, an ordinary one. All processes must call it.

    Parameters
    ----------
    x : array_like
        Of an ordinary array nothing is sent.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import tnp as np
    >>> np.distributed.init()
    >>> rows = np.distributed.mesh((1,), ("rows",))
    >>> np.distributed.gather(np.distributed.shard(np.arange(3), rows) + 1)
    array([1, 2, 3])
    """
    return wrap(backend.whole(tensor_of(x)))


def local(x: Any) -> Any:
    """The part of an array that this process has, sharing its memory.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import tnp as np
    >>> np.distributed.init()
    >>> rows = np.distributed.mesh((1,), ("rows",))
    >>> np.distributed.local(np.distributed.shard(np.arange(3), rows))
    array([0, 1, 2])
    """
    return wrap(backend.part(tensor_of(x)))


class Generator:
    """Random numbers of sharded arrays, the same on any number of processes.

    Parameters
    ----------
    seed : int
        The same in each process.
    mesh : DeviceMesh
        The grid that the arrays lie over.
    axis : int or tuple, optional
        As in ``shard``.

    Notes
    -----
    Element i of a draw is a function of the seed, of the number of the draw and of i (SplitMix64), so each process
    makes its own part, sends nothing, and none has the whole: NumPy's streams are made from the first number on only.
    For NumPy's own numbers, at the price of the whole array in each process, ``shard(rng.random(n), mesh)``.

    Examples
    --------
    >>> import tnp as np
    >>> np.distributed.init()
    >>> rows = np.distributed.mesh((np.distributed.size(),), ("rows",))
    >>> rng = np.distributed.Generator(0, rows)
    >>> x = rng.random(1000)
    >>> x.shape, bool(abs(x.mean() - 0.5) < 0.05)
    ((1000,), True)
    """

    __slots__ = ("_axis", "_keys", "_mesh")
    __module__ = "tnp.distributed"

    def __init__(self, seed: int, mesh: Mesh, axis: Any = 0) -> None:
        self._keys = backend.Keys(operator.index(seed))
        self._mesh = mesh
        self._axis = axis

    @property
    def state(self) -> ndarray:
        """The state as an array of bytes, which a checkpoint can hold; assigning a state continues from it."""
        return wrap_array(self._keys.state)

    @state.setter
    def state(self, state: Any) -> None:
        self._keys.state = tensor_of(state)

    def _drawn(self, number: int, size: Any, dtype: Any) -> list[ndarray]:
        kind = np.dtype(dtype)
        if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise TypeError(f"Unsupported dtype {kind!r} for random numbers: float32 and float64 are drawn")
        shape = as_shape(size)
        axes = _axes(self._axis, self._mesh, len(shape))
        keys = [self._keys.draw() for _ in range(number)]
        return [wrap_array(t) for t in backend.uniform_part(keys, shape, tensor_dtype(kind), self._mesh, axes)]

    def random(self, size: Any, dtype: Any = np.float64) -> ndarray:
        """Draw from the uniform distribution over [0, 1)."""
        return self._drawn(1, size, dtype)[0]

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None) -> ndarray:
        """Draw from the uniform distribution over [low, high)."""
        return self.random(size) * (high - low) + low

    def standard_normal(self, size: Any, dtype: Any = np.float64) -> ndarray:
        """Draw from the normal distribution of mean 0 and deviation 1, by Box and Muller's method."""
        radius, angle = self._drawn(2, size, dtype)
        return sqrt(log1p(-radius) * -2.0) * cos(angle * (2.0 * np.pi))

    def integers(self, low: int, high: int | None = None, size: Any = None) -> ndarray:
        """Draw integers from [low, high), from [0, low) if ``high`` is None; a range of 2**53 at most."""
        if high is None:
            low, high = 0, low
        if not 0 < high - low <= 2**53:
            raise ValueError(f"the range from {low} to {high} is empty or has more than 2**53 integers")
        return (self.random(size) * float(high - low)).astype(np.int64) + low


def save(path: str | os.PathLike[str], arrays: Mapping[str, Any]) -> None:
    """Write a checkpoint: arrays, sharded or not, of which each process writes its part.

    Parameters
    ----------
    path : str or path
        A folder that all processes can reach. A complete new checkpoint replaces the one that it holds.
    arrays : mapping of str to array_like
        The arrays, with the same names and shapes in each process.

    See Also
    --------
    load, torch.distributed.checkpoint

    Examples
    --------
    >>> import tempfile
    >>> import tnp as np
    >>> np.distributed.init()
    >>> rows = np.distributed.mesh((np.distributed.size(),), ("rows",))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.distributed.save(folder + "/step", {"x": np.distributed.shard(np.arange(5), rows)})
    ...     x = np.distributed.shard(np.zeros(5, int), rows)
    ...     _ = np.distributed.load(folder + "/step", {"x": x})
    >>> int(x.sum())
    10
    """
    backend.save(os.fspath(path), {name: tensor_of(array) for name, array in arrays.items()})


def load(path: str | os.PathLike[str], arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Read a checkpoint into arrays, which may be sharded in another way, over another number of processes.

    Parameters
    ----------
    path : str or path
        The folder that ``save`` has written.
    arrays : mapping of str to ndarray
        The arrays to fill, with the shapes and dtypes that were saved.

    Returns
    -------
    dict
        The arrays.

    Raises
    ------
    FileNotFoundError
        There is no complete checkpoint.
    KeyError
        The checkpoint has no array of a name.
    ValueError
        An array has another shape or dtype than what was saved.

    See Also
    --------
    save
    """
    folder = backend.found(os.fspath(path))
    if folder is None:
        raise FileNotFoundError(f"there is no complete checkpoint at {os.fspath(path)!r}")
    known = backend.saved(folder)
    tensors = {name: array.tensor for name, array in arrays.items()}
    for name, tensor in tensors.items():
        if name not in known:
            raise KeyError(f"the checkpoint has no array {name!r}: it has {', '.join(map(repr, known))}")
        shape, dtype = known[name]
        if shape != tuple(tensor.shape) or dtype is not tensor.dtype:
            raise ValueError(
                f"array {name!r} was saved with shape {shape} and dtype {dtype}, and is to be read into shape "
                f"{tuple(tensor.shape)} and dtype {tensor.dtype}"
            )
    backend.restore(folder, tensors)
    return dict(arrays)


def exists(path: str | os.PathLike[str]) -> bool:
    """Whether there is a complete checkpoint.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    bool

    Examples
    --------
    >>> import tnp as np
    >>> np.distributed.exists("nowhere")
    False
    """
    return backend.found(os.fspath(path)) is not None


__all__ = [
    "Generator", "Sharding", "ShardingError", "exists", "gather", "init", "load", "local", "mesh", "rank", "replicate",
    "save", "shard", "sharding", "size",
]  # fmt: skip
