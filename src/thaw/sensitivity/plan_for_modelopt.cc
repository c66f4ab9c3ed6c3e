// NVIDIA ModelOpt: arguments of modelopt.onnx.quantization.quantize, a step for each mode. Names are regular expressions that are looked for
// from the start.
#include <string_view>

#include "thaw/ops/target/quantizers.h"
#include "thaw/quant/precisions.h"
#include "thaw/sensitivity/plan_formats.h"

namespace thaw::measuring {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson patterns(const std::vector<std::string>& names) {
  OrderedJson list = OrderedJson::array();
  for (const std::string& name : names) list.push_back(regex_of(name) + "$");
  return list;
}

OrderedJson int8_arguments(const PlanGroup& group, PlanWriter& writer) {
  const Int8Options& how = group.precision.int8;
  writer.lacks(how.range == RangeMethod::kMse || how.range == RangeMethod::kPercentile,
               "calibration by percentile or least squared error");
  writer.lacks(how.smooth > 0, "SmoothQuant");
  writer.lacks(!how.symmetric_activations, "INT8 activations with zero points");
  writer.lacks(how.dynamic, "dynamic quantization");
  return {{"quantize_mode", "int8"},
          {"calibration_method", how.range == RangeMethod::kEntropy ? "entropy" : "max"},
          {"high_precision_dtype", "fp32"},
          {"nodes_to_quantize", patterns(names_of(group))}};
}

OrderedJson int4_arguments(const PlanNodes& nodes, const PlanGroup& group, PlanWriter& writer) {
  const BlockOptions& how = group.precision.blocks;
  writer.lacks(!how.symmetric, "zero points of blocks without AWQ");
  writer.leaves_but(group, ops::kInBlocksByModelopt);
  return {{"quantize_mode", "int4"},
          {"calibration_method", "rtn_dq"},
          {"high_precision_dtype", "fp32"},
          {"block_size", how.block},
          {"nodes_to_exclude", patterns(names_outside(nodes, group, ops::kExcludableByModelopt))}};
}

}  // namespace

PlanFile plan_for_modelopt(const PlanNodes& nodes) {
  PlanWriter writer("ModelOpt", "modelopt");
  OrderedJson steps = OrderedJson::array();
  for (const PlanGroup& group : nodes.groups) {
    writer.lacks_own_options(group.precision);
    switch (group.precision.to) {
      case NumberFormat::kInt8:
        steps.push_back(int8_arguments(group, writer));
        break;
      case NumberFormat::kInt4:
        steps.push_back(int4_arguments(nodes, group, writer));
        break;
      default:
        writer.refuse(group.precision, "int8 and int4");
    }
  }
  return writer.finish({{"steps", std::move(steps)}});
}

}  // namespace thaw::measuring
