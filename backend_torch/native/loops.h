// The loops: one operation on elements of one dtype.
#pragma once

#include "dtypes.h"

namespace tnp {

// Elements of `out` lie one after the other; strides of operands are in elements.
using BinaryLoop = void (*)(char* out, const char* a, const char* b, int64_t n, int64_t stride_a, int64_t stride_b);
using UnaryLoop = void (*)(char* out, const char* a, int64_t n, int64_t stride);
using CopyLoop = void (*)(char* out, const char* a, int64_t n, int64_t stride_out, int64_t stride);

template <class Loop>
struct Found {
  Loop loop = nullptr;
  int8_t out = NONE;
};

// What computes a ufunc on operands of one dtype, if anything does.
Found<BinaryLoop> binary_loop(const char* ufunc, int8_t dtype);
Found<UnaryLoop> unary_loop(const char* ufunc, int8_t dtype);

// A cast, or a copy where both are the same.
CopyLoop copy_loop(int8_t from, int8_t to);

}  // namespace tnp
