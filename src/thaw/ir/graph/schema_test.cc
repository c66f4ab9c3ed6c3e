#include "thaw/ir/graph/schema.h"

#include <gtest/gtest.h>

namespace thaw::ir {
namespace {

TEST(OperandTypes, TakesWhatTheSchemaSays) {
  const auto types = find_operand_types("", "Relu", 14);
  ASSERT_TRUE(types);
  const std::string_view t = types->input(0);
  EXPECT_TRUE(types->takes(t, DataType::kFloat));
  EXPECT_TRUE(types->takes(t, DataType::kInt8));
  EXPECT_FALSE(types->takes(t, DataType::kBool));
  EXPECT_TRUE(types->takes("another parameter", DataType::kBool));
}

// A file may declare any number as an element type; 65 is no 1.
TEST(OperandTypes, TakesNoTypeThatThereIsNot) {
  const auto types = find_operand_types("", "Relu", 14);
  ASSERT_TRUE(types);
  for (const int number : {64, 65, 1 << 20, -1}) EXPECT_FALSE(types->takes(types->input(0), DataType(number)));
}

}  // namespace
}  // namespace thaw::ir
