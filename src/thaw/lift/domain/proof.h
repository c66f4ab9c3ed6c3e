// The proof of `check --sizes` over what a lifted model is known for. Internal to lift/.
//
// Some sizes that no trace has are drawn (contradictions.h); what breaks at few of them is met by chance. The proof goes over all
// that lie between the traces' and are of the domain, and what it finds broken is computed once more at those very sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "thaw/lift/domain/domain.h"

namespace thaw::lifting {

struct DomainProof {
  std::string sizes;  // "h=64..128:2, w=64..128": what it goes over; empty where there is nothing to go over
  size_t statements = 0, proven = 0;
  // Sizes at which a node cannot be computed, of every variable, and what it says there.
  std::vector<int64_t> broken_at = {};
  std::string broken = {};
};

// lifted: as it was written, without its guard. traced: as in contradictions.h.
DomainProof prove_domain(const ir::Model& lifted, const Domain& domain, std::span<const Variable> variables,
                         const std::unordered_set<const ir::Node*>& traced);

}  // namespace thaw::lifting
