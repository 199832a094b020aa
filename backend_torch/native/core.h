// What every file of the native core needs: dtypes, the guard, new memory, numbers.
#pragma once

#include <Python.h>

#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/core/Tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/FunctionRef.h>
#include <torch/csrc/autograd/python_variable.h>

#include <array>

#include "dtypes.h"

namespace tnp {

extern const std::array<at::ScalarType, DTYPES> SCALAR_TYPES;
extern const std::array<int8_t, 64> DTYPE_OF;  // indexed by at::ScalarType; NONE for a type that no array has

inline int8_t dtype_of(const c10::TensorImpl* impl) {
  return DTYPE_OF[static_cast<int8_t>(c10::typeMetaToScalarType(impl->dtype()))];
}

inline int8_t dtype_of(const at::Tensor& tensor) { return dtype_of(tensor.unsafeGetTensorImpl()); }

inline const at::Tensor& as_tensor(c10::TensorImpl* const& impl) {
  static_assert(sizeof(at::Tensor) == sizeof(c10::TensorImpl*));
  return reinterpret_cast<const at::Tensor&>(impl);
}

// The guard. A call is native if the thread is in its plain state (no dispatch mode, no transform of torch.func, no
// inference mode, no autocast, no function mode), no thread asks for floating-point errors, and each operand is a dense
// CPU tensor that needs no gradient.
inline bool errors_are_watched = false;
inline bool is_quiet() {
  const auto& state = c10::impl::raw_local_dispatch_key_set;
  return state.included_ == 0 && state.excluded_ == 0 && !errors_are_watched &&
         at::impl::PythonTorchFunctionTLS::stack_len() == 0;
}

constexpr c10::DispatchKeySet PLAIN{
    c10::DispatchKey::CPU, c10::DispatchKey::ADInplaceOrView, c10::DispatchKey::AutogradCPU,
    c10::DispatchKey::AutocastCPU};

template <bool IS_RECORDED = false>  // whether the tensor may have a gradient
inline bool is_plain(const at::Tensor& tensor) {
  auto* impl = tensor.unsafeGetTensorImpl();
  if (impl->key_set() != PLAIN) return false;
  if (impl->autograd_meta() == nullptr) return true;
  return (IS_RECORDED || !impl->requires_grad()) && !impl->_fw_grad(0, tensor).defined();
}

inline char* data_of(const at::Tensor& tensor) {  // for reading
  return static_cast<char*>(const_cast<void*>(tensor.unsafeGetTensorImpl()->data()));
}
inline char* writeable_data_of(const at::Tensor& tensor) {
  return static_cast<char*>(tensor.unsafeGetTensorImpl()->mutable_data());
}

// The address of the element at an offset in the tensor's storage.
inline const char* data_of(const at::Tensor& tensor, int64_t offset) {
  return data_of(tensor) + (offset - tensor.storage_offset()) * static_cast<int64_t>(tensor.itemsize());
}

constexpr int64_t LARGE = 32768;  // elements; for arrays of more torch's kernels use several threads

// Call `run(from, count)` for parts of `n` elements in torch's threads, without the GIL; a part has `least` at least.
void in_threads(int64_t n, c10::function_ref<void(int64_t, int64_t)> run, int64_t least = LARGE);

// Run a loop over many elements in several threads; `run(from, count)` computes a part.
template <class Run>
void in_parts(int64_t n, Run&& run) {
  if (n <= LARGE) return run(0, n);
  in_threads(n, run);
}

// Call `body()`, which may take long for so many elements, without the GIL then.
template <class Body>
auto without_gil(int64_t n, Body&& body) -> decltype(body()) {
  if (n < LARGE) return body();
  struct Released {
    PyThreadState* state = PyEval_SaveThread();
    ~Released() { PyEval_RestoreThread(state); }
  } released;
  return body();
}

// Sets of dtypes.
constexpr uint32_t bit(int dtype) { return 1u << dtype; }
constexpr uint32_t FLOATS = bit(F32) | bit(F64), COMPLEX = bit(C64) | bit(C128);

// Whether a tensor has the strides of new memory, axes of length one included. A result then has the same strides.
bool is_dense(const at::Tensor& tensor);

// Whether two tensors may share bytes, even if their storages are different objects.
bool may_overlap(const at::Tensor& one, const at::Tensor& other);

// Store a Python number in a dtype, as NumPy converts it. False if NumPy refuses it, or if NumPy has to convert it.
// With `truncate` a float becomes an integer without its fraction, as in an assignment.
bool store_number(PyObject* number, int8_t dtype, char* to, bool truncate);

// Whether an object is a number of Python's own classes.
inline bool is_number(PyObject* x) {
  return PyFloat_CheckExact(x) || PyLong_CheckExact(x) || PyBool_Check(x) || PyComplex_CheckExact(x);
}

// Whether an object is a list or a tuple of Python's own class.
inline bool is_list(PyObject* x) { return PyList_CheckExact(x) || PyTuple_CheckExact(x); }

// Return an element as a Python number.
PyObject* load_number(const char* from, int8_t dtype);

// Clear an exception about an argument, which the Python path raises again. All others stay set: an interrupt, a lack of
// memory, what a signal handler raises. Return false if one stays.
bool clear_refusal();

// Run `body` for a call from Python. If it throws, or returns nothing without setting an exception, run `otherwise`:
// the Python path, which raises the right error.
template <class Body, class Otherwise>
inline auto guarded(Body&& body, Otherwise&& otherwise) noexcept -> decltype(otherwise()) {
  try {
    if (auto result = body()) return result;
    if (PyErr_Occurred()) return {};
  } catch (...) {
    if (!clear_refusal()) return {};
  }
  return otherwise();
}

}  // namespace tnp
