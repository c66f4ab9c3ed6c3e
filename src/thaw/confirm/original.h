// The model that a result was made of, as ONNX Runtime runs it.
#pragma once

#include <optional>
#include <string>

#include "thaw/ir/graph/model.h"
#include "thaw/run/session.h"

namespace thaw::confirm {

// The model as it is; or, where ONNX Runtime stumbles over sizes that it declares inside, without those (they are then
// dropped from `model`, which must outlive this).
class Original {
 public:
  explicit Original(ir::Model& model, const SessionOptions& options = {}) : model_(model), options_(options) {}

  // Throws thaw::Error where it does not run.
  Arrays run(const Arrays& feeds);

 private:
  void relax();

  ir::Model& model_;
  SessionOptions options_;
  std::optional<run::Session> session_;
  bool relaxed_ = false;
  std::string refused_;  // why ONNX Runtime does not take the model at any size
};

}  // namespace thaw::confirm
