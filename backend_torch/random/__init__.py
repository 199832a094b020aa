"""Random numbers from torch's generators: on accelerators and in graphs.

It imports ``kernels`` and below; NumPy makes the numbers of the CPU.
"""
