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

// What an axis is filled up to everywhere: whole windows and a rest.
struct Filled {
  int64_t window = 0, rest = 0;
};

// Where that adds a whole window or more somewhere, or cuts, and in no trace; nullopt of others.
std::optional<Filled> window_added(Dim size, Dim made, const std::vector<dim::Assignment>& traces,
                                   const std::vector<dim::Assignment>& unseen) {
  const auto here = lengths_at(size, made, traces), elsewhere = lengths_at(size, made, unseen);
  if (!here || !elsewhere) return std::nullopt;
  Filled filled;
  for (const auto* lengths : {&*here, &*elsewhere})
    for (const auto& [before, after] : *lengths) filled.window = std::gcd(filled.window, after - here->front().second);
  if (filled.window < 2) return std::nullopt;
  filled.rest = here->front().second % filled.window;
  const auto adds = [](const auto& lengths, int64_t least, int64_t below) {
    const int64_t added = lengths.second - lengths.first;
    return added >= least && added < below;
  };
  const int64_t window = filled.window;
  const bool is_it =
      std::ranges::all_of(*here, [&](const auto& each) { return adds(each, 1, window); }) &&
      !std::ranges::all_of(*elsewhere, [&](const auto& each) { return adds(each, 0, window); }) &&
      std::ranges::all_of(*elsewhere, [&](const auto& each) { return adds(each, 1 - window, 2 * window); });
  return is_it ? std::optional(filled) : std::nullopt;
}

// Whether each reader's own windows say so: kernels as much longer than their stride as the rest is.
bool is_of_readers(const ir::Node& pad, size_t axis, const Filled& filled) {
  const std::span<const ir::Use> uses = pad.output(0)->uses();
  return !uses.empty() && std::ranges::all_of(uses, [&](const ir::Use& use) {
    const auto kernel = use.node->attribute_ints("kernel_shape"), strides = use.node->attribute_ints("strides"),
               dilations = use.node->attribute_ints("dilations");
    if (axis < 2 || axis - 2 >= kernel.size() || axis - 2 >= strides.size()) return false;
    const size_t at = axis - 2;
    const int64_t window = (kernel[at] - 1) * (at < dilations.size() ? dilations[at] : 1) + 1;
    return strides[at] == filled.window && window % filled.window == filled.rest;
  });
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
      const auto filled = window_added(size, whole, traces, elsewhere);
      if (filled && !is_of_readers(*pad, axis, *filled))
        found.push_back({whole, size + dim::mod(Dim(filled->rest) - size, filled->window), ""});
    }
  }
  return found;
}

}  // namespace thaw::lifting
