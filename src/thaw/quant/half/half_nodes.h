// Which nodes compute in 16 bits: what their types allow, what the range of numbers needs, and where the fewest bytes are cast.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/quant/half/float32_fallback.h"
#include "thaw/quant/half/overflow_regions.h"
#include "thaw/quant/half/to_half.h"
#include "thaw/quant/half/typed_operands.h"

namespace thaw::quantizing {

struct HalfCandidate {
  ir::Node* node = nullptr;
  TypedOperands operands;
  std::string stays;     // in float32, because; empty: it may be either
  bool is_asked = true;  // for; what is not needs no reason
  bool is_narrow = false;
};

// A constant that no caller can replace.
inline bool is_fixed(const ir::Value& value) { return value.constant() && !value.is_input(); }

class HalfNodes {
 public:
  // Both must outlive it.
  HalfNodes(ir::Model& model, const HalfOptions& options);

  // All nodes but constants, those inside others too.
  std::vector<HalfCandidate> choose();

  Float32Fallback& fallback() { return fallback_; }
  const OverflowRegions* overflows() const { return overflows_ ? &*overflows_ : nullptr; }  // null of bfloat16
  const infer::Result& facts() const { return facts_; }

 private:
  void collect(const ir::Graph& graph);
  std::string why_wide(HalfCandidate& candidate);
  bool has_kernel(const ir::Node& node, const TypedOperands& operands) const;
  double bytes(const ir::Value* value) const;
  void label();
  int maker_of(const ir::Value& value, int world) const;

  ir::Model& model_;
  const HalfOptions& options_;
  dim::Scope scope_;
  infer::Result facts_;
  Float32Fallback fallback_;
  dim::Assignment sizes_;
  std::optional<OverflowRegions> overflows_;  // of float16
  std::vector<HalfCandidate> found_;
  std::unordered_map<const ir::Node*, int> index_;
};

}  // namespace thaw::quantizing
