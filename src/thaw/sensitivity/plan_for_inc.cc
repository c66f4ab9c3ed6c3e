// Intel Neural Compressor 2: arguments of PostTrainingQuantConfig, a step for each approach. Names are regular expressions.
#include <string_view>

#include "thaw/ops/target/quantizers.h"
#include "thaw/quant/precisions.h"
#include "thaw/sensitivity/plan_formats.h"

namespace thaw::measuring {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson as_it_is() { return {{"weight", {{"dtype", {"fp32"}}}}, {"activation", {{"dtype", {"fp32"}}}}}; }

// All of the operators that it would convert, so that it chooses nothing itself.
OrderedJson step(const PlanNodes& nodes, const PlanGroup& group, Operators operators, std::string_view approach,
                 const OrderedJson& converted, PlanWriter& writer) {
  writer.leaves_but(group, operators);
  OrderedJson by_name = OrderedJson::object();
  for (const std::string& name : names_of(group, operators)) by_name[regex_of(name)] = converted;
  for (const std::string& name : names_outside(nodes, group, operators)) by_name[regex_of(name)] = as_it_is();
  return {{"approach", approach},
          {"quant_level", 1},
          {"quant_format", approach == "static" ? "QDQ" : "default"},
          // Its own rewrites would rename nodes.
          {"recipes", {{"graph_optimization_level", "DISABLE_ALL"}, {"gemm_to_matmul", false}}},
          {"op_name_dict", std::move(by_name)}};
}

OrderedJson int8_step_of_inc(const PlanNodes& nodes, const PlanGroup& group, PlanWriter& writer) {
  const Int8Options& how = group.precision.int8;
  writer.lacks(how.range == RangeMethod::kMse, "calibration by least squared error");
  writer.lacks(how.smooth > 0, "smoothing of single nodes");
  writer.lacks(how.symmetric_activations || !how.unsigned_activations, "INT8 activations that are signed or symmetric");
  writer.lacks(how.unsigned_weights || !how.symmetric_weights, "INT8 weights that are unsigned or asymmetric");
  const std::string_view range = how.range == RangeMethod::kPercentile ? "percentile"
                                 : how.range == RangeMethod::kEntropy  ? "kl"
                                                                       : "minmax";
  OrderedJson converted{
      {"weight", {{"dtype", {"int8"}}, {"granularity", {how.per_channel ? "per_channel" : "per_tensor"}}}},
      {"activation", {{"dtype", {"uint8"}}}}};
  if (!how.dynamic) converted["activation"]["algorithm"] = {range};
  OrderedJson made = step(nodes, group, {}, how.dynamic ? "dynamic" : "static", converted, writer);
  made["reduce_range"] = how.reduced_range;
  return made;
}

OrderedJson blocks_step_of_inc(const PlanNodes& nodes, const PlanGroup& group, PlanWriter& writer) {
  const BlockOptions& how = group.precision.blocks;
  const OrderedJson converted{{"weight",
                               {{"dtype", {"int"}},
                                {"bits", {quantizing::bits_of(group.precision.to)}},
                                {"group_size", {how.block}},
                                {"scheme", {how.symmetric ? "sym" : "asym"}},
                                {"algorithm", {"RTN"}}}},
                              {"activation", {{"dtype", {"fp32"}}}}};
  return step(nodes, group, ops::kInBlocksByInc, "weight_only", converted, writer);
}

}  // namespace

PlanFile plan_for_inc(const PlanNodes& nodes) {
  PlanWriter writer("Neural Compressor", "inc");
  OrderedJson steps = OrderedJson::array();
  for (const PlanGroup& group : nodes.groups) {
    writer.lacks_own_options(group.precision);
    switch (group.precision.to) {
      case NumberFormat::kInt8:
        steps.push_back(int8_step_of_inc(nodes, group, writer));
        break;
      case NumberFormat::kInt3:
      case NumberFormat::kInt4:
      case NumberFormat::kInt8Blocks:
        steps.push_back(blocks_step_of_inc(nodes, group, writer));
        break;
      default:
        writer.refuse(group.precision, "int8, int8-blocks, int4 and int3");
    }
  }
  return writer.finish({{"steps", std::move(steps)}});
}

}  // namespace thaw::measuring
