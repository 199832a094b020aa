// torch's kernels: without the dispatcher, on operands that passed the guard.
#pragma once

#include "core.h"

namespace tnp {

using BinaryKernel = at::Tensor (*)(const at::Tensor&, const at::Tensor&);
using UnaryKernel = at::Tensor (*)(const at::Tensor&);

// What computes a ufunc on operands of one dtype, if torch's own function does.
BinaryKernel binary_kernel(const char* ufunc, int8_t dtype);
UnaryKernel unary_kernel(const char* ufunc, int8_t dtype);

}  // namespace tnp
