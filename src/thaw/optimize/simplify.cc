#include "thaw/optimize/simplify.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>

#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/splice.h"

namespace thaw::optimizing {
namespace {

class Walk {
 public:
  Walk(Context& context, std::span<const Simplification> table)
      : context_(context),
        model_(context.model),
        facts_(context.facts()),
        frozen_(context.frozen()),
        opset_(context.model.opset("").value_or(0)) {
    for (const Simplification& one : table)
      for (const std::string_view op : one.operators) by_operator_[op].push_back(&one);
  }

  int run() {
    return rewrite::edit_as_one(context_, [&] {
      visit(*model_.graph);
      return applied_;
    });
  }

 private:
  void visit(ir::Graph& graph) {
    for (ir::Node* node : graph.nodes()) {
      for (ir::Graph* inner : node->subgraphs()) visit(*inner);
      if (!node->domain().empty()) continue;
      const auto found = by_operator_.find(node->op_type());
      if (found == by_operator_.end() || !only_first_is_read(*node)) continue;
      for (const Simplification* one : found->second)
        if (apply(*one, *node)) break;
    }
  }

  static bool only_first_is_read(const ir::Node& node) {
    const auto outputs = node.outputs();
    if (outputs.empty() || !outputs[0] || !outputs[0]->is_used()) return false;
    return std::none_of(outputs.begin() + 1, outputs.end(), [](const ir::Value* v) { return v && v->is_used(); });
  }

  bool apply(const Simplification& one, ir::Node& node) {
    ir::Transaction edit(model_);
    if (!emitter_) emitter_.emplace(model_, std::string());
    emitter_->set_origin(rewrite::name_of(node));
    const size_t written = emitter_->num_nodes();
    ir::Value* now = nullptr;
    try {
      const ops::Emit at = emitter_->before(&node);
      now = one.rewrite(Site(node, facts_.result(), at, opset_, frozen_, context_));
    } catch (const ops::CannotWrite&) {
      now = nullptr;
    }
    if (!now || now == node.output(0) || !rewrite::can_replace(*node.output(0), *now)) {
      if (emitter_->num_nodes() != written) emitter_.reset();  // it knows constants that go
      return false;
    }
    context_.changes.made.push_back(
        {.kind = std::string(one.name), .location = node.describe(), .replaced = {{node.op_type(), text_of(*now)}}});
    rewrite::replace_value(*node.output(0), *now);
    edit.keep();
    ++applied_;
    return true;
  }

  static std::string text_of(const ir::Value& value) {
    return value.producer() ? value.producer()->op_type() : "'" + value.name() + "'";
  }

  Context& context_;
  ir::Model& model_;
  const infer::Inference& facts_;
  const Constants& frozen_;
  int64_t opset_;
  std::unordered_map<std::string_view, std::vector<const Simplification*>> by_operator_;
  std::optional<rewrite::Emitter> emitter_;
  int applied_ = 0;
};

}  // namespace

int simplify(Context& context, std::span<const Simplification> table) { return Walk(context, table).run(); }

}  // namespace thaw::optimizing
