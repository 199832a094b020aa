// Run NumPy on the memory of arrays, for functions that backend_torch computes by NumPy at any size.
#pragma once

#include <c10/util/SmallVector.h>

#include "core.h"
#include "loops.h"

namespace tnp {

// Whether NumPy may compute: the flag of backend_torch.tensors.memory.
bool numpy_computes();

// Make a NumPy view of a part of a tensor's memory, which `owner` keeps alive. nullptr without an exception for a dtype
// that NumPy lacks.
PyObject* numpy_part(const at::Tensor& tensor, PyObject* owner, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                     int64_t offset);

// Whether an object is an array of NumPy's own class.
bool is_numpy(PyObject* x);

// Whether NumPy may write to one of its arrays.
bool is_writeable_numpy(PyObject* array);

// Read the strides, in elements, of a writeable NumPy array of a tensor's shape and dtype; false for any other object.
bool read_strides(PyObject* array, const at::Tensor& tensor, c10::SmallVector<int64_t, 6>& strides);

// The value of a scalar of tnp that passes the guard, or of a NumPy scalar; nullptr for anything else.
const char* scalar_value(PyObject* x, int8_t& dtype);

// Make NumPy's scalar of a scalar of tnp that has its value inline; nullptr without an exception for any other.
PyObject* numpy_scalar(PyObject* x);

// Make a tensor over the memory of a NumPy array, which has to outlive it; false if the guard refuses the array.
bool borrow(PyObject* x, at::Tensor& tensor);

// Make an array over the memory of a NumPy array: one that has to outlive it, or a writeable one in C order, which the
// array keeps alive. A new reference; nullptr without an exception if the guard refuses the array.
PyObject* lent_by_numpy(PyObject* x);
PyObject* over_numpy(PyObject* x);

// Index by NumPy with a key that has an index array or a mask. A new reference; nullptr or false if the Python path has to.
PyObject* pick_by_numpy(PyObject* array, const at::Tensor& tensor, PyObject* key);
bool put_by_numpy(PyObject* array, const at::Tensor& tensor, PyObject* key, PyObject* value);

// The loop of a NumPy ufunc for these dtypes of operands and output, if it has one.
NumpyLoop numpy_loop(PyObject* ufunc, const int8_t* dtypes, int count);

extern PyMethodDef HOST_FUNCTIONS[];  // ends with an empty row

}  // namespace tnp
