// `x[key]` and `x[key] = value` for integers, slices, `...`, None and tuples of them.
#pragma once

#include "core.h"

namespace tnp {

// A new reference; nullptr without an exception if the Python path has to index.
PyObject* get_item(PyObject* array, PyObject* key);

// Return whether the value was written.
bool set_item(PyObject* array, PyObject* key, PyObject* value);

// Return row `index` of an array, as iteration does: a scalar for a vector, else a view.
PyObject* get_row(PyObject* array, int64_t index);

}  // namespace tnp
