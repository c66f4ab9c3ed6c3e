#include "thaw/lift/align.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include <fmt/format.h>

#include "thaw/core/error.h"

namespace thaw::lift {

bool same_tensor(const ir::Tensor& a, const ir::Tensor& b) {
  if (a.data_type != b.data_type || a.dims != b.dims) return false;
  if (a.data_type == ir::DataType::kString) return a.to_strings() == b.to_strings();
  const auto left = a.bytes(), right = b.bytes();
  if (left.size() != right.size()) return false;
  // Weights are the same bytes throughout: of a large tensor, some pages tell.
  constexpr size_t kLarge = size_t{1} << 20, kPage = 4096, kPages = 32;
  if (left.size() <= kLarge) return left.empty() || std::memcmp(left.data(), right.data(), left.size()) == 0;
  for (size_t i = 0; i < kPages; ++i) {
    const size_t at = (left.size() - kPage) / (kPages - 1) * i;
    if (std::memcmp(left.data() + at, right.data() + at, kPage) != 0) return false;
  }
  return true;
}

namespace {

// Nodes other than Constant: exporters write as many of these as they please.
std::vector<ir::Node*> working_nodes(const ir::Model& model) {
  std::vector<ir::Node*> nodes;
  for (ir::Node* node : model.graph->nodes())
    if (!node->constant()) nodes.push_back(node);
  return nodes;
}

bool same_attribute(const ir::Attribute& a, const ir::Attribute& b) {
  if (a.name != b.name || a.value.index() != b.value.index()) return false;
  if (const auto* x = a.as<int64_t>()) return *x == *b.as<int64_t>();
  if (const auto* x = a.as<float>()) return *x == *b.as<float>();
  if (const auto* x = a.as<std::string>()) return *x == *b.as<std::string>();
  if (const auto* x = a.as<std::vector<int64_t>>()) return *x == *b.as<std::vector<int64_t>>();
  if (const auto* x = a.as<std::vector<float>>()) return *x == *b.as<std::vector<float>>();
  if (const auto* x = a.as<std::shared_ptr<ir::Tensor>>())
    return same_tensor(**x, **b.as<std::shared_ptr<ir::Tensor>>());
  return true;  // graphs: not looked into
}

}  // namespace

Alignment align(const std::vector<Trace>& traces) {
  std::vector<std::vector<ir::Node*>> nodes;
  for (const Trace& trace : traces) nodes.push_back(working_nodes(*trace.model));
  for (size_t k = 1; k < traces.size(); ++k) {
    const size_t common = std::min(nodes[0].size(), nodes[k].size());
    size_t at = 0;
    while (at < common && nodes[0][at]->op_type() == nodes[k][at]->op_type()) ++at;
    if (at == nodes[0].size() && at == nodes[k].size()) continue;
    throw Error(
        {.what =
             fmt::format("has {} nodes where {} has {}; from {} on they are not the same", nodes[k].size(),
                         traces[0].name, nodes[0].size(), at < nodes[0].size() ? nodes[0][at]->describe() : "the end"),
         .where = traces[k].name,
         .expected = "traces with the same operators in the same order",
         .next = "give traces with as many windows or chunks as each other, or build the model with thaw build"});
  }
  Alignment out;
  std::unordered_map<const ir::Value*, size_t> seen;
  for (size_t i = 0; i < nodes[0].size(); ++i) {
    ir::Node* node = nodes[0][i];
    for (const ir::Attribute& attribute : node->attributes()) {
      for (size_t k = 1; k < traces.size(); ++k) {
        const ir::Attribute* other = nodes[k][i]->attribute(attribute.name);
        if (other && same_attribute(attribute, *other)) continue;
        out.unaligned.push_back(fmt::format("{}: the attribute '{}' differs", node->describe(), attribute.name));
        break;
      }
    }
    for (int input = 0; input < static_cast<int>(node->inputs().size()); ++input) {
      const ir::Value* value = node->input(input);
      const ir::Tensor* first = value ? value->constant() : nullptr;
      if (!first) continue;
      Difference difference{.node = node, .input = input, .tensors = {first}, .value = value};
      bool differs = false, whole = true;
      for (size_t k = 1; k < traces.size(); ++k) {
        const ir::Value* other = nodes[k][i]->input(input);
        const ir::Tensor* tensor = other ? other->constant() : nullptr;
        whole &= tensor != nullptr;
        difference.tensors.push_back(tensor);
        differs |= tensor && !same_tensor(*first, *tensor);
      }
      if (!whole) {
        out.unaligned.push_back(
            fmt::format("{}: operand {} is a constant in some traces only", node->describe(), input));
      } else if (differs && seen.emplace(value, out.differences.size()).second) {
        out.differences.push_back(std::move(difference));
      } else if (differs) {
        // The same constant elsewhere: solved once, as long as the other traces agree that it is one.
        const Difference& known = out.differences[seen.at(value)];
        for (size_t k = 1; k < traces.size(); ++k) {
          if (same_tensor(*known.tensors[k], *difference.tensors[k])) continue;
          out.unaligned.push_back(
              fmt::format("{}: operand {} is shared in the first trace only", node->describe(), input));
          break;
        }
      }
    }
  }
  return out;
}

}  // namespace thaw::lift
