"""Installs the native core, if there is one, on the finished classes.

Layer: owns the list of classes and ufuncs that the backend's extension receives.
"""

from __future__ import annotations

from backend_torch import native
from tnp._core.base import float64, ndarray, readonly, scalar, strided, subclass
from tnp._ufunc import table
from tnp._ufunc.ufunc import BinaryUfunc, UnaryUfunc


def install() -> None:
    """Put the native slots into the array's classes and the ufuncs'; called when tnp has all its names."""
    ufuncs = {
        ufunc.__name__: (ufunc, ufunc._numpy, ufunc._kernel)
        for ufunc in table.__dict__.values()
        if type(ufunc) in (UnaryUfunc, BinaryUfunc) and ufunc.nout == 1
    }
    native.install(ndarray, scalar, readonly, strided, float64, subclass, (UnaryUfunc, BinaryUfunc), ufuncs)
    native.make_floats()
