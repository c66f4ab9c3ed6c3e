#include "thaw/lift/undecided.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/dim/expr/scope.h"
#include "thaw/dim/text/text.h"
#include "thaw/lift/unseen_sizes.h"

namespace thaw::lifting {
namespace {

constexpr size_t kMostTold = 1, kMostUndecided = 24;

std::vector<std::vector<int64_t>> sizes_to_tell(std::span<const Variable> variables) {
  std::vector<std::vector<int64_t>> sizes = unseen_sizes(variables);
  for (std::vector<int64_t>& beyond : sizes_beyond(variables)) sizes.push_back(std::move(beyond));
  return sizes;
}

// Sizes at which the two are not the same.
std::optional<std::vector<int64_t>> telling_size(dim::Dim a, dim::Dim b, std::span<const Variable> variables,
                                                 std::span<const std::vector<int64_t>> sizes) {
  for (const std::vector<int64_t>& each : sizes) {
    dim::Assignment at;
    for (size_t i = 0; i < each.size(); ++i)
      if (const int id = dim::scope_of(variables[i].symbol)->symbol_id(variables[i].symbol); id >= 0) at[id] = each[i];
    const auto x = dim::evaluate(a, at), y = dim::evaluate(b, at);
    if (x && y && *x != *y) return each;
  }
  return std::nullopt;
}

// Whether the nodes speak against the one more than against the other.
bool is_contradicted(const Attempt& attempt, const Attempt& than) {
  return !attempt.is_whole() || attempt.contradictions.broken > 0 ||
         attempt.contradictions.sizes < than.contradictions.sizes ||
         attempt.beyond.num_sound_nodes < than.beyond.num_sound_nodes;
}

}  // namespace

std::vector<OpenChoice> open_choices(const Solver& solver, std::span<const Variable> variables) {
  std::vector<std::vector<int64_t>> sizes;
  std::vector<OpenChoice> open;
  for (const auto& [wanted, solved] : solver.open()) {
    const Solution& taken = solved.solutions[solved.chosen];
    for (size_t next = solved.chosen + 1; next < solved.solutions.size(); ++next) {
      const Solution& other = solved.solutions[next];
      if (chance_of(other.rule) > chance_of(taken.rule)) continue;
      if (sizes.empty()) sizes = sizes_to_tell(variables);
      if (const auto at = telling_size(taken.dim, other.dim, variables, sizes))
        open.push_back({wanted, next, taken.rule, dim::to_string(taken.dim),
                        other.rule == Rule::kMadeUp ? "" : dim::to_string(other.dim), text_of_sizes(variables, *at)});
    }
  }
  std::ranges::stable_sort(open, [](const OpenChoice& a, const OpenChoice& b) { return a.rule > b.rule; });
  return open;
}

Attempt require_decided(Attempt best, const std::function<Attempt(Choices)>& attempt) {
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
  size_t attempts = 0;
  std::vector<Note> undecided;
  for (const OpenChoice& open : best.open) {
    const std::string where = fmt::format("{}", fmt::join(open.wanted, ", "));
    if (!undecided.empty() && undecided.back().where == where) continue;
    if (undecided.size() == kMostTold || ++attempts > kMostUndecided) break;
    Choices choices = best.choices;
    choices[open.wanted] = open.next;
    const Attempt other = attempt(std::move(choices));
    if (is_contradicted(other, best) || other.emitted == best.emitted) continue;
    const std::string other_size = open.other.empty() ? "something else" : open.other;
    undecided.push_back(
        {where, fmt::format("two traces do not determine whether it is {} or {}; add a third trace at {}", open.chosen,
                            other_size, open.telling)});
  }
  if (!undecided.empty()) {
    best.report.unexplained = std::move(undecided);
    return best;
  }
  best.edit = attempt(best.choices).edit;
  return best;
}

}  // namespace thaw::lifting
