"""Which NumPy is installed: tnp gives its answers, also where releases differ.

Layer: the one place that knows the release. A chapter compares with it once, at import, and says what changed.
"""

import numpy as np

NUMPY = np.lib.NumpyVersion(np.__version__)
