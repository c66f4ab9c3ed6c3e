// `thaw optimize`: passes over a model until none finds anything more to do.
#pragma once

#include <string_view>

#include "thaw/ops/target/target.h"
#include "thaw/optimize.h"
#include "thaw/rewrite/pass.h"

namespace thaw::optimizing {

using thaw::OptimizeOptions;

// Whether sizes that were frozen are a mistake, and kept apart for who fixes them, or meant, and folded.
enum class FrozenSizes : uint8_t { kKeptApart, kMeant };

// Changes the model in place. What a fusion nearly found stands in `left`, with the name of its pass as the kind; `passes`
// has those that did something.
rewrite::Changes optimize(ir::Model& model, const OptimizeOptions& options = {},
                          FrozenSizes sizes = FrozenSizes::kKeptApart);

// The pass that writes what a backend has kernels for.
inline constexpr std::string_view kBackendPass = "directml";

// Whether a pass puts operators in the place of arithmetic, so that results round otherwise.
bool is_fusion(std::string_view pass);

// What a target takes, as data; that of the backend where one is named. Throws thaw::Error for a name that there is not.
const ops::Target& target_of(OptimizeTarget target);
// That of a target and the backend beside it. Throws thaw::Error (kInvalidArgument) where both are given, or none is of that name.
const ops::Target& backend_of(OptimizeTarget target, const std::string& backend, std::string_view verb);
const ops::Target& backend_of(const OptimizeOptions& options);

// Nodes with those of subgraphs, and bytes of initializers.
struct Weight {
  size_t nodes = 0;
  uint64_t bytes = 0;
};
Weight weigh(const ir::Graph& graph);

}  // namespace thaw::optimizing
