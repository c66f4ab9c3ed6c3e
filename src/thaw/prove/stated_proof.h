// What a model says of how it was made: how many of its outputs were proven equal to those of its origin. It stands in the model's
// metadata (docs/metadata.md). A file may be anybody's: it is a claim, and `verify --prove` against the origin shows it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "thaw/ir/graph/model.h"

namespace thaw::proving {

inline constexpr std::string_view kStatedProofKey = "thaw.proof";

struct StatedProof {
  size_t proven = 0, outputs = 0;
  std::string origin;  // its hash, as ir::hash_of() makes it
};

// Nothing where the model states nothing that can be read.
std::optional<StatedProof> stated_proof(const ir::Model& model);
void state_proof(ir::Model& model, const StatedProof& proof);
// What is stated of a model does not hold of what it became.
void forget_proof(ir::Model& model);

}  // namespace thaw::proving
