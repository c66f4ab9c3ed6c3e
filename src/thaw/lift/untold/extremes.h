// The longer or the shorter side of an image, where no shape tells it from the one or the other. Internal to lift/.
#pragma once

#include <span>

#include "thaw/lift/domain/domain.h"
#include "thaw/lift/table/formula/table_emitter.h"

namespace thaw::lifting {

// Where a number is computed of one side of an input, and none alike of the other: adds that it is the longer side, or the shorter, where it
// is so in all traces. No shape tells it from that.
void add_extremes(Domain& domain, std::span<const NumberOfSizes> numbers_of_sizes, std::span<const Variable> variables);

// The same of sizes that were guessed, where none was of the other side, and nothing that is known (emitted, or a tensor's) is as long of it,
// or rounded so.
void add_extremes(Domain& domain, std::span<const dim::Dim> guessed, std::span<const dim::Dim> known,
                  std::span<const Variable> variables);

}  // namespace thaw::lifting
