#include "thaw/ops/rule/frozen_rule.h"

namespace thaw::ops {

std::optional<std::vector<dim::Dim>> FrozenContext::followed(int i) const {
  const Fact& fact = input(i);
  if (!fact.elements) return std::nullopt;
  std::vector<dim::Dim> dims;
  for (const Element& element : *fact.elements) dims.push_back(element.as_dim());
  return dims;
}

}  // namespace thaw::ops
