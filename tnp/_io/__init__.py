"""Files: npy, npz, text and memory maps.

It imports ``_functional`` and below; printing is in ``_array``.
"""
