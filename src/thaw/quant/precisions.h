// Which precision each node is to have: the default, what a plan says by name, and what is kept.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "thaw/convert.h"
#include "thaw/ir/graph/model.h"
#include "thaw/rewrite/pass.h"

namespace thaw::quantizing {

class Precisions {
 public:
  // `before`: the model as it was given, whose names the options may use; what of them is gone in `model` is noted in
  // `left`. Throws thaw::Error (kInvalidArgument) for a name that neither has and a pattern that fits nothing.
  Precisions(const ir::Model& before, const ir::Model& model, const ConvertOptions& options, std::vector<Change>& left);

  const PrecisionOptions& of(const ir::Node& node) const;
  // Whether it is named by the plan or a pattern, or goes with one that is.
  bool is_asked_for(const ir::Node& node) const { return by_node_.contains(&node); }

 private:
  void join_projections(const ir::Model& model, std::vector<Change>& left);

  PrecisionOptions default_, keep_;
  std::vector<PrecisionOptions> planned_;
  std::unordered_map<const ir::Node*, const PrecisionOptions*> by_node_;
};

// Convolutions, pools and most of what else there is take bfloat16 since then.
inline constexpr int64_t kFirstWithBfloat16 = 22;

constexpr bool is_half(NumberFormat format) {
  return format == NumberFormat::kFloat16 || format == NumberFormat::kBfloat16;
}
constexpr bool is_int8(NumberFormat format) { return format == NumberFormat::kInt8; }
constexpr bool is_blocks(NumberFormat format) { return format >= NumberFormat::kInt4; }
// Bits of a number, or of a weight in blocks.
int bits_of(NumberFormat format);
// Calls each(precision, "the plan for 'node'") for the default, whose location is empty, and for every node of the plan.
void for_precisions(const ConvertOptions& options,
                    const std::function<void(const PrecisionOptions&, const std::string& location)>& each);
// Of the default, or of a node of the plan.
bool any_is(const ConvertOptions& options, const std::function<bool(const PrecisionOptions&)>& is);
bool any_is(const ConvertOptions& options, NumberFormat format);
// Whether samples, where there are some, choose anything: ranges, codes, or what stays in float32.
bool reads_samples(const ConvertOptions& options);
// "int4": as a plan and the command name it.
std::string_view name_of(NumberFormat format);

}  // namespace thaw::quantizing
