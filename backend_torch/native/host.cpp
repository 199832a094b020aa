#include "host.h"

#include <ATen/ops/from_blob.h>
#include <torch/csrc/utils/tensor_numpy.h>

#include <cstring>
#include <limits>

#include "functions.h"
#include "layout.h"
#include "turned.h"

namespace tnp {
namespace {

// The first fields of every NumPy ufunc (`PyUFuncObject` in ufuncobject.h, a part of NumPy's binary interface).
struct NumpyUfunc {
  PyObject_HEAD
  int nin, nout, nargs, identity;
  void (**functions)(char**, const intptr_t*, const intptr_t*, void*);
  void* const* extras;
  int count, reserved;
  const char* name;
  const char* dtypes;  // of all loops in sequence
};

// The fields of every NumPy array (`PyArrayObject` in ndarraytypes.h).
struct NumpyArray {
  PyObject_HEAD
  char* data;
  int dim;
  intptr_t* sizes;
  intptr_t* strides;
  PyObject *base, *dtype;
  int flags;
};

constexpr int IN_C_ORDER = 0x0001, IS_ALIGNED = 0x0100, IS_WRITEABLE = 0x0400;  // flags

// Return NumPy's type number of a dtype; -1 for bfloat16.
char numpy_number(int8_t dtype) {
  static constexpr bool IS_LONG = sizeof(long) == 8;
  static constexpr char NUMBERS[DTYPES] = {0,  2,  4, 6, IS_LONG ? 8 : 10, 1, 3, 5, IS_LONG ? 7 : 9,
                                           11, 12, 14, 15, 23, -1};
  return dtype == NONE ? -1 : NUMBERS[dtype];
}

// Functions of NumPy's binary interface, by their index in its table.
PyObject* (*new_array)(PyTypeObject*, int, const intptr_t*, int, const intptr_t*, void*, int, int, PyObject*);  // PyArray_New
void (*read_scalar)(PyObject*, void*);  // PyArray_ScalarAsCtype
int (*set_base)(PyObject*, PyObject*);  // PyArray_SetBaseObject, which steals the base's reference
PyObject* (*dtype_object)(int);  // PyArray_DescrFromType
PyObject* (*new_scalar)(void*, PyObject*, PyObject*);  // PyArray_Scalar

PyObject* error_state = nullptr;  // the context variable of NumPy's floating-point error states
PyObject* ignores = nullptr;      // the state that ignores all errors

bool find_interface() {
  PyObject* module = PyImport_ImportModule("numpy._core._multiarray_umath");
  if (module == nullptr) return false;
  PyObject *capsule = PyObject_GetAttrString(module, "_ARRAY_API"), *make = PyObject_GetAttrString(module, "_make_extobj");
  void** table = capsule == nullptr ? nullptr : static_cast<void**>(PyCapsule_GetPointer(capsule, nullptr));
  error_state = PyObject_GetAttrString(module, "_extobj_contextvar");
  PyObject *none = PyTuple_New(0), *options = Py_BuildValue("{s:s}", "all", "ignore");
  if (make != nullptr && none != nullptr && options != nullptr) ignores = PyObject_Call(make, none, options);
  for (PyObject* each : {module, capsule, make, none, options}) Py_XDECREF(each);
  if (table == nullptr || error_state == nullptr || ignores == nullptr) return false;
  dtype_object = reinterpret_cast<decltype(dtype_object)>(table[45]);
  new_scalar = reinterpret_cast<decltype(new_scalar)>(table[60]);
  read_scalar = reinterpret_cast<decltype(read_scalar)>(table[62]);
  new_array = reinterpret_cast<decltype(new_array)>(table[93]);
  set_base = reinterpret_cast<decltype(set_base)>(table[282]);
  return true;
}

PyObject* flags = nullptr;  // the namespace of backend_torch.tensors.memory
PyTypeObject* numpy_array = nullptr;

// set_host(namespace of backend_torch.tensors.memory, numpy.ndarray, class Turn)
PyObject* set_host(PyObject*, PyObject* args) {
  if (!PyArg_ParseTuple(args, "O!O!O!", &PyDict_Type, &flags, &PyType_Type, &numpy_array, &PyType_Type, &classes.turn))
    return nullptr;
  Py_INCREF(flags);
  Py_INCREF(numpy_array);
  Py_INCREF(classes.turn);
  if (!find_interface()) return nullptr;
  Py_RETURN_NONE;
}

// Make a NumPy view of all of a tensor's memory.
PyObject* numpy_view(const at::Tensor& tensor, PyObject* owner) {
  if (tensor.numel() == 0 || data_of(tensor) == nullptr) return torch::utils::tensor_to_numpy(tensor, false);
  return numpy_part(tensor, owner, tensor.sizes(), tensor.strides(), tensor.storage_offset());
}

// numpy_of(tensors...): a list of NumPy views of their memory, if NumPy may compute on it.
PyObject* numpy_of(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded(
      [&]() -> PyObject* {
        if (!is_quiet() || !numpy_computes()) return nullptr;
        for (Py_ssize_t i = 0; i < count; i++) {
          if (!THPVariable_CheckExact(args[i]) || !is_plain(THPVariable_Unpack(args[i]))) return nullptr;
        }
        PyObject* list = PyList_New(count);
        if (list == nullptr) return nullptr;
        for (Py_ssize_t i = 0; i < count; i++) {
          PyObject* array = numpy_view(THPVariable_Unpack(args[i]), args[i]);
          if (array == nullptr) {
            Py_DECREF(list);
            return nullptr;
          }
          PyList_SET_ITEM(list, i, array);
        }
        return list;
      },
      [] { return Py_NewRef(Py_None); });
}

// Make a tensor over the memory of a new NumPy array in C order; torch's function looks at it twice as long.
at::Tensor over_new(PyObject* array, c10::IntArrayRef sizes, int8_t dtype, int64_t bytes) {
  auto release = [](void* owner) {
    PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(static_cast<PyObject*>(owner));
    PyGILState_Release(state);
  };
  c10::DataPtr data(reinterpret_cast<const NumpyArray*>(array)->data, Py_NewRef(array), release, c10::kCPU);
  auto storage = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), bytes, std::move(data), nullptr, false);
  auto impl = c10::make_intrusive<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU),
                                                   c10::scalarTypeToTypeMeta(SCALAR_TYPES[dtype]));
  impl->set_sizes_contiguous(sizes);
  return at::Tensor(std::move(impl));
}

// Make a tensor of a new NumPy array: over its memory, or a copy if it is small, because torch takes longer to share.
at::Tensor tensor_of(PyObject* array) {
  constexpr int64_t SMALL = 8192;  // bytes
  const auto* given = reinterpret_cast<const NumpyArray*>(array);
  int8_t dtype = given->base == nullptr && given->flags & IN_C_ORDER ? read_dtype(given->dtype, NONE) : NONE;
  if (dtype == NONE) return torch::utils::tensor_from_numpy(array, false);
  c10::IntArrayRef sizes(reinterpret_cast<const int64_t*>(given->sizes), given->dim);
  int64_t bytes = itemsize(dtype);
  for (int64_t size : sizes) bytes *= size;
  if (bytes == 0) return torch::utils::tensor_from_numpy(array, false);
  if (bytes > SMALL) return over_new(array, sizes, dtype, bytes);
  at::Tensor made = empty(sizes, dtype);
  std::memcpy(writeable_data_of(made), given->data, bytes);
  return made;
}
PyObject* take_over(PyObject* array) { return wrap_array(tensor_of(array)); }

// of_numpy(array): make an array over memory that NumPy has allocated or was given.
PyObject* of_numpy(PyObject*, PyObject* array) {
  return guarded(
      [&]() -> PyObject* {
        if (Py_TYPE(array) != numpy_array || !is_quiet() || !makes_on_cpu()) return nullptr;
        if (!(reinterpret_cast<const NumpyArray*>(array)->flags & IS_ALIGNED)) return nullptr;
        return take_over(array);
      },
      [] { return Py_NewRef(Py_None); });
}

// over_numpy(array, dtype): make an array over the memory of a writeable NumPy array in C order with this dtype.
PyObject* over_numpy_of(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded(
      [&]() -> PyObject* {
        if (count != 2 || !is_numpy(args[0])) return nullptr;
        int8_t dtype = read_dtype(reinterpret_cast<const NumpyArray*>(args[0])->dtype, NONE);
        return dtype == read_dtype(args[1], dtype) ? over_numpy(args[0]) : nullptr;
      },
      [] { return Py_NewRef(Py_None); });
}

constexpr int64_t ANY_SIZE = std::numeric_limits<int64_t>::max();  // given as `most`: arrays of any size
constexpr int64_t TENSORS = -1;  // given as `most`: tensors of any size instead of arrays

// Make a view of a NumPy array with at most so many elements; nullptr without an exception for any other dtype, and for
// no elements. Its base is a tuple, so that no view of it is taken for new memory.
PyObject* view_of_numpy(PyObject* x, int64_t most) {
  const auto* given = reinterpret_cast<const NumpyArray*>(x);
  int8_t dtype = read_dtype(given->dtype, NONE);
  int64_t elements = 1;
  for (int axis = 0; axis < given->dim; axis++) elements *= given->sizes[axis];
  if (dtype == NONE || elements == 0 || elements > most) return nullptr;
  PyObject* array = new_array(numpy_array, given->dim, given->sizes, numpy_number(dtype), given->strides, given->data, 0,
                              given->flags & (IS_ALIGNED | IS_WRITEABLE), nullptr);
  if (array != nullptr && set_base(array, PyTuple_Pack(1, x)) < 0) Py_CLEAR(array);
  return array;
}

// Convert an argument for NumPy: arrays with at most so many elements to NumPy views, scalars to NumPy's; numbers,
// strings, None and the classes of dtypes stay; lists and tuples item by item. A new reference; nullptr without an
// exception for anything else, and for no elements: NumPy may warn then.
// A list may hold itself: nothing that is deeper than an array has axes is converted.
PyObject* argument(PyObject* x, int64_t most, int depth = 0) {
  if (is_array(x) || is_readonly(x)) {  // its views come from the Python path
    const at::Tensor* tensor = plain_tensor(x);
    return tensor == nullptr || tensor->numel() > most || tensor->numel() == 0 ? nullptr : numpy_view(*tensor, x);
  }
  if (is_turned(x)) {
    const at::Tensor* tensor = plain_tensor(x);
    if (tensor == nullptr || tensor->numel() > most) return nullptr;
    Elements elements(x, *tensor);
    return numpy_part(*tensor, x, elements.sizes, elements.strides, elements.offset);
  }
  if (most == TENSORS && THPVariable_CheckExact(x)) {
    const at::Tensor& tensor = THPVariable_Unpack(x);
    return is_plain(tensor) && tensor.numel() > 0 ? numpy_view(tensor, x) : nullptr;
  }
  if (is_numpy(x)) return view_of_numpy(x, most);
  if (is_scalar(x)) return numpy_scalar(x);
  if (int8_t dtype; scalar_value(x, dtype) != nullptr) return Py_NewRef(x);
  if (PyComplex_CheckExact(x)) return nullptr;  // NumPy may cast it to a real dtype, with a warning
  if (x == Py_None || is_number(x) || PyUnicode_CheckExact(x)) return Py_NewRef(x);
  if (PyType_Check(x)) return numpy_number(read_dtype(x, NONE)) < 0 ? nullptr : Py_NewRef(x);
  if ((!PyList_CheckExact(x) && !PyTuple_CheckExact(x)) || depth > 64) return nullptr;
  Py_ssize_t count = PySequence_Fast_GET_SIZE(x);
  PyObject* tuple = count == 0 ? nullptr : PyTuple_New(count);
  for (Py_ssize_t i = 0; tuple != nullptr && i < count; i++) {
    PyObject* item = argument(PySequence_Fast_GET_ITEM(x, i), most, depth + 1);
    if (item == nullptr) Py_CLEAR(tuple);
    else PyTuple_SET_ITEM(tuple, i, item);
  }
  if (tuple != nullptr && PyList_CheckExact(x)) Py_SETREF(tuple, PySequence_List(tuple));  // as indices these differ
  return tuple;
}

// Convert a key for NumPy: index arrays and masks to views, slices and the like stay. A new reference; nullptr without
// an exception for anything else.
PyObject* key_part(PyObject* item) {
  if (PySlice_Check(item) || item == Py_Ellipsis) return Py_NewRef(item);
  if (is_numpy(item)) {  // an index array or a mask, but no number
    const auto* given = reinterpret_cast<const NumpyArray*>(item);
    int8_t dtype = read_dtype(given->dtype, NONE);
    return given->dim > 0 && (dtype == B1 || (dtype >= U8 && dtype <= I64)) ? Py_NewRef(item) : nullptr;
  }
  if (PyBool_Check(item) || (is_array(item) && plain_tensor(item) != nullptr && plain_tensor(item)->dim() == 0)) return nullptr;
  return PyFloat_CheckExact(item) || PyUnicode_CheckExact(item) ? nullptr : argument(item, LARGE);
}
PyObject* numpy_key(PyObject* key) {
  if (!PyTuple_CheckExact(key)) return key_part(key);
  PyObject* items = PyTuple_New(PyTuple_GET_SIZE(key));
  for (Py_ssize_t i = 0; items != nullptr && i < PyTuple_GET_SIZE(key); i++) {
    PyObject* item = key_part(PyTuple_GET_ITEM(key, i));
    if (item == nullptr) Py_CLEAR(items);
    else PyTuple_SET_ITEM(items, i, item);
  }
  return items;
}

// NumPy's error for a singular matrix and the like. The Python path may not raise it: rounding decides.
PyObject* linalg_error() {
  static PyObject* type = [] {
    PyObject *type, *value, *traceback;  // of the error that is asked about
    PyErr_Fetch(&type, &value, &traceback);
    PyObject* module = PyImport_ImportModule("numpy.linalg");
    PyObject* found = module == nullptr ? nullptr : PyObject_GetAttrString(module, "LinAlgError");
    Py_XDECREF(module);
    PyErr_Restore(type, value, traceback);
    return found;
  }();
  return type;
}

// Call a NumPy function, which ignores floating-point errors: nothing asks for them. A new reference; nullptr without an
// exception if an argument can't be converted, or if NumPy refuses it: the Python path then raises the error. nullptr
// with an exception for an interrupt and the like, and for a LinAlgError.
PyObject* call_numpy(PyObject* const* args, Py_ssize_t count, int64_t most, PyObject* names = nullptr) {
  constexpr Py_ssize_t MOST = 12;
  Py_ssize_t all = count + (names == nullptr ? 0 : PyTuple_GET_SIZE(names)), ready = 1;
  if (!is_quiet() || !numpy_computes() || !makes_on_cpu() || count < 2 || all > MOST) return nullptr;
  PyObject *given[MOST], *result = nullptr;
  while (ready < all && (given[ready] = argument(args[ready], most)) != nullptr) ready++;
  PyObject* before = ready == all ? PyContextVar_Set(error_state, ignores) : nullptr;
  if (before != nullptr) {
    result = PyObject_Vectorcall(args[0], given + 1, count - 1, names);
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyContextVar_Reset(error_state, before);
    PyErr_Restore(type, value, traceback);
    Py_DECREF(before);
  }
  for (Py_ssize_t i = 1; i < ready; i++) Py_DECREF(given[i]);
  if (result == nullptr && !(PyErr_Occurred() && PyErr_ExceptionMatches(linalg_error()))) clear_refusal();
  return result;
}

// Make an array of a NumPy array that is a view of new memory, with the same base; nullptr without an exception for any
// other view.
PyObject* take_over_view(const NumpyArray* given) {
  const auto* whole = reinterpret_cast<const NumpyArray*>(given->base);
  if (Py_TYPE(given->base) != numpy_array || whole->base != nullptr || !(given->flags & IS_WRITEABLE)) return nullptr;
  int8_t dtype = read_dtype(given->dtype, NONE);
  if (dtype == NONE) return nullptr;
  if (dtype != read_dtype(whole->dtype, NONE)) return take_over(reinterpret_cast<PyObject*>(const_cast<NumpyArray*>(given)));
  PyObject* base = take_over(given->base);
  const at::Tensor* tensor = base == nullptr ? nullptr : plain_tensor(base);
  PyObject* made = nullptr;
  if (tensor != nullptr && given->dim <= 32) {
    int64_t width = itemsize(dtype), strides[32], offset = given->data - whole->data;
    bool fits = offset % width == 0;
    for (int axis = 0; axis < given->dim; axis++) {
      strides[axis] = given->strides[axis] / width;
      fits = fits && given->strides[axis] >= 0 && given->strides[axis] % width == 0;
    }
    c10::IntArrayRef sizes(reinterpret_cast<const int64_t*>(given->sizes), given->dim);
    if (fits) made = wrap_view(base, *tensor, sizes, {strides, static_cast<size_t>(given->dim)}, offset / width);
  }
  Py_XDECREF(base);
  return made;
}

// Make an array of a new NumPy array, a scalar of NumPy's, or a tuple or list of them, which may share memory; a truth
// stays; nullptr without an exception for anything else.
PyObject* adopt(PyObject* result, bool is_part = false) {
  if (PyBool_Check(result)) return Py_NewRef(result);
  if (Py_TYPE(result) == numpy_array) {
    const auto* given = reinterpret_cast<const NumpyArray*>(result);
    return given->base == nullptr || is_part ? take_over(result) : take_over_view(given);
  }
  if (!PyTuple_Check(result) && !PyList_CheckExact(result)) {
    int8_t dtype = read_dtype(reinterpret_cast<PyObject*>(Py_TYPE(result)), NONE);
    if (dtype == NONE || dtype >= LOOPS || is_number(result)) return nullptr;
    alignas(16) char value[16];
    read_scalar(result, value);
    return wrap_scalar(value, dtype);
  }
  Py_ssize_t count = PySequence_Fast_GET_SIZE(result);
  PyObject* arrays = PyTuple_New(count);
  for (Py_ssize_t i = 0; arrays != nullptr && i < count; i++) {
    PyObject* array = adopt(PySequence_Fast_GET_ITEM(result, i), true);
    if (array == nullptr) Py_CLEAR(arrays);
    else PyTuple_SET_ITEM(arrays, i, array);
  }
  if (arrays != nullptr && PyList_CheckExact(result)) Py_SETREF(arrays, PySequence_List(arrays));
  return arrays;
}

// by_numpy(function, arguments..., name=argument...): call a NumPy function on the memory of arrays with at most MOST
// elements; return its new arrays.
template <int64_t MOST>
PyObject* by_numpy(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return guarded(
      [&]() -> PyObject* {
        PyObject* result = call_numpy(args, count, MOST, names);
        if (result == nullptr) return nullptr;
        PyObject* arrays = adopt(result);
        Py_DECREF(result);
        return arrays;
      },
      [] { return Py_NewRef(Py_None); });
}

// Make a tensor of a NumPy array, which is copied unless it is new and in C order, or of a scalar of NumPy's, or a tuple
// of them; nullptr without an exception for anything else.
PyObject* as_tensors(PyObject* result) {
  if (Py_TYPE(result) == numpy_array) {
    const auto* given = reinterpret_cast<const NumpyArray*>(result);
    if (read_dtype(given->dtype, NONE) == NONE) return nullptr;
    if (given->base == nullptr && given->flags & IN_C_ORDER) return THPVariable_Wrap(tensor_of(result));
    PyObject* copy = PyObject_CallMethod(result, "copy", nullptr);
    PyObject* tensor = copy == nullptr ? nullptr : THPVariable_Wrap(tensor_of(copy));
    Py_XDECREF(copy);
    return tensor;
  }
  if (!PyTuple_Check(result)) {
    int8_t dtype = read_dtype(reinterpret_cast<PyObject*>(Py_TYPE(result)), NONE);
    if (dtype == NONE || dtype >= LOOPS || is_number(result)) return nullptr;
    at::Tensor made = empty({}, dtype);
    read_scalar(result, writeable_data_of(made));
    return THPVariable_Wrap(std::move(made));
  }
  PyObject* tensors = PyTuple_New(PyTuple_GET_SIZE(result));
  for (Py_ssize_t i = 0; tensors != nullptr && i < PyTuple_GET_SIZE(result); i++) {
    PyObject* tensor = as_tensors(PyTuple_GET_ITEM(result, i));
    if (tensor == nullptr) Py_CLEAR(tensors);
    else PyTuple_SET_ITEM(tensors, i, tensor);
  }
  return tensors;
}

// tensors_by_numpy(function, arguments..., name=argument...): call a NumPy function on the memory of tensors; return
// tensors over its new memory, in C order.
PyObject* tensors_by_numpy(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return guarded(
      [&]() -> PyObject* {
        PyObject* result = call_numpy(args, count, TENSORS, names);
        PyObject* tensors = result == nullptr ? nullptr : as_tensors(result);
        Py_XDECREF(result);
        return tensors;
      },
      [] { return Py_NewRef(Py_None); });
}

// Return the tensor of an array or a scalar; nullptr without an exception for anything else.
PyObject* tensor_in(PyObject* result) {
  if (is_scalar(result) && held(result)->has_value) {
    at::Tensor made = empty({}, held(result)->dtype);
    std::memcpy(writeable_data_of(made), held(result)->value, made.itemsize());
    return THPVariable_Wrap(std::move(made));
  }
  const at::Tensor* tensor = is_array(result) ? plain_tensor(result) : nullptr;
  return tensor == nullptr ? nullptr : THPVariable_Wrap(*tensor);
}

// on_tensors(head, arguments...): call the native head of a function, which makes a new array, on tensors as arrays.
PyObject* on_tensors(PyObject*, PyObject* const* args, Py_ssize_t count) {
  constexpr Py_ssize_t MOST = 8;
  return guarded(
      [&]() -> PyObject* {
        if (count > MOST || !is_quiet()) return nullptr;
        PyObject *given[MOST], *result = nullptr;
        Py_ssize_t ready = 1;
        for (; ready < count; ready++) {
          bool is_tensor = THPVariable_CheckExact(args[ready]);
          if (is_tensor && !is_plain(THPVariable_Unpack(args[ready]))) break;
          given[ready] = is_tensor ? wrap_array(at::Tensor(THPVariable_Unpack(args[ready]))) : Py_NewRef(args[ready]);
          if (given[ready] == nullptr) break;
        }
        if (ready == count) result = PyObject_Vectorcall(args[0], given + 1, count - 1, nullptr);
        while (ready > 1) Py_DECREF(given[--ready]);
        PyObject* tensor = result == nullptr ? nullptr : tensor_in(result);
        Py_XDECREF(result);
        return tensor;
      },
      [] { return Py_NewRef(Py_None); });
}

// draw(method of NumPy's generator, arguments...): its number, or an array over its memory. What it raises is raised: a
// second call would draw other numbers.
PyObject* draw(PyObject*, PyObject* const* args, Py_ssize_t count) {
  constexpr Py_ssize_t MOST = 8;
  auto body = [&]() -> PyObject* {
    if (!is_quiet() || !makes_on_cpu() || count > MOST) return nullptr;
    PyObject *given[MOST], *drawn = nullptr;
    Py_ssize_t ready = 1;
    while (ready < count && (given[ready] = argument(args[ready], ANY_SIZE)) != nullptr) ready++;
    if (ready == count) drawn = PyObject_Vectorcall(args[0], given + 1, count - 1, nullptr);
    while (ready > 1) Py_DECREF(given[--ready]);
    if (drawn == nullptr || Py_TYPE(drawn) != numpy_array) return drawn;
    PyObject* made = guarded([&] { return take_over(drawn); }, [&] { return Py_NewRef(drawn); });
    Py_DECREF(drawn);
    return made;
  };
  return guarded(body, [] { return Py_NewRef(Py_None); });
}

// write_by_numpy(function, array, arguments...): let a NumPy function write to an array; return True if it did.
PyObject* write_by_numpy(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded(
      [&]() -> PyObject* {
        const at::Tensor* target = count > 1 && is_array(args[1]) ? plain_tensor(args[1]) : nullptr;
        if (target == nullptr || !is_dense(*target)) return nullptr;
        for (Py_ssize_t i = 2; i < count; i++) {  // a cast might warn, with another line than the user's
            const at::Tensor* other = is_array(args[i]) ? plain_tensor(args[i]) : nullptr;
            if (is_numpy(args[i])) return nullptr;
            int8_t dtype = other == nullptr ? static_cast<int8_t>(B1) : dtype_of(*other);
            if (dtype != B1 && dtype != I64 && dtype != dtype_of(*target)) return nullptr;
        }
        PyObject* result = call_numpy(args, count, LARGE);
        if (result == nullptr) return nullptr;
        Py_DECREF(result);
        target->unsafeGetTensorImpl()->bump_version();
        return Py_NewRef(Py_True);
      },
      [] { return Py_NewRef(Py_None); });
}

}  // namespace

PyObject* numpy_part(const at::Tensor& tensor, PyObject* owner, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                     int64_t offset) {
  constexpr int ALIGNED_AND_WRITEABLE = 0x0500;
  char number = numpy_number(dtype_of(tensor));
  int64_t width = static_cast<int64_t>(tensor.itemsize());
  if (number < 0 || sizes.size() > 32) return nullptr;
  intptr_t in_bytes[32];
  for (size_t axis = 0; axis < sizes.size(); axis++) in_bytes[axis] = strides[axis] * width;
  static_assert(sizeof(intptr_t) == sizeof(int64_t));
  char* data = data_of(tensor) + (offset - tensor.storage_offset()) * width;
  PyObject* array = new_array(numpy_array, static_cast<int>(sizes.size()), reinterpret_cast<const intptr_t*>(sizes.data()),
                              number, in_bytes, data, 0, ALIGNED_AND_WRITEABLE, nullptr);
  if (array != nullptr && set_base(array, Py_NewRef(owner)) < 0) Py_CLEAR(array);
  return array;
}

bool is_numpy(PyObject* x) { return Py_TYPE(x) == numpy_array; }

bool is_writeable_numpy(PyObject* array) { return reinterpret_cast<const NumpyArray*>(array)->flags & IS_WRITEABLE; }

bool read_strides(PyObject* array, const at::Tensor& tensor, c10::SmallVector<int64_t, 6>& strides) {
  const auto* given = reinterpret_cast<const NumpyArray*>(array);
  if (!is_numpy(array) || !is_writeable_numpy(array) || !(given->flags & IS_ALIGNED) || given->dim != tensor.dim()) return false;
  if (read_dtype(given->dtype, NONE) != dtype_of(tensor)) return false;
  int64_t width = static_cast<int64_t>(tensor.itemsize());
  for (int axis = 0; axis < given->dim; axis++) {
    if (given->sizes[axis] != tensor.sizes()[axis] || given->strides[axis] % width != 0) return false;
    strides[axis] = given->strides[axis] / width;
  }
  return true;
}

PyObject* numpy_scalar(PyObject* x) {
  char number = held(x)->has_value ? numpy_number(held(x)->dtype) : static_cast<char>(-1);
  PyObject* dtype = number < 0 ? nullptr : dtype_object(number);
  PyObject* made = dtype == nullptr ? nullptr : new_scalar(held(x)->value, dtype, nullptr);
  Py_XDECREF(dtype);
  return made;
}

const char* scalar_value(PyObject* x, int8_t& dtype) {
  if (is_scalar(x)) {
    dtype = held(x)->dtype;
    if (held(x)->has_value) return held(x)->value;
    const at::Tensor* tensor = plain_tensor(x);
    dtype = tensor == nullptr || tensor->dim() > 0 ? NONE : dtype_of(*tensor);
    return dtype == NONE ? nullptr : data_of(*tensor);
  }
  if (is_ours(x) || is_number(x)) return nullptr;
  dtype = read_dtype(reinterpret_cast<PyObject*>(Py_TYPE(x)), NONE);
  return dtype == NONE ? nullptr : reinterpret_cast<const char*>(x + 1);  // arrayscalars.h: it follows the object's head
}

namespace {

// Read the strides, in elements, of a NumPy array; false for those that no tensor has.
bool read_elements(const NumpyArray* given, int8_t dtype, int64_t* strides) {
  if (dtype == NONE || !(given->flags & IS_ALIGNED) || given->dim > 32) return false;
  int64_t width = itemsize(dtype);
  for (int axis = 0; axis < given->dim; axis++) {
    int64_t stride = given->strides[axis], size = given->sizes[axis];
    if (size == 0 || stride < 0 || stride % width || (stride == 0 && size > 1)) return false;
    strides[axis] = stride / width;
  }
  return true;
}

}  // namespace

bool borrow(PyObject* x, at::Tensor& tensor) {
  if (!is_numpy(x)) return false;
  const auto* given = reinterpret_cast<const NumpyArray*>(x);
  int8_t dtype = read_dtype(given->dtype, NONE);
  int64_t strides[32];
  if (!read_elements(given, dtype, strides)) return false;
  c10::IntArrayRef sizes(reinterpret_cast<const int64_t*>(given->sizes), given->dim);
  tensor = at::from_blob(given->data, sizes, {strides, static_cast<size_t>(given->dim)}, SCALAR_TYPES[dtype]);
  return true;
}

PyObject* lent_by_numpy(PyObject* x) {
  at::Tensor tensor;
  return is_quiet() && makes_on_cpu() && borrow(x, tensor) ? wrap_array(std::move(tensor)) : nullptr;
}

PyObject* over_numpy(PyObject* x) {
  constexpr int NEEDED = IN_C_ORDER | IS_WRITEABLE;
  const auto* given = reinterpret_cast<const NumpyArray*>(x);
  int64_t strides[32];
  if ((given->flags & NEEDED) != NEEDED || !is_quiet()) return nullptr;
  if (!read_elements(given, read_dtype(given->dtype, NONE), strides)) return nullptr;
  return wrap_array(torch::utils::tensor_from_numpy(x, false));
}

PyObject* pick_by_numpy(PyObject* array, const at::Tensor& tensor, PyObject* key) {
  if (!numpy_computes()) return nullptr;
  PyObject *source = numpy_view(tensor, array), *given = source == nullptr ? nullptr : numpy_key(key);
  PyObject* result = given == nullptr ? nullptr : PyObject_GetItem(source, given);
  Py_XDECREF(source);
  Py_XDECREF(given);
  bool is_ordered = result != nullptr && Py_TYPE(result) == numpy_array;
  if (is_ordered && !(reinterpret_cast<const NumpyArray*>(result)->flags & IN_C_ORDER))
    Py_SETREF(result, PyObject_CallMethod(result, "copy", nullptr));  // torch's results are in C order
  PyObject* made = is_ordered && result != nullptr ? take_over(result) : nullptr;
  Py_XDECREF(result);
  clear_refusal();
  return made;
}

bool put_by_numpy(PyObject* array, const at::Tensor& tensor, PyObject* key, PyObject* value) {
  if (!numpy_computes()) return false;
  if (!is_number(value)) {  // no cast, which might warn
    const at::Tensor* source = is_array(value) ? plain_tensor(value) : nullptr;
    if (source == nullptr || source->dtype() != tensor.dtype()) return false;
  }
  PyObject *target = numpy_view(tensor, array), *given = target == nullptr ? nullptr : numpy_key(key);
  PyObject* source = given == nullptr ? nullptr : is_number(value) ? Py_NewRef(value) : numpy_view(*plain_tensor(value), value);
  bool is_done = source != nullptr && PyObject_SetItem(target, given, source) == 0;
  Py_XDECREF(target);
  Py_XDECREF(given);
  Py_XDECREF(source);
  clear_refusal();
  return is_done;
}

bool numpy_computes() {
  static PyObject* name = PyUnicode_InternFromString("host_computes");
  return flags != nullptr && PyDict_GetItem(flags, name) == Py_True;
}

NumpyLoop numpy_loop(PyObject* ufunc, const int8_t* dtypes, int count) {
  auto* found = reinterpret_cast<const NumpyUfunc*>(ufunc);
  NumpyLoop loop;
  if (found->nargs != count) return loop;
  for (int row = 0; row < found->count; row++) {
    int same = 0;
    while (same < count && found->dtypes[row * count + same] == numpy_number(dtypes[same])) same++;
    if (same < count) continue;
    loop.function = found->functions[row];
    loop.extra = found->extras == nullptr ? nullptr : found->extras[row];
    std::copy(dtypes, dtypes + count, loop.dtypes);
    break;
  }
  return loop;
}

PyMethodDef HOST_FUNCTIONS[] = {
    {"set_host", set_host, METH_VARARGS, nullptr},
    TNP_FAST("numpy_of", numpy_of),
    {"of_numpy", of_numpy, METH_O, nullptr},
    TNP_FAST("over_numpy", over_numpy_of),
    {"by_numpy", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(by_numpy<LARGE>)),
     METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"any_by_numpy", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(by_numpy<ANY_SIZE>)),
     METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"some_by_numpy", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(by_numpy<4095>)),
     METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"few_by_numpy", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(by_numpy<512>)),
     METH_FASTCALL | METH_KEYWORDS, nullptr},
    TNP_FAST("on_tensors", on_tensors),
    {"tensors_by_numpy", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(tensors_by_numpy)),
     METH_FASTCALL | METH_KEYWORDS, nullptr},
    TNP_FAST("write_by_numpy", write_by_numpy),
    TNP_FAST("draw", draw),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace tnp
