// NumPy's .npy format, read and written: versions 1 to 3, C and Fortran order, either byte order.
//
// Element types: bool, integers of 8 to 64 bits, float16, float32, float64, complex64, complex128, unicode ('U') and
// bytes ('S') strings;
// 'V2' stands for bfloat16 and 'V1' for raw bytes (uint8), which is what ml_dtypes writes for bfloat16
// and the 8-bit floats. 4-bit and 2-bit arrays are written as int8 or uint8. Pickled objects, records and dates are
// refused. The header of a hostile file is bounded; what it says is held against the data, against what the caller can
// use and against Limits::max_memory before memory is taken and anything is decompressed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "thaw/run/array.h"
#include "thaw/run/byte_source.h"

namespace thaw::run {

// What the header of an array says.
struct NpyShape {
  ir::DataType dtype = ir::DataType::kUndefined;
  std::vector<int64_t> dims;
};

// Throws thaw::Error for an array that is of no use; called before its data are read. Empty: any is of use.
using NpyCheck = std::function<void(const NpyShape&)>;

// Reads one array; throws thaw::Error for anything else, where bytes are left over, and where it would take more memory
// than there is (kOutOfBudget).
Array read_npy(ByteSource& source, const NpyCheck& check);

// Reads its header only.
NpyShape read_npy_shape(ByteSource& source);

// The bytes of a .npy file before the data; the data are `npy_data(array)`.
std::string npy_header(const Array& array);
// The data as they stand in a .npy file: the array's own bytes where the format has its type (`storage` stays empty),
// else what was made of them, put into `storage`.
std::span<const std::byte> npy_data(const Array& array, std::vector<std::byte>& storage);

}  // namespace thaw::run
