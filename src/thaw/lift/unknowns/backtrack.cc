#include "thaw/lift/unknowns/backtrack.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

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
  if (attempt.broken_at.has_value() != than.broken_at.has_value()) return than.broken_at.has_value();
  return !attempt.holds_steady && than.holds_steady;
}

bool takes_places(const Conditions& conditions, const Retaken& retaken) {
  return std::ranges::any_of(retaken, [&](const auto& each) { return conditions.unknowns[each.first].is_at_places(); });
}

// What else, as few of them, may be taken for the same integers. nullopt where other integers may be taken otherwise instead, or more than
// can be looked at: nothing else says which of those that no trace varies are sizes.
std::optional<std::vector<Retaken>> alternatives(const Conditions& conditions, const Retaken& retaken,
                                                 std::vector<Retaken> passed_over) {
  constexpr size_t kMostAlternatives = 8;
  std::vector<Retaken> found;
  passed_over.push_back(retaken);
  while (found.size() < kMostAlternatives) {
    Agreed other = agree(conditions, {}, passed_over, true);
    if (other.verdict != Agrees::kYes || other.retaken.size() > retaken.size()) return found;
    if (!std::ranges::equal(other.retaken, retaken, {}, &Retaken::value_type::first, &Retaken::value_type::first))
      return std::nullopt;
    passed_over.push_back(other.retaken);
    found.push_back(std::move(other.retaken));
  }
  return std::nullopt;
}

// Adds that they are to be as what is taken for them where the model runs.
void guard_against(const std::vector<Retaken>& others, const Retaken& retaken, const Conditions& conditions,
                   Choices& choices) {
  for (const Retaken& other : others)
    for (size_t i = 0; i < retaken.size(); ++i)
      for (const IntegerPlace& place : conditions.unknowns[retaken[i].first].stands_at)
        if (!dim::same(other[i].second, retaken[i].second))
          choices.by_place[place].others.insert(dim::to_string(other[i].second));
}

// The next attempt with less to contradict, by these conditions. apart: integers are taken otherwise wherever they stand by others already.
std::optional<Attempt> improve_by(const Conditions& conditions, bool apart, const Attempt& best,
                                  const std::function<Attempt(Choices)>& attempt, size_t& attempts) {
  constexpr size_t kMostAttempts = 12;
  std::vector<Retaken> passed_over;
  while (attempts < kMostAttempts) {
    Agreed agreed;
    if (!apart) agreed = agree(conditions, {}, passed_over);
    if (agreed.verdict != Agrees::kYes || agreed.retaken.empty()) agreed = agree(conditions, {}, passed_over, true);
    if (agreed.verdict != Agrees::kYes || agreed.retaken.empty()) break;
    const bool has_places = takes_places(conditions, agreed.retaken);
    if (apart && !has_places && passed_over.size() < kMostAttempts) {
      passed_over.push_back(std::move(agreed.retaken));
      continue;
    }
    Choices choices = with_retaken(best.choices, conditions, agreed);
    if (has_places) {
      const auto others = alternatives(conditions, agreed.retaken, passed_over);
      if (!others) break;
      guard_against(*others, agreed.retaken, conditions, choices);
    }
    ++attempts;
    Attempt other = attempt(std::move(choices));
    if (is_better(other, best)) return other;
    passed_over.push_back(std::move(agreed.retaken));
  }
  return std::nullopt;
}

// Integers taken otherwise wherever they stand, else each place by itself.
std::optional<Attempt> improve(const Attempt& best, const std::function<Attempt(Choices)>& attempt, size_t& attempts) {
  if (best.conditions)
    if (auto better = improve_by(*best.conditions, false, best, attempt, attempts)) return better;
  return best.apart ? improve_by(*best.apart, true, best, attempt, attempts) : std::nullopt;
}

}  // namespace

Choices with_retaken(Choices choices, const Conditions& conditions, const Agreed& agreed) {
  const std::vector<Unknown>& unknowns = conditions.unknowns;
  for (const size_t place : agreed.doubted)
    if (!unknowns[place].follows && !unknowns[place].is_at_places())
      choices.by_values[unknowns[place].wanted].is_doubted = true;
  for (const auto& [place, size] : agreed.retaken) {
    const Unknown& unknown = unknowns[place];
    for (const IntegerPlace& each : unknown.stands_at) choices.by_place[each].taken = dim::to_string(size);
    if (!unknown.follows && !unknown.is_at_places()) choices.by_values[unknown.wanted].taken = dim::to_string(size);
  }
  return choices;
}

Attempt backtrack(const std::function<Attempt(Choices)>& attempt) {
  Attempt best = attempt({});
  size_t attempts = 0;
  while (is_contradicted(best) || best.holds_steady) {
    best.edit.reset();
    auto better = improve(best, attempt, attempts);
    if (!better) break;
    best = std::move(*better);
  }
  if (best.broken_at) {
    best.edit.reset();
    Choices choices = best.choices;
    choices.holds_needs = true;
    if (Attempt held = attempt(std::move(choices)); held.is_whole() && !is_contradicted(held)) best = std::move(held);
  }
  if (best.holds_steady && !best.edit && !is_contradicted(best)) best.edit = attempt(best.choices).edit;
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
  for (const auto& [wanted, choice] : best.choices.by_values)
    if (!choice.taken.empty())
      best.report.inferred.push_back({fmt::format("{}", fmt::join(wanted, ", ")),
                                      fmt::format("taken for {}, as other nodes need it", choice.taken)});
  for (const auto& [place, choice] : best.choices.by_place)
    best.report.inferred.push_back({fmt::format("element {} of what makes '{}'", place.element, place.node),
                                    fmt::format("taken for {} there, as other nodes need it", choice.taken)});
}

}  // namespace thaw::lifting
