#include "thaw/lift/untold/narrow.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "thaw/lift/domain/proof.h"
#include "thaw/lift/unseen/unseen_sizes.h"
#include "thaw/lift/untold/contradicted.h"

namespace thaw::lifting {
namespace {

std::vector<dim::Assignment> in_domain(const Domain& domain, std::span<const Variable> variables,
                                       const std::vector<std::vector<int64_t>>& sizes) {
  std::vector<dim::Assignment> all = assignments_at(variables, sizes);
  std::erase_if(all, [&](const dim::Assignment& at) { return !domain.has(at); });
  return all;
}

// What a node needs there, and has at all drawn sizes of the domain.
bool hold_need_at(const Lifting& l, Domain& domain, const Needs& needs, const std::vector<int64_t>& broken_at) {
  const std::vector<dim::Assignment> drawn = in_domain(domain, l.variables, unseen_sizes(l.variables));
  if (drawn.empty()) return false;
  const std::vector<Undecided> missed = needs.missed_at({assignment_at(l.variables, broken_at)}, drawn, 1);
  for (const Undecided& each : missed) add_undecided(domain, each);
  return !missed.empty();
}

}  // namespace

std::optional<std::vector<int64_t>> narrow_to_proven(Lifting& l, Domain& domain, const Needs& needs,
                                                     const std::unordered_set<const ir::Node*>& traced) {
  constexpr size_t kMostRounds = 6;
  std::vector<std::vector<int64_t>> broken_at;
  while (true) {
    const DomainProof proof = prove_domain(l.model(), domain, l.variables, traced);
    if (proof.broken_at.empty()) {
      if (proof.statements > 0)
        l.report.inferred.push_back(
            {proof.sizes,
             fmt::format("{} of {} size conditions proven, none violated", proof.proven, proof.statements),
             {}});
      return std::nullopt;
    }
    const bool is_new = std::ranges::find(broken_at, proof.broken_at) == broken_at.end();
    broken_at.push_back(proof.broken_at);
    const bool has_time = broken_at.size() < kMostRounds;
    if (is_new && has_time) {
      add_contradicted(domain, l.model(), l.variables, broken_at);
      continue;
    }
    if (l.choices.holds_needs && has_time && hold_need_at(l, domain, needs, proof.broken_at)) continue;
    l.report.unexplained.push_back(
        {proof.broken,
         "the model cannot run at this size, which lies between the traces; add a trace there, or leave a trace out",
         {}});
    return proof.broken_at;
  }
}

void hold_needs_outside(const Lifting& l, Domain& domain, const Needs& needs) {
  constexpr size_t kMost = 8;
  for (Undecided& need : needs.missed_at(in_domain(domain, l.variables, sizes_outside(l.variables)),
                                         assignments_at(l.variables, unseen_sizes(l.variables)), kMost))
    add_undecided(domain, std::move(need));
}

}  // namespace thaw::lifting
