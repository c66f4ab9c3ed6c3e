// The weights of a checkpoint as the model uses them: found, checked, adapters merged.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/model/checkpoint.h"
#include "thaw/model/weight.h"

namespace thaw::model {

// A LoRA adapter that is stored beside the weights it changes: "<stem>.lora_A.<name>.weight" and "<stem>.lora_B…" for
// "<stem>.weight". Merged: W + scale * B A, with scale = lora_alpha / r.
struct Adapter {
  std::string name;
  double scale = 1;
};

class Weights {
 public:
  explicit Weights(const Checkpoint& checkpoint, std::optional<Adapter> adapter = std::nullopt)
      : checkpoint_(checkpoint), adapter_(std::move(adapter)) {}

  const Checkpoint& checkpoint() const { return checkpoint_; }
  bool has(std::string_view name) const { return checkpoint_.has(name); }
  // Throws thaw::Error, naming it, for a tensor that is missing or not of this shape or type.
  Weight get(std::string_view name, const std::vector<int64_t>& shape) const;

 private:
  const Checkpoint& checkpoint_;
  std::optional<Adapter> adapter_;
};

}  // namespace thaw::model
