#include "thaw/prove/quantized.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "thaw/ir/data/floats.h"
#include "thaw/prove/laws.h"

namespace thaw::proving {
namespace {

constexpr int64_t kMostNumbers = int64_t{1} << 26;  // of all constants together
constexpr int64_t kFew = 64;                        // elements that tell most constants apart

// Numbers that a quantized constant stands for, row-major.
struct Dequantized {
  std::vector<int64_t> dims;
  std::vector<double> values;
};

// Elements of 8 bits and fewer, packed from the lowest bit on.
int64_t packed(std::span<const std::byte> bytes, int64_t row, int64_t i, int64_t bits) {
  int64_t value = 0;
  for (int64_t k = 0; k < bits; ++k) {
    const int64_t at = i * bits + k;
    const auto byte = static_cast<size_t>(row + at / 8);
    if (byte < bytes.size() && ((std::to_integer<unsigned>(bytes[byte]) >> (at % 8)) & 1U) != 0)
      value |= int64_t{1} << k;
  }
  return value;
}

const ir::Tensor* constant(const ir::Node& node, int i) {
  const ir::Value* value = node.input(i);
  return value ? value->fixed_constant() : nullptr;
}

// (x - zero point) * scale, with one of each for the tensor, for a position along the axis or for a block of such.
std::optional<Dequantized> dequantized(const ir::Node& node) {
  const ir::Tensor *x = constant(node, 0), *scale = constant(node, 1), *zero = constant(node, 2);
  if (!x || !scale || (node.input(2) && !zero) || (zero && zero->dims != scale->dims)) return std::nullopt;
  const auto rank = static_cast<int64_t>(x->dims.size());
  int64_t axis = node.attribute_int("axis", 1);
  if (axis < 0) axis += rank;
  const int64_t block = node.attribute_int("block_size", 0);
  const bool is_single = scale->num_elements() == 1;
  if (!is_single && (axis < 0 || axis >= rank)) return std::nullopt;
  const auto at = static_cast<size_t>(axis);
  std::vector<int64_t> wanted;
  if (!is_single && block == 0) wanted = {x->dims[at]};
  if (!is_single && block > 0) {
    wanted = x->dims;
    wanted[at] = (wanted[at] + block - 1) / block;
  }
  if (!is_single && scale->dims != wanted) return std::nullopt;
  Dequantized made{x->dims, x->to_double()};
  const std::vector<double> scales = scale->to_double(), zeros = zero ? zero->to_double() : std::vector<double>();
  int64_t inner = 1;
  if (!is_single)
    for (int64_t k = axis + 1; k < rank; ++k) inner *= x->dims[static_cast<size_t>(k)];
  for (size_t i = 0; i < made.values.size(); ++i) {
    size_t of = 0;
    if (!is_single) {
      const auto index = static_cast<int64_t>(i);
      const int64_t position = index / inner % x->dims[at], row = index / inner / x->dims[at];
      of = static_cast<size_t>(block == 0 ? position : (row * wanted[at] + position / block) * inner + index % inner);
    }
    made.values[i] = (made.values[i] - (zeros.empty() ? 0 : zeros[of])) * scales[of];
  }
  return made;
}

// [N, K] of MatMulNBits: blocks along K, each with a scale and a zero point.
std::optional<Dequantized> dequantized_blocks(const ir::Node& node) {
  const ir::Tensor *codes = constant(node, 1), *scale = constant(node, 2), *zero = constant(node, 3);
  const int64_t rows = node.attribute_int("N", 0), columns = node.attribute_int("K", 0),
                bits = node.attribute_int("bits", 4), block = node.attribute_int("block_size", 0);
  if (!codes || !scale || (node.input(3) && !zero) || node.input(4) || rows <= 0 || columns <= 0 || block <= 0 ||
      bits < 1 || bits > 8)
    return std::nullopt;
  const int64_t blocks = (columns + block - 1) / block, blob = (block * bits + 7) / 8,
                row_of_zeros = (blocks * bits + 7) / 8;
  if (codes->num_elements() != rows * blocks * blob || ir::bits_of(codes->data_type) != 8 ||
      scale->num_elements() != rows * blocks)
    return std::nullopt;
  const bool has_codes_of_zeros = zero && zero->data_type == ir::DataType::kUint8;
  if (zero && zero->num_elements() != rows * (has_codes_of_zeros ? row_of_zeros : blocks)) return std::nullopt;
  const auto bytes = codes->bytes();
  const std::vector<double> scales = scale->to_double();
  const std::vector<double> zeros = zero && !has_codes_of_zeros ? zero->to_double() : std::vector<double>();
  Dequantized made{{rows, columns}, {}};
  made.values.reserve(static_cast<size_t>(rows * columns));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t at = row * blocks + column / block;
      double none = static_cast<double>(int64_t{1} << (bits - 1));
      if (has_codes_of_zeros) {
        none = static_cast<double>(packed(zero->bytes(), row * row_of_zeros, column / block, bits));
      } else if (!zeros.empty()) {
        none = zeros[static_cast<size_t>(at)];
      }
      const auto code = static_cast<double>(packed(bytes, at * blob, column % block, bits));
      made.values.push_back((code - none) * scales[static_cast<size_t>(at)]);
    }
  return made;
}

// [rows, columns] of GatherBlockQuantized: blocks along the last axis, rows gathered along the first.
std::optional<Dequantized> dequantized_rows(const ir::Node& node) {
  const ir::Tensor *codes = constant(node, 0), *scale = constant(node, 2), *zero = constant(node, 3);
  const int64_t block = node.attribute_int("block_size", 128);
  if (!codes || !scale || (node.input(3) && !zero) || codes->dims.size() != 2 || scale->dims.size() != 2 ||
      block <= 0 || node.attribute_int("gather_axis", 0) != 0 ||
      (node.attribute_int("quantize_axis", 1) != 1 && node.attribute_int("quantize_axis", 1) != -1))
    return std::nullopt;
  const bool is_packed = codes->data_type == ir::DataType::kUint8;  // else each element is a number
  const int64_t bits = is_packed ? node.attribute_int("bits", 4) : 8,
                each = is_packed ? 8 / std::max<int64_t>(bits, 1) : 1;
  if (is_packed && bits != 4 && bits != 8) return std::nullopt;
  const int64_t rows = codes->dims[0], columns = codes->dims[1] * each, blocks = (columns + block - 1) / block;
  if (scale->dims != std::vector{rows, blocks}) return std::nullopt;
  if (zero && zero->dims != (is_packed ? std::vector{rows, (blocks + each - 1) / each} : scale->dims))
    return std::nullopt;
  const auto elements = [&](const ir::Tensor& of, int64_t row, int64_t i, const std::vector<double>& numbers,
                            int64_t in_row) {
    return is_packed ? static_cast<double>(packed(of.bytes(), row * of.dims[1], i, bits))
                     : numbers[static_cast<size_t>(row * in_row + i)];
  };
  const std::vector<double> scales = scale->to_double(), plain = is_packed ? std::vector<double>() : codes->to_double(),
                            plain_zeros = zero && !is_packed ? zero->to_double() : std::vector<double>();
  Dequantized made{{rows, columns}, {}};
  made.values.reserve(static_cast<size_t>(rows * columns));
  const double none = is_packed ? static_cast<double>(int64_t{1} << (bits - 1)) : 0;  // where there are no zero points
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t at = column / block;
      const double middle = zero ? elements(*zero, row, at, plain_zeros, blocks) : none;
      made.values.push_back((elements(*codes, row, column, plain, columns) - middle) *
                            scales[static_cast<size_t>(row * blocks + at)]);
    }
  return made;
}

// Constants of the main graph, by their sizes.
class Origins {
 public:
  explicit Origins(const ir::Model& origin) {
    for (const ir::Value* value : origin.graph->initializers())
      if (value->fixed_constant()) add(value->name(), *value->fixed_constant());
    for (const ir::Node* node : origin.graph->nodes())
      if (const ir::Tensor* tensor = node->constant()) add(node->output(0)->name(), *tensor);
  }

  struct Found {
    const ir::Tensor* tensor = nullptr;
    std::string name = {};
    bool is_turned = false;  // its two axes stand the other way around
    double difference = 0;
  };

  std::optional<Found> nearest(const Dequantized& to) const {
    Found best;
    double least = 0;
    const auto consider = [&](const std::vector<int64_t>& dims, bool is_turned) {
      const auto held = by_dims_.find(dims);
      if (held == by_dims_.end()) return;
      for (const auto& [name, tensor] : held->second) {
        const double away = distance(to, *tensor, is_turned);
        if (best.tensor && away >= least) continue;
        best = {tensor, name, is_turned, 0};
        least = away;
      }
    };
    consider(to.dims, false);
    if (to.dims.size() == 2) consider({to.dims[1], to.dims[0]}, true);
    if (!best.tensor || to.values.empty()) return std::nullopt;
    double square = 0, square_of_difference = 0, largest = 0, farthest = 0;
    const std::vector<double> values = best.tensor->to_double();
    for (size_t i = 0; i < to.values.size(); ++i) {
      const double wanted = values[place(to, i, best.is_turned)], difference = to.values[i] - wanted;
      square += wanted * wanted;
      square_of_difference += difference * difference;
      largest = std::max(largest, std::fabs(wanted));
      farthest = std::max(farthest, std::fabs(difference));
    }
    constexpr double kNear = 0.5;
    if (!(std::sqrt(square_of_difference) <= kNear * std::sqrt(square))) return std::nullopt;
    best.difference = largest > 0 ? farthest / largest : 0;
    return best;
  }

 private:
  void add(const std::string& name, const ir::Tensor& tensor) {
    if (is_real(tensor.data_type)) by_dims_[tensor.dims].emplace_back(name, &tensor);
  }

  static size_t place(const Dequantized& to, size_t i, bool is_turned) {
    if (!is_turned) return i;
    const auto rows = static_cast<size_t>(to.dims[0]), columns = static_cast<size_t>(to.dims[1]);
    return i % columns * rows + i / columns;
  }

  static double element(const ir::Tensor& tensor, size_t i) {
    const size_t width = static_cast<size_t>(ir::bits_of(tensor.data_type)) / 8;
    const std::array<int64_t, 1> one{1};
    return ir::Tensor::view({}, tensor.data_type, {one.begin(), one.end()}, tensor.bytes().subspan(i * width, width),
                            nullptr)
        .to_double()
        .front();
  }

  // Of a few elements.
  static double distance(const Dequantized& to, const ir::Tensor& tensor, bool is_turned) {
    const auto count = static_cast<int64_t>(to.values.size());
    double sum = 0;
    for (int64_t k = 0; k < std::min(count, kFew); ++k) {
      const auto i = static_cast<size_t>(count <= kFew ? k : k * (count / kFew));
      const double away = to.values[i] - element(tensor, place(to, i, is_turned));
      sum += away * away;
    }
    return sum;
  }

  std::map<std::vector<int64_t>, std::vector<std::pair<std::string, const ir::Tensor*>>> by_dims_;
};

class Replacing {
 public:
  Replacing(const ir::Model& quantized, const ir::Model& origin) : origins_(origin) {
    made_.model = ir::clone(quantized);
  }

  WithoutQuantization replace() {
    std::vector<ir::Node*> nodes;
    for (ir::Node* node : made_.model->graph->nodes()) nodes.push_back(node);
    for (ir::Node* node : nodes) replace(*node);
    return std::move(made_);
  }

 private:
  ir::Graph& graph() { return *made_.model->graph; }

  void replace(ir::Node& node) {
    const bool is_here = node.domain() == "com.microsoft";
    if (node.op_type() == "DequantizeLinear" && (is_here || node.domain().empty()) && fits(constant(node, 0))) {
      const auto values = dequantized(node);
      ir::Value* output = node.output(0);
      if (values && output && !output->is_output())
        if (ir::Value* found = stand_in(*values, *constant(node, 0), constant(node, 1)->data_type, node))
          graph().replace_uses(output, found);
    } else if (node.op_type() == "GatherBlockQuantized" && is_here && fits(constant(node, 0))) {
      const auto values = dequantized_rows(node);
      ir::Value* found = values ? stand_in(*values, *constant(node, 0), constant(node, 2)->data_type, node) : nullptr;
      if (!found) return;
      ir::Value* rows = graph().add_value(graph().unique_name(node.output(0)->name() + " of the origin"));
      graph().add_node("Gather", "", {found, node.input(1)}, {rows}, {}, &node);
      put_in_place_of(node.output(0), rows);
    } else if (node.op_type() == "MatMulNBits" && is_here && keeps_inputs(node) && fits(constant(node, 1))) {
      // Its weights are [N, K], of which the product takes [K, N].
      auto values = dequantized_blocks(node);
      if (!values) return;
      ir::Value* found = stand_in(*values, *constant(node, 1), constant(node, 2)->data_type, node);
      if (!found) return;
      ir::Value *x = node.input(0), *bias = node.input(5), *result = node.output(0);
      ir::Value* turned = graph().add_value(graph().unique_name("transposed weight"));
      graph().add_node("Transpose", "", {found}, {turned}, {}, &node);
      const std::string name = result->name();
      ir::Value* product = graph().add_value(graph().unique_name(name + " of the origin"));
      graph().add_node("MatMul", "", {x, turned}, {product}, {}, &node);
      if (bias) {
        ir::Value* sum = graph().add_value(graph().unique_name(name + " with a bias"));
        graph().add_node("Add", "", {product, bias}, {sum}, {}, &node);
        product = sum;
      }
      put_in_place_of(result, product);
    }
  }

  void put_in_place_of(ir::Value* result, ir::Value* by) {
    for (size_t i = 0; i < graph().outputs().size(); ++i) {
      if (graph().outputs()[i] != result) continue;
      const std::string name = result->name();
      graph().rename(result, graph().unique_name(name + " of blocks"));
      graph().rename(by, name);
      graph().set_output(static_cast<int>(i), by);
    }
    graph().replace_uses(result, by);
  }

  // What it multiplies by is not rounded to fewer bits.
  static bool keeps_inputs(const ir::Node& node) { return node.attribute_int("accuracy_level", 0) <= 1; }

  bool fits(const ir::Tensor* codes) {
    if (!codes || codes->data_type == ir::DataType::kString) return false;
    left_ -= 2 * codes->num_elements();
    return left_ >= 0;
  }

  // The origin's constant, in the quantized one's place; null where none is near.
  ir::Value* stand_in(const Dequantized& values, const ir::Tensor& codes, ir::DataType type, ir::Node& before) {
    const auto found = origins_.nearest(values);
    if (!found || found->tensor->data_type != type) return nullptr;
    ir::Tensor tensor = *found->tensor;
    tensor.name = graph().unique_name(codes.name + " of the origin");
    ir::Value* held = graph().add_initializer(std::move(tensor));
    if (found->is_turned) {
      ir::Value* turned = graph().add_value(graph().unique_name("transposed constant"));
      graph().add_node("Transpose", "", {held}, {turned}, {}, &before);
      held = turned;
    }
    made_.constants.push_back({.name = codes.name,
                               .result = before.output(0)->name(),
                               .origin = found->name,
                               .is_turned = found->is_turned,
                               .difference = found->difference});
    return held;
  }

  const Origins origins_;
  WithoutQuantization made_;
  int64_t left_ = kMostNumbers;
};

}  // namespace

WithoutQuantization with_constants_of(const ir::Model& quantized, const ir::Model& origin) {
  return Replacing(quantized, origin).replace();
}

}  // namespace thaw::proving
