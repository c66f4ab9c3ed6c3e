// Whether two fits compute the same table. Internal to lift/.
#pragma once

#include <span>

#include "thaw/lift/table/table.h"

namespace thaw::lifting {

// The nodes that they emit are compared: operators, attributes, constants and the sizes that they read. Real numbers are
// the same as far as entries of float32 tell them. Both must be over these variables.
bool is_same_table(const TableFit& a, const TableFit& b, std::span<const Variable> variables);

}  // namespace thaw::lifting
