// Which outputs of two models are equal at every size, by proof: not by trying (docs/proving.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "thaw/export.h"

namespace thaw {

// What is known of an output.
enum class OutputVerdict : uint8_t {
  kProven,  // equal at every size (Proof::sizes), in real arithmetic, wherever both models run
  kOpen,    // neither proven nor seen to differ
  kQuantized,  // equal but for constants that were quantized (Proof::quantized): with the original's in their places it is proven
  kDiffers,  // in a run
};

// An output of both models.
struct OutputProof {
  std::string name;
  OutputVerdict verdict = OutputVerdict::kOpen;
  // The smallest that is not proven: "Softmax 'b.3' against MultiHeadAttention 'b.3'"; empty where proven.
  std::string place;
};

// A constant that holds in fewer bits what the original's holds.
struct QuantizedConstant {
  std::string name;       // of the tensor of codes
  double difference = 0;  // the largest between the two, as a part of the original's largest element
};

// A proof as a file: steps that can be checked one by one (docs/proving.md).
struct ProofEvidence {
  std::string path;
  size_t outputs = 0;        // that it proves
  size_t steps = 0;          // pairs of values of the two models that are equal
  size_t steps_by_laws = 0;  // of these; the others need none
};

// Two models compared at every size.
struct Proof {
  std::vector<OutputProof> outputs;  // that were compared
  // At which sizes, as `check --sizes` reads them: "height=32..640:32", "grid[0]=1". Empty: at all that both models declare.
  std::vector<std::string> sizes;
  size_t terms = 0;              // that both models are made of
  size_t rounded_constants = 0;  // numbers and tensors of one that the other has but for rounding
  double rounding_steps = 0;     // by how many steps of their type (ulp) at most
  // What is taken for granted for what is proven, beside the sizes: "integers fit their types". Empty where nothing is.
  std::vector<std::string> assumptions = {};
  std::vector<QuantizedConstant> quantized = {};  // for the outputs that are kQuantized
  std::string reason;  // why nothing was compared; empty where something was, or nothing was to be
  std::optional<ProofEvidence> evidence = {};  // that was written, or checked

  THAW_API bool all_proven() const;  // there are outputs, and each is proven
};

}  // namespace thaw
