"""Packing of bits into bytes, and unpacking.

Layer: owns axes, counts and bit orders.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from backend_torch.kernels import padding
from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import to_numpy
from tnp._core.base import ndarray, wrap_array
from tnp._core.convert import tensor_of
from tnp._core.errors import integer_axis
from tnp._core.indexing import BOOL
from tnp._manipulation.joining import concatenate
from tnp._manipulation.rearranging import moveaxis
from tnp._manipulation.shape import atleast_1d

Tensor = Any


def packbits(a: Any, /, axis: Any = None, bitorder: str = "big") -> ndarray:
    """Pack bits, eight to a byte.

    Parameters
    ----------
    a : array_like of int or bool
        Every element that is not zero is a set bit.
    axis : int, optional
        Along which to pack; flattened by default.
    bitorder : {'big', 'little'}, optional
        Whether the first bit of a byte is its highest or its lowest.

    Returns
    -------
    ndarray
        Of uint8; the last byte is filled up with zeros.

    Raises
    ------
    AxisError
        The array has no such axis.
    TypeError
        The array holds neither integers nor booleans.
    ValueError
        The bit order is unknown.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.packbits.html

    Examples
    --------
    >>> import tnp as np
    >>> np.packbits(np.asarray([1, 0, 1, 0, 0, 0, 0, 1, 1]))
    array([161, 128], dtype=uint8)
    """
    is_little = _is_little(bitorder)
    tensor = tensor_of(a)
    if to_numpy[tensor.dtype].kind not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    if axis is None or not tensor.dim():
        tensor, axis = tensor.reshape(-1), 0 if axis is None else axis
    dim = integer_axis(axis, tensor.dim())
    packed = padding.packed(cast(tensor, BOOL).movedim(dim, -1), is_little)
    return wrap_array(_moved(packed, dim))


def unpackbits(a: Any, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> ndarray:
    """Unpack bytes into their bits.

    Parameters
    ----------
    a : array_like of uint8
    axis : int, optional
        Along which to unpack; flattened by default.
    count : int, optional
        How many bits to unpack: more are zeros, a negative number leaves so many out at the end. All by default.
    bitorder : {'big', 'little'}, optional
        Whether the first bit of a byte is its highest or its lowest.

    Returns
    -------
    ndarray
        Zeros and ones, of uint8.

    Raises
    ------
    AxisError
        The array has no such axis.
    TypeError
        The array is not of uint8.
    ValueError
        The bit order is unknown, or more bits are left out than there are.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.unpackbits.html

    Examples
    --------
    >>> import tnp as np
    >>> np.unpackbits(np.asarray([7], dtype=np.uint8))
    array([0, 0, 0, 0, 0, 1, 1, 1], dtype=uint8)
    """
    is_little = _is_little(bitorder, "unpack() argument 4")
    tensor = tensor_of(a)
    if to_numpy[tensor.dtype] != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    if axis is None:
        tensor, axis = tensor.reshape(-1), 0
    dim = integer_axis(axis, max(tensor.dim(), 1))
    octets = moveaxis(atleast_1d(wrap_array(tensor)), dim, -1)
    bits = wrap_array(padding.unpacked(octets.tensor, is_little))
    size = bits.shape[-1]
    if count is not None:
        wanted = operator.index(count)
        if wanted < -size:
            raise ValueError(f"-count larger than number of elements: {-wanted} of {size}")
        if wanted > size:
            bits = concatenate([bits, wrap_array(bits.tensor.new_zeros((*bits.shape[:-1], wanted - size)))], -1)
        else:
            bits = bits[..., : wanted if wanted >= 0 else size + wanted]
    return wrap_array(_moved(bits.tensor, dim))


def _moved(tensor: Tensor, dim: int) -> Tensor:
    """Return the tensor with its last axis elsewhere, in C order."""
    return tensor.contiguous() if dim == tensor.dim() - 1 else tensor.movedim(-1, dim).contiguous()


def _is_little(bitorder: Any, name: str = "pack() argument 3") -> bool:
    if not isinstance(bitorder, str):
        raise TypeError(f"{name} must be str, not {type(bitorder).__name__}")
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    return bitorder == "little"
