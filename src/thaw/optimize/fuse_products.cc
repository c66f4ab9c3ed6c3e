// com.microsoft's FusedMatMul: a product of two computed tensors, with Transposes of their last two axes before it and a
// number that any of the three is multiplied by. A product with a weight stays a MatMul, as quantizers look for one.
#include <algorithm>
#include <optional>

#include "thaw/ops/rule/registry.h"
#include "thaw/optimize/attention/products.h"
#include "thaw/optimize/passes.h"
#include "thaw/optimize/site.h"
#include "thaw/rewrite/algebra.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/sites.h"
#include "thaw/rewrite/splice.h"

namespace thaw::optimizing {
namespace {

bool names(const ir::Node& node, std::string_view op) { return node.domain().empty() && node.op_type() == op; }

bool turns_matrices(const ir::Node& node, int rank) {
  const auto order = node.attribute_ints("perm");
  return names(node, "Transpose") && swaps_last_two({order.begin(), order.end()}, rank);
}

// The other operand and the number of a product with, or a quotient by, a number.
struct Scaled {
  ir::Value* value = nullptr;
  double by = 1;
};

std::optional<Scaled> scaled_value(const ir::Node& node, const infer::Inference& facts) {
  const bool multiplies = names(node, "Mul"), divides = names(node, "Div");
  if (!multiplies && !divides) return std::nullopt;
  for (const int position : {1, 0}) {
    if (position == 0 && divides) break;
    const auto number = rewrite::number_of(*node.input(position));
    ir::Value* value = node.input(1 - position);
    if (number && *number != 0 && have_same_shape(facts.fact(value), facts.fact(node.output(0))))
      return Scaled{value, divides ? 1 / *number : *number};
  }
  return std::nullopt;
}

// A constant, or what a node makes of constants alone: transposed, cast, of codes.
bool is_weight(const ir::Value& value) {
  const ir::Node* maker = value.producer();
  return constant_of(&value) ||
         (maker && maker->subgraphs().empty() && !maker->inputs().empty() &&
          std::ranges::all_of(maker->inputs(), [](const ir::Value* input) { return !input || constant_of(input); }));
}

struct FusedProduct {
  ir::Value* operands[2] = {};
  bool transposed[2] = {};
  double alpha = 1;
  std::vector<ir::Node*> absorbed;  // readers before what they read
};

std::optional<FusedProduct> product_around(ir::Node& matmul, const infer::Inference& facts) {
  FusedProduct found;
  found.absorbed.push_back(&matmul);
  for (const int i : {0, 1}) {
    ir::Value*& operand = found.operands[i];
    operand = matmul.input(i);
    if (facts.fact(operand).rank() < 2 || facts.fact(operand).dtype != ir::DataType::kFloat || is_weight(*operand))
      return std::nullopt;
    for (ir::Node* node = operand->producer(); node && is_read_once(*operand); node = operand->producer()) {
      if (node->graph() != matmul.graph()) break;
      if (const auto scaled = scaled_value(*node, facts)) {
        found.alpha *= scaled->by;
        operand = scaled->value;
      } else if (!found.transposed[i] && turns_matrices(*node, facts.fact(operand).rank())) {
        found.transposed[i] = true;
        operand = node->input(0);
      } else {
        break;
      }
      found.absorbed.push_back(node);
    }
    if (is_weight(*operand)) return std::nullopt;
  }
  return found;
}

}  // namespace

int fuse_products(Context& context) {
  infer::Inference& facts = context.facts();
  return rewrite::for_sites(context, [&](ir::Node* node) {
    if (!names(*node, "MatMul") || !node->output(0)->is_used()) return 0;
    auto product = product_around(*node, facts);
    if (!product) return 0;
    ir::Node* last = node;
    if (is_read_once(*node->output(0))) {
      ir::Node* reader = node->output(0)->uses().front().node;
      const auto scaled = reader->graph() == node->graph() ? scaled_value(*reader, facts) : std::nullopt;
      if (scaled && scaled->value == node->output(0)) {
        product->alpha *= scaled->by;
        last = reader;
        product->absorbed.insert(product->absorbed.begin(), reader);
      }
    }
    if (product->absorbed.size() == 1) return 0;
    rewrite::Patch patch(context.model, {});
    patch.emitter().set_origin(rewrite::name_of(*node));
    context.changes.made.push_back(
        {.kind = "FusedMatMul",
         .location = node->describe(),
         .replaced = {{std::to_string(product->absorbed.size()) + " nodes", "FusedMatMul"}}});
    const auto made =
        rewrite::emit_node(patch.before(last), {.op = "FusedMatMul",
                                                .inputs = {product->operands[0], product->operands[1]},
                                                .attributes = {{"alpha", static_cast<float>(product->alpha)},
                                                               {"transA", int64_t{product->transposed[0]}},
                                                               {"transB", int64_t{product->transposed[1]}}},
                                                .domain = ops::kMicrosoft});
    patch.replace(last->output(0), made.front());
    for (ir::Node* gone : product->absorbed) gone->graph()->remove_node(gone);
    patch.apply(facts);
    return 1;
  });
}

}  // namespace thaw::optimizing
