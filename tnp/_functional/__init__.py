"""Functions that call the user's function for each element, slice or piece; dates, which stay NumPy's.

It imports ``_transforms`` and below; batching by ``torch.vmap`` is in ``_transforms``.
"""
