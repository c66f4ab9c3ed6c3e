// Elements of arrays as numbers: decoding and encoding of every numeric ONNX type.
//
// Elements are packed little-endian as in an ONNX tensor's raw data; 4-bit types hold two a byte, 2-bit types four, the
// first element in the low bits. Floats are rounded to nearest, ties to even; a value past the largest finite one
// becomes infinity where the type has one, else the largest finite value (ONNX's saturating Cast). Integers are cut off
// toward zero and saturate; NaN becomes 0. Complex and string types are refused with thaw::Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "thaw/ir/data/types.h"

namespace thaw::run {

// Bytes that `count` packed elements take; throws thaw::Error on overflow. 0 for strings.
uint64_t packed_bytes(ir::DataType type, int64_t count);

// Elements [first, first + out.size()) of packed data.
void decode(ir::DataType type, const std::byte* data, int64_t first, std::span<double> out);
void encode(ir::DataType type, std::span<const double> values, std::byte* data, int64_t first);

// The same without loss for integers of 64 bits (unsigned ones wrap). Decoding takes integers and bool only.
void decode(ir::DataType type, const std::byte* data, int64_t first, std::span<int64_t> out);
void encode(ir::DataType type, std::span<const int64_t> values, std::byte* data, int64_t first);

bool is_complex(ir::DataType type);

}  // namespace thaw::run
