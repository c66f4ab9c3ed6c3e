#include "thaw/ops/rule/product_groups.h"

namespace thaw::ops {

std::optional<std::vector<AxisGroup>> group_by_product(const std::vector<int64_t>& in,
                                                       const std::vector<int64_t>& out) {
  std::vector<AxisGroup> groups;
  size_t i = 0, j = 0;
  while (i < in.size() && j < out.size()) {
    AxisGroup g{i, i, j, j};
    int64_t p = in[i++], q = out[j++];
    while (p != q) {
      int64_t& smaller = p < q ? p : q;
      if (p < q ? i == in.size() : j == out.size()) return std::nullopt;
      if (__builtin_mul_overflow(smaller, p < q ? in[i++] : out[j++], &smaller)) return std::nullopt;
    }
    g.in_end = i;
    g.out_end = j;
    groups.push_back(g);
  }
  // What is left over on one side can only be ones.
  for (; i < in.size(); ++i)
    if (in[i] != 1 || groups.empty()) return std::nullopt;
  for (; j < out.size(); ++j)
    if (out[j] != 1 || groups.empty()) return std::nullopt;
  if (!groups.empty()) {
    groups.back().in_end = in.size();
    groups.back().out_end = out.size();
  }
  return groups;
}

}  // namespace thaw::ops
