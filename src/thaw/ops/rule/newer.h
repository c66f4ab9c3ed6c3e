// What a node must become to mean the same in a newer opset.
//
// Types, attributes that may be left out and attributes that become operands follow from ONNX's schemas
// (rewrite/raise_opset.h). An operator's rule says the rest.
#pragma once

#include <string>

#include "thaw/ops/rule/emit.h"
#include "thaw/ops/rule/node_view.h"

namespace thaw::ops {

// The message completes "… has no equal in opset 20: ".
struct NoEqual {
  std::string why;
};

class Newer : public NodeView {
 public:
  // Whether the operator's version changes to that one or past it: crosses(13) of Softmax from opset 11 to 20.
  bool crosses(int version) const { return before_ < version && version <= after_; }
  const Emit& at() const { return *at_; }  // before the node, in the newer opset
  ir::Node& changing() { return *changing_; }
  void set(ir::Attribute attribute) { changing_->set_attribute(std::move(attribute)); }
  // The node's first output is this value, and the node goes.
  void become(ir::Value* now) { replacement_ = now; }
  ir::Value* replacement() const { return replacement_; }

  // For the walker: the versions of the operator before and after; after INT_MAX where the newer opset lacks it.
  void begin(ir::Node& node, const Emit& at, int before, int after) {
    changing_ = &node;
    at_ = &at;
    before_ = before;
    after_ = after;
  }

 private:
  ir::Node* changing_ = nullptr;
  const Emit* at_ = nullptr;
  ir::Value* replacement_ = nullptr;
  int before_ = 0, after_ = 0;
};

// Throws NoEqual.
using NewerRule = void (*)(Newer&);

}  // namespace thaw::ops
