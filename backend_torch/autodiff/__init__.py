"""Differentiation and batching: recordings, Jacobians, transform levels, old values.

It imports ``tensors`` and below; formulas of derivatives stand beside their kernels.
"""
