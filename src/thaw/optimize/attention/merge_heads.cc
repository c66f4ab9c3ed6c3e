// ONNX's Attention on heads that stay merged.
#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "thaw/optimize/attention/caches.h"
#include "thaw/optimize/attention/packed.h"
#include "thaw/optimize/passes.h"
#include "thaw/optimize/site.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/sites.h"
#include "thaw/rewrite/splice.h"

namespace thaw::optimizing {
namespace {

constexpr std::string_view kStandardAttention = "Attention", kStandardRotary = "RotaryEmbedding";
constexpr std::string_view kQueryHeads = "q_num_heads", kKeyHeads = "kv_num_heads", kRotaryHeads = "num_heads";
constexpr int kQueryKeyValue = 3;  // q, k and v

bool swaps_heads_and_positions(const ir::Node& node) {
  const auto given = node.attribute_ints("perm");
  return node.op_type() == "Transpose" && node.domain().empty() &&
         std::ranges::equal(given, std::vector<int64_t>{0, 2, 1, 3});
}

// Nothing else reads the result, and it is transposed back each time.
bool is_transposed_back(const ir::Value& result) {
  return !result.is_output() && result.graph()->returned_by(&result).empty() && !result.uses().empty() &&
         std::ranges::all_of(result.uses(), [&](const ir::Use& use) {
           return use.node->graph() == result.graph() && swaps_heads_and_positions(*use.node);
         });
}

ops::Attributes with_heads(const ir::Node& node, const ops::Attributes& heads) {
  ops::Attributes all = heads;
  for (const ir::Attribute& attribute : node.attributes())
    if (std::ranges::find(heads, attribute.name, &ir::Attribute::name) == heads.end()) all.push_back(attribute);
  return all;
}

class Joiner {
 public:
  explicit Joiner(Context& context) : model_(context.model), facts_(context.facts()), changes_(context.changes) {}

  bool join(ir::Node* node) {
    if (!may_be_merged(*node)) return false;
    rewrite::Patch patch(model_, {});
    patch.emitter().set_origin(rewrite::name_of(*node));
    const ops::Emit at = patch.before(node);
    std::vector<ir::Value*> inputs(node->inputs().begin(), node->inputs().end());
    for (int i = 0; i < kQueryKeyValue; ++i) inputs[static_cast<size_t>(i)] = merged(at, node->input(i));
    const Shaped query = *shaped(node->input(0), facts_), key = *shaped(node->input(1), facts_);
    const int64_t heads = *query.dim(1).constant(), kv_heads = *key.dim(1).constant();
    std::vector<bool> outputs;
    for (const ir::Value* output : node->outputs()) outputs.push_back(output != nullptr);
    const std::vector<ir::Value*> made = rewrite::emit_node(
        at, {.op = kStandardAttention,
             .inputs = std::move(inputs),
             .attributes = with_heads(*node, {{std::string(kQueryHeads), heads}, {std::string(kKeyHeads), kv_heads}}),
             .outputs = std::move(outputs),
             .as_it_is = true});
    changes_.made.push_back({.kind = "join the heads of Attention",
                             .location = node->describe(),
                             .replaced = {{fmt::format("{} separate heads", heads), "merged heads"}}});
    put_in_place(patch, node, made, heads);
    patch.apply(facts_);
    return true;
  }

 private:
  bool may_be_merged(const ir::Node& node) const {
    if (node.op_type() != kStandardAttention || !node.domain().empty() || !node.output(0)) return false;
    const auto has_numbers = [&](int i) {
      const auto x = node.input(i) ? shaped(node.input(i), facts_) : std::nullopt;
      return x && x->rank() == 4 && x->dim(1).constant() && x->dim(3).constant() && can_join(node.input(i));
    };
    return is_transposed_back(*node.output(0)) && has_numbers(0) && has_numbers(1) && has_numbers(2);
  }

  bool can_join(ir::Value* value) const {
    const ir::Node* rotary = producer_of(value, kStandardRotary);
    if (rotary && is_read_once(*value)) value = rotary->input(0);
    const auto x = shaped(value, facts_);
    return x && x->rank() == 4 && has_positions_first(*x);
  }

  // [batch, positions, heads * width] of [batch, heads, positions, width].
  ir::Value* merged(const ops::Emit& at, ir::Value* value) const {
    const Shaped x = *shaped(value, facts_);
    const int64_t heads = *x.dim(1).constant(), width = *x.dim(3).constant();
    const ir::Node* rotary = producer_of(value, kStandardRotary);
    if (!rotary) return at.reshape(with_positions_first(at, x), at.list({0, 0, heads * width}));
    std::vector<ir::Value*> inputs(rotary->inputs().begin(), rotary->inputs().end());
    inputs.front() = merged(at, rotary->input(0));
    return rewrite::emit_node(at, {.op = kStandardRotary,
                                   .inputs = std::move(inputs),
                                   .attributes = with_heads(*rotary, {{std::string(kRotaryHeads), heads}}),
                                   .as_it_is = true})
        .front();
  }

  void put_in_place(rewrite::Patch& patch, ir::Node* node, const std::vector<ir::Value*>& made, int64_t heads) const {
    const ops::Emit at = patch.before(node);
    const int64_t width = *shaped(node->input(2), facts_)->dim(3).constant();
    std::vector<ir::Node*> turns;
    for (const ir::Use& use : node->output(0)->uses()) turns.push_back(use.node);
    for (ir::Node* turn : turns) {
      patch.replace(turn->output(0), at.reshape(made.front(), at.list({0, 0, heads, width})));
      turn->graph()->remove_node(turn);
    }
    for (size_t i = 1; i < made.size(); ++i)
      if (made[i]) patch.replace(node->output(static_cast<int>(i)), made[i]);
    remove_what_gave(*node->output(0));
  }

  ir::Model& model_;
  infer::Inference& facts_;
  rewrite::Changes& changes_;
};

}  // namespace

int merge_heads(Context& context) {
  Joiner joiner(context);
  return rewrite::for_sites(context,
                            [&](ir::Node* node) { return node->op_type() == kStandardAttention && joiner.join(node); });
}

}  // namespace thaw::optimizing
