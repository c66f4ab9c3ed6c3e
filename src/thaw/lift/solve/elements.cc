#include "thaw/lift/solve/elements.h"

#include <algorithm>
#include <vector>

namespace thaw::lifting {
namespace {

// elements / the sizes but one, where that is exact.
std::optional<dim::Dim> left_for(size_t i, const ops::Shape& sizes, dim::Dim elements) {
  ops::Shape others = sizes;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
  return dim::exact_div(elements, dim::product(others));
}

}  // namespace

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
