// The header of a .npy file: a Python dict literal of three keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thaw::run {

inline constexpr size_t kMaxNpyRank = 64;  // NumPy's own limit

struct NpyHeader {
  std::string descr;  // "<f4"
  bool fortran_order = false;
  std::vector<int64_t> shape;  // at most kMaxNpyRank dims
};

// Parses "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }". `where` is the file's name, for messages.
NpyHeader parse_npy_header(std::string_view text, const std::string& where);

}  // namespace thaw::run
