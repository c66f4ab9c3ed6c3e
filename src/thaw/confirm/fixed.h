// Running a fixed model beside the model that it was made of, before it is written.
//
//   1. At the original's own sizes both must return the same numbers.
//   2. Where samples can be put together that could not be before, two and three of them at the original's other sizes:
//      sample i of the result must be the original's result on sample i.
//   3. Where sizes were rewritten, and the original treats the rows of its inputs apart, more and fewer of them than it has: each
//      must return what it returns there.
//   4. At two other sizes, where there are free ones, it must run; where the original runs there too, without the sizes
//      that it declares inside, and nothing but declarations was changed, it must return the same numbers.
// What could not be compared is said. "It runs" proves nothing of a size at which nothing was compared.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "thaw/confirm/run_check.h"
#include "thaw/ir/graph/model.h"
#include "thaw/run/array.h"

namespace thaw::confirm {

struct FixCheck {
  std::vector<RunCheck> runs;
  std::vector<std::string> not_compared;  // what was not compared, and why
  std::optional<Arrays> fed;              // what both ran on first
};

// `rewritten`: constants or nodes were changed, not declarations alone; where the original runs at other sizes it is
// then no reference. `feeds` says what inputs are given rather than drawn. Both return the same in every run, and take arrays
// (rewrite/same_noise.h, fed_items.h). Throws thaw::Error where it names what is no input.
FixCheck compare_with_original(const ir::Model& fixed, const ir::Model& original, bool rewritten,
                               const FeedOptions& feeds, const Closeness& closeness = {});

}  // namespace thaw::confirm
