#include "thaw/sensitivity/plan_nodes.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/quant/convert.h"
#include "thaw/quant/inner_nodes.h"
#include "thaw/quant/precisions.h"
#include "thaw/sensitivity/run_key.h"

namespace thaw::measuring {
namespace {

constexpr const char* kNameThem = "give every node a name of its own, and measure again";

// As Conversions begins, whose names the report has, and nothing is converted.
std::unique_ptr<ir::Model> model_of_names(const ir::Model& model, const SensitivityReport& report) {
  std::unique_ptr<ir::Model> named = ir::clone(model);
  if (!report.optimize) return named;
  ConvertReport ignored;
  quantizing::convert(*named, {.keep = {"*"}, .target = report.target, .backend = report.backend, .check = false},
                      nullptr, ignored);
  return named;
}

int order_of(const PlanGroup& group) {
  return quantizing::is_half(group.precision.to) ? 0 : quantizing::is_int8(group.precision.to) ? 1 : 2;
}

}  // namespace

PlanNodes plan_nodes(const ir::Model& model, const SensitivityReport& report, const MixedPlan& plan) {
  require_measured(model, report);
  PlanNodes found{model_of_names(model, report), {}};
  std::unordered_map<std::string, std::vector<const ir::Node*>> by_name;
  quantizing::for_nodes(*found.model->graph, [&](const ir::Node& node) { by_name[node.name].push_back(&node); });
  std::unordered_map<const ir::Node*, size_t> precision_of;
  for (size_t unit = 0; unit < report.units.size(); ++unit) {
    if (!plan.precisions[unit]) continue;
    for (const std::string& name : report.units[unit].nodes) {
      const auto at = by_name.find(name);
      const size_t count = at == by_name.end() ? 0 : at->second.size();
      if (count != 1)
        throw Error(ErrorCode::kInvalidArgument,
                    {.what = fmt::format("'{}' is the name of {}", name, count == 0 ? "no node" : "several nodes"),
                     .where = model.path.string(),
                     .expected = "nodes that have names, which other tools know them by",
                     .next = kNameThem});
      precision_of.emplace(at->second.front(), *plan.precisions[unit]);
    }
  }
  std::vector<PlanGroup> groups;
  for (const PrecisionOptions& precision : report.precisions) groups.push_back({precision, {}});
  quantizing::for_nodes(*found.model->graph, [&](const ir::Node& node) {
    if (const auto at = precision_of.find(&node); at != precision_of.end()) groups[at->second].nodes.push_back(&node);
  });
  std::erase_if(groups, [](const PlanGroup& group) { return group.nodes.empty(); });
  std::ranges::stable_sort(groups, {}, order_of);
  found.groups = std::move(groups);
  return found;
}

bool is_in(Operators operators, const ir::Node& node) {
  return operators.empty() || std::ranges::find(operators, node.op_type()) != operators.end();
}

std::vector<std::string> names_outside(const PlanNodes& nodes, const PlanGroup& group, Operators operators) {
  const std::unordered_set<const ir::Node*> inside(group.nodes.begin(), group.nodes.end());
  std::vector<std::string> names;
  quantizing::for_nodes(*nodes.model->graph, [&](const ir::Node& node) {
    if (inside.contains(&node) || !is_in(operators, node)) return;
    if (node.name.empty())
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = fmt::format("a {} has no name, and is to stay unchanged", node.op_type()),
                   .where = nodes.model->path.string(),
                   .expected = "nodes that have names, which other tools know them by",
                   .next = kNameThem});
    names.push_back(node.name);
  });
  return names;
}

}  // namespace thaw::measuring
