// The sizes that inference knows, written into a model's value_info, so that whatever shows the model shows them.
#pragma once

#include <cstddef>

#include "thaw/dim/expr/scope.h"
#include "thaw/infer/infer.h"
#include "thaw/ir/graph/model.h"

namespace thaw::rewrite {

// Every tensor that a node makes is declared, with what `facts`, the model's in `scope`, tell of its type and sizes; inside
// subgraphs those whose names no other value has. What is declared already stays as it is, only what it leaves open is filled
// in; inputs and outputs are left alone. Equal names mean equal sizes, as ONNX Runtime shares buffers by them: a size that
// is not known has none, and none gets one that has another size in the file. Returns how many declarations are new or
// say more; of a model that was annotated before, none.
size_t annotate(ir::Model& model, const infer::Result& facts, const dim::Scope& scope);

}  // namespace thaw::rewrite
