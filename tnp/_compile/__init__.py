"""Compiled functions: tracing, the generated call, graphs, saving, sharded calls, shutdown.

It imports ``_transforms`` and below; machine code is made in ``backend_torch.graphs``.
"""
