"""Kernels: for each operation a function of tensors that computes what NumPy's function computes.

This room imports ``autodiff`` and below. It does not check arguments: tnp does.
"""
