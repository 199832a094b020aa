"""Devices, transfers between them, determinism and the build's configuration.

It imports the array and below; it holds no kernels.
"""
