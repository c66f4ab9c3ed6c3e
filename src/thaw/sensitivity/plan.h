// A plan within so many bytes, or so much error, from what was measured of each unit.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "thaw/sensitivity.h"
#include "thaw/sensitivity/assign.h"

namespace thaw::measuring {

MixedPlan plan(const SensitivityReport& report, const PlanOptions& options);
// All that are within, the best first as far as the report tells: mixed, and one precision for all.
std::vector<MixedPlan> plans_within(const SensitivityReport& report, const PlanOptions& options);

// Of all weights, where so many are saved. None at least: what nodes save alone may be more than there is.
uint64_t bytes_after(const SensitivityReport& report, int64_t saved);

// As what `convert` is asked for; of a folder's models joined.
ConvertOptions convert_options(const SensitivityReport& report, const MixedPlan& plan);
// The same for each of a folder's models, by name.
std::map<std::string, ConvertOptions> convert_options_of_parts(const SensitivityReport& report, const MixedPlan& plan);

// The best plans from nothing converted to all: for drawing error against bytes.
std::vector<MixedPlan> frontier(const SensitivityReport& report, size_t points);

// Every unit of one report, in the order of units, whichever shard measured it. `names`: of the shards, for what is said of them.
SensitivityReport merge(const std::vector<SensitivityReport>& shards, const std::vector<std::string>& names = {});

}  // namespace thaw::measuring
