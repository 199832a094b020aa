"""Start threads only for loops with enough work for them.

Layer: owns how much work that is. Inductor asks how many elements each thread gets. Starting OpenMP's threads takes
some microseconds, and much longer while another program uses the processor, whatever the loop computes.
"""

from __future__ import annotations

import re
from typing import Any

from backend_torch.torch_private.patches import Patches, Undo, replaced_attribute

WORK = 1 << 16
"""Operations on 8 bytes for each thread, at least."""
CALL = 16
"""A function of mathematics takes as long as so many operations."""
_ALONE = 3  # an operation without vectors takes as long as so many
_FEWEST = 512  # elements for each thread, which is torch's limit
_MATHEMATICS = re.compile(r"(exp|log|sin|cos|tan|pow|erf|gamma|hypot|sigmoid|bessel|i[01]e?|calc_)\w*\(")


def put(patches: Patches) -> list[Undo]:
    """Let a kernel's work decide whether its loop gets threads."""
    from torch._inductor import config
    from torch._inductor.codegen.cpp import CppKernel, CppVecKernel

    theirs = CppKernel.decide_parallel_depth

    def depth(kernel: Any, most: Any, threads: int) -> Any:
        main = (getattr(kernel, "kernels", None) or [kernel])[0]
        lines = "".join([part.getvalue() for part in (main.loads, main.compute, main.stores)]).splitlines()
        work = len(lines) + CALL * sum([_MATHEMATICS.search(line) is not None for line in lines])
        work *= 1 if isinstance(main, CppVecKernel) else _ALONE
        with config.patch({"cpp.min_chunk_size": max(WORK // max(work, 1), _FEWEST)}):
            return theirs(kernel, most, threads)

    return [replaced_attribute(CppKernel, "decide_parallel_depth", patches.either(depth, theirs))]
