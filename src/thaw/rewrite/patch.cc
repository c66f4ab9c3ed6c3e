#include "thaw/rewrite/patch.h"

namespace thaw::rewrite {

void Patch::apply(infer::Inference& facts) {
  facts.update(edit_.touched(), edit_.declared());
  edit_.keep();
}

}  // namespace thaw::rewrite
