#include "thaw/sensitivity/units.h"

#include <algorithm>
#include <map>
#include <regex>
#include <unordered_map>
#include <unordered_set>

#include "thaw/core/disjoint_sets.h"
#include "thaw/quant/attention_projections.h"
#include "thaw/quant/candidates.h"
#include "thaw/rewrite/join_models.h"
#include "thaw/rewrite/splice.h"

namespace thaw::measuring {
namespace {

void add_nodes(const ir::Graph& graph, std::vector<const ir::Node*>& nodes) {
  for (const ir::Node* node : graph.nodes()) {
    nodes.push_back(node);
    for (const ir::Graph* inner : node->subgraphs()) add_nodes(*inner, nodes);
  }
}

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// What a name shows, or, where that is nothing, the name of the weight: "model.layers.3.mlp.up_proj.weight".
NameParts parts_of_node(const ir::Node& node) {
  NameParts parts = parts_of_name(rewrite::name_of(node), node.op_type());
  if (!parts.layer.empty()) return parts;
  for (const ir::Value* weight : quantizing::weights_of(node))
    if (NameParts of_weight = parts_of_name(weight->name(), node.op_type()); !of_weight.layer.empty()) return of_weight;
  return parts;
}

// Two of the models may have a layer of one name.
NameParts parts_of_joined(const ir::Node& node, const std::vector<std::string>& models) {
  NameParts parts = parts_of_node(node);
  if (parts.layer.empty()) return parts;
  for (const std::string& model : models)
    if (rewrite::name_of(node).starts_with(rewrite::name_in_joined(model, ""))) parts.layer = model + "." + parts.layer;
  return parts;
}

}  // namespace

NameParts parts_of_name(const std::string& name, const std::string& op) {
  static const std::regex kLayer(
      R"((?:^|[/.])((?:[A-Za-z_]*(?:layer|block|stage|group)s?|h)[._/]?\d+(?:\.\d+)?)(?=[/._]|$))");
  NameParts parts;
  for (std::sregex_iterator at(name.begin(), name.end(), kLayer), end; at != end; ++at)
    parts.layer += (parts.layer.empty() ? "" : ".") + at->str(1);
  std::ranges::replace(parts.layer, '/', '.');
  // The last word that is neither the operator, nor a number, nor what every weight is called.
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (c == '/' || c == '.') {
      words.emplace_back();
    } else {
      words.back().push_back(c);
    }
  }
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    if (word->empty() || is_number(*word) || *word == "weight" || word->starts_with(op)) continue;
    if (words.size() == 1) break;
    parts.kind = *word;
    break;
  }
  if (parts.kind.empty()) parts.kind = op;
  return parts;
}

std::vector<SensitivityUnit> group_units(const ir::Model& model, const std::vector<std::string>& names,
                                         SensitivityGroup group, const std::vector<std::string>& parts) {
  std::vector<const ir::Node*> all;
  add_nodes(*model.graph, all);
  const std::unordered_set<std::string> wanted(names.begin(), names.end());
  std::vector<const ir::Node*> nodes;
  for (const ir::Node* node : all)
    if (wanted.contains(rewrite::name_of(*node))) nodes.push_back(node);
  std::unordered_map<const ir::Node*, size_t> index;
  for (size_t i = 0; i < nodes.size(); ++i) index[nodes[i]] = i;
  DisjointSets sets(nodes.size());
  std::map<std::string, size_t> by_name, by_layer;
  std::unordered_map<const ir::Value*, size_t> by_weight;
  for (size_t i = 0; i < nodes.size(); ++i) {
    sets.join(i, by_name.try_emplace(rewrite::name_of(*nodes[i]), i).first->second);
    for (const ir::Value* weight : quantizing::weights_of(*nodes[i]))
      sets.join(i, by_weight.try_emplace(weight, i).first->second);
    if (group != SensitivityGroup::kLayer) continue;
    if (const NameParts named = parts_of_joined(*nodes[i], parts); !named.layer.empty())
      sets.join(i, by_layer.try_emplace(named.layer, i).first->second);
  }
  if (group != SensitivityGroup::kNode)
    for (const std::vector<const ir::Node*>& projections : quantizing::attention_projections(model))
      for (const ir::Node* node : projections)
        if (const auto at = index.find(node), first = index.find(projections.front());
            at != index.end() && first != index.end())
          sets.join(at->second, first->second);
  std::vector<SensitivityUnit> units;
  std::unordered_map<size_t, size_t> unit_of;
  std::unordered_set<const ir::Value*> weighed;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto [at, is_new] = unit_of.try_emplace(sets.first_of(i), units.size());
    if (is_new) {
      const NameParts named = parts_of_joined(*nodes[i], parts);
      units.push_back({.name = rewrite::name_of(*nodes[i]),
                       .nodes = {},
                       .op = nodes[i]->op_type(),
                       .layer = named.layer,
                       .kind = group == SensitivityGroup::kLayer && !named.layer.empty() ? "layer" : named.kind});
    }
    SensitivityUnit& unit = units[at->second];
    const std::string name = rewrite::name_of(*nodes[i]);
    if (std::ranges::find(unit.nodes, name) == unit.nodes.end()) unit.nodes.push_back(name);
    for (const ir::Value* weight : quantizing::weights_of(*nodes[i]))
      if (weighed.insert(weight).second) unit.bytes += weight->constant()->num_bytes();
  }
  return units;
}

}  // namespace thaw::measuring
