// Reuse tensors that Python has never seen: torch takes longer to make a tensor than most loops take to fill it.
#pragma once

#include "core.h"

namespace tnp {

// A list of freed objects for reuse. The address sanitizer must see each access to freed memory, so it keeps none then.
template <class T>
struct FreeList {
#ifdef __SANITIZE_ADDRESS__
  static constexpr int MOST = 0;
#else
  static constexpr int MOST = 64;
#endif
  T* items[MOST + 1];
  int count = 0;

  bool put(T* item) {
    if (count == MOST) return false;
    items[count++] = item;
    return true;
  }
  T* take() { return count == 0 ? nullptr : items[--count]; }
};

// Make a tensor with new memory, in C order.
at::Tensor empty(c10::IntArrayRef sizes, int8_t dtype);

// Make a tensor over the memory of another, with its own version counter. Strides and offset count elements of the dtype.
at::Tensor view(const at::Tensor& of, c10::IntArrayRef sizes, c10::IntArrayRef strides, int64_t offset,
                caffe2::TypeMeta dtype);

// Keep a tensor for reuse and take its reference; return whether it was kept. This reference must be the only one.
bool keep(c10::TensorImpl* impl);
bool keep_view(c10::TensorImpl* impl);

}  // namespace tnp
