"""The namespace's description in the Array API standard: devices, dtypes and capabilities.

Layer: owns ``__array_namespace_info__``; the backend lists the devices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from backend_torch.tensors import devices
from tnp._core.numpy_version import NUMPY

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = (*_KINDS["signed integer"], *_KINDS["unsigned integer"])
_KINDS["numeric"] = (*_KINDS["integral"], *_KINDS["real floating"], *_KINDS["complex floating"])
_DEVICES: Any = list if NUMPY < "2.5.0" else tuple


class NamespaceInfo:
    """Inspection of the namespace, as the Array API standard has it.

    Notes
    -----
    Differences from NumPy: devices are torch's.

    Source: https://data-apis.org/array-api/latest/API_specification/inspection.html

    Examples
    --------
    >>> import tnp as np
    >>> np.__array_namespace_info__().default_dtypes()["real floating"]
    dtype('float64')
    """

    __module__ = "tnp"

    def capabilities(self) -> dict[str, Any]:
        """Return the namespace's optional capabilities; see the standard.

        Returns
        -------
        dict
            ``"boolean indexing"``, ``"data-dependent shapes"`` and ``"max dimensions"``, which is NumPy's.
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Any:
        """The device that new arrays are made on (a torch.device)."""
        return devices.numbered(devices.current())

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype]:
        """The dtypes of new arrays where none is given.

        Parameters
        ----------
        device : str or torch.device, optional
            The same on each.

        Returns
        -------
        dict
        """
        devices.parse(device)
        return {
            "real floating": np.dtype(np.float64),
            "complex floating": np.dtype(np.complex128),
            "integral": np.dtype(np.intp),
            "indexing": np.dtype(np.intp),
        }

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, np.dtype]:
        """The standard's dtypes that arrays can have.

        Parameters
        ----------
        device : str or torch.device, optional
            On which device: MPS has no double precision, the others have all.
        kind : str or tuple of str, optional
            ``"bool"``, ``"signed integer"``, ``"unsigned integer"``, ``"integral"``, ``"real floating"``,
            ``"complex floating"``, ``"numeric"``, or several; None is all.

        Returns
        -------
        dict
            Names and dtypes.

        Raises
        ------
        ValueError
            Another kind.
        """
        kinds = ("bool", "numeric") if kind is None else (kind,) if isinstance(kind, str) else kind
        unknown = [each for each in kinds if each not in _KINDS]
        if unknown:
            raise ValueError(f"unsupported kind: {unknown[0]!r}; use one of {', '.join(map(repr, _KINDS))}")
        where = devices.parse(device)
        double = where is None or devices.has_double(where)
        names = dict.fromkeys(name for each in kinds for name in _KINDS[each])
        return {name: np.dtype(name) for name in names if double or name not in ("float64", "complex128")}

    def devices(self) -> list[Any] | tuple[Any, ...]:
        """The devices of this machine that arrays can be on (torch.device objects)."""
        return _DEVICES(devices.present())
