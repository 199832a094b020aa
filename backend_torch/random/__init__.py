"""Random numbers from torch's generators: on accelerators and in graphs.

This room imports ``kernels`` and below. On the CPU, in eager code, NumPy draws the numbers.
"""
