// The model's sizes as a range spec and the model's own metadata give them: symbols with ranges and relations, and
// inference over them. Internal to check/.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "thaw/check/row_sums.h"
#include "thaw/dim/text/range_spec.h"
#include "thaw/infer/infer.h"

namespace thaw::checking {

struct SizeRanges {
  explicit SizeRanges(const ir::Model& model);

  dim::Scope scope;
  infer::Result result;
  RowSums sums;
  std::map<std::string, dim::Dim> given;  // sizes in whose place an expression stands, by name
  std::vector<std::string> assumed;       // what the model states, as far as it speaks of sizes that it has
};

// Throws thaw::Error for a name that no input has, naming those there are. A size that the spec does not name may be
// anything from 1.
void infer_over(const ir::Model& model, const dim::SpecGroup& spec, SizeRanges& out);

}  // namespace thaw::checking
