// Which weights in blocks a target's kernels read.
#pragma once

#include <string>
#include <string_view>

#include "thaw/ops/target/target.h"

namespace thaw::ops {

// Why the target has no kernel of com.microsoft's operator for codes of that many bits, a clause; empty: it has one, or no table
// says which it has. real_zeros: zero points are of the scales' type.
std::string why_no_block_kernel(const Target& target, std::string_view op, int bits, bool real_zeros);

}  // namespace thaw::ops
