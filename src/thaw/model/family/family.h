// What Thaw knows about a family of models: how its checkpoints are named and which parts can be built.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "thaw/build.h"
#include "thaw/ir/graph/model.h"
#include "thaw/model/checkpoint.h"
#include "thaw/model/weights.h"

namespace thaw::model {

// What a part is built from.
struct BuildContext {
  const Checkpoint& checkpoint;
  const Weights& weights;
  const BuildOptions& options;
  const Config& config() const { return checkpoint.config(); }
};

struct Part {
  std::string_view name;  // "vision": the file is vision.onnx
  std::unique_ptr<ir::Model> (*build)(const BuildContext&);
};

struct Family {
  std::vector<std::string_view> model_types;  // config.json's model_type
  // Tells the checkpoint under which other names its weights may stand.
  void (*name_weights)(Checkpoint&) = nullptr;
  // The adapter that the options ask for, its weights added to the checkpoint's; null: the family has none.
  std::optional<Adapter> (*adapter)(Checkpoint&, const BuildOptions&) = nullptr;
  std::vector<Part> parts;
  bool takes_images = false;  // VisionInput::kImage
};

const std::vector<Family>& families();
// Throws thaw::Error, naming those that are known, for a model_type that is not.
const Family& family_of(const Checkpoint& checkpoint);

}  // namespace thaw::model
