// `x[key]` and `x[key] = value` for integers, slices, `...`, None and tuples of them.
#pragma once

#include "core.h"

namespace tnp {

// A new reference; nullptr without an exception where the Python path has to look.
PyObject* get_item(PyObject* array, PyObject* key);

// Whether it was written.
bool set_item(PyObject* array, PyObject* key, PyObject* value);

// Row `index` of an array with an axis, as iteration gives it: a scalar of a vector, else a view.
PyObject* get_row(PyObject* array, int64_t index);

}  // namespace tnp
