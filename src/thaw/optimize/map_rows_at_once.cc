// Loop and Scan for a device that runs no graphs inside a graph: where each round works on a row of its own, element by element or
// by a product with what is the same for all, all rows are worked on at once.
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "thaw/ops/rule/registry.h"
#include "thaw/optimize/loop_bodies.h"
#include "thaw/optimize/passes.h"
#include "thaw/rewrite/emitter.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/splice.h"

namespace thaw::optimizing {
namespace {

constexpr int64_t kOpsetOfBroadcast = 9;  // operands spread from the last axis on, and Scan reads rows
constexpr const char* kCarries = "what it carries from round to round is no running sum";

class Map {
 public:
  Map(ir::Node& node, const infer::Inference& facts, std::string& why) : node_(&node), facts_(&facts), why_(&why) {}

  bool find() {
    body_ = graph_of(*node_, "body");
    if (!body_) return false;
    const bool begins = node_->op_type() == "Scan" ? take_scanned() : node_->op_type() == "Loop" && take_loop();
    if (!begins) return false;
    for (const ir::Node* inner : body_->nodes())
      if (!is_condition(*inner) && !follow(*inner)) {
        *why_ = fmt::format("{} is no work on each row alone", inner->describe());
        return false;
      }
    for (size_t i = first_output_; i < body_->outputs().size(); ++i)
      if (!rows_.contains(body_->outputs()[i])) {
        *why_ = "a result is no row of its own";
        return false;
      }
    return true;
  }

  void write(ir::Model& model) {
    rewrite::Emitter emitter(model, {});
    emitter.set_origin(rewrite::name_of(*node_));
    const ops::Emit at = emitter.before(node_);
    for (const ir::Node* inner : body_->nodes()) {
      if (is_condition(*inner) || now_.contains(inner->output(0)) || !rows_.contains(inner->output(0))) continue;
      const int rank = facts_->fact(inner->output(0)).rank();
      std::vector<ir::Value*> operands;
      for (ir::Value* operand : inner->inputs()) operands.push_back(outside(at, *inner, operand, rank));
      now_[inner->output(0)] =
          rewrite::emit_node(at, {.op = inner->op_type(),
                                  .inputs = std::move(operands),
                                  .attributes = {inner->attributes().begin(), inner->attributes().end()},
                                  .as_it_is = true})
              .front();
    }
    std::vector<ir::Value*> results;
    for (size_t i = first_output_; i < body_->outputs().size(); ++i)
      results.push_back(at.emit("Identity", {now_.at(body_->outputs()[i])}));
    results.resize(node_->outputs().size());
    rewrite::replace_node(node_, results);
  }

 private:
  // All that is read goes row by row along the first axis, and nothing is carried.
  bool take_scanned() {
    const size_t count = node_->inputs().size();
    const bool carries = node_->attribute_int("num_scan_inputs", 0) != static_cast<int64_t>(count);
    if (carries) *why_ = kCarries;
    if (carries || body_->inputs().size() != count) return false;
    for (const std::string_view name :
         {"scan_input_directions", "scan_output_directions", "scan_input_axes", "scan_output_axes"})
      for (const int64_t number : node_->attribute_ints(name))
        if (number != 0) return false;
    for (size_t i = 0; i < count; ++i) take(body_->inputs()[i], node_->input(static_cast<int>(i)));
    return true;
  }

  bool take_loop() {
    if (node_->inputs().size() > 2) *why_ = kCarries;
    if (node_->inputs().size() != 2 || !runs_all_rounds(*node_, *body_)) return false;
    first_output_ = 1;
    for (const ir::Node* inner : body_->nodes())
      if (ir::Value* rows = rows_taken(*inner, *node_, *body_, *facts_)) take(inner->output(0), rows);
    return !rows_.empty();
  }

  void take(const ir::Value* row, ir::Value* all) {
    rows_.insert(row);
    now_[row] = all;
  }

  // Of a Loop: what leads to its condition, and nothing else.
  bool is_condition(const ir::Node& inner) const {
    return first_output_ == 1 && inner.output(0) && behind_identities(inner.output(0)) == body_->inputs()[1];
  }

  bool is_row(const ir::Value* value) const { return value && rows_.contains(value); }

  // What the body makes of rows is a row; constants of the body and what stands outside are the same for all.
  bool follow(const ir::Node& inner) {
    if (inner.outputs().size() != 1 || now_.contains(inner.output(0))) return now_.contains(inner.output(0));
    if (inner.inputs().empty() && inner.constant()) return true;
    const ops::Operator* entry = ops::registry().find(inner);
    const bool is_plain = entry && inner.domain().empty() && inner.subgraphs().empty() && entry->deterministic;
    const ops::Fact& result = facts_->fact(inner.output(0));
    if (!is_plain || !result.is_tensor() || result.rank() < 0) return false;
    bool has_rows = false;
    for (size_t i = 0; i < inner.inputs().size(); ++i) {
      const ir::Value* operand = inner.inputs()[i];
      if (!operand) continue;
      if (!is_row(operand) && !is_same_for_all(*operand)) return false;
      const ops::Role role = ops::role_of(inner, static_cast<int>(i));
      if (is_row(operand) && role != ops::Role::kData && role != ops::Role::kCondition) return false;
      if (facts_->fact(operand).rank() < 0) return false;
      has_rows = has_rows || is_row(operand);
    }
    const bool is_alone = entry->is_elementwise() || entry->converts || inner.op_type() == "Identity";
    if (!has_rows || !(is_alone || multiplies_rows(inner))) return false;
    rows_.insert(inner.output(0));
    return true;
  }

  bool is_same_for_all(const ir::Value& value) const { return value.graph() != body_.get() || value.constant(); }

  // Each row, of any number of axes, times one matrix for all; or matrices of as many axes, row by row.
  bool multiplies_rows(const ir::Node& inner) const {
    if (inner.op_type() != "MatMul") return false;
    const int left = facts_->fact(inner.input(0)).rank(), right = facts_->fact(inner.input(1)).rank();
    if (is_row(inner.input(0)) && !is_row(inner.input(1))) return right == 2 && left >= 1;
    return is_row(inner.input(0)) && left == right && left >= 2;
  }

  // An operand where all rows are worked on at once: its own axes stay the last ones.
  ir::Value* outside(const ops::Emit& at, const ir::Node& inner, ir::Value* operand, int rank) {
    if (!operand) return nullptr;
    if (!is_row(operand)) {
      if (operand->graph() != body_.get()) return operand;
      ir::Value*& made = now_[operand];
      if (!made) {
        ir::Tensor tensor = *operand->constant();
        tensor.name.clear();
        made = at.writer().constant(std::move(tensor));
      }
      return made;
    }
    const int own = facts_->fact(operand).rank();
    std::vector<int64_t> axes;
    for (int axis = own; axis < rank && inner.op_type() != "MatMul"; ++axis) axes.push_back(axis - own + 1);
    return at.unsqueeze(now_.at(operand), axes);
  }

  ir::Node* node_;
  const infer::Inference* facts_;
  std::string* why_;
  std::shared_ptr<ir::Graph> body_;
  size_t first_output_ = 0;
  std::unordered_set<const ir::Value*> rows_;
  std::unordered_map<const ir::Value*, ir::Value*> now_;  // outside, of all rows or the same for all
};

}  // namespace

int map_rows_at_once(Context& context) {
  ir::Model& model = context.model;
  if (model.opset("").value_or(0) < kOpsetOfBroadcast) return 0;
  const infer::Inference& facts = context.facts();
  std::vector<Map> all;
  for (ir::Node* node : model.graph->nodes()) {
    if (node->subgraphs().empty() || !node->domain().empty()) continue;
    std::string why;
    Map map(*node, facts, why);
    if (map.find()) {
      context.changes.made.push_back({.kind = "work on all rows at once",
                                      .location = node->describe(),
                                      .replaced = {{node->op_type(), "its body"}}});
      all.push_back(std::move(map));
    } else if (!why.empty()) {
      context.changes.left.push_back(
          {.kind = "directml", .location = node->describe(), .part = {}, .replaced = {}, .why = std::move(why)});
    }
  }
  if (all.empty()) return 0;
  rewrite::edit_as_one(context, [&] {
    for (Map& map : all) map.write(model);
    return static_cast<int>(all.size());
  });
  context.look_again();  // the bodies' constants have moved
  return static_cast<int>(all.size());
}

}  // namespace thaw::optimizing
