// What stands behind the objects of the public headers. Internal to verbs/.
#pragma once

#include <memory>
#include <utility>

#include "thaw/ir/graph/model.h"
#include "thaw/model.h"

namespace thaw {

struct ModelAccess {
  static ir::Model& of(Model& model) { return *model.model_; }
  static const ir::Model& of(const Model& model) { return *model.model_; }
  // For a verb: what it may spend is counted from here on.
  static const ir::Model& begin(const Model& model) {
    ir::begin_run(*model.model_);
    return *model.model_;
  }
  static std::unique_ptr<ir::Model>& owner(Model& model) { return model.model_; }
  static Model make(std::unique_ptr<ir::Model> model) { return Model(std::move(model)); }
};

}  // namespace thaw
