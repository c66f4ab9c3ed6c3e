// `thaw convert`: a model in fewer bits.
#pragma once

#include <memory>

#include "thaw/convert.h"
#include "thaw/ir/graph/model.h"
#include "thaw/quant/samples/samples.h"

namespace thaw::quantizing {

// Changes the model in place; nothing is run but what samples are measured by. Fills in what was changed, left and warned
// of, and the counts. `samples`: null where there is no data.
void convert(ir::Model& model, const ConvertOptions& options, const Samples* samples, ConvertReport& report);

}  // namespace thaw::quantizing
