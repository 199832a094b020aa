"""torch's CUDA build where there is no GPU: its memory is the host's, and its kernels do nothing.

All that torch decides before a kernel starts is as on a GPU: which operations have one, for which dtypes, and which
operands may be the host's. Values are not, so what is asked here is only what is refused.
"""
