#include "thaw/report/frozen_sizes.h"

#include <functional>

#include "thaw/check/check.h"
#include "thaw/frozen/frozen.h"
#include "thaw/report/dim_text.h"
#include "thaw/report/inspection.h"

namespace thaw::report {
namespace {

bool is_number_instead(const std::optional<ops::Shape>& now, const std::optional<ops::Shape>& meant) {
  if (!now || !meant || now->size() != meant->size()) return false;
  for (size_t axis = 0; axis < now->size(); ++axis)
    if ((*now)[axis].is_constant() && (*meant)[axis].is_symbolic()) return true;
  return false;
}

}  // namespace

FrozenSizes frozen_sizes(const ir::Model& model) {
  FrozenSizes frozen;
  CheckOptions rules;
  rules.only = {"THAW010", "THAW011", "THAW012", "THAW013", "THAW014", "THAW015", "THAW016", "THAW017"};
  frozen.findings = checking::check(model, rules).findings;
  if (frozen.findings.empty()) return frozen;
  const Inspection seen = inspect(model);
  dim::Scope scope;
  const frozen::FrozenAnalysis analysis = frozen::find_frozen(model, scope);
  if (analysis.all_inputs_static) return frozen;
  DimText dims;
  seen.each_value([&](const ir::Value& value, const ir::Node&) {
    const std::optional<ops::Shape>& meant = analysis.result.fact(&value).shape;
    if (is_number_instead(seen.result.fact(&value).shape, meant)) frozen.meant.emplace(&value, dims.show(meant));
  });
  return frozen;
}

}  // namespace thaw::report
