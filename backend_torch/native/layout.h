// The layout of arrays: an array holds a torch.Tensor, or the parts from which one is made when Python needs it.
#pragma once

#include "core.h"
#include "memory.h"

namespace tnp {

// The layout of class Slot, the base of all arrays and scalars. All zeros mean no value, as after object.__new__.
struct Held {
  PyObject_HEAD
  alignas(8) char value[16];  // a scalar's element; in a float64 this is the value of Python's float
  PyObject* weakrefs;
  PyObject* tensor;         // the object that Python has seen or set: normally a torch.Tensor
  PyObject* source;         // without it: the array of which this one of a derived class is a view; else a tensor notes it
  c10::TensorImpl* impl;    // without it: a tensor that Python has not seen; with a history only if it has no base
  c10::TensorImpl* base;    // its base if it is a view; autograd learns of the view when Python needs it
  uint32_t version;         // the base's version when the view was made
  bool is_without_grad;     // whether the view was made under no_grad
  bool has_value;           // without a tensor: only `value` holds the value
  bool has_views;           // whether views of it were made, through which autograd may reach it
  bool is_shared;           // whether another array had the same tensor, which is not kept for reuse then
  int8_t dtype;
  uint64_t turned;          // of a view with negative strides: the axes, as bits, that the tensor has reversed
};
static_assert(offsetof(Held, value) == offsetof(PyFloatObject, ob_fval));

// The finished Python classes, and class Slot.
struct Classes {
  PyTypeObject* slot = nullptr;
  PyTypeObject* array = nullptr;
  PyTypeObject* scalar = nullptr;
  PyTypeObject* readonly = nullptr;
  PyTypeObject* derived = nullptr;  // the base of the classes that a program derives from arrays
  PyTypeObject* strided = nullptr;  // arrays with negative strides, over NumPy's views
  PyTypeObject* turn = nullptr;     // a named tuple: how such an array lies in its tensor
  PyTypeObject* float64 = nullptr;  // a subclass of scalar and, for C code, of Python's float
  bool has_floats = false;          // whether new float64 scalars have that class
};
extern Classes classes;

PyTypeObject* make_slot_type();

// Give the classes their own deallocator, which keeps some objects for reuse.
bool install_layout(PyTypeObject* array, PyTypeObject* scalar, PyTypeObject* readonly, PyTypeObject* strided,
                    PyTypeObject* float64);

// Let a scalar's `__class__` be NumPy's scalar class of its dtype.
bool install_scalar_classes(PyObject* numpys);

inline bool is_array(PyObject* x) { return Py_TYPE(x) == classes.array; }
inline bool is_scalar(PyObject* x) { return Py_TYPE(x) == classes.scalar || Py_TYPE(x) == classes.float64; }
inline bool is_readonly(PyObject* x) { return Py_TYPE(x) == classes.readonly; }
inline bool is_ours(PyObject* x) { return is_array(x) || is_scalar(x) || is_readonly(x); }  // for reading
inline bool is_derived(PyObject* x) { return PyType_IsSubtype(Py_TYPE(x), classes.derived); }
inline Held* held(PyObject* x) { return reinterpret_cast<Held*>(x); }

// Return the tensor of an array; nullptr if the guard refuses it, and for a scalar that has none.
template <bool IS_RECORDED = false>
inline const at::Tensor* plain_tensor(PyObject* x) {
  const Held* it = held(x);
  if (it->tensor == nullptr) {
    // Writing a value with a gradient to a view gives its base a history, which Python has not seen either.
    if (it->impl == nullptr || (it->base != nullptr && !is_plain(as_tensor(it->base)))) return nullptr;
    return is_plain<IS_RECORDED>(as_tensor(it->impl)) ? &as_tensor(it->impl) : nullptr;
  }
  if (!THPVariable_CheckExact(it->tensor)) return nullptr;
  const at::Tensor& tensor = THPVariable_Unpack(it->tensor);
  return is_plain<IS_RECORDED>(tensor) ? &tensor : nullptr;
}

// As `plain_tensor`, but the tensor may have a gradient.
inline const at::Tensor* recorded_tensor(PyObject* x) { return plain_tensor<true>(x); }

// The name of the attribute in which a tensor notes its array's base (`backend_torch.tensors.memory`).
PyObject* source_name();

// The attribute `tensor` of class Slot.
PyObject* get_tensor(PyObject* self, void*);
int set_tensor(PyObject* self, PyObject* value, void*);

// Make an array of a tensor that Python has not seen, or a scalar if it is 0-d. A new reference; nullptr with an
// exception set.
PyObject* wrap(at::Tensor&& tensor);
PyObject* wrap_array(at::Tensor&& tensor);
PyObject* wrap_scalar(const char* value, int8_t dtype);
PyObject* wrap_recorded(at::Tensor&& tensor);  // which may have a gradient

// Make a view of an array's tensor, which passed the guard; nullptr without an exception if torch has to make it.
PyObject* wrap_view(PyObject* array, const at::Tensor& tensor, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                    int64_t offset, PyTypeObject* type = classes.array);

// Make an array of another class with the tensor of an array that passed the guard.
PyObject* wrap_same(PyObject* array, PyTypeObject* type);

// Make a view of the real or the imaginary parts of a complex array; as `wrap_view`.
PyObject* wrap_parts(PyObject* array, const at::Tensor& tensor, bool is_imaginary);

// Search all arrays for the one that holds a tensor; nullptr without an exception if none does.
PyObject* find_holder(const at::Tensor& tensor, PyTypeObject* type);

}  // namespace tnp
