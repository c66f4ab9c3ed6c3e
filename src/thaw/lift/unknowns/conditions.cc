#include "thaw/lift/unknowns/conditions.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "thaw/infer/infer.h"
#include "thaw/ir/graph/transaction.h"
#include "thaw/lift/align/input_facts.h"

namespace thaw::lifting {
namespace {

using dim::Dim;

// As small as in no trace, an integer may broadcast: what is at least 1 in each is a size.
Dim symbol_for(size_t place, const std::vector<int64_t>& wanted, dim::Scope& scope) {
  const int64_t least = std::ranges::min(wanted);
  const Dim symbol = scope.fresh(fmt::format("integer_{}", place),
                                 least < 0 ? dim::SymbolKind::kInputValue : dim::SymbolKind::kInputDim);
  if (least > 0) scope.assume_range(symbol, 1, std::nullopt);
  return symbol;
}

// By the operand of a node: which of its elements are which symbols.
using Held = std::unordered_map<const ir::Value*, std::vector<std::pair<size_t, Dim>>>;

// Operands of their own for what holds integers of some places alone: a constant may stand at other nodes too.
Held hold(const std::vector<Unknown>& unknowns, ir::Graph& graph) {
  std::map<std::pair<std::string, int>, std::vector<std::pair<size_t, Dim>>> elements;
  for (const Unknown& unknown : unknowns)
    for (const IntegerPlace& place : unknown.stands_at)
      elements[{place.node, place.input}].emplace_back(place.element, unknown.places.front().symbol);
  Held held;
  for (auto& [at, own] : elements) {
    const ir::Value* result = graph.find(at.first);
    ir::Node* node = result ? result->producer() : nullptr;
    if (!node || !node->input(at.second)) continue;
    ir::Value* operand = graph.add_value(graph.unique_name(fmt::format("{}_operand", at.first)));
    graph.add_node("Identity", "", {node->input(at.second)}, {operand}, operand->name(), node);
    node->set_input(at.second, operand);
    held.emplace(operand, std::move(own));
  }
  return held;
}

void put_in(const std::vector<std::pair<size_t, Dim>>& own, ops::Fact& fact) {
  if (!fact.elements) return;
  ops::Elements elements = *fact.elements;
  for (const auto& [element, symbol] : own)
    if (element < elements.size()) elements[element] = ops::Element::integer(symbol);
  fact.elements = std::make_shared<const ops::Elements>(std::move(elements));
}

}  // namespace

Conditions conditions_of(ir::Model& lifted, const std::unordered_map<const ir::Value*, ops::Shape>& shapes,
                         const WrittenSizes& written, std::vector<Unknown> unknowns,
                         std::span<const Variable> variables, const std::shared_ptr<dim::Scope>& scope,
                         const std::unordered_set<const ir::Node*>& traced,
                         const std::vector<std::vector<int64_t>>& unseen) {
  Conditions out{.scope = scope,
                 .unknowns = std::move(unknowns),
                 .traces = assignments_in_traces(variables),
                 .unseen = assignments_at(variables, unseen)};
  std::unordered_map<int, size_t> unknown_of;  // by symbol
  std::unordered_map<const dim::Expr*, Dim> symbols;
  std::unordered_set<const dim::Expr*> solved;
  for (const Unknown& unknown : out.unknowns)
    for (const Unknown::Place& place : unknown.places)
      if (!unknown.is_at_places()) solved.insert(place.taken.expr());
  for (const auto& [name, size] : written) {
    if (!size.is_symbolic() || scope->symbol_id(size) >= 0 || !solved.insert(size.expr()).second) continue;
    std::vector<int64_t> wanted;
    for (const dim::Assignment& at : out.traces)
      if (const auto value = dim::evaluate(size, at)) wanted.push_back(*value);
    if (wanted.size() == out.traces.size())
      out.unknowns.push_back({.wanted = std::move(wanted), .places = {{{}, size}}, .follows = true});
  }
  for (size_t i = 0; i < out.unknowns.size(); ++i)
    for (Unknown::Place& place : out.unknowns[i].places) {
      place.symbol = symbol_for(unknown_of.size(), out.unknowns[i].wanted, *scope);
      unknown_of.emplace(scope->symbol_id(place.symbol), i);
      for (size_t k = 0; k < out.traces.size(); ++k)
        out.traces[k][scope->symbol_id(place.symbol)] = out.unknowns[i].wanted[k];
      if (!out.unknowns[i].is_at_places()) symbols.emplace(place.taken.expr(), place.symbol);
    }
  const ir::Transaction edit(lifted);
  const Held held = hold(out.unknowns, *lifted.graph);
  std::unordered_map<const ir::Value*, Dim> sizes;
  for (const auto& [name, size] : written)
    if (const ir::Value* value = lifted.graph->find(name)) sizes.emplace(value, size);
  infer::InferOptions options = with_shapes(shapes);
  options.after_node = [&](const infer::NodeVisit& visit) {
    const ir::Value* output = visit.node.outputs().empty() ? nullptr : visit.node.output(0);
    if (const auto own = held.find(output); own != held.end()) return put_in(own->second, visit.outputs[0]);
    const auto known = sizes.find(output);
    if (!output || known == sizes.end()) return;
    const auto symbol = symbols.find(known->second.expr());
    const Dim size = symbol == symbols.end() ? known->second : symbol->second;
    ops::Fact& fact = visit.outputs[0];
    fact.elements = std::make_shared<const ops::Elements>(ops::Elements{ops::Element::integer(size)});
  };
  const infer::Result facts = infer::infer(lifted, *scope, options);
  for (const ops::Obligation& obligation : facts.obligations()) {
    if (!traced.contains(obligation.node) || obligation.only_specified || obligation.is_enough || obligation.of_values)
      continue;
    Condition condition{obligation.kind, obligation.a, obligation.b, {}};
    for (const Dim side : {obligation.a, obligation.b})
      for (const int id : side.is_symbolic() ? dim::symbols_of(side) : std::vector<int>())
        if (const auto at = unknown_of.find(id); at != unknown_of.end()) condition.unknowns.push_back(at->second);
    std::ranges::sort(condition.unknowns);
    condition.unknowns.erase(std::ranges::unique(condition.unknowns).begin(), condition.unknowns.end());
    // The traces ran: what fails there is none.
    const auto holds_there = [&](const dim::Assignment& at) {
      return dim::holds(condition.relation, condition.a, condition.b, at).value_or(true);
    };
    if (!condition.unknowns.empty() && std::ranges::all_of(out.traces, holds_there))
      out.needed.push_back(std::move(condition));
  }
  return out;
}

}  // namespace thaw::lifting
