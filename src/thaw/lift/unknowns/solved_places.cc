#include "thaw/lift/unknowns/solved_places.h"

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "thaw/dim/text/text.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {

std::vector<Unknown> places_of(const Lifting& l, const std::vector<OpenChoice>& open) {
  constexpr size_t kMostPlaces = 256;
  std::map<std::string, std::vector<int64_t>> wanted_of;  // by what was taken
  for (const OpenChoice& each : open) wanted_of.emplace(each.formulas.chosen, each.wanted);
  std::vector<Unknown> places;
  for (const FittedTable& table : l.tables)
    for (size_t element = 0; element < table.fit.sizes.size(); ++element) {
      const dim::Dim size = table.fit.sizes[element];
      if (!size.is_symbolic()) continue;
      const auto known = wanted_of.find(dim::to_string(size));
      if (known == wanted_of.end()) continue;
      Unknown unknown{.wanted = known->second, .places = {{{}, size}}};
      for (const Difference* reader : table.readers) {
        const ir::Value* made = reader->node->outputs().empty() ? nullptr : reader->node->output(0);
        const ops::Role role = ops::role_of(*reader->node, reader->input);
        if (!made || !ops::holds_size(role) || role == ops::Role::kBounds || places.size() == kMostPlaces) continue;
        unknown.stands_at = {{made->name(), reader->input, element}};
        places.push_back(unknown);
      }
    }
  return places;
}

std::vector<Unknown> places_before(const Lifting& l, const ir::Node* contradicted) {
  constexpr size_t kMostPlaces = 64, kMostNodes = 512, kMostOthers = 8;
  std::unordered_map<const ir::Node*, std::vector<std::pair<const Difference*, const FittedTable*>>> read;
  for (const FittedTable& table : l.tables)
    for (const Difference* reader : table.readers)
      if (!table.fit.sizes.empty() && ops::holds_size(ops::role_of(*reader->node, reader->input)))
        read[reader->node].emplace_back(reader, &table);
  std::vector<Unknown> places;
  std::vector<const ir::Node*> nodes;
  // What was written to compute sizes is passed over.
  std::unordered_set<const ir::Node*> left(l.alignment.nodes.front().begin(), l.alignment.nodes.front().end());
  const auto visit = [&](const ir::Node* node) {
    if (node && nodes.size() < kMostNodes && left.erase(node) > 0) nodes.push_back(node);
  };
  visit(contradicted);
  for (size_t i = 0; i < nodes.size() && places.size() < kMostPlaces; ++i) {
    const auto known = read.find(nodes[i]);
    if (known != read.end() && !nodes[i]->outputs().empty() && nodes[i]->output(0))
      for (const auto& [reader, table] : known->second) {
        std::vector<std::vector<int64_t>> lists;
        for (const ir::Tensor* tensor : reader->tensors) lists.push_back(tensor->to_int64());
        for (size_t element = 0; element < table->fit.sizes.size(); ++element) {
          if (!table->fit.sizes[element].is_symbolic()) continue;
          Unknown unknown{.places = {{{}, table->fit.sizes[element]}},
                          .stands_at = {{nodes[i]->output(0)->name(), reader->input, element}}};
          for (const auto& list : lists) unknown.wanted.push_back(list[element]);
          for (const Solution& other : l.solver->solutions(unknown.wanted, kMostOthers))
            if (!dim::same(other.dim, table->fit.sizes[element])) unknown.others.push_back(other.dim);
          places.push_back(std::move(unknown));
        }
      }
    for (const ir::Value* input : nodes[i]->inputs())
      if (input) visit(input->producer());
  }
  return places;
}

}  // namespace thaw::lifting
