#include "thaw/prove/sides.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "thaw/core/error.h"
#include "thaw/dim/expr/scope.h"
#include "thaw/dim/prove/solve.h"
#include "thaw/prove/read_model.h"

namespace thaw::proving {
namespace {

using dim::Dim;

// The one number for which a side of the statement is as the other one says; nullopt where there are others, or nobody knows.
std::optional<int64_t> needed_number(const ops::Obligation& needed, Dim symbol) {
  const bool is_equal = needed.kind == dim::Relation::kEqual;
  if (!is_equal && needed.kind != dim::Relation::kBroadcastable) return std::nullopt;
  const auto solution = dim::solve_for(symbol, needed.a, needed.b);
  const auto number = solution ? solution->constant() : std::nullopt;
  if (!number || *number < 0 || is_equal) return number && *number >= 0 ? number : std::nullopt;
  // Sizes broadcast where one of them is 1, too: a number that is not, and a side that never is.
  const Dim side = needed.a.is_constant() ? needed.b : needed.a, other = needed.a.is_constant() ? needed.a : needed.b;
  if (!other.is_constant() || other.is_constant(1)) return std::nullopt;
  const auto at = [&](int64_t value) {
    return dim::substitute(side, dim::Assignment{{dim::symbols_of(side)[0], value}}).constant();
  };
  const auto first = at(0), next = at(1);  // it is linear
  if (!first || !next || *first == *next) return std::nullopt;
  const int64_t rate = *next - *first, left = 1 - *first;
  return left % rate == 0 && left / rate >= 0 ? std::nullopt : number;
}

// The nodes without which an output is not computed.
std::unordered_set<const ir::Node*> nodes_of_outputs(const ir::Model& model) {
  std::unordered_set<const ir::Node*> nodes;
  std::vector<const ir::Value*> open(model.graph->outputs().begin(), model.graph->outputs().end());
  while (!open.empty()) {
    const ir::Node* node = open.back()->producer();
    open.pop_back();
    if (!node || !nodes.insert(node).second) continue;
    for (const ir::Value* value : read_by(*node)) open.push_back(value);
  }
  return nodes;
}

// Sizes that one of the models runs for as numbers alone.
void add_needed(const Aligned& aligned, const ModelFacts& facts, const dim::Scope& scope,
                std::vector<SizeBound>& bounds) {
  std::optional<std::unordered_set<const ir::Node*>> nodes;
  for (const ops::Obligation& needed : facts.obligations()) {
    if (needed.only_specified || needed.of_values || needed.is_enough) continue;
    std::vector<int> symbols;
    for (const Dim side : {needed.a, needed.b})
      if (side.is_symbolic()) std::ranges::copy(dim::symbols_of(side), std::back_inserter(symbols));
    if (symbols.empty() || std::ranges::adjacent_find(symbols, std::ranges::not_equal_to()) != symbols.end()) continue;
    const dim::SymbolInfo& symbol = scope.symbols()[static_cast<size_t>(symbols[0])];
    const auto size = std::ranges::find(aligned.sizes, symbol.name, &AlignedSize::name);
    if (symbol.kind != dim::SymbolKind::kInputDim || size == aligned.sizes.end()) continue;
    const auto number = needed_number(needed, scope.symbol_at(symbols[0]));
    if (!number || std::ranges::find(bounds, size->axes[0], &SizeBound::of) != bounds.end()) continue;
    if (!nodes) nodes = nodes_of_outputs(facts.model());
    if (nodes->contains(needed.node)) bounds.push_back({size->axes[0], *number, number, 1, true});
  }
}

}  // namespace

std::unique_ptr<Sides::State> Sides::made(const ir::Model& model, const ir::Model& reference,
                                          std::span<const SizeBound> bounds) {
  auto state = std::make_unique<State>();
  state->scope.set_budget(kMostOfSize);
  state->aligned = align(model, reference, bounds);
  assume(state->aligned, state->scope);
  for (size_t i = 0; i < 2; ++i)
    state->facts[i] = std::make_unique<ModelFacts>(*state->aligned.models[i], state->scope);
  return state;
}

Sides::Sides(const ir::Model& model, const ir::Model& reference, std::span<const SizeBound> bounds)
    : state_(made(model, reference, bounds)) {
  for (size_t i = 0; i < 2; ++i)
    for (const ir::Value* output : (i == 0 ? model : reference).graph->outputs())
      output_names_[i].push_back(output->name());
  std::vector<SizeBound> all(bounds.begin(), bounds.end());
  constexpr int kMostRounds = 4;  // a number may tell others
  for (int round = 0; round < kMostRounds; ++round) {
    std::vector<SizeBound> needed;
    for (size_t i = 0; i < 2; ++i) add_needed(state_->aligned, *state_->facts[i], state_->scope, needed);
    if (needed.empty()) return;
    all.insert(all.end(), needed.begin(), needed.end());
    try {
      state_ = made(model, reference, all);
    } catch (const Error&) {
      return;  // both run nowhere: there is nothing to know of their sizes
    }
  }
}

const ir::Value* Sides::output(size_t side, std::string_view name) const {
  const auto found = std::ranges::find(output_names_[side], name);
  if (found == output_names_[side].end()) return nullptr;
  return aligned().models[side]->graph->outputs()[static_cast<size_t>(found - output_names_[side].begin())];
}

std::string Sides::name_of(const ir::Value* value, size_t side) const {
  const std::string &name = value->name(), &prefix = aligned().prefix;
  if (side == 0 || !name.starts_with(prefix)) return name;
  std::string bare = name.substr(prefix.size());
  return find(bare, side) == value ? bare : name;
}

const ir::Value* Sides::find(const std::string& name, size_t side) const {
  const ir::Graph& graph = *aligned().models[side]->graph;
  if (const ir::Value* value = graph.find(name)) return value;
  return side == 0 ? nullptr : graph.find(aligned().prefix + name);
}

}  // namespace thaw::proving
