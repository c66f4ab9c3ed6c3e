// The registry: all that Thaw knows about an operator, in one entry.
//
// Who asks an entry needs this header alone; what its rules are given is in the headers that rule_types.h names. Each file
// of ops/onnx, ops/microsoft and ops/ml offers a function that adds its entries; families.h lists them.
// docs/internals/adding-an-operator.md walks through adding one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "thaw/ops/rule/roles.h"
#include "thaw/ops/rule/rule_types.h"

namespace thaw::ops {

// Domains: "" is ai.onnx. ai.onnx.ml, ai.onnx.preview.training and com.microsoft stand under their own names.
inline constexpr std::string_view kMicrosoft = "com.microsoft";
inline constexpr std::string_view kMl = "ai.onnx.ml";
inline constexpr std::string_view kTraining = "ai.onnx.preview.training";

// What kind of thing an operator does to its operands.
enum class OpClass : uint8_t {
  kOther,
  kElementwise,  // every tensor input broadcasts to the output, element by element
  kMovement,     // output elements are input elements, moved: Reshape, Transpose, Slice, Gather, Concat, …
  kReduction,    // ReduceSum, ArgMax, …
  kContraction,  // MatMul, Conv, Gemm, Einsum, attention: sizes meet weights
  kGenerator,    // makes a tensor from sizes or nothing: Constant, Range, ConstantOfShape, RandomNormal, …
  kControl,      // If, Loop, Scan, SequenceMap
};

// What computes an operator's results where all operands are constants.
enum class Evaluation : uint8_t {
  kByRunning,  // ONNX Runtime
  kByRule,     // its value rule, for small tensors of integers, where it knows every element; else ONNX Runtime
  kNever,      // nothing: random numbers, training, what runs graphs
};

struct Operator {
  std::string_view domain;
  std::string_view name;
  // Shape and value rule for every opset version of the operator; the rule asks ctx.opset() where versions differ.
  ShapeRule shape = nullptr;
  OpClass op_class = OpClass::kOther;
  NeedsRule needs = nullptr;   // of the numbers in its operands
  RangeRule range = nullptr;   // of the integers that it outputs
  OperandRoles operands = {};  // none: all data
  std::vector<AttributeRole> attributes = {};
  Axes axes = {};                                // by default, of what is elementwise: kBroadcastAxes
  Batch batch = {};                              // by default, of what has axes: batch_by_axes
  FrozenRule frozen = nullptr;                   // how a frozen size shows at it, beyond the obligations of its rule
  SizeRule sizes = nullptr;                      // what its size operands must be; by default the output's shape
  BodyRule bodies = nullptr;                     // of what runs graphs
  RoundsRule rounds = nullptr;                   // of the same
  FlopRule flops = nullptr;                      // by default, by the class: rule/cost.h
  AdapterRule newer = nullptr, older = nullptr;  // what means something else in a newer or older opset
  AdapterRule standard = nullptr;                // of what is not ONNX's: the operators of ai.onnx that it stands for
  Evaluation evaluation = Evaluation::kByRunning;
  bool deterministic = true;  // false for RandomNormal, Dropout in training, …
  NoiseRule noise = nullptr;  // of what draws numbers
  bool converts = false;      // elements keep their numbers in another type: Cast
  bool commutes = false;      // its operands may change places: Add
  bool widens = false;        // results may be far larger or smaller than operands: powers, exponentials, sums of many
  bool saturates = false;     // a number beyond what types hold counts as infinity does: Softmax, comparisons, maxima
  MagnitudeRule magnitude = nullptr;  // by default, by the class
  int counts_small = -1;  // the operand of which numbers next to 0 make a difference: a divisor, a logarithm's

  bool moves_elements() const { return op_class == OpClass::kMovement; }
  bool is_elementwise() const { return op_class == OpClass::kElementwise; }
  // Whether every number of the output is one of its data operands: moved, converted, chosen.
  bool passes_numbers() const {
    return moves_elements() || converts || (is_elementwise() && operands.find(Role::kCondition) >= 0);
  }
  Role role_of_attribute(std::string_view attribute) const;  // kSetting for one that is not listed
};

class Registry {
 public:
  void add(Operator op);  // the same operator twice is a programming error: throws std::logic_error
  // Operators that differ by name only.
  void add(std::initializer_list<std::string_view> names, Operator like);
  const Operator* find(std::string_view domain, std::string_view name) const;  // null: Thaw knows no rule
  const Operator* find(const ir::Node& node) const;
  std::vector<const Operator*> all() const;  // sorted by domain and name

 private:
  struct Key {
    std::string_view domain, name;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const {
      return std::hash<std::string_view>()(key.name) * 31 + std::hash<std::string_view>()(key.domain);
    }
  };

  std::unordered_map<Key, Operator, Hash> entries_;
};

// The role of a node's operand; kData of an operator that has no entry.
Role role_of(const ir::Node& node, int input);

const Registry& registry();  // built on first use
// For tests that add an operator of their own.
Registry& registry_for_tests();

}  // namespace thaw::ops
