// The native slots of the finished Python classes.
#pragma once

#include "core.h"

namespace tnp {

// Put the slots into the classes; false with an exception set.
bool install_slots(PyTypeObject* array, PyTypeObject* scalar, PyTypeObject* readonly, PyTypeObject* strided,
                   PyTypeObject* float64);
bool install_attributes(PyTypeObject* array, PyTypeObject* scalar, PyTypeObject* strided, PyObject* dtypes);
bool install_calls(PyTypeObject* unary, PyTypeObject* binary);

extern PyMethodDef UFUNC_FUNCTIONS[];  // ends with an empty row

}  // namespace tnp
