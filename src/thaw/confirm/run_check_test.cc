#include "thaw/confirm/run_check.h"

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thaw::confirm {
namespace {

using testing::HasSubstr;

Array floats(const std::vector<double>& values, ir::DataType type = ir::DataType::kFloat) {
  return Array::from_doubles(type, {static_cast<int64_t>(values.size())}, values);
}

RunCheck compared(const Array& wanted, const Array& got) {
  RunCheck check;
  compare_output("y", wanted, got, check);
  return check;
}

TEST(RunCheck, AllowsAShareOfTheLargestElement) {
  EXPECT_TRUE(compared(floats({10, 0.5}), floats({10, 0.509})).agrees);
  const RunCheck differs = compared(floats({10, 0.5}), floats({10, 0.52}));
  EXPECT_FALSE(differs.agrees);
  EXPECT_NEAR(differs.max_abs_diff, 0.02, 1e-6);
  EXPECT_EQ(differs.max_abs_expected, 10);
  EXPECT_THAT(differs.message, HasSubstr("'y'"));
}

TEST(RunCheck, AllowsMoreOf16Bits) {
  EXPECT_TRUE(compared(floats({8, 2}, ir::DataType::kFloat16), floats({8, 2.0625}, ir::DataType::kFloat16)).agrees);
  EXPECT_FALSE(compared(floats({8, 2}), floats({8, 2.0625})).agrees);
}

TEST(RunCheck, AnOutputOfZerosMustBeOne) {
  EXPECT_TRUE(compared(floats({0, 0}), floats({0, 0})).agrees);
  EXPECT_FALSE(compared(floats({0, 0}), floats({0, 1e-4})).agrees);
}

TEST(RunCheck, SmallNumbersMayBeRoundedAsThoseAreThatTheyComeFrom) {
  const auto rounded = [](const Array& wanted, const Array& got) {
    RunCheck check;
    compare_output("y", wanted, got, check, {.least_scale = 1e-3});
    return check.agrees;
  };
  EXPECT_TRUE(rounded(floats({1e-5, 2e-6}), floats({1.02e-5, 2.3e-6})));
  EXPECT_FALSE(rounded(floats({1e-5, 2e-6}), floats({1.5e-5, 2e-6})));
  EXPECT_FALSE(compared(floats({1e-5, 2e-6}), floats({1.02e-5, 2.3e-6})).agrees);
}

TEST(RunCheck, AModelOf16BitsRoundsSo) {
  ir::Model model;
  model.graph = std::make_unique<ir::Graph>();
  EXPECT_EQ(closeness_of(model).share, 1e-3);
  model.graph->add_initializer(ir::Tensor::from_bytes("w", ir::DataType::kFloat16, {2, 1}, std::vector<std::byte>(4)));
  EXPECT_EQ(closeness_of(model).share, 1e-2);
}

TEST(RunCheck, ANanOnOneSideIsADifference) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(compared(floats({1, 2}), floats({1, nan})).agrees);
  EXPECT_FALSE(compared(floats({1, nan}), floats({1, 2})).agrees);
  EXPECT_FALSE(compared(floats({1, infinity}), floats({1, -infinity})).agrees);
  EXPECT_TRUE(compared(floats({1, nan, infinity}), floats({1, nan, infinity})).agrees);
}

TEST(RunCheck, ShapesTypesAndMissingOutputsAreDifferences) {
  EXPECT_FALSE(compared(floats({1, 2}), floats({1, 2, 3})).agrees);
  EXPECT_FALSE(compared(floats({1, 2}), floats({1, 2}, ir::DataType::kDouble)).agrees);
  RunCheck check;
  compare_outputs({{"y", floats({1})}}, {{"z", floats({1})}}, check);
  EXPECT_FALSE(check.agrees);
  EXPECT_THAT(check.message, HasSubstr("no output 'y'"));
}

TEST(RunCheck, KeepsTheWorstOfSeveralOutputs) {
  RunCheck check;
  compare_outputs({{"a", floats({100})}, {"b", floats({1})}}, {{"a", floats({100.01})}, {"b", floats({1.0001})}},
                  check);
  EXPECT_TRUE(check.agrees);
  EXPECT_NEAR(check.max_abs_diff, 0.01, 1e-5);
  EXPECT_EQ(check.max_abs_expected, 100);
}

}  // namespace
}  // namespace thaw::confirm
