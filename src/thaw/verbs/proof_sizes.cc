#include "thaw/verbs/proof_sizes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "thaw/dim/expr/scope.h"
#include "thaw/dim/text/range_spec.h"
#include "thaw/infer/size_names.h"

namespace thaw::verbs {
namespace {

using dim::Range, proving::BoundName, proving::SizeBound;

// The least range that has both.
Range hull(const Range& a, const Range& b) {
  Range made{std::min(a.first, b.first), std::nullopt, 1};
  if (a.last && b.last) made.last = std::max(*a.last, *b.last);
  const int64_t step_a = a.is_single() ? 0 : a.step, step_b = b.is_single() ? 0 : b.step;
  made.step = std::max<int64_t>(1, std::gcd(std::gcd(step_a, step_b), std::max(a.first, b.first) - made.first));
  return made;
}

struct Sizes {
  explicit Sizes(const ir::Model& of)
      : model(of), facts(infer::infer(of, scope)), names(infer::size_names(of, facts, scope)) {}

  // Of one of the axes that have it: axes of one name have one size.
  std::optional<BoundName> bound_name(const dim::SizeName& name) const {
    const auto& inputs = model.graph->inputs();
    if (name.kind != dim::SizeName::Kind::kSymbol)
      return BoundName{inputs[name.input]->name(), static_cast<size_t>(name.index),
                       name.kind == dim::SizeName::Kind::kElement};
    for (const ir::Value* input : inputs) {
      const auto& shape = facts.fact(input).shape;
      for (size_t axis = 0; shape && axis < shape->size(); ++axis)
        if (scope.symbol_id((*shape)[axis]) == name.symbol) return BoundName{input->name(), axis, false};
    }
    return std::nullopt;
  }

  const ir::Model& model;
  dim::Scope scope;
  infer::Result facts;
  dim::SizeNames names;
};

}  // namespace

std::vector<SizeBound> bounds_of(const VerifyOptions& options, const ir::Model& model) {
  if (options.sweep.empty() && options.sizes.empty()) return {};
  const Sizes sizes(model);
  std::map<BoundName, Range> all;
  std::map<BoundName, size_t> groups_of;
  const auto add = [&](const std::string& name, const Range& range) {
    const auto of = sizes.bound_name(sizes.names.require(name, "--sizes"));
    if (!of) return;
    const auto [at, is_new] = all.try_emplace(*of, range);
    if (!is_new) at->second = hull(at->second, range);
  };
  for (const auto& [name, size] : options.sizes) add(name, {size, size, 1});
  std::vector<dim::SpecGroup> groups;
  if (!options.sweep.empty()) groups = dim::parse_range_spec(options.sweep);
  for (const dim::SpecGroup& group : groups)
    for (const dim::SpecEntry& entry : group) {
      if (!entry.is_range()) continue;
      for (const Range& range : entry.ranges) add(entry.name, range);
      const auto of = sizes.bound_name(sizes.names.require(entry.name, "--sizes"));
      if (of) ++groups_of[*of];
    }
  std::vector<SizeBound> bounds;
  for (const auto& [of, range] : all) {
    // What one group leaves open is any size.
    const auto count = groups_of.find(of);
    if (count != groups_of.end() && count->second < groups.size()) continue;
    bounds.push_back({of, range.first, range.last, range.step});
  }
  return bounds;
}

std::vector<std::string> texts_of(std::span<const SizeBound> bounds, const ir::Model& model) {
  if (bounds.empty()) return {};
  const Sizes sizes(model);
  std::vector<std::string> texts;
  for (const SizeBound& bound : bounds) {
    const std::string given = bound.of.is_element ? fmt::format("{}[{}]", bound.of.input, bound.of.index)
                                                  : fmt::format("{}_dim{}", bound.of.input, bound.of.index);
    const auto name = sizes.names.find(given);
    texts.push_back(
        dim::to_string(dim::SpecEntry{name ? name->text : given, {{bound.first, bound.last, bound.step}}, {}}));
  }
  return texts;
}

}  // namespace thaw::verbs
