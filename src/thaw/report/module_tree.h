// Modules inside each other, from the parts of names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thaw/report/graph_data.h"

namespace thaw::report {

class ModuleTree {
 public:
  int add_root();
  // The module that stands in `around` under this part of a name, made where there is none.
  int inside(int around, std::string_view part);
  void add_node(int module) { ++counts_[static_cast<size_t>(module)].nodes; }

  // The modules, where one that holds nothing but another module is one with it: parents stand before what is in them.
  // Second: what each that add_root() or inside() gave is now.
  std::pair<std::vector<GraphData::Module>, std::vector<int>> merged() const;

 private:
  struct Counts {
    int modules = 0, nodes = 0;
  };
  std::vector<GraphData::Module> modules_;
  std::vector<Counts> counts_;
  std::unordered_map<std::string, int> known_;  // by the module around it and the part
};

}  // namespace thaw::report
