// What of a plan for the models of a folder is for one of them.
#pragma once

#include <string>

#include "thaw/sensitivity.h"

namespace thaw::measuring {

struct PartPlan {
  SensitivityReport report;  // of the part alone: its units, with the names that its own model has
  MixedPlan plan;
};

PartPlan part_plan(const SensitivityReport& report, const MixedPlan& plan, const std::string& part);

}  // namespace thaw::measuring
