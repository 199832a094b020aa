// Native heads of functions of arrays of one shape in C order: each returns the result, or None.
#pragma once

#include "core.h"

namespace tnp {

extern PyMethodDef ELEMENT_FUNCTIONS[];  // ends with an empty row

}  // namespace tnp
