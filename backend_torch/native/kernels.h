// torch's kernels, called without the dispatcher on operands that passed the guard.
#pragma once

#include "core.h"

namespace tnp {

using BinaryKernel = at::Tensor (*)(const at::Tensor&, const at::Tensor&);
using UnaryKernel = at::Tensor (*)(const at::Tensor&);

// Return torch's function for a ufunc on operands of one dtype; nullptr if backend_torch computes it otherwise.
BinaryKernel binary_kernel(const char* ufunc, int8_t dtype);
UnaryKernel unary_kernel(const char* ufunc, int8_t dtype);

// Compute one element in memory that is kept: torch takes longer to allocate it than to compute. The result stays valid
// until the next call; nullptr if backend_torch computes this otherwise.
using OneElement = const char* (*)(const char* value, int8_t dtype);
OneElement one_element(const char* ufunc, int8_t dtype);

}  // namespace tnp
