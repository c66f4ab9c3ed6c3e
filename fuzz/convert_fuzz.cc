// Any model in float16, bfloat16, INT8, and with weights in blocks: a thaw::Error, or a model that can be written and read, with
// its inputs and outputs. Nothing is optimized first: optimize_fuzz does that.
#include <cstddef>
#include <cstdint>

#include "model_mutator.h"
#include "verbs.h"

#include "thaw/quant/convert.h"

namespace {

using namespace thaw;

void convert(const ir::Model& model, NumberFormat to, const BlockOptions& blocks, bool convert_io) {
  const auto converted = ir::clone(model);
  ir::begin_run(*converted);
  ConvertOptions options;
  options.precision.to = to;
  options.precision.blocks = blocks;
  options.convert_io = convert_io;
  options.optimize = false;
  options.precision.int8.dynamic = true;  // nothing is run
  ConvertReport report;
  std::string written;
  try {
    quantizing::convert(*converted, options, nullptr, report);
    written = ir::serialize(*converted);  // weights are converted now
  } catch (const Error&) {
    return;
  }
  thaw_fuzz::require_inputs(model, *converted);
  thaw_fuzz::require(converted->graph->outputs().size() == model.graph->outputs().size(), "outputs stay");
  thaw_fuzz::require_sound(*converted, -1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto model = thaw_fuzz::read_model({data, size});
  if (!model) return 0;
  convert(*model, NumberFormat::kFloat16, {}, false);
  convert(*model, NumberFormat::kBfloat16, {}, true);
  convert(*model, NumberFormat::kInt4, {.block = 16}, false);
  convert(*model, NumberFormat::kInt8, {}, false);
  convert(*model, NumberFormat::kInt8Blocks, {.symmetric = true, .form = BlockForm::kQdq}, false);
  return 0;
}

THAW_MUTATES_MODELS
