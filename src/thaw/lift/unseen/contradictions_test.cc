#include "thaw/lift/unseen/contradictions.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace thaw::lifting {
namespace {

// What no size can be is among the values of inputs too: a mask of INT64_MIN, an end of a slice.
TEST(Contradictions, ValuesAtTheEndOfTheIntegersAreTried) {
  ir::Model model;
  model.graph = std::make_unique<ir::Graph>();
  model.opset_imports.push_back({"", 18, {}});
  model.graph->add_input("limits", ir::Type::tensor(ir::DataType::kInt64, {{3, {}, {}}}));
  dim::Scope scope;
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  std::vector<Variable> variables;
  for (const std::vector<int64_t>& at : {std::vector{kLeast, int64_t{0}}, {kLeast, kMost}, {int64_t{7}, int64_t{3}}}) {
    const auto index = static_cast<int64_t>(variables.size());
    variables.push_back({.symbol = scope.input_value("limits", index),
                         .at = at,
                         .kind = Variable::Kind::kValue,
                         .input = "limits",
                         .index = index});
  }
  const Contradictions found = find_contradictions(model, variables, {});
  EXPECT_GT(found.sizes, 0u);
  EXPECT_EQ(found.broken, 0u);
}

}  // namespace
}  // namespace thaw::lifting
