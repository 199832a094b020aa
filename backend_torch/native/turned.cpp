#include "turned.h"

#include <structmember.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

#include "functions.h"
#include "host.h"

namespace tnp {
namespace {

using Shape = c10::SmallVector<int64_t, 6>;

// The attributes of the Python class: torch's view, NumPy's view, and the reversed axes with the dtype. The tensor is that
// of `Held`; the other two have a place in the object.
enum Viewed { AHEAD, HOST, TURN };
Py_ssize_t places[3];

PyObject*& place_of(PyObject* self, int view) {
  return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(self) + places[view]);
}

// Make NumPy's view, which keeps torch's view alive: the array itself would be kept for ever.
PyObject* make_host(PyObject* self) {
  PyObject* ahead = get_tensor(self, nullptr);
  if (ahead == nullptr) return nullptr;
  const at::Tensor& tensor = THPVariable_Unpack(ahead);
  Elements elements(self, tensor);
  PyObject* host = numpy_part(tensor, ahead, elements.sizes, elements.strides, elements.offset);
  Py_DECREF(ahead);
  return host;
}

PyObject* make_turn(PyObject* self) {
  static PyObject* name = PyUnicode_InternFromString("dtype");
  uint64_t turned = held(self)->turned;
  PyObject *axes = PyTuple_New(std::popcount(turned)), *ahead = get_tensor(self, nullptr);
  PyObject* dtype = ahead == nullptr ? nullptr : PyObject_GetAttr(ahead, name);
  for (Py_ssize_t i = 0; axes != nullptr && turned != 0; turned &= turned - 1)
    PyTuple_SET_ITEM(axes, i++, PyLong_FromLong(std::countr_zero(turned)));
  PyObject* parts = axes == nullptr || dtype == nullptr ? nullptr : Py_BuildValue("((OOO))", axes, dtype, Py_False);
  PyObject* turn = parts == nullptr ? nullptr : PyTuple_Type.tp_new(classes.turn, parts, nullptr);
  for (PyObject* each : {axes, ahead, dtype, parts}) Py_XDECREF(each);
  return turn;
}

template <int VIEW>
PyObject* get(PyObject* self, void*) {
  PyObject*& place = place_of(self, VIEW);
  if (place == nullptr && held(self)->turned != 0) place = VIEW == HOST ? make_host(self) : make_turn(self);
  if (place == nullptr && !PyErr_Occurred()) PyErr_SetString(PyExc_AttributeError, VIEW == HOST ? "host" : "turn");
  return Py_XNewRef(place);
}

// Python changes the view: from now on only its attributes say what it is.
template <int VIEW>
int set(PyObject* self, PyObject* value, void*) {
  if (held(self)->turned != 0) {
    for (PyObject* made : {get<HOST>(self, nullptr), get<TURN>(self, nullptr)}) {
      if (made == nullptr) return -1;
      Py_DECREF(made);
    }
    held(self)->turned = 0;
  }
  if (VIEW == AHEAD) return set_tensor(self, value, nullptr);
  PyObject* before = std::exchange(place_of(self, VIEW), Py_XNewRef(value));
  Py_XDECREF(before);
  return 0;
}

PyGetSetDef VIEWED[] = {
    {"ahead", get_tensor, set<AHEAD>, "torch's view, with axes of negative strides reversed.", nullptr},
    {"host", get<HOST>, set<HOST>, "NumPy's view.", nullptr},
    {"turn", get<TURN>, set<TURN>, "The axes with negative strides, and torch's dtype.", nullptr},
};

// turned(NumPy's view, torch's view with axes of negative strides reversed): the array over both.
PyObject* turned(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded(
      [&]() -> PyObject* {
        if (count != 2 || !is_quiet() || !THPVariable_CheckExact(args[1])) return nullptr;
        const at::Tensor& tensor = THPVariable_Unpack(args[1]);
        if (!is_plain(tensor) || tensor.dim() > 32 || tensor.numel() == 0) return nullptr;
        Shape strides(tensor.dim());
        if (!read_strides(args[0], tensor, strides)) return nullptr;
        uint64_t axes = 0;
        for (int64_t axis = 0; axis < tensor.dim(); axis++) {
          if (std::abs(strides[axis]) != tensor.strides()[axis]) return nullptr;
          if (strides[axis] < 0) axes |= uint64_t{1} << axis;
        }
        PyObject* made = axes == 0 ? nullptr : classes.strided->tp_alloc(classes.strided, 0);
        if (made == nullptr) return nullptr;
        held(made)->tensor = Py_NewRef(args[1]);
        held(made)->turned = axes;
        place_of(made, HOST) = Py_NewRef(args[0]);
        return made;
      },
      [] { return Py_NewRef(Py_None); });
}

// straight(view with negative strides): a copy in the same order of axes.
PyObject* copy_of_turned(PyObject*, PyObject* x) {
  return guarded([&] { return is_turned(x) ? straight(x) : nullptr; }, [] { return Py_NewRef(Py_None); });
}

}  // namespace

Elements::Elements(PyObject* array, const at::Tensor& tensor)
    : sizes(tensor.sizes()), strides(tensor.strides()), offset(tensor.storage_offset()) {
  if (!is_turned(array)) return;
  own_.assign(strides.begin(), strides.end());
  for (uint64_t left = held(array)->turned; left != 0; left &= left - 1) {
    int axis = std::countr_zero(left);
    offset += (sizes[axis] - 1) * own_[axis];
    own_[axis] = -own_[axis];
  }
  strides = own_;
}

PyObject* wrap_elements(PyObject* array, const at::Tensor& tensor, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                        int64_t offset) {
  if (is_turned(array) && is_locked(array)) return nullptr;
  if (std::all_of(strides.begin(), strides.end(), [](int64_t stride) { return stride >= 0; }))
    return wrap_view(array, tensor, sizes, strides, offset);
  if (!is_array(array) && !is_turned(array)) return nullptr;
  if (dtype_of(tensor) == BF16 || sizes.size() > 32) return nullptr;  // NumPy has no such views
  uint64_t turned = 0;
  Shape ahead(strides);
  for (size_t axis = 0; axis < sizes.size(); axis++) {
    if (strides[axis] >= 0) continue;
    turned |= uint64_t{1} << axis;
    offset += (sizes[axis] - 1) * strides[axis];
    ahead[axis] = -strides[axis];
  }
  PyObject* made = wrap_view(array, tensor, sizes, ahead, offset, classes.strided);
  if (made != nullptr) held(made)->turned = turned;
  return made;
}

bool is_locked(PyObject* turned) {
  PyObject* host = place_of(turned, HOST);
  return host != nullptr && !is_writeable_numpy(host);
}

at::Tensor straightened(PyObject* x) {
  const at::Tensor* tensor = plain_tensor(x);
  int8_t dtype = tensor == nullptr ? NONE : dtype_of(*tensor);
  if (dtype == NONE || dtype >= LOOPS) return {};
  Elements elements(x, *tensor);
  Shape sizes(elements.sizes), strides(elements.strides), ahead(tensor->strides());
  bool is_fortran = !keeps_c_order(sizes, ahead);
  if (is_fortran) {
    for (Shape* each : {&sizes, &strides, &ahead}) std::reverse(each->begin(), each->end());
    if (!keeps_c_order(sizes, ahead)) return {};
  }
  at::Tensor made = empty(sizes, dtype);
  gather(writeable_data_of(made), dtype, data_of(*tensor, elements.offset), dtype, sizes, strides.data());
  if (is_fortran) {
    Shape order(made.strides().rbegin(), made.strides().rend());
    made.unsafeGetTensorImpl()->set_sizes_and_strides(tensor->sizes(), order);
  }
  return made;
}

PyObject* straight(PyObject* x) {
  if (!is_turned(x)) return Py_NewRef(x);
  at::Tensor copy = is_quiet() ? straightened(x) : at::Tensor();
  return copy.defined() ? wrap_array(std::move(copy)) : nullptr;
}

bool install_turned() {
  for (int i = 0; i < 3; i++) {
    PyObject* member = PyDict_GetItemString(classes.strided->tp_dict, VIEWED[i].name);
    if (member == nullptr || Py_TYPE(member) != &PyMemberDescr_Type) return false;
    places[i] = reinterpret_cast<PyMemberDescrObject*>(member)->d_member->offset;
    PyObject* descriptor = PyDescr_NewGetSet(classes.strided, &VIEWED[i]);
    if (descriptor == nullptr || PyDict_SetItemString(classes.strided->tp_dict, VIEWED[i].name, descriptor) < 0) return false;
    Py_DECREF(descriptor);
  }
  PyType_Modified(classes.strided);
  return true;
}

PyMethodDef TURNED_FUNCTIONS[] = {
    TNP_FAST("turned", turned), {"straight", copy_of_turned, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace tnp
