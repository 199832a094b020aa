"""The installed NumPy's release: tnp gives that release's answers where releases differ.

Layer: owns the release. A chapter compares with it once, at import, and says what changed.
"""

import warnings
from pathlib import Path

import numpy as np

NUMPY = np.lib.NumpyVersion(np.__version__)
_HERE = str(Path(__file__).parents[1])


def deprecated(text: str) -> None:
    """Warn of what NumPy deprecates, at the first line outside of tnp. Since NumPy 2.5, whose Python can skip files."""
    warnings.warn(text, DeprecationWarning, skip_file_prefixes=(_HERE,))  # type: ignore[call-overload]
