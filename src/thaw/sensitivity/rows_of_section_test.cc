#include "thaw/sensitivity/rows_of_section.h"

#include <gtest/gtest.h>

#include "thaw/ir/graph/builder.h"

namespace thaw::measuring {
namespace {

using ir::DataType;
using Names = std::set<std::string>;

const std::vector<float> kOnes(16, 1);
const ir::Type kTokens = ir::tensor_type(DataType::kFloat, {"size_0", "size_1", 4});

TEST(RowsOfSection, ALayerTreatsThemApart) {
  ir::ModelBuilder m;
  ir::Value* x = m.add_input("x", DataType::kFloat, {});
  ir::Value* mask = m.add_input("mask", DataType::kFloat, {});
  ir::Value* w = m.add_floats("w", {4, 4}, kOnes);
  ir::Value* transposed = m.add_node("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  ir::Value* scores = m.add_node("Add", {m.add_node("MatMul", {m.add_node("MatMul", {x, w}), transposed}), mask});
  m.add_output(m.add_node("MatMul", {m.add_node("Softmax", {scores}, {{"axis", int64_t{-1}}}), x}), "y");
  auto model = m.build();
  const rewrite::BoundaryValues types{{"x", kTokens},
                                      {"mask", ir::tensor_type(DataType::kFloat, {"size_0", 1, "size_1"})}};
  EXPECT_EQ(rows_of_section(*model, types, "size_0"), (Names{"x", "mask", "y"}));
  EXPECT_FALSE(rows_of_section(*model, types, "size_1"));
  // A mask for all samples stays as it is; one of a size that is not known to be theirs is no mask of theirs.
  EXPECT_EQ(rows_of_section(*model, {{"x", kTokens}, {"mask", ir::tensor_type(DataType::kFloat, {1, 1, "size_1"})}},
                            "size_0"),
            (Names{"x", "y"}));
  EXPECT_FALSE(rows_of_section(
      *model, {{"x", kTokens}, {"mask", ir::tensor_type(DataType::kFloat, {ir::kUnknownDim, 1, "size_1"})}}, "size_0"));
  EXPECT_FALSE(rows_of_section(*model, {{"x", kTokens}}, "size_0"));
}

TEST(RowsOfSection, WhatMixesThemDoesNot) {
  for (const char* op : {"ReduceSum", "Reshape", "CumSum", "Softmax"}) {
    ir::ModelBuilder m;
    ir::Value* x = m.add_input("x", DataType::kFloat, {});
    const std::string name = op;
    ir::Value* more = name == "Reshape"  ? m.add_ints("to", {-1, 4})
                      : name == "CumSum" ? m.add_ints("axis", {0})
                                         : m.add_ints("axes", {0});
    std::vector<ir::Value*> operands{x};
    if (name != "Softmax") operands.push_back(more);
    m.add_output(name == "Softmax" ? m.add_node(op, operands, {{"axis", int64_t{0}}}) : m.add_node(op, operands), "y");
    auto model = m.build();
    EXPECT_FALSE(rows_of_section(*model, {{"x", kTokens}}, "size_0")) << op;
  }
}

// A size that comes from another section is the size of one sample.
TEST(RowsOfSection, ASizeThatIsFedIsNotFollowed) {
  ir::ModelBuilder m;
  ir::Value* x = m.add_input("x", DataType::kFloat, {});
  ir::Value* size = m.add_input("size", DataType::kInt64, {});
  ir::Value* shape = m.add_node("Concat", {size, m.add_ints("rest", {-1, 2})}, {{"axis", int64_t{0}}});
  m.add_output(m.add_node("Reshape", {x, shape}), "y");
  auto model = m.build();
  EXPECT_FALSE(rows_of_section(*model, {{"x", kTokens}, {"size", ir::tensor_type(DataType::kInt64, {1})}}, "size_0"));
}

}  // namespace
}  // namespace thaw::measuring
