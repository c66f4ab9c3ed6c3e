#include "thaw/sensitivity/part_plan.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "thaw/rewrite/join_models.h"

namespace thaw::measuring {
namespace {

// Those of the part, by the names in its own model.
std::vector<std::string> names_of_part(const std::vector<std::string>& names, const std::string& prefix) {
  std::vector<std::string> own;
  for (const std::string& name : names)
    if (name.starts_with(prefix)) own.push_back(name.substr(prefix.size()));
  return own;
}

}  // namespace

PartPlan part_plan(const SensitivityReport& report, const MixedPlan& plan, const std::string& part) {
  const std::string prefix = rewrite::name_in_joined(part, "");
  PartPlan of_part{report, plan};
  of_part.report.model = (std::filesystem::path(report.model) / (part + ".onnx")).string();
  of_part.report.model_key.clear();  // which is that of all parts
  of_part.report.parts.clear();
  of_part.report.excluded_nodes = names_of_part(report.excluded_nodes, prefix);
  of_part.report.units.clear();
  of_part.plan.precisions.clear();
  for (size_t i = 0; i < report.units.size(); ++i) {
    const SensitivityUnit& unit = report.units[i];
    if (!unit.name.starts_with(prefix)) continue;
    SensitivityUnit& own = of_part.report.units.emplace_back(unit);
    own.name = unit.name.substr(prefix.size());
    own.nodes = names_of_part(unit.nodes, prefix);
    of_part.plan.precisions.push_back(plan.precisions[i]);
  }
  return of_part;
}

}  // namespace thaw::measuring
