"""torch's symbols for sizes that a trace leaves open, imported once they are asked for."""

from __future__ import annotations

from typing import Any


def new_environment() -> Any:
    """A ShapeEnv, in which sizes that are equal now have symbols of their own."""
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    return ShapeEnv(duck_shape=False)


def new_symbol(environment: Any, source: str, size: int) -> tuple[Any, Any]:
    """A new symbol by the name that expressions have for it, and the SymInt that stands for ``size`` in a shape."""
    from torch._dynamo.source import LocalSource
    from torch.fx.experimental.symbolic_shapes import DimDynamic

    where = LocalSource(source)
    symbol = environment.create_symbol(size, source=where, dynamic_dim=DimDynamic.DYNAMIC)
    return symbol, environment.create_symintnode(symbol, hint=size, source=where)


def value_of(expression: Any, known: dict[Any, int]) -> int:
    """What an expression is where its symbols are known."""
    from torch.utils._sympy.interp import sympy_interp
    from torch.utils._sympy.reference import PythonReferenceAnalysis

    return int(sympy_interp(PythonReferenceAnalysis, known, expression))
