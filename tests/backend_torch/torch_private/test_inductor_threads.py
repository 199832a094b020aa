"""A loop gets threads for its work, not for its elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from backend_torch.torch_private import inductor

Tensor = torch.Tensor


def has_threads(function: Callable[..., Any], count: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the code that Inductor writes for a function of a vector starts threads."""
    from torch._inductor.utils import run_and_get_code

    monkeypatch.setenv("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")
    torch._dynamo.reset()
    with inductor.PATCHES.applied(), torch._inductor.config.patch({"cpp.threads": 2}):
        _, codes = run_and_get_code(torch.compile(function), torch.rand(count, dtype=torch.float64) + 0.5)
    return any("#pragma omp" in code for code in codes)


def test_simple_operations_need_many_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not has_threads(lambda x: x * 2 + 1, 10_000, monkeypatch)
    assert has_threads(lambda x: x * 2 + 1, 100_000, monkeypatch)


def test_mathematics_need_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert has_threads(lambda x: torch.special.i0(x).exp(), 10_000, monkeypatch)
    assert not has_threads(lambda x: torch.special.i0(x).exp(), 100, monkeypatch)
