#include "thaw/lift/backtrack.h"

#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/dim/text/text.h"

namespace thaw::lifting {
namespace {

// Whether nothing but sizes that the nodes do not agree on is left to explain.
bool is_contradicted(const Attempt& attempt) {
  return attempt.is_unsolved || attempt.broken_at || (attempt.is_whole() && attempt.contradictions.broken > 0);
}

bool is_better(const Attempt& attempt, const Attempt& than) {
  if (!attempt.is_whole() && !is_contradicted(attempt)) return false;
  if (attempt.is_unsolved != than.is_unsolved) return than.is_unsolved;
  if (attempt.contradictions.num_sound_nodes != than.contradictions.num_sound_nodes)
    return attempt.contradictions.num_sound_nodes > than.contradictions.num_sound_nodes;
  return !attempt.broken_at && than.broken_at;
}

// The next attempt with less to contradict.
std::optional<Attempt> improve(const Attempt& best, const std::function<Attempt(Choices)>& attempt, size_t& attempts) {
  constexpr size_t kMostAttempts = 12;
  std::vector<Retaken> passed_over;
  while (best.conditions && attempts < kMostAttempts) {
    Agreed agreed = agree(*best.conditions, {}, passed_over);
    if (agreed.verdict != Agrees::kYes || agreed.retaken.empty()) break;
    ++attempts;
    Attempt other = attempt(with_retaken(best, agreed));
    if (is_better(other, best)) return other;
    passed_over.push_back(std::move(agreed.retaken));
  }
  return std::nullopt;
}

}  // namespace

Choices with_retaken(const Attempt& attempt, const Agreed& agreed) {
  Choices choices = attempt.choices;
  const std::vector<Unknown>& unknowns = attempt.conditions->unknowns;
  for (const size_t place : agreed.doubted)
    if (!unknowns[place].follows) choices[unknowns[place].wanted].is_doubted = true;
  for (const auto& [place, size] : agreed.retaken)
    if (!unknowns[place].follows) choices[unknowns[place].wanted].taken = dim::to_string(size);
  return choices;
}

Attempt backtrack(const std::function<Attempt(Choices)>& attempt) {
  Attempt best = attempt({});
  size_t attempts = 0;
  while (is_contradicted(best)) {
    best.edit.reset();
    auto better = improve(best, attempt, attempts);
    if (!better) break;
    best = std::move(*better);
  }
  note_choices(best);
  return best;
}

void note_choices(Attempt& best) {
  const Contradictions& c = best.contradictions;
  if (!best.is_whole() || c.sizes == 0) return;
  if (c.broken > 0) {
    best.report.unexplained.push_back(
        {c.first, fmt::format("shape inference fails at {} of {} unseen sizes; add a trace at another size", c.broken,
                              c.sizes)});
    return;
  }
  best.report.inferred.push_back({"shape inference", fmt::format("passes at {} unseen sizes", c.sizes)});
  for (const auto& [wanted, choice] : best.choices)
    if (!choice.taken.empty())
      best.report.inferred.push_back({fmt::format("{}", fmt::join(wanted, ", ")),
                                      fmt::format("taken for {}, as other nodes need it", choice.taken)});
}

}  // namespace thaw::lifting
