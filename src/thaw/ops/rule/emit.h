// Writing nodes: what a rule that rewrites says, whatever the opset of the model.
//
// Operators are written in their newest form (Squeeze's axes as an operand); the writer behind it, rewrite/emitter.h,
// writes the form that the model's opset has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thaw/core/error.h"
#include "thaw/ir/graph/graph.h"

namespace thaw::ops {

using Attributes = std::vector<ir::Attribute>;

class NodeWriter {
 public:
  virtual ~NodeWriter() = default;
  virtual int64_t opset() const = 0;  // of ai.onnx
  // Adds a node of ai.onnx before another (null: at the end of the graph) and returns its output. A null operand is one
  // that is left out. Throws CannotWrite where the model's opset has no such node.
  virtual ir::Value* write(ir::Graph& graph, ir::Node* before, std::string_view op, std::vector<ir::Value*> inputs,
                           Attributes attributes) = 0;
  // A constant of the model, equal ones once.
  virtual ir::Value* constant(ir::Tensor tensor) = 0;
};

// `why` completes "…, because": "that takes Expand, as from opset 8 on". Where no one above knows of what, it is an error
// that says so.
struct CannotWrite : Error {
  explicit CannotWrite(std::string reason)
      : Error(ErrorCode::kUnsupported, {.what = "a node cannot be written, because " + reason,
                                        .expected = "a model whose opset has what takes its place",
                                        .next = "see `thaw check`, or raise the opset with `thaw optimize --opset`"}),
        why(std::move(reason)) {}
  std::string why;
};

// A position in a graph to write at. Values are of ai.onnx's shapes; axes may be negative.
class Emit {
 public:
  Emit(NodeWriter& writer, ir::Graph& graph, ir::Node* before) : writer_(&writer), graph_(&graph), before_(before) {}

  NodeWriter& writer() const { return *writer_; }
  ir::Graph& graph() const { return *graph_; }
  ir::Node* before() const { return before_; }

  ir::Value* emit(std::string_view op, std::vector<ir::Value*> inputs, Attributes attributes = {}) const {
    return writer_->write(*graph_, before_, op, std::move(inputs), std::move(attributes));
  }
  // Constants. list: int64 [n]; integer: int64 scalar; scalar: of a floating-point type; floats: float32.
  ir::Value* list(const std::vector<int64_t>& values) const;
  ir::Value* integer(int64_t value) const;
  ir::Value* scalar(double value, ir::DataType type) const;
  ir::Value* floats(const std::vector<int64_t>& dims, const std::vector<float>& values) const;
  // A list that is no other constant's, though another may be equal: in other traces of the model it may not be.
  ir::Value* own_list(std::string_view name, const std::vector<int64_t>& values) const;

  ir::Value* add(ir::Value* a, ir::Value* b) const { return emit("Add", {a, b}); }
  ir::Value* sub(ir::Value* a, ir::Value* b) const { return emit("Sub", {a, b}); }
  ir::Value* mul(ir::Value* a, ir::Value* b) const { return emit("Mul", {a, b}); }
  ir::Value* div(ir::Value* a, ir::Value* b) const { return emit("Div", {a, b}); }  // integers: toward zero
  ir::Value* cast(ir::Value* x, ir::DataType to) const;
  ir::Value* shape(ir::Value* x) const { return emit("Shape", {x}); }
  ir::Value* reshape(ir::Value* x, ir::Value* target) const { return emit("Reshape", {x, target}); }
  // Nothing is written where there are no axes.
  ir::Value* unsqueeze(ir::Value* x, const std::vector<int64_t>& axes) const;
  ir::Value* squeeze(ir::Value* x, const std::vector<int64_t>& axes) const;
  ir::Value* reduce(std::string_view op, ir::Value* x, const std::vector<int64_t>& axes, bool keepdims) const;
  ir::Value* transpose(ir::Value* x, const std::vector<int64_t>& permutation) const;
  ir::Value* concat(std::vector<ir::Value*> parts, int64_t axis) const;  // of one part: the part
  ir::Value* slice(ir::Value* x, int64_t begin, int64_t end = INT64_MAX, int64_t axis = 0) const;

 private:
  NodeWriter* writer_;
  ir::Graph* graph_;
  ir::Node* before_;
};

}  // namespace thaw::ops
