// One body being inferred: the model's graph (with its subgraphs), or a function's body for one call of it.
#pragma once

#include <unordered_map>
#include <utility>

#include "thaw/ir/graph/model.h"
#include "thaw/ops/rule/fact.h"

namespace thaw::infer {

struct ValueAxis {
  const ir::Value* value;
  int axis;
  bool operator==(const ValueAxis&) const = default;
};

struct ValueAxisHash {
  size_t operator()(const ValueAxis& key) const {
    return std::hash<const void*>()(key.value) * 31 + static_cast<size_t>(key.axis);
  }
};

inline const ops::Fact kUnknownFact;

// What is known of a value; nothing of null, nor of one that is not among the facts.
inline const ops::Fact& fact_of(const std::unordered_map<const ir::Value*, ops::Fact>& facts, const ir::Value* value) {
  const auto at = value ? facts.find(value) : facts.end();
  return at == facts.end() ? kUnknownFact : at->second;
}

struct Frame {
  std::unordered_map<const ir::Value*, ops::Fact> facts;
  // Constants that a caller passed for a function's inputs.
  std::unordered_map<const ir::Value*, const ir::Tensor*> constants;
  // Sizes known only at run time: one symbol for an output's axis, however often the node is visited.
  std::unordered_map<ValueAxis, dim::Dim, ValueAxisHash> data_dependent;
  // The function and the call being inferred, and the caller's frame; null at the top.
  const ir::Function* function = nullptr;
  const ir::Node* call = nullptr;
  const Frame* caller = nullptr;
  int depth = 0;
  HeldBytes held;  // what the facts take

  // The attribute that `name` of `node` stands for, references to the function's attributes resolved; null if not set.
  const ir::Attribute* attribute(const ir::Node& node, std::string_view name) const {
    const ir::Attribute* found = node.attribute(name);
    if (!found || found->ref_attr_name.empty()) return found;
    if (!function || !call) return nullptr;
    const ir::Attribute* given =
        caller ? caller->attribute(*call, found->ref_attr_name) : call->attribute(found->ref_attr_name);
    if (given) return given;
    for (const ir::Attribute& otherwise : function->attribute_defaults)
      if (otherwise.name == found->ref_attr_name) return &otherwise;
    return nullptr;
  }
};

}  // namespace thaw::infer
