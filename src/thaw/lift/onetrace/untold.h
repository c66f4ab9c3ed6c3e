// What no case of one trace tells apart, guarded: sizes that are the same at the export and in every case, and not elsewhere.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "thaw/dim/expr/scope.h"
#include "thaw/ir/graph/model.h"
#include "thaw/lift/onetrace/constants.h"
#include "thaw/lift/onetrace/sizes.h"
#include "thaw/lift/solve/propose.h"

namespace thaw::lifting::onetrace {

// Whether it is another number in some case than at the export.
bool varies(const Size& size);

// A constant that holds a number, and the size that this is at the export.
struct KeptNumber {
  size_t constant;
  Proposal size;
};

class Untold {
 public:
  // distance: between two sizes that no case tells apart.
  void add(dim::Dim distance);

  // Of numbers that stay where a size stood at the export: of the bounds of Slices what they cut is told apart, which is the same where both lie
  // past the end; of others, which of the two is larger, as far as all cases say so.
  void add_bounds(const ir::Model& model, dim::Scope& scope, const std::vector<Constant>& constants,
                  std::span<const KeptNumber> kept);

  // Ends the model with an error of Reshape where any of these is not 0. And where free sizes that are the same in all cases are others: where a
  // constant has the number, nothing tells whether it is one of them; what is read from values, nothing tells at others. What the report says.
  std::vector<std::string> guard(ir::Model& model, const Sizes& sizes, const std::vector<Constant>& constants) const;

 private:
  std::vector<dim::Dim> distances_;
};

}  // namespace thaw::lifting::onetrace
