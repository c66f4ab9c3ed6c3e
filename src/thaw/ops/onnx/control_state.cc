#include "thaw/ops/onnx/control_state.h"

namespace thaw::ops {
namespace {

// The steps from which on it is given up.
constexpr int kElements = 2, kItems = 3, kSizes = 6, kRanks = 7, kEverything = 8;

// Gives up the part of a fact that has not settled by this step.
Fact widened(Fact fact, int step) {
  if (step < kElements) return fact;
  if (fact.kind != Fact::Kind::kTensor && step >= kItems) return Fact();
  fact.elements = nullptr;
  fact.items = nullptr;
  if (step >= kSizes && fact.shape) fact.shape = Shape(fact.shape->size());
  if (step >= kRanks) fact.shape.reset();
  if (step >= kEverything) return Fact();
  return fact;
}

}  // namespace

bool StateFixpoint::advance(std::span<const Fact> after) {
  bool stable = true;
  for (size_t i = 0; i < state_.size(); ++i) {
    Fact next = join(state_[i], after[i]);
    if (is_same_knowledge(next, state_[i])) continue;
    state_[i] = widened(std::move(next), step_);
    stable = false;
  }
  // One value's change may move the next, and so on along a chain: in the end nothing is claimed of any.
  if (!stable && step_ >= kEverything) state_.assign(state_.size(), Fact());
  ++step_;
  return stable;
}

}  // namespace thaw::ops
