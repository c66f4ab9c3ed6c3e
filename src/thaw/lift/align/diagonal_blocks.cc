#include "thaw/lift/align/diagonal_blocks.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/lift/align/slice.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/rewrite/remove_unused.h"

namespace thaw::lifting {
namespace {

// Two cuts at the same places along two axes.
struct Block {
  ir::Node* rows;     // cuts what an operator makes
  ir::Node* columns;  // cuts what the other has cut
  ir::Node* whole;
};

bool is_cut(const ir::Value* value) {
  return value && value->producer() && ops::role_of(*value->producer(), 1) == ops::Role::kBounds && slice_of(*value);
}

std::optional<Block> block_of(ir::Node& node) {
  if (node.outputs().size() != 1 || !is_cut(node.output(0)) || !is_cut(node.input(0))) return std::nullopt;
  const Slice second = *slice_of(*node.output(0)), first = *slice_of(*node.input(0));
  ir::Node* whole = first.whole() ? first.whole()->producer() : nullptr;
  if (!whole || second.axis == first.axis || second.begin != first.begin || second.end != first.end)
    return std::nullopt;
  const ops::Operator* entry = ops::registry().find(*whole);
  if (!entry || !entry->is_elementwise() || whole->outputs().size() != 1 || whole->inputs().size() < 2)
    return std::nullopt;
  return Block{first.node, &node, whole};
}

// Puts operators on what was cut in the place of what was cut of their results.
class Cutter {
 public:
  explicit Cutter(ir::Model& model) : graph_(*model.graph), facts_(infer::infer(model, scope_)) {}

  void cut(const Block& block) {
    const auto& made = sizes_of(block.whole->output(0));
    if (!made) return;
    std::vector<std::vector<ir::Node*>> cuts;  // of each operand
    for (const ir::Value* operand : block.whole->inputs()) {
      if (!operand || !sizes_of(operand)) return;
      std::vector<ir::Node*>& own = cuts.emplace_back();
      for (ir::Node* node : {block.rows, block.columns})
        if (is_long(*node, *sizes_of(operand), *made)) own.push_back(node);
      if (own.size() > 1) return;  // a mask that was made as a whole
    }
    std::vector<ir::Value*> inputs(block.whole->inputs().begin(), block.whole->inputs().end());
    for (size_t i = 0; i < inputs.size(); ++i)
      for (ir::Node* node : cuts[i])
        inputs[i] = add_cut(*node, inputs[i], static_cast<int64_t>(made->size()), *block.columns);
    ir::Value* result = graph_.add_value(graph_.unique_name(block.columns->output(0)->name() + "_block"));
    ir::Node* node = graph_.add_node(block.whole->op_type(), block.whole->domain(), std::move(inputs), {result},
                                     block.whole->name, block.columns);
    for (const ir::Attribute& attribute : block.whole->attributes()) node->set_attribute(attribute);
    graph_.replace_uses(block.columns->output(0), result);
  }

 private:
  const std::optional<ops::Shape>& sizes_of(const ir::Value* value) const { return facts_.fact(value).shape; }

  // Whether an operand has the axis that a node cuts; one of size 1 serves every part of it.
  static bool is_long(const ir::Node& cut, const ops::Shape& operand, const ops::Shape& made) {
    int64_t axis = slice_of(*cut.output(0))->axis;
    if (axis < 0) axis += static_cast<int64_t>(made.size());
    const auto behind = static_cast<size_t>(static_cast<int64_t>(made.size()) - axis);  // counted from the end
    return behind <= operand.size() && !operand[operand.size() - behind].is_constant(1);
  }

  // The same cut of an operand, which may have fewer axes than the result.
  ir::Value* add_cut(const ir::Node& like, ir::Value* operand, int64_t rank, ir::Node& before) {
    const Slice slice = *slice_of(*like.output(0));
    std::vector<ir::Value*> inputs(like.inputs().begin(), like.inputs().end());
    inputs[0] = operand;
    const int64_t from_end = slice.axis < 0 ? slice.axis : slice.axis - rank;
    const auto own = static_cast<int64_t>(sizes_of(operand)->size());
    if (slice.axis >= 0 && own != rank) {
      ir::Value* axis = graph_.add_initializer(
          ir::Tensor::from_int64(graph_.unique_name("axis_of_block"), {1}, std::vector<int64_t>{from_end + own}));
      inputs.resize(std::max<size_t>(inputs.size(), 4));
      inputs[3] = axis;
    }
    ir::Value* result = graph_.add_value(graph_.unique_name(like.output(0)->name() + "_of_operand"));
    ir::Node* node = graph_.add_node(like.op_type(), like.domain(), std::move(inputs), {result}, like.name, &before);
    for (const ir::Attribute& attribute : like.attributes()) node->set_attribute(attribute);
    return result;
  }

  ir::Graph& graph_;
  dim::Scope scope_;
  infer::Result facts_;
};

}  // namespace

void cut_operands_of_blocks(ir::Model& model) {
  std::vector<Block> blocks;
  for (ir::Node* node : model.graph->nodes()) {
    if (node->constant()) continue;
    if (const auto block = block_of(*node)) blocks.push_back(*block);
  }
  constexpr size_t kFewest = 2;  // a single block is no loop
  if (blocks.size() < kFewest) return;
  Cutter cutter(model);
  for (const Block& block : blocks) cutter.cut(block);
  rewrite::remove_unused(model);
}

}  // namespace thaw::lifting
