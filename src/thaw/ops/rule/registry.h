// The registry: all that Thaw knows about an operator, in one entry.
//
// Each family file (elementwise.cc, reshape.cc, …) offers one function that adds its entries; registry.cc lists them.
// docs/adding-an-operator.md walks through adding one.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "thaw/ops/rule/context.h"

namespace thaw::ops {

using ShapeRule = void (*)(Context&);

// Domains: "" is ai.onnx. ai.onnx.ml, ai.onnx.preview.training and com.microsoft stand under their own names.
inline constexpr std::string_view kMicrosoft = "com.microsoft";
inline constexpr std::string_view kMl = "ai.onnx.ml";
inline constexpr std::string_view kTraining = "ai.onnx.preview.training";

// What kind of thing an operator does to its operands; for checks and rewrites that treat operators alike.
enum class OpClass : uint8_t {
  kOther,
  kElementwise,  // every tensor input broadcasts to the output, element by element
  kMovement,     // output elements are input elements, moved: Reshape, Transpose, Slice, Gather, Concat, …
  kReduction,    // ReduceSum, ArgMax, …
  kContraction,  // MatMul, Conv, Gemm, Einsum, attention: sizes meet weights
  kGenerator,    // makes a tensor from sizes or nothing: Constant, Range, ConstantOfShape, RandomNormal, …
  kControl,      // If, Loop, Scan, SequenceMap
};

struct OpEntry {
  std::string_view domain;
  std::string_view name;
  // Shape and value rule for every opset version of the operator; the rule asks ctx.opset() where versions differ.
  ShapeRule shape = nullptr;
  OpClass op_class = OpClass::kOther;
  bool deterministic = true;  // false for RandomNormal, Dropout in training, …
};

class Registry {
 public:
  void add(const OpEntry& entry);  // the same operator twice is a programming error: throws std::logic_error
  // Adds operators that share a domain and a class, each by its name and rule: add("Relu", relu).
  auto group(std::string_view domain, OpClass op_class) {
    return [this, domain, op_class](std::string_view name, ShapeRule shape) { add({domain, name, shape, op_class}); };
  }
  const OpEntry* find(std::string_view domain, std::string_view name) const;  // null: Thaw knows no rule
  std::vector<const OpEntry*> all() const;                                    // sorted by domain and name

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
  std::unordered_map<Key, OpEntry, Hash> entries_;
};

const Registry& registry();  // built on first use

}  // namespace thaw::ops
