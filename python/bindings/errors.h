// thaw::Error as a Python exception.
#pragma once

#include <nanobind/nanobind.h>

namespace thaw::python {

void bind_errors(nanobind::module_& m);

}  // namespace thaw::python
