// Olive's passes, for the configuration of a run. Static INT8 needs a data_config besides, with samples.
#include <string_view>

#include "thaw/ops/target/quantizers.h"
#include "thaw/quant/precisions.h"
#include "thaw/sensitivity/plan_formats.h"

namespace thaw::measuring {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson int8_pass(const PlanGroup& group, PlanWriter& writer) {
  const Int8Options& how = group.precision.int8;
  OrderedJson pass{{"type", how.dynamic ? "OnnxDynamicQuantization" : "OnnxStaticQuantization"},
                   {"precision", how.unsigned_weights ? "uint8" : "int8"},
                   {"per_channel", how.per_channel},
                   {"reduce_range", how.reduced_range},
                   {"weight_symmetric", how.symmetric_weights},
                   // What it does before would rename nodes.
                   {"quant_preprocess", false},
                   {"nodes_to_quantize", names_of(group)}};
  if (how.dynamic) return pass;
  writer.lacks(how.range == RangeMethod::kMse, "calibration by least squared error");
  pass["quant_format"] = "QDQ";
  pass["prepare_qdq_config"] = false;  // it would leave nodes_to_quantize out
  pass["activation_type"] = how.unsigned_activations ? "uint8" : "int8";
  pass["activation_symmetric"] = how.symmetric_activations;
  pass["calibrate_method"] = how.range == RangeMethod::kPercentile ? "Percentile"
                             : how.range == RangeMethod::kEntropy  ? "Entropy"
                                                                   : "MinMax";
  OrderedJson extra{{"MatMulConstBOnly", !how.activation_products}};
  if (how.range == RangeMethod::kPercentile) extra["CalibPercentile"] = how.percentile;
  if (how.smooth > 0) {
    extra["SmoothQuant"] = true;
    extra["SmoothQuantAlpha"] = how.smooth;
  }
  pass["extra_options"] = std::move(extra);
  return pass;
}

OrderedJson blocks_pass(const PlanGroup& group, PlanWriter& writer) {
  const BlockOptions& how = group.precision.blocks;
  writer.leaves_but(group, ops::kInBlocksByOlive);
  writer.lacks(how.form == BlockForm::kQdq, "DequantizeLinear of blocks in this pass");
  OrderedJson pass{{"type", "OnnxBlockWiseRtnQuantization"},
                   {"bits", quantizing::bits_of(group.precision.to)},
                   {"block_size", how.block},
                   {"is_symmetric", how.symmetric},
                   {"nodes_to_include", names_of(group, ops::kInBlocksByOlive)}};
  if (how.accuracy_level > 0) pass["accuracy_level"] = how.accuracy_level;
  return pass;
}

OrderedJson float16_pass(const PlanGroup& group) {
  return {{"type", "OnnxFloatToFloat16"},
          {"keep_io_types", true},
          {"op_block_list", OrderedJson::array()},
          {"node_include_list", names_of(group)}};
}

}  // namespace

PlanFile plan_for_olive(const PlanNodes& nodes) {
  PlanWriter writer("Olive", "olive");
  OrderedJson passes = OrderedJson::object();
  for (const PlanGroup& group : nodes.groups) {
    writer.lacks_own_options(group.precision);
    std::string name(quantizing::name_of(group.precision.to));
    while (passes.contains(name)) name += "_";  // of the same precision with other options
    switch (group.precision.to) {
      case NumberFormat::kFloat16:
        passes[name] = float16_pass(group);
        break;
      case NumberFormat::kInt8:
        passes[name] = int8_pass(group, writer);
        break;
      case NumberFormat::kInt4:
      case NumberFormat::kInt8Blocks:
        passes[name] = blocks_pass(group, writer);
        break;
      default:
        writer.refuse(group.precision, "int8, int8-blocks, int4 and f16");
    }
  }
  return writer.finish({{"passes", std::move(passes)}});
}

}  // namespace thaw::measuring
