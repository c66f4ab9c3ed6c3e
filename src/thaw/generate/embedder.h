// Token ids as what a decoder takes: themselves, or the rows of embedding.onnx with a tower's features in their places.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/run/session.h"

namespace thaw::generating {

inline constexpr const char* kIds = "input_ids";

// int64 [1, seq].
Array ids_array(const std::vector<int64_t>& ids);

// Features of no rows, by the names of those inputs of an embedding model that are none of token ids.
Arrays no_features(const ir::Model& embedding);

class Embedder {
 public:
  // Without a model, ids stay ids.
  Embedder(const std::optional<std::filesystem::path>& model, const SessionOptions& options);

  // By names of the decoder's inputs, each [1, seq, …]. `features`: the tower's outputs, by their names; those that are not
  // there have no rows. Throws thaw::Error (kInvalidArgument) where there are not as many rows as placeholders.
  Arrays run(const std::vector<int64_t>& ids, const Arrays& features);

 private:
  std::optional<run::Session> session_;
  Arrays none_;
};

}  // namespace thaw::generating
