// Arrays (thaw/array.h) cut, joined, converted and told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "thaw/ir/data/types.h"

namespace thaw::run {

using thaw::Array;
using thaw::Arrays;
using thaw::to_doubles;
using thaw::to_int64s;

// The product of the dims, 1 for none.
int64_t element_count(std::span<const int64_t> dims);

// The same elements in another type: integers stay exact between integer types, everything else goes through double.
Array cast(const Array& array, ir::DataType dtype);

// Rows [begin, end) along axis 0.
Array rows(const Array& array, int64_t begin, int64_t end);
// Arrays of one type put one after the other along axis 0, or along a new axis 0; dims must fit. At least one array.
Array concat_rows(std::span<const Array> parts);
Array stack(std::span<const Array> parts);

// "float32[2,3]"
std::string describe(const Array& array);
std::string describe(ir::DataType dtype, std::span<const int64_t> dims);

}  // namespace thaw::run
