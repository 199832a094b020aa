// Dtypes by number.
#pragma once

#include <cstdint>

namespace tnp {

// In the order of DTYPES in __init__.py. The dtypes before LOOPS have native loops.
enum Dtype : int8_t { B1, U8, U16, U32, U64, I8, I16, I32, I64, F32, F64, C64, C128, LOOPS, F16 = LOOPS, BF16, DTYPES };
constexpr int8_t NONE = -1;

constexpr int64_t ITEMSIZES[DTYPES] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 8, 16, 2, 2};
constexpr int64_t itemsize(int8_t dtype) { return ITEMSIZES[dtype]; }

}  // namespace tnp
