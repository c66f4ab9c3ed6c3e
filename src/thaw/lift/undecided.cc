#include "thaw/lift/undecided.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/dim/text/text.h"

namespace thaw::lifting {
namespace {

constexpr size_t kMostTold = 1, kMostUndecided = 16, kMostOfAList = 4;

dim::Assignment at_sizes(std::span<const Variable> variables, const std::vector<int64_t>& sizes) {
  return assignment_of(variables, [&](size_t i) { return sizes[i]; });
}

// At which of the sizes the two are not the same.
std::vector<bool> differences(dim::Dim a, dim::Dim b, std::span<const Variable> variables,
                              std::span<const std::vector<int64_t>> sizes) {
  std::vector<bool> differs;
  for (const std::vector<int64_t>& each : sizes) {
    const dim::Assignment at = at_sizes(variables, each);
    const auto x = dim::evaluate(a, at), y = dim::evaluate(b, at);
    differs.push_back(x && y && *x != *y);
  }
  return differs;
}

// Whether an emitted size is made of the other. What it rounds is not: that a side is cut says nothing of the side itself.
bool is_computed_in(const std::string& size, const std::string& emitted) {
  if (size == emitted || fmt::format("({})", size) == emitted) return true;
  for (size_t at = emitted.find(size); at != std::string::npos; at = emitted.find(size, at + 1)) {
    const auto before = std::string_view(emitted).substr(0, at);
    if (size.find('(') != std::string::npos || std::ranges::count(before, '(') == std::ranges::count(before, ')'))
      return true;
  }
  return false;
}

// The fewest sizes that leave the same remainder as all traces do, at all of which the two are the same: where they are of one size.
std::optional<Congruence> shared_remainder(dim::Dim a, dim::Dim b, std::span<const Variable> variables) {
  std::vector<int> symbols = dim::symbols_of(a);
  std::ranges::copy(dim::symbols_of(b), std::back_inserter(symbols));
  if (symbols.empty() || std::ranges::count(symbols, symbols.front()) != std::ssize(symbols)) return std::nullopt;
  for (const Variable& v : variables) {
    dim::Scope& scope = *dim::scope_of(v.symbol);
    if (scope.symbol_id(v.symbol) != symbols.front() || !v.varies()) continue;
    const int64_t step = common_step(v.at);
    const dim::Dim pieces = scope.fresh("pieces", dim::SymbolKind::kInputDim);
    for (int64_t modulus = 2; modulus <= step; ++modulus) {
      if (step % modulus != 0) continue;
      const int64_t remainder = v.at.front() % modulus;
      const std::unordered_map<int, dim::Dim> at{{symbols.front(), pieces * dim::Dim(modulus) + dim::Dim(remainder)}};
      if (dim::same(dim::substitute(a, at), dim::substitute(b, at))) return Congruence{v.symbol, modulus, remainder};
    }
  }
  return std::nullopt;
}

// Whether the nodes speak against the one more than against the other.
bool is_contradicted(const Attempt& attempt, const Attempt& than) {
  return !attempt.is_whole() || attempt.contradictions.broken > 0 ||
         attempt.contradictions.sizes < than.contradictions.sizes ||
         attempt.beyond.num_sound_nodes < than.beyond.num_sound_nodes ||
         attempt.of_any_step.num_sound_nodes < than.of_any_step.num_sound_nodes;
}

// What the other is tried with: the integers that it cannot stand beside are taken otherwise, too. nullopt where it cannot stand at all.
std::optional<Choices> choices_of_other(const Attempt& best, const OpenChoice& open) {
  Choices choices = best.choices;
  if (best.conditions) {
    const std::vector<Unknown>& unknowns = best.conditions->unknowns;
    const auto own = std::ranges::find(unknowns, open.wanted, &Unknown::wanted);
    if (own != unknowns.end()) {
      const Agreed agreed = agree(*best.conditions, {{static_cast<size_t>(own - unknowns.begin()), open.other}});
      if (agreed.verdict == Agrees::kNo) return std::nullopt;
      choices = with_retaken(std::move(choices), *best.conditions, agreed);
    }
  }
  Choice& choice = choices.by_values[open.wanted];
  choice.index = open.next;
  choice.taken = open.formulas.other;
  return choices;
}

// In three traces and more.
bool is_close(const Solution& other, double bits, std::span<const int64_t> wanted) {
  const double saved = bits_of_list(wanted) - other.bits;
  return other.bits < bits + kLead &&
         (other.makeup == Makeup::kOfOne || saved >= (other.makeup == Makeup::kWithNumber ? kSavedWithNumber : kSaved));
}

bool is_as_good(const Attempt& other, const Attempt& best) {
  return !is_contradicted(other, best) && other.emitted != best.emitted;
}

// Whether the nodes speak against the other wherever it is not what was chosen: then they do against any other.
bool is_held(const Attempt& other, const Attempt& best, const OpenChoice& open) {
  if (!other.is_whole()) return false;
  const auto differ = static_cast<size_t>(std::ranges::count(open.differs, true));
  const auto num_broken = [](const Attempt& each) { return each.contradictions.broken + each.of_any_step.broken; };
  return differ > 0 && num_broken(other) >= num_broken(best) + differ;
}

Attempt refuse_undecided(Attempt best, const std::function<Attempt(Choices)>& attempt,
                         const std::function<Attempt(Choices)>& trial) {
  size_t attempts = 0;
  std::vector<Note> undecided;
  for (const OpenChoice& open : best.open) {
    const std::string where = fmt::format("{}", fmt::join(open.wanted, ", "));
    if (!undecided.empty() && undecided.back().where == where) continue;
    if (undecided.size() == kMostTold) break;
    auto choices = choices_of_other(best, open);
    if (!choices) continue;
    // What is not tried in time is left open.
    if (++attempts <= kMostUndecided && !is_as_good(trial(std::move(*choices)), best)) continue;
    const std::string other_size = open.formulas.other.empty() ? "something else" : open.formulas.other;
    undecided.push_back(
        {where, fmt::format("two traces do not determine whether it is {} or {}; add a third trace at {}",
                            open.formulas.chosen, other_size, open.formulas.telling)});
  }
  if (!undecided.empty()) {
    best.report.unexplained = std::move(undecided);
    return best;
  }
  best.edit = attempt(best.choices).edit;
  return best;
}

// What one remainder settles for most others comes first; then the plainest other of each list: the nodes may hold it, and so all others.
std::vector<const OpenChoice*> in_turn(const std::vector<OpenChoice>& open) {
  std::vector<const OpenChoice*> all;
  std::map<std::vector<int64_t>, size_t> num_before;
  std::map<const OpenChoice*, size_t> place;
  for (const OpenChoice& each : open) {
    all.push_back(&each);
    place.emplace(&each, num_before[each.wanted]++);
  }
  std::ranges::stable_sort(all, {},
                           [&](const OpenChoice* each) { return std::pair(-each->formulas.modulus, place.at(each)); });
  return all;
}

// What is not tried in time is guarded too. A guard that no size passes is none: the report says then what a trace would tell.
Attempt guard_undecided(Attempt best, const std::function<Attempt(Choices)>& attempt,
                        const std::function<Attempt(Choices)>& trial) {
  Choices choices = best.choices;
  size_t attempts = 0;
  std::set<std::vector<int64_t>> held;
  std::map<std::vector<int64_t>, size_t> tried;
  std::map<std::string, int64_t> shared;  // by size: of what it is to be a multiple, or one and a remainder
  std::vector<bool> stopped;
  std::vector<const OpenChoice*> guarded;
  for (const OpenChoice* open : in_turn(best.open)) {
    const Agreement& formulas = open->formulas;
    int64_t& modulus = shared.try_emplace(formulas.size, 1).first->second;
    if (held.contains(open->wanted) || (formulas.modulus > 0 && modulus % formulas.modulus == 0)) continue;
    auto of_other = choices_of_other(best, *open);
    if (!of_other) continue;
    if (++tried[open->wanted] <= kMostOfAList && ++attempts <= kMostUndecided) {
      const Attempt other = trial(std::move(*of_other));
      if (is_held(other, best, *open)) held.insert(open->wanted);
      if (!is_as_good(other, best)) continue;
    }
    choices.by_values[open->wanted].guarded.insert(formulas);
    guarded.push_back(open);
    if (formulas.modulus > 0) {
      modulus = std::lcm(modulus, formulas.modulus);
      continue;
    }
    stopped.resize(open->differs.size());
    for (size_t k = 0; k < stopped.size(); ++k) stopped[k] = stopped[k] || open->differs[k];
  }
  if (!stopped.empty() && std::ranges::all_of(stopped, std::identity())) {
    const Agreement& first = guarded.front()->formulas;
    best.report.unexplained.push_back(
        {fmt::format("{}", fmt::join(guarded.front()->wanted, ", ")),
         fmt::format("the traces do not determine whether it is {} or {}; add a trace at {}", first.chosen, first.other,
                     first.telling)});
    return best;
  }
  const bool is_guarded = choices != best.choices;
  Attempt last = attempt(std::move(choices));
  if (is_guarded) {
    note_choices(last);
    return last;
  }
  best.edit = std::move(last.edit);
  return best;
}

}  // namespace

std::vector<OpenChoice> open_choices(const Solver& solver, std::span<const std::string> emitted,
                                     std::span<const Variable> variables, const Domain& domain) {
  const auto is_emitted = [&](const std::string& size) {
    return std::ranges::any_of(emitted, [&](const std::string& each) { return is_computed_in(size, each); });
  };
  // What leaves the remainders of the traces may be all at which the model runs.
  const std::vector<std::vector<int64_t>>& unseen = solver.unseen();
  std::vector<std::vector<int64_t>> sizes = unseen;
  if (!variables.empty()) std::ranges::copy(solver.shared_remainders().sizes, std::back_inserter(sizes));
  std::vector<bool> runs;  // at which the model does
  for (const std::vector<int64_t>& each : sizes) runs.push_back(domain.has(at_sizes(variables, each)));
  std::vector<OpenChoice> open;
  const auto add = [&](const std::vector<int64_t>& wanted, size_t next, Rule rule, dim::Dim chosen,
                       const Solution& other, bool is_close) {
    std::vector<bool> differs = differences(chosen, other.dim, variables, sizes);
    for (size_t k = 0; k < sizes.size(); ++k) {
      if (!runs[k] || !differs[k]) continue;
      Agreement formulas{dim::to_string(chosen), other.rule == Rule::kMadeUp ? "" : dim::to_string(other.dim),
                         text_of_sizes(variables, sizes[k])};
      if (const auto shared = shared_remainder(chosen, other.dim, variables)) {
        formulas.size = dim::to_string(shared->size);
        formulas.modulus = shared->modulus;
        formulas.remainder = shared->remainder;
      }
      differs.resize(unseen.size());
      open.push_back({wanted, next, rule, std::move(formulas), other.dim, is_close, std::move(differs)});
      return;
    }
  };
  for (const auto& [wanted, all] : solver.taken())
    for (const Taken& taken : all) {
      if (!taken.size.is_symbolic() || !is_emitted(dim::to_string(taken.size))) continue;
      for (const Solution& other : solver.others(wanted, taken))
        add(wanted, 0, taken.rule, taken.size, other, taken.bits > 0 && is_close(other, taken.bits, wanted));
    }
  for (const auto& [wanted, all] : solver.open())
    for (const Solved& solved : all) {
      if (!is_emitted(dim::to_string(solved.size()))) continue;
      const Rule rule = solved.solutions[solved.chosen].rule;
      for (size_t next = solved.chosen + 1; next < solved.solutions.size(); ++next)
        add(wanted, next, rule, solved.size(), solved.solutions[next], false);
    }
  std::ranges::stable_sort(open, [](const OpenChoice& a, const OpenChoice& b) { return a.rule > b.rule; });
  return open;
}

Attempt require_decided(Attempt best, const std::function<Attempt(Choices)>& attempt,
                        const std::function<Attempt(Choices)>& trial) {
  if (!best.is_whole()) return best;
  const bool are_two = best.beyond.sizes + best.beyond.unmade > 0;
  const Contradictions& between = best.contradictions;
  if (are_two && between.unmade > 0) {
    best.report.unexplained.push_back(
        {between.first_unmade,
         fmt::format("no value follows at {} of {} sizes between the two traces; add a third trace", between.unmade,
                     between.sizes + between.unmade)});
    return best;
  }
  if (best.beyond.broken > 0) {
    best.report.unexplained.push_back(
        {best.beyond.first,
         fmt::format("shape inference fails at {} of {} sizes beyond the two traces; add a third, larger trace",
                     best.beyond.broken, best.beyond.sizes)});
    return best;
  }
  if (best.open.empty()) return best;
  best.edit.reset();
  return best.open.front().wanted.size() == 2 ? refuse_undecided(std::move(best), attempt, trial)
                                              : guard_undecided(std::move(best), attempt, trial);
}

}  // namespace thaw::lifting
