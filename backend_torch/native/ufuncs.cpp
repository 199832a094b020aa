#include "ufuncs.h"

#include <ATen/ops/pow_cpu_dispatch.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <unordered_map>
#include <vector>

#include "functions.h"
#include "recording.h"
#include "turned.h"

namespace tnp {

PyObject* resolver = nullptr;

namespace {

std::unordered_map<PyObject*, Ufunc*> by_object;  // ufuncs of tnp and of NumPy
std::vector<std::unique_ptr<Ufunc>> ufuncs;

// An operand: a tensor, a scalar's value, or a Python number, whose kind stands for its dtype. A list or a view with
// negative strides is a new tensor, and a NumPy array one over its memory: no result shares the memory of an operand.
struct Operand {
  at::Tensor borrowed;
  const at::Tensor* tensor = nullptr;
  const char* value = nullptr;
  PyObject* number = nullptr;
  int8_t given = NONE;
  bool is_0d() const { return tensor == nullptr || tensor->dim() == 0; }
  c10::IntArrayRef sizes() const { return tensor == nullptr ? c10::IntArrayRef() : tensor->sizes(); }
};

bool read(PyObject* x, Operand& operand) {
  if (is_ours(x)) {
    if (held(x)->has_value) {
      operand.value = held(x)->value;
      operand.given = held(x)->dtype;
      return true;
    }
    operand.tensor = plain_tensor(x);
    if (operand.tensor == nullptr) return false;
    if (is_readonly(x) && operand.tensor->dim() > 1 && !is_dense(*operand.tensor)) return false;  // a broadcast view
    operand.given = dtype_of(operand.tensor->unsafeGetTensorImpl());
    return operand.given != NONE;
  }
  operand.given = PyFloat_CheckExact(x)     ? WEAK_FLOAT
                  : PyLong_CheckExact(x)    ? WEAK_INT
                  : PyBool_Check(x)         ? B1
                  : PyComplex_CheckExact(x) ? WEAK_COMPLEX
                                            : NONE;
  if (operand.given != NONE) {
    operand.number = x;
    return true;
  }
  if (is_numpy(x)) {
    if (!borrow(x, operand.borrowed)) return false;
    operand.tensor = &operand.borrowed;
    operand.given = dtype_of(operand.borrowed);
    return true;
  }
  if (is_list(x) || is_turned(x)) {
    operand.borrowed = is_list(x) ? of_list(x) : straightened(x);
    if (!operand.borrowed.defined()) return false;
    operand.tensor = &operand.borrowed;
    operand.given = dtype_of(operand.borrowed);
    return true;
  }
  operand.value = scalar_value(x, operand.given);
  return operand.value != nullptr;
}

// Whether NumPy takes a number, without an array beside it, for one of its dtypes and the result is on the CPU.
bool is_taken(const Operand& operand) {
  int overflow = 0;
  if (operand.given == WEAK_INT) PyLong_AsLongLongAndOverflow(operand.number, &overflow);
  return !overflow && makes_on_cpu();  // a larger number is an object to NumPy
}

// Resolve dtypes by NumPy, and find NumPy's loop if that is the kernel, and the name of torch's function for what autograd
// records, if there is one; false without an exception if NumPy refuses.
bool resolve(Ufunc* ufunc, const int8_t* given, int nin, int8_t out, int8_t* resolved, NumpyLoop& loop, std::string& name) {
  PyObject* arguments = PyTuple_New(nin + 3);
  if (arguments == nullptr) return false;
  PyTuple_SET_ITEM(arguments, 0, Py_NewRef(ufunc->numpy));
  PyTuple_SET_ITEM(arguments, 1, Py_NewRef(ufunc->kernel));
  for (int i = 0; i <= nin; i++) PyTuple_SET_ITEM(arguments, i + 2, PyLong_FromLong(i < nin ? given[i] : out));
  PyObject* answer = PyObject_CallObject(resolver, arguments);
  Py_DECREF(arguments);
  if (answer == nullptr) return clear_refusal() && false;
  bool found = PyTuple_Check(answer) && PyTuple_GET_SIZE(answer) == nin + 3;
  for (int i = 0; found && i <= nin; i++)
    resolved[i] = static_cast<int8_t>(PyLong_AsLong(PyTuple_GET_ITEM(answer, i)));
  PyObject* numpy = found ? PyTuple_GET_ITEM(answer, nin + 1) : Py_None;
  if (numpy != Py_None) loop = numpy_loop(numpy, resolved, nin + 1);
  if (found && PyUnicode_Check(PyTuple_GET_ITEM(answer, nin + 2))) name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(answer, nin + 2));
  Py_DECREF(answer);
  return found;
}

const BinaryPlan& make_plan(Ufunc* ufunc, BinaryPlan& plan, int8_t a, int8_t b, int8_t out) {
  plan.state = State::PYTHON;
  int8_t given[] = {a, b}, resolved[3];
  NumpyLoop numpy;
  std::string name;
  if (!resolve(ufunc, given, 2, out, resolved, numpy, name)) return plan;
  plan.recorded = recorded_binary(name.c_str());
  plan.left = resolved[0];
  plan.right = resolved[1];
  plan.out = resolved[2];
  plan.is_half = plan.left == F16;
  bool is_one = plan.left == plan.right;
  auto found = is_one ? binary_loop(ufunc->name.c_str(), plan.left) : Found<BinaryLoop>();
  if (found.out == plan.out) {
    plan.loop = found.loop;
    if (!ufunc->is_power) plan.one = found.one;
  } else if (numpy.function != nullptr) {
    plan.loop = BinaryLoop(numpy);
    plan.state = State::NUMPY;
    return plan;
  }
  if (is_one) plan.kernel = binary_kernel(ufunc->name.c_str(), plan.left);
  if (plan.loop != nullptr || plan.kernel != nullptr || (is_one && ufunc->is_power)) plan.state = State::NATIVE;
  return plan;
}

const UnaryPlan& make_plan(Ufunc* ufunc, UnaryPlan& plan, int8_t a) {
  plan.state = State::PYTHON;
  int8_t resolved[2];
  NumpyLoop numpy;
  std::string name;
  if (!resolve(ufunc, &a, 1, NONE, resolved, numpy, name)) return plan;
  plan.recorded = recorded_unary(name.c_str());
  plan.in = resolved[0];
  plan.out = resolved[1];
  plan.is_half = plan.in == F16;
  auto found = unary_loop(ufunc->name.c_str(), plan.in);
  if (found.out == plan.out) {
    plan.loop = found.loop;
    if (a == plan.in) plan.one = found.one;
  } else if (numpy.function != nullptr) {
    plan.loop = UnaryLoop(numpy);
    plan.state = State::NUMPY;
    return plan;
  }
  plan.kernel = unary_kernel(ufunc->name.c_str(), plan.in);
  if (plan.kernel != nullptr && plan.in == plan.out) plan.by_kernel = one_element(ufunc->name.c_str(), plan.in);
  if (plan.loop != nullptr || plan.kernel != nullptr) plan.state = State::NATIVE;
  return plan;
}

bool is_native(State state) { return state == State::NATIVE || (state == State::NUMPY && numpy_computes()); }

// Return the value of an operand without a tensor, cast if need be; nullptr if no loop takes it.
const char* cast_value(const Operand& operand, int8_t wanted, char* place) {
  if (operand.number != nullptr)
    return wanted < LOOPS && store_number(operand.number, wanted, place, false) ? place : nullptr;
  if (operand.given == wanted) return operand.value;
  auto loop = operand.given < LOOPS && wanted < LOOPS ? copy_loop(operand.given, wanted) : nullptr;
  if (loop == nullptr) return nullptr;
  loop(place, operand.value, 1, 1, 1);
  return place;
}

// Run a loop on single values.
PyObject* call_values(const BinaryPlan& plan, const Operand& a, const Operand& b) {
  alignas(16) char left[16], right[16], out[16];
  const char *one = cast_value(a, plan.left, left), *other = cast_value(b, plan.right, right);
  if (one == nullptr || other == nullptr) return nullptr;
  plan.loop(out, one, other, 1, 1, 1);
  return wrap_scalar(out, plan.out);
}

// An operand for a loop: a pointer and a stride. Elements of another dtype are cast part by part: they stay in the cache.
struct Source {
  const char* data = nullptr;
  int64_t stride = 0;
  alignas(16) char value[16];
  at::Tensor cast;
  CopyLoop loop = nullptr;  // casts elements that are `step` apart, of the dtype `given`
  int64_t step = 0;
  int8_t given = NONE;

  // Where the elements from one on lie, as the loop takes them.
  const char* part(int64_t from, int64_t count, int8_t wanted, char* room) const {
    if (loop == nullptr) return data + from * stride * itemsize(wanted);
    loop(room, data + from * step * itemsize(given), count, 1, step);
    return room;
  }
};

// Prepare an operand for a loop; false without an exception if no loop takes it. With `is_gathered` rows that are not
// neighbours are copied.
bool prepare(const Operand& operand, int8_t wanted, Source& source, bool is_gathered = false) {
  if (operand.tensor == nullptr) {
    source.data = cast_value(operand, wanted, source.value);
    return source.data != nullptr;
  }
  const at::Tensor& tensor = *operand.tensor;
  int64_t dim = tensor.dim(), n = tensor.numel();
  source.data = data_of(tensor);
  bool is_line = dim < 2 || is_dense(tensor);
  if (dim > 0) source.stride = dim == 1 ? tensor.strides()[0] : 1;
  if (is_line && operand.given == wanted) return true;
  if (operand.given >= LOOPS || wanted >= LOOPS) return false;
  auto loop = copy_loop(operand.given, wanted);
  if (loop == nullptr) return false;
  if (dim == 0) {
    loop(source.value, source.data, 1, 1, 1);
    source.data = source.value;
    return true;
  }
  if (!is_line && (!is_gathered || n == 0 || !keeps_c_order(tensor.sizes(), tensor.strides()))) return false;
  if (is_line) {
    source.loop = loop;
    source.given = operand.given;
    source.step = std::exchange(source.stride, 1);
    return true;
  }
  source.cast = empty({n}, wanted);
  char* to = writeable_data_of(source.cast);
  gather(to, wanted, source.data, operand.given, tensor.sizes(), tensor.strides().data());
  source.data = to;
  source.stride = 1;
  return true;
}

// Call `run(from, count)` for parts in threads, and for small ones if operands are cast, with room for two of them.
template <class Run>
void in_cast_parts(bool is_cast, int64_t n, Run&& run) {
  constexpr int64_t PART = 512;
  if (!is_cast) return in_parts(n, [&](int64_t from, int64_t count) { run(from, count, nullptr, nullptr); });
  in_parts(n, [&](int64_t from, int64_t count) {
    alignas(64) char rooms[2][PART * 16];
    for (int64_t end = from + count; from < end; from += PART) run(from, std::min(PART, end - from), rooms[0], rooms[1]);
  });
}

// Run a loop on prepared operands.
void run_parts(const BinaryPlan& plan, char* out, const Source& a, const Source& b, int64_t n) {
  in_cast_parts(a.loop != nullptr || b.loop != nullptr, n, [&](int64_t from, int64_t count, char* one, char* other) {
    const char *left = a.part(from, count, plan.left, one), *right = b.part(from, count, plan.right, other);
    plan.loop(out + from * itemsize(plan.out), left, right, count, a.stride, b.stride);
  });
}

void run_parts(const UnaryLoop& loop, int8_t in, int8_t to, char* out, const Source& a, int64_t n) {
  in_cast_parts(a.loop != nullptr, n, [&](int64_t from, int64_t count, char* room, char*) {
    loop(out + from * itemsize(to), a.part(from, count, in, room), count, a.stride);
  });
}

// Convert an operand to a tensor of a dtype, for torch's kernels.
bool tensor_of(const Operand& operand, int8_t wanted, at::Tensor& tensor) {
  if (operand.number != nullptr) {
    tensor = empty({}, wanted);
    return wanted < LOOPS && store_number(operand.number, wanted, writeable_data_of(tensor), false);
  }
  if (operand.value != nullptr) {
    tensor = empty({}, operand.given);
    std::memcpy(writeable_data_of(tensor), operand.value, itemsize(operand.given));
  } else {
    tensor = *operand.tensor;
  }
  if (operand.given != wanted) tensor = tensor.to(SCALAR_TYPES[wanted]);
  return true;
}

// Whether two operands have the same shape, or one of them is 0-d; `sizes` gets the result's shape.
bool has_common_shape(const Operand& a, const Operand& b, c10::IntArrayRef& sizes) {
  sizes = a.is_0d() ? b.sizes() : a.sizes();
  return a.is_0d() || b.is_0d() || a.sizes() == b.sizes();
}

// Run a loop into a new array or scalar.
template <class Loop>
PyObject* computed(c10::IntArrayRef sizes, int8_t dtype, Loop&& loop) {
  if (sizes.empty()) {
    alignas(16) char value[16];
    loop(value);
    return wrap_scalar(value, dtype);
  }
  at::Tensor result = empty(sizes, dtype);
  loop(writeable_data_of(result));
  return wrap_array(std::move(result));
}

bool is_equal(PyObject* number, double other) {
  if (PyFloat_CheckExact(number)) return PyFloat_AS_DOUBLE(number) == other;
  if (PyComplex_CheckExact(number)) return PyComplex_RealAsDouble(number) == other && PyComplex_ImagAsDouble(number) == 0;
  int overflow;
  return PyLong_AsLongLongAndOverflow(number, &overflow) == other;
}

// Whether NumPy's power with a number as exponent is another function.
bool is_shortcut(int8_t dtype, PyObject* number) {
  if (bit(dtype) & COMPLEX) return is_equal(number, 0.5) || is_equal(number, -1);
  return !(dtype >= U8 && dtype <= I64) || is_equal(number, 2);
}

// Whether an exponent is negative, which NumPy refuses for integers, or may be.
bool has_negative(const Operand& exponent) {
  int overflow;
  if (exponent.given == WEAK_INT) return PyLong_AsLongLongAndOverflow(exponent.number, &overflow) < 0;
  if (exponent.given < I8 || exponent.given > I64) return false;
  const at::Tensor* tensor = exponent.tensor;
  int64_t n = tensor == nullptr ? 1 : tensor->numel(), stride = tensor != nullptr && tensor->dim() > 0 ? tensor->strides().back() : 1;
  if (tensor != nullptr && tensor->dim() != 1 && !is_dense(*tensor)) return true;
  const char* data = tensor == nullptr ? exponent.value : data_of(*tensor);
  auto search = [&](auto zero) {
    bool found = false;
    for (int64_t i = 0; i < n; i++) found |= reinterpret_cast<const decltype(zero)*>(data)[i * stride] < 0;
    return found;
  };
  switch (itemsize(exponent.given)) {
    case 1: return search(int8_t());
    case 2: return search(int16_t());
    case 4: return search(int32_t());
    default: return search(int64_t());
  }
}

bool is_refused(const Ufunc* ufunc, const BinaryPlan& plan, const Operand& b) {
  return ufunc->is_power && plan.right >= I8 && plan.right <= I64 && has_negative(b);
}

// Read the number that is an exponent, in a dtype; false if the dtype does not take it.
bool read_exponent(const Operand& operand, int8_t dtype, double& exponent) {
  alignas(16) char value[16];
  if (!store_number(operand.number, dtype, value, false)) return false;
  copy_loop(dtype, F64)(reinterpret_cast<char*>(&exponent), value, 1, 1, 1);
  return true;
}

// NumPy's shortcuts for powers with a number as exponent; torch computes the others.
PyObject* call_power(const BinaryPlan& plan, const Operand& a, const Operand& b) {
  int8_t dtype = plan.left;
  if (bit(dtype) & COMPLEX || dtype >= LOOPS || dtype == B1) return nullptr;
  double exponent;
  if (!read_exponent(b, dtype, exponent)) return nullptr;
  bool is_float = dtype == F32 || dtype == F64;
  const char* name = exponent == 2                ? "square"
                     : !is_float                  ? nullptr
                     : exponent == 0.5            ? "sqrt"
                     : exponent == -1             ? "reciprocal"
                                                  : nullptr;
  if (name != nullptr) {
    Source source;
    int64_t n = a.tensor == nullptr ? 1 : a.tensor->numel();
    if (n > LARGE || !prepare(a, dtype, source)) return nullptr;
    auto loop = unary_loop(name, dtype).loop;
    return computed(a.sizes(), dtype, [&](char* out) { run_parts(loop, dtype, dtype, out, source, n); });
  }
  if (!is_float || exponent == -0.5) return nullptr;
  at::Tensor base;
  if (!tensor_of(a, dtype, base)) return nullptr;
  return wrap(at::cpu::pow(base, c10::Scalar(exponent)));
}

}  // namespace

Ufunc* add_ufunc(PyObject* object, PyObject* numpy, PyObject* kernel, const char* name) {
  auto ufunc = std::make_unique<Ufunc>();
  ufunc->object = Py_NewRef(object);
  ufunc->numpy = Py_NewRef(numpy);
  ufunc->kernel = Py_NewRef(kernel);
  ufunc->name = name;
  ufunc->is_power = std::strcmp(name, "power") == 0;
  by_object[object] = by_object[numpy] = ufunc.get();
  ufuncs.push_back(std::move(ufunc));
  return ufuncs.back().get();
}

Ufunc* find_ufunc(PyObject* object) {
  auto found = by_object.find(object);
  return found == by_object.end() ? nullptr : found->second;
}

Ufunc* find_ufunc(const char* name) {
  for (const auto& ufunc : ufuncs)
    if (ufunc->name == name) return ufunc.get();
  return nullptr;
}

namespace {

// Computes rows of operands and writes them to a target of any strides; each row is computed before it is written.
struct RowWriter {
  BinaryLoop loop;
  CopyLoop copy;
  int64_t width, width_left, width_right;
  std::vector<char> row;

  void run(char* to, const char* left, const char* right, c10::IntArrayRef sizes, const int64_t* strides,
           const int64_t* left_strides, const int64_t* right_strides) {
    if (sizes.size() > 1) {
      for (int64_t i = 0; i < sizes[0]; i++)
        run(to + i * strides[0] * width, left + i * left_strides[0] * width_left,
            right + i * right_strides[0] * width_right, sizes.slice(1), strides + 1, left_strides + 1,
            right_strides + 1);
      return;
    }
    if (*strides == 1) return loop(to, left, right, sizes[0], *left_strides, *right_strides);
    row.resize(sizes[0] * width);
    loop(row.data(), left, right, sizes[0], *left_strides, *right_strides);
    copy(to, row.data(), sizes[0], *strides, 1);
  }
};

// The strides of an operand along the axes of a result, 0 where it is broadcast; false if its own order of axes is not
// that of C, because torch then gives the result that order too.
bool broadcast(const at::Tensor& tensor, c10::IntArrayRef sizes, c10::SmallVector<int64_t, 6>& strides) {
  size_t first = sizes.size() - tensor.sizes().size();
  int64_t outer = std::numeric_limits<int64_t>::max();
  strides.assign(sizes.size(), 0);
  for (size_t axis = 0; axis < tensor.sizes().size(); axis++) {
    int64_t size = tensor.sizes()[axis], stride = tensor.strides()[axis];
    if (size == 1) continue;
    if (stride <= 0 || stride >= outer) return false;
    strides[first + axis] = outer = stride;
  }
  return true;
}

// Compute operands of two shapes, or of other strides, row by row; nullptr without an exception if torch has to.
PyObject* call_rows(const BinaryPlan& plan, const Operand& a, const Operand& b) {
  if (a.is_0d() || b.is_0d() || a.given != plan.left || b.given != plan.right) return nullptr;
  size_t dim = std::max(a.sizes().size(), b.sizes().size());
  c10::SmallVector<int64_t, 6> sizes(dim, 1), left, right;
  int64_t n = 1;
  for (size_t axis = 1; axis <= dim; axis++) {
    int64_t one = axis <= a.sizes().size() ? a.sizes()[a.sizes().size() - axis] : 1;
    int64_t other = axis <= b.sizes().size() ? b.sizes()[b.sizes().size() - axis] : 1;
    if (one != other && one != 1 && other != 1) return nullptr;
    n *= sizes[dim - axis] = one == 1 ? other : one;
    if (sizes[dim - axis] < 2 || n >= LARGE) return nullptr;  // torch orders axes of length 1 by their strides
  }
  if (!broadcast(*a.tensor, sizes, left) || !broadcast(*b.tensor, sizes, right)) return nullptr;
  constexpr int64_t SHORT = 8;  // torch orders the axes so that the loop is long
  if (sizes.back() < SHORT && n > SHORT * SHORT) return nullptr;
  at::Tensor result = empty(sizes, plan.out);
  int64_t width = itemsize(plan.out);
  RowWriter rows{plan.loop, nullptr, width, itemsize(plan.left), itemsize(plan.right), {}};
  rows.run(writeable_data_of(result), data_of(*a.tensor), data_of(*b.tensor), sizes, result.strides().data(), left.data(),
           right.data());
  return wrap_array(std::move(result));
}

// Whether torch's kernel takes less time than a loop: its float16 is in vectors.
template <class Plan>
bool prefers_kernel(const Plan& plan, c10::IntArrayRef sizes) {
  constexpr int64_t FEW = 64;
  return plan.kernel != nullptr && plan.is_half && c10::multiply_integers(sizes) > FEW;
}

// Compute an array whose elements are not one after the other in C order: in their own order if they are neighbours, as the
// result then is too, or gathered; nullptr without an exception if torch has to.
PyObject* call_strided(const UnaryPlan& plan, const Operand& a) {
  const at::Tensor& tensor = *a.tensor;
  c10::IntArrayRef sizes = tensor.sizes();
  if (a.given != plan.in || tensor.numel() >= LARGE || std::ranges::count(sizes, 1)) return nullptr;
  if (tensor.is_non_overlapping_and_dense()) {
    at::Tensor result = empty({tensor.numel()}, plan.out);
    plan.loop(writeable_data_of(result), data_of(tensor), tensor.numel(), 1);
    result.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, tensor.strides());
    return wrap_array(std::move(result));
  }
  c10::SmallVector<int64_t, 6> strides;
  if (!broadcast(tensor, sizes, strides)) return nullptr;
  at::Tensor result = empty(sizes, plan.out);
  at::Tensor dense = itemsize(plan.in) == itemsize(plan.out) ? result : empty(sizes, plan.in);  // one call for all rows
  gather(writeable_data_of(dense), plan.in, data_of(tensor), plan.in, sizes, strides.data());
  plan.loop(writeable_data_of(result), data_of(dense), tensor.numel(), 1);
  return wrap_array(std::move(result));
}

PyObject* call_loop(const UnaryPlan& plan, const Operand& a) {
  int64_t n = a.tensor == nullptr ? 1 : a.tensor->numel();
  if (a.sizes().size() > 1 && !is_dense(*a.tensor)) return call_strided(plan, a);
  // A result of torch keeps the stride of an array with one element, whatever it is.
  bool is_odd = n == 1 && a.sizes().size() == 1 && a.tensor->strides()[0] != 1;
  Source source;
  if (is_odd || !prepare(a, plan.in, source)) return nullptr;
  return computed(a.sizes(), plan.out, [&](char* out) { run_parts(plan.loop, plan.in, plan.out, out, source, n); });
}

// The square of complex numbers, which NumPy computes for the exponent 2; nullptr without an exception for other ones.
PyObject* call_square(const Operand& a, PyObject* exponent, int8_t dtype) {
  static Ufunc* square = find_ufunc("square");
  if (!(bit(dtype) & COMPLEX) || a.given != dtype || !is_equal(exponent, 2)) return nullptr;
  UnaryPlan& plan = square->unary[dtype];
  if (plan.state == State::UNKNOWN) make_plan(square, plan, dtype);
  return is_native(plan.state) && plan.loop != nullptr ? call_loop(plan, a) : nullptr;
}

PyObject* call_arrays(const BinaryPlan& plan, bool is_power, const Operand& a, const Operand& b) {
  if (is_power && b.number != nullptr)
    if (PyObject* result = call_square(a, b.number, plan.left)) return result;
  if (is_power && b.number != nullptr && is_shortcut(plan.left, b.number)) return call_power(plan, a, b);
  c10::IntArrayRef sizes;
  bool is_common = has_common_shape(a, b, sizes);
  int64_t n = c10::multiply_integers(sizes);
  auto by_loop = [&](bool is_gathered) -> PyObject* {
    Source left, right;
    if (!prepare(a, plan.left, left, is_gathered) || !prepare(b, plan.right, right, is_gathered)) return nullptr;
    return computed(sizes, plan.out, [&](char* out) { run_parts(plan, out, left, right, n); });
  };
  if (plan.loop != nullptr && !(is_common && prefers_kernel(plan, sizes))) {
    PyObject* result = is_common ? by_loop(false) : nullptr;
    if (result == nullptr && !PyErr_Occurred()) result = call_rows(plan, a, b);
    bool is_gathered = is_common && (plan.kernel == nullptr || n < LARGE) && std::ranges::count(sizes, 1) == 0;
    if (result == nullptr && is_gathered && !PyErr_Occurred()) result = by_loop(true);
    if (result != nullptr || PyErr_Occurred()) return result;
  }
  if (plan.kernel == nullptr || PyErr_Occurred()) return nullptr;
  at::Tensor left, right;
  if (!tensor_of(a, plan.left, left) || !tensor_of(b, plan.right, right)) return nullptr;
  return wrap(without_gil(std::max(left.numel(), right.numel()), [&] { return plan.kernel(left, right); }));
}

}  // namespace

PyObject* call_scalars(Ufunc* ufunc, PyObject* x, PyObject* y) noexcept {
  auto given = [](PyObject* each) {
    if (is_scalar(each)) return held(each)->has_value ? held(each)->dtype : NONE;
    return PyFloat_CheckExact(each) ? WEAK_FLOAT : PyLong_CheckExact(each) ? WEAK_INT : NONE;
  };
  int8_t a = given(x), b = given(y);
  if (a == NONE || b == NONE || !is_quiet()) return nullptr;
  const BinaryPlan& plan = ufunc->binary[a][b];
  if (plan.one == nullptr) return nullptr;
  alignas(16) char left[16], right[16], out[16];
  auto value = [](PyObject* each, int8_t own, int8_t wanted, char* place) -> const char* {
    if (own >= DTYPES) return store_number(each, wanted, place, false) ? place : nullptr;
    if (own == wanted) return held(each)->value;
    auto loop = copy_loop(own, wanted);
    if (loop == nullptr) return nullptr;
    loop(place, held(each)->value, 1, 1, 1);
    return place;
  };
  const char* one = value(x, a, plan.left, left);
  const char* other = one == nullptr ? nullptr : value(y, b, plan.right, right);
  if (other == nullptr) return nullptr;
  plan.one(out, one, other);
  return wrap_scalar(out, plan.out);
}

PyObject* call_scalar(Ufunc* ufunc, PyObject* x) noexcept {
  if (!is_scalar(x) || !held(x)->has_value || !is_quiet()) return nullptr;
  const UnaryPlan& plan = ufunc->unary[held(x)->dtype];
  if (plan.one == nullptr) return nullptr;
  alignas(16) char out[16];
  plan.one(out, held(x)->value);
  return wrap_scalar(out, plan.out);
}

namespace {

// Read an operand that may have a gradient. A NumPy array is none: the gradient would need a copy of it.
bool read_recorded(PyObject* x, Operand& operand) {
  if (is_numpy(x)) return false;
  if (!is_ours(x) || held(x)->has_value) return read(x, operand);
  operand.tensor = recorded_tensor(x);
  if (operand.tensor == nullptr || is_readonly(x)) return false;
  operand.given = dtype_of(*operand.tensor);
  return operand.given != NONE;
}

bool has_gradient(const Operand& operand) { return operand.tensor != nullptr && operand.tensor->requires_grad(); }

// Compute arrays with gradients by torch's own function, if that is the kernel.
PyObject* call_recorded(Ufunc* ufunc, PyObject* x, PyObject* y) {
  Operand a, b;
  if (PyErr_Occurred() || !read_recorded(x, a) || !read_recorded(y, b)) return nullptr;
  if (!has_gradient(a) && !has_gradient(b)) return nullptr;
  if ((is_scalar(x) && is_list(y)) || (is_list(x) && is_scalar(y))) return nullptr;
  BinaryPlan& plan = ufunc->binary[a.given][b.given];
  if (plan.state == State::UNKNOWN) make_plan(ufunc, plan, a.given, b.given, NONE);
  at::Tensor left, right;
  if (ufunc->is_power) {
    double exponent;
    if (b.number == nullptr || !(bit(plan.left) & FLOATS) || !read_exponent(b, plan.left, exponent)) return nullptr;
    if (!tensor_of(a, plan.left, left)) return nullptr;
    at::Tensor result = without_gil(left.numel(), [&] { return recorded_power(left, exponent); });
    return result.defined() ? wrap_recorded(std::move(result)) : nullptr;
  }
  if (plan.recorded == nullptr || !tensor_of(a, plan.left, left) || !tensor_of(b, plan.right, right)) return nullptr;
  return wrap_recorded(without_gil(std::max(left.numel(), right.numel()), [&] { return plan.recorded(left, right); }));
}

PyObject* call_recorded(Ufunc* ufunc, PyObject* x) {
  Operand a;
  if (PyErr_Occurred() || !read_recorded(x, a) || !has_gradient(a)) return nullptr;
  UnaryPlan& plan = ufunc->unary[a.given];
  if (plan.state == State::UNKNOWN) make_plan(ufunc, plan, a.given);
  at::Tensor operand;
  if (plan.recorded == nullptr || !tensor_of(a, plan.in, operand)) return nullptr;
  return wrap_recorded(without_gil(operand.numel(), [&] { return plan.recorded(operand); }));
}

}  // namespace

PyObject* call_binary(Ufunc* ufunc, PyObject* x, PyObject* y) {
  Operand a, b;
  if (!is_quiet()) return nullptr;
  if (!read(x, a) || !read(y, b)) return call_recorded(ufunc, x, y);
  if (!is_ours(x) && !is_ours(y)) {
    if (!is_taken(a) || !is_taken(b)) return nullptr;
  }
  if ((is_scalar(x) && is_list(y)) || (is_list(x) && is_scalar(y))) return nullptr;  // s * [1, 2] repeats
  BinaryPlan& plan = ufunc->binary[a.given][b.given];
  if (plan.state == State::UNKNOWN) make_plan(ufunc, plan, a.given, b.given, NONE);
  if (!is_native(plan.state) || is_refused(ufunc, plan, b)) return nullptr;
  if (a.tensor == nullptr && b.tensor == nullptr && plan.loop != nullptr) {
    PyObject* result = call_values(plan, a, b);
    if (result != nullptr || PyErr_Occurred()) return result;
  }
  return call_arrays(plan, ufunc->is_power, a, b);
}

PyObject* call_unary(Ufunc* ufunc, PyObject* x) {
  Operand a;
  if (!is_quiet()) return nullptr;
  if (!read(x, a)) return call_recorded(ufunc, x);
  if (!is_ours(x) && !is_taken(a)) return nullptr;
  UnaryPlan& plan = ufunc->unary[a.given];
  if (plan.state == State::UNKNOWN) make_plan(ufunc, plan, a.given);
  if (!is_native(plan.state)) return nullptr;
  if (a.tensor == nullptr && plan.loop == nullptr && plan.by_kernel != nullptr) {
    alignas(16) char place[16];
    const char* value = cast_value(a, plan.in, place);
    if (value != nullptr) return wrap_scalar(plan.by_kernel(value, plan.in), plan.out);
  }
  int64_t n = a.tensor == nullptr ? 1 : a.tensor->numel();
  if (plan.loop != nullptr && !prefers_kernel(plan, a.sizes()))
    if (PyObject* result = call_loop(plan, a)) return result;
  if (plan.kernel == nullptr || PyErr_Occurred()) return nullptr;
  at::Tensor operand;
  if (!tensor_of(a, plan.in, operand)) return nullptr;
  return wrap(without_gil(n, [&] { return plan.kernel(operand); }));
}

namespace {

// Compute `target op= b` if the target has any strides or b is broadcast; false if they share memory.
bool write_rows(const BinaryPlan& plan, const at::Tensor& target, const Operand& b) {
  int64_t dim = target.dim();
  if (dim == 0 || target.numel() == 0 || b.sizes().size() > target.sizes().size()) return false;
  for (int64_t axis = 0; axis < dim; axis++)
    if (target.strides()[axis] == 0 && target.sizes()[axis] != 1) return false;  // read-only, or elements that overlap
  at::Tensor right;
  if (!tensor_of(b, plan.right, right)) return false;
  if (b.tensor != nullptr && b.given == plan.right && may_overlap(right, target)) return false;
  c10::SmallVector<int64_t, 6> strides(dim, 0);
  for (int64_t axis = 0, first = dim - right.dim(); axis < right.dim(); axis++) {
    if (right.sizes()[axis] == 1) continue;
    if (right.sizes()[axis] != target.sizes()[first + axis]) return false;
    strides[first + axis] = right.strides()[axis];
  }
  int64_t width = itemsize(plan.out);
  RowWriter rows{plan.loop, copy_loop(plan.out, plan.out), width, width, width, {}};
  char* data = writeable_data_of(target);
  rows.run(data, data, data_of(right), target.sizes(), target.strides().data(), target.strides().data(), strides.data());
  return true;
}

// Compute `target op= b` into new memory and copy it.
bool write_computed(const BinaryPlan& plan, bool is_power, const Operand& a, const Operand& b) {
  const at::Tensor& target = *a.tensor;
  if (target.dim() == 0 || !target.is_contiguous()) return false;
  PyObject* made = call_arrays(plan, is_power, a, b);
  const at::Tensor* result = made == nullptr || !is_array(made) ? nullptr : plain_tensor(made);
  bool fits = result != nullptr && result->dtype() == target.dtype() && result->sizes() == target.sizes();
  fits = fits && result->is_contiguous();
  if (fits && target.numel() > 0) std::memcpy(writeable_data_of(target), data_of(*result), target.nbytes());
  if (fits) target.unsafeGetTensorImpl()->bump_version();
  Py_XDECREF(made);
  return fits;
}

// Return where a loop may write its results directly: the memory of `out`, if dtype and shape fit and no operand shares
// this memory other than element by element; else nullptr.
char* place_of(PyObject* out, int8_t dtype, c10::IntArrayRef sizes, const Operand& a, const Operand& b) {
  const at::Tensor* target = is_array(out) ? plain_tensor(out) : nullptr;
  if (target == nullptr || dtype_of(*target) != dtype || target->sizes() != sizes || target->dim() == 0) return nullptr;
  if (!target->is_contiguous()) return nullptr;
  for (const Operand* operand : {&a, &b}) {
    if (operand->tensor == nullptr || !may_overlap(*operand->tensor, *target)) continue;
    bool is_same = data_of(*operand->tensor) == data_of(*target) && operand->given == dtype &&
                   operand->tensor->sizes() == sizes && operand->tensor->is_contiguous();
    if (!is_same) return nullptr;
  }
  return writeable_data_of(*target);
}

// torch's kernels may differ in the last bits for an operand that is not laid out like `out`.
bool is_in_order(const Operand& operand) { return operand.is_0d() || is_dense(*operand.tensor); }

PyObject* written(PyObject* out) {
  plain_tensor(out)->unsafeGetTensorImpl()->bump_version();
  return Py_NewRef(out);
}

// Copy a kernel's result to its place.
PyObject* written(PyObject* out, char* place, const at::Tensor& result) {
  const at::Tensor& target = *plain_tensor(out);
  if (result.dtype() != target.dtype() || result.sizes() != target.sizes() || !result.is_contiguous()) return nullptr;
  if (result.numel() > 0) std::memcpy(place, data_of(result), result.nbytes());
  return written(out);
}

}  // namespace

namespace {

// Compute into new memory, and cast the results to an output of another dtype or in another order.
PyObject* call_binary_elsewhere(Ufunc* ufunc, const Operand& a, const Operand& b, PyObject* out) {
  const at::Tensor* target = is_array(out) ? plain_tensor(out) : nullptr;
  if (target == nullptr || target->dim() == 0 || target->numel() == 0 || target->numel() >= LARGE) return nullptr;
  if (!is_dense(*target) && (target->dim() > 1 || target->strides()[0] <= 0)) return nullptr;
  int8_t dtype = dtype_of(*target);
  if (dtype == NONE) return nullptr;
  BinaryPlan& plan = ufunc->into[{a.given, b.given, dtype}];
  if (plan.state == State::UNKNOWN) make_plan(ufunc, plan, a.given, b.given, dtype);
  auto copy = copy_loop(plan.out, dtype);
  if (!is_native(plan.state) || copy == nullptr) return nullptr;
  PyObject* made = call_arrays(plan, false, a, b);
  const at::Tensor* result = made != nullptr && is_array(made) ? plain_tensor(made) : nullptr;
  bool fits = result != nullptr && result->sizes() == target->sizes() && is_dense(*result);
  if (fits) copy(writeable_data_of(*target), data_of(*result), target->numel(), is_dense(*target) ? 1 : target->strides()[0], 1);
  Py_XDECREF(made);
  return fits ? written(out) : nullptr;
}

}  // namespace

PyObject* call_binary_into(Ufunc* ufunc, PyObject* x, PyObject* y, PyObject* out) {
  Operand a, b;
  if (!is_quiet() || ufunc->is_power || !read(x, a) || !read(y, b)) return nullptr;
  BinaryPlan& plan = ufunc->binary[a.given][b.given];
  if (plan.state == State::UNKNOWN) make_plan(ufunc, plan, a.given, b.given, NONE);
  if (!is_native(plan.state)) return nullptr;
  c10::IntArrayRef sizes;
  if (!has_common_shape(a, b, sizes)) return nullptr;
  char* place = place_of(out, plan.out, sizes, a, b);
  if (place == nullptr) return call_binary_elsewhere(ufunc, a, b, out);
  Source left, right;
  int64_t n = c10::multiply_integers(sizes);
  if (plan.loop != nullptr && prepare(a, plan.left, left) && prepare(b, plan.right, right)) {
    run_parts(plan, place, left, right, n);
    return written(out);
  }
  if (n >= LARGE) return nullptr;  // torch's kernel writes its result there itself
  if (PyErr_Occurred() || plan.kernel == nullptr || !is_in_order(a) || !is_in_order(b)) return nullptr;
  at::Tensor one, other;
  if (!tensor_of(a, plan.left, one) || !tensor_of(b, plan.right, other)) return nullptr;
  return written(out, place, plan.kernel(one, other));
}

PyObject* call_unary_into(Ufunc* ufunc, PyObject* x, PyObject* out) {
  Operand a;
  if (!is_quiet() || !is_ours(x) || !read(x, a)) return nullptr;
  UnaryPlan& plan = ufunc->unary[a.given];
  if (plan.state == State::UNKNOWN) make_plan(ufunc, plan, a.given);
  if (!is_native(plan.state)) return nullptr;
  char* place = place_of(out, plan.out, a.sizes(), a, a);
  if (place == nullptr) return nullptr;
  Source source;
  int64_t n = a.tensor->numel();
  if (plan.loop != nullptr && prepare(a, plan.in, source)) {
    run_parts(plan.loop, plan.in, plan.out, place, source, n);
    return written(out);
  }
  if (n >= LARGE) return nullptr;  // torch's kernel writes its result there itself
  if (plan.kernel == nullptr || !is_in_order(a)) return nullptr;
  at::Tensor operand;
  if (!tensor_of(a, plan.in, operand)) return nullptr;
  return written(out, place, plan.kernel(operand));
}

bool call_inplace(Ufunc* ufunc, PyObject* x, PyObject* y) {
  Operand a, b;
  if (!is_quiet() || !is_array(x) || !read(x, a) || a.tensor == nullptr || !read(y, b)) return false;
  BinaryPlan& plan = ufunc->inplace[a.given][b.given];
  if (plan.state == State::UNKNOWN) make_plan(ufunc, plan, a.given, b.given, a.given);
  if (!is_native(plan.state) || plan.left != a.given || plan.out != a.given || is_refused(ufunc, plan, b)) return false;
  const at::Tensor& target = *a.tensor;
  int64_t n = target.numel();
  bool is_shortened = ufunc->is_power && b.number != nullptr && is_shortcut(a.given, b.number);
  if (plan.loop == nullptr || is_shortened || prefers_kernel(plan, target.sizes()))
    return n < LARGE && write_computed(plan, ufunc->is_power, a, b);
  if (n >= LARGE && (!target.is_contiguous() || (!b.is_0d() && b.tensor->sizes() != target.sizes()))) return false;
  if (!target.is_contiguous() || (!b.is_0d() && b.tensor->sizes() != target.sizes())) {
    if (!write_rows(plan, target, b)) return false;
    target.unsafeGetTensorImpl()->bump_version();
    return true;
  }
  if (!b.is_0d()) {
    bool is_target = data_of(*b.tensor) == data_of(target) && b.given == a.given && b.tensor->is_contiguous();
    if (!is_target && may_overlap(*b.tensor, target)) return false;
  }
  Source left, right;
  if (!prepare(b, plan.right, right)) return false;
  if (b.is_0d() && right.data != right.value) {  // it may be an element of the target
    std::memcpy(right.value, right.data, itemsize(plan.right));
    right.data = right.value;
  }
  char* data = writeable_data_of(target);
  left.data = data;
  left.stride = 1;
  run_parts(plan, data, left, right, n);
  target.unsafeGetTensorImpl()->bump_version();
  return true;
}

}  // namespace tnp
