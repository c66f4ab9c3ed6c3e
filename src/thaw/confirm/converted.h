// A conversion beside its original, before it is written: what each output loses.
#pragma once

#include <memory>

#include "thaw/convert.h"
#include "thaw/ir/graph/model.h"
#include "thaw/quant/samples/samples.h"

namespace thaw::confirm {

// Changes `model` in place (quant/convert.h) and, where the options ask for it, runs it beside `original`: on the samples, and
// at sizes that are drawn. Nodes of 16 bits are run in float32 and rounded to the type: on a CPU, ONNX Runtime has no kernels
// for most of them, and rounds where it likes, so that what overflows on other devices does not there. Samples come from
// `source`, or else from `options.data`.
ConvertReport convert(ir::Model& model, const ir::Model& original, const ConvertOptions& options,
                      std::shared_ptr<const quantizing::SampleSource> source = nullptr);

}  // namespace thaw::confirm
