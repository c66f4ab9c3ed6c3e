#include "thaw/lift/around/traced_shapes.h"

#include <algorithm>
#include <utility>

#include "thaw/ops/rule/small_tensor.h"

namespace thaw::lifting {

TracedShapes::TracedShapes(Lifting& lifting) : lifting_(lifting) {
  for (size_t place = 0; place < num_places(); ++place) places_.emplace(&node(place), place);
  for (const Trace& trace : lifting.traces) {
    scopes_.push_back(std::make_unique<dim::Scope>());
    facts_.push_back(infer::infer(*trace.model, *scopes_.back()));
  }
}

std::optional<size_t> TracedShapes::place_of(const ir::Node* node) const {
  const auto found = places_.find(node);
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

template <typename ValueOf>
std::optional<TracedAxes> TracedShapes::in_traces(const ValueOf& value_of) const {
  TracedAxes axes;
  for (size_t k = 0; k < facts_.size(); ++k) {
    const auto shape = ops::constant_shape(facts_[k].fact(value_of(k)).shape);
    if (!shape || (k > 0 && shape->size() != axes.size())) return std::nullopt;
    axes.resize(shape->size());
    for (size_t axis = 0; axis < shape->size(); ++axis) axes[axis].push_back((*shape)[axis]);
  }
  return axes;
}

std::optional<TracedAxes> TracedShapes::operand(size_t place, int index) const {
  return in_traces([&](size_t trace) { return node(place, trace).input(index); });
}

std::optional<TracedAxes> TracedShapes::result(size_t place, int index) const {
  return in_traces([&](size_t trace) { return node(place, trace).output(index); });
}

bool TracedShapes::keeps_elements(size_t place) const {
  for (size_t k = 0; k < facts_.size(); ++k) {
    const dim::Dim in = facts_[k].fact(node(place, k).input(0)).num_elements();
    if (!in.is_constant() || !dim::same(in, facts_[k].fact(node(place, k).output(0)).num_elements())) return false;
  }
  return true;
}

const ops::Shape* TracedShapes::shape_of(const ir::Value* value) const {
  const auto known = lifting_.tensor_shapes.find(value);
  return known == lifting_.tensor_shapes.end() ? nullptr : &known->second;
}

std::optional<std::vector<Variable>> TracedShapes::axes_of(size_t place, int input) const {
  auto traced = operand(place, input);
  if (!traced) return std::nullopt;
  const ops::Shape* own = shape_of(node(place).input(input));
  const bool is_known = own && own->size() == traced->size();
  std::vector<Variable> axes;
  for (size_t axis = 0; axis < traced->size(); ++axis) {
    Variable& size = axes.emplace_back();
    size.at = std::move((*traced)[axis]);
    const auto is_as_large = [&](const Variable& other) { return other.at == size.at; };
    const auto& variables = lifting_.variables;
    if (is_known && (*own)[axis].is_symbolic()) {
      size.symbol = (*own)[axis];
    } else if (!size.varies()) {
      size.symbol = dim::Dim(size.at.front());
    } else if (const auto side = std::ranges::find_if(variables, is_as_large); side != variables.end()) {
      size = *side;
    } else if (const auto known = lifting_.tensor_sizes.find(size.at); known != lifting_.tensor_sizes.end()) {
      size.symbol = known->second.dim;
    } else if (const auto sure = lifting_.solver->solve_surely(size.at)) {
      size.symbol = *sure;
    }
  }
  return axes;
}

}  // namespace thaw::lifting
