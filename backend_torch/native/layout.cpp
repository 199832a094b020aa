#include "layout.h"

#include <structmember.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/view_as_real.h>
#include <c10/core/AutogradState.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/VariableTypeUtils.h>

#include <cstring>
#include <memory>
#include <vector>

namespace tnp {

Classes classes;

namespace {

using torch::autograd::CreationMeta;

FreeList<Held> arrays, scalars;

Held* allocate(PyTypeObject* type, FreeList<Held>& from) {
  if (Held* it = from.take()) {  // an empty one
    PyObject_Init(reinterpret_cast<PyObject*>(it), type);
    it->has_views = it->is_shared = false;
    return it;
  }
  Held* it = PyObject_GC_New(Held, type);
  if (it != nullptr) std::memset(reinterpret_cast<char*>(it) + sizeof(PyObject), 0, sizeof(Held) - sizeof(PyObject));
  return it;
}

void drop(c10::TensorImpl*& impl) {
  if (impl != nullptr) at::Tensor(c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim(std::exchange(impl, nullptr)));
}

void release(Held* it) {
  Py_CLEAR(it->tensor);
  Py_CLEAR(it->source);
  if (it->impl != nullptr && !it->is_shared && (it->base != nullptr ? keep_view(it->impl) : !it->has_views && keep(it->impl))) it->impl = nullptr;
  drop(it->impl);
  drop(it->base);
  it->has_value = false;
}

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Held* it = held(self);
  if (it->has_value && it->weakrefs == nullptr && scalars.put(it)) {  // an untracked scalar
    it->has_value = false;
    Py_DECREF(type);
    return;
  }
  PyObject_GC_UnTrack(self);
  if (it->weakrefs != nullptr) PyObject_ClearWeakRefs(self);
  release(it);
  FreeList<Held>* list = type == classes.array ? &arrays : is_scalar(self) ? &scalars : nullptr;
  if (list == nullptr || !list->put(it)) type->tp_free(self);
  Py_DECREF(type);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(held(self)->tensor);
  Py_VISIT(held(self)->source);
  return 0;
}

int clear(PyObject* self) {
  Py_CLEAR(held(self)->tensor);
  Py_CLEAR(held(self)->source);
  return 0;
}

at::Tensor taken(c10::TensorImpl*& impl) {
  return at::Tensor(c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim(std::exchange(impl, nullptr)));
}

// How a view of the parts of complex numbers lies in its base, for autograd: as strides of the base's dtype it does not.
struct Parts : torch::autograd::ViewFunc {
  std::vector<int64_t> sizes, strides;
  int64_t offset;  // from the base's first element
  Parts(const at::Tensor& view, const at::Tensor& base)
      : sizes(view.sizes().vec()), strides(view.strides().vec()), offset(view.storage_offset() - 2 * base.storage_offset()) {}
  at::Tensor operator()(const at::Tensor& base) const override {
    return at::view_as_real(base).as_strided(sizes, strides, offset + 2 * base.storage_offset());
  }
  std::unique_ptr<ViewFunc> clone_and_set(std::optional<std::vector<c10::SymInt>>,
                                          std::optional<std::vector<at::Tensor>>) const override {
    return std::make_unique<Parts>(*this);
  }
};

// Make the torch.Tensor that Python asks for; false with an exception set.
bool show(Held* it) {
  at::Tensor tensor;
  if (it->has_value) {
    c10::InferenceMode outside(false);  // the value may be older than an inference mode
    tensor = empty({}, it->dtype);
    std::memcpy(writeable_data_of(tensor), it->value, itemsize(it->dtype));
  } else if (it->impl != nullptr) {
    tensor = as_tensor(it->impl);
    if (it->base != nullptr && tensor.unsafeGetTensorImpl()->autograd_meta() != nullptr) {
      drop(it->base);  // another array with this tensor has shown it
    } else if (it->base != nullptr) {
      // Like torch's own views (`as_view` in VariableTypeUtils.h), only later.
      const at::Tensor& base = as_tensor(it->base);
      auto place = tensor.dtype() == base.dtype() ? nullptr : std::make_unique<Parts>(tensor, base);
      tensor = torch::autograd::make_variable_differentiable_view(
          tensor, torch::autograd::ViewInfo(base, std::move(place), nullptr), std::nullopt, true,
          it->is_without_grad ? CreationMeta::NO_GRAD_MODE : CreationMeta::DEFAULT);
      torch::autograd::impl::get_view_autograd_meta(tensor)->set_attr_version(it->version);
      drop(it->base);
    }
  } else {
    PyErr_SetString(PyExc_AttributeError, "tensor");
    return false;
  }
  PyObject* made = THPVariable_Wrap(tensor);
  if (made == nullptr) return false;
  if (it->source != nullptr && PyObject_SetAttr(made, source_name(), it->source) < 0) {
    Py_DECREF(made);  // GCOVR_EXCL_LINE no memory
    return false;     // GCOVR_EXCL_LINE
  }
  Py_CLEAR(it->source);
  tensor.reset();
  drop(it->impl);  // `made` holds it now
  it->has_value = false;
  it->tensor = made;
  if (!PyObject_GC_IsTracked(reinterpret_cast<PyObject*>(it))) PyObject_GC_Track(it);
  return true;
}

}  // namespace

PyObject* source_name() {
  static PyObject* name = PyUnicode_InternFromString("source");
  return name;
}

PyObject* get_tensor(PyObject* self, void*) {
  Held* it = held(self);
  if (it->tensor == nullptr) {
    try {
      if (!show(it)) return nullptr;
      // GCOVR_EXCL_START no memory
    } catch (const std::exception& error) {
      PyErr_SetString(PyExc_RuntimeError, error.what());
      return nullptr;
    }
    // GCOVR_EXCL_STOP
  }
  return Py_NewRef(it->tensor);
}

namespace {

// Choose the class of a scalar that got another tensor: float64, or the plain class, whose value C code must not read.
void choose_class(PyObject* self) {
  const at::Tensor* tensor = classes.has_floats && is_quiet() && held(self)->tensor != nullptr ? plain_tensor(self) : nullptr;
  bool is_float = tensor != nullptr && tensor->dim() == 0 && dtype_of(*tensor) == F64;
  if (is_float) std::memcpy(held(self)->value, data_of(*tensor), sizeof(double));
  PyTypeObject *before = Py_TYPE(self), *after = is_float ? classes.float64 : classes.scalar;
  if (before == after) return;
  Py_SET_TYPE(self, reinterpret_cast<PyTypeObject*>(Py_NewRef(after)));
  Py_DECREF(before);
}

// Whether NumPy counts the bytes of a tensor, in which it leaves lengths of zero out. Else false, with its ValueError set:
// torch makes empty tensors and views of any lengths. Tensors that Python implements are not asked.
bool has_bytes(const at::Tensor& tensor) {
  auto* impl = tensor.unsafeGetTensorImpl();
  if (impl->is_python_dispatch() || impl->has_symbolic_sizes_strides()) return true;
  if (static_cast<uint64_t>(impl->numel() - 1) < (uint64_t{1} << 58)) return true;  // elements of 16 bytes at most
  int64_t bytes = static_cast<int64_t>(impl->itemsize());
  for (int64_t length : impl->sizes()) {
    if (length == 0 || !__builtin_mul_overflow(bytes, length, &bytes)) continue;
    PyErr_SetString(PyExc_ValueError, "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size.");
    return false;
  }
  return true;
}

}  // namespace

int set_tensor(PyObject* self, PyObject* value, void*) {
  Held* it = held(self);
  if (value != nullptr && THPVariable_CheckExact(value) && !has_bytes(THPVariable_Unpack(value))) return -1;
  if (value == nullptr && it->tensor == nullptr && it->impl == nullptr && !it->has_value) {
    PyErr_SetString(PyExc_AttributeError, "tensor");
    return -1;
  }
  Py_XINCREF(value);
  PyObject* before = std::exchange(it->tensor, value);
  drop(it->impl);
  drop(it->base);
  it->has_value = false;
  Py_CLEAR(it->source);
  Py_XDECREF(before);
  if (value != nullptr && !PyObject_GC_IsTracked(self)) PyObject_GC_Track(self);
  if (is_scalar(self)) choose_class(self);
  return 0;
}

namespace {

PyObject* scalar_classes;  // NumPy's, by dtype number; None for a dtype that NumPy lacks

PyObject* get_class(PyObject* self, void*) {
  const Held* it = held(self);
  int8_t dtype = it->has_value ? it->dtype : NONE;
  if (!it->has_value && it->tensor != nullptr && THPVariable_Check(it->tensor))
    dtype = dtype_of(THPVariable_Unpack(it->tensor));
  else if (!it->has_value && it->impl != nullptr)
    dtype = dtype_of(it->impl);
  PyObject* found = dtype == NONE ? Py_None : PyTuple_GET_ITEM(scalar_classes, dtype);
  return Py_NewRef(found == Py_None ? reinterpret_cast<PyObject*>(Py_TYPE(self)) : found);
}
PyGetSetDef CLASS = {"__class__", get_class, nullptr, "NumPy's class of such a scalar.", nullptr};

PyGetSetDef GETSET[] = {
    {"tensor", get_tensor, set_tensor, "The torch.Tensor.", nullptr}, {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef MEMBERS[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Held, weakrefs), READONLY, nullptr}, {nullptr, 0, 0, 0, nullptr}};
PyType_Slot SLOTS[] = {
    {Py_tp_doc, const_cast<char*>("What holds the tensor of an array.")},
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_getset, GETSET},
    {Py_tp_members, MEMBERS},
    {0, nullptr},
};
PyType_Spec SPEC = {"backend_torch.native.Slot", sizeof(Held), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, SLOTS};

}  // namespace

PyTypeObject* make_slot_type() {
  classes.slot = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&SPEC));
  return classes.slot;
}

bool install_layout(PyTypeObject* array, PyTypeObject* scalar, PyTypeObject* readonly, PyTypeObject* strided,
                    PyTypeObject* float64) {
  classes.array = array;
  classes.scalar = scalar;
  classes.readonly = readonly;
  classes.strided = strided;
  classes.float64 = float64;
  for (PyTypeObject* type : {array, scalar, float64}) type->tp_dealloc = deallocate;
  // Set the bases here: a class statement refuses them, because it can't know that Held begins like a float.
  Py_ssize_t count = PyTuple_GET_SIZE(float64->tp_mro);
  PyObject* order = PyTuple_New(count + 1);
  if (order == nullptr) return false;
  for (Py_ssize_t i = 0; i <= count; i++) {
    PyObject* each = i < count - 1 ? PyTuple_GET_ITEM(float64->tp_mro, i)
                                   : reinterpret_cast<PyObject*>(i < count ? &PyFloat_Type : &PyBaseObject_Type);
    PyTuple_SET_ITEM(order, i, Py_NewRef(each));
  }
  Py_SETREF(float64->tp_mro, order);
  float64->tp_flags &= ~Py_TPFLAGS_BASETYPE;
  PyType_Modified(float64);
  return true;
}

bool install_scalar_classes(PyObject* numpys) {
  scalar_classes = Py_NewRef(numpys);
  PyObject* descriptor = PyDescr_NewGetSet(classes.scalar, &CLASS);
  bool done = descriptor != nullptr && PyDict_SetItemString(classes.scalar->tp_dict, "__class__", descriptor) == 0;
  Py_XDECREF(descriptor);
  PyType_Modified(classes.scalar);
  return done;
}

PyObject* wrap_array(at::Tensor&& tensor) {
  if (!has_bytes(tensor)) return nullptr;
  Held* it = allocate(classes.array, arrays);
  if (it == nullptr) return nullptr;
  it->impl = tensor.unsafeReleaseTensorImpl();
  PyObject_GC_Track(it);
  return reinterpret_cast<PyObject*>(it);
}

namespace {

PyObject* make_scalar(const char* value, int8_t dtype) {
  Held* it = allocate(classes.has_floats && dtype == F64 ? classes.float64 : classes.scalar, scalars);
  if (it == nullptr) return nullptr;
  it->has_value = true;
  it->dtype = dtype;
  if (itemsize(dtype) == 8)
    std::memcpy(it->value, value, 8);
  else
    std::memcpy(it->value, value, itemsize(dtype));
  return reinterpret_cast<PyObject*>(it);  // untracked: it refers to no object until Python has its tensor
}

}  // namespace

PyObject* wrap_scalar(const char* value, int8_t dtype) {
  if (dtype != B1) return make_scalar(value, dtype);
  static PyObject* truths[2];  // one True and one False, like NumPy's, until Python has its tensor
  PyObject*& truth = truths[*value != 0];
  if (truth == nullptr || !held(truth)->has_value) Py_XSETREF(truth, make_scalar(value, dtype));
  return Py_XNewRef(truth);
}

PyObject* wrap(at::Tensor&& tensor) {
  if (tensor.dim() != 0) return wrap_array(std::move(tensor));
  return wrap_scalar(data_of(tensor), dtype_of(tensor.unsafeGetTensorImpl()));
}

PyObject* wrap_recorded(at::Tensor&& tensor) {
  if (!tensor.requires_grad()) return wrap(std::move(tensor));
  if (tensor.dim() != 0) return wrap_array(std::move(tensor));
  Held* it = allocate(classes.scalar, scalars);
  if (it == nullptr) return nullptr;
  it->impl = tensor.unsafeReleaseTensorImpl();
  PyObject_GC_Track(it);
  return reinterpret_cast<PyObject*>(it);
}

namespace {

// Make an array of a class; the class of ordinary ones has objects for reuse.
PyObject* wrap_as(PyTypeObject* type, at::Tensor&& tensor) {
  if (type == classes.array) return wrap_array(std::move(tensor));
  PyObject* made = type->tp_alloc(type, 0);
  if (made != nullptr) held(made)->impl = tensor.unsafeReleaseTensorImpl();
  return made;
}

PyObject* wrap_view_of(PyObject* array, const at::Tensor& tensor, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                       int64_t offset, caffe2::TypeMeta dtype, PyTypeObject* type) {
  if (c10::AutogradState::get_tls_state().get_view_replay_enabled()) return nullptr;
  Held* source = held(array);
  auto* impl = tensor.unsafeGetTensorImpl();
  bool is_without_grad = !at::GradMode::is_enabled();
  at::Tensor made = view(tensor, sizes, strides, offset, dtype);
  if (impl->autograd_meta() != nullptr) {  // autograd may know it as a view; then this is a view of its base
    if (dtype != impl->dtype()) return nullptr;
    auto mode = is_without_grad ? CreationMeta::NO_GRAD_MODE : CreationMeta::DEFAULT;
    return wrap_as(type, torch::autograd::as_view(tensor, made, true, true, nullptr, nullptr, mode));
  }
  c10::TensorImpl* base = source->base != nullptr ? source->base : impl;
  source->has_views = true;
  made.unsafeGetTensorImpl()->set_version_counter(base->version_counter());
  PyObject* result = wrap_as(type, std::move(made));
  if (result == nullptr) return nullptr;
  held(result)->base = at::Tensor(as_tensor(base)).unsafeReleaseTensorImpl();
  held(result)->version = base->version_counter().current_version();
  held(result)->is_without_grad = is_without_grad || (source->base != nullptr && source->is_without_grad);
  return result;
}

}  // namespace

PyObject* wrap_view(PyObject* array, const at::Tensor& tensor, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                    int64_t offset, PyTypeObject* type) {
  return wrap_view_of(array, tensor, sizes, strides, offset, tensor.dtype(), type);
}

PyObject* wrap_same(PyObject* array, PyTypeObject* type) {
  Held* from = held(array);
  PyObject* made = type == classes.array ? reinterpret_cast<PyObject*>(allocate(type, arrays)) : type->tp_alloc(type, 0);
  if (made == nullptr) return nullptr;
  auto shared = [](c10::TensorImpl* impl) {
    return impl == nullptr ? nullptr : at::Tensor(as_tensor(impl)).unsafeReleaseTensorImpl();
  };
  Held* it = held(made);
  it->tensor = Py_XNewRef(from->tensor);
  it->impl = shared(from->impl);
  it->base = shared(from->base);
  it->version = from->version;
  it->is_without_grad = from->is_without_grad;
  it->is_shared = from->is_shared = true;
  if (type == classes.array) PyObject_GC_Track(made);
  return made;
}

PyObject* wrap_parts(PyObject* array, const at::Tensor& tensor, bool is_imaginary) {
  c10::SmallVector<int64_t, 6> strides(tensor.strides());
  for (int64_t& stride : strides) stride *= 2;
  auto dtype = c10::scalarTypeToTypeMeta(c10::toRealValueType(tensor.scalar_type()));
  return wrap_view_of(array, tensor, tensor.sizes(), strides, 2 * tensor.storage_offset() + is_imaginary, dtype, classes.array);
}

PyObject* find_holder(const at::Tensor& tensor, PyTypeObject* type) {
  PyObject* module = PyImport_ImportModule("gc");
  PyObject* objects = module == nullptr ? nullptr : PyObject_CallMethod(module, "get_objects", nullptr);
  Py_XDECREF(module);
  if (objects == nullptr) return nullptr;
  PyObject* found = nullptr;
  for (Py_ssize_t i = 0; found == nullptr && i < PyList_GET_SIZE(objects); i++) {
    PyObject* each = PyList_GET_ITEM(objects, i);
    if (!PyType_IsSubtype(Py_TYPE(each), type)) continue;
    const Held* it = held(each);
    const c10::TensorImpl* impl = it->impl;
    if (it->tensor != nullptr && THPVariable_CheckExact(it->tensor))
      impl = THPVariable_Unpack(it->tensor).unsafeGetTensorImpl();
    if (impl == tensor.unsafeGetTensorImpl()) found = Py_NewRef(each);
  }
  Py_DECREF(objects);
  return found;
}

}  // namespace tnp
