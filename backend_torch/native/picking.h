// `x[indices]`, `x[mask]` and assignments to them: index arrays and masks for the first axes.
#pragma once

#include "layout.h"

namespace tnp {

// A Python integer or an integer scalar.
bool is_integer(PyObject* item);
bool read_integer(PyObject* item, int64_t& index);  // false if it is none, or too large for int64

// Whether a key is or has an index array, a mask or a list.
bool has_index_array(PyObject* key);

// A new reference; nullptr without an exception if the Python path has to index.
PyObject* get_picked(PyObject* array, const at::Tensor& tensor, PyObject* key);

// Return whether the value was written.
bool set_picked(PyObject* array, const at::Tensor& tensor, PyObject* key, PyObject* value);

}  // namespace tnp
