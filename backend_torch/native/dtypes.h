// Dtypes by number.
#pragma once

#include <cstdint>

namespace tnp {

// In the order of DTYPES in __init__.py. Those up to LOOPS have loops of their own.
enum Dtype : int8_t { B1, U8, U16, U32, U64, I8, I16, I32, I64, F32, F64, LOOPS, F16 = LOOPS, BF16, C64, C128, DTYPES };
constexpr int8_t NONE = -1;

int64_t itemsize(int8_t dtype);

}  // namespace tnp
