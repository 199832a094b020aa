#include "memory.h"

#include <ATen/EmptyTensor.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>

#include <bit>

namespace tnp {
namespace {

// One list for each size of memory: 64 bytes, 128, ...
constexpr int SIZES = 9;
constexpr int64_t SMALLEST = 64, LARGEST = SMALLEST << (SIZES - 1);
FreeList<c10::TensorImpl> by_size[SIZES], views;

int size_of(int64_t bytes) { return std::bit_width(static_cast<uint64_t>(bytes - 1) / SMALLEST); }

void free_kept(void* data) { c10::free_cpu(data); }  // a function of our own: its address marks our memory

at::Tensor owned(c10::TensorImpl* impl) {
  return at::Tensor(c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim(impl));
}

// Whether a tensor, except its version, is as it was made.
bool is_unchanged(c10::TensorImpl* impl) {
  return as_tensor(impl).use_count() == 1 && impl->key_set() == PLAIN && impl->autograd_meta() == nullptr;
}

}  // namespace

at::Tensor empty(c10::IntArrayRef sizes, int8_t dtype) {
  auto type = SCALAR_TYPES[dtype];
  int64_t bytes = itemsize(dtype);
  for (int64_t size : sizes) {
    bytes *= size;
    if (bytes == 0 || bytes > LARGEST) return at::detail::empty_cpu(sizes, type);
  }
  int place = size_of(bytes);
  c10::TensorImpl* impl = by_size[place].take();
  if (impl == nullptr) {
    void* data = c10::alloc_cpu(SMALLEST << place);
    auto storage = c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(), bytes, c10::DataPtr(data, data, free_kept, c10::kCPU),
        c10::GetCPUAllocator(), true);
    impl = c10::make_intrusive<c10::TensorImpl>(
               std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), c10::scalarTypeToTypeMeta(type))
               .release();
  } else {
    auto meta = c10::scalarTypeToTypeMeta(type);
    if (impl->dtype() != meta) impl->set_storage_and_dtype(c10::Storage(impl->storage()), meta);
    impl->unsafe_storage().unsafeGetStorageImpl()->set_nbytes(bytes);
    if (impl->sizes() == sizes) return owned(impl);
  }
  impl->set_sizes_contiguous(sizes);
  return owned(impl);
}

bool keep(c10::TensorImpl* impl) {
  if (!is_unchanged(impl) || !impl->unique_version()) return false;
  const c10::Storage& storage = impl->unsafe_storage();
  if (storage.use_count() != 1 || storage.data_ptr().get_deleter() != free_kept) return false;
  int64_t bytes = static_cast<int64_t>(storage.nbytes());
  if (impl->storage_offset() != 0 || !impl->is_contiguous() || impl->numel() * static_cast<int64_t>(impl->itemsize()) != bytes)
    return false;
  if (!by_size[size_of(bytes)].put(impl)) return false;
  if (impl->version_counter().current_version() != 0) c10::VariableVersion(impl->version_counter()).set_version(0);
  return true;
}

at::Tensor view(const at::Tensor& of, c10::IntArrayRef sizes, c10::IntArrayRef strides, int64_t offset,
                caffe2::TypeMeta dtype) {
  auto* source = of.unsafeGetTensorImpl();
  c10::TensorImpl* impl = views.take();
  if (impl == nullptr)
    impl = c10::make_intrusive<c10::TensorImpl>(
               c10::TensorImpl::VIEW, c10::Storage(source->storage()), source->key_set(), dtype)
               .release();
  else
    impl->set_storage_and_dtype(c10::Storage(source->storage()), dtype);
  impl->set_sizes_and_strides(sizes, strides, offset);
  return owned(impl);
}

bool keep_view(c10::TensorImpl* impl) {
  static const auto* nothing = new c10::Storage(
      c10::Storage::use_byte_size_t(), 0, c10::DataPtr(nullptr, c10::kCPU), nullptr, false);
  if (!is_unchanged(impl) || !views.put(impl)) return false;
  impl->set_storage_keep_dtype(*nothing);
  impl->set_version_counter(c10::VariableVersion());
  return true;
}

}  // namespace tnp
