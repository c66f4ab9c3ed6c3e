#include "thaw/report/module_tree.h"

#include <fmt/format.h>

namespace thaw::report {

int ModuleTree::add_root() {
  modules_.emplace_back();
  counts_.emplace_back();
  return static_cast<int>(modules_.size()) - 1;
}

int ModuleTree::inside(int around, std::string_view part) {
  const auto [at, fresh] = known_.try_emplace(fmt::format("{} {}", around, part), static_cast<int>(modules_.size()));
  if (fresh) {
    modules_.push_back({.parent = around, .name = std::string(part)});
    counts_.emplace_back();
    ++counts_[static_cast<size_t>(around)].modules;
  }
  return at->second;
}

std::pair<std::vector<GraphData::Module>, std::vector<int>> ModuleTree::merged() const {
  std::vector<GraphData::Module> modules;
  std::vector<int> now(modules_.size());
  for (size_t i = 0; i < modules_.size(); ++i) {
    const int around = modules_[i].parent;
    const int outer = around < 0 ? -1 : now[static_cast<size_t>(around)];
    const Counts* counts = around < 0 ? nullptr : &counts_[static_cast<size_t>(around)];
    if (counts != nullptr && counts->nodes == 0 && counts->modules == 1) {
      modules[static_cast<size_t>(outer)].name += modules_[i].name;
      now[i] = outer;
      continue;
    }
    now[i] = static_cast<int>(modules.size());
    modules.push_back({.parent = outer, .name = modules_[i].name});
  }
  return {std::move(modules), std::move(now)};
}

}  // namespace thaw::report
