"""Which operation made which floating-point error."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from backend_torch.kernels.floating_errors import Watch

ONE = torch.ones(2, dtype=torch.float64)


def errors_of(operation: Callable[[], object]) -> list[tuple[str, str]]:
    """What is reported while an operation runs."""
    found: list[tuple[str, str]] = []
    with Watch(lambda kind: True, lambda kind, name: found.append((kind, name))):
        operation()
    return found


@pytest.mark.parametrize("operation, expected", [
    (lambda: ONE / 0, [("divide", "divide")]),
    (lambda: 0 * ONE / 0, [("invalid", "divide")]),
    (lambda: ONE * 1e308 * 10, [("over", "multiply")]),
    (lambda: ONE * 1e-300 * 1e-300, [("under", "multiply")]),
    (lambda: torch.log(0 * ONE), [("divide", "log")]),
    (lambda: torch.log(-ONE), [("invalid", "log")]),
    (lambda: torch.exp(1e4 * ONE), [("over", "exp")]),
    (lambda: (1e308 * ONE).sum(), [("over", "reduce")]),
    (lambda: ONE + float("nan"), []),
    (lambda: ONE * float("inf") + 1, []),
    (lambda: 0 * ONE, []),
    (lambda: torch.ones(2, dtype=torch.int64) * 2, []),
])  # fmt: skip
def test_kinds(operation: Callable[[], object], expected: list[tuple[str, str]]) -> None:
    assert errors_of(operation) == expected


def test_only_what_is_wanted_is_reported() -> None:
    found: list[str] = []
    with Watch(lambda kind: kind == "over", lambda kind, name: found.append(kind)):
        ONE / 0
        torch.exp(1e4 * ONE)
    assert found == ["over"]
