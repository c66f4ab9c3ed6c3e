#include "thaw/lift/whole_fills.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "thaw/infer/infer.h"
#include "thaw/lift/align/input_facts.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {
namespace {

using dim::Dim;

// The axis and what it becomes, at each of some sizes; nullopt where either has no value.
std::optional<std::vector<std::pair<int64_t, int64_t>>> lengths_at(Dim size, Dim made,
                                                                   const std::vector<dim::Assignment>& at) {
  std::vector<std::pair<int64_t, int64_t>> lengths;
  for (const dim::Assignment& each : at) {
    const auto before = dim::evaluate(size, each), after = dim::evaluate(made, each);
    if (!before || !after) return std::nullopt;
    lengths.emplace_back(*before, *after);
  }
  return lengths;
}

// The window up to which an axis is filled everywhere, where that is a whole one somewhere and in no trace; nullopt of others.
std::optional<int64_t> window_added(Dim size, Dim made, const std::vector<dim::Assignment>& traces,
                                    const std::vector<dim::Assignment>& unseen) {
  const auto here = lengths_at(size, made, traces), elsewhere = lengths_at(size, made, unseen);
  if (!here || !elsewhere) return std::nullopt;
  int64_t window = 0;
  for (const auto* lengths : {&*here, &*elsewhere})
    for (const auto& [before, after] : *lengths) window = std::gcd(window, after);
  const auto adds_one = [&](const auto& lengths) { return lengths.second - lengths.first == window; };
  const auto adds_less = [&](const auto& lengths) {
    return lengths.second > lengths.first && lengths.second - lengths.first < window;
  };
  const bool is_it =
      window > 1 && std::ranges::all_of(*here, adds_less) && std::ranges::any_of(*elsewhere, adds_one) &&
      std::ranges::all_of(*elsewhere, [&](const auto& each) { return adds_less(each) || adds_one(each); });
  return is_it ? std::optional(window) : std::nullopt;
}

}  // namespace

std::vector<Undecided> whole_fills(const ir::Model& lifted,
                                   const std::unordered_map<const ir::Value*, ops::Shape>& shapes,
                                   std::span<const Variable> variables, dim::Scope& scope,
                                   const std::vector<std::vector<int64_t>>& unseen) {
  std::vector<const ir::Node*> pads;
  for (const ir::Node* node : lifted.graph->nodes())
    if (ops::role_of(*node, 1) == ops::Role::kPads) pads.push_back(node);
  if (pads.empty() || variables.empty()) return {};
  const infer::Result facts = infer::infer(lifted, scope, with_shapes(shapes));
  const std::vector<dim::Assignment> traces = assignments_in_traces(variables),
                                     elsewhere = assignments_at(variables, unseen);
  std::vector<Undecided> found;
  for (const ir::Node* pad : pads) {
    const auto &data = facts.fact(pad->input(0)).shape, &made = facts.fact(pad->output(0)).shape;
    if (!data || !made || data->size() != made->size()) continue;
    for (size_t axis = 0; axis < data->size(); ++axis) {
      const Dim size = (*data)[axis], whole = (*made)[axis];
      if (!size.is_symbolic() || !whole.is_symbolic() || dim::same(size, whole)) continue;
      if (const auto window = window_added(size, whole, traces, elsewhere))
        found.push_back({whole, dim::ceil_div(size, *window) * Dim(*window), ""});
    }
  }
  return found;
}

}  // namespace thaw::lifting
