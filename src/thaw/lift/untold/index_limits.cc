#include "thaw/lift/untold/index_limits.h"

#include <algorithm>
#include <cstdint>
#include <functional>

#include "thaw/dim/text/text.h"
#include "thaw/infer/infer.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {

std::vector<Limit> index_limits(const ir::Model& lifted, std::span<const Variable> variables, dim::Scope& scope) {
  constexpr int64_t kFarTimes = 4096;
  std::vector<Limit> limits;
  if (variables.empty()) return limits;
  dim::Scope own;
  std::vector<dim::Dim> symbols;
  for (const Variable& v : variables) {
    symbols.push_back(own.symbol(dim::to_string(v.symbol)));
    if (std::ranges::min(v.at) > 0) own.assume_range(symbols.back(), 1, std::nullopt);
  }
  infer::InferOptions options;
  options.states_values = true;
  const infer::Result facts = infer::infer(lifted, own, options);
  const auto holds_at = [&](const ops::Obligation& need, const std::function<int64_t(size_t)>& value_of) {
    dim::Assignment at;
    for (size_t i = 0; i < symbols.size(); ++i) at[own.symbol_id(symbols[i])] = value_of(i);
    return dim::holds(need.kind, need.a, need.b, at);
  };
  for (const ops::Obligation& need : facts.obligations()) {
    if (need.kind != dim::Relation::kAtMost || need.input_a < 0 || need.is_enough || need.only_specified) continue;
    if (ops::role_of(*need.node, need.input_a) != ops::Role::kIndex) continue;
    bool is_met = true, is_missed = false;  // nothing is said of what inputs hold
    for (size_t k = 0; k < variables.front().at.size() && is_met; ++k)
      is_met = holds_at(need, [&](size_t i) { return variables[i].at[k]; }) == true;
    for (int64_t times = 1; is_met && times <= kFarTimes && !is_missed; times *= 2)
      is_missed = holds_at(need, [&](size_t i) { return std::ranges::max(variables[i].at) * times; }) == false;
    if (!is_missed) continue;
    const auto size = dim::try_parse(dim::to_string(need.a), scope),
               most = dim::try_parse(dim::to_string(need.b), scope);
    if (size && most) limits.push_back({*size, *most});
  }
  return limits;
}

}  // namespace thaw::lifting
