#include "thaw/quant/blocks/block_writer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "thaw/ops/onnx/constant_operand.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/target/planned_node.h"
#include "thaw/quant/blocks/awq.h"
#include "thaw/quant/blocks/formats.h"
#include "thaw/quant/blocks/weight_readers.h"
#include "thaw/rewrite/splice.h"

namespace thaw::quantizing::blocks {

using ir::DataType;

namespace {

constexpr int64_t kVersionOfBlocks = 10, kVersionOfTwoBits = 13;  // of ONNX's file format

std::string why_no_matrix(const ir::Tensor& tensor) {
  if (tensor.dims.size() != 2) return fmt::format("its weight has {} axes, not 2", tensor.dims.size());
  return tensor.num_elements() == 0 ? "its weight is empty" : "";
}

std::string_view form_name(BlockForm form) {
  return form == BlockForm::kQdq ? "block-wise DequantizeLinear" : "block-wise quantized weights";
}

BlockOperand operand_of(const StoredWeight& weight) {
  return {.value = weight.value, .tensor = weight.tensor, .transposed = weight.transposed};
}

}  // namespace

std::string BlockWriter::write(ir::Node& node, int bits, const BlockOptions& options,
                               const ColumnStatistics* statistics) {
  ir::Node* one = &node;
  return write(std::span(&one, 1), bits, options, statistics).front();
}

std::vector<std::string> BlockWriter::write(std::span<ir::Node* const> nodes, int bits, const BlockOptions& options,
                                            const ColumnStatistics* statistics, bool has_one_sided_inputs) {
  std::string why = why_not(bits, options);
  if (why.empty() && model_.opset("").value_or(1) < opset_needed(bits, options))
    why = fmt::format("{} takes opset {}", form_name(options.form), opset_needed(bits, options));
  if (!why.empty()) return std::vector(nodes.size(), why);
  BlockRequest request{.format = {.bits = bits,
                                  .block = options.block,
                                  .symmetric = options.symmetric,
                                  .real_zeros = options.real_zeros},
                       .options = options,
                       .statistics = statistics,
                       .has_one_sided_inputs = has_one_sided_inputs};
  if (options.method == BlockMethod::kAwq) {
    why = why_not_scaled(nodes, request);
    if (why.empty()) {
      request.rows = scale_rows(nodes, request);
    } else {
      request.options.method = BlockMethod::kSearch;
      for (const ir::Node* node : nodes)
        if (summed_input(*node))
          changes_.left.push_back(
              {.kind = "awq", .location = rewrite::name_of(*node), .part = {}, .replaced = {}, .nodes = 0, .why = why});
    }
  }
  std::vector<std::string> reasons;
  for (ir::Node* node : nodes) reasons.push_back(write(*node, request));
  return reasons;
}

std::string BlockWriter::write(ir::Node& node, const BlockRequest& request) {
  if (!is_candidate(node)) return "it has no constant matrix to multiply by or to look up";
  return ops::looks_up_rows(node) ? write_lookup(node, request) : write_product(node, request);
}

std::string BlockWriter::why_not_scaled(std::span<ir::Node* const> nodes, const BlockRequest& request) const {
  const ir::Node& first = *nodes.front();
  const bool has_products = summed_input(first) != nullptr;
  if (!has_products || !request.statistics) return {};
  for (const ir::Node* node : nodes) {
    BlockOperand operand;
    BlockRequest own = request;
    if (!summed_input(*node)) {
      if (request.options.form != BlockForm::kQdq)
        return "awq cannot scale a weight that is also looked up: search quantizes it";
    } else if (summed_input(*node) != summed_input(first) && !examine(*node, own, operand).empty()) {
      return "awq cannot scale a weight with a reader that stays unchanged: search quantizes it";
    }
  }
  return {};
}

RowScaling BlockWriter::scale_rows(std::span<ir::Node* const> nodes, const BlockRequest& request) {
  std::vector<ir::Node*> products;
  std::vector<WeightMatrix> weights;
  for (ir::Node* node : nodes) {
    BlockOperand operand;
    BlockRequest own = request;
    if (!is_candidate(*node) || ops::looks_up_rows(*node) || !examine(*node, own, operand).empty()) continue;
    products.push_back(node);
    weights.emplace_back(*operand.tensor, operand.transposed);
  }
  if (products.empty()) return {};
  RowScaling rows = awq_scales(weights, request.format, *request.statistics, importance_of(*request.statistics));
  if (!rows.scales) return rows;
  std::vector<std::pair<ir::Value*, std::vector<ir::Node*>>> by_input;
  for (ir::Node* product : products) {
    ir::Value* input = summed_input(*product);
    const auto at = std::ranges::find(by_input, input, &std::pair<ir::Value*, std::vector<ir::Node*>>::first);
    (at == by_input.end() ? by_input.emplace_back(input, std::vector<ir::Node*>()) : *at).second.push_back(product);
  }
  for (const auto& [input, readers] : by_input) divide_input(model_, facts_, input, readers, *rows.scales);
  return rows;
}

std::string BlockWriter::examine(const ir::Node& node, BlockRequest& request, BlockOperand& operand) const {
  const ops::WeightProduct product = *ops::weight_product(node);
  const StoredWeight weight = *weight_of(node);
  operand = operand_of(weight);
  operand.behind_transpose = weight.transposed != product.weight_is_transposed;
  if (std::string why = why_no_matrix(*operand.tensor); !why.empty()) return why;
  const ops::Fact& x = facts_.fact(node.input(product.x));
  if (x.dtype == DataType::kUndefined) return "the type of its other operand is unknown";
  if (x.dtype != weight.type)
    return fmt::format("its operand is {}, but its weight {}", ir::name_of(x.dtype), ir::name_of(weight.type));
  if (x.rank() < 2) return "its operand is a vector, or has an unknown rank";
  if (request.statistics && request.statistics->k() != operand.k()) return "the samples' inputs do not fit its weight";
  const BlockMethod method = request.options.method;
  if (method == BlockMethod::kGptq && !(request.statistics && request.statistics->has_products()))
    return "gptq needs samples of its inputs";
  if (method == BlockMethod::kAwq && !request.statistics) return "awq needs samples of its inputs";
  if (method == BlockMethod::kAwq && product.x_is_transposed) return "awq takes no input that is transposed";
  request.format.scale_type = weight.type;
  return {};
}

std::string BlockWriter::write_product(ir::Node& node, const BlockRequest& asked) {
  const ops::WeightProduct product = *ops::weight_product(node);
  BlockRequest request = asked;
  BlockOperand operand;
  if (std::string why = examine(node, request, operand); !why.empty()) return why;
  if (request.options.form == BlockForm::kQdq) return dequantize(node, product.weight, operand, request);

  operand.gain = product.alpha;
  rewrite::Patch patch(model_, {});
  patch.emitter().set_origin(rewrite::name_of(node));
  const ops::Emit at = patch.before(&node);
  const WeightStore::Listed& listed = store_.for_product(operand, request, patch);
  ir::Value* rows = product.x_is_transposed ? at.transpose(node.input(product.x), {1, 0}) : node.input(product.x);
  std::vector<ir::Value*> inputs{rows, listed.codes, listed.scales};
  if (listed.zeros) inputs.push_back(listed.zeros);
  ops::Attributes attributes{{"K", operand.k()},
                             {"N", operand.n()},
                             {"bits", int64_t{request.format.stored_bits()}},
                             {"block_size", request.format.block}};
  if (request.options.accuracy_level != 0)
    attributes.push_back({"accuracy_level", int64_t{request.options.accuracy_level}});
  ir::Value* result = rewrite::emit_node(at, {.op = ops::kBlockProduct,
                                              .inputs = std::move(inputs),
                                              .attributes = std::move(attributes),
                                              .domain = ops::kMicrosoft})
                          .front();
  if (product.bias >= 0) {
    ir::Value* bias = node.input(product.bias);
    result =
        at.add(result, product.beta == 1 ? bias : at.mul(bias, at.scalar(product.beta, request.format.scale_type)));
  }
  replace(node, result, ops::kBlockProduct, patch);
  return {};
}

std::string BlockWriter::write_lookup(ir::Node& node, const BlockRequest& asked) {
  if (asked.options.form == BlockForm::kQdq) return "standard operators would dequantize the whole table in every run";
  if (std::string why = why_no_lookup(node, asked.format); !why.empty()) return why;
  BlockRequest request = asked;
  request.statistics = nullptr;
  request.rows = {};
  request.format.real_zeros = false;  // GatherBlockQuantized has zeros of the codes' type
  if (request.options.method == BlockMethod::kGptq || request.options.method == BlockMethod::kAwq)
    request.options.method = BlockMethod::kSearch;  // its inputs are indices
  const StoredWeight table = *weight_of(node);
  const BlockOperand operand = operand_of(table);
  if (std::string why = why_no_matrix(*operand.tensor); !why.empty()) return why;
  if (operand.k() * request.format.stored_bits() % 8 != 0)
    return fmt::format("a row of {} {}-bit values ends within a byte", operand.k(), request.format.stored_bits());
  request.format.scale_type = table.type;

  rewrite::Patch patch(model_, {});
  patch.emitter().set_origin(rewrite::name_of(node));
  const ops::Emit at = patch.before(&node);
  const WeightStore::Listed listed = store_.for_lookup(operand, request, patch, at);
  std::vector<ir::Value*> inputs{listed.codes, node.input(1), listed.scales};
  if (listed.zeros) inputs.push_back(listed.zeros);
  ir::Value* result = rewrite::emit_node(at, {.op = ops::kBlockLookup,
                                              .inputs = std::move(inputs),
                                              .attributes = {{"gather_axis", int64_t{0}},
                                                             {"quantize_axis", int64_t{1}},
                                                             {"bits", int64_t{request.format.stored_bits()}},
                                                             {"block_size", request.format.block}},
                                              .domain = ops::kMicrosoft})
                          .front();
  replace(node, result, ops::kBlockLookup, patch);
  return {};
}

// What a table is not known to take stays as it is.
std::string BlockWriter::why_no_lookup(const ir::Node& node, const BlockFormat& format) const {
  if (!target_) return {};
  const DataType zeros = format.symmetric ? DataType::kUndefined : DataType::kUint8;
  const ops::Taken taken =
      ops::how_taken(*target_,
                     {.op = ops::kBlockLookup,
                      .inputs = {DataType::kUint8, facts_.fact(node.input(1)).dtype, weight_of(node)->type, zeros},
                      .attributes = {{"bits", fmt::format("{}", format.stored_bits())}},
                      .has_zeros = !format.symmetric,
                      .domain = ops::kMicrosoft},
                     1);
  return taken.support == Support::kSupported || taken.support == Support::kPartial ? "" : taken.why;
}

void BlockWriter::replace(ir::Node& node, ir::Value* result, std::string_view op, rewrite::Patch& patch) {
  changes_.made.push_back(
      {.kind = std::string(op), .location = node.describe(), .replaced = {{node.op_type(), std::string(op)}}});
  patch.replace_by_new(node.output(0), result);
  node.graph()->remove_node(&node);
  patch.apply(facts_);
}

std::string BlockWriter::dequantize(ir::Node& node, int input, const BlockOperand& operand,
                                    const BlockRequest& request) {
  const bool is_of_two = request.format.bits == 2;
  if (is_of_two && !operand.transposed && operand.tensor->dims[1] % 4 != 0)
    return "ONNX Runtime 1.31 gives wrong results where a row of 2-bit values ends within a byte";
  model_.ir_version = std::max(model_.ir_version, is_of_two ? kVersionOfTwoBits : kVersionOfBlocks);
  rewrite::Patch patch(model_, {});
  patch.emitter().set_origin(rewrite::name_of(node));
  const WeightStore::Listed& stored = store_.as_stored(operand, request, patch);
  // ONNX Runtime 1.31 does not load a product inside an If whose codes stand outside, beside no DequantizeLinear.
  ir::Node* reader = &node;
  while (reader->graph() != stored.codes->graph()) reader = reader->graph()->parent_node();
  const ops::Emit at = patch.before(reader);
  std::vector<ir::Value*> inputs{stored.codes, stored.scales};
  if (stored.zeros) inputs.push_back(stored.zeros);
  ir::Value* weight = at.emit(ops::kDequantize, std::move(inputs),
                              {{"axis", int64_t{operand.transposed ? 1 : 0}}, {"block_size", request.format.block}});
  if (operand.behind_transpose) weight = at.transpose(weight, {1, 0});
  changes_.made.push_back(
      {.kind = std::string(ops::kDequantize),
       .location = node.describe(),
       .replaced = {{std::string(ir::name_of(operand.tensor->data_type)),
                     request.format.bits == 3 ? "3-bit quantized values"
                                              : std::string(ir::name_of(stored.codes->constant()->data_type))}}});
  node.set_input(input, weight);
  patch.apply(facts_);
  return {};
}

}  // namespace thaw::quantizing::blocks
