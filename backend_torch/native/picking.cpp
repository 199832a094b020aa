#include "picking.h"

#include <c10/util/SmallVector.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "functions.h"
#include "host.h"
#include "loops.h"
#include "turned.h"

namespace tnp {

namespace {

// numpy.integer, whose instances are indices like Python's integers.
PyTypeObject* numpy_integer() {
  static PyTypeObject* type = [] {
    PyObject* numpy = PyImport_ImportModule("numpy");
    PyObject* found = numpy == nullptr ? nullptr : PyObject_GetAttrString(numpy, "integer");
    PyErr_Clear();
    Py_XDECREF(numpy);
    return reinterpret_cast<PyTypeObject*>(found);
  }();
  return type;
}

// Whether an object is a numpy.int64, whose value follows the head of the object.
bool is_numpy_int64(PyObject* item) {
  static PyObject* type = [] {
    PyObject* numpy = PyImport_ImportModule("numpy");
    PyObject* found = numpy == nullptr ? nullptr : PyObject_GetAttrString(numpy, "int64");
    PyErr_Clear();
    Py_XDECREF(numpy);
    return found;
  }();
  return reinterpret_cast<PyObject*>(Py_TYPE(item)) == type;
}

bool is_numpy_integer(PyObject* item) {
  return numpy_integer() != nullptr && PyType_IsSubtype(Py_TYPE(item), numpy_integer());
}

}  // namespace

bool is_integer(PyObject* item) {
  if (PyLong_CheckExact(item) || is_numpy_int64(item)) return true;
  if (PySlice_Check(item) || item == Py_None || item == Py_Ellipsis) return false;
  if (!is_scalar(item)) return !is_array(item) && is_numpy_integer(item);
  const Held* it = held(item);
  if (it->has_value) return it->dtype >= U8 && it->dtype <= I64;
  const at::Tensor* tensor = plain_tensor(item);
  return tensor != nullptr && dtype_of(*tensor) >= U8 && dtype_of(*tensor) <= I64;
}

bool read_integer(PyObject* item, int64_t& index) {
  if (PyLong_CheckExact(item)) {
    int overflow;
    index = PyLong_AsLongLongAndOverflow(item, &overflow);
    return !overflow;
  }
  if (is_numpy_int64(item)) {
    index = *reinterpret_cast<const int64_t*>(item + 1);
    return true;
  }
  if (!is_integer(item)) return false;
  if (!is_scalar(item)) {
    PyObject* number = PyNumber_Index(item);
    if (number == nullptr) PyErr_Clear();  // timedelta64 is a numpy.integer too
    bool is_read = number != nullptr && read_integer(number, index);
    Py_XDECREF(number);
    return is_read;
  }
  const Held* it = held(item);
  const at::Tensor* tensor = it->has_value ? nullptr : plain_tensor(item);
  copy_loop(tensor == nullptr ? it->dtype : dtype_of(*tensor), I64)(
      reinterpret_cast<char*>(&index), tensor == nullptr ? it->value : data_of(*tensor), 1, 1, 1);
  return index >= 0 || (tensor == nullptr ? it->dtype : dtype_of(*tensor)) != U64;
}

namespace {

constexpr int64_t MOST = 1 << 22;  // torch moves more elements, with several threads

constexpr Py_ssize_t MOST_INDICES = 32;

using Offsets = c10::SmallVector<int64_t, 64>;

const at::Tensor* index_array(PyObject* item) {
  const at::Tensor* tensor = is_array(item) || is_readonly(item) ? plain_tensor(item) : nullptr;
  return tensor == nullptr || tensor->dim() == 0 ? nullptr : tensor;
}

// What index arrays select: rows. A row is the contiguous elements of the remaining axes.
struct Picked {
  c10::SmallVector<int64_t, 6> sizes;
  Offsets rows;         // offsets, in elements
  int64_t length = 1;   // elements of a row
};

// Read the axes from `first` on as one row; false if their elements are not contiguous.
bool read_rest(const at::Tensor& tensor, int64_t first, Picked& picked) {
  for (int64_t axis = tensor.dim() - 1; axis >= first; axis--) {
    if (tensor.sizes()[axis] != 1 && tensor.strides()[axis] != picked.length) return false;
    picked.length *= tensor.sizes()[axis];
  }
  picked.sizes.append(tensor.sizes().begin() + first, tensor.sizes().end());
  return picked.length > 0;
}

bool read_indices(const at::Tensor& tensor, PyObject* key, Picked& picked) {
  bool is_tuple = PyTuple_CheckExact(key);
  Py_ssize_t count = is_tuple ? PyTuple_GET_SIZE(key) : 1;
  if (count > tensor.dim() || count > MOST_INDICES) return false;
  const at::Tensor* first = nullptr;
  int64_t offset = 0;
  for (Py_ssize_t axis = 0; axis < count; axis++) {
    PyObject* item = is_tuple ? PyTuple_GET_ITEM(key, axis) : key;
    int64_t size = tensor.sizes()[axis], stride = tensor.strides()[axis], index;
    if (is_integer(item)) {
      if (!read_integer(item, index) || index < -size || index >= size) return false;
      offset += (index < 0 ? index + size : index) * stride;
      continue;
    }
    const at::Tensor* indices = index_array(item);
    if (indices == nullptr || dtype_of(*indices) != I64) return false;
    int64_t n = indices->numel(), step = indices->dim() == 1 ? indices->strides()[0] : 1;
    if (n == 0 || n > MOST || (indices->dim() > 1 && !is_dense(*indices))) return false;
    if (first == nullptr) {
      first = indices;
      picked.sizes.append(indices->sizes().begin(), indices->sizes().end());
      picked.rows.resize(n, 0);
    } else if (indices->sizes() != first->sizes()) {
      return false;
    }
    const auto* from = reinterpret_cast<const int64_t*>(data_of(*indices));
    int64_t* rows = picked.rows.data();
    bool is_within = true;
    for (int64_t i = 0; i < n; i++) {
      index = from[i * step];
      is_within &= index >= -size && index < size;
      rows[i] += (index < 0 ? index + size : index) * stride;
    }
    if (!is_within) return false;
  }
  if (first == nullptr || !read_rest(tensor, count, picked)) return false;
  if (offset != 0)
    for (int64_t& row : picked.rows) row += offset;
  return static_cast<int64_t>(picked.rows.size()) * picked.length <= MOST;
}

// One index array of a vector, its indices within bounds.
struct Line {
  const at::Tensor* indices;
  const int64_t* from;
  int64_t count, step, size, stride;

  // Call `body(i, place)` for each index; `place` is the offset of the element. Steps of 1 are a loop of their own, which
  // the compiler vectorises.
  template <class Body>
  void for_each(Body&& body) const {
    auto run = [&](int64_t step, int64_t stride) __attribute__((always_inline)) {
      for (int64_t i = 0; i < count; i++) {
        int64_t index = from[i * step];
        body(i, (index + (index >> 63 & size)) * stride);
      }
    };
    if (step == 1 && stride == 1)
      run(1, 1);
    else
      run(step, stride);
  }
};

bool read_line(const at::Tensor& tensor, PyObject* key, Line& line) {
  const at::Tensor* indices = tensor.dim() != 1 || PyTuple_CheckExact(key) ? nullptr : index_array(key);
  if (indices == nullptr || dtype_of(*indices) != I64 || (indices->dim() > 1 && !is_dense(*indices))) return false;
  line = {indices, reinterpret_cast<const int64_t*>(data_of(*indices)), indices->numel(),
          indices->dim() == 1 ? indices->strides()[0] : 1, tensor.sizes()[0], tensor.strides()[0]};
  if (line.count == 0 || line.count > MOST) return false;
  uint64_t outside = 0;
  const uint64_t size = line.size;
  auto check = [&](int64_t step) __attribute__((always_inline)) {  // counted from -size: one comparison, in vectors
    for (int64_t i = 0; i < line.count; i++) outside |= static_cast<uint64_t>(line.from[i * step]) + size >= 2 * size;
  };
  line.step == 1 ? check(1) : check(line.step);
  return outside == 0;
}

// Return the mask if the key is one: for the first axes of an array in C order, or for all axes of any array.
const at::Tensor* read_mask(const at::Tensor& tensor, PyObject* key, int64_t& length) {
  const at::Tensor* mask = index_array(key);
  if (mask == nullptr || dtype_of(*mask) != B1 || mask->dim() > tensor.dim()) return nullptr;
  if (mask->sizes() != tensor.sizes().slice(0, mask->dim()) || !is_dense(*mask)) return nullptr;
  if (mask->dim() != tensor.dim() && !is_dense(tensor)) return nullptr;
  if (tensor.numel() == 0 || tensor.numel() > MOST) return nullptr;
  length = tensor.numel() / mask->numel();
  return mask;
}

int64_t count_true(const char* mask, int64_t n) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; i += 128) {
    uint8_t part = 0;  // the compiler vectorises sums of bytes
    for (int64_t k = i; k < std::min(i + 128, n); k++) part += mask[k] != 0;
    count += part;
  }
  return count;
}

// Call `body` for the elements of a mask, until `place` has counted all that are true. Eight false ones are skipped
// at once.
template <class Body>
void for_chosen(const char* chosen, int64_t n, int64_t count, int64_t& place, Body&& body) {
  const int64_t end = place + count;
  for (int64_t i = 0; i < n && place < end; i += 8) {
    uint64_t eight = 1;
    if (i + 8 <= n) std::memcpy(&eight, chosen + i, sizeof eight);
    if (eight == 0) continue;
    // No branch on an element: the processor could not predict it.
    for (int64_t k = i; k < std::min(i + 8, n) && place < end; k++) {
      body(k, place);
      place += chosen[k] != 0;
    }
  }
}

struct Sixteen {
  uint64_t low, high;
};

// Call `body` with a type of so many bytes.
template <class Body>
void by_width(int64_t width, Body&& body) {
  switch (width) {
    case 1: return body(uint8_t());
    case 2: return body(uint16_t());
    case 4: return body(uint32_t());
    case 8: return body(uint64_t());
    default: return body(Sixteen());
  }
}

// The value of an assignment: one element, or as many as are selected, in C order.
struct Given {
  alignas(16) char number[16];
  const char* data = nullptr;
  bool is_one = false;
};

bool read_value(PyObject* value, const at::Tensor& tensor, c10::IntArrayRef sizes, Given& given) {
  int8_t dtype = dtype_of(tensor);
  if (is_number(value)) {
    given.is_one = true;
    given.data = given.number;
    return dtype < LOOPS && store_number(value, dtype, given.number, true);
  }
  int8_t own;
  given.data = scalar_value(value, own);
  if (given.data != nullptr) {
    given.is_one = true;
    if (own == dtype) return true;
    const char* element = std::exchange(given.data, given.number);
    return dtype < LOOPS && fits(element, own, dtype) && cast_element(given.number, dtype, element, own);
  }
  const at::Tensor* source = is_ours(value) ? plain_tensor(value) : nullptr;
  if (source == nullptr || source->dtype() != tensor.dtype() || may_overlap(*source, tensor)) return false;
  given.data = data_of(*source);
  given.is_one = source->dim() == 0;
  return given.is_one || (source->sizes() == sizes && is_dense(*source));
}

bool is_writeable(const at::Tensor& tensor) {
  for (int64_t stride : tensor.strides())
    if (stride == 0) return false;  // may be a broadcast view
  return true;
}

// Return the offset of a row, given by its number in C order of all axes but the last.
int64_t offset_of(const at::Tensor& tensor, int64_t row) {
  int64_t offset = 0;
  for (int64_t axis = tensor.dim() - 2; axis >= 0; axis--) {
    offset += row % tensor.sizes()[axis] * tensor.strides()[axis];
    row /= tensor.sizes()[axis];
  }
  return offset;
}

PyObject* get_masked(const at::Tensor& tensor, const at::Tensor& mask, int64_t length) {
  int8_t dtype = dtype_of(tensor);
  const char* chosen = data_of(mask);
  int64_t n = mask.numel(), count = count_true(chosen, n), width = itemsize(dtype);
  c10::SmallVector<int64_t, 6> sizes{count};
  sizes.append(tensor.sizes().begin() + mask.dim(), tensor.sizes().end());
  at::Tensor result = empty(sizes, dtype);
  char* to = writeable_data_of(result);
  const char* from = data_of(tensor);
  if (length == 1) {
    by_width(width, [&](auto zero) {
      using T = decltype(zero);
      auto* out = reinterpret_cast<T*>(to);
      const auto* in = reinterpret_cast<const T*>(from);
      int64_t j = 0, line = is_dense(tensor) ? n : mask.sizes().back(), step = tensor.strides().back();
      for (int64_t i = 0; i < n && j < count; i += line) {
        const T* row = line == n ? in : in + offset_of(tensor, i / line);
        for_chosen(chosen + i, line, count - j, j, [&](int64_t k, int64_t place) { out[place] = row[k * step]; });
      }
    });
  } else {
    int64_t bytes = length * width;
    for (int64_t i = 0; i < n; i++) {
      if (!chosen[i]) continue;
      std::memcpy(to, from + i * bytes, bytes);
      to += bytes;
    }
  }
  return wrap_array(std::move(result));
}

bool set_masked(const at::Tensor& tensor, const at::Tensor& mask, int64_t length, PyObject* value) {
  if (length != 1 || !is_dense(tensor) || may_overlap(mask, tensor)) return false;
  const char* chosen = data_of(mask);
  int64_t n = mask.numel(), count = count_true(chosen, n);
  Given given;
  if (!read_value(value, tensor, {count}, given)) return false;
  char* to = writeable_data_of(tensor);
  by_width(itemsize(dtype_of(tensor)), [&](auto zero) {
    using T = decltype(zero);
    auto* out = reinterpret_cast<T*>(to);
    if (given.is_one) {
      T one;
      std::memcpy(&one, given.data, sizeof one);
      for (int64_t i = 0; i < n; i++) out[i] = chosen[i] ? one : out[i];
    } else {
      const auto* in = reinterpret_cast<const T*>(given.data);
      int64_t j = 0;
      for_chosen(chosen, n, count, j, [&](int64_t i, int64_t place) { out[i] = chosen[i] ? in[place] : out[i]; });
    }
  });
  return true;
}

}  // namespace

bool has_index_array(PyObject* key) {
  auto is_one = [](PyObject* item) {
    return is_array(item) || is_readonly(item) || PyList_CheckExact(item) || is_numpy(item) || is_turned(item);
  };
  if (!PyTuple_CheckExact(key)) return is_one(key);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); i++)
    if (is_one(PyTuple_GET_ITEM(key, i))) return true;
  return false;
}

PyObject* get_picked(PyObject* array, const at::Tensor& tensor, PyObject* key) {
  int64_t length;
  if (const at::Tensor* mask = read_mask(tensor, key, length)) return get_masked(tensor, *mask, length);
  Line line;
  if (read_line(tensor, key, line)) {
    at::Tensor result = empty(line.indices->sizes(), dtype_of(tensor));
    by_width(itemsize(dtype_of(tensor)), [&](auto zero) {
      using T = decltype(zero);
      auto* out = reinterpret_cast<T*>(writeable_data_of(result));
      const auto* in = reinterpret_cast<const T*>(data_of(tensor));
      line.for_each([&](int64_t i, int64_t place) __attribute__((always_inline)) { out[i] = in[place]; });
    });
    return wrap_array(std::move(result));
  }
  Picked picked;
  if (!read_indices(tensor, key, picked)) return pick_by_numpy(array, tensor, key);
  int8_t dtype = dtype_of(tensor);
  at::Tensor result = empty(picked.sizes, dtype);
  char* to = writeable_data_of(result);
  const char* from = data_of(tensor);
  int64_t width = itemsize(dtype);
  if (picked.length == 1) {
    by_width(width, [&](auto zero) {
      using T = decltype(zero);
      auto* out = reinterpret_cast<T*>(to);
      const auto* in = reinterpret_cast<const T*>(from);
      for (int64_t row : picked.rows) *out++ = in[row];
    });
  } else {
    int64_t bytes = picked.length * width;
    for (int64_t row : picked.rows) {
      std::memcpy(to, from + row * width, bytes);
      to += bytes;
    }
  }
  return wrap_array(std::move(result));
}

bool set_picked(PyObject* array, const at::Tensor& tensor, PyObject* key, PyObject* value) {
  if (!is_writeable(tensor)) return false;
  int64_t length;
  if (const at::Tensor* mask = read_mask(tensor, key, length)) {
    if (!set_masked(tensor, *mask, length, value)) return false;
  } else {
    Line line;
    Picked picked;
    Given given;
    bool is_line = read_line(tensor, key, line) && !may_overlap(*line.indices, tensor);
    bool is_read = (is_line || read_indices(tensor, key, picked)) &&
                   read_value(value, tensor, is_line ? line.indices->sizes() : c10::IntArrayRef(picked.sizes), given);
    if (!is_read) {
      if (PyErr_Occurred() || !put_by_numpy(array, tensor, key, value)) return false;
      tensor.unsafeGetTensorImpl()->bump_version();
      return true;
    }
    char* to = writeable_data_of(tensor);
    by_width(itemsize(dtype_of(tensor)), [&](auto zero) {
      using T = decltype(zero);
      auto* out = reinterpret_cast<T*>(to);
      const auto* in = reinterpret_cast<const T*>(given.data);
      int64_t step = given.is_one ? 0 : 1;
      if (is_line) {
        line.for_each([&](int64_t i, int64_t place) __attribute__((always_inline)) { out[place] = in[i * step]; });
        return;
      }
      for (int64_t row : picked.rows)
        for (int64_t i = 0; i < picked.length; i++, in += step) out[row + i] = *in;
    });
  }
  tensor.unsafeGetTensorImpl()->bump_version();
  return true;
}

}  // namespace tnp
