"""Tensors over several processes, on torch's DTensor.

It may import every room; no room imports it.
"""
