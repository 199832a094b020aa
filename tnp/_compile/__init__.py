"""Compiled functions: tracing, the generated call, graphs, saving, sharded calls, shutdown.

It imports ``_functional`` and below; ``backend_torch.graphs`` makes the machine code.
"""
