"""C++ for Inductor's vector loops where Inductor's own has fewer digits than torch's kernels, or takes longer.

Layer: owns the C++ text; inductor.py applies the patches while it compiles.
"""

from __future__ import annotations

from typing import Any

import torch

from backend_torch.torch_private.patches import Patches, Undo, replaced_attribute

# exp(x) = 2**n * exp(r), where n is the integer nearest to x / log(2) and r = x - n * log(2). log(2) is split in two
# parts so that n times the first is exact. The polynomial is a minimax fit of (exp(r) - 1 - r) / r**2. scalef rounds
# once, for subnormal numbers too. NaN passes both bounds because it is the second operand of min and max. Over all
# float32 numbers the error is at most 0.988 units in the last place, as large as Sleef's; this takes 0.55 of the time.
_EXP = """[](auto const& v) {
#if defined(CPU_CAPABILITY_AVX512)
    if constexpr (std::is_same_v<std::decay_t<decltype(v)>, at::vec::Vectorized<float>>) {
        const __m512 x = _mm512_max_ps(_mm512_set1_ps(-128.0f), _mm512_min_ps(_mm512_set1_ps(128.0f), v));
        const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(0x1.715476p+0f)), _MM_FROUND_NO_EXC);
        __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0x1.62e4p-1f), x);
        r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0x1.7f7d1cp-20f), r);
        __m512 p = _mm512_set1_ps(0.00019790238f);
        p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.0013944758f));
        p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.008333498f));
        p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.041666295f));
        p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.16666666f));
        p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.5f));
        p = _mm512_fmadd_ps(_mm512_mul_ps(r, r), p, r);
        return at::vec::Vectorized<float>(_mm512_scalef_ps(_mm512_add_ps(p, _mm512_set1_ps(1.0f)), n));
    } else
#endif
        return v.exp();
}"""


PREFIX = """
// torch keeps a sum in memory on the heap, which takes four times as long as in a register. A sum stays in a register
// only if nothing takes its address: the sums of whole chunks lie elsewhere, and are added in pairs, as torch's. Four
// sums take turns: an addition takes four cycles, and would wait for the one before it.
template <typename T>
struct ChunkSums {
  std::vector<T> sums;
  uint64_t chunks = 0;
};
template <typename T>
__attribute__((noinline)) ChunkSums<T>* with_chunk(ChunkSums<T>* earlier, T sum) {
  if (!earlier) earlier = new ChunkSums<T>();
  for (uint64_t left = earlier->chunks++; left & 1; left >>= 1) {
    sum = earlier->sums.back() + sum;
    earlier->sums.pop_back();
  }
  earlier->sums.push_back(sum);
  return earlier;
}
template <typename T, uint64_t K>
struct RegisterSum {
  T now = T(0), second = T(0), third = T(0), fourth = T(0);
  uint64_t index = 0;
  ChunkSums<T>* earlier = nullptr;
  RegisterSum() = default;
  RegisterSum(uint64_t) {}
  RegisterSum(const RegisterSum&) = delete;
  ~RegisterSum() { delete earlier; }
};
template <typename T, uint64_t K>
inline T put_sum(RegisterSum<T, K>* c, T sum) {
  c->now = c->second;
  c->second = c->third;
  c->third = c->fourth;
  c->fourth = sum;
  if (++c->index == K) {
    c->earlier = with_chunk(c->earlier, T((c->now + c->second) + (c->third + c->fourth)));
    c->now = c->second = c->third = c->fourth = T(0);
    c->index = 0;
  }
  return sum;
}
template <typename T, uint64_t K>
inline T cascade_sum_combine(T& data, RegisterSum<T, K>* c) { return put_sum(c, T(c->now + data)); }
template <typename T, uint64_t K>
inline T cascade_sum_combine(T& data, int64_t tail_size, RegisterSum<T, K>* c) {
  return put_sum(c, T::set(c->now, c->now + data, tail_size));
}
template <typename T, uint64_t K>
inline T cascade_sum_final(RegisterSum<T, K>* c) {
  T result = (c->now + c->second) + (c->third + c->fourth);
  if (c->earlier)
    for (auto sum = c->earlier->sums.rbegin(); sum != c->earlier->sums.rend(); ++sum) result = *sum + result;
  return result;
}
#define CascadeSumHelper RegisterSum

// torch stores a mask's lanes one by one into a register of bytes and that into memory: 9 ns for each element. It loads
// them by a branch for each: 6 ns.
#if defined(CPU_CAPABILITY_AVX512) || defined(CPU_CAPABILITY_AVX2)
namespace at::vec { inline namespace CPU_CAPABILITY {
#if defined(CPU_CAPABILITY_AVX512)
inline __m512i bits_of(__m512 lanes) { return _mm512_castps_si512(lanes); }
inline __m512i bits_of(__m512d lanes) { return _mm512_castpd_si512(lanes); }
inline __m512i bits_of(__m512i lanes) { return lanes; }
template <typename T> inline Vectorized<T> lanes_of(__m512i bits) {
  if constexpr (std::is_same_v<T, float>) return _mm512_castsi512_ps(bits);
  else if constexpr (std::is_same_v<T, double>) return _mm512_castsi512_pd(bits);
  else return bits;
}
template <typename T, int N> inline void store_mask(const VectorizedN<T, N>& mask, bool* b, int count) {
  constexpr int lanes = Vectorized<T>::size();
  for (int i = 0; i < N; i++) {
    const __m512i bits = bits_of(mask[i]);
    __m128i bytes = lanes == 16 ? _mm512_cvtepi32_epi8(bits) : _mm512_cvtepi64_epi8(bits);
    const int here = std::min(std::max(count - i * lanes, 0), lanes);
    _mm_mask_storeu_epi8(b + i * lanes, (1 << here) - 1, _mm_and_si128(bytes, _mm_set1_epi8(1)));
  }
}
template <typename T, int N> inline VectorizedN<T, N> load_mask(const bool* b, int count) {
  constexpr int lanes = Vectorized<T>::size();
  VectorizedN<T, N> mask;
  for (int i = 0; i < N; i++) {
    const int here = std::min(std::max(count - i * lanes, 0), lanes);
    const __m128i bytes = _mm_maskz_loadu_epi8((1 << here) - 1, b + i * lanes);
    const __m512i bits = lanes == 16 ? _mm512_cvtepu8_epi32(bytes) : _mm512_cvtepu8_epi64(bytes);
    mask[i] = lanes_of<T>(lanes == 16 ? _mm512_sub_epi32(_mm512_setzero_si512(), bits)
                                      : _mm512_sub_epi64(_mm512_setzero_si512(), bits));
  }
  return mask;
}
#else
template <typename T, int N> inline void store_mask(const VectorizedN<T, N>& mask, bool* b, int count) {
  alignas(64) int_same_size_t<T> lanes[VectorizedN<T, N>::size()];
  mask.store(lanes);
  for (int i = 0; i < count; i++) b[i] = lanes[i] & 1;
}
template <typename T, int N> inline VectorizedN<T, N> load_mask(const bool* b, int count) {
  alignas(64) int_same_size_t<T> lanes[VectorizedN<T, N>::size()] = {};
  for (int i = 0; i < count; i++) lanes[i] = -int_same_size_t<T>(b[i]);
  return VectorizedN<T, N>::loadu(lanes);
}
#endif
#define TNP_LOAD(T, N, U) \\
template <> template <> inline VecMask<T, N> VecMask<T, N>::from<U>(U* b, int n) { return load_mask<T, N>(b, n); } \\
template <> template <> inline VecMask<T, N> VecMask<T, N>::from<U>(U* b) { return load_mask<T, N>(b, size()); }
#define TNP_MASK(T, N) \\
template <> inline void VecMask<T, N>::store(bool* b, int count) { store_mask<T, N>(mask_, b, count); } \\
TNP_LOAD(T, N, bool) TNP_LOAD(T, N, const bool)
TNP_MASK(float, 1) TNP_MASK(double, 1) TNP_MASK(double, 2) TNP_MASK(int32_t, 1) TNP_MASK(int64_t, 1)
TNP_MASK(int64_t, 2)
#undef TNP_LOAD
#undef TNP_MASK
// torch converts these by a branch for each lane.
template <> struct VecMaskCast<int32_t, 1, double, 2> {
  static inline VecMask<int32_t, 1> apply(const VecMask<double, 2>& mask) {
    return mask.template cast<int64_t, 2>().template cast<int32_t, 1>();
  }
};
template <> struct VecMaskCast<double, 2, int32_t, 1> {
  static inline VecMask<double, 2> apply(const VecMask<int32_t, 1>& mask) {
    return mask.template cast<int64_t, 2>().template cast<double, 2>();
  }
};
}}
#endif
"""


# Sleef's function squares its argument, which overflows for large ones.
_ACOSH = """[](auto const& v) {
    using V = std::decay_t<decltype(v)>;
    return V::blendv(v.acosh(), v.log() + V(0x1.62e42fefa39efp-1), v > V(1e8));
}"""


def _exp(x: object) -> str:
    return f"{_EXP}({x})"


def _sigmoid(x: object) -> str:
    return f"decltype({x})(1) / (decltype({x})(1) + {_exp(f'{x}.neg()')})"


def _expm1(x: object) -> str:
    """Sleef's, as in torch's kernel; Inductor's exp(x) - 1 has no digits near zero."""
    return f"{x}.expm1()"


def _atanh(x: object) -> str:
    """Sleef's, as in torch's kernel; Inductor's logarithm of a quotient has no digits near zero."""
    return f"{x}.atanh()"


def _acosh(x: object) -> str:
    return f"{_ACOSH}({x})"


_FUNCTIONS = {"exp": _exp, "sigmoid": _sigmoid, "expm1": _expm1, "atanh": _atanh, "acosh": _acosh}


def put(patches: Patches) -> list[Undo]:
    """Make Inductor generate this file's vector code, and torch before 2.13 keep each rounding to a low precision.

    Before torch 2.13 its argmax and argmin of tiles also forget which row of the tile an element is in.
    """
    from torch._inductor.codegen.cpp import CppKernel, CppTile2DKernel, CppVecOverrides

    put = [
        replaced_attribute(CppVecOverrides, name, staticmethod(patches.either(ours, getattr(CppVecOverrides, name))))
        for name, ours in _FUNCTIONS.items()
    ]
    if torch.__version__ >= "2.13":
        return put
    theirs = CppKernel.cache_dtype_convert

    def convert(*args: Any) -> None:
        if not torch._inductor.config.emulate_precision_casts:
            theirs(*args)

    put.append(replaced_attribute(CppKernel, "cache_dtype_convert", patches.either(convert, theirs)))
    if hasattr(CppTile2DKernel, "_adjust_argreduce_index"):
        return put
    combine = CppTile2DKernel.reduction_combine_vec

    def combined(kernel: Any, *args: Any, **kwargs: Any) -> str:
        if "index" in kwargs:
            kwargs["index"] = kernel.transform_indexing(kwargs["index"])
        return combine(kernel, *args, **kwargs)

    return [*put, replaced_attribute(CppTile2DKernel, "reduction_combine_vec", patches.either(combined, combine))]
