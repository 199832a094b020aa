#include "derived.h"

#include <torch/csrc/utils/object_ptr.h>

#include <cstring>

#include "functions.h"
#include "layout.h"

namespace tnp {
namespace {

PyObject* refused() { return Py_NewRef(Py_None); }

// Whether an argument, or what is in its lists and tuples, may be of a derived class. A list may hold itself.
bool may_be_derived(PyObject* x, int depth = 0) {
  if (!is_list(x)) return !is_ours(x) && is_derived(x);
  if (depth > 64) return true;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(x); i++)
    if (may_be_derived(PySequence_Fast_GET_ITEM(x, i), depth + 1)) return true;
  return false;
}

// has_derived(args, kwargs): False if no argument is of a derived class.
PyObject* has_derived(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2 || may_be_derived(args[0])) return refused();
  PyObject *name, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(args[1], &position, &name, &value))
    if (may_be_derived(value)) return refused();
  return Py_NewRef(Py_False);
}

// An attribute of an array's tensor, if Python has seen that; nullptr with or without an exception.
PyObject* noted(PyObject* x, PyObject* name) {
  PyObject* found = nullptr;
  if (held(x)->tensor == nullptr) return nullptr;
#if PY_VERSION_HEX >= 0x030D0000
  PyObject_GetOptionalAttr(held(x)->tensor, name, &found);
#else
  _PyObject_LookupAttr(held(x)->tensor, name, &found);
#endif
  return found;
}

// Whether an array of a derived class can be written to.
bool is_writeable(PyObject* x, const at::Tensor& tensor) {
  static PyObject* name = PyUnicode_InternFromString("locked");
  for (int64_t axis = 0; axis < tensor.dim(); axis++)
    if (tensor.strides()[axis] == 0 && tensor.sizes()[axis] > 1) return false;
  THPObjectPtr locked(noted(x, name));
  return locked == nullptr ? !PyErr_Occurred() : locked.get() == Py_False;
}

// undressed(x): the plain array with the tensor of an array of a derived class that can be written to.
PyObject* undressed(PyObject*, PyObject* x) {
  return guarded(
      [&]() -> PyObject* {
        const at::Tensor* tensor = is_quiet() && is_derived(x) ? plain_tensor(x) : nullptr;
        return tensor != nullptr && is_writeable(x, *tensor) ? wrap_same(x, classes.array) : nullptr;
      },
      refused);
}

// The last array of its class along the chain of bases: the base that NumPy gives to a view.
PyObject* base_of_view(PyObject* x) {
  THPObjectPtr base(Py_NewRef(x));
  for (;;) {
    PyObject* source = held(base.get())->source;
    THPObjectPtr further(source == nullptr ? noted(base.get(), source_name()) : Py_NewRef(source));
    if (further == nullptr || Py_TYPE(further.get()) != Py_TYPE(x)) return PyErr_Occurred() ? nullptr : base.release();
    base = std::move(further);
  }
}

// dressed(x, result): an array of the class of x with the tensor of a plain array, or with a scalar's value.
PyObject* dressed(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded(
      [&]() -> PyObject* {
        if (count != 2 || !is_quiet() || !is_derived(args[0])) return nullptr;
        PyTypeObject* type = Py_TYPE(args[0]);
        if (is_scalar(args[1]) && held(args[1])->has_value) {
          at::Tensor number = empty({}, held(args[1])->dtype);
          std::memcpy(writeable_data_of(number), held(args[1])->value, number.itemsize());
          THPObjectPtr array(wrap_array(std::move(number)));
          return array == nullptr ? nullptr : wrap_same(array.get(), type);
        }
        const at::Tensor* own = is_array(args[1]) ? plain_tensor(args[0]) : nullptr;
        const at::Tensor* given = own == nullptr ? nullptr : plain_tensor(args[1]);
        if (given == nullptr) return nullptr;
        if (own->is_same(*given) || !own->storage().is_alias_of(given->storage())) return wrap_same(args[1], type);
        if (!is_writeable(args[0], *own)) return nullptr;
        THPObjectPtr base(base_of_view(args[0])), made(base == nullptr ? nullptr : wrap_same(args[1], type));
        if (made == nullptr) return nullptr;
        if (held(made.get())->tensor == nullptr)
          held(made.get())->source = base.release();
        else if (PyObject_SetAttr(held(made.get())->tensor, source_name(), base.get()) < 0)
          return nullptr;
        return made.release();
      },
      refused);
}

}  // namespace

PyMethodDef DERIVED_FUNCTIONS[] = {
    TNP_FAST("has_derived", has_derived),
    {"undressed", undressed, METH_O, nullptr},
    TNP_FAST("dressed", dressed),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace tnp
