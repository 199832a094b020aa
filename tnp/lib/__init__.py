"""``numpy.lib``: its parts about arrays.

Layer: owns nothing. What is about files and classes is NumPy's, which takes tnp's arrays by their protocols.
"""

from numpy.lib import (
    Arrayterator,
    NumpyVersion,
    add_docstring,
    add_newdoc,
    format,
    introspect,
    mixins,
    npyio,
    tracemalloc_domain,
)

from tnp import emath as scimath
from tnp.lib import array_utils, stride_tricks

__all__ = [
    "Arrayterator", "NumpyVersion", "add_docstring", "add_newdoc", "array_utils", "format", "introspect", "mixins",
    "npyio", "scimath", "stride_tricks", "tracemalloc_domain",
]  # fmt: skip
