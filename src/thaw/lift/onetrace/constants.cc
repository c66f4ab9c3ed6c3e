#include "thaw/lift/onetrace/constants.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/error.h"

namespace thaw::lift::onetrace {
namespace {

// A list that is longer is a table. An index is computed from single numbers; lists among them count positions.
int64_t most_elements(std::string_view role) { return role == "Split" ? 64 : role == "Gather" ? 1 : 16; }

struct Operands {
  std::string_view op;
  std::vector<int> inputs;
};

// Where an operator reads sizes.
const std::vector<Operands>& size_operands() {
  static const std::vector<Operands> all = {
      {"Reshape", {1}}, {"Split", {1}},           {"Slice", {1, 2}}, {"Expand", {1}},      {"Tile", {1}},
      {"Pad", {1}},     {"ConstantOfShape", {0}}, {"Resize", {3}},   {"Range", {0, 1, 2}}, {"OneHot", {1}},
      {"TopK", {1}},    {"CenterCropPad", {1}},
  };
  return all;
}

// Through which inputs a size passes: movers and arithmetic of small tensors.
std::vector<int> passes(const ir::Node& node) {
  static const std::set<std::string_view> first = {
      "Unsqueeze", "Squeeze", "Identity", "Cast", "Gather",    "Slice",         "Reshape",    "Flatten",
      "Transpose", "Split",   "Expand",   "Tile", "ReduceSum", "ReduceMax",     "ReduceProd", "ReduceMin",
      "Neg",       "Abs",     "Floor",    "Ceil", "CumSum",    "GatherElements"};
  static const std::set<std::string_view> every = {"Concat", "Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "Range"};
  if (!node.domain().empty()) return {};
  if (first.contains(node.op_type())) return {0};
  if (node.op_type() == "Where") return {1, 2};
  std::vector<int> all;
  if (every.contains(node.op_type()))
    for (size_t i = 0; i < node.inputs().size(); ++i) all.push_back(static_cast<int>(i));
  return all;
}

// torch's expand asks which entries of its target are -1: the ones that it makes for that are as many as the target has
// axes, which is no size.
bool makes_ones_for_expand(const ir::Node& node) {
  if (node.op_type() != "ConstantOfShape" || !node.output(0) || node.output(0)->uses().empty()) return false;
  const ir::Attribute* value = node.attribute("value");
  const auto* tensor = value ? value->as<std::shared_ptr<ir::Tensor>>() : nullptr;
  if (!tensor || !ir::is_integer((*tensor)->data_type)) return false;
  for (const ir::Use& use : node.output(0)->uses()) {
    const std::string& op = use.node->op_type();
    if (op != "Mul" && op != "Equal" && op != "Where") return false;
  }
  return true;
}

class Finder {
 public:
  Finder(const ir::Model& model, bool joined) : graph_(*model.graph), joined_(joined) {}

  std::vector<Constant> run() {
    for (ir::Node* node : graph_.nodes()) {
      if (!node->domain().empty() || makes_ones_for_expand(*node)) continue;
      for (const Operands& operands : size_operands()) {
        if (operands.op != node->op_type()) continue;
        for (const int i : operands.inputs) follow(*node, i, operands.op);
      }
      const ir::Value* indices = node->op_type() == "Gather" ? node->input(1) : nullptr;
      if (indices && !indices->constant()) follow(*node, 1, "Gather");
    }
    return std::move(found_);
  }

 private:
  void follow(ir::Node& root, int operand, std::string_view role) {
    std::vector<std::pair<ir::Node*, int>> open{{&root, operand}};
    while (!open.empty()) {
      const auto [reader, index] = open.back();
      open.pop_back();
      ir::Value* value = reader->input(index);
      if (!value) continue;
      if (const ir::Tensor* tensor = value->constant()) {
        if (!value->is_input() && seen_uses_.emplace(reader, index).second) add(*value, *tensor, *reader, index, role);
      } else if (!seen_.insert(value).second) {
        continue;
      } else if (ir::Node* producer = value->producer(); producer && producer->graph() == &graph_) {
        for (const int i : passes(*producer)) open.emplace_back(producer, i);
      }
    }
  }

  void add(const ir::Value& value, const ir::Tensor& tensor, ir::Node& reader, int index, std::string_view role) {
    const bool plain = tensor.data_type == ir::DataType::kInt64 || tensor.data_type == ir::DataType::kInt32;
    if (!plain || value.graph() != &graph_) return;
    std::vector<int64_t> elements;
    try {
      if (tensor.num_elements() > most_elements(role) || tensor.num_elements() == 0) return;
      elements = tensor.to_int64();
    } catch (const Error&) {
      return;  // its data is missing: nothing is known of it
    }
    const std::string key = joined_ ? fmt::format("{} {}", reader.op_type(), index) : std::to_string(found_.size());
    const auto [at, is_new] =
        known_.emplace(std::tuple(std::string(role), key, tensor.data_type, tensor.dims, elements), found_.size());
    if (is_new) found_.push_back({{}, std::string(role), tensor.data_type, tensor.dims, std::move(elements)});
    found_[at->second].uses.push_back({&reader, index});
  }

  const ir::Graph& graph_;
  bool joined_;
  std::unordered_set<const ir::Value*> seen_;
  std::set<std::pair<const ir::Node*, int>> seen_uses_;
  std::map<std::tuple<std::string, std::string, ir::DataType, std::vector<int64_t>, std::vector<int64_t>>, size_t>
      known_;
  std::vector<Constant> found_;
};

}  // namespace

std::string Constant::describe() const {
  const ir::Use& first = uses.front();
  std::string whole = fmt::format("{} reads '{}'", first.node->describe(), first.node->input(first.index)->name());
  if (uses.size() > 1) whole += fmt::format(", {} more like it", uses.size() - 1);
  return whole;
}

std::string Constant::text() const {
  return dims.empty() ? fmt::format("{}", elements.front()) : fmt::format("[{}]", fmt::join(elements, ", "));
}

std::vector<Constant> size_constants(const ir::Model& model, bool joined) { return Finder(model, joined).run(); }

}  // namespace thaw::lift::onetrace
