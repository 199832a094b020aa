#include "derived.h"

#include <torch/csrc/utils/object_ptr.h>

#include <cstring>

#include "functions.h"
#include "layout.h"

namespace tnp {
namespace {

PyObject* refused() { return Py_NewRef(Py_None); }

// Add an argument to a list if it is of a derived class and has a tensor, and what is in its lists and tuples. False
// without an exception if they are deeper than any array: a list may hold itself.
bool collect(PyObject* x, THPObjectPtr& found, int depth = 0) {
  if (!is_list(x)) {
    if (is_ours(x) || !is_derived(x) || (held(x)->tensor == nullptr && held(x)->impl == nullptr)) return true;
    if (found == nullptr) found = PyList_New(0);
    return found != nullptr && PyList_Append(found.get(), x) == 0;
  }
  if (depth > 64) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(x); i++)
    if (!collect(PySequence_Fast_GET_ITEM(x, i), found, depth + 1)) return false;
  return true;
}

// derived_in(args, kwargs): a list of the arguments of derived classes, False without any.
PyObject* derived_in(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded(
      [&]() -> PyObject* {
        THPObjectPtr found;
        if (count != 2 || !collect(args[0], found)) return nullptr;
        PyObject *name, *value;
        Py_ssize_t position = 0;
        while (PyDict_Next(args[1], &position, &name, &value))
          if (!collect(value, found)) return nullptr;
        return found == nullptr ? Py_NewRef(Py_False) : found.release();
      },
      refused);
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

// The base that NumPy gives to a view of an array: the last array of the view's class along the chain of bases.
PyObject* base_of_view(PyObject* x, PyTypeObject* type) {
  THPObjectPtr base(Py_NewRef(x));
  for (;;) {
    PyObject* source = held(base.get())->source;
    THPObjectPtr further(source == nullptr ? noted(base.get(), source_name()) : Py_NewRef(source));
    if (further == nullptr || Py_TYPE(further.get()) != type) return PyErr_Occurred() ? nullptr : base.release();
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
        THPObjectPtr base(base_of_view(args[0], type)), made(base == nullptr ? nullptr : wrap_same(args[1], type));
        if (made == nullptr) return nullptr;
        if (held(made.get())->tensor == nullptr)
          held(made.get())->source = base.release();
        else if (PyObject_SetAttr(held(made.get())->tensor, source_name(), base.get()) < 0)
          return nullptr;
        return made.release();
      },
      refused);
}

// viewed(x, class): a view of an array that can be written to, as a plain array or of a derived class.
PyObject* viewed(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded(
      [&]() -> PyObject* {
        if (count != 2 || !is_quiet() || !(is_array(args[0]) || is_derived(args[0])) || !PyType_Check(args[1])) return nullptr;
        auto* type = reinterpret_cast<PyTypeObject*>(args[1]);
        if (type != classes.array && !PyType_IsSubtype(type, classes.derived)) return nullptr;
        const at::Tensor* tensor = plain_tensor(args[0]);
        if (tensor == nullptr || tensor->numel() == 0 || !is_writeable(args[0], *tensor)) return nullptr;
        THPObjectPtr base(type == classes.array ? Py_NewRef(Py_None) : base_of_view(args[0], type));
        THPObjectPtr made(base == nullptr ? nullptr : wrap_view(args[0], *tensor, tensor->sizes(), tensor->strides(), tensor->storage_offset(), type));
        if (made != nullptr && type != classes.array) held(made.get())->source = base.release();
        return made.release();
      },
      refused);
}

}  // namespace

PyMethodDef DERIVED_FUNCTIONS[] = {
    TNP_FAST("derived_in", derived_in),
    {"undressed", undressed, METH_O, nullptr},
    TNP_FAST("dressed", dressed),
    TNP_FAST("viewed", viewed),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace tnp
