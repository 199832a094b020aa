// Native heads of functions: each gives the result, or None where the function's Python has to compute.
#pragma once

#include "core.h"

namespace tnp {

// A new reference; nullptr without an exception where the Python path has to compute.
PyObject* matmul(PyObject* a, PyObject* b);

extern PyMethodDef FUNCTIONS[];  // ends with an empty row

}  // namespace tnp
