// What tells one run from another: figures of equal keys may be joined.
#pragma once

#include <string>

#include "thaw/ir/graph/model.h"
#include "thaw/quant/samples/samples.h"
#include "thaw/sensitivity.h"

namespace thaw::measuring {

// Of the graph and every byte of its weights alone: 32 digits, by XXH3 (128 bits).
std::string model_key(const ir::Model& model);

// Throws thaw::Error (kInvalidArgument) for a model that is not the report's.
void require_measured(const ir::Model& model, const SensitivityReport& report);

// Of the graph, every byte of its weights, the samples, where it runs and what was asked, but for the shard, the mode and what is only
// shown: 32 digits, by XXH3 (128 bits).
// `key`: the model's own.
std::string run_key(const std::string& key, const ir::Model& model, const quantizing::Samples& samples,
                    const SensitivityOptions& options, const Runtime& runtime);

}  // namespace thaw::measuring
