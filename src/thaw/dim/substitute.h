// Rebuilding an expression with its symbols replaced. Internal to dim/.
#pragma once

#include <functional>

#include "thaw/dim/dim.h"

namespace thaw::dim {

// d with each symbol (by id) replaced by what `replacement` returns, which may belong to another scope.
// Unknown where a result is unknown.
Dim rebuild(Dim d, const std::function<Dim(int symbol)>& replacement);

}  // namespace thaw::dim
