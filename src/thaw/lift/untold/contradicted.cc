#include "thaw/lift/untold/contradicted.h"

#include <algorithm>
#include <iterator>

#include "thaw/lift/unseen/contradictions.h"
#include "thaw/lift/unseen/unseen_sizes.h"

namespace thaw::lifting {

void add_contradicted(Domain& domain, const ir::Model& lifted, std::span<const Variable> variables,
                      const std::vector<std::vector<int64_t>>& broken_at) {
  for (size_t i = 0; i < variables.size(); ++i) {
    const Variable& v = variables[i];
    const int64_t unit = common_divisor(v.at);
    if (!v.varies() || v.kind == Variable::Kind::kMarked || unit < 2) continue;
    const auto known =
        std::ranges::find_if(domain.congruences, [&](const Congruence& c) { return dim::same(c.size, v.symbol); });
    const int64_t first = known == domain.congruences.end() ? 1 : known->modulus;
    if (first % unit == 0) continue;
    for (int64_t modulus = first; modulus <= unit; ++modulus) {
      if (unit % modulus != 0 || modulus % first != 0) continue;
      auto sizes = sizes_between(variables, i, modulus);
      if (sizes.empty()) break;
      std::ranges::copy_if(broken_at, std::back_inserter(sizes),
                           [&](const std::vector<int64_t>& each) { return each[i] % modulus == 0; });
      if (!runs_at(lifted, variables, sizes)) continue;
      add_congruence(domain, v.symbol, modulus, v.at.front());
      break;
    }
  }
}

}  // namespace thaw::lifting
