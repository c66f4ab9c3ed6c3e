#include "thaw/sensitivity/open_samples.h"

#include <algorithm>

#include "thaw/core/error.h"

namespace thaw::measuring {
namespace {

bool changes_values(const PrecisionOptions& precision) {
  return precision.int8.smooth > 0 || precision.int8.equalize || precision.int8.correct_bias;
}

}  // namespace

quantizing::Samples open_samples(const SensitivityOptions& options, const quantizing::OpenSamples& open,
                                 const ir::Model& model) {
  if (options.data.empty() && !options.prompts.any())
    throw Error(ErrorCode::kInvalidArgument,
                {.what = "there are no samples to measure on",
                 .where = "sensitivity",
                 .expected = "--data, an .npz file of inputs or a folder of them; of a folder of models --prompt"});
  quantizing::Samples samples = open ? open(options.data) : quantizing::Samples(options.data, model);
  if (std::ranges::none_of(options.precisions, changes_values)) samples.remember();
  return samples;
}

}  // namespace thaw::measuring
