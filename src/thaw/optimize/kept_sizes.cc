// Targets of Reshapes that take sizes of the very tensor that is reshaped to their own positions: 0 says the same. Nothing needs
// to be known of the sizes, so that this holds beside frozen ones too.
#include <algorithm>

#include "thaw/optimize/passes.h"

namespace thaw::optimizing {
namespace {

// A list of one: behind what makes a scalar one.
const ir::Value* behind_unsqueeze(const Site& s, const ir::Value* part) {
  const ir::Node* unsqueeze = s.made_by(part, "Unsqueeze");
  if (!unsqueeze) return part;
  const auto axes = s.integers(*unsqueeze, 1, "axes");
  return axes && axes->size() == 1 ? unsqueeze->input(0) : nullptr;
}

const ir::Node* whole_shape(const Site& s, const ir::Value* value) {
  const ir::Node* shape = s.made_by(value, "Shape");
  return shape && !shape->attribute("start") && !shape->attribute("end") ? shape : nullptr;
}

// The axes of the reshaped tensor whose sizes this part of its target holds; empty where it holds anything else.
std::vector<int64_t> axes_in(const Site& s, const ir::Value* part) {
  const ir::Value* taken = behind_unsqueeze(s, part);
  const ir::Node* gather = s.made_by(taken, "Gather");
  const ir::Node* shape = gather ? whole_shape(s, gather->input(0)) : nullptr;
  if (!shape || shape->input(0) != s.input(0)) return {};
  auto axes = s.integers(*gather, 1, "");
  if (!axes) return {};
  for (int64_t& axis : *axes) {
    if (axis < 0 && !s.in(0).has_rank()) return {};
    if (axis < 0) axis += s.in(0).rank();
  }
  return *axes;
}

ir::Value* with_zeros(const Site& s) {
  const ir::Node* concat = s.made_by(1, "Concat");
  if (!concat) return nullptr;
  const bool allows_zero = s.node().attribute_int("allowzero", 0) != 0;
  std::vector<int64_t> target;
  bool keeps = false;
  for (int i = 0; i < static_cast<int>(concat->inputs().size()); ++i) {
    if (const auto numbers = s.integers(*concat, i, "")) {
      if (allows_zero && std::ranges::count(*numbers, 0) > 0) return nullptr;  // a size of 0, no copy
      target.insert(target.end(), numbers->begin(), numbers->end());
      continue;
    }
    const std::vector<int64_t> axes = axes_in(s, concat->input(i));
    if (axes.empty()) return nullptr;
    for (const int64_t axis : axes) {
      if (axis != static_cast<int64_t>(target.size())) return nullptr;
      target.push_back(0);
    }
    keeps = true;
  }
  return keeps ? s.at().reshape(s.input(0), s.at().list(target)) : nullptr;
}

const Simplification kKeptSizes[] = {
    {"keep sizes by 0", {"Reshape"}, with_zeros},
};

}  // namespace

std::span<const Simplification> kept_sizes() { return kKeptSizes; }

}  // namespace thaw::optimizing
