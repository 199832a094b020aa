// Each slot computes natively if the operands pass the guard. Otherwise it calls the class's Python method, by the
// rules of CPython's own slots for Python classes: `SLOT1BINFULL` in Objects/typeobject.c.
#include "slots.h"

#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "functions.h"
#include "host.h"
#include "indexing.h"
#include "layout.h"
#include "turned.h"
#include "ufuncs.h"

namespace tnp {
namespace {

constexpr int CLASSES = 4;  // arrays, scalars, read-only arrays, views with strides that torch does not have
int class_of(PyObject* x) {
  return is_array(x) ? 0 : is_scalar(x) ? 1 : is_readonly(x) ? 2 : Py_TYPE(x) == classes.strided ? 3 : -1;
}

// Arithmetic: one row for each slot of two operands.

struct BinarySlot {
  const char* ufunc;
  const char* method;     // the method's name without underscores
  size_t slot, inplace;   // offsets in PyNumberMethods
};

#define TNP_SLOT(UFUNC, METHOD, NAME) \
  {UFUNC, METHOD, offsetof(PyNumberMethods, nb_##NAME), offsetof(PyNumberMethods, nb_inplace_##NAME)}
constexpr BinarySlot BINARY_SLOTS[] = {
    TNP_SLOT("add", "add", add),
    TNP_SLOT("subtract", "sub", subtract),
    TNP_SLOT("multiply", "mul", multiply),
    TNP_SLOT("divide", "truediv", true_divide),
    TNP_SLOT("floor_divide", "floordiv", floor_divide),
    TNP_SLOT("remainder", "mod", remainder),
    TNP_SLOT("left_shift", "lshift", lshift),
    TNP_SLOT("right_shift", "rshift", rshift),
    TNP_SLOT("bitwise_and", "and", and),
    TNP_SLOT("bitwise_or", "or", or),
    TNP_SLOT("bitwise_xor", "xor", xor),
    TNP_SLOT("power", "pow", power),
};
#undef TNP_SLOT
constexpr int BINARIES = sizeof BINARY_SLOTS / sizeof *BINARY_SLOTS;
constexpr int POWER = BINARIES - 1;

struct Methods {  // Python methods, by slot and class
  PyObject* forward[CLASSES] = {};
  PyObject* reflected[CLASSES] = {};
  PyObject* inplace[CLASSES] = {};
  PyObject* reflected_name = nullptr;
  Ufunc* ufunc = nullptr;
};
Methods methods[BINARIES];

template <class Function>
Function& at_offset(PyTypeObject* type, size_t offset) {
  return *reinterpret_cast<Function*>(reinterpret_cast<char*>(type->tp_as_number) + offset);
}

PyObject* call2(PyObject* function, PyObject* a, PyObject* b) {
  PyObject* stack[] = {a, b};
  return PyObject_Vectorcall(function, stack, 2, nullptr);
}

// Whether the class of `other` has a different reflected method from the class of `self`.
bool is_overloaded(const Methods& row, PyObject* self, PyObject* other) {
  PyObject* one = PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(self)), row.reflected_name);
  PyObject* two = PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(other)), row.reflected_name);
  bool differs = one != two;
  Py_XDECREF(one);
  Py_XDECREF(two);
  PyErr_Clear();
  return differs;
}

PyObject* python_binary(const Methods& row, PyObject* self, PyObject* other) {
  int left = class_of(self), right = class_of(other);
  bool do_other = right >= 0 && Py_TYPE(self) != Py_TYPE(other);
  if (left >= 0) {
    if (do_other && PyType_IsSubtype(Py_TYPE(other), Py_TYPE(self)) && is_overloaded(row, self, other))
      return call2(row.reflected[right], other, self);  // none of these methods leaves it to the other's
    PyObject* result = call2(row.forward[left], self, other);
    if (result != Py_NotImplemented || Py_TYPE(self) == Py_TYPE(other)) return result;
    Py_DECREF(result);
  }
  if (do_other) return call2(row.reflected[right], other, self);
  Py_RETURN_NOTIMPLEMENTED;
}

template <int I>
PyObject* binary(PyObject* self, PyObject* other) {
  if (PyObject* result = call_scalars(methods[I].ufunc, self, other)) return result;
  return guarded([&] { return call_binary(methods[I].ufunc, self, other); },
                 [&] { return python_binary(methods[I], self, other); });
}

template <int I>
PyObject* inplace(PyObject* self, PyObject* other) {
  int kind = class_of(self);
  if (kind == 1)  // scalars are immutable
    if (PyObject* result = call_scalars(methods[I].ufunc, self, other)) return result;
  if (kind == 1)
    return guarded([&] { return call_binary(methods[I].ufunc, self, other); },
                   [&] { return call2(methods[I].inplace[1], self, other); });
  return guarded([&]() -> PyObject* { return call_inplace(methods[I].ufunc, self, other) ? Py_NewRef(self) : nullptr; },
                 [&] { return call2(methods[I].inplace[kind], self, other); });
}

// NumPy's operator squares booleans, to int8; its function `power` does not.
bool squares_booleans(PyObject* self, PyObject* other) {
  if (!PyLong_CheckExact(other) || class_of(self) < 0 || is_scalar(self)) return false;
  const at::Tensor* tensor = plain_tensor(self);
  int overflow = 0;
  return tensor != nullptr && dtype_of(*tensor) == B1 && PyLong_AsLongAndOverflow(other, &overflow) == 2;
}

PyObject* power(PyObject* self, PyObject* other, PyObject* modulo) {
  if (modulo == Py_None)
    return squares_booleans(self, other) ? python_binary(methods[POWER], self, other) : binary<POWER>(self, other);
  int kind = class_of(self);
  if (kind < 0) Py_RETURN_NOTIMPLEMENTED;
  PyObject* stack[] = {self, other, modulo};
  return PyObject_Vectorcall(methods[POWER].forward[kind], stack, 3, nullptr);
}

PyObject* inplace_power(PyObject* self, PyObject* other, PyObject* modulo) {
  return inplace<POWER>(self, other);
}

// Products of matrices and vectors.

PyObject* product_methods[CLASSES][2];  // __matmul__, __rmatmul__

PyObject* matrix_product(PyObject* self, PyObject* other) {
  return guarded([&] { return on_straight(self, other, matmul); },
                 [&]() -> PyObject* {
                   int left = class_of(self);  // a method leaves it to no other of these classes
                   if (left >= 0) return call2(product_methods[left][0], self, other);
                   return call2(product_methods[class_of(other)][1], other, self);
                 });
}

// Comparisons, in the order of Py_LT ... Py_GE.

constexpr const char* COMPARISONS[] = {"less", "less_equal", "equal", "not_equal", "greater", "greater_equal"};
constexpr const char* COMPARING[] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};
PyObject* comparing[6][CLASSES];
Ufunc* comparisons[6];

PyObject* compare(PyObject* self, PyObject* other, int operation) {
  if (PyObject* result = call_scalars(comparisons[operation], self, other)) return result;
  return guarded([&] { return call_binary(comparisons[operation], self, other); },
                 [&]() -> PyObject* {
                   int kind = class_of(self);
                   if (kind < 0) Py_RETURN_NOTIMPLEMENTED;
                   return call2(comparing[operation][kind], self, other);
                 });
}

// One operand.

struct UnarySlot {
  const char* ufunc;
  const char* method;
  size_t slot;
};
constexpr UnarySlot UNARY_SLOTS[] = {
    {"negative", "__neg__", offsetof(PyNumberMethods, nb_negative)},
    {"positive", "__pos__", offsetof(PyNumberMethods, nb_positive)},
    {"absolute", "__abs__", offsetof(PyNumberMethods, nb_absolute)},
    {"invert", "__invert__", offsetof(PyNumberMethods, nb_invert)},
};
constexpr int UNARIES = sizeof UNARY_SLOTS / sizeof *UNARY_SLOTS;
PyObject* unary_methods[UNARIES][CLASSES];
Ufunc* unary_ufuncs[UNARIES];

template <int I>
PyObject* unary(PyObject* self) {
  if (PyObject* result = call_scalar(unary_ufuncs[I], self)) return result;
  return guarded([&] { return call_unary(unary_ufuncs[I], self); },
                 [&] { return PyObject_CallOneArg(unary_methods[I][class_of(self)], self); });
}

// Values.

PyObject* float_methods[CLASSES];
PyObject* int_methods[CLASSES];
PyObject* index_methods[CLASSES];
PyObject* bool_methods[CLASSES];
PyObject* hash_method;  // the scalar class's method

// Return the address of the only element of an array, else nullptr. Without `any_axes` the array must be 0-d.
const char* only_element(PyObject* self, bool any_axes, int8_t& dtype) {
  if (held(self)->has_value) {  // reading a stored value needs no operation, so modes don't matter
    dtype = held(self)->dtype;
    return dtype >= LOOPS ? nullptr : held(self)->value;
  }
  if (!is_quiet()) return nullptr;
  const at::Tensor* tensor = plain_tensor(self);
  if (tensor == nullptr || (any_axes ? tensor->numel() != 1 : tensor->dim() != 0)) return nullptr;
  dtype = dtype_of(tensor->unsafeGetTensorImpl());
  return dtype == NONE || dtype >= LOOPS ? nullptr : data_of(*tensor);
}

PyObject* to_float(PyObject* self) {
  return guarded(
      [&]() -> PyObject* {
        int8_t dtype;
        const char* element = only_element(self, false, dtype);
        if (element == nullptr || bit(dtype) & COMPLEX) return nullptr;
        PyObject* number = load_number(element, dtype);
        if (number == nullptr || PyFloat_CheckExact(number)) return number;
        PyObject* result = PyNumber_Float(number);
        Py_DECREF(number);
        return result;
      },
      [&] { return PyObject_CallOneArg(float_methods[class_of(self)], self); });
}

PyObject* to_int(PyObject* self) {
  return guarded(
      [&]() -> PyObject* {
        int8_t dtype;
        const char* element = only_element(self, false, dtype);
        if (element == nullptr || bit(dtype) & COMPLEX) return nullptr;
        PyObject* number = load_number(element, dtype);
        if (number == nullptr || PyLong_CheckExact(number)) return number;
        PyObject* result = PyNumber_Long(number);
        Py_DECREF(number);
        return result;
      },
      [&] { return PyObject_CallOneArg(int_methods[class_of(self)], self); });
}

PyObject* to_index(PyObject* self) {
  return guarded(
      [&]() -> PyObject* {
        int8_t dtype;
        const char* element = only_element(self, false, dtype);
        if (element == nullptr || dtype < U8 || dtype > I64) return nullptr;
        return load_number(element, dtype);
      },
      [&] { return PyObject_CallOneArg(index_methods[class_of(self)], self); });
}

int to_bool(PyObject* self) {
  struct Answer {
    int value = -1;
    explicit operator bool() const { return value >= 0; }
  };
  return guarded(
             [&]() -> Answer {
               int8_t dtype;
               const char* element = only_element(self, true, dtype);
               if (element == nullptr) return {};
               bool value;
               copy_loop(dtype, B1)(reinterpret_cast<char*>(&value), element, 1, 1, 1);
               return {value};
             },
             [&]() -> Answer {
               PyObject* result = PyObject_CallOneArg(bool_methods[class_of(self)], self);
               if (result == nullptr) return {};
               Answer answer{PyObject_IsTrue(result)};
               Py_DECREF(result);
               return answer;
             })
      .value;
}

Py_hash_t hash(PyObject* self) {
  int8_t dtype;
  const char* element = only_element(self, false, dtype);
  PyObject* number = element == nullptr ? nullptr : load_number(element, dtype);
  if (number == nullptr) {
    PyErr_Clear();
    number = PyObject_CallOneArg(hash_method, self);
    if (number == nullptr) return -1;
  }
  Py_hash_t result = PyObject_Hash(number);
  Py_DECREF(number);
  return result;
}

// Texts: those of NumPy's scalars.

PyObject* text_methods[2];  // __str__, __repr__ of scalars

template <int I>
PyObject* text(PyObject* self) {
  PyObject* number = numpy_scalar(self);
  if (number == nullptr) return PyErr_Occurred() ? nullptr : PyObject_CallOneArg(text_methods[I], self);
  PyObject* result = I == 0 ? PyObject_Str(number) : PyObject_Repr(number);
  Py_DECREF(number);
  return result;
}

// Elements.

PyObject* getting[CLASSES];
PyObject* setting[CLASSES];
PyObject* measuring[CLASSES];
PyObject* iterating[CLASSES];

// The tensor whose first axis is that of an array; nullptr if the Python method has to say its length.
const at::Tensor* tensor_with_axes(PyObject* self) {
  const at::Tensor* tensor = viewed_tensor(self);
  return tensor == nullptr || tensor->dim() == 0 ? nullptr : tensor;
}

PyObject* subscript(PyObject* self, PyObject* key) {
  return guarded([&] { return get_item(self, key); }, [&] { return call2(getting[class_of(self)], self, key); });
}

int assign_subscript(PyObject* self, PyObject* key, PyObject* value) {
  if (value == nullptr) {
    PyErr_SetString(PyExc_ValueError, "cannot delete array elements");
    return -1;
  }
  return guarded([&]() -> bool { return set_item(self, key, value); },
                 [&]() -> bool {
                   PyObject* stack[] = {self, key, value};
                   PyObject* result = PyObject_Vectorcall(setting[class_of(self)], stack, 3, nullptr);
                   Py_XDECREF(result);
                   return result != nullptr;
                 })
             ? 0
             : -1;
}

PyObject* item(PyObject* self, Py_ssize_t index) {
  return guarded([&] { return get_row(self, index); },
                 [&]() -> PyObject* {
                   PyObject* key = PyLong_FromSsize_t(index);
                   if (key == nullptr) return nullptr;
                   PyObject* result = call2(getting[class_of(self)], self, key);
                   Py_DECREF(key);
                   return result;
                 });
}

Py_ssize_t length(PyObject* self) {
  const at::Tensor* tensor = tensor_with_axes(self);
  if (tensor != nullptr) return tensor->sizes()[0];
  PyObject* result = PyObject_CallOneArg(measuring[class_of(self)], self);
  if (result == nullptr) return -1;
  Py_ssize_t count = PyNumber_AsSsize_t(result, PyExc_OverflowError);
  Py_DECREF(result);
  return count;
}

// The iterator of an array: over the rows that it had at the start, each read as `x[i]`.

struct Rows {
  PyObject_HEAD
  PyObject* array;
  int64_t next, count;
};

PyObject* next_row(PyObject* self) {
  auto* rows = reinterpret_cast<Rows*>(self);
  if (rows->array == nullptr || rows->next >= rows->count) {
    Py_CLEAR(rows->array);
    return nullptr;
  }
  return item(rows->array, rows->next++);
}

void delete_rows(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  Py_XDECREF(reinterpret_cast<Rows*>(self)->array);
  type->tp_free(self);
  Py_DECREF(type);
}

int traverse_rows(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<Rows*>(self)->array);
  return 0;
}

int clear_rows(PyObject* self) {
  Py_CLEAR(reinterpret_cast<Rows*>(self)->array);
  return 0;
}

PyObject* rows_left(PyObject* self, PyObject*) {
  auto* rows = reinterpret_cast<Rows*>(self);
  return PyLong_FromLongLong(rows->array == nullptr ? 0 : rows->count - rows->next);
}

PyMethodDef ROWS_METHODS[] = {
    {"__length_hint__", rows_left, METH_NOARGS, "How many rows are left."}, {nullptr, nullptr, 0, nullptr}};
PyType_Slot ROWS_SLOTS[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(delete_rows)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_rows)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_rows)},
    {Py_tp_iter, reinterpret_cast<void*>(PyObject_SelfIter)},
    {Py_tp_iternext, reinterpret_cast<void*>(next_row)},
    {Py_tp_methods, ROWS_METHODS},
    {0, nullptr},
};
PyType_Spec ROWS_SPEC = {
    "tnp.array_iterator", sizeof(Rows), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, ROWS_SLOTS};
PyTypeObject* rows_type;

PyObject* iterate(PyObject* self) {
  const at::Tensor* tensor = is_quiet() ? tensor_with_axes(self) : nullptr;
  if (tensor == nullptr) return PyObject_CallOneArg(iterating[class_of(self)], self);
  auto* rows = reinterpret_cast<Rows*>(rows_type->tp_alloc(rows_type, 0));
  if (rows == nullptr) return nullptr;
  rows->array = Py_NewRef(self);
  rows->next = 0;
  rows->count = tensor->sizes()[0];
  return reinterpret_cast<PyObject*>(rows);
}

// iter() of a scalar: its class's `__iter__` raises.
PyObject* refuse_to_iterate(PyObject* self) {
  static PyObject* name = PyUnicode_InternFromString("__iter__");
  return PyObject_GetAttr(self, name);
}

// Calls of ufuncs.

PyObject* python_calls[2];
PyObject* ufunc_types[2];  // of one operand and of two

// Return the array of `out=array`, or that after `nin` operands, or None without both; nullptr for other arguments.
PyObject* only_out(PyObject* args, PyObject* kwargs, Py_ssize_t nin) {
  static PyObject* name = PyUnicode_InternFromString("out");
  Py_ssize_t count = PyTuple_GET_SIZE(args), options = kwargs == nullptr ? 0 : PyDict_GET_SIZE(kwargs);
  if (count == nin && options == 0) return Py_None;
  if (count + options != nin + 1 || count < nin) return nullptr;
  PyObject* out = count > nin ? PyTuple_GET_ITEM(args, nin) : PyDict_GetItem(kwargs, name);
  return out != nullptr && (out == Py_None || is_array(out)) ? out : nullptr;
}

PyObject* call_unary_ufunc(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded(
      [&]() -> PyObject* {
        PyObject* out = only_out(args, kwargs, 1);
        if (out == nullptr) return nullptr;
        Ufunc* ufunc = find_ufunc(self);
        if (ufunc == nullptr) return nullptr;
        PyObject* a = PyTuple_GET_ITEM(args, 0);
        return out == Py_None ? call_unary(ufunc, a) : call_unary_into(ufunc, a, out);
      },
      [&]() -> PyObject* {
        PyObject* method = PyMethod_New(python_calls[0], self);
        if (method == nullptr) return nullptr;
        PyObject* result = PyObject_Call(method, args, kwargs);
        Py_DECREF(method);
        return result;
      });
}

// `ufunc(a, b, out=array, where=mask)` of arrays of one shape in C order: compute all, then copy the chosen elements.
PyObject* call_binary_where(PyObject* self, PyObject* args, PyObject* kwargs) {
  static PyObject *out_name = PyUnicode_InternFromString("out"), *where_name = PyUnicode_InternFromString("where");
  PyObject *out = PyDict_GetItem(kwargs, out_name), *where = PyDict_GetItem(kwargs, where_name);
  Ufunc* ufunc = find_ufunc(self);
  if (ufunc == nullptr || out == nullptr || where == nullptr || !is_array(out) || !is_array(where)) return nullptr;
  const at::Tensor *target = plain_tensor(out), *mask = plain_tensor(where);
  if (target == nullptr || mask == nullptr || !is_dense(*target) || !is_dense(*mask) || target->dim() == 0) return nullptr;
  if (dtype_of(*mask) != B1 || mask->sizes() != target->sizes() || target->numel() >= LARGE || ufunc->is_power) return nullptr;
  PyObject* computed = call_binary(ufunc, PyTuple_GET_ITEM(args, 0), PyTuple_GET_ITEM(args, 1));
  if (computed == nullptr) return nullptr;
  const at::Tensor* result = is_array(computed) ? plain_tensor(computed) : nullptr;
  bool fits = result != nullptr && result->dtype() == target->dtype() && result->sizes() == target->sizes() && is_dense(*result);
  if (fits) {
    char* to = writeable_data_of(*target);
    const char *from = data_of(*result), *chosen = data_of(*mask);
    int64_t size = static_cast<int64_t>(target->itemsize());
    for (int64_t i = 0; i < target->numel(); i++)
      if (chosen[i]) std::memcpy(to + i * size, from + i * size, size);
    target->unsafeGetTensorImpl()->bump_version();
  }
  Py_DECREF(computed);
  return fits ? Py_NewRef(out) : nullptr;
}

PyObject* call_binary_ufunc(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded(
      [&]() -> PyObject* {
        PyObject* out = only_out(args, kwargs, 2);
        if (out == nullptr && kwargs != nullptr && PyDict_GET_SIZE(kwargs) == 2 && PyTuple_GET_SIZE(args) == 2 && is_quiet())
          return call_binary_where(self, args, kwargs);
        if (out == nullptr) return nullptr;
        PyObject *a = PyTuple_GET_ITEM(args, 0), *b = PyTuple_GET_ITEM(args, 1);
        Ufunc* ufunc = find_ufunc(self);
        if (ufunc == nullptr) return nullptr;
        if (PyTuple_GET_SIZE(args) > 2 && (ufunc->name == "maximum" || ufunc->name == "minimum")) return nullptr;  // warns
        return out == Py_None ? call_binary(ufunc, a, b) : call_binary_into(ufunc, a, b, out);
      },
      [&]() -> PyObject* {
        PyObject* method = PyMethod_New(python_calls[1], self);
        if (method == nullptr) return nullptr;
        PyObject* result = PyObject_Call(method, args, kwargs);
        Py_DECREF(method);
        return result;
      });
}

// ufunc(numpy's ufunc, operands...): what the ufunc of tnp computes.
PyObject* call_of_numpy(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded(
      [&]() -> PyObject* {
        Ufunc* ufunc = count == 2 || count == 3 ? find_ufunc(args[0]) : nullptr;
        auto* needed = ufunc == nullptr ? nullptr : reinterpret_cast<PyObject*>(Py_TYPE(ufunc->object));
        if (needed != ufunc_types[count - 2]) return nullptr;
        return count == 2 ? call_unary(ufunc, args[1]) : call_binary(ufunc, args[1], args[2]);
      },
      [] { return Py_NewRef(Py_None); });
}

// Attributes: properties of the class, which stay properties to Python, with a getter that makes no tensor.

enum Attribute { DTYPE, SHAPE, NDIM, SIZE, ITEMSIZE, NBYTES, STRIDES, TRANSPOSED };
constexpr const char* ATTRIBUTES[] = {"dtype", "shape", "ndim", "size", "itemsize", "nbytes", "strides", "T"};

PyObject* numpy_dtypes;  // by number; None for a dtype that NumPy lacks

PyObject* tuple_of(c10::IntArrayRef numbers, int64_t times) {
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(numbers.size()));
  for (size_t i = 0; tuple != nullptr && i < numbers.size(); i++) {
    PyObject* number = PyLong_FromLongLong(numbers[i] * times);
    if (number == nullptr) Py_CLEAR(tuple);
    else PyTuple_SET_ITEM(tuple, i, number);
  }
  return tuple;
}

template <int A>
PyObject* get_attribute(PyObject* property, PyObject* self, PyObject* type) {
  return guarded(
      [&]() -> PyObject* {
        if (self == nullptr || !is_quiet()) return nullptr;
        if (A == DTYPE && is_ours(self) && held(self)->has_value) {
          PyObject* found = PyTuple_GET_ITEM(numpy_dtypes, held(self)->dtype);
          return found == Py_None ? nullptr : Py_NewRef(found);
        }
        const at::Tensor* tensor = viewed_tensor(self);
        if (tensor == nullptr) return nullptr;
        auto width = static_cast<int64_t>(tensor->itemsize());
        switch (A) {
          case DTYPE: {
            int8_t dtype = dtype_of(*tensor);
            PyObject* found = dtype == NONE ? Py_None : PyTuple_GET_ITEM(numpy_dtypes, dtype);
            return found == Py_None ? nullptr : Py_NewRef(found);
          }
          case SHAPE: return tuple_of(tensor->sizes(), 1);
          case NDIM: return PyLong_FromLongLong(tensor->dim());
          case SIZE: return PyLong_FromLongLong(tensor->numel());
          case ITEMSIZE: return PyLong_FromLongLong(width);
          case NBYTES: return PyLong_FromLongLong(tensor->numel() * width);
          case STRIDES: return tuple_of(Elements(self, *tensor).strides, width);
          case TRANSPOSED: return transposed(self);
        }
        return nullptr;
      },
      [&] { return PyProperty_Type.tp_descr_get(property, self, type); });
}

template <int A>
bool put_attribute(PyTypeObject* type) {
  PyObject* made = PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyType_Type), "s(O){}", "Property", &PyProperty_Type);
  PyObject* before = PyDict_GetItemString(type->tp_dict, ATTRIBUTES[A]);
  if (made == nullptr || before == nullptr || !PyObject_TypeCheck(before, &PyProperty_Type)) return false;
  reinterpret_cast<PyTypeObject*>(made)->tp_descr_get = get_attribute<A>;
  PyObject* parts[3];
  const char* names[] = {"fget", "fset", "fdel"};
  for (int i = 0; i < 3; i++) parts[i] = PyObject_GetAttrString(before, names[i]);
  PyObject* property = PyObject_CallFunctionObjArgs(made, parts[0], parts[1], parts[2], nullptr);
  PyObject* doc = PyObject_GetAttrString(before, "__doc__");
  if (property == nullptr || doc == nullptr || PyObject_SetAttrString(property, "__doc__", doc) < 0) return false;
  return PyDict_SetItemString(type->tp_dict, ATTRIBUTES[A], property) == 0;
}

template <int... A>
bool put_attributes(PyTypeObject* type, std::integer_sequence<int, A...>) {
  bool done = (put_attribute<A>(type) && ...);
  PyType_Modified(type);
  return done;
}

// Installing.

PyObject* method_of(PyTypeObject* type, const char* name) {  // a new reference, never released
  PyObject* method = PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), name);
  return method;
}

// Keep the interpreter from calling a Python `__getitem__` past the slot, which it does if it knows the function's
// version.
bool keep_from_specializing(PyObject* function) {
  if (!PyFunction_Check(function)) return true;
#if PY_VERSION_HEX >= 0x030C0000
  static const vectorcallfunc called = PyVectorcall_Function(function);  // the same for every Python function
  PyFunction_SetVectorcall(reinterpret_cast<PyFunctionObject*>(function), [](PyObject* callable, PyObject* const* args,
                                                                             size_t count, PyObject* names) {
    return called(callable, args, count, names);
  });
#else
  reinterpret_cast<PyFunctionObject*>(function)->func_version = 0xFFFF0000;  // its caches hold 16 bits
#endif
  return true;
}

template <int... I>
void put_binary(PyTypeObject* type, std::integer_sequence<int, I...>) {
  ((at_offset<binaryfunc>(type, BINARY_SLOTS[I].slot) = binary<I>), ...);
  ((at_offset<binaryfunc>(type, BINARY_SLOTS[I].inplace) = inplace<I>), ...);
}

// Python asks this of `operator.concat`, and of `+` where no class knew what to do.
PyObject* refuse_to_concatenate(PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError,
                  "Concatenation operation is not implemented for NumPy arrays, use np.concatenate() instead. Please do not "
                  "rely on this error; it may not be given on all Python implementations.");
  return nullptr;
}

template <int... I>
void put_unary(PyTypeObject* type, std::integer_sequence<int, I...>) {
  ((at_offset<unaryfunc>(type, UNARY_SLOTS[I].slot) = unary<I>), ...);
}

}  // namespace

bool install_attributes(PyTypeObject* array, PyTypeObject* scalar, PyTypeObject* strided, PyObject* dtypes) {
  numpy_dtypes = Py_NewRef(dtypes);
  return put_attribute<DTYPE>(scalar) && put_attributes(array, std::make_integer_sequence<int, std::size(ATTRIBUTES)>()) &&
         put_attributes(strided, std::make_integer_sequence<int, TRANSPOSED>());
}

bool install_slots(PyTypeObject* array, PyTypeObject* scalar, PyTypeObject* readonly, PyTypeObject* strided,
                   PyTypeObject* float64) {
  PyTypeObject* types[] = {array, scalar, readonly, strided, float64};  // float64 is a scalar class too
  rows_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&ROWS_SPEC));
  if (rows_type == nullptr) return false;
  for (int kind = 0; kind < CLASSES; kind++) {
    PyTypeObject* type = types[kind];
    for (int i = 0; i < BINARIES; i++) {
      std::string name = BINARY_SLOTS[i].method;
      methods[i].forward[kind] = method_of(type, ("__" + name + "__").c_str());
      methods[i].reflected[kind] = method_of(type, ("__r" + name + "__").c_str());
      methods[i].inplace[kind] = method_of(type, ("__i" + name + "__").c_str());
      methods[i].reflected_name = PyUnicode_InternFromString(("__r" + name + "__").c_str());
      methods[i].ufunc = find_ufunc(BINARY_SLOTS[i].ufunc);
      if (methods[i].ufunc == nullptr) PyErr_SetString(PyExc_LookupError, BINARY_SLOTS[i].ufunc);
    }
    for (int i = 0; i < 6; i++) {
      comparing[i][kind] = method_of(type, COMPARING[i]);
      comparisons[i] = find_ufunc(COMPARISONS[i]);
      if (comparisons[i] == nullptr) PyErr_SetString(PyExc_LookupError, COMPARISONS[i]);
    }
    for (int i = 0; i < UNARIES; i++) {
      unary_methods[i][kind] = method_of(type, UNARY_SLOTS[i].method);
      unary_ufuncs[i] = find_ufunc(UNARY_SLOTS[i].ufunc);
      if (unary_ufuncs[i] == nullptr) PyErr_SetString(PyExc_LookupError, UNARY_SLOTS[i].ufunc);
    }
    product_methods[kind][0] = method_of(type, "__matmul__");
    product_methods[kind][1] = method_of(type, "__rmatmul__");
    float_methods[kind] = method_of(type, "__float__");
    int_methods[kind] = method_of(type, "__int__");
    index_methods[kind] = method_of(type, "__index__");
    bool_methods[kind] = method_of(type, "__bool__");
    getting[kind] = method_of(type, "__getitem__");
    if (kind == 1) continue;  // a scalar has no length
    setting[kind] = method_of(type, "__setitem__");
    measuring[kind] = method_of(type, "__len__");
    iterating[kind] = method_of(type, "__iter__");
  }
  hash_method = method_of(scalar, "__hash__");
  text_methods[0] = method_of(scalar, "__str__");
  text_methods[1] = method_of(scalar, "__repr__");
  if (PyErr_Occurred()) return false;

  if (!install_layout(array, scalar, readonly, strided, float64) || !install_turned()) return false;
  for (PyTypeObject* type : types) {
    put_binary(type, std::make_integer_sequence<int, BINARIES - 1>());
    type->tp_as_number->nb_power = power;
    type->tp_as_number->nb_inplace_power = inplace_power;
    put_unary(type, std::make_integer_sequence<int, UNARIES>());
    type->tp_as_number->nb_matrix_multiply = matrix_product;
    type->tp_richcompare = compare;
    if (type == strided) continue;  // its numbers are those of the Python methods
    type->tp_as_number->nb_float = to_float;
    type->tp_as_number->nb_int = to_int;
    type->tp_as_number->nb_index = to_index;
    type->tp_as_number->nb_bool = to_bool;
  }
  scalar->tp_hash = float64->tp_hash = hash;
  scalar->tp_str = float64->tp_str = text<0>;
  scalar->tp_repr = float64->tp_repr = text<1>;
  scalar->tp_iter = float64->tp_iter = refuse_to_iterate;
  readonly->tp_as_mapping->mp_subscript = subscript;
  for (PyTypeObject* type : {array, readonly, strided}) type->tp_as_sequence->sq_concat = refuse_to_concatenate;
  for (PyTypeObject* type : {array, strided}) {
    type->tp_as_mapping->mp_subscript = subscript;
    type->tp_as_mapping->mp_ass_subscript = assign_subscript;
    type->tp_as_mapping->mp_length = length;
    type->tp_as_sequence->sq_length = length;
    type->tp_iter = iterate;
  }
  return keep_from_specializing(getting[0]) && keep_from_specializing(getting[2]) && keep_from_specializing(getting[3]);
}

PyMethodDef UFUNC_FUNCTIONS[] = {TNP_FAST("ufunc", call_of_numpy), {nullptr, nullptr, 0, nullptr}};

bool install_calls(PyTypeObject* unary_type, PyTypeObject* binary_type) {
  PyTypeObject* types[] = {unary_type, binary_type};
  for (int i = 0; i < 2; i++) {
    python_calls[i] = method_of(types[i], "__call__");
    if (python_calls[i] == nullptr) return false;
    ufunc_types[i] = reinterpret_cast<PyObject*>(types[i]);
  }
  unary_type->tp_call = call_unary_ufunc;
  binary_type->tp_call = call_binary_ufunc;
  return true;
}

}  // namespace tnp
