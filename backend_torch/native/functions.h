// Native fast paths of functions: each returns the result, or None if the function's Python code has to compute it.
#pragma once

#include <c10/util/SmallVector.h>

#include "core.h"

namespace tnp {

// A new reference; nullptr without an exception if the Python path has to compute.
PyObject* matmul(PyObject* a, PyObject* b);

// The number of a dtype, scalar class or Python type; `otherwise` for None; NONE for anything else.
int8_t read_dtype(PyObject* given, int8_t otherwise);

// Read a length or a tuple of lengths; false for anything but plain integers of at least `least`.
bool read_shape(PyObject* given, c10::SmallVector<int64_t, 6>& shape, int64_t least);

// Whether the default device is the CPU.
bool makes_on_cpu();

// The array with its axes reversed, a view; as `matmul`.
PyObject* transposed(PyObject* x);

// Copy the elements of a strided array in C order, cast to a dtype.
void gather(char* to, int8_t into, const char* from, int8_t dtype, c10::IntArrayRef sizes, const int64_t* strides);

// The axes from the slowest to the fastest in memory.
c10::SmallVector<int64_t, 6> memory_axes(const at::Tensor& tensor);

// Whether a copy that keeps the order of the axes in memory is in C order.
bool keeps_c_order(c10::IntArrayRef sizes, c10::IntArrayRef strides);

// The array that NumPy makes of a list or tuple of numbers, of its own dtype or another; undefined if the core does not
// make it.
at::Tensor of_list(PyObject* list, int8_t wanted = NONE);

// Copy floats to an integer dtype; undefined if the core does not, or NumPy warns of it.
at::Tensor truncated(const at::Tensor& tensor, int8_t from, int8_t to);

// Whether an integer is one of another integer dtype; true for all other values.
bool fits(const char* from, int8_t given, int8_t dtype);

// Cast one element to a dtype with loops, as an assignment does; false if NumPy warns of it.
bool cast_element(char* to, int8_t dtype, const char* from, int8_t given);

// Run a function's body. If it returns nullptr without an exception, return None: the Python path computes.
template <class Body>
inline PyObject* head(Body&& body) {
  return guarded(body, [] { return Py_NewRef(Py_None); });
}

#define TNP_FAST(NAME, FUNCTION) \
  { NAME, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(FUNCTION)), METH_FASTCALL, nullptr }

extern PyMethodDef FUNCTIONS[];  // ends with an empty row

}  // namespace tnp
