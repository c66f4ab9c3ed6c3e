#include "thaw/sensitivity/candidate_maker.h"

#include <tbb/task_arena.h>

namespace thaw::measuring {

std::unique_ptr<Candidate> CandidateMaker::make(UnitError& error) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Candidate> candidate;
  // While it waits for its own parts this thread takes up nothing else: another unit would come back here.
  tbb::this_task_arena::isolate([&] {
    const Converted converted = conversions_.only(units_[error.unit], error.precision);
    error.bytes = converted.bytes;
    error.why = converted.why;
    if (converted.why.empty()) candidate = std::make_unique<Candidate>(base_, *converted.model);
  });
  return candidate;
}

}  // namespace thaw::measuring
