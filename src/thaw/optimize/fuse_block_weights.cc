// com.microsoft's MatMulNBits: a product with a weight that DequantizeLinear makes of blocks of 4 or 8 bits.
#include <bit>
#include <optional>

#include "thaw/ir/data/tensor_source.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/optimize/fusions.h"
#include "thaw/optimize/site.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/splice.h"

namespace thaw::optimizing {
namespace {

using ir::DataType;

constexpr int64_t kLeastBlock = 16;
// How exactly ONNX Runtime reckons. A weight with its summed axis first it fuses by itself, and quantizes what is multiplied
// by it too; one that a Transpose turns it leaves, so that the result was one of float32.
constexpr int64_t kInFloat32 = 1, kInInt8 = 4;

// Integers of 4 or 8 bits, two of them or one a byte, the low half first.
struct Packed {
  ir::Tensor tensor;
  int bits = 4;
  bool is_signed = false;

  // As MatMulNBits has them: unsigned, those with a sign moved up by half the range.
  uint8_t at(std::span<const std::byte> bytes, int64_t i) const {
    if (bits == 8)
      return static_cast<uint8_t>(std::to_integer<uint8_t>(bytes[static_cast<size_t>(i)]) ^ (is_signed ? 0x80U : 0U));
    const auto both = std::to_integer<unsigned>(bytes[static_cast<size_t>(i / 2)]);
    const unsigned one = i % 2 == 0 ? both & 0xFU : both >> 4U;
    return static_cast<uint8_t>(one ^ (is_signed ? 0x8U : 0U));
  }
};

std::optional<Packed> packed(const ir::Value* value) {
  const ir::Tensor* tensor = constant_of(value);
  if (!tensor || tensor->dims.size() != 2) return std::nullopt;
  switch (tensor->data_type) {
    case DataType::kInt4:
      return Packed{*tensor, 4, true};
    case DataType::kUint4:
      return Packed{*tensor, 4, false};
    case DataType::kInt8:
      return Packed{*tensor, 8, true};
    case DataType::kUint8:
      return Packed{*tensor, 8, false};
    default:
      return std::nullopt;
  }
}

// The columns of a matrix one after the other, each packed from a byte of its own on. Read when it is written.
class PackedColumns final : public ir::TensorSource {
 public:
  // The bytes are found at once: a source must not ask another tensor for them while it writes.
  PackedColumns(Packed from, bool turned) : from_(std::move(from)), bytes_(from_.tensor.bytes()), turned_(turned) {}

  void write(const Sink& sink) const override {
    const int64_t rows = from_.tensor.dims[turned_ ? 1 : 0], columns = from_.tensor.dims[turned_ ? 0 : 1];
    const int each = 8 / from_.bits;
    std::vector<std::byte> out(static_cast<size_t>((rows + each - 1) / each));
    for (int64_t column = 0; column < columns; ++column) {
      std::ranges::fill(out, std::byte{0});
      for (int64_t row = 0; row < rows; ++row) {
        const unsigned number = from_.at(bytes_, turned_ ? column * rows + row : row * columns + column);
        out[static_cast<size_t>(row / each)] |= static_cast<std::byte>(number << (row % each * from_.bits));
      }
      sink(out);
    }
  }

 private:
  Packed from_;
  std::span<const std::byte> bytes_;
  bool turned_;
};

ir::Tensor columns_of(const Packed& from, bool turned, std::vector<int64_t> dims) {
  return ir::Tensor::made({}, DataType::kUint8, std::move(dims), std::make_shared<PackedColumns>(from, turned));
}

// The numbers of a matrix, its columns one after the other.
ir::Tensor turned_numbers(const ir::Tensor& from, bool turned) {
  const std::span<const std::byte> bytes = from.bytes();
  const size_t width = ir::bits_of(from.data_type) / 8;
  const auto rows = static_cast<size_t>(from.dims[0]), columns = static_cast<size_t>(from.dims[1]);
  std::vector<std::byte> out(bytes.begin(), bytes.end());
  for (size_t i = 0; !turned && i < rows * columns; ++i)
    std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(i * width), width,
                out.begin() + static_cast<ptrdiff_t>((i % columns * rows + i / columns) * width));
  return ir::Tensor::from_bytes({}, from.data_type, {static_cast<int64_t>(rows * columns)}, std::move(out));
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

std::optional<BlockWeight> block_weight(ir::Node& product) {
  BlockWeight found;
  ir::Value* value = product.input(1);
  if (is_named(value->producer(), "Transpose") && is_read_once(*value)) {
    const auto order = value->producer()->attribute_ints("perm");
    if (!order.empty() && (order.size() != 2 || order[0] != 1)) return std::nullopt;
    found.transpose = value->producer();
    value = found.transpose->input(0);
  }
  if (!is_named(value->producer(), "DequantizeLinear") || !is_read_once(*value)) return std::nullopt;
  ir::Node& node = *value->producer();
  found.dequantize = &node;
  const auto weight = packed(node.input(0));
  found.scales = constant_of(node.input(1));
  found.block = node.attribute_int("block_size", 0);
  if (!weight || !found.scales || found.scales->dims.size() != 2 || found.block < kLeastBlock ||
      !std::has_single_bit(static_cast<uint64_t>(found.block)) || !is_read_once(*node.input(0)))
    return std::nullopt;
  found.weight = *weight;
  const bool turned = found.transpose != nullptr;
  const int64_t axis = node.attribute_int("axis", 1);
  const size_t summed = turned ? 1 : 0;
  if ((axis < 0 ? axis + 2 : axis) != static_cast<int64_t>(summed)) return std::nullopt;
  found.rows = weight->tensor.dims[summed];
  found.columns = weight->tensor.dims[1 - summed];
  if (found.rows < 1 || found.columns < 1 || found.rows % found.block != 0 ||
      found.scales->dims[summed] * found.block != found.rows || found.scales->dims[1 - summed] != found.columns)
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

int fuse_block_weights(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes) {
  int count = 0;
  for (ir::Node* product : model.graph->nodes()) {
    if (!is_named(product, "MatMul") || !product->output(0)->is_used()) continue;
    const auto found = block_weight(*product);
    if (!found || facts.fact(product->input(0)).rank() < 2) continue;
    const DataType type = facts.fact(product->input(0)).dtype;
    if (found->scales->data_type != type || type != DataType::kFloat) continue;
    const bool turned = found->transpose != nullptr;
    const int64_t blocks = found->rows / found->block;
    const int bits = found->weight.bits;
    rewrite::Patch patch(model, {});
    patch.emitter().set_origin(rewrite::name_of(*product));
    const ops::Emit at = patch.before(product);
    const auto listed = [&](ir::Tensor tensor, const ir::Value* old) {
      tensor.name = model.graph->unique_name(old->name() + "_columns");
      return model.graph->add_initializer(std::move(tensor));
    };
    const ir::Node& dequantize = *found->dequantize;
    std::vector<ir::Value*> inputs{
        product->input(0),
        listed(columns_of(found->weight, turned, {found->columns, blocks, found->block * bits / 8}),
               dequantize.input(0)),
        listed(turned_numbers(*found->scales, turned), dequantize.input(1))};
    if (found->zeros)
      inputs.push_back(
          listed(columns_of(*found->zeros, turned, {found->columns * ((blocks * bits + 7) / 8)}), dequantize.input(2)));
    changes.made.push_back({.kind = "MatMulNBits",
                            .place = product->describe(),
                            .replaced = {{"DequantizeLinear and MatMul", "MatMulNBits"}}});
    const auto made = rewrite::emit_node(at, {.op = "MatMulNBits",
                                              .inputs = std::move(inputs),
                                              .attributes = {{"K", found->rows},
                                                             {"N", found->columns},
                                                             {"bits", int64_t{bits}},
                                                             {"block_size", found->block},
                                                             {"accuracy_level", turned ? kInFloat32 : kInInt8}},
                                              .domain = ops::kMicrosoft});
    patch.replace(product->output(0), made.front());
    product->graph()->remove_node(product);
    if (found->transpose) found->transpose->graph()->remove_node(found->transpose);
    found->dequantize->graph()->remove_node(found->dequantize);
    patch.apply(facts);
    ++count;
  }
  return count;
}

}  // namespace thaw::optimizing
