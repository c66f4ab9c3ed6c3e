#include "thaw/lift/solve/steady_sizes.h"

#include <algorithm>

#include "thaw/dim/expr/scope.h"
#include "thaw/lift/term/numbers.h"

namespace thaw::lifting {

std::vector<SteadySize> find_steady_sizes(const std::vector<ir::Node*>& nodes, const TensorShapes& shapes,
                                          std::span<const Variable> variables) {
  std::vector<SteadySize> found;
  for (const ir::Node* node : nodes) {
    for (const ir::Value* output : node->outputs()) {
      const auto known = shapes.find(output);
      if (known == shapes.end()) continue;
      for (size_t axis = 0; axis < known->second.size(); ++axis) {
        const dim::Dim size = known->second[axis];
        if (!size.is_symbolic()) continue;
        // Inputs that no trace varies have no other sizes.
        const std::vector<int> symbols = dim::symbols_of(size);
        const bool is_told = std::ranges::any_of(variables, [&](const Variable& v) {
          return v.varies() && std::ranges::find(symbols, id_of(v)) != symbols.end();
        });
        const std::vector<int64_t> at = is_told ? in_traces(size, variables) : std::vector<int64_t>();
        if (at.empty() || !all_equal(at)) continue;
        found.push_back({output, axis, size, at.front(), known->second.size()});
      }
    }
  }
  return found;
}

}  // namespace thaw::lifting
