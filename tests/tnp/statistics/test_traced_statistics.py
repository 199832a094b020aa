"""Statistics, sets, padding and their kind run inside compiled and batched functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tnp

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "interp": lambda v: tnp.interp(v, [-1, 0, 1], [1, 2, 0.0]),
    "gradient": lambda v: tnp.gradient(v),
    "trapezoid": lambda v: tnp.trapezoid(v),
    "cov": lambda v: tnp.cov(v.reshape(2, 4)),
    "convolve": lambda v: tnp.convolve(v, [1.0, 2.0]),
    "quantile": lambda v: tnp.quantile(v, [0.1, 0.5]),
    "nanquantile": lambda v: tnp.nanquantile(v, 0.3),
    "pad": lambda v: tnp.pad(v, 2, "reflect"),
    "unwrap": lambda v: tnp.unwrap(v),
    "polyval": lambda v: tnp.polyval([1.0, 2, 3], v),
    "polyfit": lambda v: tnp.polyfit(tnp.arange(8.0), v, 2),
    "isin": lambda v: tnp.isin(v, [1.0, 2.0]),
    "digitize": lambda v: tnp.digitize(v, [1.0, 0, -1]),
    "histogram": lambda v: tnp.histogram(v, 4, (-2, 2), weights=v)[0],
    "bincount": lambda v: tnp.bincount((v > 0).astype(int) + 1, minlength=4),
    "piecewise": lambda v: tnp.piecewise(v, [v < 0, v >= 0], [lambda u: -u, 3]),
    "packbits": lambda v: tnp.packbits(v > 0),
}
ROWS = np.random.default_rng(0).normal(size=(5, 8))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_batched(name: str, device: str) -> None:
    function = FUNCTIONS[name]
    rows = tnp.asarray(ROWS, device=device)
    batched = torch.vmap(lambda row: function(tnp.asarray(row)).tensor)(rows.tensor)
    expected = [tnp.asnumpy(function(row)) for row in rows]
    np.testing.assert_allclose(batched.cpu().numpy(), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_traced(name: str, device: str) -> None:
    function = FUNCTIONS[name]
    compiled = tnp.compile(function, backend="eager")
    for row in tnp.asarray(ROWS[:2], device=device):
        np.testing.assert_allclose(tnp.asnumpy(compiled(row)), tnp.asnumpy(function(row)), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("values", "text"), [([0, 5], "minlength"), ([-1, 2], "no negative elements")])
@pytest.mark.raises
def test_a_compiled_bincount_refuses_what_has_no_place(values: list[int], text: str) -> None:
    counted = tnp.compile(lambda x: tnp.bincount(x, minlength=5), backend="eager")
    np.testing.assert_array_equal(tnp.asnumpy(counted(tnp.asarray([0, 4, 4]))), [1, 0, 0, 0, 2])
    with pytest.raises(ValueError, match=text):
        counted(tnp.asarray([*values, 0]))
