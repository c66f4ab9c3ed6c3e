#include "thaw/verbs/compared.h"

#include "thaw/confirm/fed_items.h"
#include "thaw/rewrite/same_noise.h"

namespace thaw::verbs {

confirm::FixCheck compare_with_original(const ir::Model& result, const ir::Model& original, bool rewritten,
                                        const FeedOptions& feeds, const confirm::Closeness& closeness) {
  const bool is_fed_by_items = confirm::takes_sequences(original);
  const bool draws = rewrite::draws_numbers(original) || rewrite::draws_numbers(result);
  if (!is_fed_by_items && !draws) return confirm::compare_with_original(result, original, rewritten, feeds, closeness);
  const auto comparable = [&](const ir::Model& model) {
    return is_fed_by_items ? rewrite::with_same_noise(*confirm::fed_by_items(model)) : rewrite::with_same_noise(model);
  };
  confirm::FixCheck check =
      confirm::compare_with_original(*comparable(result), *comparable(original), rewritten, feeds, closeness);
  if (is_fed_by_items) check.fed.reset();  // by items, not as `result` takes them
  return check;
}

}  // namespace thaw::verbs
