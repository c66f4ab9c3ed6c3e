// Building from weights that Python holds.
#pragma once

#include <nanobind/nanobind.h>

namespace thaw::python {

void bind_build_in_memory(nanobind::module_& m);

}  // namespace thaw::python
