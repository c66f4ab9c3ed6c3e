// Which axes of a Reshape's input became which axes of its output, at known sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace thaw::ops {

// Runs of dims [in_begin, in_end) and [out_begin, out_end) with equal products, as short as can be.
struct AxisGroup {
  size_t in_begin, in_end, out_begin, out_end;
};

// The groups in order, covering all dims; nullopt where the products do not agree. Dims are positive.
std::optional<std::vector<AxisGroup>> group_by_product(const std::vector<int64_t>& in, const std::vector<int64_t>& out);

}  // namespace thaw::ops
