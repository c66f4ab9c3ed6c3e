// Where two models differ in a run: the smallest sizes at which they do.
#pragma once

#include <functional>
#include <optional>

#include "thaw/verify.h"

namespace thaw::verbs {

using RunBoth = std::function<VerifyReport(const VerifyOptions& options)>;

// Begins at the first point that differs and tries smaller sizes, one name after the other; what is found is run once more by itself.
// nullopt where nothing differs, where inputs are given, whose sizes are theirs, and where no run repeats what was seen.
std::optional<Counterexample> find_counterexample(const VerifyOptions& options, const VerifyReport& report,
                                                  const RunBoth& run);

}  // namespace thaw::verbs
