"""The kernels of a graph come from one library, and say what Inductor's own would say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from backend_torch.torch_private import inductor, inductor_kernels

FILL = """
#include <torch/csrc/inductor/cpp_prefix.h>
extern "C"  void  kernel(float* out, const int64_t size, const float value)
{
    if (size < 0) throw std::runtime_error("index out of bounds");
    for (int64_t i = 0; i < size; ++i) out[i] = value;
}
"""
TWICE = """
#include <torch/csrc/inductor/cpp_prefix.h>
extern "C"  void  kernel(const float* in, float* out)
{
    (at::vec::Vectorized<float>::loadu(in, 4) + at::vec::Vectorized<float>::loadu(in, 4)).store(out, 4);
}
"""


def asked(kernels: Sequence[tuple[list[str], str]]) -> list[Any]:
    """What the code that Inductor writes gets for its kernels."""
    from torch._inductor.async_compile import AsyncCompile

    compiler = AsyncCompile()
    with inductor.PATCHES.applied():
        scope = {
            f"cpp_fused_{index}": compiler.cpp_pybinding(types, text) for index, (types, text) in enumerate(kernels)
        }
        compiler.wait(scope)
    return list(scope.values())


@pytest.fixture(scope="module")
def kernels() -> list[Any]:
    return asked([(["float*", "const int64_t", "const float"], FILL), (["const float*", "float*"], TWICE)])


def test_one_library_has_all_kernels(kernels: list[Any]) -> None:
    fill, twice = kernels
    assert fill.__self__ is twice.__self__
    assert fill.__name__ == "cpp_fused_0"
    x, y = torch.zeros(4), torch.zeros(4)
    fill(x, 3, 2.5)
    twice(x, y)
    assert y.tolist() == [5.0, 5.0, 5.0, 0.0]


def test_errors_are_raised(kernels: list[Any]) -> None:
    fill, twice = kernels
    x = torch.zeros(4)
    with pytest.raises(RuntimeError, match="index out of bounds"):
        fill(x, -1, 2.5)
    with pytest.raises(RuntimeError, match="expected int arg"):
        fill(x, "3", 2.5)
    with pytest.raises(RuntimeError, match="another number of arguments"):
        twice(x)


def test_many_kernels_have_several_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    each = inductor_kernels._Asked(None, [], FILL)
    monkeypatch.setattr(inductor_kernels, "_MOST", 2 * len(FILL))
    parts = list(inductor_kernels._parts(dict.fromkeys("abcde", each)))
    assert [list(part) for part in parts] == [["a", "b"], ["c", "d"], ["e"]]


def test_vectors_are_those_that_the_compiler_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor import config
    from torch._inductor.cpu_vec_isa import VecAVX2

    compiler = tmp_path / "compiler"
    for status in (0, 1):
        compiler.write_text(f"#!/bin/sh\nexit {status}\n")
        compiler.chmod(0o755)
        with config.patch({"cpp.cxx": (str(compiler),)}), inductor.PATCHES.applied():
            assert VecAVX2().check_build("") is (status == 0)


def test_the_linker_is_the_first_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = []
    for name in ("", "ld.gold", "ld.mold"):
        (tmp_path / (name or "c++")).write_text("#!/bin/sh\nexit 0\n")
        (tmp_path / (name or "c++")).chmod(0o755)
        found.append(inductor_kernels._linker.__wrapped__(str(tmp_path / "c++")))
    (tmp_path / "c++").write_text("#!/bin/sh\n[ $1 != -fuse-ld=mold ]\n")  # g++ knows the option from release 12 on
    assert [*found, inductor_kernels._linker.__wrapped__(str(tmp_path / "c++"))] == [
        (),
        ("-fuse-ld=gold",),
        ("-fuse-ld=mold",),
        ("-fuse-ld=gold",),
    ]
