// Whether the sizes that a rewrite freed can move in truth.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "thaw/fix/thaw_attempt.h"
#include "thaw/infer/infer.h"
#include "thaw/ir/graph/model.h"

namespace thaw::fixing {

// What was true of a model before its sizes were freed, against which the result is held.
class Freedom {
 public:
  explicit Freedom(const ir::Model& before);

  // The sizes that something in the rewritten model still holds:
  //   - a frozen constant is found that should hold one of them;
  //   - two sizes must be equal, or one divide the other, and are so at the model's own size alone;
  //   - a node cannot run that could;
  //   - an output is declared to have a size, and has come to have another;
  //   - a batch that was 1 is folded into another axis of an output, so that no row tells its sample.
  std::vector<Bound> bound_in(const ir::Model& rewritten, const Attempt& attempt) const;

 private:
  std::set<std::string> stated_;  // obligations, as text
  size_t problems_ = 0;
  std::map<std::string, std::vector<bool>> output_numbers_;  // by output and axis: whether the size was a number
};

}  // namespace thaw::fixing
