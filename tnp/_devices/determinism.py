"""``use_deterministic``: the same bits from the same numbers, run after run.

Layer: owns the public name; what torch does about it is the backend's.
"""

from __future__ import annotations

from backend_torch.tensors import determinism


class use_deterministic:
    """Compute by algorithms that give the same bits from the same arguments each time, or raise.

    Parameters
    ----------
    mode : bool, default True
        Whether algorithms have to be deterministic.
    warn_only : bool, default False
        Warn of an operation that has no deterministic algorithm instead of raising.

    Raises
    ------
    TypeError
        ``mode`` or ``warn_only`` is no truth value.

    See Also
    --------
    random.seed, errstate

    Notes
    -----
    Calling it sets the mode from there on; as a ``with`` statement it lasts for the block, and the mode is then what it
    was before the call. The mode is the process's, all threads': it is torch's own
    (``torch.use_deterministic_algorithms``). While it is on, an operation that has none on its device raises
    RuntimeError and is named, and compiled functions keep the mode in which they were compiled.

    On the CPU, operations are deterministic for one number of threads. On CUDA it decides which kernels add up
    repeated indices (``np.add.at``, ``bincount``, gradients of indexing), and matrix products need
    ``CUBLAS_WORKSPACE_CONFIG=:4096:8`` in the environment: it is set if it is not, which has effect only before the
    first product of the process, so call this first or set it yourself. Arrays that ``empty`` makes are filled (NaN, or
    the largest integer), so that what was forgotten is the same each time.

    Random numbers are another matter: ``tnp.random.seed`` and ``default_rng(seed)``. NumPy has no such function.

    Examples
    --------
    >>> import tnp as np
    >>> with np.use_deterministic():
    ...     x = np.zeros(2)
    ...     np.add.at(x, np.asarray([0, 0, 1]), np.asarray([0.1, 0.2, 0.3]))
    >>> x.round(2)
    array([0.3, 0.3])
    """

    __slots__ = ("_before",)
    __module__ = "tnp"

    def __init__(self, mode: bool = True, *, warn_only: bool = False) -> None:
        for name, value in (("mode", mode), ("warn_only", warn_only)):
            if type(value) is not bool:
                raise TypeError(f"{name} must be True or False, not {value!r}")
        self._before = determinism.mode()
        determinism.use(mode, warn_only)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        determinism.use(*self._before)

    def __repr__(self) -> str:
        enabled, warns = determinism.mode()
        return f"<tnp.use_deterministic: now {enabled}{', warns only' if enabled and warns else ''}>"
