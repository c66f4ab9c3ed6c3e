// An owned N-d array: what is fed to a model, what comes out of it, what .npy files hold.
//
// Elements lie in row-major order, packed little-endian as in an ONNX tensor (see run/elements.h); strings are UTF-8
// and kept apart. A scalar has no dims. Functions throw thaw::Error for dims that are negative or whose product
// overflows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "thaw/ir/data/types.h"

namespace thaw::run {

struct Array {
  ir::DataType dtype = ir::DataType::kUndefined;
  std::vector<int64_t> dims;
  std::vector<std::byte> bytes;      // empty for strings
  std::vector<std::string> strings;  // one an element; empty for other types

  int64_t num_elements() const;
  bool is_string() const { return dtype == ir::DataType::kString; }
  bool operator==(const Array&) const = default;

  // Zeros (empty strings) of that type and shape.
  static Array zeros(ir::DataType dtype, std::vector<int64_t> dims);
  // Numbers rounded to the type; the span's size must be the product of the dims.
  static Array from_doubles(ir::DataType dtype, std::vector<int64_t> dims, std::span<const double> values);
  static Array from_int64(ir::DataType dtype, std::vector<int64_t> dims, std::span<const int64_t> values);
  static Array from_strings(std::vector<int64_t> dims, std::vector<std::string> values);
};

// Arrays by name, in the order of names.
using Arrays = std::map<std::string, Array, std::less<>>;

// The product of the dims, 1 for none.
int64_t element_count(std::span<const int64_t> dims);

// All elements as numbers (not strings, not complex); as integers (integers and bool only).
std::vector<double> to_doubles(const Array& array);
std::vector<int64_t> to_int64s(const Array& array);

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
