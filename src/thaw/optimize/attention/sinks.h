// Sinks: a score of each head that takes its part of the weights and has no value. That is one more position, whose key and
// value are zeros and whose mask is the score.
#pragma once

#include "thaw/optimize/attention/write.h"

namespace thaw::optimizing {

struct ScoresWithSink {
  ir::Value *scores = nullptr, *sink = nullptr;
};

// The scores and the sink that a softmax is of, which stands last; nullopt where it is no such thing.
std::optional<ScoresWithSink> scores_with_sink(const ir::Node& softmax, const infer::Inference& facts);

// With the sink as a position after all others; false where its axes are not those of the scores.
bool add_sink(FoundAttention& found, ir::Value* sink, const infer::Inference& facts, const ops::Emit& at);

}  // namespace thaw::optimizing
