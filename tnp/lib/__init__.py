"""``numpy.lib``: its parts about arrays.

Layer: owns nothing.
"""

from numpy.lib import NumpyVersion

from tnp.lib import array_utils, stride_tricks

__all__ = ["NumpyVersion", "array_utils", "stride_tricks"]
