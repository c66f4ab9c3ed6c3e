// Rebuilding an expression with its symbols replaced. Internal to dim/.
#pragma once

#include <functional>
#include <optional>

#include "thaw/dim/expr/expr.h"

namespace thaw::dim {

// d with each atom replaced by what `replacement` returns for it, which may belong to another scope; where that is
// nullopt, the atom is built again from its operands, themselves rebuilt. A symbol must have a replacement. Unknown
// where a result is unknown.
using Replacement = std::function<std::optional<Dim>(const Atom& atom)>;
Dim rebuild(Dim d, const Replacement& replacement);

}  // namespace thaw::dim
