// Models that feed each other, as one model.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "thaw/ir/graph/model.h"

namespace thaw::rewrite {

struct NamedModel {
  std::string name;
  const ir::Model* model = nullptr;
};

// What a node, a value or an input of a part is called in the joined model: "text/logits".
std::string name_in_joined(std::string_view part, std::string_view name);

// The nodes of all parts in their order. An input that an earlier part outputs under the same name is what that part makes; every
// other one is an input, as name_in_joined() says. Names of sizes are told apart by their part; expressions of sizes are not declared.
// Outputs are those of the last part. Bytes of weights are shared. What it may cost is counted apart. Throws thaw::Error
// (kUnsupported) for parts with functions or sparse initializers, or of several versions of an opset.
std::unique_ptr<ir::Model> join_models(std::span<const NamedModel> parts);

}  // namespace thaw::rewrite
