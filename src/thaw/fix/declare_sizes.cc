#include "thaw/fix/declare_sizes.h"

#include <optional>

#include "thaw/frozen/frozen.h"
#include "thaw/rewrite/declare.h"

namespace thaw::fix {

void declare_sizes(ir::Model& model, rewrite::Changes& changes) {
  dim::Scope scope;
  std::optional<frozen::FrozenAnalysis> meant;  // looked for where a name would become a number
  rewrite::declare_truly(model, changes, [&](const ir::Value& value, size_t axis) {
    if (!meant) meant = frozen::find_frozen(model, scope);
    const ops::Fact& fact = meant->result.fact(&value);
    if (static_cast<int>(axis) >= fact.rank()) return false;
    // Where several ways lead from an input's size to the constant, what was meant is not known; the name is then all
    // there is.
    const bool names_a_size_of_inputs = scope.find((*value.type.shape)[axis].param).has_value();
    return fact.dim(static_cast<int>(axis)).is_symbolic() || (names_a_size_of_inputs && !meant->sites.empty());
  });
}

}  // namespace thaw::fix
