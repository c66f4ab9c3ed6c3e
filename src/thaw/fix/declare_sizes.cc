// Declarations that are true, and name what was meant to be free.
#include <optional>

#include "thaw/fix/passes.h"
#include "thaw/frozen/frozen.h"
#include "thaw/rewrite/declare.h"

namespace thaw::fixing {

int declare_sizes(rewrite::PassContext& context) {
  const size_t before = context.changes.made.size();
  dim::Scope scope;
  std::optional<frozen::FrozenAnalysis> meant;  // looked for where a name would become a number
  rewrite::declare_truly(context, [&](const ir::Value& value, size_t axis) {
    if (!meant) meant = frozen::find_frozen(context.model, scope);
    const ops::Fact& fact = meant->result.fact(&value);
    if (meant->sites.empty() || static_cast<int>(axis) >= fact.rank()) return false;
    // Beside what is frozen, what was meant is not always known: the name of an output, or of an input's size, is then
    // all that there is.
    const bool names_a_size_of_inputs = scope.find((*value.type.shape)[axis].param).has_value();
    return fact.dim(static_cast<int>(axis)).is_symbolic() || value.is_output() || names_a_size_of_inputs;
  });
  return static_cast<int>(context.changes.made.size() - before);
}

}  // namespace thaw::fixing
