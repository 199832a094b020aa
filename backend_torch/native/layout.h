// What an array holds: a torch.Tensor, or what one is made of when Python asks for it.
#pragma once

#include "core.h"
#include "memory.h"

namespace tnp {

// The layout of class Slot, below that of all arrays and scalars. Zeros hold nothing, as after object.__new__.
struct Held {
  PyObject_HEAD
  alignas(8) char value[16];  // a scalar's element; of a float64, where Python's float has its own
  PyObject* weakrefs;
  PyObject* tensor;         // what Python has seen, or put here: a torch.Tensor, as a rule
  c10::TensorImpl* impl;    // else: a tensor that Python has not seen, with no history of its own
  c10::TensorImpl* base;    // and what that is a view of, if it is one; autograd is told when Python asks
  uint32_t version;         // of the base when the view was made
  bool is_without_grad;     // whether it was made under no_grad
  bool has_value;           // else: the value alone
  bool has_views;           // whether one was made of it, from which autograd may lead to it
  int8_t dtype;
};
static_assert(offsetof(Held, value) == offsetof(PyFloatObject, ob_fval));

// The finished Python classes, and class Slot.
struct Classes {
  PyTypeObject* slot = nullptr;
  PyTypeObject* array = nullptr;
  PyTypeObject* scalar = nullptr;
  PyTypeObject* readonly = nullptr;
  PyTypeObject* float64 = nullptr;  // below scalar and, to C, below Python's float
  bool has_floats = false;          // whether scalars are of that class
};
extern Classes classes;

PyTypeObject* make_slot_type();

// Give the two classes their own way of being freed, which keeps some for the next ones.
bool install_layout(PyTypeObject* array, PyTypeObject* scalar, PyTypeObject* readonly, PyTypeObject* float64);

// Let a scalar's `__class__` be NumPy's of its dtype.
bool install_scalar_classes(PyObject* numpys);

inline bool is_array(PyObject* x) { return Py_TYPE(x) == classes.array; }
inline bool is_scalar(PyObject* x) { return Py_TYPE(x) == classes.scalar || Py_TYPE(x) == classes.float64; }
inline bool is_readonly(PyObject* x) { return Py_TYPE(x) == classes.readonly; }
inline bool is_ours(PyObject* x) { return is_array(x) || is_scalar(x) || is_readonly(x); }  // to be read
inline Held* held(PyObject* x) { return reinterpret_cast<Held*>(x); }

// The tensor of one of our arrays, nullptr where the guard refuses it, and for a scalar that has none.
inline const at::Tensor* plain_tensor(PyObject* x) {
  const Held* it = held(x);
  if (it->tensor == nullptr) {
    // A write of what has a gradient to a view of it gives it a history that Python has not seen either.
    if (it->impl == nullptr || !is_plain(as_tensor(it->base != nullptr ? it->base : it->impl))) return nullptr;
    return &as_tensor(it->impl);
  }
  if (!THPVariable_CheckExact(it->tensor)) return nullptr;
  const at::Tensor& tensor = THPVariable_Unpack(it->tensor);
  return is_plain(tensor) ? &tensor : nullptr;
}

// A tensor that Python has not seen, as an array, or as a scalar if it is 0-d. A new reference; nullptr with an
// exception set.
PyObject* wrap(at::Tensor&& tensor);
PyObject* wrap_array(at::Tensor&& tensor);
PyObject* wrap_scalar(const char* value, int8_t dtype);

// A view of an array's tensor, which passed the guard; nullptr without an exception where torch has to make it.
PyObject* wrap_view(PyObject* array, const at::Tensor& tensor, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                    int64_t offset);

// The array that has a tensor, among all that there are: nullptr without an exception if none has.
PyObject* find_holder(const at::Tensor& tensor, PyTypeObject* type);

}  // namespace tnp
