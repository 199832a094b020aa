"""Windows do what NumPy's do."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle import agrees, compare


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning"])
@pytest.mark.parametrize("size", [-1, 0, 1, 2, 3, 4, 12, 51, 5.5])
@agrees(rtol=1e-12, atol=1e-15)
def test_windows(xp: Any, name: str, size: float) -> Any:
    return getattr(xp, name)(size)


@pytest.mark.parametrize("size", [-1, 0, 1, 2, 3, 12, 51])
@pytest.mark.parametrize("beta", [0, 1.0, 8.6, 14])
def test_kaiser(size: int, beta: float) -> None:
    compare(lambda xp: xp.kaiser(size, beta), rtol=1e-12, atol=1e-15)
