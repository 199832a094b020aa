"""Kernels: one function of tensors for each operation, where torch's own is not NumPy's.

It imports ``autodiff`` and below; argument checks are tnp's.
"""
