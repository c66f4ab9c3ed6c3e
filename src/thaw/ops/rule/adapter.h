// What a node must become to mean the same in a newer opset, or in an older one.
//
// Types, attributes that may be left out and attributes that are operands in one of them follow from ONNX's schemas
// (rewrite/change_opset.h). An operator's rules say the rest: `newer` what changed its meaning, `older` that too, and how an
// operator is written where there is none yet. Of one that is not ONNX's, `standard` says what it stands for in operators of
// ai.onnx, by the definition that ONNX Runtime documents and its kernels follow.
#pragma once

#include <string>
#include <vector>

#include "thaw/ops/rule/emit.h"
#include "thaw/ops/rule/node_view.h"

namespace thaw::ops {

// The message completes "… has no equal in opset 20: ".
struct NoEqual {
  std::string why;
};

class AdapterContext : public NodeView {
 public:
  // Whether the operator's version changes between that one's and those before it: crosses(13) of Softmax from opset 11 to
  // 20, or from 20 to 11.
  bool crosses(int version) const { return (before_ < version) != (after_ < version); }
  const Emit& at() const { return *at_; }  // before the node, in the other opset
  ir::Node& changing() { return *changing_; }
  void set(ir::Attribute attribute) { changing_->set_attribute(std::move(attribute)); }
  // Output i is this value; where any is, the node goes.
  void become(int i, ir::Value* now) {
    const auto at = static_cast<size_t>(i);
    if (at >= replacements_.size()) replacements_.resize(at + 1);
    replacements_[at] = now;
  }
  const std::vector<ir::Value*>& replacements() const { return replacements_; }

  // For the walker: the versions of the operator in both opsets; where there is none, INT_MAX in a newer one and 0 in an
  // older one.
  void begin(ir::Node& node, const Emit& at, int before, int after) {
    changing_ = &node;
    at_ = &at;
    before_ = before;
    after_ = after;
  }

 private:
  ir::Node* changing_ = nullptr;
  const Emit* at_ = nullptr;
  std::vector<ir::Value*> replacements_;
  int before_ = 0, after_ = 0;
};

}  // namespace thaw::ops
