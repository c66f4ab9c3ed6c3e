#include "thaw/lift/untold/equal_sides.h"

#include <algorithm>

namespace thaw::lifting {

using dim::Dim;

std::vector<EqualSides> equal_sides(const std::vector<Trace>& traces, std::span<const Variable> variables) {
  std::vector<EqualSides> equal;
  for (const ir::Value* input : traces.front().model->graph->inputs()) {
    if (input->initializer() || !input->type.shape) continue;
    const std::vector<Dim> dims = input_dims(*input, traces, variables);
    const std::vector<ir::DeclaredDim>& declared = *input->type.shape;
    for (size_t other = 0; other < dims.size(); ++other) {
      if (!dims[other].is_symbolic() || !declared[other].value) continue;  // a name says that they are the same
      for (size_t axis = 0; axis < other; ++axis)
        if (declared[axis].value && dim::same(dims[axis], dims[other])) {
          equal.push_back({input, axis, other, dims[axis]});
          break;
        }
    }
  }
  return equal;
}

void add_equal_sides(Domain& domain, std::span<const EqualSides> equal, std::span<const Dim> of) {
  std::vector<Dim> sizes(of.begin(), of.end());
  for (const Congruence& c : domain.congruences) sizes.push_back(c.size);
  for (const auto& [size, divisor] : domain.multiples) sizes.insert(sizes.end(), {size, divisor});
  for (const Limit& limit : domain.limits) sizes.insert(sizes.end(), {limit.size, limit.most});
  for (const Undecided& each : domain.undecided) sizes.insert(sizes.end(), {each.chosen, each.other});
  for (const auto& [size, other] : domain.followed) sizes.insert(sizes.end(), {size, other});
  for (const EqualSides& sides : equal) {
    const auto is_it = [&](const EqualSides& known) {
      return known.input == sides.input && known.axis == sides.axis && known.other == sides.other;
    };
    const int id = dim::scope_of(sides.symbol)->symbol_id(sides.symbol);
    const auto reads = [&](Dim size) {
      return size.is_symbolic() && std::ranges::count(dim::symbols_of(size), id) > 0;
    };
    if (std::ranges::none_of(domain.squares, is_it) && std::ranges::any_of(sizes, reads))
      domain.squares.push_back(sides);
  }
}

}  // namespace thaw::lifting
