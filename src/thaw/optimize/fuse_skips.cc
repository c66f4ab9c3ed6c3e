// Sums that a norm follows: com.microsoft's SkipLayerNormalization and SkipSimplifiedLayerNormalization.
#include <algorithm>

#include "thaw/ops/rule/registry.h"
#include "thaw/optimize/fusions.h"
#include "thaw/optimize/site.h"
#include "thaw/rewrite/patch.h"

namespace thaw::optimizing {
namespace {

std::string_view skipping(const ir::Node& norm) {
  if (!norm.domain().empty()) return {};
  if (norm.op_type() == "LayerNormalization") return "SkipLayerNormalization";
  if (norm.op_type() == "SimplifiedLayerNormalization") return "SkipSimplifiedLayerNormalization";
  return {};
}

// A norm over the last axis of three, with constant weights, that gives nothing but its result.
bool is_plain(const ir::Node& norm, const ops::Fact& x) {
  const int64_t axis = norm.attribute_int("axis", -1);
  const auto outputs = norm.outputs();
  return x.rank() == 3 && (axis == -1 || axis == 2) && norm.attribute_int("stash_type", 1) == 1 &&
         constant_of(norm.input(1)) && (!norm.input(2) || constant_of(norm.input(2))) &&
         std::none_of(outputs.begin() + 1, outputs.end(), [](const ir::Value* v) { return v && v->is_used(); });
}

// The Add of two tensors of one shape that makes a value; null where there is none.
ir::Node* sum_of_alike(const ir::Value* value, const infer::Inference& facts) {
  ir::Node* add = value ? value->producer() : nullptr;
  if (!add || !add->domain().empty() || add->op_type() != "Add" || value->is_output()) return nullptr;
  const ops::Fact &a = facts.fact(add->input(0)), &b = facts.fact(add->input(1));
  const bool alike = a.rank() == 3 && have_same_shape(a, b);
  return alike && !constant_of(add->input(0)) && !constant_of(add->input(1)) ? add : nullptr;
}

// A sum of one of the two, read by nothing else, and a number for each place of the last axis.
struct Biased {
  ir::Node* add = nullptr;
  ir::Value *x = nullptr, *bias = nullptr, *skip = nullptr;
};

Biased biased(const ir::Node& sum, const infer::Inference& facts) {
  for (const int side : {0, 1}) {
    ir::Value* value = sum.input(side);
    ir::Node* add = value->producer();
    if (!add || !add->domain().empty() || add->op_type() != sum.op_type() || !is_read_once(*value)) continue;
    for (const int place : {0, 1}) {
      ir::Value *x = add->input(1 - place), *bias = add->input(place);
      if (facts.fact(bias).rank() == 1 && have_same_shape(facts.fact(x), facts.fact(value)) &&
          dim::same(facts.fact(bias).dim(0), facts.fact(x).dim(2)))
        return {add, x, bias, sum.input(1 - side)};
    }
  }
  return {};
}

void fuse_skip(ir::Model& model, infer::Inference& facts, ir::Node& norm, ir::Node& add, std::string_view op,
               rewrite::Changes& changes) {
  ir::Value *sum = add.output(0), *result = norm.output(0);
  const bool is_read_otherwise = sum->uses().size() > 1;
  rewrite::Patch patch(model, {});
  patch.emitter().set_origin(norm.name.empty() ? result->name() : norm.name);
  rewrite::NodeSpec spec{.op = op,
                         .inputs = {add.input(0), add.input(1), norm.input(1)},
                         .attributes = {{"epsilon", norm.attribute_float("epsilon", 1e-5F)}},
                         .domain = ops::kMicrosoft,
                         .outputs = {true, false, false, is_read_otherwise}};
  const bool is_centred = norm.op_type() == "LayerNormalization";
  if (norm.input(2)) spec.inputs.push_back(norm.input(2));
  const Biased with_bias = biased(add, facts);
  if (with_bias.add) {
    spec.inputs.resize(is_centred ? 4 : 3);
    spec.inputs[0] = with_bias.x;
    spec.inputs[1] = with_bias.skip;
    spec.inputs.push_back(with_bias.bias);
  }
  if (!is_read_otherwise) spec.outputs = {true};
  changes.made.push_back({.kind = std::string(op),
                          .place = norm.describe(),
                          .replaced = {{"Add and " + norm.op_type(), std::string(op)}}});
  // Where the sum stood, as others may read it before the norm does.
  const std::vector<ir::Value*> made = rewrite::emit_node(patch.after(&add), std::move(spec));
  patch.replace(result, made.front());
  norm.graph()->remove_node(&norm);
  if (is_read_otherwise) patch.replace(sum, made.back());
  add.graph()->remove_node(&add);
  if (with_bias.add) add.graph()->remove_node(with_bias.add);
  patch.apply(facts);
}

}  // namespace

int fuse_skips(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes) {
  int count = 0;
  for (ir::Node* norm : model.graph->nodes()) {
    const std::string_view op = skipping(*norm);
    if (op.empty() || !is_plain(*norm, facts.fact(norm->input(0)))) continue;
    ir::Node* add = sum_of_alike(norm->input(0), facts);
    if (!add || add->graph() != norm->graph() || !norm->output(0)->is_used()) continue;
    fuse_skip(model, facts, *norm, *add, op, changes);
    ++count;
  }
  return count;
}

}  // namespace thaw::optimizing
