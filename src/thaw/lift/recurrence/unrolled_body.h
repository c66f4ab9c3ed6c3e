// What a recurrence does in each step, as one body: what it carries, what it is fed, what is read of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/lift/recurrence/find_strands.h"

namespace thaw::lifting {

// What a node of the body reads, or a state becomes.
struct BodyRead {
  enum class Kind : uint8_t {
    kNothing,  // an operand that is left out
    kOuter,    // the same in every step, made outside
    kFed,      // one of BodyFeed
    kState,    // one of BodyState, as it was before the step
    kMade      // what a node of the body makes in the same step
  };
  Kind kind = Kind::kNothing;
  ir::Value* outer = nullptr;
  size_t index = 0;  // of the feed, the state or the strand
  int output = 0;    // of the strand's node
  bool operator==(const BodyRead&) const = default;
};

// What each step reads of its own: pieces of one tensor, integers that are written down, or values one by one.
struct BodyFeed {
  ir::Value* whole = nullptr;    // pieces of it along an axis
  int64_t axis = 0;              // not negative
  int64_t size = 0;              // of the whole along the axis
  int64_t begin = 0, step = 0;   // the first piece begins there, each next one so much further; step may be negative
  int64_t length = 1;            // of a piece
  bool keeps_axis = true;        // else a piece of length 1 lacks it
  std::vector<ir::Value*> each;  // or: by step
  bool operator==(const BodyFeed&) const = default;
};

struct BodyState {
  BodyRead next;  // what it is after a step
  ir::Value* initial = nullptr;
  bool operator==(const BodyState&) const = default;
};

// What is read outside of what a node of the body makes.
struct BodyResult {
  size_t strand = 0;
  int output = 0;
  // Concat nodes that join the results of all steps: where their first one stands, and whether the last step comes first.
  struct Join {
    ir::Node* node;
    int first;
    bool backwards;
    int64_t axis;  // not negative
  };
  std::vector<Join> joins = {};
  // Read alone: the value of the last step that made one, and how many steps before the last that was.
  ir::Value* last = nullptr;
  int64_t steps_before_last = 0;
};

struct UnrolledBody {
  int64_t first = 0, count = 0;              // steps
  std::vector<size_t> nodes;                 // strands that are nodes of the body, in order
  std::vector<std::vector<BodyRead>> reads;  // of these, by operand
  int64_t model_step = 0;                    // a step in which all of them stand
  std::vector<BodyFeed> feeds;
  std::vector<BodyState> states;
  std::vector<BodyResult> results;
  // No step may be left at the shortest length: what each step is fed is never the whole of a tensor.
  bool may_be_empty = false;
};

// nullopt where the steps are not the same program with a state carried from one to the next; why says what is in the
// way, as the end of a sentence. facts: inferred for the graph.
std::optional<UnrolledBody> fold_steps(const Strands& strands, const infer::Result& facts, std::string& why);

}  // namespace thaw::lifting
