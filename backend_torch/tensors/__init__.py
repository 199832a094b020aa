"""Tensors: dtypes, memory, devices, conversion and creation.

It imports ``torch_private`` only; it computes nothing from values.
"""
