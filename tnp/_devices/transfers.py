"""Transfers one can see: a scope that records what is copied between devices, or forbids it.

Layer: owns the public name; which operations copy or wait, the backend knows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from backend_torch.tensors.transfers import Transfer, Watch
from backend_torch.tensors.transfers import TransferError as TransferError


@contextlib.contextmanager
def transfers(*, forbid: bool = False) -> Iterator[list[Transfer]]:
    """Record each copy between devices, and each time the host waits for one, inside a ``with`` block.

    Parameters
    ----------
    forbid : bool, optional
        Raise TransferError at the first instead, before anything is copied.

    Returns
    -------
    list of Transfer
        One for each, in order: ``operation``, ``source``, ``target``, ``nbytes``, ``waits`` and ``line``, the file and
        line of the program that it is due to. ``print(transfer)`` says it in a sentence.

    See Also
    --------
    synchronize, allow_host_copies

    Notes
    -----
    What this thread does is seen, with the gradients that it computes. Reading a number, a condition or a mask's number
    of elements from a device is a copy of a few bytes for which the host waits. What the program calls in
    ``torch.cuda`` itself is not seen, nor what a compiled kernel does inside. On the CPU nothing is copied between
    devices, and the ``meta`` device has no bytes. NumPy has no such function.

    Examples
    --------
    >>> import tnp as np
    >>> with np.transfers() as log:
    ...     total = float(np.arange(3).sum())
    >>> log
    []
    """
    with Watch(forbid) as watch:
        yield watch.log
