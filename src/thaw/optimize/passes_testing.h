// For tests of the passes of `optimize`: one of them by itself, held to what every pass ensures.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "thaw/ir/graph/builder.h"
#include "thaw/optimize/passes.h"
#include "thaw/rewrite/pass_testing.h"
#include "thaw/rewrite/remove_unused.h"

namespace thaw::optimizing {

// "MatMul Add": the nodes of the main graph, in order.
inline std::string operators_of(const ir::Model& model) {
  std::string all;
  for (const ir::Node* node : model.graph->nodes()) all.append(all.empty() ? "" : " ").append(node->op_type());
  return all;
}

// The operators that a pass leaves of a model for which it does something. It finds nothing more then.
template <typename Run>
std::string made_by(Run run, std::unique_ptr<ir::Model> model, OptimizeTarget target = OptimizeTarget::kPortable) {
  const std::unique_ptr<ir::Model> before = ir::clone(*model);
  Context context(*model, target);
  EXPECT_GT(run(context), 0);
  EXPECT_TRUE(context.changes.modified());
  rewrite::remove_unused(*model);
  rewrite::expect_ensured(*before, *model);
  Context again(*model, target);
  EXPECT_EQ(run(again), 0);
  return operators_of(*model);
}

// A pass leaves a model as it is, byte for byte.
template <typename Run>
void expect_left(Run run, std::unique_ptr<ir::Model> model, OptimizeTarget target = OptimizeTarget::kPortable) {
  const std::string before = ir::serialize(*model);
  Context context(*model, target);
  EXPECT_EQ(run(context), 0);
  EXPECT_EQ(ir::serialize(*model), before);
}

}  // namespace thaw::optimizing
