// From the softmax of attention back to the product of q and k: what stands between them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "thaw/optimize/attention/products.h"

namespace thaw::optimizing {

constexpr double kMasksFrom = -1e4;  // scores of this and below have no weight

// What is added to the scores, or what decides where they stay.
struct FoundMask {
  enum class Kind : uint8_t { kAdded, kKeptWhereTrue, kKeptWhereFalse };
  Kind kind = Kind::kAdded;
  ir::Value* value = nullptr;
  double factor = 1;           // kAdded: of the mask; otherwise what stands in the place of scores that do not stay
  ir::Value* at = nullptr;     // the scores there, to whose axes the mask's line up at the right
  bool is_of_numbers = false;  // kept where 1, not where 0
  bool has_keys_first = false;
};

struct FoundScores {
  MatrixProduct product;       // of q and the transposed k
  ir::Value* first = nullptr;  // its result
  double scale = 1;
  double softcap = 0;  // c * tanh(scores / c), to which masks are added; 0: none
  std::vector<FoundMask> masks = {};
  bool is_reshaped = false;  // somewhere on the way
};

// What the values are multiplied with.
struct FoundWeights {
  const ir::Node* softmax = nullptr;  // null where there is none
  bool is_reshaped = false;           // between
  bool is_guarded = false;            // 0 where they are NaN, as where all scores are minus infinity
  const ir::Value* kept = nullptr;    // 0 where this mask is false, or true
  bool is_kept_where_true = true;
  bool lacks_last = false;  // without the last of the softmax's outputs
};

// Which axis of the weights the softmax goes along: the last, or the one before of weights that are transposed, keys first.
enum class WeightsAlong : uint8_t { kRows, kColumns };

// What is between is read once.
FoundWeights find_weights(ir::Value* weights, WeightsAlong along, const infer::Inference& facts, int64_t opset,
                          std::string& why);

// Weights that are 0 where a mask is are those of scores that are minus infinity there, and 0 where all are. False where
// none of the masks is that one.
bool clear_masked(const FoundWeights& weights, FoundScores& scores);

// The scores that a value stands for; nullopt, and why, where it is no such thing.
std::optional<FoundScores> find_scores(ir::Value* value, const infer::Inference& facts, const ops::Emit& at,
                                       std::string& why);

}  // namespace thaw::optimizing
