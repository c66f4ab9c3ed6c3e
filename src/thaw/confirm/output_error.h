// How far an output is from what it was, in the figures that conversions are judged by.
#pragma once

#include <string>

#include "thaw/convert.h"
#include "thaw/run/array.h"

namespace thaw::confirm {

// Of two arrays of numbers of one shape, of any types.
OutputError output_error(const std::string& output, const Array& wanted, const Array& got);

}  // namespace thaw::confirm
