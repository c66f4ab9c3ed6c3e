#include "thaw/quant/to_int8.h"

#include <algorithm>
#include <utility>

#include "thaw/core/error.h"
#include "thaw/quant/int8/correct_bias.h"
#include "thaw/quant/int8/equalize.h"
#include "thaw/quant/int8/smooth.h"
#include "thaw/quant/int8/to_dynamic.h"
#include "thaw/quant/int8/to_qdq.h"
#include "thaw/rewrite/change_opset.h"
#include "thaw/rewrite/declare.h"

namespace thaw::quantizing {
namespace {

bool is_static(const PrecisionOptions& precision) { return is_int8(precision.to) && !precision.int8.dynamic; }

bool is_dynamic(const PrecisionOptions& precision) { return is_int8(precision.to) && precision.int8.dynamic; }

// In float32, before anything is quantized: the model computes the same, or nearly.
void prepare(ir::Model& model, const int8::Wanted& wanted, const int8::Calibrating& data) {
  int8::equalize(model, wanted);
  int8::smooth(model, wanted, data);
  int8::correct_bias(model, wanted, data);
}

void take(rewrite::Changes& changes, ConvertReport& report) {
  std::ranges::move(changes.made, std::back_inserter(report.changed));
  std::ranges::move(changes.left, std::back_inserter(report.left));
}

}  // namespace

void raise_opset_for_int8(ir::Model& model, const ConvertOptions& options) {
  const bool any = is_int8(options.precision.to) ||
                   std::ranges::any_of(options.plan, [](const auto& node) { return is_int8(node.precision.to); });
  if (!any || model.opset("").value_or(1) >= int8::kOpsetOfChannels) return;
  rewrite::Changes changes;
  rewrite::change_opset(model, rewrite::kOldestAimedAt, changes);
}

void to_int8(ir::Model& model, const Precisions& precisions, const Samples* samples, ConvertReport& report) {
  if (!samples && precisions.any(is_static))
    throw Error(ErrorCode::kInvalidArgument,
                {.what = "static INT8 needs samples: the scales of activations are chosen by what they hold",
                 .where = "--to int8",
                 .expected = "--data, an .npz file of inputs or a folder of them",
                 .next = "--dynamic measures them at each run instead"});
  rewrite::forget_declarations(*model.graph);
  const int8::Wanted wanted = [&](const ir::Node& node) -> const Int8Options* {
    const PrecisionOptions& precision = precisions.of(node);
    return is_int8(precision.to) ? &precision.int8 : nullptr;
  };
  rewrite::Changes changes;
  if (samples && precisions.any(is_static)) {
    const int8::Calibrating data{
        samples->size(), [&](size_t i, const std::vector<std::string>& inputs) { return samples->read(i, inputs); }};
    prepare(model, wanted, data);
    int8::to_qdq(model, wanted, data, changes);
  }
  if (precisions.any(is_dynamic)) int8::to_dynamic(model, wanted, changes);
  take(changes, report);
}

}  // namespace thaw::quantizing
