#include "thaw/run/verify.h"

#include "thaw/confirm/model_inputs.h"
#include "thaw/ops/rule/arity.h"

namespace thaw {

VerifyReport verify(const VerifyOptions& options) {
  dim::Scope scope;
  std::vector<run::InputSpec> inputs;
  {
    const auto model = ir::load(options.model);  // its mapping is not needed while ONNX Runtime runs
    ops::require_arity(*model);
    if (options.reference.extension() != ".npz") ops::require_arity(*ir::load(options.reference));
    run::prepare_sessions();
    inputs = confirm::model_inputs(*model, scope);
  }
  return run::verify(options, inputs, scope);
}

}  // namespace thaw
