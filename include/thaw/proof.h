// Which outputs of two models are equal at every size, by proof: not by trying (docs/proving.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "thaw/export.h"

namespace thaw {

// What is known of an output.
enum class OutputVerdict : uint8_t {
  kProven,   // equal at every size, in real arithmetic, wherever both models run
  kOpen,     // neither proven nor seen to differ
  kDiffers,  // in a run
};

// An output of both models.
struct OutputProof {
  std::string name;
  OutputVerdict verdict = OutputVerdict::kOpen;
  // The smallest that is not proven: "Softmax 'b.3' against MultiHeadAttention 'b.3'"; empty where proven.
  std::string place;
};

// Two models compared at every size.
struct Proof {
  std::vector<OutputProof> outputs;  // that were compared
  size_t terms = 0;                  // that both models are made of
  size_t rounded_constants = 0;      // numbers and tensors of one that the other has but for rounding
  double rounding_steps = 0;         // by how many steps of their type (ulp) at most
  std::string reason;                // why nothing was compared; empty where something was, or nothing was to be

  THAW_API bool all_proven() const;  // there are outputs, and each is proven
};

}  // namespace thaw
