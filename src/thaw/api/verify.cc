#include "thaw/run/verify.h"

#include "thaw/confirm/model_inputs.h"
#include "thaw/frozen/frozen.h"
#include "thaw/ops/rule/arity.h"

namespace thaw {
namespace {

// Of the inputs: what data decides is not chosen.
NamedSizes frozen_sizes(const ir::Model& model) {
  dim::Scope scope;
  NamedSizes sizes;
  for (const auto& [id, size] : frozen::find_frozen(model, scope).hints) {
    const dim::SymbolInfo& symbol = scope.symbols()[static_cast<size_t>(id)];
    if (symbol.kind != dim::SymbolKind::kDataDependent) sizes.emplace_back(symbol.name, size);
  }
  return sizes;
}

}  // namespace

VerifyReport verify(const VerifyOptions& options) {
  dim::Scope scope;
  run::VerifiedModel model;
  {
    const auto loaded = ir::load(options.model);  // its mapping is not needed while ONNX Runtime runs
    ops::require_arity(*loaded);
    std::error_code failed;
    const bool is_model =
        options.reference.extension() != ".npz" && !std::filesystem::is_directory(options.reference, failed);
    if (is_model) ops::require_arity(*ir::load(options.reference));
    run::prepare_sessions();
    confirm::ModelInputs known = confirm::look_at_inputs(*loaded, scope);
    model.inputs = std::move(known.inputs);
    model.conditions = std::move(known.conditions);
  }
  model.frozen_sizes = [&] { return frozen_sizes(*ir::load(options.model)); };
  return run::verify(options, model, scope);
}

}  // namespace thaw
