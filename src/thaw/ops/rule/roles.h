// What part each operand and attribute of an operator plays.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace thaw::ops {

enum class Role : uint8_t {
  kData,       // what is computed with
  kWeight,     // trained as a rule: a matrix, a kernel, a table of rows
  kBias,       // trained as a rule, one number a channel: biases, and the scales of norms
  kMask,       // what attention may look at
  kState,      // what is carried from call to call or from step to step: caches, hidden states
  kCarried,    // goes into a body as it is
  kCondition,  // truth values that choose
  // Numbers that sizes are made of.
  kShape,    // the sizes of the output's axes
  kSize,     // one size, count or limit
  kLengths,  // of the parts along an axis
  kRepeats,  // how often each axis is repeated
  kPads,     // what is added before and after each axis
  kBounds,   // where each axis is cut, one side
  kScales,   // factors of sizes, floating-point
  // Numbers that name positions.
  kAxes,      // axes of the data
  kSteps,     // of a Slice
  kIndex,     // positions along an axis of another operand
  kPosition,  // of each token in its sequence
  kCount,     // how many positions of each row are in use: lengths of sequences
  kRegion,    // corners in an image
  // Of quantized tensors.
  kQuantScale,
  kZeroPoint,
  // What is neither.
  kSetting,    // a number that steers: a ratio, a seed, training mode
  kShapeOnly,  // nothing but its shape, or length, is read
  kTypeOnly,   // nothing but its type is read
};

// Whether sizes of outputs are made of the operand's numbers: a constant there may be a frozen size.
constexpr bool holds_size(Role role) {
  switch (role) {
    case Role::kShape:
    case Role::kSize:
    case Role::kLengths:
    case Role::kRepeats:
    case Role::kPads:
    case Role::kBounds:
      return true;
    default:
      return false;
  }
}

// Whether nothing that is computed from the operand's numbers reaches the outputs.
constexpr bool is_unread(Role role) { return role == Role::kShapeOnly || role == Role::kTypeOnly; }

// The roles of an operator's operands in order; the last one stands for all that follow, or the last few repeat.
class OperandRoles {
 public:
  OperandRoles() = default;
  OperandRoles(std::initializer_list<Role> roles, size_t repeating = 1) : roles_(roles), repeating_(repeating) {}
  Role operator[](int i) const {
    if (roles_.empty()) return Role::kData;
    const auto at = static_cast<size_t>(i), before = roles_.size() - repeating_;
    return at < roles_.size() ? roles_[at] : roles_[before + (at - before) % repeating_];
  }
  size_t size() const { return roles_.size(); }
  // The first operand of a role; -1 where there is none.
  int find(Role role) const {
    for (size_t i = 0; i < roles_.size(); ++i)
      if (roles_[i] == role) return static_cast<int>(i);
    return -1;
  }

 private:
  std::vector<Role> roles_;
  size_t repeating_ = 1;
};

// An attribute that is no setting: axes, and the lists that older opsets have as attributes.
struct AttributeRole {
  std::string_view name;
  Role role;
  int64_t otherwise = kRequired;        // an axis where the attribute is missing
  int64_t first = 1, last = INT32_MAX;  // opsets in which it is so

  static constexpr int64_t kRequired = INT64_MIN;  // nothing is assumed
};

}  // namespace thaw::ops
