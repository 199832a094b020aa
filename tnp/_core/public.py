"""The public namespace, the module ``tnp``, for protocols that look functions up by name.

Layer: owns the reference. ``tnp/__init__.py`` registers itself when all its names are defined.
"""

from __future__ import annotations

from types import ModuleType

_modules: list[ModuleType] = []


def publish(module: ModuleType) -> None:
    """Register the public namespace."""
    _modules.append(module)


def namespace() -> ModuleType:
    """Return the module ``tnp``."""
    return _modules[0]
