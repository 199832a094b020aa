"""Placeholders for values that a test module wanted while it was being loaded: every use of one raises its error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


class Broken:
    """Stands for a value that could not be had; every use of it raises the error."""

    def __init__(self, name: str, error: Exception) -> None:
        self.__name__ = name
        self.error = error

    def __repr__(self) -> str:
        return f"<unavailable {self.__name__}>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self.error.with_traceback(None)

    def _raise(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise self.error.with_traceback(None)

    __call__ = __iter__ = __next__ = __len__ = __bool__ = __contains__ = __enter__ = __exit__ = _raise
    __getitem__ = __setitem__ = __delitem__ = __index__ = __int__ = __float__ = __complex__ = __round__ = _raise
    __abs__ = __neg__ = __pos__ = __invert__ = __lt__ = __le__ = __gt__ = __ge__ = _raise
    __add__ = __sub__ = __mul__ = __matmul__ = __truediv__ = __floordiv__ = __mod__ = __divmod__ = __pow__ = _raise
    __radd__ = __rsub__ = __rmul__ = __rmatmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rdivmod__ = _raise
    __rpow__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __and__ = __rand__ = __or__ = __ror__ = _raise
    __xor__ = __rxor__ = __mro_entries__ = _raise


def error_in(value: object, depth: int = 3) -> Exception | None:
    """The error of the first `Broken` found in ``value``, or None."""
    if isinstance(value, Broken):
        return value.error
    if depth and isinstance(value, (list, tuple, set)):
        values = list(value)
    elif depth and isinstance(value, dict):
        values = [*value, *value.values()]
    else:
        return None
    return next(filter(None, (error_in(v, depth - 1) for v in values)), None)


def broken_test(name: str, error: BaseException) -> Callable[..., NoReturn]:
    """A test function (or fixture) which only raises ``error``."""

    def broken(*args: Any, **kwargs: Any) -> NoReturn:
        raise error.with_traceback(None)

    broken.__name__ = broken.__qualname__ = name
    broken.broken_by = error  # type: ignore[attr-defined]
    return broken
