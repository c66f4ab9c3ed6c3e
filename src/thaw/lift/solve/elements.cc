#include "thaw/lift/solve/elements.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "thaw/lift/term/numbers.h"
#include "thaw/ops/rule/product_groups.h"

namespace thaw::lifting {
namespace {

// elements / the sizes but one, where that is exact.
std::optional<dim::Dim> left_for(size_t i, const ops::Shape& sizes, dim::Dim elements) {
  ops::Shape others = sizes;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
  return dim::exact_div(elements, dim::product(others));
}

using Values = std::vector<int64_t>;

// Which of some numbers is what an axis leaves beside sizes that explain themselves, where all traces have as much of
// it: windows of 7 rows, one in each trace. A number that is a factor of the axis stays what it is, and a 1 beside it is
// how many there are; the first axis, a batch's, last of all.
std::optional<std::pair<size_t, dim::Dim>> hidden_size(const ops::Shape& sizes, size_t open, dim::Dim elements) {
  ops::Shape varying;
  for (const dim::Dim size : sizes)
    if (size.is_symbolic()) varying.push_back(size);
  const auto hidden = dim::exact_div(elements, dim::product(varying));
  if (!hidden || !hidden->is_symbolic()) return std::nullopt;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (i == open || !sizes[i].is_constant(1)) continue;
    if (const auto left = left_for(i, sizes, elements); left && left->is_symbolic()) return std::pair(i, *left);
  }
  return std::nullopt;
}

// One size of a group, where it alone can be what the others leave: one that varies in the traces before one that does not.
void keep_group(std::span<dim::Dim> group, dim::Dim elements, std::span<const Values> made) {
  ops::Shape sizes(group.begin(), group.end());
  const auto open =
      std::ranges::find_if(sizes, [](dim::Dim size) { return size.is_constant() && *size.constant() <= 0; });
  const auto at = static_cast<size_t>(open - sizes.begin());
  if (at < sizes.size()) {
    const auto left = sizes[at].is_constant(-1) ? left_for(at, sizes, elements) : elements;
    if (!all_equal(made[at]) || (left && !left->is_unknown())) return;
    sizes[at] = dim::Dim(made[at].front());
  }
  const auto is_unknown = [](dim::Dim size) { return size.is_unknown(); };
  if (std::ranges::any_of(sizes, is_unknown) || dim::same(dim::product(sizes), elements)) return;
  if (const auto hidden = hidden_size(sizes, at, elements)) {
    group[hidden->first] = hidden->second;
    return;
  }
  for (const bool varies : {true, false}) {
    std::vector<std::pair<size_t, dim::Dim>> found;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (i == at || sizes[i].is_symbolic() != varies) continue;
      if (const auto left = left_for(i, sizes, elements); left && !left->is_unknown()) found.emplace_back(i, *left);
    }
    if (found.size() == 1) group[found.front().first] = found.front().second;
    if (!found.empty()) return;
  }
}

}  // namespace

void keep_axes(ops::Shape& sizes, std::span<const Variable> data, std::span<const Values> made) {
  if (made.size() != sizes.size()) return;
  std::vector<Values> given;
  for (const Variable& axis : data) given.push_back(axis.at);
  for (const ops::AxisGroup& group : ops::leading_groups(given, made)) {
    dim::Dim elements = 1;
    for (size_t i = group.in_begin; i < group.in_end; ++i) elements = elements * data[i].symbol;
    const size_t first = group.out_begin, count = group.out_end - first;
    if (elements.is_symbolic())
      keep_group(std::span(sizes).subspan(first, count), elements, made.subspan(first, count));
  }
}

void keep_given_back(ops::Shape& sizes, const ops::Shape& given_back) {
  if (given_back.size() != sizes.size()) return;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (!sizes[i].is_constant() || *sizes[i].constant() > 0) sizes[i] = given_back[i];
}

void keep_elements(ops::Shape& sizes, dim::Dim elements) {
  if (!elements.is_symbolic()) return;
  std::vector<size_t> unknown, varying, steady;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i].is_constant() && *sizes[i].constant() <= 0) return;
    (sizes[i].is_unknown() ? unknown : sizes[i].is_symbolic() ? varying : steady).push_back(i);
  }
  if (unknown.size() > 1) return;
  if (unknown.empty()) {
    if (dim::same(dim::product(sizes), elements)) return;
    unknown = varying;
    unknown.insert(unknown.end(), steady.begin(), steady.end());
  }
  for (const size_t i : unknown) {
    const auto left = left_for(i, sizes, elements);
    if (!left || left->is_unknown()) continue;
    sizes[i] = *left;
    return;
  }
}

}  // namespace thaw::lifting
