"""How torch computes: kernels, dtype gaps, devices, memory, transforms and compiling.

Layer: imports torch and NumPy, never tnp; every function takes and returns ``torch.Tensor``.
"""

from backend_torch.tensors import memory  # noqa: F401  first of all: torch reads the allocator's settings once, when it starts
