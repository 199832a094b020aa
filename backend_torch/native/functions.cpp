#include "functions.h"

#include <ATen/Context.h>
#include <ATen/TensorUtils.h>
#include <ATen/ops/amax_cpu_dispatch.h>
#include <ATen/ops/amin_cpu_dispatch.h>
#include <ATen/ops/dot_cpu_dispatch.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/mm_cpu_dispatch.h>
#include <ATen/ops/mv.h>
#include <ATen/ops/mean_cpu_dispatch.h>
#include <ATen/ops/sum_cpu_dispatch.h>
#include <c10/util/SmallVector.h>
#include <c10/util/accumulate.h>
#include <torch/csrc/Device.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "host.h"
#include "layout.h"
#include "loops.h"
#include "recording.h"
#include "turned.h"

namespace tnp {
namespace {

using Shape = c10::SmallVector<int64_t, 6>;

constexpr uint32_t COUNTED = bit(B1) | bit(U8) | bit(I8) | bit(I16) | bit(I32) | bit(I64);

// Return the tensor of an array that passes the guard, else nullptr.
const at::Tensor* array_tensor(PyObject* x) { return is_array(x) ? plain_tensor(x) : nullptr; }

// As `array_tensor`, or the tensor of an array of a derived class.
const at::Tensor* any_tensor(PyObject* x) { return is_array(x) || is_derived(x) ? plain_tensor(x) : nullptr; }

// As `array_tensor`, or the tensor of a view with negative strides, which has them reversed (`Elements`).
const at::Tensor* writeable_tensor(PyObject* x) { return is_array(x) || is_turned(x) ? plain_tensor(x) : nullptr; }

// Give a function that makes a new array copies of those arguments that have negative strides, and of its two operands
// those that are NumPy's as arrays over their memory.
template <auto FUNCTION>
PyObject* reading(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  bool has_numpys = (count > 0 && is_numpy(args[0])) || (count > 1 && is_numpy(args[1]));
  if (!has_numpys && std::none_of(args, args + count, is_turned)) return FUNCTION(self, args, count);
  return head([&]() -> PyObject* {
    c10::SmallVector<THPObjectPtr, 8> owned;
    c10::SmallVector<PyObject*, 8> given;
    for (Py_ssize_t i = 0; i < count; i++) {
      owned.emplace_back(i < 2 && is_numpy(args[i]) ? lent_by_numpy(args[i]) : straight(args[i]));
      given.push_back(owned.back().get());
      if (given.back() == nullptr) return nullptr;
    }
    return FUNCTION(self, given.data(), count);
  });
}
template <auto FUNCTION>
PyObject* reading_one(PyObject* self, PyObject* x) {
  if (!is_turned(x) && !is_numpy(x)) return FUNCTION(self, x);
  return head([&]() -> PyObject* {
    THPObjectPtr copy(is_numpy(x) ? lent_by_numpy(x) : straight(x));
    return copy == nullptr ? nullptr : FUNCTION(self, copy.get());
  });
}

// Give a function that makes a view of its first argument an array over the memory of NumPy's.
template <auto FUNCTION>
PyObject* viewing(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  if (count == 0 || !is_numpy(args[0])) return FUNCTION(self, args, count);
  return head([&]() -> PyObject* {
    THPObjectPtr array(over_numpy(args[0]));
    c10::SmallVector<PyObject*, 8> given(args, args + count);
    given[0] = array.get();
    return array == nullptr ? nullptr : FUNCTION(self, given.data(), count);
  });
}
template <auto FUNCTION>
PyObject* viewing_one(PyObject* self, PyObject* x) {
  if (!is_numpy(x)) return FUNCTION(self, x);
  return head([&]() -> PyObject* {
    THPObjectPtr array(over_numpy(x));
    return array == nullptr ? nullptr : FUNCTION(self, array.get());
  });
}

// Whether one loop can read a tensor's elements in C order; `stride` gets the step between them.
bool is_line(const at::Tensor& tensor, int64_t& stride) {
  stride = tensor.dim() == 1 ? tensor.strides()[0] : 1;
  return tensor.dim() == 1 || tensor.is_contiguous();
}

}  // namespace

bool read_shape(PyObject* given, c10::SmallVector<int64_t, 6>& shape, int64_t least) {
  auto add = [&](PyObject* length) {
    if (!PyLong_CheckExact(length)) return false;
    int overflow;
    int64_t value = PyLong_AsLongLongAndOverflow(length, &overflow);
    if (overflow || value < least) return false;
    shape.push_back(value);
    return true;
  };
  if (!PyTuple_CheckExact(given)) return add(given);
  Py_ssize_t count = PyTuple_GET_SIZE(given);
  if (count > 32) return false;
  for (Py_ssize_t i = 0; i < count; i++)
    if (!add(PyTuple_GET_ITEM(given, i))) return false;
  return true;
}

namespace {

// Whether the options from `first` to `last` are None.
bool are_none(PyObject* const* args, Py_ssize_t first, Py_ssize_t last) {
  return std::all_of(args + first, args + last, [](PyObject* option) { return option == Py_None; });
}

// Creation.

PyObject* devices = nullptr;  // the namespace of backend_torch.tensors.devices

}  // namespace

bool makes_on_cpu() {
  static PyObject *moved = PyUnicode_InternFromString("moved"), *state = PyUnicode_InternFromString("state");
  static PyObject* name = PyUnicode_InternFromString("default");
  if (PyDict_GetItem(devices, moved) == Py_False) return true;  // no thread has set another device
  PyObject* device = PyObject_GetAttr(PyDict_GetItem(devices, state), name);
  bool is_cpu = device == Py_None || (THPDevice_Check(device) && reinterpret_cast<THPDevice*>(device)->device.is_cpu());
  Py_XDECREF(device);
  PyErr_Clear();
  return is_cpu;
}

namespace {

PyObject* dtype_numbers = nullptr;  // dtype, scalar class or Python type -> dtype number
PyObject* no_value = nullptr;       // numpy._NoValue

PyObject* set_names(PyObject*, PyObject* args) {
  if (!PyArg_ParseTuple(args, "O!O!O", &PyDict_Type, &dtype_numbers, &PyDict_Type, &devices, &no_value)) return nullptr;
  for (PyObject* each : {dtype_numbers, devices, no_value}) Py_INCREF(each);
  Py_RETURN_NONE;
}

}  // namespace

int8_t read_dtype(PyObject* given, int8_t otherwise) {
  if (given == Py_None) return otherwise;
  PyObject* number = PyDict_GetItemWithError(dtype_numbers, given);
  if (number == nullptr) {
    clear_refusal();
    return NONE;
  }
  return static_cast<int8_t>(PyLong_AsLong(number));
}

namespace {

bool is_small(c10::IntArrayRef shape) {
  int64_t n = 1;
  for (int64_t length : shape) {
    n *= length;
    if (n > LARGE) return false;
  }
  return true;
}

// Whether torch can count the elements of a shape; it raises the error for more.
bool has_bytes(c10::IntArrayRef shape) {
  int64_t n = 1;
  for (int64_t length : shape)
    if (__builtin_mul_overflow(n, length, &n) || n > int64_t{1} << 40) return false;
  return true;
}

// Set all elements of new memory to one.
void fill(const at::Tensor& made, const char* one) {
  int8_t dtype = dtype_of(made);
  auto loop = copy_loop(dtype, dtype);
  char* data = writeable_data_of(made);
  int64_t n = made.numel(), least = std::max(LARGE, (int64_t{1} << 20) / itemsize(dtype));  // a thread starts in that time
  if (n <= least) return loop(data, one, n, 1, 0);
  in_threads(n, [&](int64_t from, int64_t count) { loop(data + from * itemsize(dtype), one, count, 1, 0); }, least);
}

enum Filled { ZEROS, ONES, NOTHING };

// Whether an argument is a given string of one letter.
bool is_letter(PyObject* given, char letter) {
  return PyUnicode_CheckExact(given) && PyUnicode_GET_LENGTH(given) == 1 && PyUnicode_READ_CHAR(given, 0) == letter;
}

// zeros(shape, dtype, order, device, like), ones and empty: in C order on the CPU.
template <int FILL>
PyObject* filled(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    Shape shape;
    if (count != 5 || !is_letter(args[2], 'C') || !are_none(args, 3, 5)) return nullptr;
    if (!is_quiet() || !read_shape(args[0], shape, 0)) return nullptr;
    int8_t dtype = read_dtype(args[1], F64);
    if (dtype == NONE || dtype >= LOOPS || !makes_on_cpu() || (FILL == ZEROS && !is_small(shape))) return nullptr;
    if (FILL == ONES && !has_bytes(shape)) return nullptr;
    if (FILL == NOTHING && at::globalContext().deterministicAlgorithms()) return nullptr;  // torch fills it
    int64_t n = c10::multiply_integers(shape);
    at::Tensor made = empty(shape, dtype);
    char* data = writeable_data_of(made);
    if (FILL == ZEROS) {
      if (n > 0) std::memset(data, 0, n * itemsize(dtype));  // an empty array may have no memory
    } else if (FILL == ONES) {
      alignas(16) char one[16] = {1};
      copy_loop(B1, dtype)(one, "\1", 1, 1, 1);
      fill(made, one);
    }
    return wrap_array(std::move(made));
  });
}

// like(x, number or None, dtype): an array of the shape of x, which is in C order.
PyObject* like(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    const at::Tensor* tensor = count == 3 && is_quiet() ? array_tensor(args[0]) : nullptr;
    if (tensor == nullptr || !is_dense(*tensor)) return nullptr;
    int8_t dtype = read_dtype(args[2], dtype_of(*tensor));
    if (dtype == NONE || dtype >= LOOPS) return nullptr;
    alignas(16) char one[16];
    if (args[1] == Py_None) {
      if (at::globalContext().deterministicAlgorithms()) return nullptr;
    } else {
      int overflow = 0;  // NumPy converts a larger integer itself
      if (PyLong_Check(args[1])) PyLong_AsLongLongAndOverflow(args[1], &overflow);
      if (!store_number(args[1], dtype, one, !overflow)) return nullptr;
    }
    at::Tensor made = empty(tensor->sizes(), dtype);
    if (args[1] != Py_None) fill(made, one);
    return wrap_array(std::move(made));
  });
}

// Store a number or a scalar in a given dtype, by default its own; return the dtype, or NONE if this takes NumPy's rules.
int8_t store_element(PyObject* x, PyObject* wanted, char* to) {
  int8_t own = PyFloat_CheckExact(x) ? F64 : PyLong_CheckExact(x) ? I64 : PyBool_Check(x) ? B1 : PyComplex_CheckExact(x) ? C128 : NONE;
  const char* value = own == NONE ? scalar_value(x, own) : nullptr;
  int8_t dtype = own == NONE ? NONE : read_dtype(wanted, own);
  if (dtype == NONE || dtype >= LOOPS) return NONE;
  bool stored = value == nullptr ? store_number(x, dtype, to, false) : fits(value, own, dtype) && cast_element(to, dtype, value, own);
  return stored ? dtype : NONE;
}

// full(shape, number, dtype, order, device, like): in C order on the CPU.
PyObject* full(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    Shape shape;
    if (count != 6 || !is_letter(args[3], 'C') || !are_none(args, 4, 6)) return nullptr;
    if (!is_quiet() || !read_shape(args[0], shape, 0)) return nullptr;
    if (!makes_on_cpu() || !has_bytes(shape)) return nullptr;
    alignas(16) char one[16];
    int8_t dtype = store_element(args[1], args[2], one);
    if (dtype == NONE) return nullptr;
    at::Tensor made = empty(shape, dtype);
    fill(made, one);
    return wrap_array(std::move(made));
  });
}

template <class T>
void count_up(char* to, int64_t length, double first, double second) {
  auto* out = reinterpret_cast<T*>(to);
  T start = static_cast<T>(first), next = static_cast<T>(second), delta = next - start;
  for (int64_t i = 2; i < length; i++) out[i] = start + static_cast<T>(i) * delta;
  if (length > 0) out[0] = start;  // NumPy sets the first two elements exactly
  if (length > 1) out[1] = next;
}

// arange(start or stop, stop, step, dtype, start, device, like) of Python integers or floats.
PyObject* arange(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    if (count != 7 || !are_none(args, 4, 7) || !is_quiet()) return nullptr;
    constexpr double EXACT = 4503599627370496.0;  // quotients of integers up to this are rounded as NumPy rounds them
    double ends[3] = {0, 0, 1};
    bool is_float = false;
    for (int i = 0; i < 3; i++) {
      PyObject* number = args[i];
      if (number == Py_None && i == 1) {
        ends[1] = std::exchange(ends[0], 0);
        continue;
      }
      if (PyFloat_CheckExact(number)) {
        is_float = true;
        ends[i] = PyFloat_AS_DOUBLE(number);
      } else if (PyLong_CheckExact(number)) {
        int overflow;
        ends[i] = static_cast<double>(PyLong_AsLongLongAndOverflow(number, &overflow));
        if (overflow) return nullptr;
      } else {
        return nullptr;
      }
      if (!(std::fabs(ends[i]) < EXACT)) return nullptr;
    }
    int8_t dtype = read_dtype(args[3], is_float ? F64 : I64);
    if (dtype != F64 && dtype != F32 && (dtype != I64 || is_float)) return nullptr;
    double steps = (ends[1] - ends[0]) / ends[2];
    if (!(std::fabs(steps) <= LARGE) || (steps == 0 && ends[0] != ends[1]) || !makes_on_cpu()) return nullptr;
    int64_t length = steps > 0 ? static_cast<int64_t>(std::ceil(steps)) : 0;
    at::Tensor made = empty({length}, dtype);
    char* to = writeable_data_of(made);
    if (dtype == F64)
      count_up<double>(to, length, ends[0], ends[0] + ends[2]);
    else if (dtype == F32)
      count_up<float>(to, length, ends[0], ends[0] + ends[2]);
    else
      count_up<int64_t>(to, length, ends[0], ends[0] + ends[2]);
    return wrap_array(std::move(made));
  });
}

// linspace(first, last, count, endpoint) of Python numbers: float64.
PyObject* linspace(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    if (count != 4 || !is_quiet() || !PyLong_CheckExact(args[2]) || !PyBool_Check(args[3])) return nullptr;
    alignas(8) double ends[2];
    for (int i = 0; i < 2; i++) {
      if (!PyFloat_CheckExact(args[i]) && !PyLong_CheckExact(args[i])) return nullptr;
      if (!store_number(args[i], F64, reinterpret_cast<char*>(&ends[i]), false)) return nullptr;
      bool fits = -9.2e18 < ends[i] && ends[i] < 1.8e19;
      if (!fits && PyLong_CheckExact(args[i])) return nullptr;  // NumPy makes an object of such an integer
    }
    int overflow;
    int64_t length = PyLong_AsLongLongAndOverflow(args[2], &overflow);
    bool has_end = args[3] == Py_True;
    int64_t divisions = has_end ? length - 1 : length;
    if (overflow || divisions <= 0 || !has_bytes({length}) || !makes_on_cpu()) return nullptr;
    double delta = ends[1] - ends[0], step = delta / static_cast<double>(divisions);
    if (!(std::fabs(step) > 0)) return nullptr;
    at::Tensor made = empty({length}, F64);
    auto* out = reinterpret_cast<double*>(writeable_data_of(made));
    in_parts(length, [&](int64_t from, int64_t count) {
      for (int64_t i = from; i < from + count; i++) out[i] = static_cast<double>(i) * step + ends[0];
    });
    if (has_end) out[length - 1] = ends[1];
    return wrap_array(std::move(made));
  });
}

// eye(n) of float64.
PyObject* eye(PyObject*, PyObject* given) {
  return head([&]() -> PyObject* {
    Shape shape;
    if (!PyLong_CheckExact(given) || !is_quiet() || !read_shape(given, shape, 0)) return nullptr;
    int64_t n = shape[0];
    shape.push_back(n);
    if (!is_small(shape) || !makes_on_cpu()) return nullptr;
    at::Tensor made = empty(shape, F64);
    auto* out = reinterpret_cast<double*>(writeable_data_of(made));
    if (n > 0) std::memset(out, 0, made.nbytes());
    for (int64_t i = 0; i < n; i++) out[i * (n + 1)] = 1;
    return wrap_array(std::move(made));
  });
}

// The shape of a nested list of numbers, and the kinds of numbers in it.
struct Listed {
  Shape shape;
  bool has_complex = false, has_float = false, has_int = false, has_bool = false, has_scalar = false;
  bool has_number = false, is_mixed = false;  // whether Python's numbers, or scalars of several dtypes, are in it
  int8_t scalars = NONE;

  // The dtype that NumPy gives such a list; NONE if that takes more than its kinds to say.
  int8_t dtype() const {
    if (has_scalar && !is_mixed && !has_number) return scalars;
    if (has_scalar && (has_bool || is_mixed || (scalars != F64 && scalars != I64))) return NONE;
    return has_complex ? C128 : has_float ? F64 : has_int ? I64 : B1;
  }
};

PyObject** items_of(PyObject* list) { return PySequence_Fast_ITEMS(list); }

bool survey(PyObject* list, size_t depth, Listed& found) {
  Py_ssize_t n = PySequence_Fast_GET_SIZE(list);
  if (n == 0) return false;
  if (found.shape.size() == depth)
    found.shape.push_back(n);
  else if (found.shape[depth] != n)
    return false;
  PyObject** items = items_of(list);
  bool is_inner = is_list(items[0]);
  if (is_inner ? depth > 3 : found.shape.size() != depth + 1) return false;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* item = items[i];
    if (is_inner) {
      if (!is_list(item) || !survey(item, depth + 1, found)) return false;
    } else if (PyFloat_CheckExact(item)) {
      found.has_float = true;
    } else if (PyLong_CheckExact(item)) {
      int overflow;
      PyLong_AsLongLongAndOverflow(item, &overflow);
      if (overflow) return false;  // needs uint64 or an object array
      found.has_int = true;
    } else if (PyBool_Check(item)) {
      found.has_bool = true;
    } else if (PyComplex_CheckExact(item)) {
      found.has_complex = true;
    } else if (int8_t dtype; scalar_value(item, dtype) != nullptr && dtype < LOOPS) {
      found.is_mixed |= found.has_scalar && found.scalars != dtype;
      found.has_scalar = true;
      found.scalars = dtype;
      (dtype == F64 ? found.has_float : found.has_int) = true;
      continue;
    } else {
      return false;
    }
    found.has_number |= !is_inner;
  }
  return true;
}

bool store_list(PyObject* list, size_t depth, const Listed& found, int8_t dtype, char*& to) {
  PyObject** items = items_of(list);
  for (int64_t i = 0; i < found.shape[depth]; i++) {
    if (depth + 1 < found.shape.size()) {
      if (!store_list(items[i], depth + 1, found, dtype, to)) return false;
      continue;
    }
    int8_t own;
    if (const char* value = is_number(items[i]) ? nullptr : scalar_value(items[i], own))
      copy_loop(own, dtype)(to, value, 1, 1, 1);
    else if (!store_number(items[i], dtype, to, false))
      return false;
    to += itemsize(dtype);
  }
  return true;
}

// Copy rows of a strided array in C order, cast to a dtype.
void gather_rows(CopyLoop loop, char* to, int64_t width_to, const char* from, int64_t width, c10::IntArrayRef sizes,
                 const int64_t* strides) {
  int64_t dim = static_cast<int64_t>(sizes.size());
  if (dim <= 1) return loop(to, from, dim == 0 ? 1 : sizes[0], 1, dim == 0 ? 1 : *strides);
  int64_t step = c10::multiply_integers(sizes.slice(1));
  // Elements that are neighbours along the first axis: a few columns at a time, so that each cache line is read once. A
  // small array stays in the cache.
  constexpr int64_t COLUMNS = 16;
  if (dim == 2 && strides[0] < strides[1] && sizes[0] >= COLUMNS && sizes[0] * step > LARGE / 2) {
    for (int64_t j = 0; j < sizes[1]; j += COLUMNS)
      for (int64_t i = 0; i < sizes[0]; i++)
        loop(to + (i * step + j) * width_to, from + (i * strides[0] + j * strides[1]) * width,
             std::min(COLUMNS, sizes[1] - j), 1, strides[1]);
    return;
  }
  for (int64_t i = 0; i < sizes[0]; i++)
    gather_rows(loop, to + i * step * width_to, width_to, from + i * strides[0] * width, width, sizes.slice(1), strides + 1);
}

}  // namespace

void gather(char* to, int8_t into, const char* from, int8_t dtype, c10::IntArrayRef sizes, const int64_t* strides) {
  auto loop = copy_loop(dtype, into);
  int64_t n = c10::multiply_integers(sizes), width_to = itemsize(into), width = itemsize(dtype);
  if (n <= LARGE) return gather_rows(loop, to, width_to, from, width, sizes, strides);
  int64_t row = n / sizes[0];
  in_threads(n, [&](int64_t begin, int64_t count) {  // the rows that begin in this part
    int64_t first = (begin + row - 1) / row, end = (begin + count + row - 1) / row;
    Shape mine(sizes);
    mine[0] = end - first;
    if (end > first)
      gather_rows(loop, to + first * row * width_to, width_to, from + first * strides[0] * width, width, mine, strides);
  });
}

c10::SmallVector<int64_t, 6> memory_axes(const at::Tensor& tensor) {
  c10::SmallVector<int64_t, 6> axes;
  for (int64_t axis = tensor.dim() - 1; axis >= 0; axis--) {  // the fastest first, as NumPy's iterator sorts them
    size_t place = axes.size();
    int64_t stride = tensor.sizes()[axis] == 1 ? 0 : tensor.strides()[axis];
    for (size_t i = axes.size(); i-- > 0;) {
      int64_t other = tensor.sizes()[axes[i]] == 1 ? 0 : tensor.strides()[axes[i]];
      if (stride == 0 || other == 0) continue;  // it says nothing
      if (other <= stride) break;
      place = i;
    }
    axes.insert(axes.begin() + place, axis);
  }
  std::ranges::reverse(axes);
  return axes;
}

bool keeps_c_order(c10::IntArrayRef sizes, c10::IntArrayRef strides) {
  int64_t outer = std::numeric_limits<int64_t>::max();
  for (size_t axis = 0; axis < sizes.size(); axis++) {
    if (sizes[axis] == 1) continue;
    if (strides[axis] == 0 || strides[axis] > outer) return false;
    outer = strides[axis];
  }
  return true;
}

namespace {

// Copy an array's elements to memory in C order, cast to a dtype.
void copy_elements(const at::Tensor& made, const at::Tensor& tensor, int8_t from, int8_t to) {
  char* out = writeable_data_of(made);
  const char* in = data_of(tensor);
  if (!is_dense(tensor)) return gather(out, to, in, from, tensor.sizes(), tensor.strides().data());
  auto loop = copy_loop(from, to);
  in_parts(made.numel(), [&](int64_t first, int64_t count) {
    loop(out + first * itemsize(to), in + first * itemsize(from), count, 1, 1);
  });
}

// Copy an array into new memory in C order, cast to a dtype.
PyObject* copied(const at::Tensor& tensor, int8_t from, int8_t to) {
  if (copy_loop(from, to) == nullptr) return nullptr;
  at::Tensor made = empty(tensor.sizes(), to);
  copy_elements(made, tensor, from, to);
  return wrap_array(std::move(made));
}

// Cast floats to integers; false if one has no value there: NumPy's result and warning then depend on the processor.
template <class From, class To>
bool truncate(char* to, const char* from, int64_t n) {
  const auto* in = reinterpret_cast<const From*>(from);
  constexpr auto LEAST = static_cast<From>(std::numeric_limits<To>::min());
  constexpr auto END = static_cast<From>(uint64_t{1} << (std::numeric_limits<To>::digits - 1)) * 2;
  bool fits = true;
  for (int64_t i = 0; i < n; i++) fits &= in[i] >= LEAST && in[i] < END;
  if (fits)
    for (int64_t i = 0; i < n; i++) reinterpret_cast<To*>(to)[i] = static_cast<To>(in[i]);
  return fits;
}

// Cast floats to an integer dtype; false if an element has no value there.
bool truncate(char* to, int8_t dtype, const char* from, int8_t given, int64_t n) {
  if (given == F16) {
    std::vector<float> wide(n);
    copy_loop(F16, F32)(reinterpret_cast<char*>(wide.data()), from, n, 1, 1);
    return truncate(to, dtype, reinterpret_cast<const char*>(wide.data()), F32, n);
  }
  return visit(dtype, [&](auto zero) {
    using To = decltype(zero);
    if constexpr (std::is_integral_v<To> && !std::is_same_v<To, bool> && (std::is_signed_v<To> || sizeof(To) == 1))
      return given == F64 ? truncate<double, To>(to, from, n) : truncate<float, To>(to, from, n);
    else
      return false;
  });
}

bool is_truncation(int8_t from, int8_t to) { return bit(from) & (FLOATS | bit(F16)) && !(bit(to) & (FLOATS | bit(F16) | COMPLEX | bit(B1))); }

// Copy an array to a dtype or its own; the copy is in C order, and would be if the order were kept.
PyObject* cast(PyObject* x, PyObject* wanted) {
  const at::Tensor* tensor = any_tensor(x);
  if (tensor == nullptr || tensor->numel() == 0 || !keeps_c_order(tensor->sizes(), tensor->strides())) return nullptr;
  int8_t from = dtype_of(*tensor), to = read_dtype(wanted, from);
  if (from == NONE || from >= LOOPS || to == NONE || to >= LOOPS) return nullptr;
  if (is_truncation(from, to)) {
    at::Tensor made = truncated(*tensor, from, to);
    return made.defined() ? wrap_array(std::move(made)) : nullptr;
  }
  return copied(*tensor, from, to);
}

// astype(x, dtype)
PyObject* astype(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* { return count == 2 && is_quiet() && is_array(args[0]) && args[1] != Py_None ? cast(args[0], args[1]) : nullptr; });
}

// Stack a list of arrays of one shape and dtype.
PyObject* stacked(PyObject* list, PyObject* wanted) {
  const at::Tensor* first = any_tensor(items_of(list)[0]);
  Py_ssize_t count = PySequence_Fast_GET_SIZE(list);
  if (first == nullptr || first->numel() == 0 || first->numel() * count > LARGE || first->dim() > 32) return nullptr;
  int8_t from = dtype_of(*first), to = read_dtype(wanted, from);
  if (from == NONE || from >= LOOPS || to == NONE || to >= LOOPS) return nullptr;
  if (copy_loop(from, to) == nullptr) return nullptr;
  for (Py_ssize_t i = 1; i < count; i++) {
    const at::Tensor* each = any_tensor(items_of(list)[i]);
    if (each == nullptr || each->dtype() != first->dtype() || each->sizes() != first->sizes()) return nullptr;
  }
  Shape sizes{count};
  sizes.append(first->sizes().begin(), first->sizes().end());
  at::Tensor made = empty(sizes, to);
  char* out = writeable_data_of(made);
  int64_t bytes = first->numel() * itemsize(to);
  for (Py_ssize_t i = 0; i < count; i++) {
    const at::Tensor& each = *any_tensor(items_of(list)[i]);
    gather(out + i * bytes, to, data_of(each), from, each.sizes(), each.strides().data());
  }
  return wrap_array(std::move(made));
}

bool is_zero(PyObject* given) {
  int overflow;
  return PyLong_CheckExact(given) && PyLong_AsLongAndOverflow(given, &overflow) == 0 && !overflow;
}

// array(object, dtype), or with copy, order, subok, ndmin, ndmax, like, device: of a number, nested lists of numbers, a list
// of arrays, an array in C order, or a NumPy array in C order.
PyObject* array(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    if ((count != 2 && count != 9) || !is_quiet()) return nullptr;
    if (count == 9 && !(args[2] == Py_True && is_letter(args[3], 'K') && is_zero(args[5]) && is_zero(args[6]))) return nullptr;
    if (count == 9 && !(PyBool_Check(args[4]) && are_none(args, 7, 9))) return nullptr;
    THPObjectPtr owned(count == 9 ? straight(args[0]) : Py_NewRef(args[0]));  // without `copy` a view may be the result
    PyObject* object = owned.get();
    if (object == nullptr) return nullptr;
    bool is_copied = is_array(object) || (count == 9 && args[4] == Py_False && is_derived(object));
    if (is_copied) return makes_on_cpu() ? cast(object, args[1]) : nullptr;
    if (at::Tensor given; is_numpy(object)) {
      if (!makes_on_cpu() || !borrow(object, given) || !is_dense(given)) return nullptr;
      int8_t own = dtype_of(given);
      return read_dtype(args[1], own) == own ? copied(given, own, own) : nullptr;
    }
    if (!is_list(object)) {
      alignas(16) char one[16];
      int8_t dtype = makes_on_cpu() ? store_element(object, args[1], one) : NONE;
      if (dtype == NONE) return nullptr;
      at::Tensor made = empty({}, dtype);
      std::memcpy(writeable_data_of(made), one, itemsize(dtype));
      return wrap_array(std::move(made));
    }
    if (PySequence_Fast_GET_SIZE(object) > 0 && any_tensor(items_of(object)[0]) != nullptr)
      return makes_on_cpu() ? stacked(object, args[1]) : nullptr;
    int8_t dtype = read_dtype(args[1], NONE);
    if (!makes_on_cpu() || (dtype == NONE && args[1] != Py_None)) return nullptr;
    at::Tensor made = of_list(object, dtype);
    return made.defined() ? wrap_array(std::move(made)) : nullptr;
  });
}

// flatten(x): a copy in C order, of one axis.
PyObject* flatten(PyObject*, PyObject* x) {
  return head([&]() -> PyObject* {
    const at::Tensor* tensor = is_quiet() ? array_tensor(x) : nullptr;
    if (tensor == nullptr || tensor->numel() == 0) return nullptr;
    int8_t dtype = dtype_of(*tensor);
    if (dtype == NONE || dtype >= LOOPS) return nullptr;
    at::Tensor made = empty({tensor->numel()}, dtype);
    copy_elements(made, *tensor, dtype, dtype);
    return wrap_array(std::move(made));
  });
}

// copy(x) in C order.
PyObject* copy(PyObject*, PyObject* x) {
  return head([&]() -> PyObject* {
    const at::Tensor* tensor = is_quiet() ? array_tensor(x) : nullptr;
    if (tensor == nullptr || dtype_of(*tensor) == NONE || tensor->numel() == 0) return nullptr;
    int8_t dtype = dtype_of(*tensor);
    if (dtype < LOOPS) return copied(*tensor, dtype, dtype);
    if (!is_dense(*tensor)) return nullptr;
    at::Tensor made = empty(tensor->sizes(), dtype);
    std::memcpy(writeable_data_of(made), data_of(*tensor), tensor->nbytes());
    return wrap_array(std::move(made));
  });
}

bool read_axis(PyObject* given, int64_t dim, int64_t& axis) {
  if (!PyLong_CheckExact(given)) return false;
  int overflow;
  axis = PyLong_AsLongLongAndOverflow(given, &overflow);
  if (overflow || axis < -dim || axis >= dim) return false;
  axis = axis < 0 ? axis + dim : axis;
  return true;
}

template <class T>
int64_t count_true(const T* x, int64_t n, int64_t stride) {
  int64_t count = 0;
  if (stride == 1)
    for (int64_t i = 0; i < n; i++) count += x[i] != T(0);
  else
    for (int64_t i = 0; i < n; i++) count += x[i * stride] != T(0);
  return count;
}

template <>
int64_t count_true(const uint8_t* x, int64_t n, int64_t stride) {
  int64_t count = 0;
  for (int64_t i = 0; i < n && stride != 1; i++) count += x[i * stride] != 0;
  for (int64_t i = 0; i < n && stride == 1; i += 128) {
    uint8_t part = 0;  // the compiler vectorises sums of bytes
    for (int64_t k = i; k < std::min(i + 128, n); k++) part += x[k] != 0;
    count += part;
  }
  return count;
}

// item(x, index...): the element as a Python number; item(x): that of a scalar or a 0-d array.
PyObject* item(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    if (count == 1 && is_scalar(args[0]) && held(args[0])->has_value && is_quiet())
      return held(args[0])->dtype < LOOPS ? load_number(held(args[0])->value, held(args[0])->dtype) : nullptr;
    const at::Tensor* tensor = is_quiet() && is_ours(args[0]) ? plain_tensor(args[0]) : nullptr;
    if (tensor == nullptr || dtype_of(*tensor) == NONE || dtype_of(*tensor) >= LOOPS) return nullptr;
    int64_t offset = 0, index;
    if (count == 2 && tensor->dim() != 1) {
      if (!read_axis(args[1], tensor->numel(), index)) return nullptr;
      for (int64_t axis = tensor->dim() - 1; axis >= 0; axis--) {
        offset += index % tensor->sizes()[axis] * tensor->strides()[axis];
        index /= tensor->sizes()[axis];
      }
    } else {
      if (count != tensor->dim() + 1) return nullptr;
      for (Py_ssize_t axis = 0; axis + 1 < count; axis++) {
        if (!read_axis(args[axis + 1], tensor->sizes()[axis], index)) return nullptr;
        offset += index * tensor->strides()[axis];
      }
    }
    return load_number(data_of(*tensor) + offset * static_cast<int64_t>(tensor->itemsize()), dtype_of(*tensor));
  });
}

// count_nonzero(x)
PyObject* count_nonzero(PyObject*, PyObject* x) {
  return head([&]() -> PyObject* {
    const at::Tensor* tensor = is_quiet() ? array_tensor(x) : nullptr;
    if (tensor == nullptr || dtype_of(*tensor) == NONE || dtype_of(*tensor) >= LOOPS) return nullptr;
    int64_t stride, n = tensor->numel(), count;
    if (n == 0 || !is_line(*tensor, stride)) return nullptr;
    const char* data = data_of(*tensor);
    count = visit(dtype_of(*tensor), [&](auto zero) -> int64_t {
      using T = std::conditional_t<sizeof(zero) == 1, uint8_t, decltype(zero)>;
      return count_true(reinterpret_cast<const T*>(data), n, stride);
    });
    return wrap_scalar(reinterpret_cast<const char*>(&count), I64);
  });
}

PyObject* listed(const char* data, int8_t dtype, c10::IntArrayRef sizes, c10::IntArrayRef strides) {
  if (sizes.empty()) return load_number(data, dtype);
  PyObject* list = PyList_New(sizes[0]);
  for (int64_t i = 0; list != nullptr && i < sizes[0]; i++) {
    PyObject* each = listed(data + i * strides[0] * itemsize(dtype), dtype, sizes.slice(1), strides.slice(1));
    if (each == nullptr) Py_CLEAR(list);
    if (list != nullptr) PyList_SET_ITEM(list, i, each);
  }
  return list;
}

// tolist(x): the elements as nested lists of Python's numbers.
PyObject* tolist(PyObject*, PyObject* x) {
  return head([&]() -> PyObject* {
    const at::Tensor* tensor = is_quiet() ? array_tensor(x) : nullptr;
    int8_t dtype = tensor == nullptr ? NONE : dtype_of(*tensor);
    return dtype == NONE || dtype >= LOOPS ? nullptr : listed(data_of(*tensor), dtype, tensor->sizes(), tensor->strides());
  });
}

// Views.

// reshape(x, shape) of an array whose strides allow a view.
PyObject* reshape(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    const at::Tensor* tensor = count == 2 && is_quiet() ? array_tensor(args[0]) : nullptr;
    Shape shape;
    if (tensor == nullptr || !read_shape(args[1], shape, -1)) return nullptr;
    int64_t n = tensor->numel(), known = 1, unknown = -1;
    if (n == 0) return nullptr;
    for (size_t i = 0; i < shape.size(); i++) {
      if (shape[i] != -1) {
        if (shape[i] == 0 || __builtin_mul_overflow(known, shape[i], &known)) return nullptr;
      } else if (unknown >= 0) {
        return nullptr;
      } else {
        unknown = static_cast<int64_t>(i);
      }
    }
    if (unknown >= 0) {
      if (n % known != 0) return nullptr;
      shape[unknown] = n / known;
    } else if (known != n) {
      return nullptr;
    }
    at::DimVector wanted(shape.begin(), shape.end());
    auto strides = at::detail::computeStride(tensor->sizes(), tensor->strides(), wanted);
    return strides ? wrap_view(args[0], *tensor, shape, *strides, tensor->storage_offset()) : nullptr;
  });
}

}  // namespace

at::Tensor of_list(PyObject* list, int8_t wanted) {
  Listed found;
  int8_t own = is_list(list) && survey(list, 0, found) ? found.dtype() : NONE;
  int8_t dtype = own == NONE || wanted == NONE ? own : wanted;
  if (dtype == NONE || dtype >= LOOPS) return {};
  if (dtype != own && (dtype == B1 || (found.has_scalar && (own != F64 || dtype != F32)))) return {};
  at::Tensor made = empty(found.shape, dtype);
  char* to = writeable_data_of(made);
  return store_list(list, 0, found, dtype, to) ? made : at::Tensor();
}

at::Tensor truncated(const at::Tensor& tensor, int8_t from, int8_t to) {
  if (!is_truncation(from, to) || !is_dense(tensor) || tensor.numel() > LARGE) return {};
  at::Tensor made = empty(tensor.sizes(), to);
  return truncate(writeable_data_of(made), to, data_of(tensor), from, made.numel()) ? made : at::Tensor();
}

bool fits(const char* from, int8_t given, int8_t dtype) {
  return visit(given, [&](auto zero) {
    return visit(dtype, [&](auto other) {
      using From = decltype(zero);
      using To = decltype(other);
      if constexpr (std::is_integral_v<From> && std::is_integral_v<To> && !std::is_same_v<To, bool>) {
        From value = *reinterpret_cast<const From*>(from);
        To cast = static_cast<To>(value);
        return static_cast<From>(cast) == value && (cast < 0) == (value < 0);
      }
      return true;
    });
  });
}

bool cast_element(char* to, int8_t dtype, const char* from, int8_t given) {
  if (given == NONE || given >= LOOPS) return false;
  if (is_truncation(given, dtype)) return truncate(to, dtype, from, given, 1);
  auto loop = copy_loop(given, dtype);
  if (loop != nullptr) loop(to, from, 1, 1, 1);
  return loop != nullptr;
}

PyObject* transposed(PyObject* x) {
  const at::Tensor* tensor = is_quiet() ? writeable_tensor(x) : nullptr;
  if (tensor == nullptr) return nullptr;
  Elements from(x, *tensor);
  Shape sizes(from.sizes.rbegin(), from.sizes.rend()), strides(from.strides.rbegin(), from.strides.rend());
  return wrap_elements(x, *tensor, sizes, strides, from.offset);
}

namespace {

// transpose(x, axes): permute the axes; reverse them for None.
PyObject* transpose(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    if (count != 2) return nullptr;
    PyObject *x = args[0], *axes = args[1];
    if (axes == Py_None) return transposed(x);
    const at::Tensor* tensor = is_quiet() && (PyTuple_CheckExact(axes) || PyList_CheckExact(axes)) ? writeable_tensor(x) : nullptr;
    if (tensor == nullptr || PySequence_Fast_GET_SIZE(axes) != tensor->dim() || tensor->dim() > 32) return nullptr;
    Elements from(x, *tensor);
    Shape sizes, strides;
    uint64_t taken = 0;
    for (Py_ssize_t i = 0; i < tensor->dim(); i++) {
      int64_t axis;
      if (!read_axis(PySequence_Fast_GET_ITEM(axes, i), tensor->dim(), axis) || taken >> axis & 1) return nullptr;
      taken |= uint64_t{1} << axis;
      sizes.push_back(from.sizes[axis]);
      strides.push_back(from.strides[axis]);
    }
    return wrap_elements(x, *tensor, sizes, strides, from.offset);
  });
}

// broadcast_to(x, shape): a read-only view, with the strides of torch's.
PyObject* broadcast_to(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    const at::Tensor* tensor = count == 2 && is_quiet() ? array_tensor(args[0]) : nullptr;
    Shape sizes;
    if (tensor == nullptr || tensor->dim() == 0 || !read_shape(args[1], sizes, 0)) return nullptr;
    int64_t added = static_cast<int64_t>(sizes.size()) - tensor->dim();
    int64_t bytes = static_cast<int64_t>(tensor->itemsize());
    if (added < 0) return nullptr;
    Shape strides(sizes.size());
    for (int64_t axis = static_cast<int64_t>(sizes.size()) - 1; axis >= 0; axis--) {
      int64_t size = axis < added ? 1 : tensor->sizes()[axis - added];
      strides[axis] = axis < added ? sizes[axis + 1] * strides[axis + 1] : tensor->strides()[axis - added];
      if (size != sizes[axis]) {
        if (size != 1) return nullptr;
        strides[axis] = 0;
      }
      if (sizes[axis] == 0 || __builtin_mul_overflow(bytes, sizes[axis], &bytes)) return nullptr;
    }
    PyObject* made = wrap_view(args[0], *tensor, sizes, strides, tensor->storage_offset(), classes.readonly);
    if (made != nullptr) held(made)->source = Py_NewRef(args[0]);
    return made;
  });
}

// overlap(x, y, is_exact): whether the memory that two arrays span overlaps, or whether they share an element.
PyObject* overlap(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    if (count != 3 || !is_quiet() || is_scalar(args[0]) || is_scalar(args[1])) return nullptr;
    const at::Tensor *one = viewed_tensor(args[0]), *other = viewed_tensor(args[1]);
    if (one == nullptr || other == nullptr) return nullptr;
    auto end = [](const at::Tensor& tensor) {
      int64_t last = 0;
      for (int64_t axis = 0; axis < tensor.dim(); axis++) last += (tensor.sizes()[axis] - 1) * tensor.strides()[axis];
      return data_of(tensor) + (last + 1) * static_cast<int64_t>(tensor.itemsize());
    };
    bool meet = one->numel() != 0 && other->numel() != 0 && data_of(*one) < end(*other) && data_of(*other) < end(*one);
    if (meet && args[2] == Py_True && !(is_dense(*one) && is_dense(*other))) return nullptr;
    return Py_NewRef(meet ? Py_True : Py_False);
  });
}

// squeeze(x): remove the axes of length one.
PyObject* squeeze(PyObject*, PyObject* x) {
  return head([&]() -> PyObject* {
    const at::Tensor* tensor = is_quiet() ? array_tensor(x) : nullptr;
    if (tensor == nullptr) return nullptr;
    Shape sizes, strides;
    for (int64_t axis = 0; axis < tensor->dim(); axis++) {
      if (tensor->sizes()[axis] == 1) continue;
      sizes.push_back(tensor->sizes()[axis]);
      strides.push_back(tensor->strides()[axis]);
    }
    if (static_cast<int64_t>(sizes.size()) == tensor->dim()) return Py_NewRef(x);
    return wrap_view(x, *tensor, sizes, strides, tensor->storage_offset());
  });
}

// swapaxes(x, axis, other)
PyObject* swapaxes(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    const at::Tensor* tensor = count == 3 && is_quiet() ? writeable_tensor(args[0]) : nullptr;
    int64_t one, other;
    if (tensor == nullptr || !read_axis(args[1], tensor->dim(), one) || !read_axis(args[2], tensor->dim(), other))
      return nullptr;
    Elements from(args[0], *tensor);
    Shape sizes(from.sizes), strides(from.strides);
    std::swap(sizes[one], sizes[other]);
    std::swap(strides[one], strides[other]);
    return wrap_elements(args[0], *tensor, sizes, strides, from.offset);
  });
}

// flip(x, axis): reverse the elements along all axes, one, or those of a tuple.
PyObject* flip(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    const at::Tensor* tensor = count == 2 && is_quiet() ? writeable_tensor(args[0]) : nullptr;
    if (tensor == nullptr || tensor->numel() == 0 || tensor->dim() == 0 || tensor->dim() > 32) return nullptr;
    Elements from(args[0], *tensor);
    Shape strides(from.strides);
    int64_t offset = from.offset, dim = tensor->dim(), axis;
    uint64_t turned = 0;
    auto turn = [&](int64_t one) {
      offset += (from.sizes[one] - 1) * strides[one];
      strides[one] = -strides[one];
      turned |= uint64_t{1} << one;
    };
    if (args[1] == Py_None) {
      for (axis = 0; axis < dim; axis++) turn(axis);
    } else {
      bool is_tuple = PyTuple_CheckExact(args[1]);
      for (Py_ssize_t i = 0; i < (is_tuple ? PyTuple_GET_SIZE(args[1]) : 1); i++) {
        if (!read_axis(is_tuple ? PyTuple_GET_ITEM(args[1], i) : args[1], dim, axis) || turned >> axis & 1) return nullptr;
        turn(axis);
      }
    }
    return wrap_elements(args[0], *tensor, from.sizes, strides, offset);
  });
}

// at_least(x, axes): add axes until there are that many, in NumPy's places.
PyObject* at_least(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    const at::Tensor* tensor = count == 2 && is_quiet() ? array_tensor(args[0]) : nullptr;
    if (tensor == nullptr || tensor->dim() == 0) return nullptr;
    int64_t axes = PyLong_AsLong(args[1]), dim = tensor->dim();
    if (dim >= axes) return Py_NewRef(args[0]);
    Shape sizes(tensor->sizes()), strides(tensor->strides());
    if (dim == 1) {
      sizes.insert(sizes.begin(), 1);
      strides.insert(strides.begin(), sizes[1] * strides[0]);
    }
    if (axes == 3) {
      sizes.push_back(1);
      strides.push_back(1);
    }
    return wrap_view(args[0], *tensor, sizes, strides, tensor->storage_offset());
  });
}

// diagonal(x, offset, axis, other): a view of the elements along two axes.
PyObject* diagonal(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    const at::Tensor* tensor = count == 4 && is_quiet() && PyLong_CheckExact(args[1]) ? array_tensor(args[0]) : nullptr;
    int64_t one, other;
    if (tensor == nullptr || !read_axis(args[2], tensor->dim(), one) || !read_axis(args[3], tensor->dim(), other)) return nullptr;
    int overflow;
    int64_t offset = PyLong_AsLongLongAndOverflow(args[1], &overflow), down = std::max<int64_t>(-offset, 0);
    if (overflow || one == other) return nullptr;
    int64_t right = std::max<int64_t>(offset, 0), rows = tensor->sizes()[one] - down, columns = tensor->sizes()[other] - right;
    if (rows <= 0 || columns <= 0) return nullptr;
    Shape sizes, strides;
    for (int64_t axis = 0; axis < tensor->dim(); axis++) {
      if (axis == one || axis == other) continue;
      sizes.push_back(tensor->sizes()[axis]);
      strides.push_back(tensor->strides()[axis]);
    }
    sizes.push_back(std::min(rows, columns));
    strides.push_back(tensor->strides()[one] + tensor->strides()[other]);
    int64_t first = down * tensor->strides()[one] + right * tensor->strides()[other];
    return wrap_view(args[0], *tensor, sizes, strides, tensor->storage_offset() + first);
  });
}

// in_order(x, is_fortran): x itself if it is in that order, else a copy.
PyObject* in_order(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    const at::Tensor* tensor = count == 2 && is_quiet() ? array_tensor(args[0]) : nullptr;
    if (tensor == nullptr || tensor->dim() == 0 || !makes_on_cpu()) return nullptr;
    bool is_fortran = args[1] == Py_True && tensor->dim() > 1;
    if (!is_fortran && tensor->is_contiguous()) return Py_NewRef(args[0]);  // an axis of length one has any stride
    int8_t dtype = dtype_of(*tensor);
    int64_t lengthy = 0;  // axes longer than one; with fewer than two an array may be in both orders
    for (int64_t length : tensor->sizes()) lengthy += length != 1;
    if (lengthy < 2 && (tensor->dim() > 1 || lengthy == 0 || args[1] == Py_True)) return nullptr;
    if (dtype == NONE || dtype >= LOOPS || tensor->numel() == 0) return nullptr;
    Shape sizes(tensor->sizes()), strides(tensor->strides());
    if (is_fortran) {
      std::reverse(sizes.begin(), sizes.end());
      std::reverse(strides.begin(), strides.end());
      bool is_there = true;
      int64_t expected = 1;
      for (size_t axis = sizes.size(); axis-- > 0; expected *= sizes[axis]) is_there &= strides[axis] == expected;
      if (is_there) return Py_NewRef(args[0]);
    }
    at::Tensor made = empty(sizes, dtype);
    gather(writeable_data_of(made), dtype, data_of(*tensor), dtype, sizes, strides.data());
    if (is_fortran) {
      Shape order(made.strides().rbegin(), made.strides().rend());
      made.unsafeGetTensorImpl()->set_sizes_and_strides(tensor->sizes(), order);
    }
    return wrap_array(std::move(made));
  });
}

// ravel(x) in C order: a view if one stride can describe the elements.
PyObject* ravel(PyObject*, PyObject* x) {
  return head([&]() -> PyObject* {
    const at::Tensor* tensor = is_quiet() ? array_tensor(x) : nullptr;
    if (tensor == nullptr || tensor->numel() == 0 || tensor->dim() == 0) return nullptr;
    int64_t n = tensor->numel();
    int8_t dtype = dtype_of(*tensor);
    if (is_dense(*tensor)) return wrap_view(x, *tensor, {n}, {1}, tensor->storage_offset());
    if (dtype == NONE || dtype >= LOOPS) return nullptr;
    at::DimVector flat{n};
    if (at::detail::computeStride(tensor->sizes(), tensor->strides(), flat)) return nullptr;
    at::Tensor made = empty({n}, dtype);
    gather(writeable_data_of(made), dtype, data_of(*tensor), dtype, tensor->sizes(), tensor->strides().data());
    return wrap_array(std::move(made));
  });
}

// part(x, is_imaginary): the real or imaginary part of a complex array, as a view, or of a scalar.
PyObject* part(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    if (count != 2 || !is_quiet()) return nullptr;
    bool is_imaginary = args[1] == Py_True;
    if (is_scalar(args[0]) && held(args[0])->has_value) {
      if (!(bit(held(args[0])->dtype) & COMPLEX)) return is_imaginary ? nullptr : Py_NewRef(args[0]);
      int8_t dtype = held(args[0])->dtype == C64 ? F32 : F64;
      return wrap_scalar(held(args[0])->value + (is_imaginary ? itemsize(dtype) : 0), dtype);
    }
    const at::Tensor* tensor = array_tensor(args[0]);
    if (tensor != nullptr && !tensor->is_complex() && !is_imaginary) return Py_NewRef(args[0]);
    if (tensor == nullptr || !tensor->is_complex()) return nullptr;
    return wrap_parts(args[0], *tensor, is_imaginary);
  });
}

// nonzero(x): the indices of the true elements of a boolean vector, in a tuple.
PyObject* nonzero(PyObject*, PyObject* x) {
  return head([&]() -> PyObject* {
    const at::Tensor* tensor = is_quiet() ? array_tensor(x) : nullptr;
    if (tensor == nullptr || tensor->dim() != 1 || dtype_of(*tensor) != B1 || tensor->numel() >= LARGE) return nullptr;
    const auto* chosen = reinterpret_cast<const uint8_t*>(data_of(*tensor));
    int64_t n = tensor->numel(), stride = tensor->strides()[0], found = count_true(chosen, n, stride);
    at::Tensor places = empty({found}, I64);
    auto* to = reinterpret_cast<int64_t*>(writeable_data_of(places));
    for (int64_t i = 0, at = 0; at < found; i++) {
      to[at] = i;
      at += chosen[i * stride] != 0;
    }
    PyObject* array = wrap_array(std::move(places));
    PyObject* tuple = array == nullptr ? nullptr : PyTuple_Pack(1, array);
    Py_XDECREF(array);
    return tuple;
  });
}

template <class T>
bool is_nan(T value) {
  return value != value;
}

// Sort the places of equal values in an order that sorts lines of values, `stride` apart. NaNs are equal.
template <class T>
void settle(int64_t* order, const T* x, int64_t n, int64_t stride) {
  T value = x[order[0] * stride];
  bool has_run = false;  // most lines have none: this loop has no branches
  for (int64_t i = 1; i < n; i++) {
    T other = x[order[i * stride] * stride];
    has_run |= other == value || is_nan(other);
    value = other;
  }
  if (!has_run) return;
  std::vector<int64_t> run;
  value = x[order[0] * stride];
  for (int64_t first = 0, next = 1; next <= n; next++) {
    T other = next < n ? x[order[next * stride] * stride] : T();
    if (next < n && (other == value || (is_nan(other) && is_nan(value)))) continue;
    if (next - first > 1) {
      run.clear();
      for (int64_t i = first; i < next; i++) run.push_back(order[i * stride]);
      std::ranges::sort(run);
      for (int64_t i = first; i < next; i++) order[i * stride] = run[i - first];
    }
    first = next;
    value = other;
  }
}

// settle(order, x, axis): make stable what sorts an array along an axis, both NumPy's and in C order; True if it is.
PyObject* settle_order(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    at::Tensor order, x;
    int64_t axis;
    if (count != 3 || !borrow(args[0], order) || !borrow(args[1], x) || !read_axis(args[2], x.dim(), axis)) return nullptr;
    if (dtype_of(order) != I64 || order.sizes() != x.sizes() || !is_dense(order) || !is_dense(x)) return nullptr;
    int64_t n = x.sizes()[axis], stride = x.strides()[axis];
    auto* places = reinterpret_cast<int64_t*>(writeable_data_of(order));
    return visit(dtype_of(x), [&](auto zero) -> PyObject* {
      using T = decltype(zero);
      const auto* values = reinterpret_cast<const T*>(data_of(x));
      return without_gil(x.numel(), [&] {
        for (int64_t line = 0; line < x.numel() / n; line++) {
          int64_t first = line / stride * n * stride + line % stride;
          settle(places + first, values + first, n, stride);
        }
        return true;
      }) ? Py_NewRef(Py_True) : nullptr;
    });
  });
}

// bincount(x, weights or None, least length) of a vector of integers, with float64 weights.
PyObject* bincount(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    const at::Tensor* tensor = count == 3 && PyLong_CheckExact(args[2]) && is_quiet() ? array_tensor(args[0]) : nullptr;
    if (tensor == nullptr || tensor->dim() != 1 || tensor->numel() > LARGE * 32) return nullptr;
    at::Tensor wide = *tensor;
    int8_t given = dtype_of(*tensor);
    if (given == NONE || !(bit(given) & (COUNTED | bit(U16) | bit(U32)))) return nullptr;
    if (given != I64 || !is_dense(wide)) {
      wide = empty(tensor->sizes(), I64);
      copy_loop(given, I64)(writeable_data_of(wide), data_of(*tensor), wide.numel(), 1, tensor->strides()[0]);
    }
    const at::Tensor* weights = args[1] == Py_None ? nullptr : array_tensor(args[1]);
    int64_t n = tensor->numel(), most = -1, least;
    if (args[1] != Py_None) {
      if (weights == nullptr || weights->dim() != 1 || weights->numel() != n || !is_dense(*weights)) return nullptr;
      if (dtype_of(*weights) != F64) return nullptr;
    }
    int overflow;
    least = PyLong_AsLongLongAndOverflow(args[2], &overflow);
    const auto* x = reinterpret_cast<const int64_t*>(data_of(wide));
    for (int64_t i = 0; i < n; i++) {
      if (x[i] < 0) return nullptr;
      most = std::max(most, x[i]);
    }
    if (overflow || least < 0 || n == 0 || most >= LARGE || least > LARGE) return nullptr;  // the last int64 has no next
    int64_t length = std::max(most + 1, least);
    at::Tensor made = empty({length}, weights == nullptr ? I64 : F64);
    std::memset(writeable_data_of(made), 0, made.nbytes());
    auto* counts = reinterpret_cast<int64_t*>(writeable_data_of(made));
    auto* sums = reinterpret_cast<double*>(counts);
    const auto* each = weights == nullptr ? nullptr : reinterpret_cast<const double*>(data_of(*weights));
    for (int64_t i = 0; i < n; i++) {
      if (each == nullptr)
        counts[x[i]]++;
      else
        sums[x[i]] += each[i];
    }
    return wrap_array(std::move(made));
  });
}

// Reductions.

enum Reduced { SUM, PROD, MAX, MIN, ANY, ALL, ARGMAX, ARGMIN, MEAN };

constexpr int64_t BLOCK = 128, FEWEST = 32;  // elements of a block, and with which a search by blocks is worth it

// The place of the first NaN, or of the first largest or smallest element. Blocks are compared in vectors, then one block
// is searched.
template <bool LARGEST, class T>
int64_t extreme_place(const T* x, int64_t n) {
  using Bits = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  constexpr int64_t LANES = 64 / sizeof(T);
  auto is_better = [](T one, T other) { return LARGEST ? one > other : one < other; };
  T best = x[0];
  int64_t place = 0;
  for (int64_t begin = 0; begin < n; begin += BLOCK) {
    const T* block = x + begin;
    int64_t size = std::min(BLOCK, n - begin), i = 0;
    T lanes[LANES];
    Bits nans[LANES] = {};
    std::fill_n(lanes, LANES, best);
    for (; i + LANES <= size; i += LANES) {
      for (int64_t lane = 0; lane < LANES; lane++) {
        T item = block[i + lane];
        lanes[lane] = is_better(item, lanes[lane]) ? item : lanes[lane];
        nans[lane] |= is_nan(item) ? -1 : 0;
      }
    }
    for (; i < size; i++) {
      lanes[0] = is_better(block[i], lanes[0]) ? block[i] : lanes[0];
      nans[0] |= is_nan(block[i]) ? -1 : 0;
    }
    if (std::any_of(nans, nans + LANES, [](Bits found) { return found != 0; }))
      return std::find_if(block, block + size, [](T item) { return is_nan(item); }) - x;
    for (T item : lanes) {
      if (!is_better(item, best)) continue;
      best = item;
      place = begin;
    }
  }
  return std::find(x + place, x + n, best) - x;
}

// The dtype of a reduction; NONE if torch computes it.
template <int KIND, class T>
int8_t reduced_dtype(int8_t dtype) {
  if (KIND == ANY || KIND == ALL) return B1;
  if (KIND == ARGMAX || KIND == ARGMIN) return std::is_class_v<T> ? NONE : I64;
  if (KIND == MAX || KIND == MIN) return std::is_same_v<T, c10::Half> ? NONE : dtype;
  if (!std::is_integral_v<T>) return NONE;
  return std::is_unsigned_v<T> && !std::is_same_v<T, bool> ? U64 : I64;
}

// Reduce elements to one, which has the dtype that `reduced_dtype` says.
template <int KIND, class T>
void reduce_elements(char* to, const T* x, int64_t n, int64_t stride, int8_t dtype) {
  auto result = [&](auto number) { std::memcpy(to, &number, sizeof number); };
  if constexpr (KIND == ANY || KIND == ALL) {
    constexpr bool DECIDES = KIND == ANY;
    constexpr int64_t PART = 128;  // elements between two looks at the count, which is as wide as they are: for vectors
    using Count = std::conditional_t<(sizeof(T) >= 8), uint64_t,
                                     std::conditional_t<sizeof(T) == 4, uint32_t, std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;
    using Item = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
    auto decides = [](const T* from, int64_t size, auto step) {
      const auto* part = reinterpret_cast<const Item*>(from);
      Count count = 0;
      for (int64_t k = 0; k < size; k++) count += (part[k * step] != Item(0)) == DECIDES;
      return count != 0;
    };
    bool found = false;
    for (int64_t i = 0; i < n && !found; i += PART) {
      int64_t size = std::min(PART, n - i);
      found = stride == 1 ? decides(x + i, size, std::integral_constant<int64_t, 1>()) : decides(x + i * stride, size, stride);
    }
    result(found == DECIDES);
  } else if constexpr (std::is_class_v<T>) {
    auto one = binary_loop(KIND == MAX ? "maximum" : "minimum", dtype).one;
    std::memcpy(to, x, sizeof *x);
    for (int64_t i = 1; i < n; i++) one(to, to, reinterpret_cast<const char*>(x + i * stride));
  } else if constexpr (KIND == SUM || KIND == PROD) {
    uint64_t total = KIND == PROD;
    for (int64_t i = 0; i < n; i++) {
      uint64_t item = static_cast<uint64_t>(static_cast<int64_t>(x[i * stride]));
      total = KIND == SUM ? total + item : total * item;
    }
    result(total);
  } else {
    constexpr bool LARGEST = KIND == MAX || KIND == ARGMAX, IS_PLACE = KIND == ARGMAX || KIND == ARGMIN;
    int64_t at = 0;
    T best = x[0];
    if constexpr (!IS_PLACE && std::is_integral_v<T>) {
      if (stride == 1 && (sizeof(T) < 4 || n <= BLOCK)) {
        for (int64_t i = 1; i < n; i++) best = LARGEST ? std::max(best, x[i]) : std::min(best, x[i]);
        return result(best);
      }
    }
    bool is_line = false;
    if constexpr (sizeof(T) >= 4) {
      is_line = stride == 1 && n >= FEWEST;
      if (is_line) best = x[at = extreme_place<LARGEST>(x, n)];
    }
    for (int64_t i = 1; !is_line && i < n && !is_nan(best); i++) {
      T item = x[i * stride];
      if ((LARGEST ? item > best : item < best) || is_nan(item)) {
        best = item;
        at = i;
      }
    }
    if (IS_PLACE)
      result(at);
    else
      result(best);
  }
}

// Reduce all elements, which one stride describes.
template <int KIND>
PyObject* reduce_line(const at::Tensor& tensor, int64_t stride, int8_t dtype) {
  return visit(dtype, [&](auto zero) -> PyObject* {
    using T = decltype(zero);
    alignas(16) char value[16];
    int8_t of = reduced_dtype<KIND, T>(dtype);
    if (of == NONE) return nullptr;
    reduce_elements<KIND>(value, reinterpret_cast<const T*>(data_of(tensor)), tensor.numel(), stride, dtype);
    return wrap_scalar(value, of);
  });
}

// Add many integers, which one stride describes, modulo 2**64.
PyObject* add_integers(const at::Tensor& tensor, int64_t stride, int8_t dtype) {
  return visit(dtype, [&](auto zero) -> PyObject* {
    using T = decltype(zero);
    int8_t of = reduced_dtype<SUM, T>(dtype);
    if (of == NONE) return nullptr;
    const auto* x = reinterpret_cast<const T*>(data_of(tensor));
    std::atomic<uint64_t> total = 0;
    in_threads(tensor.numel(), [&](int64_t from, int64_t count) {
      uint64_t part;
      reduce_elements<SUM>(reinterpret_cast<char*>(&part), x + from * stride, count, stride, dtype);
      total += part;
    });
    uint64_t value = total;
    return wrap_scalar(reinterpret_cast<const char*>(&value), of);
  });
}

// Reduce an array in C order along one axis.
template <int KIND>
PyObject* reduce_axis(const at::Tensor& tensor, int64_t axis, bool keeps, int8_t dtype) {
  return visit(dtype, [&](auto zero) -> PyObject* {
    using T = decltype(zero);
    int8_t of = reduced_dtype<KIND, T>(dtype);
    if (of == NONE) return nullptr;
    Shape shape(tensor.sizes());
    int64_t n = shape[axis], inner = c10::multiply_integers(tensor.sizes().slice(axis + 1));
    if (keeps)
      shape[axis] = 1;
    else
      shape.erase(shape.begin() + axis);
    at::Tensor made = empty(shape, of);
    char* to = writeable_data_of(made);
    const auto *x = reinterpret_cast<const T*>(data_of(tensor)), *end = x + tensor.numel();
    for (; x < end; x += n * inner)
      for (int64_t i = 0; i < inner; i++, to += itemsize(of)) reduce_elements<KIND>(to, x + i, n, inner, dtype);
    return wrap_array(std::move(made));
  });
}

// Reduce an axis whose elements are further apart in memory than rows of the others: one row after the other, as NumPy
// does. torch takes two to four times as long. Of many rows its sums are more accurate.
template <int KIND>
PyObject* reduce_rows(const at::Tensor& tensor, PyObject* given, bool keeps) {
  constexpr bool IS_TOTAL = KIND == SUM || KIND == MEAN;
  constexpr int64_t SHORT = 16, MANY = 4096, PART = 2048;  // of a row, rows, what stays in the nearest cache
  int64_t axis, dim = tensor.dim();
  int8_t dtype = dtype_of(tensor);
  if (given == Py_None || dim < 2 || !read_axis(given, dim, axis) || dtype == NONE || dtype >= LOOPS) return nullptr;
  if (!(bit(dtype) & (KIND == SUM ? FLOATS : FLOATS | COUNTED)) || (dim > 2 && !is_dense(tensor))) return nullptr;
  if (axis < 0) axis += dim;
  int8_t of = KIND == MEAN && bit(dtype) & COUNTED ? static_cast<int8_t>(F64) : dtype;
  auto loop = binary_loop(IS_TOTAL ? "add" : KIND == MAX ? "maximum" : "minimum", of).loop;
  Shape shape(tensor.sizes());
  int64_t n = shape[axis], step = tensor.strides()[axis];
  int64_t inner = dim == 2 ? shape[1 - axis] : c10::multiply_integers(tensor.sizes().slice(axis + 1));
  int64_t stride = dim == 2 ? tensor.strides()[1 - axis] : 1;
  if (stride <= 0 || step < inner * stride || inner < SHORT || (IS_TOTAL && n > MANY) || loop == nullptr) return nullptr;
  if (keeps) shape[axis] = 1;
  else shape.erase(shape.begin() + axis);
  at::Tensor made = empty(shape, of);
  int64_t width = itemsize(dtype), total = made.numel();
  char* out = writeable_data_of(made);
  const char* data = data_of(tensor);
  auto run = [&](int64_t from, int64_t count) {
    auto floats = std::make_unique<double[]>(of == dtype ? 0 : PART);  // a part of a row of integers
    auto* row = reinterpret_cast<char*>(floats.get());
    while (count > 0) {
      int64_t place = from % inner, size = std::min({count, inner - place, PART});
      char* to = out + from * itemsize(of);
      const char* x = data + (from / inner * n * step + place * stride) * width;
      if (IS_TOTAL) std::memset(to, 0, size * itemsize(of));
      else copy_loop(dtype, dtype)(to, x, size, 1, stride);
      for (int64_t i = !IS_TOTAL; i < n; i++) {
        if (of == dtype) {
          loop(to, to, x + i * step * width, size, 1, stride);
        } else {
          copy_loop(dtype, of)(row, x + i * step * width, size, 1, stride);
          loop(to, to, row, size, 1, 1);
        }
      }
      from += size;
      count -= size;
    }
  };
  if (tensor.numel() <= LARGE) run(0, total);
  else in_threads(total, run, std::max<int64_t>(LARGE / n, 1));
  if (KIND == MEAN) {
    alignas(16) char number[16];
    double rows = static_cast<double>(n);
    copy_loop(F64, of)(number, reinterpret_cast<const char*>(&rows), 1, 1, 1);
    binary_loop("divide", of).loop(out, out, number, total, 1, 0);
  }
  return wrap_array(std::move(made));
}

// Return a result of a reduction with the operand's order of axes in memory, which NumPy's iterator gives it.
at::Tensor in_memory_order(at::Tensor&& made, const at::Tensor& tensor, at::OptionalIntArrayRef axes, bool keeps) {
  if (made.dim() < 2 || tensor.dim() < 3 || !axes.has_value() || is_dense(tensor)) return std::move(made);
  Shape places, sizes, strides, laid(made.dim());  // the axes of the result, the slowest first
  for (int64_t axis : memory_axes(tensor)) {
    auto is_removed = [&](int64_t each) { return (each < 0 ? each + tensor.dim() : each) == axis; };
    auto is_before = [&](int64_t each) { return (each < 0 ? each + tensor.dim() : each) < axis; };
    if (!keeps && std::ranges::any_of(*axes, is_removed)) continue;
    places.push_back(keeps ? axis : axis - std::ranges::count_if(*axes, is_before));
    sizes.push_back(made.sizes()[places.back()]);
    strides.push_back(made.strides()[places.back()]);
  }
  int8_t dtype = dtype_of(made);
  at::Tensor result = empty(sizes, dtype);
  gather(writeable_data_of(result), dtype, data_of(made), dtype, sizes, strides.data());
  for (size_t i = 0; i < places.size(); i++) laid[places[i]] = result.strides()[i];
  result.unsafeGetTensorImpl()->set_sizes_and_strides(made.sizes(), laid);
  return result;
}

// Make a scalar of the number that a kernel writes. The memory is reused: new memory would take a tenth of the time.
template <class Write>
PyObject* wrap_total(int8_t dtype, Write&& write) {
  static auto* totals = new std::array<at::Tensor, DTYPES>();
  at::Tensor& total = (*totals)[dtype];
  if (!total.defined()) total = empty({}, dtype);
  write(total);
  return wrap_scalar(data_of(total), dtype);
}

template <int KIND>
PyObject* by_kernel(const at::Tensor& tensor, at::OptionalIntArrayRef axes, bool keeps, int8_t dtype) {
  bool is_total = !keeps && (!axes.has_value() || tensor.dim() == 1);
  if (is_total && KIND == SUM && bit(dtype) & (FLOATS | COMPLEX))
    return wrap_total(dtype, [&](at::Tensor& total) { at::cpu::sum_out(total, tensor, axes); });
  if (is_total && KIND == MEAN && bit(dtype) & (FLOATS | COMPLEX | COUNTED)) {
    int8_t of = bit(dtype) & COUNTED ? F64 : dtype;
    return wrap_total(of, [&](at::Tensor& total) { at::cpu::mean_out(total, tensor, axes, false, SCALAR_TYPES[of]); });
  }
  auto wrap_laid = [&](at::Tensor&& made) { return wrap(in_memory_order(std::move(made), tensor, axes, keeps)); };
  switch (KIND) {
    case SUM: return bit(dtype) & (FLOATS | COMPLEX) ? wrap_laid(at::cpu::sum(tensor, axes, keeps)) : nullptr;
    case MEAN:
      if (bit(dtype) & (FLOATS | COMPLEX)) return wrap_laid(at::cpu::mean(tensor, axes, keeps));
      return bit(dtype) & COUNTED ? wrap_laid(at::cpu::mean(tensor, axes, keeps, at::kDouble)) : nullptr;
    case MAX:
    case MIN:
      if (!(bit(dtype) & (FLOATS | COUNTED)) || !axes.has_value()) return nullptr;
      return wrap_laid(KIND == MAX ? at::cpu::amax(tensor, *axes, keeps) : at::cpu::amin(tensor, *axes, keeps));
    default: return nullptr;
  }
}

// Sums in NumPy's order of additions, for the same last bits: pairwise along lines, one row after the other otherwise.

template <class T>
T pairwise(const T* x, int64_t n, int64_t stride) {
  if (n < 8) {
    T total = -T(0);
    for (int64_t i = 0; i < n; i++) total += x[i * stride];
    return total;
  }
  if (n > 128) {
    int64_t half = n / 2 / 8 * 8;
    return pairwise(x, half, stride) + pairwise(x + half * stride, n - half, stride);
  }
  T part[8];
  for (int k = 0; k < 8; k++) part[k] = x[k * stride];
  int64_t i = 8;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; k++) part[k] += x[(i + k) * stride];
  T total = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
  for (; i < n; i++) total += x[i * stride];
  return total;
}

// The axis that is reduced: `n` elements `stride` apart, between axes of `outer` and `inner` elements in all.
struct Fold {
  int64_t outer = 1, n = 1, inner = 1, stride = 1;
  Shape sizes;  // of the result
};

// Describe the reduction of an axis, or of all; false for a tensor whose order in memory is not C's.
bool read_line(const at::Tensor& tensor, bool is_all, int64_t axis, bool keeps, Fold& line) {
  int64_t dim = tensor.dim();
  if (axis < 0) axis += dim;
  if (!is_line(tensor, line.stride)) return false;
  for (int64_t i = 0; i < dim; i++) {
    int64_t size = tensor.sizes()[i];
    bool is_reduced = is_all || i == axis;
    (is_reduced ? line.n : i < axis ? line.outer : line.inner) *= size;
    if (!is_reduced || keeps) line.sizes.push_back(is_reduced ? 1 : size);
  }
  return true;
}

template <bool IS_SUM, class T>
void fold(const T* x, const Fold& line, T* out) {
  for (int64_t o = 0; o < line.outer; o++, x += line.n * line.inner, out += line.inner) {
    if (line.inner == 1) {
      T product = 1;  // in a register: the loop below writes each product to memory
      for (int64_t i = 0; i < line.n && !IS_SUM; i++) product *= x[i * line.stride];
      *out = IS_SUM ? T(0) + pairwise(x, line.n, line.stride) : product;
      continue;
    }
    std::fill_n(out, line.inner, T(!IS_SUM));
    for (int64_t i = 0; i < line.n; i++)
      for (int64_t j = 0; j < line.inner; j++) {
        T item = x[(i * line.inner + j) * line.stride];
        out[j] = IS_SUM ? out[j] + item : out[j] * item;
      }
  }
}

// Call `write(out)` on the memory of a result, an array or a scalar.
template <class T, class Write>
PyObject* wrap_folded(const Fold& line, Write&& write) {
  constexpr int8_t DTYPE = sizeof(T) == 8 ? F64 : F32;
  if (line.sizes.empty()) {
    T value;
    write(&value);
    return wrap_scalar(reinterpret_cast<const char*>(&value), DTYPE);
  }
  at::Tensor made = empty(line.sizes, DTYPE);
  write(reinterpret_cast<T*>(writeable_data_of(made)));
  return wrap_array(std::move(made));
}

template <int KIND, class T>
PyObject* fold_floats(const at::Tensor& tensor, const Fold& line) {
  return wrap_folded<T>(line, [&](T* out) {
    fold<KIND != PROD>(reinterpret_cast<const T*>(data_of(tensor)), line, out);
    if (KIND == MEAN)
      for (int64_t i = 0; i < line.outer * line.inner; i++) out[i] /= T(line.n);
  });
}

// The variance or its root, of elements of class S computed in T.
template <bool IS_ROOT, class T, class S>
PyObject* spread_floats(const S* x, int64_t count, Fold& line, double ddof) {
  auto deviations = std::make_unique<T[]>(count + line.outer * line.inner);
  T* means = deviations.get() + count;
  for (int64_t i = 0; i < count; i++) deviations[i] = static_cast<T>(x[i * line.stride]);
  line.stride = 1;
  fold<true>(deviations.get(), line, means);
  T* each = deviations.get();
  for (int64_t o = 0; o < line.outer; o++)
    for (int64_t i = 0; i < line.n; i++)
      for (int64_t j = 0; j < line.inner; j++, each++) {
        T deviation = *each - means[o * line.inner + j] / T(line.n);
        *each = deviation * deviation;
      }
  return wrap_folded<T>(line, [&](T* out) {
    fold<true>(deviations.get(), line, out);
    for (int64_t i = 0; i < line.outer * line.inner; i++) {
      out[i] = static_cast<T>(out[i] / (static_cast<double>(line.n) - ddof));
      if (IS_ROOT) out[i] = std::sqrt(out[i]);
    }
  });
}

// Return the tensor of an array with axes and few elements, read-only ones too: in C order, if need be a copy.
const at::Tensor* few_in_order(PyObject* x, at::Tensor& copy) {
  const at::Tensor* tensor = is_array(x) || is_readonly(x) ? plain_tensor(x) : nullptr;
  if (tensor == nullptr || tensor->numel() == 0 || tensor->numel() >= LARGE || tensor->dim() == 0) return nullptr;
  int8_t dtype = dtype_of(*tensor);
  if (tensor->dim() == 1 || is_dense(*tensor) || dtype == NONE || dtype >= LOOPS) return tensor;
  copy = empty(tensor->sizes(), dtype);
  copy_elements(copy, *tensor, dtype, dtype);
  return &copy;
}

// var(x, axis, ddof, keepdims) and std, of integers too.
template <bool IS_ROOT>
PyObject* spread(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    at::Tensor copy;
    const at::Tensor* tensor = count == 4 && PyBool_Check(args[3]) && is_quiet() ? few_in_order(args[0], copy) : nullptr;
    if (tensor == nullptr) return nullptr;
    int64_t axis = 0;
    if (args[1] != Py_None && !read_axis(args[1], tensor->dim(), axis)) return nullptr;
    if (!PyLong_CheckExact(args[2]) && !PyFloat_CheckExact(args[2])) return nullptr;
    double ddof = PyFloat_AsDouble(args[2]);
    if (ddof == -1 && PyErr_Occurred()) PyErr_Clear();  // an integer beyond every double, which the range refuses
    Fold line;
    if (!read_line(*tensor, args[1] == Py_None, axis, args[3] == Py_True, line)) return nullptr;
    if (!(ddof >= 0 && ddof < static_cast<double>(line.n))) return nullptr;
    int64_t n = tensor->numel();
    const char* data = data_of(*tensor);
    PyObject* made = visit(dtype_of(*tensor), [&](auto zero) -> PyObject* {
      using S = decltype(zero);
      if constexpr (std::is_class_v<S>)
        return nullptr;  // float16 and complex numbers
      else
        return spread_floats<IS_ROOT, std::conditional_t<std::is_same_v<S, float>, float, double>>(
            reinterpret_cast<const S*>(data), n, line, ddof);
    });
    if (made == nullptr || tensor != &copy || line.sizes.size() < 2) return made;
    THPObjectPtr owned(made);
    const at::Tensor &before = *plain_tensor(args[0]);
    return wrap(in_memory_order(at::Tensor(*plain_tensor(made)), before, at::IntArrayRef(axis), args[3] == Py_True));
  });
}

// Reduce several axes: as one, if they are neighbours and no rounding depends on the order, or else by torch's kernel.
template <int KIND>
PyObject* reduce_axes(const at::Tensor& tensor, PyObject* given, bool keeps) {
  int8_t dtype = dtype_of(tensor);
  int64_t dim = tensor.dim(), axis;
  c10::SmallVector<int64_t, 6> axes;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given); i++) {
    if (!read_axis(PyTuple_GET_ITEM(given, i), dim, axis)) return nullptr;
    axes.push_back(axis);
  }
  std::ranges::sort(axes);
  bool is_place = KIND == ARGMAX || KIND == ARGMIN, is_twice = std::ranges::adjacent_find(axes) != axes.end();
  if (axes.empty() || is_place || is_twice || (!keeps && axes.size() == static_cast<size_t>(dim))) return nullptr;
  bool is_exact = KIND == ANY || KIND == ALL || ((KIND == SUM || KIND == PROD) && !(bit(dtype) & (FLOATS | COMPLEX)));
  bool are_neighbours = axes.back() - axes.front() + 1 == static_cast<int64_t>(axes.size());
  if (keeps || !is_exact || !is_dense(tensor)) return by_kernel<KIND>(tensor, at::IntArrayRef(axes), keeps, dtype);
  if (!are_neighbours) {  // one after the other
    THPObjectPtr made(reduce_axis<KIND>(tensor, axes.back(), false, dtype));
    for (axes.pop_back(); made != nullptr && !axes.empty(); axes.pop_back()) {
      const at::Tensor part = *plain_tensor(made.get());
      made = reduce_axis<KIND>(part, axes.back(), false, dtype_of(part));
    }
    return made.release();
  }
  c10::IntArrayRef sizes = tensor.sizes();
  Shape shape(sizes.slice(0, axes.front())), strides;
  shape.push_back(c10::multiply_integers(sizes.slice(axes.front(), axes.size())));
  shape.append(sizes.begin() + axes.back() + 1, sizes.end());
  strides.resize(shape.size(), 1);
  for (int64_t i = static_cast<int64_t>(shape.size()) - 2; i >= 0; i--) strides[i] = strides[i + 1] * shape[i + 1];
  return reduce_axis<KIND>(view(tensor, shape, strides, tensor.storage_offset(), tensor.dtype()), axes.front(), false, dtype);
}

// sum(x, axis, dtype, out, keepdims, initial, where) and prod; mean without initial; max and min without dtype; any and
// all without both; argmax and argmin without where too.
template <int KIND>
PyObject* reduce(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    constexpr bool IS_TOTAL = KIND == SUM || KIND == PROD, IS_PLACE = KIND == ARGMAX || KIND == ARGMIN;
    constexpr bool IS_EXTREME = KIND == MAX || KIND == MIN;
    constexpr Py_ssize_t KEEPDIMS = IS_TOTAL || KIND == MEAN ? 4 : 3;
    constexpr Py_ssize_t WHERE = KEEPDIMS + (IS_TOTAL || IS_EXTREME ? 2 : 1), COUNT = IS_PLACE ? WHERE : WHERE + 1;
    if (count != COUNT || !are_none(args, 2, KEEPDIMS) || !PyBool_Check(args[KEEPDIMS])) return nullptr;
    if ((WHERE == KEEPDIMS + 2 && args[KEEPDIMS + 1] != no_value) || (!IS_PLACE && args[WHERE] != Py_True)) return nullptr;
    const at::Tensor* tensor = is_quiet() ? array_tensor(args[0]) : nullptr;
    if (tensor == nullptr && (KIND == SUM || KIND == MEAN) && is_quiet())
      return recorded_reduction(KIND == SUM ? Recorded::SUM : Recorded::MEAN, args[0], args[1], args[KEEPDIMS] == Py_True);
    if (tensor != nullptr && tensor->numel() >= LARGE && (KIND == SUM || KIND == MEAN || IS_EXTREME)) {
      int64_t step;
      int8_t given = dtype_of(*tensor);
      bool is_total = KIND == SUM && args[1] == Py_None && args[KEEPDIMS] == Py_False && is_line(*tensor, step);
      if (is_total && given != NONE && bit(given) & COUNTED & ~bit(B1)) return add_integers(*tensor, step, given);
      return reduce_rows<KIND>(*tensor, args[1], args[KEEPDIMS] == Py_True);
    }
    if (tensor == nullptr || tensor->numel() == 0 || tensor->numel() >= LARGE || tensor->dim() == 0) return nullptr;
    int8_t dtype = dtype_of(*tensor);
    if (dtype == NONE || dtype >= LOOPS) return nullptr;
    if (PyTuple_CheckExact(args[1])) return reduce_axes<KIND>(*tensor, args[1], args[KEEPDIMS] == Py_True);
    int64_t axis = 0, dim = tensor->dim(), stride;
    bool is_all = args[1] == Py_None, keeps = args[KEEPDIMS] == Py_True;
    if (!is_all) {
      if (!PyLong_CheckExact(args[1])) return nullptr;
      int overflow;
      axis = PyLong_AsLongLongAndOverflow(args[1], &overflow);
      if (overflow || axis < -dim || axis >= dim) return nullptr;
    }
    at::Tensor dense;  // vectors read neighbours only
    if (IS_EXTREME && dtype != B1 && !tensor->is_non_overlapping_and_dense() &&
        (is_all ? !keeps : keeps_c_order(tensor->sizes(), tensor->strides()))) {
      dense = empty(tensor->sizes(), dtype);
      gather(writeable_data_of(dense), dtype, data_of(*tensor), dtype, tensor->sizes(), tensor->strides().data());
      tensor = &dense;
    }
    bool is_float = bit(dtype) & FLOATS, has_one_stride = is_line(*tensor, stride);
    if (IS_EXTREME && !has_one_stride && !tensor->is_non_overlapping_and_dense()) return nullptr;  // torch has no vectors
    constexpr int64_t FEW = 512, FEW_FLOATS = 2048;  // for more torch's vectorised kernel is worth the call
    bool is_for_kernel = IS_EXTREME && is_float && tensor->numel() > FEW_FLOATS;
    if ((IS_PLACE || (IS_EXTREME && dtype == B1)) && tensor->numel() > FEW) return nullptr;  // NumPy's loop is faster
    bool is_inexact = bit(dtype) & (FLOATS | COMPLEX);
    bool is_exact = KIND != MEAN && !(IS_TOTAL && is_inexact);
    if (!is_for_kernel && !keeps && (is_all || dim == 1) && is_exact && has_one_stride)
      return reduce_line<KIND>(*tensor, stride, dtype);
    bool has_kernel = IS_EXTREME && is_float;  // torch takes four times as long for the smallest int64
    if (IS_EXTREME && !has_kernel && !is_all)
      if (PyObject* result = reduce_rows<KIND>(*tensor, args[1], keeps)) return result;
    if (!is_all && dim > 1 && is_exact && !has_kernel && is_dense(*tensor))
      return reduce_axis<KIND>(*tensor, axis < 0 ? axis + dim : axis, keeps, dtype);
    Fold line;
    if ((IS_TOTAL || KIND == MEAN) && (dtype == F64 || dtype == F32) && read_line(*tensor, is_all, axis, keeps, line))
      return dtype == F64 ? fold_floats<KIND, double>(*tensor, line) : fold_floats<KIND, float>(*tensor, line);
    at::OptionalIntArrayRef all;
    if (IS_EXTREME) all = at::IntArrayRef();  // amax and amin take no axes for all axes
    if (is_all) return by_kernel<KIND>(*tensor, all, keeps, dtype);
    return by_kernel<KIND>(*tensor, at::IntArrayRef(axis), keeps, dtype);
  });
}

// Accumulate along an axis as torch does, floats in double precision, integers modulo 2**64: rows side by side, in vectors.
template <bool IS_SUM, class T>
at::Tensor scan_elements(const T* x, const Fold& line) {
  constexpr bool IS_FLOAT = std::is_floating_point_v<T>;
  using Total = std::conditional_t<IS_FLOAT, double, uint64_t>;
  using Out = std::conditional_t<IS_FLOAT, T, uint64_t>;
  constexpr bool IS_UNSIGNED = std::is_unsigned_v<T> && !std::is_same_v<T, bool>;
  constexpr int64_t PART = 512;  // of a row: its totals stay in the nearest cache
  int64_t n = line.n, inner = line.inner, columns = line.outer * inner;
  at::Tensor made = empty({columns * n}, !IS_FLOAT ? (IS_UNSIGNED ? U64 : I64) : sizeof(T) == 8 ? F64 : F32);
  auto* out = reinterpret_cast<Out*>(writeable_data_of(made));
  auto add = [](Total& total, T item) { total = IS_SUM ? total + static_cast<Total>(item) : total * static_cast<Total>(item); };
  auto run = [&](int64_t from, int64_t count) {
    Total totals[PART];
    while (count > 0) {
      int64_t place = from % inner, size = std::min({count, inner - place, PART});
      int64_t first = from / inner * n * inner + place;
      Total total = !IS_SUM;  // in a register
      for (int64_t i = 0; i < n && size == 1; i++) {
        add(total, x[(first + i * inner) * line.stride]);
        out[first + i * inner] = static_cast<Out>(total);
      }
      std::fill_n(totals, size, Total(!IS_SUM));
      for (int64_t i = 0; i < n && size > 1; i++) {
        const T* row = x + first + i * inner;
        Out* to = out + first + i * inner;
        for (int64_t k = 0; k < size; k++) {
          add(totals[k], row[k]);
          to[k] = static_cast<Out>(totals[k]);
        }
      }
      from += size;
      count -= size;
    }
  };
  if (made.numel() <= LARGE) run(0, columns);
  else in_threads(columns, run, std::max<int64_t>(LARGE / n, 1));
  return made;
}

// cumsum(x, axis, dtype, out) and cumprod: of a line, or of neighbours in any order of axes, which the result keeps.
template <bool IS_SUM>
PyObject* scan(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    const at::Tensor* tensor = count == 4 && are_none(args, 2, 4) && is_quiet() ? array_tensor(args[0]) : nullptr;
    if (tensor == nullptr || tensor->dim() == 0 || tensor->numel() == 0) return nullptr;
    int64_t axis = 0, dim = tensor->dim();
    Fold line;
    if (args[1] != Py_None && !read_axis(args[1], dim, axis)) return nullptr;
    if (args[1] == Py_None || dim == 1) {
      if (!is_line(*tensor, line.stride) || tensor->numel() > LARGE) return nullptr;
      line.n = tensor->numel();
    } else {
      line.sizes.resize(dim);  // the strides
      int64_t step = 1;
      auto axes = memory_axes(*tensor);
      for (int64_t i = dim - 1; i >= 0; i--) {
        int64_t each = axes[i], size = tensor->sizes()[each];
        if (size != 1 && tensor->strides()[each] != step) return nullptr;
        (each == axis ? line.n : line.outer) *= size;
        if (each == axis) line.inner = std::exchange(line.outer, 1);
        line.sizes[each] = std::exchange(step, step * size);
      }
    }
    const char* data = data_of(*tensor);
    return visit(dtype_of(*tensor), [&](auto zero) -> PyObject* {
      using T = decltype(zero);
      if constexpr (std::is_class_v<T>) {
        return nullptr;  // torch accumulates complex numbers
      } else {
        at::Tensor made = scan_elements<IS_SUM>(reinterpret_cast<const T*>(data), line);
        if (!line.sizes.empty()) made.unsafeGetTensorImpl()->set_sizes_and_strides(tensor->sizes(), line.sizes);
        return wrap_array(std::move(made));
      }
    });
  });
}

// Products.

const at::Tensor* vector(PyObject* x) {
  const at::Tensor* tensor = array_tensor(x);
  if (tensor == nullptr || tensor->dim() != 1 || tensor->numel() == 0 || tensor->numel() >= LARGE) return nullptr;
  return bit(dtype_of(*tensor)) & FLOATS ? tensor : nullptr;
}

// The dtypes whose products backend_torch computes by torch's own function.
constexpr uint32_t MULTIPLIED =
    FLOATS | bit(U8) | bit(I8) | bit(I16) | bit(I32) | bit(I64) | bit(C64) | bit(C128);

const at::Tensor* factor(PyObject* x) {
  const at::Tensor* tensor = array_tensor(x);
  if (tensor == nullptr || tensor->dim() == 0 || tensor->dim() > 2 || tensor->numel() == 0) return nullptr;
  return dtype_of(*tensor) != NONE && bit(dtype_of(*tensor)) & MULTIPLIED ? tensor : nullptr;
}

// NumPy's loop of matmul for a dtype, which asks its own BLAS: for small matrices torch's takes up to twice the time on
// some processors, and beside a busy core its threads wait 10 ms for each other.
const NumpyLoop& loop_of_products(int8_t dtype) {
  static const auto* loops = [] {
    auto* found = new std::array<NumpyLoop, LOOPS>;
    PyObject* module = PyImport_ImportModule("numpy");
    PyObject* ufunc = module == nullptr ? nullptr : PyObject_GetAttrString(module, "matmul");
    for (int8_t each = F32; ufunc != nullptr && each <= C128; each++) {  // for integers torch's loops are the faster ones
      const int8_t dtypes[] = {each, each, each};
      (*found)[each] = numpy_loop(ufunc, dtypes, 3);
    }
    Py_XDECREF(module);
    Py_XDECREF(ufunc);
    return found;
  }();
  return (*loops)[dtype];
}

// The product of vectors and matrices by NumPy's loop. A vector is a matrix of one row or one column.
at::Tensor product_by(const NumpyLoop& loop, const at::Tensor& a, const at::Tensor& b) {
  bool has_rows = a.dim() == 2, has_columns = b.dim() == 2;
  int64_t rows = has_rows ? a.sizes()[0] : 1, inner = a.sizes().back(), columns = has_columns ? b.sizes()[1] : 1;
  c10::SmallVector<int64_t, 2> sizes;
  if (has_rows) sizes.push_back(rows);
  if (has_columns) sizes.push_back(columns);
  at::Tensor made = empty(sizes, loop.dtypes[0]);
  int64_t width = itemsize(loop.dtypes[0]);
  auto step = [&](const at::Tensor& x, int64_t axis) { return x.strides()[axis] * width; };
  intptr_t counts[] = {1, rows, inner, columns};
  intptr_t steps[] = {0, 0, 0,
                      has_rows ? step(a, 0) : inner * width, step(a, a.dim() - 1),
                      step(b, 0), has_columns ? step(b, 1) : width,
                      columns * width, width};
  char* data[] = {data_of(a), data_of(b), writeable_data_of(made)};
  without_gil(rows * inner * columns, [&] { loop.function(data, counts, steps, loop.extra); return true; });
  return made;
}

// Whether NumPy's loop takes less time than torch's although an operand is large: if the other one is small or a vector,
// and for a matrix by its own transpose, of which NumPy computes one half. Others share their work among more threads.
bool prefers_loop(const at::Tensor& a, const at::Tensor& b) {
  auto is_line_by_line = [](const at::Tensor& x) {  // else NumPy's loop does not ask its BLAS
    if (x.dim() == 1) return x.strides()[0] > 0;
    c10::IntArrayRef sizes = x.sizes(), strides = x.strides();
    return (strides[1] == 1 && strides[0] >= sizes[1]) || (strides[0] == 1 && strides[1] >= sizes[0]);
  };
  if (!is_line_by_line(a) || !is_line_by_line(b)) return false;
  if (std::min(a.numel(), b.numel()) < LARGE || std::min(a.dim(), b.dim()) == 1) return true;
  bool is_turned = a.sizes()[0] == b.sizes()[1] && a.strides()[0] == b.strides()[1] && a.strides()[1] == b.strides()[0];
  return is_turned && data_of(a) == data_of(b);
}

bool has_loop(int8_t dtype) { return loop_of_products(dtype).function != nullptr && numpy_computes(); }

at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
  if (has_loop(dtype_of(a))) return product_by(loop_of_products(dtype_of(a)), a, b);
  if (a.dim() == 1 && b.dim() == 1) return at::cpu::dot(a, b);  // as torch.matmul dispatches
  if (a.dim() == 2 && b.dim() == 2) return at::cpu::mm(a, b);
  at::AutoDispatchBelowADInplaceOrView below;
  if (a.dim() == 2) return at::mv(a, b);
  at::Tensor result = at::cpu::mm(a.unsqueeze(0), b);
  result.unsafeGetTensorImpl()->set_sizes_contiguous(b.sizes()[1]);
  return result;
}

// dot(a, b) or dot(a, b, None) of vectors and matrices.
PyObject* dot(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    bool has_two = count == 2 || (count == 3 && args[2] == Py_None);
    return has_two ? matmul(args[0], args[1]) : nullptr;
  });
}

// vdot(a, b) of real vectors.
PyObject* vdot(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    if (count != 2 || !is_quiet()) return nullptr;
    const at::Tensor *a = vector(args[0]), *b = vector(args[1]);
    if (a == nullptr || b == nullptr || a->dtype() != b->dtype() || a->numel() != b->numel()) return nullptr;
    return wrap(product(*a, *b));
  });
}

// matvec(a, b) of a matrix and a vector, and vecmat(a, b) of a real vector and a matrix.
template <int64_t left, int64_t right>
PyObject* core_product(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    if (count != 2 || !is_quiet()) return nullptr;
    const at::Tensor *a = factor(args[0]), *b = factor(args[1]);
    if (a == nullptr || b == nullptr || a->dim() != left || b->dim() != right) return nullptr;
    return left == 1 && a->is_complex() ? nullptr : matmul(args[0], args[1]);
  });
}

// The square roots of the sums of squares along an axis, of floats in C order.
PyObject* norm_along(const at::Tensor& tensor, int64_t axis, bool keeps) {
  int8_t dtype = dtype_of(tensor);
  at::Tensor squares = empty(tensor.sizes(), dtype);
  const char* data = data_of(tensor);
  binary_loop("multiply", dtype).loop(writeable_data_of(squares), data, data, tensor.numel(), 1, 1);
  at::Tensor sums = at::cpu::sum(squares, at::IntArrayRef(axis), keeps);
  char* sum = writeable_data_of(sums);
  unary_loop("sqrt", dtype).loop(sum, sum, sums.numel(), 1);
  return wrap(std::move(sums));
}

// norm(x, ord, axis, keepdims) of vectors along an axis, or of all elements: then it is the square root of dot(x, x).
PyObject* norm(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    if (count != 4 || !PyBool_Check(args[3])) return nullptr;
    const at::Tensor* tensor = is_quiet() ? array_tensor(args[0]) : nullptr;
    if (tensor == nullptr || tensor->dim() == 0 || tensor->numel() == 0 || tensor->numel() >= LARGE) return nullptr;
    int8_t given = dtype_of(*tensor), own = bit(given) & COUNTED ? F64 : given;
    if (given == NONE || !(bit(own) & FLOATS) || args[1] != Py_None) return nullptr;
    int64_t axis;
    if (tensor->dim() > 1 && own == given && is_dense(*tensor) && read_axis(args[2], tensor->dim(), axis))
      return norm_along(*tensor, axis, args[3] == Py_True);
    if (args[2] != Py_None || args[3] == Py_True || (tensor->dim() > 1 && !tensor->is_contiguous())) return nullptr;
    at::Tensor line = tensor->dim() == 1 ? *tensor : view(*tensor, {tensor->numel()}, {1}, tensor->storage_offset(), tensor->dtype());
    if (!line.is_contiguous() || own != given) {  // its copy has the bits that the Python path gives
      int64_t stride = line.strides()[0];
      line = empty({line.numel()}, own);
      copy_loop(given, own)(writeable_data_of(line), data_of(*tensor), line.numel(), 1, stride);
    }
    at::Tensor square = product(line, line);
    int8_t dtype = dtype_of(square);
    alignas(16) char value[16];
    unary_loop("sqrt", dtype).loop(value, data_of(square), 1, 1);
    return wrap_scalar(value, dtype);
  });
}

// Choosing and joining.

template <class T>
void choose(char* out_, const char* condition, const char* one_, const char* other_, int64_t n, int64_t step,
            int64_t step_other) {
  auto* out = reinterpret_cast<T*>(out_);
  const auto *one = reinterpret_cast<const T*>(one_), *other = reinterpret_cast<const T*>(other_);
  if (n == 0) return;
  const T first = *one, second = *other;  // one of both may be a number
  if (step == 0)
    for (int64_t i = 0; i < n; i++) out[i] = condition[i] ? first : other[i];
  else if (step_other == 0)
    for (int64_t i = 0; i < n; i++) out[i] = condition[i] ? one[i] : second;
  else
    for (int64_t i = 0; i < n; i++) out[i] = condition[i] ? one[i] : other[i];
}

// where(condition, x, y) of arrays of one shape; one of x and y may be a number.
PyObject* where(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    if (count != 3 || !is_quiet()) return nullptr;
    int number = is_array(args[1]) ? 2 : 1;
    bool has_number = !is_array(args[number]);
    const at::Tensor* given[3] = {};
    for (int i = 0; i < 3; i++) {
      if (has_number && i == number) continue;
      given[i] = array_tensor(args[i]);
      if (given[i] == nullptr || given[i]->sizes() != given[0]->sizes() || !is_dense(*given[i])) return nullptr;
    }
    int8_t dtype = dtype_of(*given[has_number ? 3 - number : 1]);
    int64_t n = given[0]->numel();
    if (dtype_of(*given[0]) != B1 || dtype == NONE || dtype >= LOOPS) return nullptr;
    if (n >= LARGE || given[0]->dim() == 0) return nullptr;
    alignas(16) char value[16];
    if (has_number) {
      PyObject* x = args[number];
      int8_t own;
      if (const char* element = scalar_value(x, own)) {
        if (own != dtype) return nullptr;
        std::memcpy(value, element, itemsize(dtype));
      } else if (!is_number(x) || (dtype == B1) != PyBool_Check(x) || !store_number(x, dtype, value, false)) {
        return nullptr;
      }
    } else if (dtype_of(*given[2]) != dtype) {
      return nullptr;
    }
    at::Tensor result = empty(given[0]->sizes(), dtype);
    char* out = writeable_data_of(result);
    const char* condition = data_of(*given[0]);
    auto source = [&](int i) { return given[i] == nullptr ? value : data_of(*given[i]); };
    int64_t step = has_number && number == 1 ? 0 : 1, step_other = has_number && number == 2 ? 0 : 1;
    switch (itemsize(dtype)) {
      case 1: choose<uint8_t>(out, condition, source(1), source(2), n, step, step_other); break;
      case 2: choose<uint16_t>(out, condition, source(1), source(2), n, step, step_other); break;
      case 4: choose<uint32_t>(out, condition, source(1), source(2), n, step, step_other); break;
      case 16: choose<std::complex<double>>(out, condition, source(1), source(2), n, step, step_other); break;
      default: choose<uint64_t>(out, condition, source(1), source(2), n, step, step_other);
    }
    return wrap_array(std::move(result));
  });
}

// roll(x, places, axis or None): shift the elements of each line along the axis, or all elements in C order.
PyObject* roll(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    const at::Tensor* tensor = count == 3 && is_quiet() ? array_tensor(args[0]) : nullptr;
    if (tensor == nullptr || tensor->dim() == 0 || tensor->numel() == 0 || !is_dense(*tensor)) return nullptr;
    if (dtype_of(*tensor) == NONE || !PyLong_CheckExact(args[1])) return nullptr;
    int overflow;
    int64_t places = PyLong_AsLongLongAndOverflow(args[1], &overflow), axis = 0, dim = tensor->dim();
    if (overflow) return nullptr;
    int64_t size = tensor->numel(), inner = static_cast<int64_t>(tensor->itemsize());
    if (args[2] != Py_None) {
      if (!PyLong_CheckExact(args[2])) return nullptr;
      axis = PyLong_AsLongLongAndOverflow(args[2], &overflow);
      if (overflow || axis < -dim || axis >= dim) return nullptr;
      axis = axis < 0 ? axis + dim : axis;
      size = tensor->sizes()[axis];
      for (int64_t length : tensor->sizes().slice(axis + 1)) inner *= length;
    }
    if (static_cast<int64_t>(tensor->nbytes()) > LARGE * 64) return nullptr;
    places = ((places % size) + size) % size;
    at::Tensor result = empty(tensor->sizes(), dtype_of(*tensor));
    char* to = writeable_data_of(result);
    const char *from = data_of(*tensor), *end = from + tensor->nbytes();
    for (int64_t first = places * inner, block = size * inner; from < end; from += block, to += block) {
      std::memcpy(to, from + block - first, first);
      std::memcpy(to + first, from, block - first);
    }
    return wrap_array(std::move(result));
  });
}

// concatenate(arrays) along the first axis.
PyObject* concatenate(PyObject*, PyObject* arrays) {
  return head([&]() -> PyObject* {
    if (!is_list(arrays) || !is_quiet()) return nullptr;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(arrays);
    if (count == 0 || count > 64) return nullptr;
    const at::Tensor* parts[64];
    c10::SmallVector<THPObjectPtr, 2> copies;
    Shape shape;
    int64_t bytes = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
      PyObject* part = items_of(arrays)[i];
      if (is_turned(part)) part = copies.emplace_back(straight(part)).get();
      parts[i] = part == nullptr ? nullptr : array_tensor(part);
      if (parts[i] == nullptr || parts[i]->dim() == 0 || parts[i]->numel() == 0) return nullptr;
      if (!is_dense(*parts[i]) || parts[i]->dtype() != parts[0]->dtype()) return nullptr;
      if (i == 0)
        shape.append(parts[i]->sizes().begin(), parts[i]->sizes().end());
      else if (parts[i]->sizes().slice(1) != parts[0]->sizes().slice(1))
        return nullptr;
      else
        shape[0] += parts[i]->sizes()[0];
      bytes += static_cast<int64_t>(parts[i]->nbytes());
    }
    int8_t dtype = dtype_of(*parts[0]);
    if (dtype == NONE || bytes > LARGE * 8) return nullptr;
    at::Tensor result = empty(shape, dtype);
    char* out = writeable_data_of(result);
    for (Py_ssize_t i = 0; i < count; i++) {
      std::memcpy(out, data_of(*parts[i]), parts[i]->nbytes());
      out += parts[i]->nbytes();
    }
    return wrap_array(std::move(result));
  });
}

}  // namespace

PyObject* matmul(PyObject* x, PyObject* y) {
  if (!is_quiet()) return nullptr;
  const at::Tensor *a = factor(x), *b = factor(y);
  if (a == nullptr || b == nullptr) return recorded_matmul(x, y);
  if (a->dtype() != b->dtype() || a->sizes().back() != b->sizes()[0]) return nullptr;
  bool are_small = std::max(a->numel(), b->numel()) < LARGE;
  if (!are_small && !(has_loop(dtype_of(*a)) && prefers_loop(*a, *b))) return recorded_matmul(x, y);
  return wrap(product(*a, *b));
}

PyMethodDef FUNCTIONS[] = {
    {"set_names", set_names, METH_VARARGS, nullptr},
    TNP_FAST("zeros", filled<ZEROS>),
    TNP_FAST("ones", filled<ONES>),
    TNP_FAST("empty", filled<NOTHING>),
    TNP_FAST("full", full),
    TNP_FAST("like", reading<like>),
    TNP_FAST("astype", reading<astype>),
    TNP_FAST("item", reading<item>),
    {"count_nonzero", reading_one<count_nonzero>, METH_O, nullptr},
    {"squeeze", viewing_one<squeeze>, METH_O, nullptr},
    TNP_FAST("swapaxes", viewing<swapaxes>),
    TNP_FAST("flip", viewing<flip>),
    TNP_FAST("at_least", viewing<at_least>),
    TNP_FAST("diagonal", viewing<diagonal>),
    TNP_FAST("in_order", viewing<in_order>),
    {"ravel", viewing_one<ravel>, METH_O, nullptr},
    TNP_FAST("part", viewing<part>),
    {"nonzero", reading_one<nonzero>, METH_O, nullptr},
    TNP_FAST("arange", arange),
    {"eye", eye, METH_O, nullptr},
    TNP_FAST("array", array),
    {"copy", reading_one<copy>, METH_O, nullptr},
    {"flatten", reading_one<flatten>, METH_O, nullptr},
    {"tolist", reading_one<tolist>, METH_O, nullptr},
    TNP_FAST("reshape", viewing<reshape>),
    TNP_FAST("transpose", viewing<transpose>),
    TNP_FAST("overlap", overlap),
    TNP_FAST("broadcast_to", viewing<broadcast_to>),
    TNP_FAST("std", reading<spread<true>>),
    TNP_FAST("var", reading<spread<false>>),
    TNP_FAST("sum", reading<reduce<SUM>>),
    TNP_FAST("cumsum", reading<scan<true>>),
    TNP_FAST("cumprod", reading<scan<false>>),
    TNP_FAST("prod", reading<reduce<PROD>>),
    TNP_FAST("max", reading<reduce<MAX>>),
    TNP_FAST("min", reading<reduce<MIN>>),
    TNP_FAST("any", reading<reduce<ANY>>),
    TNP_FAST("all", reading<reduce<ALL>>),
    TNP_FAST("argmax", reading<reduce<ARGMAX>>),
    TNP_FAST("argmin", reading<reduce<ARGMIN>>),
    TNP_FAST("mean", reading<reduce<MEAN>>),
    TNP_FAST("dot", reading<dot>),
    TNP_FAST("vdot", reading<vdot>),
    TNP_FAST("matvec", (reading<core_product<2, 1>>)),
    TNP_FAST("vecmat", (reading<core_product<1, 2>>)),
    TNP_FAST("linspace", linspace),
    TNP_FAST("bincount", reading<bincount>),
    TNP_FAST("settle", settle_order),
    TNP_FAST("norm", reading<norm>),
    TNP_FAST("where", reading<where>),
    TNP_FAST("roll", reading<roll>),
    {"concatenate", concatenate, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace tnp
