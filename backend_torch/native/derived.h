// Arrays of the classes that a program derives from arrays: the Python methods compute with plain arrays of the same tensor.
#pragma once

#include "core.h"

namespace tnp {

extern PyMethodDef DERIVED_FUNCTIONS[];  // ends with an empty row

}  // namespace tnp
