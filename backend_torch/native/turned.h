// Views with negative strides, which torch does not have. Such an array holds torch's view of the same elements with
// these axes reversed, and which axes they are (`Held::turned`). NumPy's view, with which the Python methods compute, is
// made when Python asks for it.
#pragma once

#include <c10/util/SmallVector.h>
#include <torch/csrc/utils/object_ptr.h>

#include "layout.h"

namespace tnp {

// Whether an array is such a view, and is as it was made: Python may give it another shape or dtype.
inline bool is_turned(PyObject* x) { return Py_TYPE(x) == classes.strided && held(x)->turned != 0; }

// As `plain_tensor`, but nullptr for an array whose Python attributes alone say where its elements are.
inline const at::Tensor* viewed_tensor(PyObject* x) { return is_ours(x) || is_turned(x) ? plain_tensor(x) : nullptr; }

// How the elements of an array lie in its storage, strides as NumPy has them. `tensor` is the array's `viewed_tensor`.
struct Elements {
  Elements(PyObject* array, const at::Tensor& tensor);
  Elements(const Elements&) = delete;

  c10::IntArrayRef sizes, strides;
  int64_t offset;

 private:
  c10::SmallVector<int64_t, 6> own_;
};

// Make a view of an array with elements, whose strides may be negative. A new reference; nullptr without an exception if
// the Python path has to make it.
PyObject* wrap_elements(PyObject* array, const at::Tensor& tensor, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                        int64_t offset);

// Whether Python has made a view with negative strides read-only.
bool is_locked(PyObject* turned);

// Copy a view with negative strides, in its order of axes; undefined if the Python path has to.
at::Tensor straightened(PyObject* turned);

// An array of such a copy; any other object itself. A new reference; nullptr without an exception if there is none.
PyObject* straight(PyObject* x);

// Call a function that reads two operands, and makes a new array, on such copies.
template <class Function>
PyObject* on_straight(PyObject* a, PyObject* b, Function&& function) {
  if (!is_turned(a) && !is_turned(b)) return function(a, b);
  THPObjectPtr one(straight(a)), other(straight(b));
  return one == nullptr || other == nullptr ? nullptr : function(one.get(), other.get());
}

// Let Python's attributes of the class make what they return.
bool install_turned();

extern PyMethodDef TURNED_FUNCTIONS[];  // ends with an empty row

}  // namespace tnp
