// What may leave the range of float16, and the nodes that bring it back.
//
// A square, a sum or an exponential is computed in float32 (float32_fallback.h), and so is all that is made of it until a root, a
// logarithm, a quotient brings it back: a Cast in between would be where it overflows. How large values may be follows
// from the operators (ops/rule/magnitude.h). What nothing brings back before a layer of the network reads it is not held.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/ir/graph/model.h"
#include "thaw/ops/rule/magnitude_map.h"
#include "thaw/quant/half/float32_fallback.h"

namespace thaw::quantizing {

class OverflowRegions {
 public:
  // `sizes`: what axes are taken to have (infer/cost.h). `io_is_wide`: outputs of the main graph are float32.
  OverflowRegions(const ir::Model& model, const infer::Result& facts, const dim::Assignment& sizes,
                  Float32Fallback& fallback, bool io_is_wide);

  // Why the node is not to compute in float16; empty where it may.
  std::string keeps_wide(const ir::Node& node) const;
  // Whether it may leave the range.
  bool leaves(const ir::Value* value) const;

 private:
  void hold(const ir::Graph& graph, bool outputs_are_wide);
  std::string why_over(const ir::Node& node, bool outputs_are_wide) const;
  std::string why_small(const ir::Node& node) const;
  const ir::Value* leaving_input(const ir::Node& node) const;
  bool loses_small(const ir::Value* value) const;

  class Context;

  const infer::Result& facts_;
  const dim::Assignment& sizes_;
  Float32Fallback& fallback_;
  ops::MagnitudeMap magnitudes_;
  std::unordered_map<const ir::Node*, std::string> over_, small_;  // nodes that are held, and why
};

}  // namespace thaw::quantizing
