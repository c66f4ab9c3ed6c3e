#include "thaw/ops/onnx/control_state.h"

namespace thaw::ops {

using dim::Dim;

namespace {

bool says_the_same(Dim a, Dim b) { return (a.is_unknown() && b.is_unknown()) || dim::same(a, b); }

bool says_the_same(const Element& a, const Element& b) { return (a.is_unknown() && b.is_unknown()) || same(a, b); }

template <typename T>
bool lists_say_the_same(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!says_the_same(a[i], b[i])) return false;
  return true;
}

// Two pointers to facts or lists of them, null for nothing known.
template <typename T, typename F>
bool pointers_say_the_same(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b, F same_content) {
  if (a == b) return true;
  return a && b && same_content(*a, *b);
}

// Gives up the part of a fact that has not settled by this step.
Fact widened(Fact fact, int step) {
  if (step < 2) return fact;
  if (fact.kind != Fact::Kind::kTensor && step >= 3) return Fact();
  fact.elements = nullptr;
  fact.items = nullptr;
  if (step >= 3 && fact.shape) fact.shape = Shape(fact.shape->size());
  if (step >= 4) fact.shape.reset();
  if (step >= 5) return Fact();
  return fact;
}

}  // namespace

bool says_the_same(const Fact& a, const Fact& b) {
  if (a.kind != b.kind || a.dtype != b.dtype || a.shape.has_value() != b.shape.has_value()) return false;
  if (a.shape && !lists_say_the_same(*a.shape, *b.shape)) return false;
  if (!says_the_same(a.length, b.length)) return false;
  auto facts = [](const Fact& x, const Fact& y) { return says_the_same(x, y); };
  return pointers_say_the_same(a.elements, b.elements, lists_say_the_same<Element>) &&
         pointers_say_the_same(a.element, b.element, facts) &&
         pointers_say_the_same(a.items, b.items, lists_say_the_same<Fact>);
}

bool StateFixpoint::advance(std::span<const Fact> after) {
  bool stable = true;
  for (size_t i = 0; i < state_.size(); ++i) {
    Fact next = join(state_[i], after[i]);
    if (says_the_same(next, state_[i])) continue;
    state_[i] = widened(std::move(next), step_);
    stable = false;
  }
  // One value's change may move the next, and so on along a chain: in the end nothing is claimed of any.
  if (!stable && step_ >= 5) state_.assign(state_.size(), Fact());
  ++step_;
  return stable;
}

}  // namespace thaw::ops
