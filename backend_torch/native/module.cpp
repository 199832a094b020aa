// The extension module: one call installs all of it.
#include "derived.h"
#include "elements.h"
#include "functions.h"
#include "host.h"
#include "layout.h"
#include "recording.h"
#include "slots.h"
#include "turned.h"
#include "ufuncs.h"

namespace tnp {
namespace {

// install(array class, scalar class, class of read-only arrays, class of strided arrays, float class, NumPy's scalar classes by number, its dtypes by number, (unary ufunc class, binary ufunc class), {name: (ufunc, NumPy's, kernel)}, resolver)
PyObject* install(PyObject*, PyObject* args) {
  PyObject *array, *scalar, *readonly, *strided, *float64, *derived, *numpys, *dtypes, *unary, *binary, *table, *resolve;
  if (!PyArg_ParseTuple(args, "O!O!O!O!O!O!O!O!(O!O!)O!O", &PyType_Type, &array, &PyType_Type, &scalar, &PyType_Type, &readonly,
                        &PyType_Type, &strided, &PyType_Type, &float64, &PyType_Type, &derived,
                        &PyTuple_Type, &numpys, &PyTuple_Type, &dtypes, &PyType_Type, &unary, &PyType_Type, &binary, &PyDict_Type, &table, &resolve))
    return nullptr;
  if (classes.array != nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "the native core has been installed before");
    return nullptr;
  }
  PyObject *name, *pair;
  Py_ssize_t position = 0;
  while (PyDict_Next(table, &position, &name, &pair)) {
    const char* text = PyUnicode_AsUTF8(name);
    PyObject *ufunc, *numpy, *kernel;
    if (text == nullptr || !PyArg_ParseTuple(pair, "OOO", &ufunc, &numpy, &kernel)) return nullptr;
    add_ufunc(ufunc, numpy, kernel, text);
  }
  resolver = Py_NewRef(resolve);
  auto type_of = [](PyObject* x) { return reinterpret_cast<PyTypeObject*>(x); };
  classes.derived = type_of(derived);
  if (!install_slots(type_of(array), type_of(scalar), type_of(readonly), type_of(strided), type_of(float64))) return nullptr;
  if (!install_scalar_classes(numpys) || !install_attributes(type_of(array), type_of(scalar), type_of(strided), dtypes)) return nullptr;
  if (!install_calls(reinterpret_cast<PyTypeObject*>(unary), reinterpret_cast<PyTypeObject*>(binary))) return nullptr;
  Py_RETURN_NONE;
}

// find_holder(tensor, class): return the array of the class that holds the tensor, or None
PyObject* find(PyObject*, PyObject* args) {
  PyObject *tensor, *type;
  if (!PyArg_ParseTuple(args, "OO!", &tensor, &PyType_Type, &type)) return nullptr;
  if (!THPVariable_Check(tensor) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), classes.slot)) {
    PyErr_SetString(PyExc_TypeError, "a tensor and a class of arrays");
    return nullptr;
  }
  PyObject* found = find_holder(THPVariable_Unpack(tensor), reinterpret_cast<PyTypeObject*>(type));
  if (found != nullptr || PyErr_Occurred()) return found;
  Py_RETURN_NONE;
}

// make_floats(flag): whether new float64 scalars are Python floats to C code.
PyObject* make_floats(PyObject*, PyObject* whether) {
  int answer = PyObject_IsTrue(whether);
  if (answer < 0) return nullptr;
  classes.has_floats = answer;
  Py_RETURN_NONE;
}

// watch_errors(flag): whether any thread asks for floating-point errors, so that no call is native.
PyObject* watch_errors(PyObject*, PyObject* whether) {
  int answer = PyObject_IsTrue(whether);
  if (answer < 0) return nullptr;
  errors_are_watched = answer;
  Py_RETURN_NONE;
}

PyMethodDef METHODS[] = {
    {"find_holder", find, METH_VARARGS, "The array of a class that has a tensor, or None."},
    {"make_floats", make_floats, METH_O, "Whether scalars of float64 are Python's floats to C."},
    {"watch_errors", watch_errors, METH_O, "Whether any thread asks for floating-point errors."},
    {"install", install, METH_VARARGS, "Put the native slots into the finished classes."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "core", "tnp's native core.", -1, METHODS, nullptr, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace tnp

PyMODINIT_FUNC PyInit_core() {
  PyObject* module = PyModule_Create(&tnp::MODULE);
  if (module == nullptr) return nullptr;
  PyTypeObject* slot = tnp::make_slot_type();
  bool failed = slot == nullptr || PyModule_AddType(module, slot) < 0;
  for (PyMethodDef* functions : {tnp::FUNCTIONS, tnp::HOST_FUNCTIONS, tnp::UFUNC_FUNCTIONS, tnp::RECORDING_FUNCTIONS,
                                 tnp::TURNED_FUNCTIONS, tnp::DERIVED_FUNCTIONS, tnp::ELEMENT_FUNCTIONS})
    failed = failed || PyModule_AddFunctions(module, functions) < 0;
  if (failed) Py_CLEAR(module);
  return module;
}
