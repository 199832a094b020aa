"""``show_config``: the versions, and the libraries that compute.

Layer: owns NumPy's spelling of it; the facts about torch are the backend's.
"""

from __future__ import annotations

import json
import platform
import sys
from typing import Any

import numpy as np

from backend_torch import native
from backend_torch.tensors import config
from tnp._core import public


def show_config(mode: str = "stdout") -> dict[str, Any] | None:
    """Show the versions of tnp, NumPy and torch, and torch's build, devices, threads, allocator and compilers.

    Parameters
    ----------
    mode : {'stdout', 'dicts'}, optional
        'stdout' prints, 'dicts' returns the same as a dictionary.

    Returns
    -------
    dict or None

    Raises
    ------
    AttributeError
        Another mode.

    Notes
    -----
    Differences from NumPy: what is shown is about torch, which computes; ``numpy.show_config()`` has NumPy's own build.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.show_config.html

    Examples
    --------
    >>> import numpy
    >>> import tnp as np
    >>> np.show_config("dicts")["NumPy"]["version"] == numpy.__version__
    True
    """
    if mode not in ("stdout", "dicts"):
        raise AttributeError("Invalid `mode`, use one of: stdout, dicts")
    facts = {
        "tnp": {"version": public.namespace().__version__, "native core": native.state},
        "NumPy": {"version": np.__version__},
        "Python": {"version": platform.python_version(), "executable": sys.executable, "system": platform.platform()},
        **config.described(),
    }
    if mode == "dicts":
        return facts
    print(json.dumps(facts, indent=2))
    return None
