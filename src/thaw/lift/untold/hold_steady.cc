#include "thaw/lift/untold/hold_steady.h"

#include <algorithm>
#include <iterator>

#include "thaw/dim/text/text.h"
#include "thaw/lift/term/numbers.h"
#include "thaw/lift/unseen/contradictions.h"
#include "thaw/lift/unseen/unseen_sizes.h"

namespace thaw::lifting {
namespace {

// Sizes of the inputs at which one of these is not what the traces have.
std::vector<std::vector<int64_t>> sizes_elsewhere(std::span<const SteadySize> steady,
                                                  std::span<const Variable> variables) {
  std::vector<std::vector<int64_t>> sizes = unseen_sizes(variables);
  std::ranges::move(sizes_beyond(variables), std::back_inserter(sizes));
  std::erase_if(sizes, [&](const std::vector<int64_t>& each) {
    return std::ranges::none_of(steady, [&](const SteadySize& one) {
      const auto there = value_at(one.size, variables, [&](size_t i) { return each[i]; });
      return there && *there > 0 && *there != one.at;
    });
  });
  return sizes;
}

}  // namespace

std::optional<std::vector<int64_t>> hold_steady(Domain& domain, std::span<const SteadySize> steady,
                                                const ir::Model& lifted, std::span<const Variable> variables,
                                                const std::unordered_set<const ir::Node*>& traced) {
  const auto runs = [&](const std::vector<int64_t>& sizes) { return domain.has(assignment_at(variables, sizes)); };
  std::optional<std::vector<int64_t>> first;
  for (const std::vector<int64_t>& each : sizes_elsewhere(steady, variables)) {
    if (!runs(each) || find_contradictions(lifted, variables, traced, {each}).broken == 0) continue;
    if (!first) first = each;
    // The plainest says it of those that are made of it.
    const SteadySize* plainest = nullptr;
    for (const SteadySize& one : steady) {
      const auto there = value_at(one.size, variables, [&](size_t i) { return each[i]; });
      if (!there || *there == one.at) continue;
      if (!plainest || dim::to_string(one.size).size() < dim::to_string(plainest->size).size()) plainest = &one;
    }
    if (plainest) domain.undecided.push_back({plainest->size, dim::Dim(plainest->at), text_of_sizes(variables, each)});
  }
  return first;
}

std::vector<Undecided> steady_parts(dim::Dim length, std::span<const Variable> variables,
                                    const std::vector<std::vector<int64_t>>& unseen) {
  std::vector<Undecided> parts;
  if (!length.is_symbolic()) return parts;
  for (const dim::Term& term : length.expr()->terms) {
    for (const dim::Factor& factor : term.monomial->factors) {
      if (factor.atom->kind != dim::AtomKind::kFloor) continue;
      const dim::Dim part = dim::floor_div(factor.atom->operands[0], factor.atom->operands[1]);
      const std::vector<int64_t> at = in_traces(part, variables);
      if (at.empty() || !all_equal(at)) continue;
      const auto differs = std::ranges::find_if(unseen, [&](const std::vector<int64_t>& sizes) {
        return value_at(part, variables, [&](size_t i) { return sizes[i]; }) != at.front();
      });
      if (differs != unseen.end()) parts.push_back({part, dim::Dim(at.front()), text_of_sizes(variables, *differs)});
    }
  }
  return parts;
}

}  // namespace thaw::lifting
