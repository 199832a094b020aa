// Native heads of functions: each gives the result, or None where the function's Python has to compute.
#pragma once

#include "core.h"

namespace tnp {

extern PyMethodDef FUNCTIONS[];  // ends with an empty row

}  // namespace tnp
