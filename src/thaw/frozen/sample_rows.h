// Where the samples of a batch stand in what a model makes of them, and where they meet.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/ir/graph/model.h"

namespace thaw::frozen {

// What is known of a value's rows. Nothing is said of a value where it is not known for certain.
struct SampleRows {
  enum class State : uint8_t {
    kNone,     // no sample's numbers are in it
    kApart,    // row p along `axis` is made of sample p alone
    kFolded,   // samples are apart, but no axis counts them: their rows are parts of axes that are longer
    kMixed,    // its numbers are made of several samples
    kUnknown,  // none of these, or which of them is not known
  };
  State state = State::kNone;
  int axis = 0;                    // kFolded: of what `node` reads
  uint64_t inputs = 0;             // a bit for each of those that the samples come by
  const ir::Node* node = nullptr;  // kFolded, kMixed: where it came to be so
};

// Inputs by the size that is their first axis, where that is a batch by its name and nothing but a first axis: a first axis of
// another name may be of frames or patches, which are there to meet.
std::map<std::string, std::vector<const ir::Value*>> named_batches(const ir::Model& model);

// Follows the first axis of `inputs`, which is `batch` in `facts`, through the main graph, by what the operators' entries say of
// axes (ops/rule/axes.h). The values that are reached.
std::unordered_map<const ir::Value*, SampleRows> follow_samples(const ir::Model& model, const infer::Result& facts,
                                                                std::span<const ir::Value* const> inputs,
                                                                dim::Dim batch);

}  // namespace thaw::frozen
