#include "thaw/optimize/view_algebra.h"

#include <algorithm>

#include "thaw/ops/rule/product_groups.h"

namespace thaw::optimizing {

std::optional<std::vector<int64_t>> as_one_transpose(const ops::Shape& in, const ops::Shape& viewed,
                                                     const std::vector<int64_t>& permutation, const ops::Shape& out) {
  if (in.size() != out.size() || viewed.size() != permutation.size()) return std::nullopt;
  const auto factors = ops::common_factors(in, viewed);
  if (!factors) return std::nullopt;
  std::vector<size_t> moved;  // the factors in the order that the Transpose gives them
  for (const int64_t axis : permutation) {
    if (axis < 0 || axis >= static_cast<int64_t>(viewed.size())) return std::nullopt;
    const std::vector<size_t>& of_axis = factors->of_out[static_cast<size_t>(axis)];
    moved.insert(moved.end(), of_axis.begin(), of_axis.end());
  }
  std::vector<int64_t> order;
  size_t next = 0;
  int64_t next_one = 0;
  for (const dim::Dim size : out) {
    if (size.is_constant(1)) {  // any axis of 1
      const auto one =
          std::ranges::find_if(in.begin() + next_one, in.end(), [](dim::Dim d) { return d.is_constant(1); });
      if (one == in.end()) return std::nullopt;
      order.push_back(one - in.begin());
      next_one = order.back() + 1;
      continue;
    }
    if (next == moved.size()) return std::nullopt;
    const size_t first = moved[next], axis = factors->axes[first];
    if (!dim::same(size, in[axis])) return std::nullopt;
    // All of the axis stands here, none of it before.
    if (first > 0 && factors->axes[first - 1] == axis) return std::nullopt;
    for (size_t factor = first; factor < factors->axes.size() && factors->axes[factor] == axis; ++factor)
      if (next == moved.size() || moved[next++] != factor) return std::nullopt;
    order.push_back(static_cast<int64_t>(axis));
  }
  return next == moved.size() ? std::optional(order) : std::nullopt;
}

}  // namespace thaw::optimizing
