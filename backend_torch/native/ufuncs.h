// Ufuncs: which loop computes operands of which dtypes, and the call itself.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "host.h"
#include "kernels.h"
#include "layout.h"
#include "loops.h"

namespace tnp {

constexpr int8_t WEAK_INT = DTYPES, WEAK_FLOAT = DTYPES + 1, WEAK_COMPLEX = DTYPES + 2;  // "dtypes" of Python numbers
constexpr int8_t GIVEN = DTYPES + 3;

enum class State : uint8_t { UNKNOWN, PYTHON, NUMPY, NATIVE };  // who computes the ufunc

struct BinaryPlan {
  State state = State::UNKNOWN;
  bool is_half = false;  // whether it computes float16
  int8_t left = NONE, right = NONE, out = NONE;
  BinaryLoop loop;
  BinaryLoop::One one = nullptr;  // for scalars and numbers
  BinaryKernel kernel = nullptr;
  BinaryKernel recorded = nullptr;  // torch's function, by the dispatcher
};

struct UnaryPlan {
  State state = State::UNKNOWN;
  bool is_half = false;  // whether it computes float16
  int8_t in = NONE, out = NONE;
  UnaryLoop loop;
  UnaryLoop::One one = nullptr;
  UnaryKernel kernel = nullptr;
  UnaryKernel recorded = nullptr;
  OneElement by_kernel = nullptr;
};

// A ufunc of tnp with its plans; each plan is made when it is first needed.
struct Ufunc {
  PyObject* object;  // the ufunc of tnp
  PyObject* numpy;   // NumPy's ufunc, whose dtype rules apply
  PyObject* kernel;  // backend_torch's function, which may be NumPy's
  std::string name;
  bool is_power;
  BinaryPlan binary[GIVEN][GIVEN];
  BinaryPlan inplace[DTYPES][GIVEN];
  std::map<std::array<int8_t, 3>, BinaryPlan> into;  // by operands and output, which is of another dtype than theirs
  UnaryPlan unary[GIVEN];
};

// The Python function that resolves dtypes: (NumPy's ufunc, kernel, dtype numbers; -1 leaves one open) -> None if it
// refuses, or the dtype numbers, NumPy's ufunc if that is the kernel for them, else None, and the name of torch's function
// that is the kernel for what autograd records, else None.
extern PyObject* resolver;

Ufunc* add_ufunc(PyObject* object, PyObject* numpy, PyObject* kernel, const char* name);
Ufunc* find_ufunc(PyObject* object);
Ufunc* find_ufunc(const char* name);

// Compute a scalar and another one or a Python number, for operators; nullptr without an exception if `call_binary` has to.
PyObject* call_scalars(Ufunc* ufunc, PyObject* a, PyObject* b) noexcept;
PyObject* call_scalar(Ufunc* ufunc, PyObject* a) noexcept;

// A new reference; nullptr without an exception if the Python path has to compute.
PyObject* call_binary(Ufunc* ufunc, PyObject* a, PyObject* b);
PyObject* call_unary(Ufunc* ufunc, PyObject* a);

// Compute into `a`; return false if the Python path has to.
bool call_inplace(Ufunc* ufunc, PyObject* a, PyObject* b);

// Compute into an array: a new reference to `out`; nullptr without an exception if the Python path has to compute.
PyObject* call_binary_into(Ufunc* ufunc, PyObject* a, PyObject* b, PyObject* out);
PyObject* call_unary_into(Ufunc* ufunc, PyObject* a, PyObject* out);

}  // namespace tnp
