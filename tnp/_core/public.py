"""The public namespace, the module ``tnp``, for the protocols that look functions up in it by name.

Layer: owns the reference. ``tnp/__init__.py`` hands itself in when all its names are there.
"""

from __future__ import annotations

from types import ModuleType

_modules: list[ModuleType] = []


def publish(module: ModuleType) -> None:
    """Note the public namespace."""
    _modules.append(module)


def namespace() -> ModuleType:
    """The module ``tnp``."""
    return _modules[0]
