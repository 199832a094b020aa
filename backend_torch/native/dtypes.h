// Dtypes by number.
#pragma once

#include <c10/util/Half.h>

#include <complex>
#include <cstdint>
#include <cstring>

namespace tnp {

// In the order of DTYPES in __init__.py. The dtypes before LOOPS have native loops.
enum Dtype : int8_t { B1, U8, U16, U32, U64, I8, I16, I32, I64, F32, F64, C64, C128, F16, LOOPS, BF16 = LOOPS, DTYPES };
constexpr int8_t NONE = -1;

constexpr int64_t ITEMSIZES[DTYPES] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 8, 16, 2, 2};
constexpr int64_t itemsize(int8_t dtype) { return ITEMSIZES[dtype]; }

// Round to float16 once, as NumPy does: a conversion by way of float would round twice.
inline c10::Half to_half(double value) {
  auto near = static_cast<float>(value);
  if (static_cast<double>(near) == value || value != value) return near;
  uint32_t bits;
  std::memcpy(&bits, &near, sizeof bits);
  if ((bits & 1) == 0) {  // to odd, so that no rest is lost: towards the value, which is off this float
    bits += (static_cast<double>(near) < value) == (value > 0) ? 1 : -1;
    std::memcpy(&near, &bits, sizeof bits);
  }
  return near;
}

// Call a function with a zero of a dtype's C++ type; an empty result for a dtype without loops.
template <class Visitor>
auto visit(int8_t dtype, Visitor&& visitor) -> decltype(visitor(bool())) {
  switch (dtype) {
    case B1: return visitor(bool());
    case U8: return visitor(uint8_t());
    case U16: return visitor(uint16_t());
    case U32: return visitor(uint32_t());
    case U64: return visitor(uint64_t());
    case I8: return visitor(int8_t());
    case I16: return visitor(int16_t());
    case I32: return visitor(int32_t());
    case I64: return visitor(int64_t());
    case F32: return visitor(float());
    case F64: return visitor(double());
    case C64: return visitor(std::complex<float>());
    case C128: return visitor(std::complex<double>());
    case F16: return visitor(c10::Half());
    default: return {};
  }
}

}  // namespace tnp
