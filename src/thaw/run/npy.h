// NumPy's .npy format, read and written: versions 1 to 3, C and Fortran order, either byte order.
//
// Element types: bool, integers of 8 to 64 bits, float16, float32, float64, complex64, complex128, unicode ('U') and
// bytes ('S') strings;
// 'V2' stands for bfloat16 and 'V1' for raw bytes (uint8), which is what ml_dtypes writes for bfloat16
// and the 8-bit floats. 4-bit and 2-bit arrays are written as int8 or uint8. Pickled objects, records and dates are
// refused. The header of a hostile file is bounded and its size is checked against the data before memory is taken for
// it.
#pragma once

#include <string>

#include "thaw/run/array.h"
#include "thaw/run/byte_source.h"

namespace thaw::run {

// Reads one array; throws thaw::Error for anything else, and where bytes are left over.
Array read_npy(ByteSource& source);

// The bytes of a .npy file before the data; the data are `npy_data(array)`.
std::string npy_header(const Array& array);
// The data as they stand in a .npy file: the array's own bytes where the format has its type (`storage` stays empty),
// else what was made of them, put into `storage`.
std::span<const std::byte> npy_data(const Array& array, std::vector<std::byte>& storage);

}  // namespace thaw::run
