// Token ids as what a decoder takes: itself, or the rows of embedding.onnx with a tower's features in their places.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "thaw/run/session.h"

namespace thaw::generating {

class Embedder {
 public:
  // Without a model, ids stay ids.
  Embedder(const std::optional<std::filesystem::path>& model, const SessionOptions& options);

  // By names of the decoder's inputs, each [1, seq, …]. `features`: what the tower gave, by its outputs' names; those that are not
  // there have no rows. Throws thaw::Error (kInvalidArgument) where they are not as many as the ids have places for.
  Arrays run(const std::vector<int64_t>& ids, const Arrays& features);

 private:
  std::optional<run::Session> session_;
  Arrays none_;  // features of no rows
};

}  // namespace thaw::generating
