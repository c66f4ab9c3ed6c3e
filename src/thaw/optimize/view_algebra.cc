#include "thaw/optimize/view_algebra.h"

#include <algorithm>

namespace thaw::optimizing {
namespace {

struct Factors {
  std::vector<size_t> axes;                    // the axis of `in` that each comes from, ascending
  std::vector<std::vector<size_t>> of_viewed;  // which of them are an axis of `viewed`, in order
};

// Both shapes are products of the same factors in the same order, as far as one can be divided by the other. An axis of 1 has no
// factor.
std::optional<Factors> common_factors(const ops::Shape& in, const ops::Shape& viewed) {
  Factors factors{{}, std::vector<std::vector<size_t>>(viewed.size())};
  size_t i = 0, j = 0;
  dim::Dim left_in = in.empty() ? dim::Dim(1) : in[0], left_viewed = viewed.empty() ? dim::Dim(1) : viewed[0];
  const auto step_in = [&] { left_in = ++i < in.size() ? in[i] : dim::Dim(1); };
  const auto step_viewed = [&] { left_viewed = ++j < viewed.size() ? viewed[j] : dim::Dim(1); };
  const auto add = [&] {
    factors.of_viewed[j].push_back(factors.axes.size());
    factors.axes.push_back(i);
  };
  while (i < in.size() || j < viewed.size()) {
    if (i < in.size() && left_in.is_constant(1)) {
      step_in();
    } else if (j < viewed.size() && left_viewed.is_constant(1)) {
      step_viewed();
    } else if (i == in.size() || j == viewed.size()) {
      return std::nullopt;
    } else if (dim::same(left_in, left_viewed)) {
      add();
      step_in();
      step_viewed();
    } else if (const auto rest = dim::exact_div(left_in, left_viewed)) {
      add();
      left_in = *rest;
      step_viewed();
    } else if (const auto other = dim::exact_div(left_viewed, left_in)) {
      add();
      left_viewed = *other;
      step_in();
    } else {
      return std::nullopt;
    }
  }
  return factors;
}

}  // namespace

std::optional<std::vector<int64_t>> as_one_transpose(const ops::Shape& in, const ops::Shape& viewed,
                                                     const std::vector<int64_t>& permutation, const ops::Shape& out) {
  if (in.size() != out.size() || viewed.size() != permutation.size()) return std::nullopt;
  const auto factors = common_factors(in, viewed);
  if (!factors) return std::nullopt;
  std::vector<size_t> moved;  // the factors in the order that the Transpose gives them
  for (const int64_t axis : permutation) {
    if (axis < 0 || axis >= static_cast<int64_t>(viewed.size())) return std::nullopt;
    const std::vector<size_t>& of_axis = factors->of_viewed[static_cast<size_t>(axis)];
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
