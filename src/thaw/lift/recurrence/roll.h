// Traces in which a recurrence was written out step by step, rolled: the steps become a Scan, and the traces the same graph.
#pragma once

#include <string>
#include <vector>

#include "thaw/finding.h"
#include "thaw/lift/align/traces.h"

namespace thaw::lifting {

struct Rolled {
  std::vector<Note> scans = {};        // what became one, with its steps in each trace
  std::vector<size_t> aside = {};      // traces that are too short to tell a step from the next, by their place
  std::vector<std::string> left = {};  // of each recurrence that stays as it is, what is in the way
};

// Rolls what the traces have unrolled to different lengths. What they all have as often is left as it is: layers are no
// steps. Traces that are left aside stay as they are: they are to be compared, not aligned. Where nothing is rolled, none
// is changed.
Rolled roll_recurrences(std::vector<Trace>& traces);

}  // namespace thaw::lifting
