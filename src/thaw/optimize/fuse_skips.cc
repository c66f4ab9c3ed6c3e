// Sums that a norm follows: com.microsoft's SkipLayerNormalization and SkipSimplifiedLayerNormalization.
#include <algorithm>
#include <optional>
#include <utility>

#include "thaw/ops/rule/registry.h"
#include "thaw/optimize/norm_parameters.h"
#include "thaw/optimize/passes.h"
#include "thaw/optimize/site.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/sites.h"

namespace thaw::optimizing {
namespace {

std::string_view skipping(const ir::Node& norm) {
  if (!norm.domain().empty()) return {};
  if (norm.op_type() == "LayerNormalization") return "SkipLayerNormalization";
  if (norm.op_type() == "SimplifiedLayerNormalization" || norm.op_type() == "RMSNormalization")
    return "SkipSimplifiedLayerNormalization";
  return {};
}

// A norm over the last axis of three, with constant weights, that has no output but its result. Of two axes, as of rows without a
// batch, ONNX Runtime's CPU takes a fifth of the time for the sum and the norm by themselves.
bool is_plain(const ir::Node& norm, const ops::Fact& x) {
  const int64_t axis = norm.attribute_int("axis", -1);
  const auto outputs = norm.outputs();
  return x.rank() == 3 && (axis == -1 || axis == x.rank() - 1) && norm.attribute_int("stash_type", 1) == 1 &&
         constant_of(norm.input(1)) && (!norm.input(2) || constant_of(norm.input(2))) &&
         std::none_of(outputs.begin() + 1, outputs.end(), [](const ir::Value* v) { return v && v->is_used(); });
}

bool is_sum(const ir::Node* node) { return node && node->domain().empty() && node->op_type() == "Add"; }

// What is added before a norm: two tensors of one shape, and perhaps a number for each position of the last axis, before the
// one or after both.
struct SkipSum {
  ir::Node* last = nullptr;  // the sum that the norm reads
  ir::Node* inner = nullptr;
  ir::Value *x = nullptr, *skip = nullptr, *bias = nullptr;
};

class SkipFinder {
 public:
  explicit SkipFinder(const infer::Inference& facts) : facts_(facts) {}

  std::optional<SkipSum> find(const ir::Value* value) const {
    ir::Node* last = value ? value->producer() : nullptr;
    if (!is_sum(last)) return std::nullopt;
    ir::Value *a = last->input(0), *b = last->input(1);
    if (are_alike(a, b)) {
      for (const auto& [one, other] : {std::pair(a, b), std::pair(b, a)})
        if (const auto biased = with_bias(one, *last))
          return SkipSum{last, one->producer(), biased->first, other, biased->second};
      return SkipSum{last, nullptr, a, b};
    }
    for (const auto& [sum, bias] : {std::pair(a, b), std::pair(b, a)}) {
      ir::Node* inner = sum->producer();
      if (is_bias(bias, sum) && is_sum(inner) && is_own(*sum, *last) && are_alike(inner->input(0), inner->input(1)))
        return SkipSum{last, inner, inner->input(0), inner->input(1), bias};
    }
    return std::nullopt;
  }

 private:
  static bool is_own(const ir::Value& value, const ir::Node& reader) {
    return is_read_once(value) && value.producer()->graph() == reader.graph();
  }

  bool are_alike(const ir::Value* a, const ir::Value* b) const {
    return have_same_shape(facts_.fact(a), facts_.fact(b)) && facts_.fact(a).rank() >= 2 && !constant_of(a) &&
           !constant_of(b);
  }

  bool is_bias(const ir::Value* bias, const ir::Value* x) const {
    const ops::Fact &own = facts_.fact(bias), &data = facts_.fact(x);
    const bool fits = data.rank() >= 2 && lies_along(own, data, {data.rank() - 1, 1});
    return fits && (own.rank() == 1 || data.dim(data.rank() - 1).is_constant());
  }

  // x and the bias that a sum, read by nothing else, is of.
  std::optional<std::pair<ir::Value*, ir::Value*>> with_bias(const ir::Value* value, const ir::Node& reader) const {
    const ir::Node* add = value->producer();
    if (!is_sum(add) || !is_own(*value, reader)) return std::nullopt;
    for (const int position : {0, 1}) {
      ir::Value *x = add->input(1 - position), *bias = add->input(position);
      if (is_bias(bias, x) && have_same_shape(facts_.fact(x), facts_.fact(value))) return std::pair(x, bias);
    }
    return std::nullopt;
  }

  const infer::Inference& facts_;
};

void fuse_skip(Context& context, ir::Node& norm, const SkipSum& found, std::string_view op) {
  infer::Inference& facts = context.facts();
  ir::Value *sum = found.last->output(0), *result = norm.output(0);
  const bool is_read_otherwise = !is_read_once(*sum);
  rewrite::Patch patch(context.model, {});
  patch.emitter().set_origin(norm.name.empty() ? result->name() : norm.name);
  const ops::Emit at = patch.after(found.last);  // where the sum stood, as others may read it before the norm does
  rewrite::NodeSpec spec{.op = op,
                         .inputs = {found.x, found.skip, norm.input(1)},
                         .attributes = {{"epsilon", norm.attribute_float("epsilon", 1e-5F)}},
                         .domain = ops::kMicrosoft,
                         .outputs = {true, false, false, is_read_otherwise}};
  if (norm.input(2)) spec.inputs.push_back(norm.input(2));
  if (found.bias) {
    spec.inputs.resize(norm.op_type() == "LayerNormalization" ? 4 : 3);
    const ops::Fact& data = facts.fact(sum);
    spec.inputs.push_back(as_dims(found.bias, facts.fact(found.bias), data, {data.rank() - 1, 1}, at));
  }
  if (!is_read_otherwise) spec.outputs = {true};
  context.changes.made.push_back({.kind = std::string(op),
                                  .location = norm.describe(),
                                  .replaced = {{"Add and " + norm.op_type(), std::string(op)}}});
  const std::vector<ir::Value*> made = rewrite::emit_node(at, std::move(spec));
  patch.replace(result, made.front());
  norm.graph()->remove_node(&norm);
  if (is_read_otherwise) patch.replace(sum, made.back());
  found.last->graph()->remove_node(found.last);
  if (found.inner) found.inner->graph()->remove_node(found.inner);
  patch.apply(facts);
}

}  // namespace

int fuse_skips(Context& context) {
  const infer::Inference& facts = context.facts();
  return rewrite::for_sites(context, [&](ir::Node* norm) {
    const std::string_view op = skipping(*norm);
    if (op.empty() || !is_plain(*norm, facts.fact(norm->input(0)))) return 0;
    const auto found = SkipFinder(facts).find(norm->input(0));
    if (!found || found->last->graph() != norm->graph() || !norm->output(0)->is_used()) return 0;
    fuse_skip(context, *norm, *found, op);
    return 1;
  });
}

}  // namespace thaw::optimizing
