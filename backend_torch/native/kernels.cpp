// torch's own kernels, called without the dispatcher. The dispatcher would call the same for operands that passed the
// guard.
#include <c10/util/string_view.h>

#include <ATen/ops/acos_cpu_dispatch.h>
#include <ATen/ops/acos_native.h>
#include <ATen/ops/acosh_cpu_dispatch.h>
#include <ATen/ops/acosh_native.h>
#include <ATen/ops/add_cpu_dispatch.h>
#include <ATen/ops/asin_cpu_dispatch.h>
#include <ATen/ops/asin_native.h>
#include <ATen/ops/atan2_cpu_dispatch.h>
#include <ATen/ops/atan_cpu_dispatch.h>
#include <ATen/ops/atan_native.h>
#include <ATen/ops/atanh_cpu_dispatch.h>
#include <ATen/ops/atanh_native.h>
#include <ATen/ops/bitwise_and_cpu_dispatch.h>
#include <ATen/ops/bitwise_or_cpu_dispatch.h>
#include <ATen/ops/bitwise_xor_cpu_dispatch.h>
#include <ATen/ops/ceil_cpu_dispatch.h>
#include <ATen/ops/cos_cpu_dispatch.h>
#include <ATen/ops/cos_native.h>
#include <ATen/ops/div_cpu_dispatch.h>
#include <ATen/ops/eq_cpu_dispatch.h>
#include <ATen/ops/exp2_cpu_dispatch.h>
#include <ATen/ops/exp2_native.h>
#include <ATen/ops/exp_cpu_dispatch.h>
#include <ATen/ops/exp_native.h>
#include <ATen/ops/expm1_cpu_dispatch.h>
#include <ATen/ops/expm1_native.h>
#include <ATen/ops/floor_cpu_dispatch.h>
#include <ATen/ops/fmax_cpu_dispatch.h>
#include <ATen/ops/fmin_cpu_dispatch.h>
#include <ATen/ops/ge_cpu_dispatch.h>
#include <ATen/ops/gt_cpu_dispatch.h>
#include <ATen/ops/le_cpu_dispatch.h>
#include <ATen/ops/log10_cpu_dispatch.h>
#include <ATen/ops/log10_native.h>
#include <ATen/ops/log1p_cpu_dispatch.h>
#include <ATen/ops/log1p_native.h>
#include <ATen/ops/log2_cpu_dispatch.h>
#include <ATen/ops/log2_native.h>
#include <ATen/ops/log_cpu_dispatch.h>
#include <ATen/ops/log_native.h>
#include <ATen/ops/lt_cpu_dispatch.h>
#include <ATen/ops/maximum_cpu_dispatch.h>
#include <ATen/ops/minimum_cpu_dispatch.h>
#include <ATen/ops/mul_cpu_dispatch.h>
#include <ATen/ops/ne_cpu_dispatch.h>
#include <ATen/ops/neg_cpu_dispatch.h>
#include <ATen/ops/pow_cpu_dispatch.h>
#include <ATen/ops/reciprocal_cpu_dispatch.h>
#include <ATen/ops/round_cpu_dispatch.h>
#include <ATen/ops/sin_cpu_dispatch.h>
#include <ATen/ops/sin_native.h>
#include <ATen/ops/sqrt_cpu_dispatch.h>
#include <ATen/ops/sub_cpu_dispatch.h>
#include <ATen/ops/tan_cpu_dispatch.h>
#include <ATen/ops/tan_native.h>
#include <ATen/ops/tanh_cpu_dispatch.h>
#include <ATen/ops/tanh_native.h>
#include <ATen/ops/trunc_cpu_dispatch.h>

#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "kernels.h"
#include "memory.h"

namespace tnp {
namespace {

using at::Tensor;

// The dtypes for which backend_torch's Kernel of the same name is torch's function itself.
constexpr uint32_t SINGLE = bit(F32), HALVES = bit(F16) | bit(BF16);
constexpr uint32_t INTEGERS = bit(U8) | bit(I8) | bit(I16) | bit(I32) | bit(I64), BOOL = bit(B1);
constexpr uint32_t REAL = FLOATS | HALVES | INTEGERS | BOOL;

struct BinaryRow {
  const char* ufunc;
  BinaryKernel kernel;
  uint32_t dtypes;
};

const BinaryRow BINARY_KERNELS[] = {
    {"add", [](const Tensor& a, const Tensor& b) { return at::cpu::add(a, b); }, REAL},
    {"subtract", [](const Tensor& a, const Tensor& b) { return at::cpu::sub(a, b); }, REAL & ~BOOL},
    {"multiply", [](const Tensor& a, const Tensor& b) { return at::cpu::mul(a, b); }, REAL},
    {"divide", [](const Tensor& a, const Tensor& b) { return at::cpu::div(a, b); }, FLOATS | HALVES | COMPLEX},
    {"floor_divide", [](const Tensor& a, const Tensor& b) { return at::cpu::div(a, b, "floor"); }, FLOATS},
    {"power", [](const Tensor& a, const Tensor& b) { return at::cpu::pow(a, b); }, FLOATS | HALVES},
    {"float_power", [](const Tensor& a, const Tensor& b) { return at::cpu::pow(a, b); }, FLOATS},
    {"maximum", [](const Tensor& a, const Tensor& b) { return at::cpu::maximum(a, b); }, REAL},
    {"minimum", [](const Tensor& a, const Tensor& b) { return at::cpu::minimum(a, b); }, REAL},
    {"fmax", [](const Tensor& a, const Tensor& b) { return at::cpu::fmax(a, b); }, HALVES},
    {"fmin", [](const Tensor& a, const Tensor& b) { return at::cpu::fmin(a, b); }, HALVES},
    {"equal", [](const Tensor& a, const Tensor& b) { return at::cpu::eq(a, b); }, REAL | COMPLEX},
    {"not_equal", [](const Tensor& a, const Tensor& b) { return at::cpu::ne(a, b); }, REAL | COMPLEX},
    {"less", [](const Tensor& a, const Tensor& b) { return at::cpu::lt(a, b); }, REAL},
    {"less_equal", [](const Tensor& a, const Tensor& b) { return at::cpu::le(a, b); }, REAL},
    {"greater", [](const Tensor& a, const Tensor& b) { return at::cpu::gt(a, b); }, REAL},
    {"greater_equal", [](const Tensor& a, const Tensor& b) { return at::cpu::ge(a, b); }, REAL},
    {"bitwise_and", [](const Tensor& a, const Tensor& b) { return at::cpu::bitwise_and(a, b); }, INTEGERS | BOOL},
    {"bitwise_or", [](const Tensor& a, const Tensor& b) { return at::cpu::bitwise_or(a, b); }, INTEGERS | BOOL},
    {"bitwise_xor", [](const Tensor& a, const Tensor& b) { return at::cpu::bitwise_xor(a, b); }, INTEGERS | BOOL},
    {"arctan2", [](const Tensor& a, const Tensor& b) { return at::cpu::atan2(a, b); }, FLOATS | HALVES},
};

struct UnaryRow {
  const char* ufunc;
  UnaryKernel kernel;
  uint32_t dtypes;
  OneElement one = nullptr;
};

// One element: the kernel runs on two tensors that are kept, with the iterator that torch would build at each call.
template <class Operation>
struct OfOne : Operation {
  Tensor in, out;
  explicit OfOne(int8_t dtype) : in(empty({}, dtype)), out(empty({}, dtype)) { this->meta(in); }
  const Tensor& maybe_get_output(int64_t) override { return out; }
};

template <class Operation>
const char* one_of(const char* value, int8_t dtype) {
  static auto* kept = new std::array<std::unique_ptr<OfOne<Operation>>, DTYPES>();
  auto& one = (*kept)[dtype];
  if (one == nullptr) one = std::make_unique<OfOne<Operation>>(dtype);
  std::memcpy(writeable_data_of(one->in), value, itemsize(dtype));
  one->impl(one->in, one->out);
  return data_of(one->out);
}

const UnaryRow UNARY_KERNELS[] = {
    {"exp", [](const Tensor& a) { return at::cpu::exp(a); }, FLOATS | HALVES | COMPLEX, one_of<at::native::structured_exp_out>},
    {"exp2", [](const Tensor& a) { return at::cpu::exp2(a); }, FLOATS | HALVES | COMPLEX, one_of<at::native::structured_exp2_out>},
    {"expm1", [](const Tensor& a) { return at::cpu::expm1(a); }, SINGLE | HALVES, one_of<at::native::structured_expm1_out>},
    {"log", [](const Tensor& a) { return at::cpu::log(a); }, FLOATS | HALVES | COMPLEX, one_of<at::native::structured_log_out>},
    {"log2", [](const Tensor& a) { return at::cpu::log2(a); }, FLOATS | HALVES | COMPLEX, one_of<at::native::structured_log2_out>},
    {"log10", [](const Tensor& a) { return at::cpu::log10(a); }, FLOATS | HALVES | COMPLEX, one_of<at::native::structured_log10_out>},
    {"log1p", [](const Tensor& a) { return at::cpu::log1p(a); }, SINGLE | HALVES, one_of<at::native::structured_log1p_out>},
    {"sin", [](const Tensor& a) { return at::cpu::sin(a); }, FLOATS | HALVES | COMPLEX, one_of<at::native::structured_sin_out>},
    {"cos", [](const Tensor& a) { return at::cpu::cos(a); }, FLOATS | HALVES | COMPLEX, one_of<at::native::structured_cos_out>},
    {"tan", [](const Tensor& a) { return at::cpu::tan(a); }, FLOATS | HALVES | COMPLEX, one_of<at::native::structured_tan_out>},
    {"arcsin", [](const Tensor& a) { return at::cpu::asin(a); }, FLOATS | HALVES, one_of<at::native::structured_asin_out>},
    {"arccos", [](const Tensor& a) { return at::cpu::acos(a); }, FLOATS | HALVES, one_of<at::native::structured_acos_out>},
    {"arctan", [](const Tensor& a) { return at::cpu::atan(a); }, FLOATS | HALVES | COMPLEX, one_of<at::native::structured_atan_out>},
    {"tanh", [](const Tensor& a) { return at::cpu::tanh(a); }, FLOATS | HALVES, one_of<at::native::structured_tanh_out>},
    {"arccosh", [](const Tensor& a) { return at::cpu::acosh(a); }, FLOATS | HALVES | COMPLEX, one_of<at::native::structured_acosh_out>},
    {"arctanh", [](const Tensor& a) { return at::cpu::atanh(a); }, FLOATS | HALVES | COMPLEX, one_of<at::native::structured_atanh_out>},
    {"negative", [](const Tensor& a) { return at::cpu::neg(a); }, FLOATS | HALVES | INTEGERS},
    {"sqrt", [](const Tensor& a) { return at::cpu::sqrt(a); }, HALVES | COMPLEX},  // float loops are exact
    {"reciprocal", [](const Tensor& a) { return at::cpu::reciprocal(a); }, FLOATS | HALVES},
    {"floor", [](const Tensor& a) { return at::cpu::floor(a); }, HALVES},
    {"ceil", [](const Tensor& a) { return at::cpu::ceil(a); }, HALVES},
    {"trunc", [](const Tensor& a) { return at::cpu::trunc(a); }, HALVES},
    {"rint", [](const Tensor& a) { return at::cpu::round(a); }, HALVES},
};

}  // namespace

BinaryKernel binary_kernel(const char* ufunc, int8_t dtype) {
  for (const auto& row : BINARY_KERNELS)
    if (std::strcmp(row.ufunc, ufunc) == 0) return row.dtypes & bit(dtype) ? row.kernel : nullptr;
  return nullptr;
}

UnaryKernel unary_kernel(const char* ufunc, int8_t dtype) {
  for (const auto& row : UNARY_KERNELS)
    if (std::strcmp(row.ufunc, ufunc) == 0) return row.dtypes & bit(dtype) ? row.kernel : nullptr;
  return nullptr;
}

OneElement one_element(const char* ufunc, int8_t dtype) {
  if (!(bit(dtype) & (FLOATS | COMPLEX))) return nullptr;
  for (const auto& row : UNARY_KERNELS)
    if (std::strcmp(row.ufunc, ufunc) == 0) return row.dtypes & bit(dtype) ? row.one : nullptr;
  return nullptr;
}

}  // namespace tnp
