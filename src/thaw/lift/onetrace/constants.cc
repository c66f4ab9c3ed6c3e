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
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting::onetrace {
namespace {

// A list that is longer is a table. An index is computed from single numbers; lists among them count positions.
int64_t most_elements(ops::Role role) { return role == ops::Role::kLengths ? 64 : role == ops::Role::kIndex ? 1 : 16; }

// Whether a size passes from an input to the output: what follows small integers as they are moved and computed with.
bool passes(const ops::Operator& op, int input) {
  if (op.evaluation != ops::Evaluation::kByRule) return false;
  const ops::Role role = op.operands[input];
  return role == ops::Role::kData || role == ops::Role::kSize;
}

// torch's expand asks which entries of its target are -1: the ones that it makes for that are as many as the target has
// axes, which is no size.
bool makes_ones_for_expand(const ir::Node& node) {
  if (node.op_type() != "ConstantOfShape" || !node.output(0) || node.output(0)->uses().empty()) return false;
  const ir::Attribute* value = node.attribute("value");
  const auto* tensor = value ? value->as<std::shared_ptr<ir::Tensor>>() : nullptr;
  if (!tensor || !ir::is_integer((*tensor)->data_type)) return false;
  return std::ranges::all_of(node.output(0)->uses(), [](const ir::Use& use) {
    const ops::Operator* op = ops::registry().find(*use.node);
    return op && op->is_elementwise();
  });
}

// Bounds of a Slice of a tensor's shape, and of what is moved or put together of it, are positions in a list of sizes.
bool cuts_a_shape(const ir::Node& node, ops::Role role) {
  if (role != ops::Role::kBounds) return false;
  const ir::Value* value = node.input(0);
  for (int steps = 0; value && value->producer() && steps < 64; ++steps) {
    const ir::Node& producer = *value->producer();
    if (ops::role_of(producer, 0) == ops::Role::kShapeOnly) return true;
    const ops::Operator* op = ops::registry().find(producer);
    if (!op || !op->passes_numbers()) return false;
    value = producer.input(0);
  }
  return false;
}

class ConstantFinder {
 public:
  ConstantFinder(const ir::Model& model, bool joined) : graph_(*model.graph), joined_(joined) {}

  std::vector<Constant> run() {
    for (ir::Node* node : graph_.nodes()) {
      const ops::Operator* op = ops::registry().find(*node);
      if (!op || makes_ones_for_expand(*node)) continue;
      for (int i = 0; i < static_cast<int>(node->inputs().size()); ++i) {
        const ops::Role role = op->operands[i];
        const bool is_computed_index = role == ops::Role::kIndex && node->input(i) && !node->input(i)->constant();
        if ((ops::holds_size(role) && !cuts_a_shape(*node, role)) || is_computed_index) follow(*node, i, role);
      }
    }
    return std::move(found_);
  }

 private:
  void follow(ir::Node& root, int operand, ops::Role role) {
    const std::string& consumer = root.op_type();
    std::vector<std::pair<ir::Node*, int>> open{{&root, operand}};
    while (!open.empty()) {
      const auto [reader, index] = open.back();
      open.pop_back();
      ir::Value* value = reader->input(index);
      if (!value) continue;
      if (const ir::Tensor* tensor = value->constant()) {
        if (!value->is_input() && seen_uses_.emplace(reader, index).second)
          add(*value, *tensor, *reader, index, role, consumer);
      } else if (!seen_.insert(value).second) {
        continue;
      } else if (ir::Node* producer = value->producer(); producer && producer->graph() == &graph_) {
        const ops::Operator* op = ops::registry().find(*producer);
        for (int i = 0; op && i < static_cast<int>(producer->inputs().size()); ++i)
          if (passes(*op, i)) open.emplace_back(producer, i);
      }
    }
  }

  void add(const ir::Value& value, const ir::Tensor& tensor, ir::Node& reader, int index, ops::Role role,
           const std::string& consumer) {
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
        known_.emplace(std::tuple(consumer, key, tensor.data_type, tensor.dims, elements), found_.size());
    if (is_new) found_.push_back({{}, role, tensor.data_type, tensor.dims, std::move(elements)});
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

std::vector<Constant> size_constants(const ir::Model& model, bool joined) {
  return ConstantFinder(model, joined).run();
}

}  // namespace thaw::lifting::onetrace
