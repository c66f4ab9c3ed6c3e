// `thaw convert`: a model in fewer bits.
#pragma once

#include <memory>

#include "thaw/convert.h"
#include "thaw/ir/graph/model.h"
#include "thaw/ops/target/target.h"
#include "thaw/quant/samples/samples.h"

namespace thaw::quantizing {

// What the options are for, as data. Throws thaw::Error (kInvalidArgument) for a backend that there is not.
const ops::Target& target_of(const ConvertOptions& options);

// Changes the model in place; nothing is run but what samples are measured by. Fills in what was changed, left and warned
// of, and the counts. `samples`: null where there is no data. `in_float`, where it is given, becomes the model as it was before the
// first node was converted. A tensor that has the same name in both holds the same numbers, but for rounding.
void convert(ir::Model& model, const ConvertOptions& options, const Samples* samples, ConvertReport& report,
             std::unique_ptr<ir::Model>* in_float = nullptr);

}  // namespace thaw::quantizing
