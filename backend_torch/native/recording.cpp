#include "recording.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/acos.h>
#include <ATen/ops/acosh.h>
#include <ATen/ops/add.h>
#include <ATen/ops/asin.h>
#include <ATen/ops/asinh.h>
#include <ATen/ops/atan.h>
#include <ATen/ops/atanh.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/deg2rad.h>
#include <ATen/ops/div.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/exp2.h>
#include <ATen/ops/expm1.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/le.h>
#include <ATen/ops/log.h>
#include <ATen/ops/log10.h>
#include <ATen/ops/log1p.h>
#include <ATen/ops/log2.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/rad2deg.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/square.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tan.h>
#include <ATen/ops/tanh.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/VariableTypeUtils.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/python_cpp_function.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "functions.h"
#include "layout.h"

namespace tnp {
namespace {

using at::Tensor;
using torch::autograd::Node;

template <class Function>
struct Named {
  const char* name;
  Function function;
};

const Named<BinaryKernel> BINARY_FUNCTIONS[] = {
    {"add", [](const Tensor& a, const Tensor& b) { return at::add(a, b); }},
    {"sub", [](const Tensor& a, const Tensor& b) { return at::sub(a, b); }},
    {"mul", at::mul},
    {"div", at::div},
    {"maximum", at::maximum},
    {"minimum", at::minimum},
    {"eq", at::eq},
    {"ne", at::ne},
    {"lt", at::lt},
    {"le", at::le},
    {"gt", at::gt},
    {"ge", at::ge},
};

const Named<UnaryKernel> UNARY_FUNCTIONS[] = {
    {"abs", at::abs},
    {"acos", at::acos},
    {"acosh", at::acosh},
    {"asin", at::asin},
    {"asinh", at::asinh},
    {"atan", at::atan},
    {"atanh", at::atanh},
    {"clone", [](const Tensor& a) { return at::clone(a); }},
    {"cos", at::cos},
    {"deg2rad", at::deg2rad},
    {"exp", at::exp},
    {"exp2", at::exp2},
    {"expm1", at::expm1},
    {"log", at::log},
    {"log10", at::log10},
    {"log1p", at::log1p},
    {"log2", at::log2},
    {"neg", at::neg},
    {"rad2deg", at::rad2deg},
    {"reciprocal", at::reciprocal},
    {"sin", at::sin},
    {"sqrt", at::sqrt},
    {"square", at::square},
    {"tan", at::tan},
    {"tanh", at::tanh},
};

template <class Function, size_t COUNT>
Function find(const Named<Function> (&table)[COUNT], const char* name) {
  for (const auto& row : table)
    if (std::strcmp(row.name, name) == 0) return row.function;
  return nullptr;
}

struct Release {
  void operator()(PyObject* object) const { Py_DECREF(object); }
};
using Owned = std::unique_ptr<PyObject, Release>;

// The operation of which watched arrays are the results. Gradients end here.
struct Watch : Node {
  torch::autograd::variable_list apply(torch::autograd::variable_list&&) override { return {}; }
};

// torch counts references to a node in the node since 2.13, beside it before.
using Shared = decltype(torch::autograd::Edge::function);
template <class Pointer, class Made>
Pointer made() {
  if constexpr (std::is_same_v<Pointer, std::shared_ptr<Node>>)
    return std::make_shared<Made>();
  else
    return c10::make_intrusive<Made>();
}

// Watch arrays: give each a stand-in over the same memory, a result of the node, because torch refuses writes to leaves
// that require gradients. It has the version of the array's own tensor too, so that autograd sees a write by any name.
bool watch_all(PyObject* arrays, PyObject* watched) {
  static PyObject* name = PyUnicode_InternFromString("tensor");
  auto node = made<Shared, Watch>();
  Owned shown(torch::autograd::functionToPyObject(node));
  for (Py_ssize_t i = 0, number = 0; shown && i < PyList_GET_SIZE(arrays); i++) {
    PyObject* array = PyList_GET_ITEM(arrays, i);
    Owned key(PyLong_FromVoidPtr(array));
    int is_known = key ? PyDict_Contains(watched, key.get()) : -1;
    if (is_known > 0) continue;
    Owned own(is_known < 0 ? nullptr : PyObject_GetAttr(array, name));
    if (!own) return false;
    Tensor used = THPVariable_Unpack(own.get()).variable_data();  // no view, which has rules of its own
    used.unsafeGetTensorImpl()->set_version_counter(THPVariable_Unpack(own.get()).unsafeGetTensorImpl()->version_counter());
    torch::autograd::set_history(used, node);
    Owned stand_in(THPVariable_Wrap(std::move(used)));
    Owned row(stand_in ? Py_BuildValue("(OOOOn)", array, own.get(), stand_in.get(), shown.get(), number++) : nullptr);
    if (!row || PyDict_SetItem(watched, key.get(), row.get()) < 0) return false;
    if (PyObject_SetAttr(array, name, stand_in.get()) < 0) return false;
  }
  return static_cast<bool>(shown);
}

// watch(list of arrays, {id: (array, own tensor, stand-in, node, number)}): True, and new rows.
PyObject* watch(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded(
      [&]() -> PyObject* {
        if (count != 2 || !PyList_CheckExact(args[0]) || !PyDict_CheckExact(args[1])) return nullptr;
        if (!is_quiet() || !at::GradMode::is_enabled()) return nullptr;
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args[0]); i++) {
          PyObject* each = PyList_GET_ITEM(args[0], i);
          const Tensor* tensor = is_array(each) ? plain_tensor(each) : nullptr;
          if (tensor == nullptr || !torch::autograd::isDifferentiableType(tensor->scalar_type())) return nullptr;
        }
        return watch_all(args[0], args[1]) ? Py_NewRef(Py_True) : nullptr;
      },
      [] { return Py_NewRef(Py_None); });
}

// Return gradients with memory of their own, to be written to: torch makes one for both operands of a sum, broadcasts
// without copies, and has zeros without memory.
PyObject* owned_list(torch::autograd::variable_list&& found) {
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(found.size()));
  std::vector<const void*> taken;
  for (size_t i = 0; list != nullptr && i < found.size(); i++) {
    Tensor& each = found[i];
    if (each.defined()) {
      auto memory = [&] { return each.storage().unsafeGetStorageImpl(); };
      bool is_spread = !each.is_contiguous() && std::ranges::count(each.strides(), 0) > 0;
      if (is_spread || each._is_zerotensor() || std::ranges::count(taken, memory()) > 0)
        each = each.clone(at::MemoryFormat::Contiguous);
      taken.push_back(memory());
    }
    PyObject* shown = each.defined() ? THPVariable_Wrap(std::move(each)) : Py_NewRef(Py_None);
    if (shown == nullptr) Py_CLEAR(list);
    else PyList_SET_ITEM(list, i, shown);
  }
  return list;
}

// gradients(tensor of one number, list of recorded tensors, whether the recording is needed again)
PyObject* gradients(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded(
      [&]() -> PyObject* {
        if (count != 3 || !is_quiet() || !THPVariable_CheckExact(args[0]) || !PyList_CheckExact(args[1])) return nullptr;
        const Tensor& target = THPVariable_Unpack(args[0]);
        if (!is_plain<true>(target) || target.dim() != 0 || !target.requires_grad()) return nullptr;
        torch::autograd::edge_list sources;
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args[1]); i++) {
          PyObject* each = PyList_GET_ITEM(args[1], i);
          if (!THPVariable_CheckExact(each)) return nullptr;
          const Tensor& source = THPVariable_Unpack(each);
          if (!is_plain<true>(source) || source.grad_fn() == nullptr) return nullptr;
          sources.emplace_back(torch::autograd::impl::gradient_edge(source));
        }
        HANDLE_TH_ERRORS  // here, because the Python path can't run it again
        return owned_list(without_gil(LARGE, [&] {
          return torch::autograd::Engine::get_default_engine().execute(
              {torch::autograd::impl::gradient_edge(target)}, {at::ones_like(target)}, args[2] == Py_True, false, false,
              sources);
        }));
        END_HANDLE_TH_ERRORS
      },
      [] { return Py_NewRef(Py_None); });
}

}  // namespace

BinaryKernel recorded_binary(const char* name) { return find(BINARY_FUNCTIONS, name); }
UnaryKernel recorded_unary(const char* name) { return find(UNARY_FUNCTIONS, name); }

Tensor recorded_power(const Tensor& base, double exponent) {
  if (exponent == 2) return at::square(base);
  if (exponent == 0.5) return at::sqrt(base);
  if (exponent == -1) return at::reciprocal(base);
  return exponent == -0.5 ? Tensor() : at::pow(base, exponent);
}

PyObject* recorded_matmul(PyObject* x, PyObject* y) {
  if (!is_array(x) || !is_array(y)) return nullptr;
  const Tensor *a = recorded_tensor(x), *b = recorded_tensor(y);
  if (a == nullptr || b == nullptr || a->dtype() != b->dtype() || !(bit(dtype_of(*a)) & FLOATS)) return nullptr;
  for (const Tensor* each : {a, b})
    if (each->dim() == 0 || each->dim() > 2 || each->numel() == 0) return nullptr;
  if (a->sizes().back() != b->sizes()[0]) return nullptr;
  if (std::min(a->numel(), b->numel()) >= LARGE) return nullptr;  // backend_torch chooses who computes
  return wrap_recorded(without_gil(std::max(a->numel(), b->numel()), [&] { return at::matmul(*a, *b); }));
}

PyObject* recorded_reduction(Recorded kind, PyObject* x, PyObject* axis, bool keeps) {
  const Tensor* tensor = is_array(x) ? recorded_tensor(x) : nullptr;
  if (tensor == nullptr || !tensor->requires_grad() || tensor->dim() == 0 || tensor->numel() == 0) return nullptr;
  if (!(bit(dtype_of(*tensor)) & FLOATS)) return nullptr;
  int64_t place = 0;
  at::OptionalIntArrayRef axes;
  if (axis != Py_None) {
    int overflow;
    if (!PyLong_CheckExact(axis)) return nullptr;
    place = PyLong_AsLongLongAndOverflow(axis, &overflow);
    if (overflow || place < -tensor->dim() || place >= tensor->dim()) return nullptr;
    axes = at::IntArrayRef(place);
  }
  return wrap_recorded(without_gil(tensor->numel(), [&] {
    if (axis == Py_None && !keeps) return kind == Recorded::SUM ? at::sum(*tensor) : at::mean(*tensor);
    return kind == Recorded::SUM ? at::sum(*tensor, axes, keeps) : at::mean(*tensor, axes, keeps);
  }));
}

PyMethodDef RECORDING_FUNCTIONS[] = {
    TNP_FAST("watch", watch),
    TNP_FAST("gradients", gradients),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace tnp
