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

}  // namespace

void raise_opset_for_int8(ir::Model& model, const ConvertOptions& options) {
  if (!any_is(options, NumberFormat::kInt8) || model.opset("").value_or(1) >= int8::kOpsetOfChannels) return;
  rewrite::PassContext context(model);
  rewrite::change_opset(context, rewrite::kOldestAimedAt);
}

rewrite::Changes to_int8(ir::Model& model, const ConvertOptions& options, const Precisions& precisions,
                         const Samples* samples) {
  if (!samples && any_is(options, is_static))
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
  if (samples && any_is(options, is_static)) {
    // In float32, before anything is quantized: the model computes the same, or nearly.
    int8::equalize(model, wanted);
    int8::smooth(model, wanted, *samples, changes);
    int8::correct_bias(model, wanted, *samples);
    int8::to_qdq(model, wanted, *samples, changes);
  }
  if (any_is(options, is_dynamic))
    int8::to_dynamic(model, wanted, options.target, samples ? samples->remembered() : nullptr, changes);
  return changes;
}

}  // namespace thaw::quantizing
