#include "thaw/rewrite/patch.h"

namespace thaw::rewrite {

void Patch::apply(infer::Inference& facts) {
  facts.update(edit_.touched(), edit_.declared());
  if (facts.is_paused())
    for (const auto& [before, now] : replaced_) facts.assume_same(now, before);
  edit_.keep();
}

}  // namespace thaw::rewrite
