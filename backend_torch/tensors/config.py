"""The configuration of torch and the machine.

Layer: owns the facts about torch, the processor's threads and the compilers that compiled functions need.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from typing import Any

import torch

from backend_torch.tensors import devices

ALLOCATOR = ("THP_MEM_ALLOC_ENABLE", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "MALLOC_TRIM_THRESHOLD_")
"""The environment's variables that decide how torch gets its memory."""


def described() -> dict[str, Any]:
    """Return torch's build, devices, threads, allocator and compilers."""
    return {
        "Torch": {
            "version": torch.__version__,
            "git": torch.version.git_version,
            "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version() if torch.version.cuda else None,
            "mkl": torch.backends.mkl.is_available(),
            "onednn": torch.backends.mkldnn.is_available(),
            "openmp": torch.backends.openmp.is_available(),
            "cpu capability": torch.backends.cpu.get_cpu_capability(),
        },
        "Devices": [
            {"kind": device.kind, "index": device.index, "name": device.name, "memory": device.memory_total}
            for device in devices.described()
        ],
        "Threads": {
            "within operations": torch.get_num_threads(),
            "between operations": torch.get_num_interop_threads(),
        },
        "Allocator": {name: os.environ.get(name) for name in ALLOCATOR},
        "Compilers": {
            "c++": shutil.which(os.environ.get("CXX", "g++")),
            "triton": importlib.util.find_spec("triton") is not None,
        },
    }
