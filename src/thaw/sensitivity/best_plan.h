// The best of the plans that stay within a limit, once they have run.
#pragma once

#include <filesystem>

#include "thaw/quant/samples/samples.h"
#include "thaw/sensitivity.h"

namespace thaw::measuring {

struct BestPlan {
  MixedPlan plan;
  MeasuredPlan measured;
};

// What a plan comes to is predicted, and what one precision for all does was measured: of those within the bytes the one that turns out
// best, so that none is worse than one precision for all. `data`: as measure_plan has it.
BestPlan best_plan(const ir::Model& model, const SensitivityReport& report, const PlanOptions& options,
                   const std::filesystem::path& data, const quantizing::OpenSamples& open = {});

}  // namespace thaw::measuring
