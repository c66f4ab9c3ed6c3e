#include "thaw/report/interface_diff.h"

#include <map>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "thaw/report/attribute_text.h"
#include "thaw/report/inspection.h"

namespace thaw::report {
namespace {

void compare_headers(const ir::Model& a, const ir::Model& b, std::vector<Difference>& out) {
  note_difference(out, "IR version", std::to_string(a.ir_version), std::to_string(b.ir_version));
  const auto compare_maps = [&](std::string_view kind, const std::map<std::string, std::string>& in_a,
                                const std::map<std::string, std::string>& in_b) {
    std::map<std::string, std::pair<std::string, std::string>> both;
    for (const auto& [key, text] : in_a) both[key].first = text;
    for (const auto& [key, text] : in_b) both[key].second = text;
    for (const auto& [key, sides] : both)
      note_difference(out, fmt::format("{} {}", kind, key), sides.first, sides.second);
  };
  const auto opsets = [](const ir::Model& model) {
    std::map<std::string, std::string> map;
    for (const auto& import : model.opset_imports) {
      map[import.domain.empty() ? "ai.onnx" : import.domain] = std::to_string(import.version);
    }
    return map;
  };
  compare_maps("opset of", opsets(a), opsets(b));
  note_difference(out, "producer", producer_of(a), producer_of(b));
  const auto metadata = [](const ir::Model& model) {
    std::map<std::string, std::string> map;
    for (const auto& [key, text] : model.metadata_props) map[key] = "'" + text + "'";
    return map;
  };
  compare_maps("metadata", metadata(a), metadata(b));
}

void compare_interface(const std::vector<ir::Value*>& a, const std::vector<ir::Value*>& b, std::vector<DiffItem>& out) {
  const auto names = [](const std::vector<ir::Value*>& values) {
    std::vector<std::string> list;
    for (const ir::Value* value : values) list.push_back(value->name());
    return list;
  };
  std::unordered_map<std::string_view, const ir::Value*> in_b;
  for (const ir::Value* value : b) in_b.emplace(value->name(), value);
  std::unordered_set<std::string_view> in_a;
  for (const ir::Value* value : a) {
    in_a.insert(value->name());
    const auto partner = in_b.find(value->name());
    if (partner == in_b.end()) {
      out.push_back({fmt::format("'{}'", value->name()), DiffKind::kRemoved, {}});
      continue;
    }
    DiffItem item{fmt::format("'{}'", value->name()), DiffKind::kChanged, {}};
    note_difference(item.differences, "type", declared_text(value->type), declared_text(partner->second->type));
    if (!item.differences.empty()) out.push_back(std::move(item));
  }
  bool added = false;
  for (const ir::Value* value : b) {
    if (in_a.contains(value->name())) continue;
    added = true;
    out.push_back({fmt::format("'{}'", value->name()), DiffKind::kAdded, {}});
  }
  if (added || a.size() != b.size()) return;
  const std::vector<std::string> order_a = names(a);
  const std::vector<std::string> order_b = names(b);
  if (order_a == order_b) return;
  DiffItem item{"all of them", DiffKind::kChanged, {}};
  note_difference(item.differences, "order", fmt::format("{}", fmt::join(order_a, ", ")),
                  fmt::format("{}", fmt::join(order_b, ", ")));
  out.push_back(std::move(item));
}

void compare_operators(const ir::Model& a, const ir::Model& b, std::vector<Difference>& out) {
  std::map<std::string, std::pair<size_t, size_t>> counts;
  for (const auto& [name, number] : operator_counts(a)) counts[name].first = number;
  for (const auto& [name, number] : operator_counts(b)) counts[name].second = number;
  for (const auto& [name, sides] : counts) {
    note_difference(out, name, std::to_string(sides.first), std::to_string(sides.second));
  }
}

}  // namespace

void note_difference(std::vector<Difference>& list, std::string what, std::string a, std::string b) {
  if (a != b) list.push_back({std::move(what), std::move(a), std::move(b), {}});
}

void compare_interfaces(const ir::Model& a, const ir::Model& b, ModelDiff& out) {
  compare_headers(a, b, out.header);
  compare_interface(a.graph->inputs(), b.graph->inputs(), out.inputs);
  compare_interface(a.graph->outputs(), b.graph->outputs(), out.outputs);
  compare_operators(a, b, out.operators);
}

}  // namespace thaw::report
