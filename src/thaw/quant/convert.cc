#include "thaw/quant/convert.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/error.h"
#include "thaw/core/phase.h"
#include "thaw/ops/rule/arity.h"
#include "thaw/optimize/optimize.h"
#include "thaw/optimize/passes.h"
#include "thaw/quant/already.h"
#include "thaw/quant/half/to_half.h"
#include "thaw/quant/inner_nodes.h"
#include "thaw/quant/int8/passes.h"
#include "thaw/quant/precisions.h"
#include "thaw/quant/seen_ranges.h"
#include "thaw/quant/target_forms.h"
#include "thaw/quant/to_blocks.h"
#include "thaw/rewrite/change_opset.h"
#include "thaw/rewrite/constant_weights.h"
#include "thaw/rewrite/declare.h"
#include "thaw/rewrite/remove_unused.h"
#include "thaw/rewrite/splice.h"

namespace thaw::quantizing {
namespace {

// Files of IR versions before 4 list every weight among the inputs; one that a caller may replace is no constant.
void settle_weights(ir::Model& model, const ConvertOptions& options, ConvertReport& report) {
  const int count = rewrite::count_replaceable(model);
  if (count == 0 || options.constant_weights) {
    rewrite::make_weights_constants(model);
  } else {
    rewrite::vary_defaults(model);
    report.warnings.push_back(rewrite::describe_replaceable(count));
  }
}

void optimize_first(ir::Model& model, const ConvertOptions& options, ConvertReport& report) {
  OptimizeReport& done = report.optimized.emplace();
  const optimizing::Weight before = optimizing::weigh(*model.graph);
  // There are no kernels in fewer bits for what conv-activations makes, and an 8-bit one cuts off as a Relu does in the scale.
  // Whose operators the model has is not asked here: `thaw optimize --target portable` is.
  const OptimizeOptions how{
      .target = options.target, .backend = options.backend, .skip = {"conv-activations", "standard"}};
  rewrite::Changes changes = optimizing::optimize(model, how);
  const optimizing::Weight after = optimizing::weigh(*model.graph);
  done.changed = std::move(changes.made);
  done.nodes_before = before.nodes;
  done.nodes_after = after.nodes;
  done.weight_bytes_before = before.bytes;
  done.weight_bytes_after = after.bytes;
}

void inline_calls(ir::Model& model) {
  optimizing::Context context(model);
  optimizing::inline_functions(context);
}

// A model that cannot be taken there keeps its opset, and more of its nodes stay in float32.
void raise_opset_for_bfloat16(ir::Model& model, const ConvertOptions& options, const ops::Target& target) {
  if (!any_is(options, NumberFormat::kBfloat16) || target.domain("")->newest < kFirstWithBfloat16 ||
      model.opset("").value_or(1) >= kFirstWithBfloat16)
    return;
  try {
    rewrite::PassContext context(model);
    rewrite::change_opset(context, kFirstWithBfloat16);
  } catch (const Error&) {
  }
}

void raise_opset_for_int8(ir::Model& model, const ConvertOptions& options) {
  if (!any_is(options, NumberFormat::kInt8) || model.opset("").value_or(1) >= int8::kOpsetOfChannels) return;
  rewrite::PassContext context(model);
  rewrite::change_opset(context, rewrite::kOldestAimedAt);
}

// What the passes of `convert` work on.
struct Conversion : rewrite::PassContext {
  Conversion(ir::Model& changed, const ConvertOptions& how, const ops::Target& runs_on, const Precisions& chosen,
             const Samples* data, std::vector<std::string>& reported)
      : PassContext(changed), options(how), target(runs_on), precisions(chosen), samples(data), warnings(reported) {}

  void add(rewrite::Changes more) {
    std::ranges::move(more.made, std::back_inserter(changes.made));
    std::ranges::move(more.left, std::back_inserter(changes.left));
    forget_facts();
  }

  const ConvertOptions& options;
  const ops::Target& target;
  const Precisions& precisions;
  const Samples* const samples;
  std::vector<std::string>& warnings;
  std::unordered_set<std::string> left_for_half = {};
};

using Pass = rewrite::PassOn<Conversion>;

int convert_to_blocks(Conversion& context) {
  const auto is_wanted = [](const PrecisionOptions& precision) { return is_blocks(precision.to); };
  if (!any_is(context.options, is_wanted)) return 0;
  const int count = to_blocks(context, context.precisions, context.samples, context.target);
  context.forget_facts();
  return count;
}

bool is_static(const PrecisionOptions& precision) { return is_int8(precision.to) && !precision.int8.dynamic; }

bool is_dynamic(const PrecisionOptions& precision) { return is_int8(precision.to) && precision.int8.dynamic; }

const int8::Pass kStaticInt8[] = {
    {"equalize", "equalizes channel ranges between two convolutions", int8::equalize},
    {"smooth", "moves activation outliers into weights (SmoothQuant)", int8::smooth},
    {"correct-bias", "corrects biases for the rounding of weights", int8::correct_bias},
    {"qdq", "adds QuantizeLinear and DequantizeLinear for weights and activations", int8::to_qdq},
};
const int8::Pass kDynamicInt8[] = {
    {"integers", "computes integer products with scales measured in each run", int8::to_dynamic},
};

int convert_to_int8(Conversion& context) {
  if (!any_is(context.options, NumberFormat::kInt8)) return 0;
  if (!context.samples && any_is(context.options, is_static))
    throw Error(ErrorCode::kInvalidArgument,
                {.what = "static INT8 needs calibration samples for the scales of activations",
                 .where = "--to int8",
                 .expected = "--data, an .npz file of inputs or a folder of them",
                 .next = "--dynamic measures them in each run instead"});
  rewrite::forget_declarations(*context.model.graph);
  const int8::Wanted wanted = [&](const ir::Node& node) -> const Int8Options* {
    const PrecisionOptions& precision = context.precisions.of(node);
    return is_int8(precision.to) ? &precision.int8 : nullptr;
  };
  int8::Context own(context.model, wanted, context.target, context.samples);
  int count = 0;
  if (context.samples && any_is(context.options, is_static)) count += rewrite::run(kStaticInt8, own);
  if (any_is(context.options, is_dynamic)) count += rewrite::run(kDynamicInt8, own);
  context.add(std::move(own.changes));
  return count;
}

template <NumberFormat format>
int convert_to_half(Conversion& context) {
  if (!any_is(context.options, format)) return 0;
  const Samples* samples = context.samples;
  HalfOptions half;
  half.to = format == NumberFormat::kFloat16 ? ir::DataType::kFloat16 : ir::DataType::kBfloat16;
  half.convert_io = context.options.convert_io;
  half.wanted = [&](const ir::Node& node) { return context.precisions.of(node).to == format; };
  if (samples && format == NumberFormat::kFloat16) half.seen = seen_ranges(context.model, *samples);
  half.target = &context.target;
  half.known = samples ? samples->remembered() : nullptr;
  half.seen_decides = !samples || !samples->are_drawn();
  rewrite::PassContext own(context.model);
  const int count = to_half(own, half, context.warnings);
  std::erase_if(own.changes.left,
                [&](const Change& change) { return !context.left_for_half.contains(change.location); });
  context.add(std::move(own.changes));
  return count;
}

// In order.
const Pass kFormats[] = {
    {"blocks", "quantizes weights block-wise to 2 to 8 bits", convert_to_blocks},
    {"int8", "quantizes weights and activations to 8 bits", convert_to_int8},
    {"float16", "converts nodes to float16 where that is safe", convert_to_half<NumberFormat::kFloat16>},
    {"bfloat16", "converts nodes to bfloat16 where that is safe", convert_to_half<NumberFormat::kBfloat16>},
};

// The names of nodes that other passes do not convert: those that make codes and numbers of weights are none of the model's.
std::unordered_set<std::string> names_left_for_half(const ir::Model& model, const Precisions& precisions) {
  std::unordered_set<std::string> names;
  for_nodes(*model.graph, [&](const ir::Node& node) {
    const NumberFormat to = precisions.of(node).to;
    if (is_half(to) || to == NumberFormat::kKeep) names.insert(rewrite::name_of(node));
  });
  return names;
}

// What is asked for and was there before is no failure, and a model that has none of it no result.
void say_nothing_changed(Conversion& context, ConvertReport& report) {
  std::vector<std::string> names;
  bool is_of_weights = false;
  for_precisions(context.options, [&](const PrecisionOptions& precision, const std::string&) {
    std::string name(name_of(precision.to));
    if (precision.to == NumberFormat::kKeep || std::ranges::find(names, name) != names.end()) return;
    is_of_weights = is_of_weights || !is_half(precision.to);
    names.push_back(std::move(name));
  });
  report.already_converted = already_in(context.model, context.facts(), context.precisions, report.not_converted);
  if (!report.already_converted.empty()) {
    report.warnings.push_back(fmt::format("nothing was converted: it is {} already", fmt::join(names, ", ")));
  } else if (names.empty()) {  // which is what it was asked for
    report.warnings.emplace_back("nothing was converted: the plan keeps every node");
  } else {
    const std::string_view why = !report.not_converted.empty() ? "each unchanged node has its reason"
                                 : is_of_weights               ? "no node has a weight that can be quantized"
                                                               : "no node computes in float32";
    report.failures.push_back(fmt::format("nothing was converted to {}: {}", fmt::join(names, ", "), why));
  }
}

// Casts that follow each other, and what is cast twice, are one.
void tidy(ir::Model& model) {
  optimizing::optimize(model, {.level = OptimizeLevel::kClean, .only = {"identities", "numbers", "share-nodes"}});
  rewrite::remove_unused(model);
}

}  // namespace

const ops::Target& target_of(const ConvertOptions& options) {
  return optimizing::backend_of(options.target, options.backend, "convert");
}

void convert(ir::Model& model, const ConvertOptions& options, const Samples* samples, ConvertReport& report,
             std::unique_ptr<ir::Model>* in_float) {
  const Phase phase("converting");
  require_blocks(options);
  const ops::Target& target = target_of(options);
  require_taken(target, options, model.opset("").value_or(1));
  ops::require_arity(model);
  ir::tell_names_apart(model);
  const bool names_nodes = !options.plan.empty() || !options.keep.empty();
  const std::unique_ptr<ir::Model> before = names_nodes ? ir::clone(model) : nullptr;
  const optimizing::Weight weight = optimizing::weigh(*model.graph);
  report.nodes_before = weight.nodes;
  report.weight_bytes_before = weight.bytes;
  const std::vector<ir::Type> outputs = rewrite::declared_outputs(model);
  settle_weights(model, options, report);
  if (options.optimize) optimize_first(model, options, report);
  inline_calls(model);
  raise_opset_for_blocks(model, options, target);
  raise_opset_for_bfloat16(model, options, target);
  raise_opset_for_int8(model, options);
  if (in_float) *in_float = ir::clone(model);
  const Precisions precisions(before ? *before : model, model, options, report.not_converted);
  Conversion conversion(model, options, target, precisions, samples, report.warnings);
  conversion.left_for_half = names_left_for_half(model, precisions);
  rewrite::run(kFormats, conversion);
  model.budget->require(model.path.string());
  std::ranges::move(conversion.changes.made, std::back_inserter(report.changed));
  std::ranges::move(conversion.changes.left, std::back_inserter(report.not_converted));
  if (is_blocks(options.precision.to)) report.method = options.precision.blocks.method;
  if (report.changed.empty()) say_nothing_changed(conversion, report);
  tidy(model);
  rewrite::declare_truly(model);
  rewrite::keep_declared_outputs(model, outputs);
  const optimizing::Weight now = optimizing::weigh(*model.graph);
  report.nodes_after = now.nodes;
  report.weight_bytes_after = now.bytes;
}

}  // namespace thaw::quantizing
