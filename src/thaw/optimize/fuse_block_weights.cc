// com.microsoft's MatMulNBits: a product with a transposed weight that DequantizeLinear makes of blocks of 4 bits.
//
// A weight with its summed axis first ONNX Runtime makes one of by itself, as exactly as the session says: that is left to it.
// One that a Transpose or Gemm turns it leaves, and dequantizes whole at each run. Of 8 bits it has no kernel that computes in
// float32, and takes longer than for the product.
#include <bit>
#include <optional>

#include <fmt/format.h>

#include "thaw/ir/data/tensor_source.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/optimize/passes.h"
#include "thaw/optimize/site.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/sites.h"
#include "thaw/rewrite/splice.h"

namespace thaw::optimizing {
namespace {

using ir::DataType;

constexpr int64_t kLeastBlock = 16, kBits = 4;
constexpr int64_t kInFloat32 = 1;  // the accuracy level: as the product that it stands for

// Integers of 4 bits, the low half of a byte first: the columns of a matrix, one after the other.
struct Packed {
  ir::Tensor tensor;
  bool is_signed = false;

  // As MatMulNBits has them: unsigned, those with a sign moved up by half the range.
  unsigned at(std::span<const std::byte> bytes, int64_t i) const {
    const auto both = std::to_integer<unsigned>(bytes[static_cast<size_t>(i / 2)]);
    const unsigned one = i % 2 == 0 ? both & 0xFU : both >> 4U;
    return one ^ (is_signed ? 0x8U : 0U);
  }
};

std::optional<Packed> packed(const ir::Value* value) {
  const ir::Tensor* tensor = constant_of(value);
  if (!tensor || tensor->dims.size() != 2) return std::nullopt;
  switch (tensor->data_type) {
    case DataType::kInt4:
      return Packed{*tensor, true};
    case DataType::kUint4:
      return Packed{*tensor, false};
    default:
      return std::nullopt;
  }
}

// Each column packed from a byte of its own on. Read when it is written.
class PackedColumns final : public ir::TensorSource {
 public:
  // The bytes are found at once: a source must not ask another tensor for them while it writes.
  explicit PackedColumns(Packed from) : from_(std::move(from)), bytes_(from_.tensor.bytes()) {}

  void write(const Sink& sink) const override {
    const int64_t columns = from_.tensor.dims[0], rows = from_.tensor.dims[1];
    std::vector<std::byte> out(static_cast<size_t>((rows + 1) / 2));
    for (int64_t column = 0; column < columns; ++column) {
      std::ranges::fill(out, std::byte{0});
      for (int64_t row = 0; row < rows; ++row)
        out[static_cast<size_t>(row / 2)] |=
            static_cast<std::byte>(from_.at(bytes_, column * rows + row) << (row % 2 * kBits));
      sink(out);
    }
  }

 private:
  Packed from_;
  std::span<const std::byte> bytes_;
};

ir::Tensor columns_of(const Packed& from, std::vector<int64_t> dims) {
  return ir::Tensor::made({}, DataType::kUint8, std::move(dims), std::make_shared<PackedColumns>(from));
}

ir::Tensor flat(const ir::Tensor& from) {
  const std::span<const std::byte> bytes = from.bytes();
  return ir::Tensor::from_bytes({}, from.data_type, {from.num_elements()}, {bytes.begin(), bytes.end()});
}

struct BlockWeight {
  ir::Node* dequantize = nullptr;
  ir::Node* transpose = nullptr;  // of the dequantized weight; null where there is none
  Packed weight;
  std::optional<Packed> zeros;
  const ir::Tensor* scales = nullptr;
  int64_t rows = 0, columns = 0, block = 0;
};

bool is_named(const ir::Node* node, std::string_view op) {
  return node && node->domain().empty() && node->op_type() == op;
}

// MatMul, or the same and a sum.
bool is_product(const ir::Node& node) {
  return is_named(&node, "MatMul") || (is_named(&node, "Gemm") && node.attribute_int("transA", 0) == 0 &&
                                       node.attribute_float("alpha", 1) == 1 && node.attribute_float("beta", 1) == 1);
}

std::optional<BlockWeight> block_weight(ir::Node& product) {
  BlockWeight found;
  ir::Value* value = product.input(1);
  bool is_transposed = is_named(&product, "Gemm") && product.attribute_int("transB", 0) != 0;
  if (is_named(value->producer(), "Transpose") && is_read_once(*value)) {
    const auto order = value->producer()->attribute_ints("perm");
    if (!order.empty() && (order.size() != 2 || order[0] != 1)) return std::nullopt;
    is_transposed = !is_transposed;
    found.transpose = value->producer();
    value = found.transpose->input(0);
  }
  if (!is_transposed || !is_named(value->producer(), "DequantizeLinear") || !is_read_once(*value)) return std::nullopt;
  ir::Node& node = *value->producer();
  found.dequantize = &node;
  const auto weight = packed(node.input(0));
  found.scales = constant_of(node.input(1));
  found.block = node.attribute_int("block_size", 0);
  if (!weight || !found.scales || found.scales->dims.size() != 2 || found.block < kLeastBlock ||
      !std::has_single_bit(static_cast<uint64_t>(found.block)) || !is_read_once(*node.input(0)))
    return std::nullopt;
  found.weight = *weight;
  const int64_t axis = node.attribute_int("axis", 1);
  if (axis != 1 && axis != -1) return std::nullopt;
  found.columns = weight->tensor.dims[0];
  found.rows = weight->tensor.dims[1];
  if (found.rows < 1 || found.columns < 1 || found.rows % found.block != 0 ||
      found.scales->dims[1] * found.block != found.rows || found.scales->dims[0] != found.columns)
    return std::nullopt;
  if (node.input(2)) {
    found.zeros = packed(node.input(2));
    if (!found.zeros || found.zeros->tensor.dims != found.scales->dims ||
        found.zeros->tensor.data_type != weight->tensor.data_type)
      return std::nullopt;
  }
  // Without zero points MatMulNBits takes half the range, and they would take room of their own.
  return found.zeros || weight->is_signed ? std::optional(std::move(found)) : std::nullopt;
}

}  // namespace

int fuse_block_weights(Context& context) {
  infer::Inference& facts = context.facts();
  return rewrite::for_sites(context, [&](ir::Node* product) {
    if (!is_product(*product) || !product->output(0)->is_used()) return 0;
    const auto found = block_weight(*product);
    if (!found || facts.fact(product->input(0)).rank() < 2) return 0;
    const DataType type = facts.fact(product->input(0)).dtype;
    if (found->scales->data_type != type || type != DataType::kFloat) return 0;
    const int64_t blocks = found->rows / found->block;
    rewrite::Patch patch(context.model, {});
    patch.emitter().set_origin(rewrite::name_of(*product));
    const ops::Emit at = patch.before(product);
    const auto listed = [&](ir::Tensor tensor, const ir::Value* old) {
      tensor.name = context.model.graph->unique_name(old->name() + "_columns");
      return product->graph()->add_initializer(std::move(tensor));
    };
    const ir::Node& dequantize = *found->dequantize;
    std::vector<ir::Value*> inputs{
        product->input(0),
        listed(columns_of(found->weight, {found->columns, blocks, found->block * kBits / 8}), dequantize.input(0)),
        listed(flat(*found->scales), dequantize.input(1))};
    if (found->zeros)
      inputs.push_back(listed(columns_of(*found->zeros, {found->columns * ((blocks + 1) / 2)}), dequantize.input(2)));
    context.changes.made.push_back(
        {.kind = "MatMulNBits",
         .location = product->describe(),
         .replaced = {{fmt::format("DequantizeLinear and {}", product->op_type()), "MatMulNBits"}}});
    ir::Value* made = rewrite::emit_node(at, {.op = "MatMulNBits",
                                              .inputs = std::move(inputs),
                                              .attributes = {{"K", found->rows},
                                                             {"N", found->columns},
                                                             {"bits", kBits},
                                                             {"block_size", found->block},
                                                             {"accuracy_level", kInFloat32}},
                                              .domain = ops::kMicrosoft})
                          .front();
    if (ir::Value* bias = product->input(2)) made = at.add(made, bias);
    patch.replace(product->output(0), made);
    product->graph()->remove_node(product);
    if (found->transpose) found->transpose->graph()->remove_node(found->transpose);
    found->dequantize->graph()->remove_node(found->dequantize);
    patch.apply(facts);
    return 1;
  });
}

}  // namespace thaw::optimizing
