"""``numpy.random.mtrand``: the hidden stream, which libraries read there as ``_rand``.

Layer: owns the stream that the legacy functions of `tnp.random` share.
"""

from __future__ import annotations

from numpy.random.mtrand import _rand as _numpys

from tnp.random._random_state import RandomState as RandomState

_rand = RandomState._over(_numpys)
