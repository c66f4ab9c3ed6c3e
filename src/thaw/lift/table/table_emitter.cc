#include "thaw/lift/table/table_emitter.h"

namespace thaw::lifting {

ir::Value* TableEmitter::arange(dim::Dim length) {
  // Range takes scalars.
  return emit("Range", {integer(0), reshape(size(length), list({})), integer(1)});
}

}  // namespace thaw::lifting
