#include "thaw/quant/target_forms.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/ops/onnx/constant_operand.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/target/int8_kernels.h"
#include "thaw/quant/blocks/formats.h"
#include "thaw/quant/precisions.h"

namespace thaw::quantizing {
namespace {

using enum ir::DataType;
using ir::DataType;
using ops::PlannedNode, ops::Taken, ops::Target;

constexpr int kStoredOfThree = 4;

DataType codes_in_blocks(int bits, bool is_symmetric) {
  switch (bits) {
    case 2:
      return is_symmetric ? kInt2 : kUint2;
    case 3:
      return kUint4;
    case 4:
      return is_symmetric ? kInt4 : kUint4;
    default:
      return is_symmetric ? kInt8 : kUint8;
  }
}

PlannedNode block_product(int bits, const BlockOptions& options) {
  if (options.form == BlockForm::kQdq) {
    const DataType codes = codes_in_blocks(bits, options.symmetric);
    const bool has_zeros = !options.symmetric || bits == 3;
    return {.op = ops::kDequantize,
            .inputs = {codes, kFloat, has_zeros ? codes : kUndefined},
            .outputs = {kFloat},
            .has_zeros = has_zeros};
  }
  const DataType zeros = options.symmetric ? kUndefined : options.real_zeros ? kFloat : kUint8;
  return {.op = ops::kBlockProduct,
          .inputs = {kFloat, kUint8, kFloat, zeros},
          .attributes = {{"bits", fmt::format("{}", bits == 3 ? kStoredOfThree : bits)}},
          .has_zeros = !options.symmetric,
          .domain = ops::kMicrosoft};
}

DataType byte_type(bool is_unsigned) { return is_unsigned ? kUint8 : kInt8; }

std::vector<PlannedNode> pair_of(DataType codes, bool has_zeros) {
  return {{.op = ops::kQuantize, .inputs = {kFloat, kFloat, codes}, .outputs = {codes}, .has_zeros = has_zeros},
          {.op = ops::kDequantize, .inputs = {codes, kFloat, codes}, .outputs = {kFloat}, .has_zeros = has_zeros}};
}

std::vector<PlannedNode> nodes_in_int8(const Int8Options& options) {
  const DataType weight = byte_type(options.unsigned_weights);
  const bool has_weight_zeros = !options.symmetric_weights || options.unsigned_weights;
  if (options.dynamic)
    return {{.op = ops::kDynamicQuantize, .inputs = {kFloat}, .outputs = {kUint8, kFloat, kUint8}},
            {.op = ops::kIntegerProduct,
             .inputs = {kUint8, weight, kUint8, has_weight_zeros ? weight : kUndefined},
             .outputs = {kInt32}}};
  std::vector<PlannedNode> nodes =
      pair_of(byte_type(options.unsigned_activations), !options.symmetric_activations || options.unsigned_activations);
  nodes.push_back(pair_of(weight, has_weight_zeros).back());
  return nodes;
}

// What computes most of a model in 16 bits, and what makes such numbers: a target that takes none of them has no use for the type.
std::vector<PlannedNode> nodes_in_half(NumberFormat to) {
  const DataType half = to == NumberFormat::kBfloat16 ? kBfloat16 : kFloat16;
  std::vector<PlannedNode> nodes;
  for (const std::string_view product : ops::kProducts)
    nodes.push_back({.op = product, .inputs = {half, half}, .outputs = {half}});
  nodes.push_back({.op = ops::kCast, .inputs = {kFloat}, .outputs = {half}});
  return nodes;
}

std::vector<PlannedNode> planned_nodes(const PrecisionOptions& precision) {
  if (is_blocks(precision.to)) return {block_product(bits_of(precision.to), precision.blocks)};
  return is_int8(precision.to) ? nodes_in_int8(precision.int8) : std::vector<PlannedNode>();
}

int64_t opset_of(const PrecisionOptions& precision, const Target& target, int64_t opset) {
  if (precision.to == NumberFormat::kBfloat16) opset = std::max(opset, kFirstWithBfloat16);
  if (const ops::TargetDomain* standard = target.domain("")) opset = std::min(opset, standard->newest);
  return is_blocks(precision.to) ? std::max(opset, blocks::opset_needed(bits_of(precision.to), precision.blocks))
                                 : opset;
}

// All that may be chosen for a target; of equals the first.
std::vector<PrecisionOptions> choices(const PrecisionOptions& precision) {
  std::vector<PrecisionOptions> all;
  if (is_blocks(precision.to)) {
    for (const bool is_symmetric : {precision.blocks.symmetric, true})
      for (const BlockForm form : {BlockForm::kMatMulNBits, BlockForm::kQdq}) {
        PrecisionOptions one = precision;
        one.blocks.form = form;
        one.blocks.symmetric = is_symmetric;
        if (blocks::why_not(bits_of(precision.to), one.blocks).empty()) all.push_back(one);
      }
  } else if (is_int8(precision.to) && !precision.int8.dynamic) {
    all.push_back(precision);
    PrecisionOptions& one = all.emplace_back(precision);
    one.int8.unsigned_activations = false;
    one.int8.symmetric_activations = true;
  }
  return all;
}

std::string described(const PrecisionOptions& precision) {
  std::string options;
  if (is_blocks(precision.to)) {
    options = precision.blocks.form == BlockForm::kQdq ? "--form qdq" : "--form matmulnbits";
    if (precision.blocks.symmetric) options += " --symmetric";
  } else if (!precision.int8.unsigned_activations) {
    options = "--signed-activations --symmetric-activations";
  }
  return options;
}

// What to do where the target does not take it.
std::string next_after(const PrecisionOptions& precision, const Target& target, int64_t opset) {
  PrecisionOptions plain = precision;
  plain.blocks.real_zeros = false;
  const PrecisionOptions other = fitted(plain, target);
  if (how_taken(target, other, opset).support != Support::kUnsupported)
    return fmt::format("convert with {}{}", described(other),
                       precision.blocks.real_zeros ? ", and without --real-zeros" : "");
  if (is_blocks(precision.to) && precision.to != NumberFormat::kInt4) {
    plain.to = NumberFormat::kInt4;
    if (const PrecisionOptions four = fitted(plain, target);
        how_taken(target, four, opset).support != Support::kUnsupported)
      return fmt::format("convert to int4 with {}", described(four));
  }
  const PrecisionOptions half{.to = NumberFormat::kFloat16};
  const bool takes_half =
      precision.to != NumberFormat::kFloat16 && how_taken(target, half, opset).support != Support::kUnsupported;
  return takes_half ? "convert to f16, or for the target ort or portable"
                    : "leave it in float32, or convert for the target ort or portable";
}

}  // namespace

Taken how_taken(const Target& target, const PrecisionOptions& precision, int64_t opset) {
  if (is_half(precision.to)) {
    std::optional<Taken> best;
    for (const PlannedNode& node : nodes_in_half(precision.to)) {
      Taken one = ops::how_taken(target, node, opset_of(precision, target, opset));
      if (!best || one.support < best->support) best = std::move(one);
    }
    return *best;
  }
  Taken all;
  for (const PlannedNode& node : planned_nodes(precision)) {
    Taken one = ops::how_taken(target, node, opset_of(precision, target, opset));
    if (one.support > all.support) all = std::move(one);
  }
  return all;
}

void require_taken(const Target& target, const ConvertOptions& options, int64_t opset) {
  for_precisions(options, [&](const PrecisionOptions& precision, const std::string& location) {
    Taken taken = how_taken(target, precision, opset);
    if (taken.support != Support::kUnsupported) return;
    throw Error(
        ErrorCode::kInvalidArgument,
        {.what = std::move(taken.why),
         .where = location.empty() ? fmt::format("--to {}, --target {}", name_of(precision.to), target.name) : location,
         .expected = "a form that the target has kernels for",
         .next = next_after(precision, target, opset)});
  });
}

PrecisionOptions fitted(PrecisionOptions precision, const Target& target) {
  if (!ops::has_kernel_table(target)) {
    precision.blocks.form = target.domain(ops::kMicrosoft) ? BlockForm::kMatMulNBits : BlockForm::kQdq;
    return precision;
  }
  const int64_t newest = target.domain("")->newest;
  // What is known to be taken is taken by the operator made for it, what is not known rather by standard ones.
  const auto rank_of = [&](const PrecisionOptions& choice) {
    const Support support = how_taken(target, choice, newest).support;
    const bool is_second = (choice.blocks.form == BlockForm::kQdq) == (support == Support::kSupported);
    return std::tuple(support, choice.blocks.symmetric != precision.blocks.symmetric, is_second);
  };
  const std::vector<PrecisionOptions> all = choices(precision);
  const auto best = std::ranges::min_element(all, {}, rank_of);
  return best == all.end() || how_taken(target, *best, newest).support == Support::kUnsupported ? precision : *best;
}

}  // namespace thaw::quantizing
