// Units converted one by one, each held against the model as far as it differs from it.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "thaw/sensitivity.h"
#include "thaw/sensitivity/candidate.h"
#include "thaw/sensitivity/conversions.h"
#include "thaw/sensitivity/cut_model.h"

namespace thaw::measuring {

class CandidateMaker {
 public:
  // All of them outlive it.
  CandidateMaker(const CutModel& base, const Conversions& conversions, const std::vector<SensitivityUnit>& units)
      : base_(base), conversions_(conversions), units_(units) {}

  // The model with this unit alone converted; notes how many bytes that saves. Null where nothing of it can be: `why` says so then.
  // From several threads: one is made at a time, on all of the processors that have nothing else to do.
  std::unique_ptr<Candidate> make(UnitError& error);

 private:
  const CutModel& base_;
  const Conversions& conversions_;
  const std::vector<SensitivityUnit>& units_;
  std::mutex mutex_;  // what conversions remember is written by one of them at a time
};

}  // namespace thaw::measuring
