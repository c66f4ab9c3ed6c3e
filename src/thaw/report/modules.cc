#include "thaw/report/modules.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "thaw/dim/expr/scope.h"
#include "thaw/infer/infer.h"
#include "thaw/ir/graph/location.h"
#include "thaw/report/dim_text.h"
#include "thaw/report/findings.h"
#include "thaw/report/module_names.h"

namespace thaw::report {
namespace {

constexpr size_t kMostModules = 1000;

// At most so deep as a reader looks.
std::string module_of(std::string_view node) {
  constexpr size_t kDeepest = 5;
  const std::string_view module = report::module_of(node, kDeepest);
  return module.empty() ? "(the model)" : std::string(module);
}

const ir::Value* first_output(const ir::Node& node) {
  for (const ir::Value* value : node.outputs())
    if (value != nullptr) return value;
  return nullptr;
}

}  // namespace

void sum_up_modules(const ir::Model& model, CheckReport& report) {
  std::unordered_map<std::string_view, std::vector<const Finding*>> by_node;
  for (const Finding& finding : report.findings)
    if (!finding.where.node.empty()) by_node[finding.where.node].push_back(&finding);
  std::vector<ModuleSummary>& modules = report.modules;
  std::vector<const ir::Value*> last;  // of each module
  std::unordered_map<std::string, size_t> known;
  for (const ir::Node* node : model.graph->nodes()) {
    const std::string name = ir::location_of(*node).node;  // as findings name it
    const auto [at, is_new] = known.try_emplace(module_of(name), modules.size());
    if (is_new) {
      modules.push_back({.name = at->first, .output = {}, .findings = {}});
      last.push_back(nullptr);
    }
    ModuleSummary& module = modules[at->second];
    ++module.nodes;
    if (const ir::Value* output = first_output(*node)) last[at->second] = output;
    if (const auto found = by_node.find(name); found != by_node.end()) {
      ++module.nodes_with_findings;
      for (const Finding* finding : found->second)
        module.findings.push_back(fmt::format("{} {}", finding->code, describe(finding->where)));
    }
  }
  report.more_modules = modules.size() - std::min(modules.size(), kMostModules);
  modules.resize(modules.size() - report.more_modules);
  dim::Scope scope;
  const infer::Result facts = infer::infer(model, scope);
  DimText dims;
  for (size_t i = 0; i < modules.size(); ++i)
    if (last[i] != nullptr)
      modules[i].output = fmt::format("{} {}", last[i]->name(), dims.show(facts.fact(last[i]).shape));
}

}  // namespace thaw::report
