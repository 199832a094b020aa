#include "derived.h"

#include <c10/util/SmallVector.h>
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

// Make a view of an array as a plain array, or of a derived class; nullptr without an exception for any other class.
PyObject* view_as(PyTypeObject* type, PyObject* x, const at::Tensor& tensor, c10::IntArrayRef sizes, c10::IntArrayRef strides) {
  bool is_plain = type == classes.array;
  if (!is_plain && !PyType_IsSubtype(type, classes.derived)) return nullptr;
  THPObjectPtr base(is_plain ? Py_NewRef(Py_None) : base_of_view(x, type));
  THPObjectPtr made(base == nullptr ? nullptr : wrap_view(x, tensor, sizes, strides, tensor.storage_offset(), type));
  if (made != nullptr && !is_plain) held(made.get())->source = base.release();
  return made.release();
}

// The tensor of an array that can be written to, and has elements.
const at::Tensor* writeable_tensor_of(PyObject* x) {
  const at::Tensor* tensor = is_quiet() && (is_array(x) || is_derived(x)) ? plain_tensor(x) : nullptr;
  return tensor == nullptr || tensor->numel() == 0 || !is_writeable(x, *tensor) ? nullptr : tensor;
}

// viewed(x, class): a view of an array that can be written to.
PyObject* viewed(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded(
      [&]() -> PyObject* {
        const at::Tensor* tensor = count == 2 && PyType_Check(args[1]) ? writeable_tensor_of(args[0]) : nullptr;
        if (tensor == nullptr) return nullptr;
        return view_as(reinterpret_cast<PyTypeObject*>(args[1]), args[0], *tensor, tensor->sizes(), tensor->strides());
      },
      refused);
}

// over_buffer(class, shape, dtype, array): a view of all elements of an array in C order, in another shape.
PyObject* over_buffer(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded(
      [&]() -> PyObject* {
        c10::SmallVector<int64_t, 6> sizes;
        const at::Tensor* tensor = count == 4 && PyType_Check(args[0]) ? writeable_tensor_of(args[3]) : nullptr;
        if (tensor == nullptr || !is_dense(*tensor) || !read_shape(args[1], sizes, 1)) return nullptr;
        int64_t n = 1;
        c10::SmallVector<int64_t, 6> strides(sizes.size());
        for (size_t axis = sizes.size(); axis-- > 0;) {
          strides[axis] = n;
          if (__builtin_mul_overflow(n, sizes[axis], &n)) return nullptr;
        }
        if (n != tensor->numel() || read_dtype(args[2], NONE) != dtype_of(*tensor)) return nullptr;
        return view_as(reinterpret_cast<PyTypeObject*>(args[0]), args[3], *tensor, sizes, strides);
      },
      refused);
}

}  // namespace

PyMethodDef DERIVED_FUNCTIONS[] = {
    TNP_FAST("derived_in", derived_in),
    {"undressed", undressed, METH_O, nullptr},
    TNP_FAST("dressed", dressed),
    TNP_FAST("viewed", viewed),
    TNP_FAST("over_buffer", over_buffer),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace tnp
