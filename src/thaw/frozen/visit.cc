#include "thaw/frozen/visit.h"

namespace thaw::frozen {

VisitContext::VisitContext(const infer::NodeVisit& visit, const dim::Assignment& hints, int64_t opset)
    : visit_(visit), hints_(hints) {
  node_ = &visit.node;
  opset_ = opset;
}

const ir::Tensor* VisitContext::constant(int i) const {
  const ir::Value* value = node().input(i);
  return value ? value->constant() : nullptr;
}

void VisitContext::suggest(dim::Dim a, dim::Dim b, std::string_view what) {
  equations.push_back({&node(), ops::ObligationKind::kEqual, a, b, what});
}

}  // namespace thaw::frozen
