// Arrays that stay where a model computed them: in the memory of a provider's device, or in that of ONNX Runtime's process.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "thaw/core/error.h"
#include "thaw/run/array.h"

namespace thaw::run {

// Of one such array, which is let go with the last pointer to it.
class HeldArray {
 public:
  HeldArray() = default;
  virtual ~HeldArray() = default;
  HeldArray(const HeldArray&) = delete;
  HeldArray& operator=(const HeldArray&) = delete;
};

using HeldArrays = std::map<std::string, std::shared_ptr<const HeldArray>>;

// What a run made: in this process, and where the model ran.
struct Values {
  Arrays arrays;
  HeldArrays held = {};

  bool contains(const std::string& name) const { return arrays.contains(name) || held.contains(name); }
};

// Thrown where the process that held an array has ended: whoever can compute it again may go on.
class HeldArrayLost : public Error {
 public:
  explicit HeldArrayLost(std::string where)
      : Error(ErrorCode::kRuntimeFailed, {.what = "the process that held what the model is fed has ended",
                                          .where = std::move(where),
                                          .expected = "the process that computed it",
                                          .next = "compute it again"}) {}
};

}  // namespace thaw::run
