// Loops: one operation on many elements of one dtype.
#pragma once

#include <cstddef>

#include "dtypes.h"

namespace tnp {

// A loop of a NumPy ufunc that backend_torch uses at any size. It counts strides in bytes.
struct NumpyLoop {
  void (*function)(char** data, const intptr_t* sizes, const intptr_t* steps, void* extra) = nullptr;
  void* extra = nullptr;
  int8_t dtypes[3];  // dtypes of the operands and the output
};

// A native loop or one of NumPy's. `out` is contiguous; strides of operands count elements. `One` computes one element.
template <class Own, class OneElement>
class Loop {
 public:
  using One = OneElement;
  Loop(Own own = nullptr) : own_(own) {}
  explicit Loop(const NumpyLoop& numpy) : numpy_(numpy) {}
  bool operator==(std::nullptr_t) const { return own_ == nullptr && numpy_.function == nullptr; }

  void operator()(char* out, const char* a, int64_t n, int64_t stride) const {
    if (own_ != nullptr) return own_(out, a, n, stride);
    intptr_t size = n, steps[] = {stride * itemsize(numpy_.dtypes[0]), itemsize(numpy_.dtypes[1])};
    char* data[] = {const_cast<char*>(a), out};
    if (n > 0) numpy_.function(data, &size, steps, numpy_.extra);
  }

  void operator()(char* out, const char* a, const char* b, int64_t n, int64_t stride_a, int64_t stride_b) const {
    if (own_ != nullptr) return own_(out, a, b, n, stride_a, stride_b);
    intptr_t size = n;
    intptr_t steps[] = {stride_a * itemsize(numpy_.dtypes[0]), stride_b * itemsize(numpy_.dtypes[1]),
                        itemsize(numpy_.dtypes[2])};
    char* data[] = {const_cast<char*>(a), const_cast<char*>(b), out};
    if (n > 0) numpy_.function(data, &size, steps, numpy_.extra);
  }

 private:
  Own own_ = nullptr;
  NumpyLoop numpy_;
};

using BinaryLoop =
    Loop<void (*)(char* out, const char* a, const char* b, int64_t n, int64_t stride_a, int64_t stride_b),
         void (*)(char* out, const char* a, const char* b)>;
using UnaryLoop =
    Loop<void (*)(char* out, const char* a, int64_t n, int64_t stride), void (*)(char* out, const char* a)>;
using CopyLoop = void (*)(char* out, const char* a, int64_t n, int64_t stride_out, int64_t stride);

template <class Loop>
struct Found {
  Loop loop;
  int8_t out = NONE;
  typename Loop::One one = nullptr;
};

// Return the native loop of a ufunc on operands of one dtype, if there is one.
Found<BinaryLoop> binary_loop(const char* ufunc, int8_t dtype);
Found<UnaryLoop> unary_loop(const char* ufunc, int8_t dtype);

// Return the loop that casts, or that copies if both dtypes are the same.
CopyLoop copy_loop(int8_t from, int8_t to);

}  // namespace tnp
