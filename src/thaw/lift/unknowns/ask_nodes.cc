#include "thaw/lift/unknowns/ask_nodes.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "thaw/dim/text/text.h"
#include "thaw/lift/unknowns/agree.h"
#include "thaw/lift/unknowns/solved_places.h"
#include "thaw/lift/unknowns/steady_integers.h"
#include "thaw/lift/unseen/unseen_sizes.h"

namespace thaw::lifting {
namespace {

// The integers that leave room for chance, with some at places alone, and what the nodes need of them at sizes that no trace has, at some
// more among these.
std::shared_ptr<const Conditions> conditions_at(const Lifting& l, const std::unordered_set<const ir::Node*>& traced,
                                                std::vector<std::vector<int64_t>> more,
                                                std::vector<Unknown> at_places = {}) {
  constexpr size_t kMostOthers = 8;
  if (l.variables.empty()) return nullptr;
  std::unordered_set<const dim::Expr*> written;
  for (const auto& [name, size] : l.written) written.insert(size.expr());
  std::vector<Unknown> unknowns;
  for (const auto& [wanted, symbol] : l.solver->unsolved())
    unknowns.push_back({.wanted = wanted, .places = {{{}, symbol}}, .rule = Rule::kMadeUp, .is_solved = false});
  for (const auto& [wanted, all] : l.solver->taken()) {
    Unknown unknown{.wanted = wanted, .places = {}};
    for (const Taken& taken : all) {
      if (taken.rule <= Rule::kVariable || !written.contains(taken.size.expr())) continue;
      const auto is_it = [&](const Unknown::Place& place) { return dim::same(place.taken, taken.size); };
      if (std::ranges::none_of(unknown.places, is_it)) unknown.places.push_back({{}, taken.size});
      unknown.rule = std::max(unknown.rule, taken.rule);
      for (const Solution& other : l.solver->solutions(wanted, kMostOthers, taken.around))
        if (!dim::same(other.dim, taken.size)) unknown.others.push_back(other.dim);
    }
    if (!unknown.places.empty()) unknowns.push_back(std::move(unknown));
  }
  std::ranges::move(at_places, std::back_inserter(unknowns));
  std::vector<std::vector<int64_t>> unseen = unseen_sizes(l.variables);
  std::ranges::move(more, std::back_inserter(unseen));
  return std::make_shared<const Conditions>(conditions_of(l.model(), input_shapes(l), l.written, std::move(unknowns),
                                                          l.variables, l.scope_of_sizes, traced, unseen));
}

// Those that no trace varies, and that may be why the nodes do not agree on this one.
std::vector<Unknown> steady_before(const Lifting& l, const ir::Node* contradicted) {
  if (!contradicted || !l.options.keep_static.empty()) return {};
  return steady_integers(*contradicted, l.alignment, l.tensor_shapes, l.windows_of_pads, l.variables);
}

// Of each, at which places the nodes let the other stand alone.
void note_places(std::vector<OpenChoice>& open, const Conditions& conditions) {
  const std::vector<Unknown>& unknowns = conditions.unknowns;
  Retaken questions;
  std::vector<OpenChoice*> asks;
  for (OpenChoice& each : open)
    for (size_t i = 0; i < unknowns.size() && !each.formulas.other.empty(); ++i) {
      if (!unknowns[i].is_at_places() || unknowns[i].wanted != each.wanted) continue;
      if (dim::to_string(unknowns[i].places.front().taken) != each.formulas.chosen) continue;
      questions.emplace_back(i, each.other);
      asks.push_back(&each);
    }
  const std::vector<bool> stand = stand_alone(conditions, questions);
  for (size_t k = 0; k < questions.size(); ++k)
    if (stand[k]) asks[k]->alone.push_back(unknowns[questions[k].first].stands_at.front());
}

}  // namespace

void ask_before(const Lifting& l, const std::unordered_set<const ir::Node*>& traced, const ir::Node* contradicted,
                const std::vector<std::vector<int64_t>>& more, Attempt& attempt) {
  attempt.conditions = conditions_at(l, traced, more, steady_before(l, contradicted));
  if (auto places = places_before(l, contradicted); !places.empty())
    attempt.apart = conditions_at(l, traced, more, std::move(places));
}

void ask_of_open(const Lifting& l, const std::unordered_set<const ir::Node*>& traced, Attempt& attempt) {
  std::vector<std::vector<int64_t>> more = sizes_of_any_step(l.variables);
  for (const OpenChoice& each : attempt.open)
    if (std::ranges::find(more, each.telling.front()) == more.end()) more.push_back(each.telling.front());
  attempt.conditions = conditions_at(l, traced, more);
  if (auto places = places_of(l, attempt.open); !places.empty())
    note_places(attempt.open, *conditions_at(l, traced, more, std::move(places)));
}

void ask_of_unsolved(const Lifting& l, const std::unordered_set<const ir::Node*>& traced, Attempt& attempt) {
  attempt.conditions = conditions_at(l, traced, {});
}

}  // namespace thaw::lifting
