// Tensors that no Python has seen, kept for the next ones: to make one takes torch longer than most loops take.
#pragma once

#include "core.h"

namespace tnp {

// What was freed, of which the next ones are made; not where each access to what was freed is to be seen.
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

// New memory in C order.
at::Tensor empty(c10::IntArrayRef sizes, int8_t dtype);

// A tensor over the memory of another, with a version of its own.
at::Tensor view(const at::Tensor& of, c10::IntArrayRef sizes, c10::IntArrayRef strides, int64_t offset);

// Whether one was kept, and the reference with it. Nothing but this reference may lead to it.
bool keep(c10::TensorImpl* impl);
bool keep_view(c10::TensorImpl* impl);

}  // namespace tnp
