// Only operations whose result is the same in every IEEE and two's complement implementation. So these loops give the
// same bits as torch's kernels and as NumPy.
#include "loops.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>

namespace tnp {
namespace {

template <class T>
constexpr bool is_half = std::is_same_v<T, c10::Half>;
template <class T>
constexpr bool is_float = std::is_floating_point_v<T>;
template <class T>
constexpr bool is_bool = std::is_same_v<T, bool>;
template <class T>
constexpr bool is_integer = std::is_integral_v<T> && !is_bool<T>;
template <class T>
constexpr bool is_complex = false;
template <class T>
constexpr bool is_complex<std::complex<T>> = true;

// Each operation defines for which types it has a loop, and its result.

#define TNP_ARITHMETIC(NAME, OPERATOR, OF_BOOL)                                    \
  struct NAME {                                                                    \
    template <class T>                                                             \
    static constexpr bool has = is_bool<T> ? OF_BOOL != ' ' : !is_complex<T> || OF_BOOL != '&'; \
    template <class T>                                                             \
    static T of(T a, T b) {                                                        \
      if constexpr (is_bool<T>)                                                    \
        return OF_BOOL == '|' ? (a | b) : (a & b);                                 \
      else if constexpr (is_float<T> || is_complex<T>)                             \
        return a OPERATOR b;                                                       \
      else {                                                                       \
        using Wide = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>; \
        return static_cast<T>(static_cast<Wide>(a) OPERATOR static_cast<Wide>(b)); \
      }                                                                            \
    }                                                                              \
  };
TNP_ARITHMETIC(Add, +, '|')
TNP_ARITHMETIC(Subtract, -, ' ')
TNP_ARITHMETIC(Multiply, *, '&')
#undef TNP_ARITHMETIC

struct Divide {
  template <class T>
  static constexpr bool has = is_float<T>;
  template <class T>
  static T of(T a, T b) {
    return a / b;
  }
};

// Like NumPy, a quotient by 0 is 0, and the smallest integer divided by -1 is itself.
struct FloorDivide {
  template <class T>
  static constexpr bool has = is_integer<T>;
  template <class T>
  static T of(T a, T b) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
      T quotient = a / b;
      return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
    } else {
      return a / b;
    }
  }
};

// fmod, by a quotient where that is whole as a float: libm takes a step for each of its bits. The fused sum is exact.
template <class T>
T fmod(T a, T b) {
  if (std::fabs(a) < std::fabs(b)) return a;
  double x = std::fabs(static_cast<double>(a)), y = std::fabs(static_cast<double>(b)), quotient = std::trunc(x / y);
  if (!(quotient < 0x1p52)) return std::fmod(a, b);
  double rest = std::fma(-quotient, y, x);
  if (rest < 0) rest += y;  // the quotient was rounded up
  return std::copysign(static_cast<T>(rest), a);
}

struct Remainder {
  template <class T>
  static constexpr bool has = is_float<T> || is_integer<T>;
  template <class T>
  static T of(T a, T b) {
    if constexpr (is_float<T>) {
      T rest = fmod(a, b);
      if (b == 0) return rest;
      if (rest == 0) return std::copysign(T(0), b);
      return (b < 0) != (rest < 0) ? rest + b : rest;
    } else if constexpr (std::is_signed_v<T>) {
      if (b == 0 || b == -1) return 0;
      T rest = a % b;
      return (rest != 0 && (rest < 0) != (b < 0)) ? rest + b : rest;
    } else {
      return b == 0 ? 0 : a % b;
    }
  }
};

#define TNP_COMPARISON(NAME, OPERATOR)          \
  struct NAME {                                 \
    template <class T>                          \
    static constexpr bool has = true;           \
    template <class T>                          \
    static bool of(T a, T b) {                  \
      return a OPERATOR b;                      \
    }                                           \
  };
TNP_COMPARISON(Equal, ==)
TNP_COMPARISON(NotEqual, !=)
#undef TNP_COMPARISON

// Complex numbers are ordered by their real parts, then by their imaginary ones, as in NumPy.
#define TNP_ORDER(NAME, STRICT, OPERATOR)                                                          \
  struct NAME {                                                                                    \
    template <class T>                                                                             \
    static constexpr bool has = true;                                                              \
    template <class T>                                                                             \
    static bool of(T a, T b) {                                                                     \
      if constexpr (is_complex<T>) {                                                               \
        if (a.real() == b.real()) return a.imag() OPERATOR b.imag();                               \
        return a.real() STRICT b.real() && a.imag() == a.imag() && b.imag() == b.imag();           \
      } else {                                                                                     \
        return a OPERATOR b;                                                                       \
      }                                                                                            \
    }                                                                                              \
  };
TNP_ORDER(Less, <, <)
TNP_ORDER(LessEqual, <, <=)
TNP_ORDER(Greater, >, >)
TNP_ORDER(GreaterEqual, >, >=)
#undef TNP_ORDER

#define TNP_LOGIC(NAME, OPERATOR)                                   \
  struct NAME {                                                     \
    template <class T>                                              \
    static constexpr bool has = true;                               \
    template <class T>                                              \
    static bool of(T a, T b) {                                      \
      return static_cast<bool>((a != T(0)) OPERATOR (b != T(0)));   \
    }                                                               \
  };
TNP_LOGIC(LogicalAnd, &)
TNP_LOGIC(LogicalOr, |)
TNP_LOGIC(LogicalXor, ^)
#undef TNP_LOGIC

#define TNP_BITS(NAME, OPERATOR)                \
  struct NAME {                                 \
    template <class T>                          \
    static constexpr bool has = std::is_integral_v<T>; \
    template <class T>                          \
    static T of(T a, T b) {                     \
      return static_cast<T>(a OPERATOR b);      \
    }                                           \
  };
TNP_BITS(BitwiseAnd, &)
TNP_BITS(BitwiseOr, |)
TNP_BITS(BitwiseXor, ^)
#undef TNP_BITS

// A shift by at least the width, or by a negative number, gives 0; of a negative number to the right it gives -1.
struct LeftShift {
  template <class T>
  static constexpr bool has = is_integer<T>;
  template <class T>
  static T of(T a, T b) {
    using U = std::make_unsigned_t<T>;
    if (static_cast<U>(b) >= sizeof(T) * 8) return 0;
    return static_cast<T>(static_cast<uint64_t>(static_cast<U>(a)) << static_cast<U>(b));
  }
};
struct RightShift {
  template <class T>
  static constexpr bool has = is_integer<T>;
  template <class T>
  static T of(T a, T b) {
    using U = std::make_unsigned_t<T>;
    if (static_cast<U>(b) >= sizeof(T) * 8) return static_cast<T>(a < 0 ? -1 : 0);
    return static_cast<T>(a >> b);
  }
};

// Powers of integers modulo their width; the caller refuses negative exponents.
struct Power {
  template <class T>
  static constexpr bool has = is_integer<T>;
  template <class T>
  static T of(T a, T b) {
    T power = 1;
    for (auto rest = static_cast<std::make_unsigned_t<T>>(b);; a = Multiply::of<T>(a, a)) {
      if (rest & 1) power = Multiply::of<T>(power, a);
      if ((rest >>= 1) == 0) return power;
    }
  }
};

#define TNP_EXTREME(NAME, OPERATOR, ORDERED)                 \
  struct NAME {                                     \
    template <class T>                              \
    static constexpr bool has = true;               \
    template <class T>                              \
    static T of(T a, T b) {                         \
      if constexpr (is_float<T>) {                  \
        if (a != a) return a;                       \
        return (a OPERATOR b || b != b) ? b : a;    \
      } else if constexpr (is_complex<T>) {         \
        return a != a || ORDERED::of<T>(a, b) ? a : b; \
      } else {                                      \
        return a OPERATOR b ? b : a;                \
      }                                             \
    }                                               \
  };
TNP_EXTREME(Maximum, <, GreaterEqual)
TNP_EXTREME(Minimum, >, LessEqual)
#undef TNP_EXTREME

struct CopySign {
  template <class T>
  static constexpr bool has = is_float<T>;
  template <class T>
  static T of(T a, T b) {
    return std::copysign(a, b);
  }
};

struct NextAfter {
  template <class T>
  static constexpr bool has = is_float<T>;
  template <class T>
  static T of(T a, T b) {
    return std::nextafter(a, b);
  }
};

// One operand.

struct Negative {
  template <class T>
  static constexpr bool has = !is_bool<T>;
  template <class T>
  static T of(T a) {
    if constexpr (is_float<T> || is_complex<T>)
      return -a;
    else
      return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
  }
};

struct Positive {
  template <class T>
  static constexpr bool has = true;
  template <class T>
  static T of(T a) {
    return a;
  }
};

struct Conjugate {
  template <class T>
  static constexpr bool has = true;
  template <class T>
  static T of(T a) {
    if constexpr (is_complex<T>)
      return std::conj(a);
    else
      return a;
  }
};

struct Absolute {
  template <class T>
  static constexpr bool has = !is_complex<T>;  // NumPy's loop computes these
  template <class T>
  static T of(T a) {
    if constexpr (is_float<T>)
      return std::fabs(a);
    else if constexpr (std::is_signed_v<T>)
      return a < 0 ? static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a)) : a;
    else
      return a;
  }
};

struct Square {
  template <class T>
  static constexpr bool has = is_float<T> || is_integer<T>;
  template <class T>
  static T of(T a) {
    return Multiply::of<T>(a, a);
  }
};

struct Sqrt {
  template <class T>
  static constexpr bool has = is_float<T>;
  template <class T>
  static T of(T a) {
    return std::sqrt(a);
  }
};

struct Reciprocal {
  template <class T>
  static constexpr bool has = is_float<T>;
  template <class T>
  static T of(T a) {
    return T(1) / a;
  }
};

struct Sign {
  template <class T>
  static constexpr bool has = is_float<T> || is_integer<T>;
  template <class T>
  static T of(T a) {
    if constexpr (is_float<T>)
      return a > 0 ? T(1) : a < 0 ? T(-1) : a == 0 ? T(0) : a;
    else
      return static_cast<T>(a > 0) - static_cast<T>(a < 0);
  }
};

struct Invert {
  template <class T>
  static constexpr bool has = std::is_integral_v<T>;
  template <class T>
  static T of(T a) {
    if constexpr (is_bool<T>)
      return !a;
    else
      return static_cast<T>(~a);
  }
};

struct LogicalNot {
  template <class T>
  static constexpr bool has = true;
  template <class T>
  static bool of(T a) {
    return a == T(0);
  }
};

#define TNP_ANGLE(NAME, FACTOR)                  \
  struct NAME {                                  \
    template <class T>                           \
    static constexpr bool has = is_float<T>;     \
    template <class T>                           \
    static T of(T a) {                           \
      return a * static_cast<T>(FACTOR);         \
    }                                            \
  };
TNP_ANGLE(Radians, 0.017453292519943295769)
TNP_ANGLE(Degrees, 57.295779513082320876798)
#undef TNP_ANGLE

#define TNP_ROUNDING(NAME, FUNCTION)             \
  struct NAME {                                  \
    template <class T>                           \
    static constexpr bool has = !is_complex<T>;  \
    template <class T>                           \
    static T of(T a) {                           \
      if constexpr (is_float<T>)                 \
        return FUNCTION(a);                      \
      else                                       \
        return a;                                \
    }                                            \
  };
TNP_ROUNDING(Floor, std::floor)
TNP_ROUNDING(Ceil, std::ceil)
TNP_ROUNDING(Trunc, std::trunc)
#undef TNP_ROUNDING

struct Rint {
  template <class T>
  static constexpr bool has = is_float<T>;
  template <class T>
  static T of(T a) {
    return std::nearbyint(a);
  }
};

#define TNP_QUESTION(NAME, OF_FLOAT, JOIN, OF_INTEGER) \
  struct NAME {                                     \
    template <class T>                              \
    static constexpr bool has = true;               \
    template <class T>                              \
    static bool of(T a) {                           \
      if constexpr (is_float<T>)                    \
        return OF_FLOAT;                            \
      else if constexpr (is_complex<T>)             \
        return of(a.real()) JOIN of(a.imag());      \
      else                                          \
        return OF_INTEGER;                          \
    }                                               \
  };
TNP_QUESTION(IsNan, a != a, ||, false)
TNP_QUESTION(IsInf, std::fabs(a) == std::numeric_limits<T>::infinity(), ||, false)
TNP_QUESTION(IsFinite, std::fabs(a) < std::numeric_limits<T>::infinity(), &&, true)
#undef TNP_QUESTION

// float16 is computed in float and rounded, as in NumPy and in torch; where that is no rounding of the result, not here.

template <class Operation>
constexpr bool has_half = Operation::template has<float>;
template <>
constexpr bool has_half<NextAfter> = false;
template <>
constexpr bool has_half<Radians> = false;
template <>
constexpr bool has_half<Degrees> = false;

template <class Operation, class T>
constexpr bool has_loop() {
  if constexpr (is_half<T>)
    return has_half<Operation>;
  else
    return Operation::template has<T>;
}

template <class Operation, class T, class... Rest>
auto apply(T a, Rest... rest) {
  if constexpr (is_half<T>) {
    auto result = Operation::template of<float>(a, static_cast<float>(rest)...);
    if constexpr (is_bool<decltype(result)>)
      return result;
    else
      return c10::Half(result);
  } else {
    return Operation::template of<T>(a, rest...);
  }
}

// Loops of operations.

// Powers of many integers with one exponent: its bits are read once for a part.
template <class T>
void powers(T* out, const T* a, T exponent, int64_t n) {
  constexpr int64_t PART = 256;
  T base[PART], power[PART];
  for (int64_t first = 0; first < n; first += PART) {
    int64_t size = std::min(PART, n - first);
    auto rest = static_cast<std::make_unsigned_t<T>>(exponent);
    for (int64_t i = 0; i < size; i++) base[i] = a[first + i];
    for (int64_t i = 0; i < size; i++) power[i] = rest & 1 ? base[i] : T(1);
    while (rest >>= 1) {
      for (int64_t i = 0; i < size; i++) base[i] = Multiply::of<T>(base[i], base[i]);
      for (int64_t i = 0; i < size && rest & 1; i++) power[i] = Multiply::of<T>(power[i], base[i]);
    }
    for (int64_t i = 0; i < size; i++) out[first + i] = power[i];
  }
}

template <class Operation, class T>
void binary(char* out_, const char* a_, const char* b_, int64_t n, int64_t stride_a, int64_t stride_b) {
  if (n == 0) return;  // an empty operand may have no memory and any stride
  using R = decltype(apply<Operation>(T(), T()));
  auto* out = reinterpret_cast<R*>(out_);  // may be the same memory as an operand
  const auto* a = reinterpret_cast<const T*>(a_);
  const auto* b = reinterpret_cast<const T*>(b_);
  if (stride_a == 1 && stride_b == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) out[i] = apply<Operation>(a[i], b[i]);
  } else if (stride_a == 1 && stride_b == 0) {
    const T second = *b;
    if constexpr (std::is_same_v<Operation, Power>) return powers(out, a, second, n);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) out[i] = apply<Operation>(a[i], second);
  } else if (stride_a == 0 && stride_b == 1) {
    const T first = *a;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) out[i] = apply<Operation>(first, b[i]);
  } else {
    for (int64_t i = 0; i < n; i++) out[i] = apply<Operation>(a[i * stride_a], b[i * stride_b]);
  }
}

template <class Operation, class T>
void unary(char* out_, const char* a_, int64_t n, int64_t stride) {
  if (n == 0) return;
  using R = decltype(apply<Operation>(T()));
  auto* out = reinterpret_cast<R*>(out_);
  const auto* a = reinterpret_cast<const T*>(a_);
  if (stride == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) out[i] = apply<Operation>(a[i]);
  } else {
    for (int64_t i = 0; i < n; i++) out[i] = apply<Operation>(a[i * stride]);
  }
}

template <class To, class From>
To converted(From a) {
  if constexpr (is_half<From> && !is_half<To>)
    return converted<To>(static_cast<float>(a));
  else if constexpr (is_half<To> && std::is_same_v<From, double>)
    return to_half(a);
  else if constexpr (is_half<To> && !is_half<From>)
    return static_cast<float>(a);
  else if constexpr (is_complex<From> && is_bool<To>)
    return a != From(0);
  else if constexpr (is_complex<To> && !is_complex<From>)
    return To(static_cast<typename To::value_type>(a));
  else
    return static_cast<To>(a);
}

template <class From, class To>
void copy(char* out_, const char* a_, int64_t n, int64_t stride_out, int64_t stride) {
  if (n == 0) return;
  auto* out = reinterpret_cast<To*>(out_);
  const auto* a = reinterpret_cast<const From*>(a_);
  if (stride_out == 1 && stride == 1) {
    if constexpr (std::is_same_v<From, To>)
      std::memcpy(out, a, n * sizeof(To));
    else
      for (int64_t i = 0; i < n; i++) out[i] = converted<To>(a[i]);
  } else if (stride == 0) {
    const To value = converted<To>(*a);
    if constexpr (sizeof(To) == 1)
      if (stride_out == 1) return static_cast<void>(std::memset(out, static_cast<uint8_t>(value), n));
    if (stride_out == 1)
      std::fill_n(out, n, value);
    else
      for (int64_t i = 0; i < n; i++) out[i * stride_out] = value;
  } else {
    constexpr int64_t FEW = 4;  // read before they are written: the compiler can't know that they don't overlap
    for (; n >= FEW; n -= FEW, a += FEW * stride, out += FEW * stride_out) {
      To items[FEW];
      for (int64_t i = 0; i < FEW; i++) items[i] = converted<To>(a[i * stride]);
      for (int64_t i = 0; i < FEW; i++) out[i * stride_out] = items[i];
    }
    for (; n > 0; n--, a += stride, out += stride_out) *out = converted<To>(*a);
  }
}

template <class Operation>
Found<BinaryLoop> find_binary(int8_t dtype) {
  return visit(dtype, [&](auto zero) -> Found<BinaryLoop> {
    using T = decltype(zero);
    if constexpr (has_loop<Operation, T>()) {
      using R = decltype(apply<Operation>(T(), T()));
      return {binary<Operation, T>, std::is_same_v<R, T> ? dtype : static_cast<int8_t>(B1),
              [](char* out, const char* a, const char* b) {
                *reinterpret_cast<R*>(out) =
                    apply<Operation>(*reinterpret_cast<const T*>(a), *reinterpret_cast<const T*>(b));
              }};
    } else {
      return {};
    }
  });
}

template <class Operation>
Found<UnaryLoop> find_unary(int8_t dtype) {
  return visit(dtype, [&](auto zero) -> Found<UnaryLoop> {
    using T = decltype(zero);
    if constexpr (has_loop<Operation, T>()) {
      using R = decltype(apply<Operation>(T()));
      return {unary<Operation, T>, std::is_same_v<R, T> ? dtype : static_cast<int8_t>(B1),
              [](char* out, const char* a) {
                *reinterpret_cast<R*>(out) = apply<Operation>(*reinterpret_cast<const T*>(a));
              }};
    } else {
      return {};
    }
  });
}

template <class Loop>
struct Row {
  const char* ufunc;
  Found<Loop> (*find)(int8_t);
};

const Row<BinaryLoop> BINARY[] = {
    {"add", find_binary<Add>},
    {"subtract", find_binary<Subtract>},
    {"multiply", find_binary<Multiply>},
    {"divide", find_binary<Divide>},
    {"floor_divide", find_binary<FloorDivide>},
    {"remainder", find_binary<Remainder>},
    {"equal", find_binary<Equal>},
    {"not_equal", find_binary<NotEqual>},
    {"less", find_binary<Less>},
    {"less_equal", find_binary<LessEqual>},
    {"greater", find_binary<Greater>},
    {"greater_equal", find_binary<GreaterEqual>},
    {"logical_and", find_binary<LogicalAnd>},
    {"logical_or", find_binary<LogicalOr>},
    {"logical_xor", find_binary<LogicalXor>},
    {"bitwise_and", find_binary<BitwiseAnd>},
    {"bitwise_or", find_binary<BitwiseOr>},
    {"bitwise_xor", find_binary<BitwiseXor>},
    {"left_shift", find_binary<LeftShift>},
    {"right_shift", find_binary<RightShift>},
    {"maximum", find_binary<Maximum>},
    {"minimum", find_binary<Minimum>},
    {"power", find_binary<Power>},
    {"copysign", find_binary<CopySign>},
    {"nextafter", find_binary<NextAfter>},
};

const Row<UnaryLoop> UNARY[] = {
    {"negative", find_unary<Negative>},
    {"positive", find_unary<Positive>},
    {"conjugate", find_unary<Conjugate>},
    {"absolute", find_unary<Absolute>},
    {"fabs", find_unary<Absolute>},
    {"square", find_unary<Square>},
    {"sqrt", find_unary<Sqrt>},
    {"reciprocal", find_unary<Reciprocal>},
    {"sign", find_unary<Sign>},
    {"invert", find_unary<Invert>},
    {"logical_not", find_unary<LogicalNot>},
    {"floor", find_unary<Floor>},
    {"ceil", find_unary<Ceil>},
    {"trunc", find_unary<Trunc>},
    {"rint", find_unary<Rint>},
    {"radians", find_unary<Radians>},
    {"degrees", find_unary<Degrees>},
    {"deg2rad", find_unary<Radians>},
    {"rad2deg", find_unary<Degrees>},
    {"isnan", find_unary<IsNan>},
    {"isinf", find_unary<IsInf>},
    {"isfinite", find_unary<IsFinite>},
};

}  // namespace

Found<BinaryLoop> binary_loop(const char* ufunc, int8_t dtype) {
  for (const auto& row : BINARY)
    if (std::strcmp(row.ufunc, ufunc) == 0) return row.find(dtype);
  return {};
}

Found<UnaryLoop> unary_loop(const char* ufunc, int8_t dtype) {
  for (const auto& row : UNARY)
    if (std::strcmp(row.ufunc, ufunc) == 0) return row.find(dtype);
  return {};
}

CopyLoop copy_loop(int8_t from, int8_t to) {
  return visit(from, [&](auto source) -> CopyLoop {
    return visit(to, [&](auto target) -> CopyLoop {
      using From = decltype(source);
      using To = decltype(target);
      if constexpr ((is_float<From> || is_half<From>) && is_integer<To>)
        return nullptr;  // undefined beyond the integer's range: torch casts these
      else if constexpr (is_complex<From> && (is_float<To> || is_half<To> || is_integer<To>))
        return nullptr;  // warns
      else
        return copy<From, To>;
    });
  });
}

}  // namespace tnp
