// MatMul with a weight, a bias or none, and BatchNormalization: the norm goes into both. Other products and sums stay, so that
// a weight is what the model says.
#include <cmath>

#include "thaw/ir/data/floats.h"
#include "thaw/optimize/channel_affine.h"
#include "thaw/optimize/passes.h"
#include "thaw/optimize/scaled_weights.h"
#include "thaw/optimize/site.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/sites.h"
#include "thaw/rewrite/splice.h"

namespace thaw::optimizing {
namespace {

constexpr ChannelLayout kColumns{ChannelLayout::kLast};

struct LinearNorm {
  ir::Node *product = nullptr, *add = nullptr, *norm = nullptr;
  const ir::Value* old_bias = nullptr;
  Affine affine;
};

ir::Node* reader_of(const ir::Value* value) {
  if (!value || !is_read_once(*value)) return nullptr;
  ir::Node* reader = value->uses().front().node;
  return reader->graph() == value->graph() ? reader : nullptr;
}

std::optional<LinearNorm> find_linear_norm(ir::Node& product, const infer::Inference& facts) {
  const ir::Tensor* weight = own_constant(product.input(1));
  ir::Value* value = product.output(0);
  if (!weight || weight->dims.size() != 2 || weight->num_elements() == 0 || !is_narrow_float(weight->data_type) ||
      facts.fact(value).rank() != 2)
    return std::nullopt;
  LinearNorm found{.product = &product};
  ir::Node* reader = reader_of(value);
  if (reader && reader->domain().empty() && reader->op_type() == "Add") {
    found.add = reader;
    found.old_bias = reader->input(reader->input(0) == value ? 1 : 0);
    const ir::Tensor* bias = constant_of(found.old_bias);
    if (!bias || bias->data_type != weight->data_type || bias->num_elements() != weight->dims[1] ||
        facts.fact(found.old_bias).dim(facts.fact(found.old_bias).rank() - 1).constant() != weight->dims[1])
      return std::nullopt;
    value = reader->output(0);
    reader = reader_of(value);
  }
  if (!reader || !reader->domain().empty() || reader->op_type() != "BatchNormalization") return std::nullopt;
  auto affine = affine_of(*reader, *value, weight->dims[1], facts);
  if (!affine) return std::nullopt;
  found.norm = reader;
  found.affine = *std::move(affine);
  return found;
}

}  // namespace

int fuse_linear_norms(Context& context) {
  infer::Inference& facts = context.facts();
  return rewrite::for_sites(context, [&](ir::Node* product) {
    if (product->op_type() != "MatMul" || !product->domain().empty()) return 0;
    const auto found = find_linear_norm(*product, facts);
    if (!found) return 0;
    const ir::Tensor& weight = *product->input(1)->initializer();
    std::vector<float> bias(found->affine.scale.size());
    const std::vector<double> before =
        found->old_bias ? constant_of(found->old_bias)->to_double() : std::vector<double>();
    bool is_finite = true;
    for (size_t i = 0; i < bias.size(); ++i) {
      bias[i] = found->affine(found->old_bias ? std::optional(static_cast<float>(before[i])) : std::nullopt, i);
      is_finite &= std::isfinite(bias[i]) && std::isfinite(found->affine.scale[i]);
    }
    const uint64_t bytes = bias.size() * ir::bits_of(weight.data_type) / 8;
    if (!is_finite || (!own_constant(found->old_bias) && bytes > found->affine.bytes)) return 0;
    rewrite::Patch patch(context.model, {});
    ir::Graph& graph = *product->graph();
    const auto listed = [&](ir::Tensor tensor, const std::string& name) {
      tensor.name = graph.unique_name(name + "_fused");
      return graph.add_initializer(std::move(tensor));
    };
    std::vector<std::byte> packed(bytes);
    ir::from_floats(bias, weight.data_type, packed.data());
    ir::Value* scaled_weight = listed(scaled(weight, kColumns, found->affine.scale), product->input(1)->name());
    ir::Value* shift =
        listed(ir::Tensor::from_bytes({}, weight.data_type, {static_cast<int64_t>(bias.size())}, std::move(packed)),
               found->old_bias ? found->old_bias->name() : found->norm->input(2)->name());
    context.changes.made.push_back({.kind = "fuse BatchNormalization into MatMul",
                                    .location = product->describe(),
                                    .replaced = {{"MatMul and BatchNormalization", "MatMul and Add"}}});
    patch.emitter().set_origin(rewrite::name_of(*found->norm));
    const ops::Emit at = patch.before(found->norm);
    product->set_input(1, scaled_weight);
    patch.replace(found->norm->output(0), at.add(product->output(0), shift));
    graph.remove_node(found->norm);
    if (found->add) graph.remove_node(found->add);
    patch.apply(facts);
    return 1;
  });
}

}  // namespace thaw::optimizing
