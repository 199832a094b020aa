"""torch's CUDA build on a machine without a GPU: its memory is the CPU's, and its kernels do nothing.

Everything that torch decides before a kernel starts is the same as on a GPU: which operations have a kernel, for which
dtypes, and which operands may be on the CPU. Values are garbage, so these checks only look at refusals.
"""
