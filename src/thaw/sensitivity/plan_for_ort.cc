// ONNX Runtime's quantizers: onnxruntime.quantization and onnxruntime.transformers.float16. Values of its enums are their names.
#include <string_view>

#include "thaw/ops/target/quantizers.h"
#include "thaw/quant/precisions.h"
#include "thaw/sensitivity/plan_formats.h"

namespace thaw::measuring {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson static_arguments(const Int8Options& how, PlanWriter& writer) {
  // CalibrationMethod has no least squared error.
  writer.lacks(how.range == RangeMethod::kMse, "calibration by least squared error");
  OrderedJson extra{{"ActivationSymmetric", how.symmetric_activations},
                    {"WeightSymmetric", how.symmetric_weights},
                    {"MatMulConstBOnly", !how.activation_products}};
  if (how.range == RangeMethod::kPercentile) extra["CalibPercentile"] = how.percentile;
  if (how.smooth > 0) {
    extra["SmoothQuant"] = true;
    extra["SmoothQuantAlpha"] = how.smooth;
  }
  const std::string_view method = how.range == RangeMethod::kPercentile ? "Percentile"
                                  : how.range == RangeMethod::kEntropy  ? "Entropy"
                                                                        : "MinMax";
  return {{"quant_format", "QDQ"},
          {"activation_type", how.unsigned_activations ? "QUInt8" : "QInt8"},
          {"weight_type", how.unsigned_weights ? "QUInt8" : "QInt8"},
          {"per_channel", how.per_channel},
          {"reduce_range", how.reduced_range},
          {"calibrate_method", method},
          {"extra_options", std::move(extra)}};
}

OrderedJson int8_step(const PlanGroup& group, PlanWriter& writer) {
  const Int8Options& how = group.precision.int8;
  OrderedJson arguments = how.dynamic ? OrderedJson{{"weight_type", how.unsigned_weights ? "QUInt8" : "QInt8"},
                                                    {"per_channel", how.per_channel},
                                                    {"reduce_range", how.reduced_range},
                                                    {"extra_options", {{"WeightSymmetric", how.symmetric_weights}}}}
                                      : static_arguments(how, writer);
  arguments["nodes_to_quantize"] = names_of(group);
  return {
      {"call", how.dynamic ? "onnxruntime.quantization.quantize_dynamic" : "onnxruntime.quantization.quantize_static"},
      {"arguments", std::move(arguments)}};
}

// Its nodes_to_include adds to all of the operators, so what is not of the group is named.
OrderedJson blocks_step(const PlanNodes& nodes, const PlanGroup& group, PlanWriter& writer) {
  const BlockOptions& how = group.precision.blocks;
  const int bits = quantizing::bits_of(group.precision.to);
  const bool is_qdq = how.form == BlockForm::kQdq && bits == 4;
  writer.leaves_but(group, ops::kInBlocksByOrt);
  writer.lacks(how.form == BlockForm::kQdq && !is_qdq, "DequantizeLinear of blocks of other than 4 bits");
  OrderedJson arguments{{"bits", bits},
                        {"block_size", how.block},
                        {"is_symmetric", how.symmetric},
                        {"quant_format", is_qdq ? "QDQ" : "QOperator"},
                        {"op_types_to_quantize", ops::kInBlocksByOrt},
                        {"nodes_to_exclude", names_outside(nodes, group, ops::kInBlocksByOrt)}};
  if (how.accuracy_level > 0) arguments["accuracy_level"] = how.accuracy_level;
  return {{"call", "onnxruntime.quantization.matmul_nbits_quantizer.MatMulNBitsQuantizer"},
          {"arguments", std::move(arguments)}};
}

OrderedJson float16_step(const PlanNodes& nodes, const PlanGroup& group) {
  return {{"call", "onnxruntime.transformers.float16.convert_float_to_float16"},
          {"arguments",
           {{"keep_io_types", true},
            {"op_block_list", OrderedJson::array()},
            {"node_block_list", names_outside(nodes, group)}}}};
}

}  // namespace

PlanFile plan_for_ort(const PlanNodes& nodes) {
  PlanWriter writer("ONNX Runtime's quantizer", "ort");
  OrderedJson steps = OrderedJson::array();
  for (const PlanGroup& group : nodes.groups) {
    writer.lacks_own_options(group.precision);
    switch (group.precision.to) {
      case NumberFormat::kFloat16:
        steps.push_back(float16_step(nodes, group));
        break;
      case NumberFormat::kInt8:
        steps.push_back(int8_step(group, writer));
        break;
      case NumberFormat::kInt2:
      case NumberFormat::kInt4:
      case NumberFormat::kInt8Blocks:
        steps.push_back(blocks_step(nodes, group, writer));
        break;
      default:
        writer.refuse(group.precision, "int8, int8-blocks, int4, int2 and f16");
    }
  }
  return writer.finish({{"steps", std::move(steps)}});
}

}  // namespace thaw::measuring
