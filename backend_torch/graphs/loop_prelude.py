"""The C++ at the start of every lowered loop: NumPy's arithmetic on one element, and small products.

Layer: owns what an operation means in C++. Integers wrap around. float16 and bfloat16 are rounded after each operation.
Maximum and minimum return NaN if either operand is NaN, as torch's own kernels do.
"""

from __future__ import annotations

# With torch's headers, which take the compiler two seconds and more to read.
TORCH = r"""
#include <torch/csrc/inductor/cpp_prefix.h>
#include <string>
#pragma GCC optimize("tree-loop-vectorize")  // Inductor has its own vectors, and turns the compiler's off
extern "C" int PyErr_CheckSignals(void);
namespace {
namespace op {
template <class T> using Vector = at::vec::Vectorized<T>;
template <class T> inline Vector<T> fused(Vector<T> a, Vector<T> b, Vector<T> c) { return at::vec::fmadd(a, b, c); }
template <class T> constexpr bool is_low = std::is_same_v<T, c10::Half> || std::is_same_v<T, c10::BFloat16>;
template <class T> struct wide { using type = T; };
template <> struct wide<c10::Half> { using type = float; };
template <> struct wide<c10::BFloat16> { using type = float; };
template <class To, class From> inline To converted(From x) { return c10::convert<To, From>(x); }
enum Kind { RuntimeError, IndexError, AssertionError, KeyboardInterrupt, MemoryError, ValueError };
constexpr const char* kinds[] = {"RuntimeError", "IndexError", "AssertionError", "KeyboardInterrupt", "MemoryError",
                                 "ValueError"};
[[noreturn]] __attribute__((noinline, cold)) void fail(Kind kind, const char* text) {
  throw std::runtime_error(std::string("tnp.") + kinds[kind] + ": " + text);
}
"""

# Without: vectors are the compiler's, and their mathematics are called by address.
PLAIN = r"""
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
extern "C" {
int PyErr_CheckSignals(void);
void PyErr_SetString(void*, const char*);
void* PyErr_Occurred(void);
void Py_IncRef(void*);
void Py_DecRef(void*);
void* PyObject_CallFunction(void*, const char*, ...);
extern void *PyExc_RuntimeError, *PyExc_IndexError, *PyExc_AssertionError, *PyExc_KeyboardInterrupt,
    *PyExc_MemoryError, *PyExc_ValueError;
}
namespace c10 {  // as torch's
template <class T> struct complex {
  T re, im;
  complex() = default;
  constexpr complex(T re, T im = T(0)) : re(re), im(im) {}
  template <class U> explicit constexpr complex(complex<U> other) : re(other.re), im(other.im) {}
  constexpr T real() const { return re; }
  constexpr T imag() const { return im; }
  constexpr complex operator-() const { return {-re, -im}; }
  friend constexpr complex operator+(complex a, complex b) { return {a.re + b.re, a.im + b.im}; }
  friend constexpr complex operator-(complex a, complex b) { return {a.re - b.re, a.im - b.im}; }
  friend complex operator*(complex a, complex b) {  // fused, as NumPy's vectors
    const T p = a.im * b.im, q = a.im * b.re;
    if constexpr (sizeof(T) == 4) return {__builtin_fmaf(a.re, b.re, -p), __builtin_fmaf(a.re, b.im, q)};
    else return {__builtin_fma(a.re, b.re, -p), __builtin_fma(a.re, b.im, q)};
  }
  friend complex operator/(complex a, complex b) {  // Smith's algorithm, as NumPy's
    if (std::fabs(b.re) >= std::fabs(b.im)) {
      if (b.re == 0 && b.im == 0) return {a.re / std::fabs(b.re), a.im / std::fabs(b.re)};
      const T r = b.im / b.re, s = T(1) / (b.re + b.im * r);
      return {(a.re + a.im * r) * s, (a.im - a.re * r) * s};
    }
    const T r = b.re / b.im, s = T(1) / (b.im + b.re * r);
    return {(a.re * r + a.im) * s, (a.im * r - a.re) * s};
  }
  friend constexpr bool operator==(complex a, complex b) { return (a.re == b.re) & (a.im == b.im); }
  friend constexpr bool operator!=(complex a, complex b) { return (a.re != b.re) | (a.im != b.im); }
};
}
namespace {
void* (*data)(void*);
namespace op {
template <class T> struct register_of;
template <> struct register_of<double> { typedef double type __attribute__((vector_size(REGISTER))); };
template <> struct register_of<float> { typedef float type __attribute__((vector_size(REGISTER))); };
template <class T> struct Vector {
  using V = typename register_of<T>::type;
  V v;
  Vector() = default;
  Vector(V given) : v(given) {}
  Vector(T x) : v(x - V{}) {}
  static constexpr int64_t size() { return REGISTER / sizeof(T); }
  static Vector loadu(const T* p) { Vector r; std::memcpy(&r.v, p, sizeof(V)); return r; }
  static Vector loadu(const T* p, int64_t n) { Vector r(T(1)); std::memcpy(&r.v, p, n * sizeof(T)); return r; }
  void store(T* p) const { std::memcpy(p, &v, sizeof(V)); }
  void store(T* p, int64_t n) const { std::memcpy(p, &v, n * sizeof(T)); }
  Vector neg() const { return {-v}; }
  Vector sqrt() const {
    Vector r;
    for (int i = 0; i < size(); i++) r.v[i] = std::sqrt(v[i]);
    return r;
  }
  Vector rsqrt() const { return {V(1 - V{}) / sqrt().v}; }
  friend Vector operator+(Vector a, Vector b) { return {a.v + b.v}; }
  friend Vector operator/(Vector a, Vector b) { return {a.v / b.v}; }
  MATHEMATICS
};
// g++ does not join calls of std::fma for each element, and <immintrin.h> takes long to read.
template <class T> inline Vector<T> fused(Vector<T> a, Vector<T> b, Vector<T> c) {
#if REGISTER == 64
  if constexpr (sizeof(T) == 8) return {__builtin_ia32_vfmaddpd512_mask(a.v, b.v, c.v, -1, 4)};
  else return {__builtin_ia32_vfmaddps512_mask(a.v, b.v, c.v, -1, 4)};
#else
  if constexpr (sizeof(T) == 8) return {__builtin_ia32_vfmaddpd256(a.v, b.v, c.v)};
  else return {__builtin_ia32_vfmaddps256(a.v, b.v, c.v)};
#endif
}
template <class T> constexpr bool is_low = false;
template <class T> struct wide { using type = T; };
template <class To, class From> inline To converted(From x) {
  if constexpr (std::is_same_v<To, uint8_t> && std::is_floating_point_v<From>)
    return static_cast<To>(static_cast<int64_t>(x));
  else return static_cast<To>(x);
}
enum Kind { RuntimeError, IndexError, AssertionError, KeyboardInterrupt, MemoryError, ValueError };
struct Failure {};
[[noreturn]] __attribute__((noinline, cold)) void fail(Kind kind, const char* text) {
  void* kinds[] = {PyExc_RuntimeError, PyExc_IndexError, PyExc_AssertionError, PyExc_KeyboardInterrupt,
                   PyExc_MemoryError, PyExc_ValueError};
  if (!PyErr_Occurred()) PyErr_SetString(kinds[kind], text);
  throw Failure();
}
template <class... T> void call(void* host, intptr_t number, T*... places) {  // an operation of torch's
  const char types[] = {'n', (static_cast<void>(places), 'n')..., 0};
  void* none = PyObject_CallFunction(host, types, number, reinterpret_cast<intptr_t>(places)...);
  if (!none) throw Failure();
  Py_DecRef(none);
}
"""

OPERATIONS = r"""
template <class T> constexpr bool is_real = std::is_floating_point_v<T>;
template <class T> constexpr bool is_int = std::is_integral_v<T> && !std::is_same_v<T, bool>;
template <class T> constexpr bool is_complex =
    std::is_same_v<T, c10::complex<float>> || std::is_same_v<T, c10::complex<double>>;
template <class T> using wide_t = typename wide<T>::type;
template <class T> using wrap_t = std::conditional_t<(sizeof(T) < 8), uint32_t, uint64_t>;
template <class T> inline wide_t<T> up(T x) { return static_cast<wide_t<T>>(x); }
template <class To, class From> inline To to(From x) {
  if constexpr (std::is_same_v<To, From>) return x;
  else if constexpr (std::is_same_v<To, bool>) return x != From(0);
  else return converted<To, From>(x);
}
template <class To, class From> inline To bits(From x) {
  static_assert(sizeof(To) == sizeof(From)); To r; std::memcpy(&r, &x, sizeof(r)); return r;
}
template <class T> inline bool is_nan(T x) { return x != x; }

[[noreturn]] __attribute__((noinline, cold)) void out_of_bounds(int64_t i, int64_t n, int axis) {
  char text[128];
  std::snprintf(text, sizeof(text), "index %lld is out of bounds for axis %d with size %lld", (long long)i, axis,
                (long long)n);
  fail(IndexError, text);
}
inline int64_t place(int64_t i, int64_t n, int axis) {
  int64_t j = i < 0 ? i + n : i;
  if (static_cast<uint64_t>(j) >= static_cast<uint64_t>(n)) [[unlikely]] out_of_bounds(i, n, axis);
  return j;
}
[[noreturn]] __attribute__((noinline, cold)) void divided_by_zero() { fail(RuntimeError, "ZeroDivisionError"); }
constexpr int64_t ROUND = 256;  // steps of a loop between two calls, over which g++ keeps no element in a register
inline void poll(int64_t& steps, int64_t more) {  // a loop that never ends can be stopped
  if ((steps += more) < ROUND) return;
  steps = 0;
  if (PyErr_CheckSignals()) [[unlikely]] fail(KeyboardInterrupt, "");
}
struct Scratch {
  char* memory;
  explicit Scratch(int64_t size) : memory(static_cast<char*>(std::aligned_alloc(64, size))) {
    if (!memory) fail(MemoryError, "");
  }
  ~Scratch() { std::free(memory); }
};
template <class T> inline T floored(T a, T b) {  // as torch divides and rounds down
  if (b == 0) return a / b;
  T mod = std::fmod(a, b), div = (a - mod) / b;
  if (mod != 0 && (b < 0) != (mod < 0)) div -= T(1);
  if (div == 0) return std::copysign(T(0), a / b);
  T whole = std::floor(div);
  return div - whole > T(0.5) ? whole + T(1) : whole;
}

template <class T> inline T add(T a, T b) {
  if constexpr (is_int<T>) return static_cast<T>(static_cast<wrap_t<T>>(a) + static_cast<wrap_t<T>>(b));
  else if constexpr (std::is_same_v<T, bool>) return a || b;
  else return a + b;
}
template <class T> inline T sub(T a, T b) {
  if constexpr (is_int<T>) return static_cast<T>(static_cast<wrap_t<T>>(a) - static_cast<wrap_t<T>>(b));
  else return a - b;
}
template <class T> inline T mul(T a, T b) {
  if constexpr (is_int<T>) return static_cast<T>(static_cast<wrap_t<T>>(a) * static_cast<wrap_t<T>>(b));
  else if constexpr (std::is_same_v<T, bool>) return a && b;
  else return a * b;
}
template <class T> inline T neg(T a) {
  if constexpr (is_int<T>) return static_cast<T>(wrap_t<T>(0) - static_cast<wrap_t<T>>(a));
  else return -a;
}
template <class T> inline T true_div(T a, T b) { return a / b; }
template <class T> inline T floor_div(T a, T b) {
  if constexpr (is_int<T>) {
    if (b == 0) [[unlikely]] divided_by_zero();
    if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return neg(a);
      T q = a / b;
      return (a % b != 0 && ((a < 0) != (b < 0))) ? T(q - 1) : q;
    } else return a / b;
  } else return T(floored(up(a), up(b)));
}
template <class T> inline T trunc_div(T a, T b) {
  if constexpr (is_int<T>) {
    if (b == 0) [[unlikely]] divided_by_zero();
    if constexpr (std::is_signed_v<T>) { if (b == T(-1)) return neg(a); }
    return a / b;
  } else return T(std::trunc(up(a) / up(b)));
}
template <class T> inline T remainder(T a, T b) {
  if constexpr (is_int<T>) {
    if (b == 0) [[unlikely]] divided_by_zero();
    if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return 0;
      T r = a % b;
      return (r != 0 && ((r < 0) != (b < 0))) ? T(r + b) : r;
    } else return a % b;
  } else {
    auto x = up(a), y = up(b);
    auto r = std::fmod(x, y);
    if (r != 0 && ((y < 0) != (r < 0))) r += y;
    return T(r);
  }
}
template <class T> inline T fmod(T a, T b) {
  if constexpr (is_int<T>) {
    if (b == 0) [[unlikely]] divided_by_zero();
    if constexpr (std::is_signed_v<T>) { if (b == T(-1)) return 0; }
    return a % b;
  } else return T(std::fmod(up(a), up(b)));
}
template <class T> inline T pow(T a, T b) {
  if constexpr (is_int<T>) {
    if constexpr (std::is_signed_v<T>) {
      if (b < 0) return a == 1 ? T(1) : a == T(-1) ? (b % 2 ? T(-1) : T(1)) : T(0);
    }
    T r = 1;
    for (; b; b = b / 2, a = mul(a, a)) if (b & 1) r = mul(r, a);
    return r;
  } else return T(std::pow(up(a), up(b)));
}
template <class T> inline T maximum(T a, T b) { return (a > b || is_nan(a)) ? a : b; }
template <class T> inline T minimum(T a, T b) { return (a < b || is_nan(a)) ? a : b; }
template <class T> inline T fmax(T a, T b) {
  if constexpr (is_real<T> || is_low<T>) return T(std::fmax(up(a), up(b))); else return a > b ? a : b;
}
template <class T> inline T fmin(T a, T b) {
  if constexpr (is_real<T> || is_low<T>) return T(std::fmin(up(a), up(b))); else return a < b ? a : b;
}
template <class T> inline T atan2(T a, T b) { return T(std::atan2(up(a), up(b))); }
template <class T> inline T hypot(T a, T b) { return T(std::hypot(up(a), up(b))); }
template <class T> inline T copysign(T a, T b) { return T(std::copysign(up(a), up(b))); }
template <class T> inline T bit_and(T a, T b) { return static_cast<T>(a & b); }
template <class T> inline T bit_or(T a, T b) { return static_cast<T>(a | b); }
template <class T> inline T bit_xor(T a, T b) { return static_cast<T>(a ^ b); }
template <class T> inline T shift_left(T a, T b) {
  constexpr T most = sizeof(T) * 8;
  return (std::is_signed_v<T> && b < 0) || b >= most ? T(0) : static_cast<T>(static_cast<wrap_t<T>>(a) << b);
}
template <class T> inline T shift_right(T a, T b) {
  constexpr T most = sizeof(T) * 8 - std::is_signed_v<T>;
  return (std::is_signed_v<T> && b < 0) || b >= most ? (std::is_signed_v<T> ? T(a >> most) : T(0)) : T(a >> b);
}
template <class T> inline bool eq(T a, T b) { return a == b; }
template <class T> inline bool ne(T a, T b) { return a != b; }
template <class T> inline bool lt(T a, T b) { return a < b; }
template <class T> inline bool le(T a, T b) { return a <= b; }
template <class T> inline bool gt(T a, T b) { return a > b; }
template <class T> inline bool ge(T a, T b) { return a >= b; }
template <class T> inline bool logical_and(T a, T b) { return (a != T(0)) & (b != T(0)); }
template <class T> inline bool logical_or(T a, T b) { return (a != T(0)) | (b != T(0)); }
template <class T> inline bool logical_xor(T a, T b) { return (a != T(0)) != (b != T(0)); }
template <class T> inline bool logical_not(T a) { return a == T(0); }
template <class T> inline T bit_not(T a) { if constexpr (std::is_same_v<T, bool>) return !a; else return T(~a); }
template <class T> inline bool isnan(T a) { return a != a; }
template <class T> inline bool isinf(T a) {
  if constexpr (is_real<T> || is_low<T>) return std::isinf(up(a)); else return false;
}
template <class T> inline bool signbit(T a) {
  if constexpr (is_real<T> || is_low<T>) return std::signbit(up(a)); else return a < T(0);
}
template <class T> inline auto abs(T a) {
  if constexpr (is_int<T>) { if constexpr (std::is_signed_v<T>) return a < 0 ? neg(a) : a; else return a; }
  else if constexpr (std::is_same_v<T, bool>) return a;
  else if constexpr (is_real<T> || is_low<T>) return T(std::fabs(up(a)));
  else return std::abs(a);
}
template <class T> inline T sign(T a) {
  if constexpr (is_real<T> || is_low<T>) return T(float((up(a) > 0) - (up(a) < 0)));  // 0 of NaN, as torch's
  else return T((a > T(0)) - (a < T(0)));
}
template <class T> inline T relu(T a) { return a < T(0) ? T(0) : a; }
template <class T> inline T reciprocal(T a) { return T(1) / a; }
template <class T> inline T rsqrt(T a) { return T(wide_t<T>(1) / std::sqrt(up(a))); }
template <class T> inline T sigmoid(T a) { return T(wide_t<T>(1) / (wide_t<T>(1) + std::exp(-up(a)))); }
template <class T> inline T round(T a) {
  if constexpr (std::is_integral_v<T>) return a; else return T(std::nearbyint(up(a)));
}
#define WHOLE(name) template <class T> inline T name(T a) { \
  if constexpr (std::is_integral_v<T>) return a; else return T(std::name(up(a))); }
WHOLE(floor) WHOLE(ceil) WHOLE(trunc)
#define INEXACT(name) template <class T> inline T name(T a) { return T(std::name(up(a))); }
INEXACT(sqrt) INEXACT(exp) INEXACT(exp2) INEXACT(expm1) INEXACT(log) INEXACT(log2) INEXACT(log10) INEXACT(log1p)
INEXACT(sin) INEXACT(cos) INEXACT(tan) INEXACT(asin) INEXACT(acos) INEXACT(atan) INEXACT(sinh) INEXACT(cosh)
INEXACT(tanh) INEXACT(asinh) INEXACT(acosh) INEXACT(atanh) INEXACT(erf) INEXACT(erfc)
inline bool truth(const bool& a) { return *reinterpret_cast<const unsigned char*>(&a) != 0; }
template <class T> inline T where(bool c, T a, T b) { return c ? a : b; }
template <class T> inline T where_or_zero(bool c, T a) {  // g++ makes vectors of this in half of the instructions
  using I = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  return bits<T>(bits<I>(a) & -I(c));
}
template <class T> using complex = c10::complex<T>;
template <class T> inline complex<T> where(bool c, complex<T> a, complex<T> b) {
  return {c ? a.real() : b.real(), c ? a.imag() : b.imag()};
}
template <class T> inline T real(complex<T> a) { return a.real(); }
template <class T> inline T imag(complex<T> a) { return a.imag(); }
template <class T> inline T part(complex<T> a, int64_t i) { return i ? a.imag() : a.real(); }
template <class T> inline complex<T> conj(complex<T> a) { return {a.real(), -a.imag()}; }
template <class T> inline T size(complex<T> a) {  // without branches, so that g++ makes vectors of it
  const double x = std::fabs(double(a.real())), y = std::fabs(double(a.imag())), most = x > y ? x : y;
  const double down = most > 0x1p500 ? 0x1p-600 : most < 0x1p-500 ? 0x1p600 : 1;
  const double back = most > 0x1p500 ? 0x1p600 : most < 0x1p-500 ? 0x1p-600 : 1;
  const double r = std::sqrt((x * down) * (x * down) + (y * down) * (y * down)) * back;
  constexpr double inf = std::numeric_limits<double>::infinity();
  return T((x == inf) | (y == inf) ? inf : r);
}
extern "C" double _Complex cexp(double _Complex);
template <class T> inline complex<T> exp_of(complex<T> a, T e, T c, T s) {  // far and special values by the C library
  const T most = sizeof(T) == 4 ? 80 : 700, widest = sizeof(T) == 4 ? 1e4 : 1e9;
  if (std::fabs(a.real()) < most && std::fabs(a.imag()) < widest) [[likely]] return {e * c, e * s};
  double _Complex z;
  __real__ z = a.real();
  __imag__ z = a.imag();
  z = cexp(z);
  return {T(__real__ z), T(__imag__ z)};
}
template <class T> inline T clamp_min(T a, T low) { return is_nan(a) ? a : (a < low || is_nan(low)) ? low : a; }
template <class T> inline T clamp_max(T a, T high) { return is_nan(a) ? a : (a > high || is_nan(high)) ? high : a; }

// One function of all elements, by torch's vector code.
template <class T, class F> inline void each(T* out, const T* in, int64_t n, F f) {
  using V = Vector<T>;
  int64_t i = 0;
  for (; i + V::size() <= n; i += V::size()) f(V::loadu(in + i)).store(out + i);
  if (i < n) f(V::loadu(in + i, n - i)).store(out + i, n - i);
}

// Reductions along one axis, in several lanes so that they are vectors.
template <class A, class F, class G> inline A fold(int64_t n, A start, F f, G combine) {
  constexpr int L = sizeof(A) <= 4 ? 32 : 16;
  A lanes[L];
  int64_t i = 0;
  A r = start;
  if (n >= L) {
    for (int l = 0; l < L; l++) lanes[l] = f(l);
    for (i = L; i + L <= n; i += L)
      for (int l = 0; l < L; l++) lanes[l] = combine(lanes[l], f(i + l));
    for (int w = L / 2; w; w /= 2)
      for (int l = 0; l < w; l++) lanes[l] = combine(lanes[l], lanes[l + w]);
    r = combine(r, lanes[0]);
  }
  for (; i < n; i++) r = combine(r, f(i));
  return r;
}
template <bool largest, class F> inline int64_t arg_extreme(int64_t n, F f) {
  auto best = fold(n, f(0), f, [](auto x, auto y) { return largest ? maximum(x, y) : minimum(x, y); });
  int64_t at = 0;
  for (; at < n - 1; at++) {
    auto x = f(at);
    if (x == best || (is_nan(x) && is_nan(best))) break;
  }
  return at;
}

template <class T> inline bool before(T a, T b) { return a < b || (is_nan(b) && !is_nan(a)); }
// Return where a value belongs in a sorted line: before the elements that are equal to it, or after them.
template <bool right, class T> inline int64_t search(const T* x, int64_t n, T value) {
  int64_t low = 0;
  while (n > 0) {
    const int64_t half = n / 2;
    const bool is_after = right ? !before(value, x[low + half]) : before(x[low + half], value);
    low = is_after ? low + half + 1 : low;
    n = is_after ? n - half - 1 : half;
  }
  return low;
}

// Sort a short line. Equal elements keep their order; `spare` has room for a half of them.
template <class T, class F> inline void sort(T* x, T* spare, int64_t n, F less) {
  constexpr int64_t RUN = 16;
  for (int64_t low = 0; low < n; low += RUN) {
    int64_t high = low + RUN < n ? low + RUN : n;
    for (int64_t i = low + 1; i < high; i++) {
      T item = x[i];
      int64_t j = i;
      for (; j > low && less(item, x[j - 1]); j--) x[j] = x[j - 1];
      x[j] = item;
    }
  }
  for (int64_t width = RUN; width < n; width *= 2)
    for (int64_t low = 0; low < n - width; low += 2 * width) {
      int64_t high = low + 2 * width < n ? low + 2 * width : n, right = low + width, to = low;
      for (int64_t i = 0; i < width; i++) spare[i] = x[low + i];
      for (int64_t left = 0; left < width;) {
        bool is_right = right < high && less(x[right], spare[left]);
        x[to++] = is_right ? x[right++] : spare[left++];
      }
    }
}

// c = a @ b, where neither is large. c is apart from both, and its columns are neighbours.
template <class T, int J> inline void columns(
    T* __restrict__ c, const T* a, int64_t ak, const T* b, int64_t bk, int64_t K) {
  using V = Vector<T>;
  V sums[J];
#pragma GCC unroll 8
  for (int j = 0; j < J; j++) sums[j] = V(T(0));
  for (int64_t k = 0; k < K; k++) {
    V x(a[k * ak]);
#pragma GCC unroll 8
    for (int j = 0; j < J; j++) sums[j] = fused(x, V::loadu(b + k * bk + j * V::size()), sums[j]);
  }
#pragma GCC unroll 8
  for (int j = 0; j < J; j++) sums[j].store(c + j * V::size());
}
template <class T> inline void product(
    T* __restrict__ c, int64_t ci, const T* a, int64_t ai, int64_t ak, const T* b, int64_t bk, int64_t bj,
    int64_t M, int64_t K, int64_t N) {
  for (int64_t i = 0; i < M; i++, a += ai, c += ci) {
    int64_t j = 0;
    if constexpr (is_real<T>) {
      using V = Vector<T>;
      if (bj == 1) {
        for (; j + 8 * V::size() <= N; j += 8 * V::size()) columns<T, 8>(c + j, a, ak, b + j, bk, K);
        for (; j + 4 * V::size() <= N; j += 4 * V::size()) columns<T, 4>(c + j, a, ak, b + j, bk, K);
        for (; j + 2 * V::size() <= N; j += 2 * V::size()) columns<T, 2>(c + j, a, ak, b + j, bk, K);
        for (; j + V::size() <= N; j += V::size()) columns<T, 1>(c + j, a, ak, b + j, bk, K);
      }
    }
    for (; j < N; j++) {
      const T* column = b + j * bj;
      if constexpr (is_int<T> || is_complex<T>)
        c[j] = fold(K, T(0), [&](int64_t k) { return mul(a[k * ak], column[k * bk]); },
                    [](T x, T y) { return add(x, y); });
      else
        c[j] = T(fold(K, wide_t<T>(0), [&](int64_t k) { return up(a[k * ak]) * up(column[k * bk]); },
                      [](auto x, auto y) { return x + y; }));
    }
  }
}
}  // namespace op
}  // namespace
"""
