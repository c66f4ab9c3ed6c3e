#include "thaw/lift/undecided.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/dim/text/text.h"

namespace thaw::lifting {
namespace {

constexpr size_t kMostTold = 1, kMostUndecided = 32;

dim::Assignment at_sizes(std::span<const Variable> variables, const std::vector<int64_t>& sizes) {
  return assignment_of(variables, [&](size_t i) { return sizes[i]; });
}

// Sizes at which the two are not the same.
std::optional<std::vector<int64_t>> telling_size(dim::Dim a, dim::Dim b, std::span<const Variable> variables,
                                                 std::span<const std::vector<int64_t>> sizes) {
  for (const std::vector<int64_t>& each : sizes) {
    const dim::Assignment at = at_sizes(variables, each);
    const auto x = dim::evaluate(a, at), y = dim::evaluate(b, at);
    if (x && y && *x != *y) return each;
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

// In three traces and more.
bool is_as_plain(const Solution& other, const Solution& than, std::span<const int64_t> wanted) {
  const double saved = bits_of_list(wanted) - other.bits;
  return other.bits < than.bits + kLead &&
         (other.makeup == Makeup::kOfOne || saved >= (other.makeup == Makeup::kWithNumber ? kSavedWithNumber : kSaved));
}

bool is_as_good(const Attempt& best, const OpenChoice& open, const std::function<Attempt(Choices)>& attempt) {
  Choices choices = best.choices;
  Choice& choice = choices[open.wanted];
  choice.index = open.next;
  choice.taken = open.other;
  const Attempt other = attempt(std::move(choices));
  return !is_contradicted(other, best) && other.emitted != best.emitted;
}

Attempt refuse_undecided(Attempt best, const std::function<Attempt(Choices)>& attempt) {
  size_t attempts = 0;
  std::vector<Note> undecided;
  for (const OpenChoice& open : best.open) {
    const std::string where = fmt::format("{}", fmt::join(open.wanted, ", "));
    if (!undecided.empty() && undecided.back().where == where) continue;
    if (undecided.size() == kMostTold) break;
    // What is not tried in time is left open.
    if (++attempts <= kMostUndecided && !is_as_good(best, open, attempt)) continue;
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

// What is not tried in time is guarded too.
Attempt guard_undecided(Attempt best, const std::function<Attempt(Choices)>& attempt) {
  Choices choices = best.choices;
  size_t attempts = 0;
  for (const OpenChoice& open : best.open)
    if (++attempts > kMostUndecided || is_as_good(best, open, attempt))
      choices[open.wanted].guarded.insert({open.chosen, open.other, open.telling});
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
    return std::ranges::any_of(emitted, [&](const std::string& each) { return each.find(size) != std::string::npos; });
  };
  // At which the model runs.
  std::vector<std::vector<int64_t>> sizes = solver.unseen();
  std::erase_if(sizes, [&](const std::vector<int64_t>& each) { return !domain.has(at_sizes(variables, each)); });
  std::vector<OpenChoice> open;
  for (const auto& [wanted, solved] : solver.open()) {
    const Solution& taken = solved.solutions[solved.chosen];
    const bool are_two = wanted.size() == 2;
    if (!is_emitted(dim::to_string(taken.dim))) continue;
    for (size_t next = solved.chosen + 1; next < solved.solutions.size(); ++next) {
      const Solution& other = solved.solutions[next];
      // Two numbers are a tensor's size by chance too.
      const int chance = taken.rule == Rule::kTensor ? chance_of(Rule::kTensorLine) : chance_of(taken.rule);
      if (are_two ? chance_of(other.rule) > chance : !is_as_plain(other, taken, wanted)) continue;
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
  return best.open.front().wanted.size() == 2 ? refuse_undecided(std::move(best), attempt)
                                              : guard_undecided(std::move(best), attempt);
}

}  // namespace thaw::lifting
