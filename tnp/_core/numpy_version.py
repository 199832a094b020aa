"""Which NumPy is installed: tnp gives its answers, also where releases differ.

Layer: the one place that knows the release. A chapter compares with it once, at import, and says what changed.
"""

import warnings
from pathlib import Path

import numpy as np

NUMPY = np.lib.NumpyVersion(np.__version__)
_HERE = str(Path(__file__).parents[1])


def deprecated(text: str) -> None:
    """Warn of what NumPy deprecates, about the line that is not ours. Since 2.5, whose Python can skip our files."""
    warnings.warn(text, DeprecationWarning, skip_file_prefixes=(_HERE,))  # type: ignore[call-overload]
