// `x[indices]`, `x[mask]` and assignments to them: index arrays on the first axes, and masks of them.
#pragma once

#include "layout.h"

namespace tnp {

// An integer of Python or the value of an integer scalar.
bool is_integer(PyObject* item);
bool read_integer(PyObject* item, int64_t& index);  // false for what is none, or out of int64

// Whether a key may be one of those that are read here.
bool has_index_array(PyObject* key);

// A new reference; nullptr without an exception where the Python path has to look.
PyObject* get_picked(const at::Tensor& tensor, PyObject* key);

// Whether it was written.
bool set_picked(const at::Tensor& tensor, PyObject* key, PyObject* value);

}  // namespace tnp
