// Halves of the last axis, which a rotary embedding rotates against each other: one after the other, or interleaved.
#pragma once

#include <optional>
#include <unordered_map>

#include "thaw/optimize/attention/shaped.h"

namespace thaw::optimizing {

// A run of elements along the last axis of a value.
struct LastAxisPart {
  ir::Value* of = nullptr;
  int64_t start = 0, size = 0, step = 1;
  int64_t whole = 0;  // elements of `of` along it

  // Of all elements, or of the first of them.
  bool is_half(int position, bool interleaved) const {
    if (size * 2 > whole) return false;
    return interleaved ? step == 2 && start == position : step == 1 && start == position * size;
  }
};

// By Split, Slice, or Split and Gather of an axis of two; nullopt for what is none.
std::optional<LastAxisPart> part_of_last_axis(ir::Value* value, const infer::Inference& facts);

// Whether angles are the same for both of each pair, as values tell that are computed from one half twice.
class EqualHalves {
 public:
  explicit EqualHalves(const infer::Inference& facts) : facts_(facts) {}
  bool holds(const ir::Value* value, bool interleaved, int depth = 24);

 private:
  bool find(const ir::Value* value, bool interleaved, int depth);
  bool holds_of_constant(const ir::Tensor& tensor, bool interleaved) const;

  const infer::Inference& facts_;
  std::unordered_map<const ir::Value*, bool> known_[2];  // by interleaved
};

// An operator's axis counted from the front; nullopt where the rank of its result is not known.
std::optional<int64_t> axis_of(const ir::Node& node, const infer::Inference& facts, int64_t otherwise);

}  // namespace thaw::optimizing
