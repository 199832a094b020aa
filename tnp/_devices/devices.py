"""Devices: where arrays are made, what this machine has, and waiting for it.

Layer: owns the public names of devices; which device is whose default, the backend keeps.
"""

from __future__ import annotations

from typing import Any

from backend_torch.tensors import devices as backend
from backend_torch.tensors import interop, transfers
from tnp._core.base import ndarray, wrap_array
from tnp._core.convert import tensor_of

Device = backend.Device


def devices() -> list[Device]:
    """The devices of this machine that arrays can be on.

    Returns
    -------
    list of Device
        Each with ``kind``, ``index``, ``name``, ``memory_total`` and ``memory_free`` in bytes; the CPU is the first. A
        record can be given wherever a device is asked for.

    Notes
    -----
    NumPy has no such function. ``"meta"``, which has shapes and dtypes but no memory, is no device of the machine.

    Examples
    --------
    >>> import tnp as np
    >>> np.devices()[0].kind
    'cpu'
    """
    return backend.described()


class device:
    """A scope in which new arrays and random numbers are made on a device.

    Parameters
    ----------
    device : str, torch.device or Device
        ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ``"meta"`` ...
    fallback : str, torch.device or Device, optional
        What to take if this machine has no such device; without it that raises.

    Attributes
    ----------
    where : torch.device
        The device; the ``with`` statement gives it too.

    Raises
    ------
    ValueError
        This machine has no such device.

    See Also
    --------
    set_default_device, devices, copy

    Notes
    -----
    The scope is the thread's own: other threads, those started inside of it too, keep their default. One scope may be
    entered again, by several threads as well.

    Functions of arrays compute where their arrays are, in a scope as outside. NumPy and torch arrays stay where they
    are until they are copied (``tnp.copy``) or moved (``x.to_device``).

    Examples
    --------
    >>> import tnp as np
    >>> with np.device("meta"):
    ...     x = np.zeros((100_000, 100_000))
    >>> (x @ x).shape, x.nbytes
    ((100000, 100000), 80000000000)
    >>> np.device("cuda:99", fallback="cpu").where
    device(type='cpu')
    """

    __slots__ = ("where",)
    __module__ = "tnp"

    def __init__(self, device: Any, *, fallback: Any = None) -> None:
        self.where = backend.chosen(device, fallback)

    def __enter__(self) -> Any:
        backend.enter(self.where)
        return self.where

    def __exit__(self, *error: object) -> None:
        backend.leave()

    def __repr__(self) -> str:
        return f"tnp.device({str(self.where)!r})"


def set_default_device(device: Any, *, fallback: Any = None) -> None:
    """Make a device the default of new arrays, outside of every scope.

    Parameters
    ----------
    device : str, torch.device, Device or None
        None is the CPU.
    fallback : str, torch.device or Device, optional
        What to take if this machine has no such device; without it that raises.

    Raises
    ------
    ValueError
        This machine has no such device.

    See Also
    --------
    device

    Notes
    -----
    It is the default of the thread that calls and of those that start afterwards. Called in a scope, it lasts for the
    thread until that ends.

    Examples
    --------
    >>> import tnp as np
    >>> np.set_default_device("cuda:99", fallback="cpu")
    >>> np.zeros(2).device
    device(type='cpu')
    """
    backend.set_default(device, fallback)


def synchronize(device: Any = None) -> None:
    """Wait until everything that was queued on a device is done.

    Parameters
    ----------
    device : str, torch.device or Device, optional
        By default that of new arrays if it is an accelerator, else the machine's current accelerator. The CPU is
        always done.

    Raises
    ------
    ValueError
        This machine has no such device.

    Examples
    --------
    >>> import tnp as np
    >>> np.synchronize()
    """
    transfers.synchronize(None if device is None else backend.parse(device))


def pin_memory(x: Any) -> ndarray:
    """The values in page-locked memory, from and to which an accelerator copies without making the host wait.

    Parameters
    ----------
    x : array_like
        In the host's memory.

    Returns
    -------
    ndarray
        ``x`` itself if its memory is page-locked.

    Raises
    ------
    ValueError
        ``x`` is on another device, or there is no accelerator.

    See Also
    --------
    synchronize

    Examples
    --------
    >>> import tnp as np
    >>> x = np.ones(3)
    >>> if len(np.devices()) > 1:
    ...     y = np.pin_memory(x).to_device(np.devices()[1], non_blocking=True)
    """
    tensor = tensor_of(x)
    pinned = interop.pinned(tensor)
    return x if isinstance(x, ndarray) and pinned is tensor else wrap_array(pinned)
