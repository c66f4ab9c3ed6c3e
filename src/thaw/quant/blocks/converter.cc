#include "thaw/quant/blocks/converter.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "thaw/ops/onnx/constant_operand.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/quant/blocks/awq.h"
#include "thaw/quant/blocks/gptq.h"
#include "thaw/quant/blocks/searched_error.h"
#include "thaw/quant/blocks/three_bits.h"
#include "thaw/quant/samples/made_once.h"
#include "thaw/rewrite/splice.h"

namespace thaw::quantizing::blocks {

using ir::DataType;

namespace {

constexpr int64_t kSmallestBlock = 16;
constexpr int64_t kOpsetOfBlocks = 21, kVersionOfBlocks = 10;    // DequantizeLinear's block_size and types of 4 bits
constexpr int64_t kOpsetOfBitwise = 18;                          // BitwiseAnd and BitwiseOr
constexpr int64_t kOpsetOfTwoBits = 25, kVersionOfTwoBits = 13;  // of ONNX's file format, the version

Method method_of(BlockMethod method, bool real_zeros) {
  if (real_zeros) return search_real;
  switch (method) {
    case BlockMethod::kRtn:
      return rtn;
    case BlockMethod::kHqq:
      return hqq;
    default:
      return search;
  }
}

bool is_float(DataType type) {
  return type == DataType::kFloat || type == DataType::kFloat16 || type == DataType::kBfloat16;
}

// Constants that nobody can replace, matrices or stacks of them; null for others.
const ir::Tensor* constant_weight(const ir::Value* value) {
  const ir::Tensor* tensor = value && !value->is_input() ? value->constant() : nullptr;
  return tensor && tensor->dims.size() >= 2 && is_float(tensor->data_type) ? tensor : nullptr;
}

std::string why_no_matrix(const ir::Tensor& tensor) {
  if (tensor.dims.size() != 2) return fmt::format("its weight is no matrix, but has {} axes", tensor.dims.size());
  return tensor.num_elements() == 0 ? "its weight is empty" : "";
}

std::string why_no_real_zeros(int bits, const BlockOptions& options) {
  if (options.symmetric) return "blocks without zero points have no real ones";
  if (options.form == BlockForm::kQdq) return "DequantizeLinear has zero points of the codes' type";
  if (bits == 8) return "ONNX Runtime's MatMulNBits has no kernel for 8 bits with real zero points";
  const bool has_method = options.method == BlockMethod::kSearch || options.method == BlockMethod::kAwq;
  return has_method ? "" : "real zero points are what search and awq look for, no other method";
}

std::string_view form_name(BlockForm form) {
  return form == BlockForm::kQdq ? "DequantizeLinear of blocks" : "weights in blocks";
}

}  // namespace

std::string why_not(int bits, const BlockOptions& options) {
  if (bits != 2 && bits != 3 && bits != 4 && bits != 8) return fmt::format("there are no blocks of {} bits", bits);
  if (options.block < kSmallestBlock || options.block > kLargestBlock ||
      !std::has_single_bit(static_cast<uint64_t>(options.block)))
    return fmt::format("blocks have 16, 32, 64, 128 or 256 weights, not {}", options.block);
  if (options.form == BlockForm::kQdq && options.accuracy_level != 0)
    return "an accuracy level is MatMulNBits'; of DequantizeLinear ONNX Runtime's session option "
           "session.qdq_matmulnbits_accuracy_level has it";
  return options.real_zeros ? why_no_real_zeros(bits, options) : "";
}

int64_t opset_needed(int bits, const BlockOptions& options) {
  if (options.form != BlockForm::kQdq) return bits == 3 ? kOpsetOfBitwise : 1;
  return bits == 2 ? kOpsetOfTwoBits : kOpsetOfBlocks;
}

struct Converter::Request {
  BlockFormat format;
  BlockOptions options;
  const ColumnStatistics* statistics = nullptr;
  RowScaling rows = {};
};

// A weight as a node reads it.
struct Converter::Operand {
  ir::Value* value = nullptr;  // the constant
  const ir::Tensor* tensor = nullptr;
  bool behind_transpose = false;
  bool turned = false;  // the constant is [n, k]
  float gain = 1;
};

bool Converter::is_candidate(const ir::Node& node) {
  if (ops::looks_up_rows(node)) return constant_weight(node.input(0)) != nullptr;
  const auto product = ops::weight_product(node);
  if (!product) return false;
  const ir::Value* weight = node.input(product->weight);
  if (constant_weight(weight)) return true;
  return weight && weight->producer() && constant_weight(ops::turned_matrix(*weight->producer()));
}

ir::Value* Converter::summed_input(const ir::Node& node) {
  const auto product = is_candidate(node) ? ops::weight_product(node) : std::nullopt;
  return product ? node.input(product->x) : nullptr;
}

std::pair<ir::Value*, bool> Converter::weight_of(const ir::Node& node) {
  if (ops::looks_up_rows(node)) return {node.input(0), true};
  const ops::WeightProduct product = *ops::weight_product(node);
  ir::Value* value = node.input(product.weight);
  if (constant_weight(value)) return {value, product.weight_is_turned};
  return {ops::turned_matrix(*value->producer()), !product.weight_is_turned};
}

std::string Converter::convert(ir::Node& node, int bits, const BlockOptions& options,
                               const ColumnStatistics* statistics, rewrite::Changes& changes) {
  ir::Node* one = &node;
  return convert(std::span(&one, 1), bits, options, statistics, changes).front();
}

std::vector<std::string> Converter::convert(std::span<ir::Node* const> nodes, int bits, const BlockOptions& options,
                                            const ColumnStatistics* statistics, rewrite::Changes& changes) {
  std::string why = why_not(bits, options);
  if (why.empty() && model_.opset("").value_or(1) < opset_needed(bits, options))
    why = fmt::format("{} takes opset {}", form_name(options.form), opset_needed(bits, options));
  if (!why.empty()) return std::vector(nodes.size(), why);
  Request request{.format = {.bits = bits,
                             .block = options.block,
                             .symmetric = options.symmetric,
                             .real_zeros = options.real_zeros},
                  .options = options,
                  .statistics = statistics};
  if (options.method == BlockMethod::kAwq) {
    why = why_not_scaled(nodes, request);
    if (why.empty()) {
      request.rows = scale_rows(nodes, request);
    } else {
      request.options.method = BlockMethod::kSearch;
      for (const ir::Node* node : nodes)
        if (summed_input(*node))
          changes.left.push_back(
              {.kind = "awq", .place = rewrite::name_of(*node), .part = {}, .replaced = {}, .nodes = 0, .why = why});
    }
  }
  std::vector<std::string> reasons;
  for (ir::Node* node : nodes) reasons.push_back(convert(*node, request, changes));
  return reasons;
}

std::string Converter::convert(ir::Node& node, const Request& request, rewrite::Changes& changes) {
  if (!is_candidate(node)) return "none of its operands is a constant matrix that it multiplies by or looks up";
  return ops::looks_up_rows(node) ? convert_lookup(node, request, changes) : convert_product(node, request, changes);
}

std::string Converter::why_not_scaled(std::span<ir::Node* const> nodes, const Request& request) const {
  const ir::Node& first = *nodes.front();
  const bool has_products = summed_input(first) != nullptr;
  if (!has_products || !request.statistics) return {};
  for (const ir::Node* node : nodes) {
    Operand operand;
    Request own = request;
    if (!summed_input(*node)) {
      if (request.options.form != BlockForm::kQdq)
        return "awq cannot scale a weight that is looked up too: search chooses its codes";
    } else if (summed_input(*node) != summed_input(first) && !examine(*node, own, operand).empty()) {
      return "awq cannot scale a weight where one of those that read it is left: search chooses its codes";
    }
  }
  return {};
}

RowScaling Converter::scale_rows(std::span<ir::Node* const> nodes, const Request& request) {
  std::vector<ir::Node*> products;
  std::vector<WeightMatrix> weights;
  for (ir::Node* node : nodes) {
    Operand operand;
    Request own = request;
    if (!is_candidate(*node) || ops::looks_up_rows(*node) || !examine(*node, own, operand).empty()) continue;
    products.push_back(node);
    weights.emplace_back(*operand.tensor, operand.turned);
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

Converter::Key Converter::key_of(const Operand& operand, const Request& request) {
  const BlockFormat& f = request.format;
  return {operand.value,
          operand.turned,
          f.bits,
          f.block,
          f.symmetric,
          f.real_zeros,
          f.scale_type,
          operand.gain,
          request.rows.scales.get(),
          request.rows.by_importance,
          request.options.method};
}

BlockTensors Converter::make(const Operand& operand, const Request& request, Layout layout) const {
  const auto bytes_of = [](const std::vector<float>& numbers) { return std::as_bytes(std::span(numbers)); };
  const BlockFormat& f = request.format;
  MadeKey key("blocks", *operand.tensor);
  key.add(operand.turned).add(operand.gain).add(layout).add(request.options.method).add(request.rows.by_importance);
  key.add(f.bits).add(f.block).add(f.symmetric).add(f.real_zeros).add(f.scale_type);
  if (request.rows.scales) key.add(bytes_of(*request.rows.scales));
  if (known_ && request.statistics) {
    const Importance importance = importance_of(*request.statistics);
    key.add(bytes_of(importance.squares)).add(bytes_of(importance.means)).add(request.statistics->has_products());
  }
  std::vector<ir::Tensor> made = made_once(known_, key, [&] {
    BlockTensors now = make_new(operand, request, layout);
    std::vector<ir::Tensor> tensors{std::move(now.codes), std::move(now.scales)};
    if (now.zeros) tensors.push_back(std::move(*now.zeros));
    return tensors;
  });
  BlockTensors tensors{std::move(made[0]), std::move(made[1]), {}};
  if (made.size() > 2) tensors.zeros = std::move(made[2]);
  return tensors;
}

BlockTensors Converter::make_new(const Operand& operand, const Request& request, Layout layout) {
  WeightMatrix weight(*operand.tensor, operand.turned, operand.gain, request.rows.scales);
  if (request.options.method == BlockMethod::kGptq && request.statistics) {
    const int64_t k = weight.k(), n = weight.n();
    return in_blocks(gptq(weight, request.format, *request.statistics), k, n, operand.turned, request.format, layout);
  }
  Importance importance;
  if (request.statistics && request.rows.by_importance)
    importance = importance_of(*request.statistics, request.rows.scales ? *request.rows.scales : std::vector<float>());
  // Awq has decided for all that read the same input.
  if (request.options.method == BlockMethod::kSearch && !importance.empty() &&
      !importance_serves(weight, request.format, *request.statistics, importance))
    importance = {};
  return in_blocks(std::move(weight), request.format, layout,
                   method_of(request.options.method, request.format.real_zeros), std::move(importance));
}

Converter::Listed Converter::list(const BlockTensors& tensors, Layout layout, const Operand& operand,
                                  const BlockFormat& format, rewrite::Patch& patch) {
  ir::Graph& graph = *operand.value->graph();
  const int64_t k = operand.tensor->dims[operand.turned ? 1 : 0], n = operand.tensor->dims[operand.turned ? 0 : 1];
  const AllDims dims = dims_of(k, n, operand.turned, format, layout);
  const auto add = [&](ir::Tensor tensor, const std::vector<int64_t>& size, const std::string& ending) {
    tensor.name = graph.unique_name(operand.value->name() + ending);
    if (!size.empty()) tensor.dims = size;
    return graph.add_initializer(std::move(tensor));
  };
  Listed listed;
  const bool is_of_three = format.bits == 3;
  listed.codes =
      add(tensors.codes, is_of_three ? std::vector<int64_t>() : dims.codes, fmt::format("_Q{}", format.bits));
  listed.scales = add(tensors.scales, dims.scales, "_scales");
  if (tensors.zeros) listed.zeros = add(*tensors.zeros, dims.zeros, "_zero_points");
  if (!is_of_three) return listed;
  // Before all that may come to read them.
  const ops::Emit first = patch.before(graph.nodes().front());
  const bool are_single = layout == Layout::kAsStored;
  listed.codes =
      are_single ? single_codes(first, listed.codes, dims.codes) : pairs_of_codes(first, listed.codes, dims.codes);
  if (format.symmetric) listed.zeros = are_single ? middle_codes(first, dims.zeros) : middle_pairs(first, dims.zeros);
  return listed;
}

std::string Converter::examine(const ir::Node& node, Request& request, Operand& operand) const {
  const ops::WeightProduct product = *ops::weight_product(node);
  std::tie(operand.value, operand.turned) = weight_of(node);
  operand.behind_transpose = node.input(product.weight) != operand.value;
  operand.tensor = constant_weight(operand.value);
  if (std::string why = why_no_matrix(*operand.tensor); !why.empty()) return why;
  const DataType type = operand.tensor->data_type;
  const ops::Fact& x = facts_.fact(node.input(product.x));
  if (x.dtype != type) return "the type of what its weight multiplies is not known";
  if (x.rank() < 2) return "what its weight multiplies is a vector, or its rank is not known";
  const int64_t k = operand.tensor->dims[operand.turned ? 1 : 0];
  if (request.statistics && request.statistics->k() != k) return "the samples' inputs do not fit its weight";
  const BlockMethod method = request.options.method;
  if (method == BlockMethod::kGptq && !(request.statistics && request.statistics->has_products()))
    return "gptq needs samples of its inputs";
  if (method == BlockMethod::kAwq && !request.statistics) return "awq needs samples of its inputs";
  if (method == BlockMethod::kAwq && product.x_is_turned) return "awq takes no input that is transposed";
  request.format.scale_type = type;
  return {};
}

std::string Converter::convert_product(ir::Node& node, const Request& asked, rewrite::Changes& changes) {
  const ops::WeightProduct product = *ops::weight_product(node);
  Request request = asked;
  Operand operand;
  if (std::string why = examine(node, request, operand); !why.empty()) return why;
  const DataType type = operand.tensor->data_type;
  const int64_t k = operand.tensor->dims[operand.turned ? 1 : 0], n = operand.tensor->dims[operand.turned ? 0 : 1];
  if (request.options.form == BlockForm::kQdq) return dequantize(node, product.weight, operand, request, changes);

  operand.gain = product.alpha;
  rewrite::Patch patch(model_, {});
  patch.emitter().set_origin(rewrite::name_of(node));
  const ops::Emit at = patch.before(&node);
  Entry& entry = entries_[key_of(operand, request)];
  if (!entry.tensors) entry.tensors = std::make_shared<BlockTensors>(make(operand, request, Layout::kColumns));
  if (!entry.product) {
    entry.product = list(*entry.tensors, Layout::kColumns, operand, request.format, patch);
    if (entry.lookup) {
      // The lookups read what the products have, in their own dims.
      const AllDims dims = dims_of(k, n, true, request.format, Layout::kTable);
      const auto reshaped = [&](ir::Value*& old, ir::Value* now, const std::vector<int64_t>& size) {
        if (!old) return;
        ir::Node* reader = old->uses().begin()->node;
        patch.replace(old, patch.before(reader).reshape(now, patch.before(reader).list(size)));
        if (old->constant()) old->graph()->remove_initializer(old);
        old = nullptr;
      };
      reshaped(entry.lookup.zeros, entry.product.zeros, dims.zeros);
      reshaped(entry.lookup.scales, entry.product.scales, dims.scales);
      reshaped(entry.lookup.codes, entry.product.codes, dims.codes);
    }
  }
  ir::Value* rows = product.x_is_turned ? at.transpose(node.input(product.x), {1, 0}) : node.input(product.x);
  std::vector<ir::Value*> inputs{rows, entry.product.codes, entry.product.scales};
  if (entry.product.zeros) inputs.push_back(entry.product.zeros);
  ops::Attributes attributes{
      {"K", k}, {"N", n}, {"bits", int64_t{request.format.stored_bits()}}, {"block_size", request.format.block}};
  if (request.options.accuracy_level != 0)
    attributes.push_back({"accuracy_level", int64_t{request.options.accuracy_level}});
  ir::Value* result = rewrite::emit_node(at, {.op = ops::kBlockProduct,
                                              .inputs = std::move(inputs),
                                              .attributes = std::move(attributes),
                                              .domain = ops::kMicrosoft})
                          .front();
  if (product.bias >= 0) {
    ir::Value* bias = node.input(product.bias);
    result = at.add(result, product.beta == 1 ? bias : at.mul(bias, at.scalar(product.beta, type)));
  }
  changes.made.push_back({.kind = std::string(ops::kBlockProduct),
                          .place = node.describe(),
                          .replaced = {{node.op_type(), std::string(ops::kBlockProduct)}}});
  patch.replace(node.output(0), result);
  node.graph()->remove_node(&node);
  patch.apply(facts_);
  return {};
}

Converter::Entry& Converter::entry_for_lookup(const Operand& operand, const Request& request) {
  const Key own = key_of(operand, request);
  // A product's codes serve, whatever method they are of, and save a second tensor.
  for (auto& [key, entry] : entries_) {
    Key other = key;
    std::get<BlockMethod>(other) = std::get<BlockMethod>(own);
    if (other == own && entry.tensors) return entry;
  }
  return entries_[own];
}

std::string Converter::convert_lookup(ir::Node& node, const Request& asked, rewrite::Changes& changes) {
  if (asked.options.form == BlockForm::kQdq)
    return "standard operators would dequantize the whole table at every run to look up some of its rows";
  Request request = asked;
  request.statistics = nullptr;
  request.rows = {};
  request.format.real_zeros = false;  // GatherBlockQuantized has zeros of the codes' type
  if (request.options.method == BlockMethod::kGptq || request.options.method == BlockMethod::kAwq)
    request.options.method = BlockMethod::kSearch;  // its inputs are indices
  const Operand operand{.value = node.input(0), .tensor = constant_weight(node.input(0)), .turned = true};
  if (std::string why = why_no_matrix(*operand.tensor); !why.empty()) return why;
  const DataType type = operand.tensor->data_type;
  const int64_t rows = operand.tensor->dims[0], width = operand.tensor->dims[1];
  if (width * request.format.stored_bits() % 8 != 0)
    return fmt::format("a row of {} codes of {} bits ends within a byte", width, request.format.stored_bits());
  request.format.scale_type = type;

  rewrite::Patch patch(model_, {});
  patch.emitter().set_origin(rewrite::name_of(node));
  const ops::Emit at = patch.before(&node);
  const bool fits = width % request.format.block == 0;  // else the bytes are not those of a product
  Entry own;
  Entry& entry = fits ? entry_for_lookup(operand, request) : own;
  if (!entry.tensors) entry.tensors = std::make_shared<BlockTensors>(make(operand, request, Layout::kTable));
  Listed listed = entry.lookup;
  if (entry.product) {
    const AllDims dims = dims_of(width, rows, true, request.format, Layout::kTable);
    listed.codes = at.reshape(entry.product.codes, at.list(dims.codes));
    listed.scales = at.reshape(entry.product.scales, at.list(dims.scales));
    if (entry.product.zeros) listed.zeros = at.reshape(entry.product.zeros, at.list(dims.zeros));
  } else if (!listed) {
    listed = entry.lookup = list(*entry.tensors, Layout::kTable, operand, request.format, patch);
  }
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
  changes.made.push_back({.kind = std::string(ops::kBlockLookup),
                          .place = node.describe(),
                          .replaced = {{node.op_type(), std::string(ops::kBlockLookup)}}});
  patch.replace(node.output(0), result);
  node.graph()->remove_node(&node);
  patch.apply(facts_);
  return {};
}

std::string Converter::dequantize(ir::Node& node, int input, const Operand& operand, const Request& request,
                                  rewrite::Changes& changes) {
  const bool is_of_two = request.format.bits == 2;
  if (is_of_two && !operand.turned && operand.tensor->dims[1] % 4 != 0)
    return "ONNX Runtime 1.31 computes wrong numbers where a row of its codes of 2 bits ends within a byte";
  model_.ir_version = std::max(model_.ir_version, is_of_two ? kVersionOfTwoBits : kVersionOfBlocks);
  rewrite::Patch patch(model_, {});
  patch.emitter().set_origin(rewrite::name_of(node));
  const ops::Emit at = patch.before(&node);
  Entry& entry = entries_[key_of(operand, request)];
  if (!entry.stored) {
    entry.tensors = std::make_shared<BlockTensors>(make(operand, request, Layout::kAsStored));
    entry.stored = list(*entry.tensors, Layout::kAsStored, operand, request.format, patch);
  }
  std::vector<ir::Value*> inputs{entry.stored.codes, entry.stored.scales};
  if (entry.stored.zeros) inputs.push_back(entry.stored.zeros);
  ir::Value* weight = at.emit(ops::kDequantize, std::move(inputs),
                              {{"axis", int64_t{operand.turned ? 1 : 0}}, {"block_size", request.format.block}});
  if (operand.behind_transpose) weight = at.transpose(weight, {1, 0});
  changes.made.push_back(
      {.kind = std::string(ops::kDequantize),
       .place = node.describe(),
       .replaced = {
           {std::string(ir::name_of(operand.tensor->data_type)),
            request.format.bits == 3 ? "codes of 3 bits" : std::string(ir::name_of(entry.tensors->codes.data_type))}}});
  node.set_input(input, weight);
  patch.apply(facts_);
  return {};
}

}  // namespace thaw::quantizing::blocks
