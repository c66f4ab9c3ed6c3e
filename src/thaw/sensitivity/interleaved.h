// Units that have nothing in common, each measured on all samples: side by side, so that none waits for the last sample of another.
#pragma once

#include <map>
#include <vector>

#include "thaw/sensitivity/baseline.h"
#include "thaw/sensitivity/candidate_maker.h"

namespace thaw::measuring {

// What is known of units on the first sample that is wanted.
using KnownFirst = std::map<const UnitError*, ErrorFigures>;

// Sets `in` and the status of each: measured, or failed with the reason. What is known is not measured again.
void measure_interleaved(Baseline& baseline, CandidateMaker& maker, const Wanted& wanted, const KnownFirst& known,
                         const std::vector<UnitError*>& errors);

}  // namespace thaw::measuring
