// A node that a simplification looks at: what is known of its operands, and where to write what takes its place.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/ops/rule/emit.h"
#include "thaw/optimize/context.h"

namespace thaw::optimizing {

// The node of that operator of ai.onnx that makes a value, as its first output; null for another one.
const ir::Node* producer_of(const ir::Value* value, std::string_view op);

class Site {
 public:
  // Constants of `frozen` are not looked into: sizes were frozen in them, and are no numbers to compute with.
  Site(ir::Node& node, const infer::Result& facts, const ops::Emit& at, int64_t opset, const Constants& frozen,
       const Context& context)
      : node_(node), facts_(facts), at_(at), opset_(opset), frozen_(frozen), context_(context) {}

  const ir::Node& node() const { return node_; }
  const ops::Emit& at() const { return at_; }  // before the node
  int64_t opset() const { return opset_; }
  const ops::Target& backend() const { return context_.backend; }  // what the result is for
  bool has_kernel(std::string_view op) const { return context_.has_kernel(op); }
  ir::Value* input(int i) const { return node_.input(i); }
  ir::Value* output() const { return node_.output(0); }
  const ops::Fact& fact(const ir::Value* value) const { return facts_.fact(value); }
  const ops::Fact& in(int i) const { return facts_.fact(node_.input(i)); }
  const ops::Fact& out() const { return facts_.fact(node_.output(0)); }

  // The node of that operator of ai.onnx that makes a value; null for another one.
  const ir::Node* made_by(const ir::Value* value, std::string_view op) const { return producer_of(value, op); }
  const ir::Node* made_by(int input, std::string_view op) const { return producer_of(node_.input(input), op); }
  // Whether this node alone reads the value, so that what makes it goes with it.
  bool is_only_reader_of(const ir::Value* value) const;

  // Constants. The integers of an operand of `node`, or of the attribute that it was in earlier opsets; nullopt where
  // neither is there or the operand is computed.
  std::optional<std::vector<int64_t>> integers(const ir::Node& node, int input, std::string_view attribute) const;
  std::optional<std::vector<int64_t>> integers(int input, std::string_view attribute) const {
    return integers(node_, input, attribute);
  }
  // The one number that all elements of a constant are; small tensors only.
  std::optional<double> number(const ir::Value* value) const;
  // Axes counted from the front, in their order.
  std::optional<std::vector<int64_t>> axes(const ir::Node& node, int input, int rank) const;

  // What the node's only result is in operators of before there was its own; null where its entry tells none.
  ir::Value* in_older_operators() const;

  // The output is, in type and dims, what the operand is.
  bool keeps_shape_of(int input) const;

 private:
  ir::Node& node_;
  const infer::Result& facts_;
  const ops::Emit& at_;
  int64_t opset_;
  const Constants& frozen_;
  const Context& context_;
};

// Ranks known, and every dim the same for all sizes.
bool have_same_shape(const ops::Fact& a, const ops::Fact& b);
// Whether one node alone reads the value, so that what makes it can go with that node.
bool is_read_once(const ir::Value& value);
// The tensor of a value that nobody can replace; null for others.
const ir::Tensor* constant_of(const ir::Value* value);

}  // namespace thaw::optimizing
