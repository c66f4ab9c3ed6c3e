// What a decoder with a cache is fed beside its tokens: mask, positions, and the cache.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "thaw/generate/rope_positions.h"
#include "thaw/ir/graph/model.h"
#include "thaw/run/array.h"

namespace thaw::generating {

inline constexpr const char* kLogits = "logits";

class DecoderInputs {
 public:
  // Throws thaw::Error (kUnsupported) for a model that has no past_key_values among its inputs.
  explicit DecoderInputs(const ir::Model& decoder);

  // Of tokens [begin, end), behind `past` others. `tokens`: each array [1, seq, …] by the name of an input; what the decoder has no
  // input for is left out. Caches are there where nothing is past.
  Arrays feeds(const Arrays& tokens, const RopePositions& positions, int64_t begin, int64_t end, int64_t past) const;

  // The input that each output of the cache feeds next.
  const std::map<std::string, std::string>& past_of() const { return past_of_; }
  // How many tokens there are, where the model says it.
  std::optional<int64_t> vocabulary() const { return vocabulary_; }

 private:
  std::set<std::string> names_;
  int64_t position_axes_ = 0;  // 1 or 3; 0: the model takes none
  Arrays empty_;               // caches of no tokens
  std::map<std::string, std::string> past_of_;
  std::optional<int64_t> vocabulary_;
};

}  // namespace thaw::generating
