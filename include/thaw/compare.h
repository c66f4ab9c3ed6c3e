// Compares two arrays as `verify` compares outputs.
//
//   const thaw::Comparison found = thaw::compare(actual, expected);
//   if (!found.agrees) std::cout << found.reason;
#pragma once

#include "thaw/array.h"
#include "thaw/export.h"
#include "thaw/verify.h"

namespace thaw {

// `cast`: numbers of different types are compared; else a differing type does not agree, as a differing shape does not. Throws
// thaw::Error (kInvalidArgument) for a tolerance that no comparison can have, and for an array whose bytes are not those of its type
// and dims.
THAW_API Comparison compare(const Array& actual, const Array& expected, const Tolerance& tolerance = {},
                            bool cast = false);

}  // namespace thaw
