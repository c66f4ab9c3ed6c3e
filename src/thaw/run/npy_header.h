// The header of a .npy file: a Python dict literal of three keys.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thaw::run {

struct NpyHeader {
  std::string descr;  // "<f4"
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// Parses "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }". `where` is the file's name, for messages.
NpyHeader parse_npy_header(std::string_view text, const std::string& where);

}  // namespace thaw::run
