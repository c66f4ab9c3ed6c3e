// The shapes of tensors in each trace, by place: how far a node is among those that are aligned. Internal to lift/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/lift/steps.h"

namespace thaw::lifting {

// By axis, the size in each trace.
using TracedAxes = std::vector<std::vector<int64_t>>;

class TracedShapes {
 public:
  explicit TracedShapes(Lifting& lifting);

  Lifting& lifting() const { return lifting_; }
  size_t num_places() const { return lifting_.alignment.nodes.front().size(); }
  // The node there, of the first trace and of another.
  ir::Node& node(size_t place, size_t trace = 0) const { return *lifting_.alignment.nodes[trace][place]; }
  // nullopt of nodes that are not aligned.
  std::optional<size_t> place_of(const ir::Node* node) const;

  // Of an operand and of a result; nullopt where a trace does not tell, or has another rank.
  std::optional<TracedAxes> operand(size_t place, int index = 0) const;
  std::optional<TracedAxes> result(size_t place, int index = 0) const;
  // Whether the node's result holds as many elements as its data in each trace.
  bool keeps_elements(size_t place) const;

  // As expressions of the inputs' sizes, of a value of the first trace; nullptr where inference knows none.
  const ops::Shape* shape_of(const ir::Value* value) const;
  // The axes of an operand: as inference has them of this tensor itself, else of a size of the inputs or of another tensor that is as large in
  // every trace; the symbol unknown where none is. nullopt where a trace does not tell.
  std::optional<std::vector<Variable>> axes_of(size_t place, int input) const;

 private:
  template <typename ValueOf>
  std::optional<TracedAxes> in_traces(const ValueOf& value_of) const;

  Lifting& lifting_;
  std::unordered_map<const ir::Node*, size_t> places_;
  std::vector<std::unique_ptr<dim::Scope>> scopes_;
  std::vector<infer::Result> facts_;
};

}  // namespace thaw::lifting
