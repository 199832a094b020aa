// Operations that autograd records: torch's functions through the dispatcher, which notes them. An operand may have a
// gradient here; in all else it passes the guard.
#pragma once

#include "kernels.h"

namespace tnp {

// Return the function that has this name in torch; nullptr for one that is not in the table.
BinaryKernel recorded_binary(const char* name);
UnaryKernel recorded_unary(const char* name);

// Raise a recorded tensor to a power as NumPy's shortcuts do; undefined if the Python path has to.
at::Tensor recorded_power(const at::Tensor& base, double exponent);

// A new reference; nullptr without an exception if the Python path has to compute.
PyObject* recorded_matmul(PyObject* a, PyObject* b);
enum class Recorded { SUM, MEAN };
PyObject* recorded_reduction(Recorded kind, PyObject* x, PyObject* axis, bool keeps);

extern PyMethodDef RECORDING_FUNCTIONS[];  // ends with an empty row

}  // namespace tnp
