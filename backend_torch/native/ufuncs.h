// Ufuncs: which loop computes operands of which dtypes, and the call itself.
#pragma once

#include <memory>
#include <string>

#include "host.h"
#include "kernels.h"
#include "layout.h"
#include "loops.h"

namespace tnp {

constexpr int8_t WEAK_INT = DTYPES, WEAK_FLOAT = DTYPES + 1, GIVEN = DTYPES + 2;  // Python's numbers take a dtype

enum class State : uint8_t { UNKNOWN, PYTHON, NUMPY, NATIVE };  // who computes

struct BinaryPlan {
  State state = State::UNKNOWN;
  int8_t left = NONE, right = NONE, out = NONE;
  BinaryLoop loop;
  BinaryKernel kernel = nullptr;
};

struct UnaryPlan {
  State state = State::UNKNOWN;
  int8_t in = NONE, out = NONE;
  UnaryLoop loop;
  UnaryKernel kernel = nullptr;
};

// A ufunc of tnp with its plans, each made when it is first asked for.
struct Ufunc {
  PyObject* object;  // tnp's
  PyObject* numpy;   // whose dtype rules it has
  PyObject* kernel;  // backend_torch's, which may be NumPy's function
  std::string name;
  bool is_power;
  BinaryPlan binary[GIVEN][GIVEN];
  BinaryPlan inplace[DTYPES][GIVEN];
  UnaryPlan unary[DTYPES];
};

// What is asked for dtypes: (numpy ufunc, kernel, dtype numbers or -1 for the resolver's choice...) -> None, or dtype
// numbers and the ufunc of NumPy's that is the kernel on them, or None.
extern PyObject* resolver;

Ufunc* add_ufunc(PyObject* object, PyObject* numpy, PyObject* kernel, const char* name);
Ufunc* find_ufunc(PyObject* object);
Ufunc* find_ufunc(const char* name);

// A new reference; nullptr without an exception where the Python path has to compute.
PyObject* call_binary(Ufunc* ufunc, PyObject* a, PyObject* b);
PyObject* call_unary(Ufunc* ufunc, PyObject* a);

// Whether it was computed and written to `a`.
bool call_inplace(Ufunc* ufunc, PyObject* a, PyObject* b);

// The same into an array: nullptr without an exception, or a new reference to `out`.
PyObject* call_binary_into(Ufunc* ufunc, PyObject* a, PyObject* b, PyObject* out);
PyObject* call_unary_into(Ufunc* ufunc, PyObject* a, PyObject* out);

}  // namespace tnp
