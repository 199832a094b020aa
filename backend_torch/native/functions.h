// Native heads of functions: each gives the result, or None where the function's Python has to compute.
#pragma once

#include "core.h"

namespace tnp {

// A new reference; nullptr without an exception where the Python path has to compute.
PyObject* matmul(PyObject* a, PyObject* b);

#define TNP_FAST(NAME, FUNCTION) \
  { NAME, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(FUNCTION)), METH_FASTCALL, nullptr }

extern PyMethodDef FUNCTIONS[];  // ends with an empty row

}  // namespace tnp
