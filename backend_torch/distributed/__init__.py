"""Tensors over several processes, on torch's DTensor.

This room may import every other room. No other room imports it.
"""
