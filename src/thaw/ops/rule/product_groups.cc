#include "thaw/ops/rule/product_groups.h"

#include <algorithm>

namespace thaw::ops {
namespace {

// False where the product has no room.
bool multiply(int64_t& product, int64_t by) { return !__builtin_mul_overflow(product, by, &product); }

bool multiply(std::vector<int64_t>& products, const std::vector<int64_t>& by) {
  for (size_t k = 0; k < products.size(); ++k)
    if (!multiply(products[k], by[k])) return false;
  return true;
}

template <typename Size>
std::vector<AxisGroup> groups_of(std::span<const Size> in, std::span<const Size> out) {
  std::vector<AxisGroup> groups;
  size_t i = 0, j = 0;
  while (i < in.size() && j < out.size()) {
    AxisGroup group{i, i, j, j};
    Size p = in[i++], q = out[j++];
    while (p != q) {
      const bool is_less = p < q;
      if (is_less ? i == in.size() : j == out.size()) return groups;
      if (!(is_less ? multiply(p, in[i++]) : multiply(q, out[j++]))) return groups;
    }
    group.in_end = i;
    group.out_end = j;
    groups.push_back(group);
  }
  return groups;
}

}  // namespace

std::vector<AxisGroup> leading_groups(std::span<const int64_t> in, std::span<const int64_t> out) {
  return groups_of(in, out);
}

std::vector<AxisGroup> leading_groups(std::span<const std::vector<int64_t>> in,
                                      std::span<const std::vector<int64_t>> out) {
  return groups_of(in, out);
}

std::optional<std::vector<AxisGroup>> group_by_product(const std::vector<int64_t>& in,
                                                       const std::vector<int64_t>& out) {
  std::vector<AxisGroup> groups = leading_groups(in, out);
  if (groups.empty()) return in.empty() && out.empty() ? std::optional(groups) : std::nullopt;
  // What is left over can only be ones, on one side.
  AxisGroup& last = groups.back();
  const auto is_one = [](int64_t size) { return size == 1; };
  if (!std::all_of(in.begin() + static_cast<std::ptrdiff_t>(last.in_end), in.end(), is_one) ||
      !std::all_of(out.begin() + static_cast<std::ptrdiff_t>(last.out_end), out.end(), is_one))
    return std::nullopt;
  last.in_end = in.size();
  last.out_end = out.size();
  return groups;
}

std::optional<CommonFactors> common_factors(const Shape& in, const Shape& out) {
  CommonFactors factors{{}, std::vector<std::vector<size_t>>(out.size())};
  size_t i = 0, j = 0;
  dim::Dim left_in = in.empty() ? dim::Dim(1) : in[0], left_out = out.empty() ? dim::Dim(1) : out[0];
  const auto step_in = [&] { left_in = ++i < in.size() ? in[i] : dim::Dim(1); };
  const auto step_out = [&] { left_out = ++j < out.size() ? out[j] : dim::Dim(1); };
  const auto add = [&] {
    factors.of_out[j].push_back(factors.axes.size());
    factors.axes.push_back(i);
  };
  while (i < in.size() || j < out.size()) {
    if (i < in.size() && left_in.is_constant(1)) {
      step_in();
    } else if (j < out.size() && left_out.is_constant(1)) {
      step_out();
    } else if (i == in.size() || j == out.size()) {
      return std::nullopt;
    } else if (dim::same(left_in, left_out)) {
      add();
      step_in();
      step_out();
    } else if (const auto rest = dim::exact_div(left_in, left_out)) {
      add();
      left_in = *rest;
      step_out();
    } else if (const auto other = dim::exact_div(left_out, left_in)) {
      add();
      left_out = *other;
      step_in();
    } else {
      return std::nullopt;
    }
  }
  return factors;
}

}  // namespace thaw::ops
