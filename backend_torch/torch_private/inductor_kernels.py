"""Compile all kernels of a graph to one library by one run of g++, and spare Inductor its checks of g++.

Layer: owns the C++ around the kernels. For one kernel g++ spends 0.6 s on torch's headers and on linking, and 0.1 s on
the kernel. Inductor starts g++ for each kernel. Before the first kernel it compiles up to six programs, each for 0.4 to
2 s, and loads each in a process of its own, to see which vector instructions there are.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from backend_torch.torch_private import inductor_vector_code
from backend_torch.torch_private.patches import Patches, Undo, replaced_attribute

_MOST = 64_000  # characters of kernels in one library; a graph with more has several, which are made in parallel

_KERNEL = re.compile(r'extern "C"\s+void\s+kernel\(')

_HEAD = """
// at::vec:: may be used below, so that there is one precompiled header for all libraries
#include <torch/csrc/inductor/cpp_prefix.h>
#define PY_SSIZE_T_CLEAN
#include <Python.h>
"""

_GIVEN = """
static void* (*tnp_memory)(PyObject*);
template <typename T> static inline T tnp_given(PyObject* object) {
  if constexpr (std::is_pointer_v<T>) {
    return static_cast<T>(tnp_memory(object));
  } else if constexpr (std::is_floating_point_v<T>) {
    const double number = PyFloat_AsDouble(object);
    if (number == -1.0 && PyErr_Occurred()) [[unlikely]] throw std::runtime_error("expected float arg");
    return static_cast<T>(number);
  } else if constexpr (std::is_unsigned_v<T>) {
    void* address = PyLong_AsVoidPtr(object);
    if (address == nullptr && PyErr_Occurred()) [[unlikely]] throw std::runtime_error("expected int arg");
    return reinterpret_cast<T>(address);
  } else {
    const Py_ssize_t number = PyLong_AsSsize_t(object);
    if (number == -1 && PyErr_Occurred()) [[unlikely]] throw std::runtime_error("expected int arg");
    return static_cast<T>(number);
  }
}
template <typename Kernel> static inline PyObject* tnp_run(Py_ssize_t given, Py_ssize_t count, Kernel kernel) {
  try {
    if (given != count) [[unlikely]] throw std::runtime_error("another number of arguments is required");
    kernel();
    Py_RETURN_NONE;
  } catch (std::exception const& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "unhandled error");
  }
  return nullptr;
}
"""

_MODULE = """
static PyMethodDef tnp_kernels[] = {{
{methods}
  {{nullptr, nullptr, 0, nullptr}}}};
static PyModuleDef tnp_module = {{PyModuleDef_HEAD_INIT, "kernel", nullptr, -1, tnp_kernels}};
PyMODINIT_FUNC PyInit_kernel(void) {{
  const char* address = std::getenv("_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR");
  if (!address) {{
    PyErr_SetString(PyExc_ImportError, "_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR must be set");
    return nullptr;
  }}
  tnp_memory = reinterpret_cast<void* (*)(PyObject*)>(std::strtoull(address, nullptr, 10));
  PyObject* module = PyModule_Create(&tnp_module);
#ifdef Py_GIL_DISABLED
  if (module) PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
#endif
  return module;
}}
"""


@dataclass(frozen=True)
class _Asked:
    """A kernel that Inductor's code requests: its C++, and the types of its arguments."""

    compiler: Any
    types: list[str]
    source: str


def put(patches: Patches) -> list[Undo]:
    """Collect the kernels that Inductor's code requests, and compile all of them when it waits for them.

    Vector instructions that torch finds in the processor count as usable if g++ knows the options for them.
    """
    from torch._inductor.async_compile import AsyncCompile
    from torch._inductor.cpp_builder import get_cpp_compiler
    from torch._inductor.cpu_vec_isa import VecISA

    one, wait, built = AsyncCompile.cpp_pybinding, AsyncCompile.wait, VecISA.check_build

    def ask(compiler: Any, types: list[str], source: str) -> Any:
        return _Asked(compiler, types, source) if _KERNEL.search(source) else one(compiler, types, source)

    def get(compiler: Any, scope: dict[str, Any]) -> None:
        scope.update(_made({name: each for name, each in scope.items() if isinstance(each, _Asked)}))
        wait(compiler, scope)

    def is_known(vectors: Any, code: str) -> bool:
        options = vectors.build_arch_flags().split()
        if not all(option.startswith("-m") for option in options):
            return bool(built(vectors, code))
        return _knows(get_cpp_compiler(), *options)

    return [
        replaced_attribute(VecISA, "check_build", patches.either(is_known, built)),
        replaced_attribute(AsyncCompile, "cpp_pybinding", patches.either(ask, one)),
        replaced_attribute(AsyncCompile, "wait", patches.either(get, wait)),
    ]


def _knows(compiler: str, *options: str) -> bool:
    command = [compiler, *options, "-E", "-x", "c++", os.devnull]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@functools.cache
def _linker(compiler: str) -> tuple[str, ...]:
    """Return the option for the fastest linker there is: GNU's own takes three times as long as gold, 0.3 s."""
    for name in ("mold", "lld", "gold"):
        option = f"-fuse-ld={name}"
        if shutil.which(f"ld.{name}") and _knows(compiler, option):
            return (option,)
    return ()


def _made(asked: Mapping[str, _Asked]) -> dict[str, Any]:
    """Return the kernels as Python functions, by their names."""
    from torch._inductor.codecache import CppPythonBindingsCodeCache
    from torch._inductor.cpp_builder import get_cpp_compiler

    make, libraries = CppPythonBindingsCodeCache.load_async, []
    for part in _parts(asked):
        submit, flags = next(iter(part.values())).compiler.submit, _linker(get_cpp_compiler())
        libraries.append((part, make(_text(part), submit_fn=submit, extra_flags=flags)))
    return {name: getattr(load(), name) for part, load in libraries for name in part}


def _parts(asked: Mapping[str, _Asked]) -> Iterator[dict[str, _Asked]]:
    part: dict[str, _Asked] = {}
    size = 0
    for name, each in asked.items():
        if part and size + len(each.source) > _MOST:
            yield part
            part, size = {}, 0
        part[name] = each
        size += len(each.source)
    if part:
        yield part


def _text(part: Mapping[str, _Asked]) -> str:
    """Return the C++ of a library."""
    headers: dict[str, None] = {}
    bodies, methods = [], []
    for name, each in part.items():
        lines = each.source.splitlines()
        headers.update(dict.fromkeys([line for line in lines if line.startswith("#include")]))
        body = "\n".join([line for line in lines if not line.startswith("#include")])
        body = _KERNEL.sub("void kernel(", body)
        types = [kind.replace("const ", "") for kind in each.types]
        given = ", ".join([f"tnp_given<{kind}>(given[{index}])" for index, kind in enumerate(types)])
        call = f"return tnp_run(count, {len(types)}, [&] {{ {name}::kernel({given}); }});"
        bodies.append(
            f"namespace {name} {{\n{body}\n"
            f"static PyObject* call(PyObject*, PyObject* const* given, Py_ssize_t count) {{ {call} }}\n}}\n"
        )
        function = f"reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>({name}::call))"
        methods.append(f'  {{"{name}", {function}, METH_FASTCALL, ""}},')
    return "\n".join(
        [*headers, _HEAD, inductor_vector_code.PREFIX, _GIVEN, *bodies, _MODULE.format(methods="\n".join(methods))]
    )
