// Which part of a model each node belongs to, for cuts at given tensors.
#pragma once

#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/ir/graph/model.h"

namespace thaw::splitting {

using Cut = std::vector<const ir::Value*>;  // tensors of the main graph that nodes make

// The values of the main graph that a node reads, those that graphs inside it read too; each once, in the order
// in which they are read.
std::vector<const ir::Value*> operands_of(const ir::Node& node);

// What a value is, as far as cutting is concerned.
enum class Passing : uint8_t {
  kConstant,  // comes from constants alone: each part has its own
  kSize,      // a small tensor of expressions in sizes: computed where it is needed, if it can be
  kTensor,    // all else
};

// Of every value of the main graph; inputs are tensors.
class Passings {
 public:
  Passings(const ir::Model& model, const infer::Result& facts);
  Passing of(const ir::Value* value) const;
  // Whether the node makes a tensor: it is work, that a part is there for.
  bool is_work(const ir::Node& node) const;

 private:
  std::unordered_map<const ir::Value*, Passing> found_;
};

class Stages {
 public:
  // `cuts` in the order in which they are passed: no cut's tensors need those of a later one.
  Stages(const ir::Model& model, const Passings& passings, std::span<const Cut> cuts);

  int count() const { return count_; }
  // From 0; -1 for nodes that come from constants alone.
  int of(const ir::Node* node) const;

 private:
  int count_;
  std::unordered_map<const ir::Node*, int> stages_;
};

}  // namespace thaw::splitting
