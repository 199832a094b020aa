// Functions of arrays of one shape in C order that NumPy and torch compute in several passes, or after a long preparation.
#include "elements.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "functions.h"
#include "host.h"
#include "layout.h"
#include "loops.h"
#include "picking.h"

namespace tnp {
namespace {

// The tensor of an array in C order with elements; else nullptr.
const at::Tensor* in_c_order(PyObject* x) {
  const at::Tensor* tensor = is_array(x) ? plain_tensor(x) : nullptr;
  return tensor != nullptr && tensor->dim() > 0 && tensor->numel() > 0 && is_dense(*tensor) ? tensor : nullptr;
}

bool is_text(PyObject* given, const char* text) {
  return PyUnicode_CheckExact(given) && PyUnicode_CompareWithASCIIString(given, text) == 0;
}

template <class T>
void find_close(uint8_t* out, const T* x, const T* y, int64_t n, T rtol, T atol, bool nans_are_close) {
  constexpr T INFINITE = std::numeric_limits<T>::infinity();
  for (int64_t i = 0; i < n; i++) {
    T size = std::fabs(y[i]);
    bool is_near = std::fabs(x[i] - y[i]) <= atol + rtol * size;
    out[i] = (is_near & (size < INFINITE)) | (x[i] == y[i]);
  }
  for (int64_t i = 0; i < n && nans_are_close; i++) out[i] |= (x[i] != x[i]) & (y[i] != y[i]);
}

// isclose(a, b, rtol, atol, equal_nan) of floats of one dtype.
PyObject* isclose(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    if (count != 5 || !PyFloat_CheckExact(args[2]) || !PyFloat_CheckExact(args[3]) || !PyBool_Check(args[4])) return nullptr;
    double rtol = PyFloat_AS_DOUBLE(args[2]), atol = PyFloat_AS_DOUBLE(args[3]);
    if (!(0 <= rtol && rtol <= 0.5 && 0 <= atol && atol <= 3e4) || !is_quiet()) return nullptr;
    const at::Tensor *x = in_c_order(args[0]), *y = in_c_order(args[1]);
    if (x == nullptr || y == nullptr || x->dtype() != y->dtype() || x->sizes() != y->sizes()) return nullptr;
    int8_t dtype = dtype_of(*x);
    if (dtype != F64 && dtype != F32) return nullptr;
    at::Tensor made = empty(x->sizes(), B1);
    auto* out = reinterpret_cast<uint8_t*>(writeable_data_of(made));
    const char *one = data_of(*x), *other = data_of(*y);
    in_parts(made.numel(), [&](int64_t from, int64_t size) {
      auto part = [&]<class T>(T) {
        find_close(out + from, reinterpret_cast<const T*>(one) + from, reinterpret_cast<const T*>(other) + from, size,
                static_cast<T>(rtol), static_cast<T>(atol), args[4] == Py_True);
      };
      dtype == F64 ? part(double()) : part(float());
    });
    return wrap_array(std::move(made));
  });
}

template <class T>
void put_chosen(char* out_, const char* mask_, const char* values_, int64_t n, int64_t step) {
  auto* out = reinterpret_cast<T*>(out_);
  const auto* values = reinterpret_cast<const T*>(values_);
  const auto* mask = reinterpret_cast<const uint8_t*>(mask_);
  const T value = *values;
  if (step == 0) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) out[i] = mask[i] ? value : out[i];
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) out[i] = mask[i] ? values[i] : out[i];
  }
}

// Write values, or a number, where a mask is true: all of one shape, and of one dtype.
PyObject* put_where(PyObject* array, PyObject* mask, PyObject* values) {
  const at::Tensor* target = is_quiet() ? in_c_order(array) : nullptr;
  const at::Tensor *where = in_c_order(mask), *from = in_c_order(values);
  int8_t dtype = target == nullptr ? NONE : dtype_of(*target);
  if (dtype == NONE || dtype >= LOOPS || where == nullptr || dtype_of(*where) != B1) return nullptr;
  if (where->sizes() != target->sizes() || may_overlap(*where, *target)) return nullptr;
  alignas(16) char number[16];
  if (from == nullptr) {
    if (!is_number(values) || (dtype == B1) != PyBool_Check(values) || !store_number(values, dtype, number, false)) return nullptr;
  } else if (from->dtype() != target->dtype() || from->sizes() != target->sizes() || may_overlap(*from, *target)) {
    return nullptr;
  }
  char* out = writeable_data_of(*target);
  const char *chosen = data_of(*where), *source = from == nullptr ? number : data_of(*from);
  int64_t step = from != nullptr, width = itemsize(dtype);
  in_parts(target->numel(), [&](int64_t first, int64_t n) {
    auto part = [&]<class T>(T) { put_chosen<T>(out + first * width, chosen + first, source + first * width * step, n, step); };
    switch (width) {
      case 1: return part(uint8_t());
      case 2: return part(uint16_t());
      case 4: return part(uint32_t());
      case 8: return part(uint64_t());
      default: return part(std::array<uint64_t, 2>());
    }
  });
  target->unsafeGetTensorImpl()->bump_version();
  return Py_NewRef(Py_True);
}

// copyto(dst, src, casting, where) and putmask(a, mask, values): True if they are done.
PyObject* copyto(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&] { return count == 4 && is_text(args[2], "same_kind") ? put_where(args[0], args[3], args[1]) : nullptr; });
}
PyObject* putmask(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&] { return count == 3 ? put_where(args[0], args[1], args[2]) : nullptr; });
}

static_assert(std::endian::native == std::endian::little);

// Bits of bytes, the first the highest: elements that are not zero.
void pack_bits(uint8_t* out, const uint8_t* x, int64_t n) {
#ifdef __AVX2__
  const __m128i eight = _mm_set_epi8(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i reversed = _mm256_broadcastsi128_si256(eight), zero = _mm256_setzero_si256();
  for (; n >= 32; n -= 32, x += 32, out += 4) {
    __m256i items = _mm256_shuffle_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)), reversed);
    uint32_t bits = ~static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(items, zero)));
    std::memcpy(out, &bits, sizeof bits);
  }
#endif
  for (; n > 0; n -= 8, x += 8, out++) {
    uint8_t bits = 0;
    for (int64_t i = 0; i < std::min<int64_t>(n, 8); i++) bits |= (x[i] != 0) << (7 - i);
    *out = bits;
  }
}

// The eight bits of each byte as elements.
constexpr std::array<uint64_t, 256> UNPACKED = [] {
  std::array<uint64_t, 256> table{};
  for (uint64_t byte = 0; byte < 256; byte++)
    for (int i = 0; i < 8; i++) table[byte] |= (byte >> (7 - i) & 1) << (8 * i);
  return table;
}();

// packbits(a, axis, bitorder) and unpackbits(a, axis, count, bitorder) of all elements.
PyObject* packbits(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    const at::Tensor* x = count == 3 && args[1] == Py_None && is_text(args[2], "big") && is_quiet() ? in_c_order(args[0]) : nullptr;
    if (x == nullptr || (dtype_of(*x) != B1 && dtype_of(*x) != U8)) return nullptr;
    at::Tensor made = empty({(x->numel() + 7) / 8}, U8);
    auto* out = reinterpret_cast<uint8_t*>(writeable_data_of(made));
    const auto* from = reinterpret_cast<const uint8_t*>(data_of(*x));
    int64_t n = x->numel();
    in_parts(made.numel(), [&](int64_t first, int64_t size) { pack_bits(out + first, from + first * 8, std::min(size * 8, n - first * 8)); });
    return wrap_array(std::move(made));
  });
}
PyObject* unpackbits(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    if (count != 4 || args[1] != Py_None || args[2] != Py_None || !is_text(args[3], "big") || !is_quiet()) return nullptr;
    const at::Tensor* x = in_c_order(args[0]);
    if (x == nullptr || dtype_of(*x) != U8) return nullptr;
    at::Tensor made = empty({x->numel() * 8}, U8);
    char* out = writeable_data_of(made);
    const auto* from = reinterpret_cast<const uint8_t*>(data_of(*x));
    in_parts(x->numel(), [&](int64_t first, int64_t size) {
      for (int64_t i = first; i < first + size; i++) std::memcpy(out + i * 8, &UNPACKED[from[i]], 8);
    });
    return wrap_array(std::move(made));
  });
}

// take(a, indices, axis, out, mode): rows, or elements of a vector, as `a[indices]`.
PyObject* take(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    if (count != 5 || args[3] != Py_None || !is_text(args[4], "raise") || !is_quiet()) return nullptr;
    const at::Tensor* tensor = is_array(args[0]) ? plain_tensor(args[0]) : nullptr;
    const at::Tensor* indices = is_array(args[1]) ? plain_tensor(args[1]) : nullptr;
    if (tensor == nullptr || tensor->dim() == 0 || tensor->numel() == 0 || dtype_of(*tensor) == NONE) return nullptr;
    if (indices == nullptr || indices->dim() == 0 || dtype_of(*indices) != I64) return nullptr;
    bool is_first = PyLong_CheckExact(args[2]) ? PyLong_AsLong(args[2]) == 0 : args[2] == Py_None && tensor->dim() == 1;
    if (!is_first) clear_refusal();  // an axis beyond C's long
    return is_first ? get_picked(args[0], *tensor, args[1]) : nullptr;
  });
}

// pair(NumPy's ufunc, x): the two results of a ufunc of floats, frexp or modf, by NumPy's loop.
PyObject* pair(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return head([&]() -> PyObject* {
    const at::Tensor* x = count == 2 && is_quiet() && numpy_computes() ? in_c_order(args[1]) : nullptr;
    int8_t dtype = x == nullptr ? NONE : dtype_of(*x);
    if (dtype != F64 && dtype != F32 && dtype != F16) return nullptr;
    NumpyLoop loop;
    for (int8_t second : {dtype, static_cast<int8_t>(I32)}) {
      const int8_t dtypes[] = {dtype, dtype, second};
      if (loop.function == nullptr) loop = numpy_loop(args[0], dtypes, 3);
    }
    if (loop.function == nullptr) return nullptr;
    at::Tensor results[] = {empty(x->sizes(), dtype), empty(x->sizes(), loop.dtypes[2])};
    char* data[] = {data_of(*x), writeable_data_of(results[0]), writeable_data_of(results[1])};
    in_parts(x->numel(), [&](int64_t from, int64_t size) {
      char* places[3];
      intptr_t n = size, steps[3];
      for (int i = 0; i < 3; i++) {
        steps[i] = itemsize(loop.dtypes[i]);
        places[i] = data[i] + from * steps[i];
      }
      loop.function(places, &n, steps, loop.extra);
    });
    THPObjectPtr one(wrap_array(std::move(results[0]))), other(wrap_array(std::move(results[1])));
    return one == nullptr || other == nullptr ? nullptr : PyTuple_Pack(2, one.get(), other.get());
  });
}

}  // namespace

PyMethodDef ELEMENT_FUNCTIONS[] = {
    TNP_FAST("isclose", isclose),   TNP_FAST("copyto", copyto),         TNP_FAST("putmask", putmask),
    TNP_FAST("packbits", packbits), TNP_FAST("unpackbits", unpackbits), TNP_FAST("pair", pair),
    TNP_FAST("take", take),         {nullptr, nullptr, 0, nullptr},
};

}  // namespace tnp
