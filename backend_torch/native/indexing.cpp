#include "indexing.h"

#include <c10/util/SmallVector.h>

#include <algorithm>
#include <cstring>

#include "functions.h"
#include "host.h"
#include "layout.h"
#include "loops.h"
#include "picking.h"
#include "turned.h"

namespace tnp {
namespace {

constexpr int64_t MOST_DIMENSIONS = 64;

struct View {
  c10::SmallVector<int64_t, 6> sizes, strides;
  int64_t offset;
  bool is_element = true;  // whether the key is one integer for each axis
};

bool add_integer(const Elements& from, int64_t axis, PyObject* item, View& view) {
  int64_t index, size = from.sizes[axis];
  if (!read_integer(item, index) || index < -size || index >= size) return false;
  view.offset += (index < 0 ? index + size : index) * from.strides[axis];
  return true;
}

bool is_bound(PyObject* bound) { return bound == Py_None || PyLong_CheckExact(bound); }

bool add_slice(const Elements& from, int64_t axis, PyObject* item, View& view) {
  auto* slice = reinterpret_cast<PySliceObject*>(item);
  if (!is_bound(slice->start) || !is_bound(slice->stop) || !is_bound(slice->step)) return false;
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(item, &start, &stop, &step) < 0) {
    PyErr_Clear();
    return false;
  }
  Py_ssize_t length = PySlice_AdjustIndices(from.sizes[axis], &start, &stop, step);
  int64_t stride = from.strides[axis];
  view.offset += start * stride;
  view.sizes.push_back(length);
  view.strides.push_back(stride * step);
  view.is_element = false;
  return true;
}

void add_axis(const Elements& from, int64_t axis, View& view) {
  view.sizes.push_back(from.sizes[axis]);
  view.strides.push_back(from.strides[axis]);
  view.is_element = false;
}

bool is_basic(PyObject* item) {
  return is_integer(item) || PySlice_Check(item) || item == Py_None || item == Py_Ellipsis;
}

// Parse a key; false if it is not a valid basic index.
bool parse(const Elements& from, PyObject* key, View& view) {
  int64_t dim = static_cast<int64_t>(from.sizes.size()), axis = 0;
  view.offset = from.offset;
  if (!PyTuple_CheckExact(key) && key != Py_None && key != Py_Ellipsis) {
    if (dim == 0) return false;
    if (is_integer(key) ? !add_integer(from, 0, key, view) : !PySlice_Check(key) || !add_slice(from, 0, key, view))
      return false;
    axis = 1;
  } else {
    bool is_tuple = PyTuple_CheckExact(key);
    Py_ssize_t count = is_tuple ? PyTuple_GET_SIZE(key) : 1, taken = 0;
    auto item_of = [&](Py_ssize_t i) { return is_tuple ? PyTuple_GET_ITEM(key, i) : key; };
    bool has_ellipsis = false;
    for (Py_ssize_t i = 0; i < count; i++) {
      PyObject* item = item_of(i);
      if (!is_basic(item)) return false;
      if (item == Py_Ellipsis) {
        if (has_ellipsis) return false;
        has_ellipsis = true;
      } else if (item != Py_None) {
        taken++;
      }
    }
    if (taken > dim) return false;
    for (Py_ssize_t i = 0; i < count; i++) {
      PyObject* item = item_of(i);
      if (item == Py_None) {
        view.sizes.push_back(1);
        view.strides.push_back(axis < dim ? from.sizes[axis] * from.strides[axis] : 1);
        view.is_element = false;
      } else if (item == Py_Ellipsis) {
        for (int64_t left = dim - taken; left > 0; left--) add_axis(from, axis++, view);
        view.is_element = false;
      } else if (is_integer(item)) {
        if (!add_integer(from, axis++, item, view)) return false;
      } else if (!add_slice(from, axis++, item, view)) {
        return false;
      }
    }
  }
  while (axis < dim) add_axis(from, axis++, view);
  return static_cast<int64_t>(view.sizes.size()) <= MOST_DIMENSIONS;
}

// Copy elements between two strided arrays of one shape.
void copy_elements(CopyLoop loop, char* to, const char* from, int64_t width_to, int64_t width_from,
                   c10::IntArrayRef sizes, c10::IntArrayRef strides_to, c10::IntArrayRef strides_from) {
  if (sizes.empty()) {
    loop(to, from, 1, 1, 1);
  } else if (sizes.size() == 1) {
    loop(to, from, sizes[0], strides_to[0], strides_from[0]);
  } else {
    for (int64_t i = 0; i < sizes[0]; i++)
      copy_elements(loop, to + i * strides_to[0] * width_to, from + i * strides_from[0] * width_from, width_to,
                    width_from, sizes.slice(1), strides_to.slice(1), strides_from.slice(1));
  }
}

constexpr int64_t FEW = LARGE;  // an assignment to more elements is torch's

int64_t count(const View& view) {
  int64_t n = 1;
  for (int64_t size : view.sizes) n *= size;
  return n;
}

bool is_forward(const View& view) {
  return std::all_of(view.strides.begin(), view.strides.end(), [](int64_t stride) { return stride >= 0; });
}

bool has_new_axis(PyObject* key) {
  if (!PyTuple_CheckExact(key)) return key == Py_None;
  PyObject** items = PySequence_Fast_ITEMS(key);
  return std::find(items, items + PyTuple_GET_SIZE(key), Py_None) != items + PyTuple_GET_SIZE(key);
}

PyObject* element_or_view(PyObject* array, const at::Tensor& tensor, int8_t dtype, const View& view, bool is_element) {
  if (is_element) return wrap_scalar(data_of(tensor, view.offset), dtype);
  return wrap_elements(array, tensor, view.sizes, view.strides, view.offset);
}

// Read the key of an element of an ordinary array, a tuple of one Python integer for each axis; false for any other.
bool read_place(const at::Tensor& tensor, PyObject* key, int64_t& offset) {
  int64_t dim = tensor.dim();
  if (!PyTuple_CheckExact(key) || PyTuple_GET_SIZE(key) != dim || dim == 0) return false;
  c10::IntArrayRef sizes = tensor.sizes(), strides = tensor.strides();
  offset = tensor.storage_offset();
  for (int64_t axis = 0; axis < dim; axis++) {
    PyObject* item = PyTuple_GET_ITEM(key, axis);
    int64_t index, size = sizes[axis];
    if (!PyLong_CheckExact(item) || !read_integer(item, index) || index < -size || index >= size) return false;
    offset += (index < 0 ? index + size : index) * strides[axis];
  }
  return true;
}

}  // namespace

PyObject* get_item(PyObject* array, PyObject* key) {
  if (!is_quiet()) return nullptr;
  const at::Tensor* tensor = viewed_tensor(array);
  if (tensor == nullptr) return nullptr;
  int8_t dtype = dtype_of(tensor->unsafeGetTensorImpl());
  if (dtype == NONE) return nullptr;
  int64_t place;
  if (is_array(array) && read_place(*tensor, key, place)) return wrap_scalar(data_of(*tensor, place), dtype);
  if (has_index_array(key)) {
    if (!is_turned(array)) return get_picked(array, *tensor, key);
    at::Tensor copy = straightened(array);
    return copy.defined() ? get_picked(array, copy, key) : nullptr;
  }
  Elements elements(array, *tensor);
  View view;
  if (!parse(elements, key, view) || (is_readonly(array) && !view.is_element)) return nullptr;
  bool is_ordinary = !is_turned(array) && is_forward(view);
  if (!is_ordinary && (count(view) == 0 || has_new_axis(key))) return nullptr;  // NumPy's strides of these are other ones
  return element_or_view(array, *tensor, dtype, view, view.is_element);
}

PyObject* get_row(PyObject* array, int64_t index) {
  if (!is_quiet()) return nullptr;
  const at::Tensor* tensor = viewed_tensor(array);
  if (tensor == nullptr || tensor->dim() == 0) return nullptr;
  int8_t dtype = dtype_of(tensor->unsafeGetTensorImpl());
  if (dtype == NONE || index < 0 || index >= tensor->sizes()[0]) return nullptr;
  Elements elements(array, *tensor);
  View view;
  view.offset = elements.offset + index * elements.strides[0];
  for (int64_t axis = 1; axis < tensor->dim(); axis++) add_axis(elements, axis, view);
  return element_or_view(array, *tensor, dtype, view, view.sizes.empty());
}

bool set_item(PyObject* array, PyObject* key, PyObject* value) {
  if (!is_quiet()) return false;
  const at::Tensor* tensor = viewed_tensor(array);
  if (tensor == nullptr) return false;
  int8_t dtype = dtype_of(tensor->unsafeGetTensorImpl());
  if (dtype == NONE) return false;
  if (has_index_array(key)) return !is_turned(array) && set_picked(array, *tensor, key, value);
  if (dtype >= LOOPS || (is_turned(array) && is_locked(array))) return false;
  for (int64_t stride : tensor->strides())
    if (stride == 0) return false;  // may be a broadcast view, which is read-only
  if (int64_t place; is_array(array) && read_place(*tensor, key, place)) {
    alignas(16) char number[16];
    bool is_same = is_scalar(value) && held(value)->has_value && held(value)->dtype == dtype;
    if (is_same || (is_number(value) && store_number(value, dtype, number, true))) {
      std::memcpy(writeable_data_of(*tensor) + (place - tensor->storage_offset()) * itemsize(dtype),
                  is_same ? held(value)->value : number, itemsize(dtype));
      tensor->unsafeGetTensorImpl()->bump_version();
      return true;
    }
    if (PyErr_Occurred()) return false;
  }
  Elements elements(array, *tensor);
  View view;
  if (!parse(elements, key, view)) return false;
  if (count(view) > FEW && view.sizes.size() != 1) return false;
  int64_t width = itemsize(dtype);
  int8_t given_dtype = dtype;
  at::Tensor copied, cast;
  alignas(16) char number[16];
  static const int64_t NO_STRIDES[MOST_DIMENSIONS] = {};
  c10::IntArrayRef zeros(NO_STRIDES, view.sizes.size());
  auto* impl = tensor->unsafeGetTensorImpl();
  const char* from = number;
  c10::IntArrayRef strides = zeros;
  if (is_number(value)) {
    if (!store_number(value, dtype, number, true)) return false;
  } else {
    const char* element = scalar_value(value, given_dtype);
    const at::Tensor* source = element == nullptr && (is_ours(value) || is_derived(value)) ? plain_tensor(value) : nullptr;
    if (is_turned(value) && (copied = straightened(value)).defined()) source = &copied;
    if (!view.sizes.empty() && is_list(value) && (copied = of_list(value, dtype)).defined()) source = &copied;
    if (element == nullptr && source == nullptr) return false;
    if (source != nullptr) given_dtype = dtype_of(*source);
    if (element != nullptr || source->dim() == 0) {
      if (is_derived(value)) return false;  // its class may convert it
      if (element == nullptr) element = data_of(*source);
      if (!is_array(value) && !fits(element, given_dtype, dtype)) return false;  // NumPy takes it for Python's number
      if (!cast_element(number, dtype, element, given_dtype)) return false;
      given_dtype = dtype;
    } else if (source->sizes() != c10::IntArrayRef(view.sizes)) {
      return false;
    } else {
      if (given_dtype == NONE) return false;
      if (may_overlap(*source, *tensor)) {
        bool is_itself = given_dtype == dtype && data_of(*source) == data_of(*tensor, view.offset);
        if (is_itself && source->strides() == c10::IntArrayRef(view.strides)) return true;  // x[1:5] = x[1:5]
        if (given_dtype >= LOOPS) return false;
        copied = empty(source->sizes(), given_dtype);
        gather(writeable_data_of(copied), given_dtype, data_of(*source), given_dtype, source->sizes(), source->strides().data());
        source = &copied;
      }
      if (copy_loop(given_dtype, dtype) == nullptr) {
        cast = truncated(*source, given_dtype, dtype);
        if (!cast.defined()) return false;
        source = &cast;
        given_dtype = dtype;
      }
      from = data_of(*source);
      strides = source->strides();
    }
  }
  char* to = writeable_data_of(*tensor) + (view.offset - tensor->storage_offset()) * width;
  auto loop = copy_loop(given_dtype, dtype);
  int64_t width_from = itemsize(given_dtype);
  if (view.sizes.size() == 1)
    in_parts(view.sizes[0], [&](int64_t first, int64_t count) {
      loop(to + first * view.strides[0] * width, from + first * strides[0] * width_from, count, view.strides[0], strides[0]);
    });
  else
    copy_elements(loop, to, from, width, width_from, view.sizes, view.strides, strides);
  impl->bump_version();
  return true;
}

}  // namespace tnp
