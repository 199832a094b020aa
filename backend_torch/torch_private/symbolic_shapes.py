"""torch's symbols for sizes that a trace leaves open; torch's modules are imported when first needed."""

from __future__ import annotations

from typing import Any


def new_environment() -> Any:
    """Return a ShapeEnv in which each size has its own symbol, even if sizes are equal now."""
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    return ShapeEnv(duck_shape=False)


def new_symbol(environment: Any, source: str, size: int) -> tuple[Any, Any]:
    """Return a new symbol, as expressions contain it, and the SymInt that stands for ``size`` in a shape."""
    from torch._dynamo.source import LocalSource
    from torch.fx.experimental.symbolic_shapes import DimDynamic

    where = LocalSource(source)
    symbol = environment.create_symbol(size, source=where, dynamic_dim=DimDynamic.DYNAMIC)
    return symbol, environment.create_symintnode(symbol, hint=size, source=where)


def value_of(expression: Any, known: dict[Any, int]) -> int:
    """Evaluate an expression for known values of its symbols."""
    from torch.utils._sympy.interp import sympy_interp
    from torch.utils._sympy.reference import PythonReferenceAnalysis

    return int(sympy_interp(PythonReferenceAnalysis, known, expression))
