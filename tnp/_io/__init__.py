"""Files: npy, npz, text and memory maps.

It imports ``_signal`` and below; printing is in ``_array``.
"""
