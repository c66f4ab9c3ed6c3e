// Rotary embeddings of queries and keys inside com.microsoft's GroupQueryAttention.
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "thaw/ops/rule/registry.h"
#include "thaw/optimize/attention/grouped.h"
#include "thaw/optimize/passes.h"
#include "thaw/optimize/site.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/sites.h"
#include "thaw/rewrite/splice.h"

namespace thaw::optimizing {
namespace {

constexpr std::string_view kTurnsHeads = "RotaryEmbedding";
constexpr int kPastKeys = 3, kCosCache = 7;             // operands of GroupQueryAttention
constexpr int64_t kAngles = 8, kTransposedWidths = 16;  // the kernel takes multiples of so many

const ir::Node* rotary_of(const ir::Value* value) {
  const ir::Node* node = value ? value->producer() : nullptr;
  const bool is_rotary = node && node->domain() == ops::kMicrosoft && node->op_type() == kTurnsHeads;
  return is_rotary && is_read_once(*value) ? node : nullptr;
}

// Positions 0, 1, 2 and so on, in each sample: RotaryEmbedding has the first of them alone. Without a past ONNX Runtime's kernel
// turns by those, whatever positions it is given.
bool counts_from_zero(const ir::Value* positions) {
  const ir::Tensor* tensor = constant_of(positions);
  return tensor && tensor->dims.size() == 1 && tensor->num_elements() == 1 && tensor->to_int64().front() == 0;
}

bool is_same_rotary(const ir::Node& a, const ir::Node& b) {
  return counts_from_zero(a.input(1)) && counts_from_zero(b.input(1)) && a.input(2) == b.input(2) &&
         a.input(3) == b.input(3) && a.attribute_int("interleaved", 0) == b.attribute_int("interleaved", 0) &&
         a.attribute_int("rotary_embedding_dim", 0) == b.attribute_int("rotary_embedding_dim", 0);
}

class RotatedQueries {
 public:
  explicit RotatedQueries(Context& context)
      : model_(context.model), facts_(context.facts()), changes_(context.changes) {}

  bool rotate(ir::Node* node) {
    const ir::Node *query = rotary_of(node->input(0)), *key = rotary_of(node->input(1));
    if (!query || !key || !is_same_rotary(*query, *key) || !takes_angles(*node, *query)) return false;
    rewrite::Patch patch(model_, {});
    patch.emitter().set_origin(rewrite::name_of(*node));
    std::vector<ir::Value*> inputs(node->inputs().begin(), node->inputs().end());
    inputs.resize(std::max<size_t>(inputs.size(), kCosCache + 2));
    inputs[0] = query->input(0);
    inputs[1] = key->input(0);
    inputs[kCosCache] = query->input(2);
    inputs[kCosCache + 1] = query->input(3);
    ops::Attributes attributes{{"do_rotary", int64_t{1}}};
    for (const ir::Attribute& attribute : node->attributes())
      if (attribute.name != "do_rotary") attributes.push_back(attribute);
    if (query->attribute_int("interleaved", 0) != 0) attributes.push_back({"rotary_interleaved", int64_t{1}});
    const std::vector<ir::Value*> made = rewrite::emit_node(patch.before(node), {.op = kGroupQuery,
                                                                                 .inputs = std::move(inputs),
                                                                                 .attributes = std::move(attributes),
                                                                                 .domain = ops::kMicrosoft});
    changes_.made.push_back({.kind = std::string(kTurnsHeads),
                             .location = node->describe(),
                             .replaced = {{"of queries and keys", fmt::format("inside {}", kGroupQuery)}}});
    patch.replace(node->output(0), made.front());
    remove_what_gave(*node->output(0));
    patch.apply(facts_);
    return true;
  }

 private:
  bool takes_angles(const ir::Node& node, const ir::Node& rotary) const {
    const ops::Fact &query = facts_.fact(rotary.input(0)), &cos = facts_.fact(rotary.input(2));
    if (node.input(kPastKeys) || node.input(kCosCache) || node.attribute_int("do_rotary", 0) != 0 ||
        node.outputs().size() != 1)
      return false;
    if (query.rank() != 3 || cos.rank() != 2) return false;
    if (rotary.attribute_int("is_packed_batching", 0) != 0 || rotary.attribute_float("scale", 1) != 1) return false;
    const auto hidden = query.dim(2).constant(), angles = cos.dim(1).constant();
    const int64_t heads = node.attribute_int("num_heads", 0),
                  transposed = rotary.attribute_int("rotary_embedding_dim", 0);
    if (!hidden || !angles || heads <= 0 || (transposed != 0 && transposed != 2 * *angles)) return false;
    const int64_t width = *hidden / heads;
    return *angles % kAngles == 0 && width % kTransposedWidths == 0 && 2 * *angles <= width &&
           (transposed != 0 || 2 * *angles == width);
  }

  ir::Model& model_;
  infer::Inference& facts_;
  rewrite::Changes& changes_;
};

}  // namespace

int rotate_inside(Context& context) {
  RotatedQueries pass(context);
  return rewrite::for_sites(context, [&](ir::Node* node) {
    return node->op_type() == kGroupQuery && node->domain() == ops::kMicrosoft && pass.rotate(node);
  });
}

}  // namespace thaw::optimizing
