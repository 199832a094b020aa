#include "core.h"

#include <ATen/TensorIterator.h>
#include <ATen/ops/from_blob.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

namespace tnp {

const std::array<at::ScalarType, DTYPES> SCALAR_TYPES = {
    at::kBool,   at::kByte,  at::kUInt16, at::kUInt32, at::kUInt64, at::kChar,          at::kShort,        at::kInt,
    at::kLong,   at::kFloat, at::kDouble, at::kComplexFloat, at::kComplexDouble, at::kHalf,  at::kBFloat16};

const std::array<int8_t, 64> DTYPE_OF = [] {
  std::array<int8_t, 64> numbers;
  numbers.fill(NONE);
  for (int8_t i = 0; i < DTYPES; i++) numbers[static_cast<int8_t>(SCALAR_TYPES[i])] = i;
  return numbers;
}();

void in_threads(int64_t n, c10::function_ref<void(int64_t, int64_t)> run, int64_t least) {
  struct Released {
    PyThreadState* state = PyEval_SaveThread();
    ~Released() { PyEval_RestoreThread(state); }
  } released;
  // at::parallel_for is a template: compiled here, without torch's OpenMP, it is one thread. TensorIterator's threads
  // are torch's. It is given bytes that nobody reads, whose addresses count the elements.
  static char origin;
  auto places = at::TensorIteratorConfig()
                    .check_all_same_dtype(false)
                    .set_check_mem_overlap(false)
                    .resize_outputs(false)
                    .add_owned_output(at::from_blob(&origin, {n}, at::kByte))
                    .build();
  places.for_each([&](char** data, const int64_t*, int64_t count, int64_t) { run(data[0] - &origin, count); }, least);
}

bool is_dense(const at::Tensor& tensor) {
  int64_t expected = 1;
  for (int64_t axis = tensor.dim() - 1; axis >= 0; axis--) {
    if (tensor.strides()[axis] != expected) return false;
    expected *= tensor.sizes()[axis];
  }
  return true;
}

bool may_overlap(const at::Tensor& one, const at::Tensor& other) {
  if (one.numel() == 0 || other.numel() == 0) return false;
  auto end_of = [](const at::Tensor& tensor) {
    int64_t last = 0;
    for (int64_t axis = 0; axis < tensor.dim(); axis++) last += (tensor.sizes()[axis] - 1) * tensor.strides()[axis];
    return data_of(tensor) + (last + 1) * static_cast<int64_t>(tensor.itemsize());
  };
  return data_of(one) < end_of(other) && data_of(other) < end_of(one);
}

bool clear_refusal() {
  PyObject* error = PyErr_Occurred();
  if (error == nullptr) return true;
  for (PyObject* refusal : {PyExc_TypeError, PyExc_ValueError, PyExc_IndexError, PyExc_OverflowError,
                            PyExc_FloatingPointError, PyExc_Warning}) {
    if (!PyErr_GivenExceptionMatches(error, refusal)) continue;
    PyErr_Clear();
    return true;
  }
  return false;
}

namespace {

template <class T>
bool store(char* to, T value) {
  std::memcpy(to, &value, sizeof value);
  return true;
}

// Store a float or complex number; false for an integer dtype.
bool store_inexact(char* to, double real, double imaginary, int8_t dtype) {
  switch (dtype) {
    case F32: return store<float>(to, static_cast<float>(real));
    case F64: return store<double>(to, real);
    case F16: return store<c10::Half>(to, to_half(real));
    case C64: return store<std::complex<float>>(to, {static_cast<float>(real), static_cast<float>(imaginary)});
    case C128: return store<std::complex<double>>(to, {real, imaginary});
    default: return false;
  }
}

template <class T>
bool store_integer(char* to, PyObject* number) {
  if constexpr (std::is_unsigned_v<T> && sizeof(T) == 8) {
    uint64_t value = PyLong_AsUnsignedLongLong(number);
    if (value == static_cast<uint64_t>(-1) && PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
    return store<T>(to, value);
  } else {
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow || value < static_cast<long long>(std::numeric_limits<T>::min()) ||
        value > static_cast<long long>(std::numeric_limits<T>::max()))
      return false;
    return store<T>(to, static_cast<T>(value));
  }
}

// Store a float without its fraction, as an assignment does. False if it does not fit: NumPy raises the error then.
template <class T>
bool store_truncated(char* to, double value) {
  constexpr double LIMIT = 2147483648.0;  // larger floats are left to NumPy
  double whole = std::trunc(value);
  if (!(std::fabs(whole) < LIMIT) || whole < static_cast<double>(std::numeric_limits<T>::min()) ||
      whole > static_cast<double>(std::numeric_limits<T>::max()))
    return false;
  return store<T>(to, static_cast<T>(whole));
}

}  // namespace

bool store_number(PyObject* number, int8_t dtype, char* to, bool truncate) {
  if (PyFloat_CheckExact(number)) {
    double value = PyFloat_AS_DOUBLE(number);
    if (store_inexact(to, value, 0, dtype)) return true;
    if (!truncate) return false;
    switch (dtype) {
      case B1: return store<bool>(to, value != 0);
      case U8: return store_truncated<uint8_t>(to, value);
      case U16: return store_truncated<uint16_t>(to, value);
      case U32: return store_truncated<uint32_t>(to, value);
      case U64: return store_truncated<uint64_t>(to, value);
      case I8: return store_truncated<int8_t>(to, value);
      case I16: return store_truncated<int16_t>(to, value);
      case I32: return store_truncated<int32_t>(to, value);
      case I64: return store_truncated<int64_t>(to, value);
      default: return false;
    }
  }
  if (PyComplex_CheckExact(number)) {
    Py_complex value = PyComplex_AsCComplex(number);
    return bit(dtype) & COMPLEX && store_inexact(to, value.real, value.imag, dtype);
  }
  if (!PyLong_Check(number)) return false;  // True for a bool too
  switch (dtype) {
    case B1: return (truncate || PyBool_Check(number)) && store<bool>(to, PyObject_IsTrue(number) != 0);
    case U8: return store_integer<uint8_t>(to, number);
    case U16: return store_integer<uint16_t>(to, number);
    case U32: return store_integer<uint32_t>(to, number);
    case U64: return store_integer<uint64_t>(to, number);
    case I8: return store_integer<int8_t>(to, number);
    case I16: return store_integer<int16_t>(to, number);
    case I32: return store_integer<int32_t>(to, number);
    case I64: return store_integer<int64_t>(to, number);
    case F32:
    case F64:
    case C64:
    case C128:
    case F16: {
      double value = PyLong_AsDouble(number);
      if (value == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        return false;
      }
      return store_inexact(to, value, 0, dtype);
    }
    default: return false;
  }
}

namespace {

template <class T>
PyObject* load_complex(const char* from) {
  const auto* parts = reinterpret_cast<const T*>(from);
  return PyComplex_FromDoubles(parts[0], parts[1]);
}

}  // namespace

PyObject* load_number(const char* from, int8_t dtype) {
  switch (dtype) {
    case B1: return PyBool_FromLong(*reinterpret_cast<const bool*>(from));
    case U8: return PyLong_FromLong(*reinterpret_cast<const uint8_t*>(from));
    case U16: return PyLong_FromLong(*reinterpret_cast<const uint16_t*>(from));
    case U32: return PyLong_FromUnsignedLong(*reinterpret_cast<const uint32_t*>(from));
    case U64: return PyLong_FromUnsignedLongLong(*reinterpret_cast<const uint64_t*>(from));
    case I8: return PyLong_FromLong(*reinterpret_cast<const int8_t*>(from));
    case I16: return PyLong_FromLong(*reinterpret_cast<const int16_t*>(from));
    case I32: return PyLong_FromLong(*reinterpret_cast<const int32_t*>(from));
    case I64: return PyLong_FromLongLong(*reinterpret_cast<const int64_t*>(from));
    case F32: return PyFloat_FromDouble(*reinterpret_cast<const float*>(from));
    case F64: return PyFloat_FromDouble(*reinterpret_cast<const double*>(from));
    case F16: return PyFloat_FromDouble(*reinterpret_cast<const c10::Half*>(from));
    case C64: return load_complex<float>(from);
    case C128: return load_complex<double>(from);
    default: return nullptr;
  }
}

}  // namespace tnp
