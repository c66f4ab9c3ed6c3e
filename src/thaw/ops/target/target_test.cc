#include "thaw/ops/target/target.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "thaw/ops/rule/operand_types.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {
namespace {

using ir::DataType;

const TargetDomain& directml(std::string_view domain = "") { return *find_target("directml")->domain(domain); }

// The opset of the kernel that serves an operator; 0: none does.
int kernel_opset(std::string_view op, int64_t opset, std::string_view domain = "") {
  auto match = find_kernel(directml(domain), op, opset);
  return match ? match->opset : 0;
}

TEST(Target, AreFoundByName) {
  for (const Target& target : targets()) EXPECT_EQ(find_target(target.name), &target);
  EXPECT_EQ(find_target("DirectML"), nullptr);
}

TEST(Target, AKernelServesAsLongAsTheOperatorStaysTheSame) {
  EXPECT_EQ(kernel_opset("Reshape", 12), 5);
  EXPECT_EQ(kernel_opset("Reshape", 13), 13);
  EXPECT_EQ(kernel_opset("Reshape", 18), 14);
  EXPECT_EQ(kernel_opset("Reshape", 19), 19);
  EXPECT_EQ(kernel_opset("MatMul", 20), 13);
}

TEST(Target, AKernelDoesNotServeTheOperatorAsItBecame) {
  // GridSample changed at opset 20, ScatterND at 18, Dropout at 10.
  EXPECT_EQ(kernel_opset("GridSample", 19), 16);
  EXPECT_EQ(kernel_opset("GridSample", 20), 0);
  EXPECT_EQ(kernel_opset("ScatterND", 17), 16);
  EXPECT_EQ(kernel_opset("ScatterND", 18), 0);
  EXPECT_EQ(kernel_opset("Dropout", 9), 7);
  EXPECT_EQ(kernel_opset("Dropout", 10), 0);
  EXPECT_EQ(kernel_opsets(directml(), "GridSample"), std::vector<int>{16});
}

TEST(Target, AKernelDoesNotServeAnOlderOperator) {
  EXPECT_EQ(kernel_opset("Range", 10), 0);
  EXPECT_EQ(kernel_opset("GroupNormalization", 20), 0);
}

TEST(Target, AnOperatorWithoutSchemaIsTakenFromItsKernelOn) {
  EXPECT_EQ(kernel_opset("SimplifiedLayerNormalization", 17), 1);
  EXPECT_EQ(kernel_opset("LayerNormalization", 11), 1);
  EXPECT_EQ(kernel_opset("LayerNormalization", 17), 17);
  EXPECT_EQ(kernel_opset("GroupQueryAttention", 1, kMicrosoft), 1);
  EXPECT_EQ(kernel_opset("PagedAttention", 1, kMicrosoft), 0);
}

TEST(Target, TablesAreSortedAndAscending) {
  for (const Target& target : targets()) {
    for (const TargetDomain& domain : target.domains) {
      EXPECT_TRUE(std::ranges::is_sorted(domain.kernels, {}, &Kernels::op)) << domain.name;
      EXPECT_TRUE(std::ranges::is_sorted(domain.operators)) << domain.name;
      for (const Kernels& row : domain.kernels) {
        auto end = std::ranges::find(row.opsets, 0);
        EXPECT_GT(end - row.opsets.begin(), 0) << row.op;
        EXPECT_TRUE(std::is_sorted(row.opsets.begin(), end)) << row.op;
      }
    }
  }
}

// Else a constraint would be looked up under a name that no operand has, and never trip.
TEST(Target, EveryTypeParameterIsOneOfTheOperators) {
  for (const TargetDomain& domain : find_target("directml")->domains) {
    for (const Kernels& row : domain.kernels) {
      for (int8_t opset : row.opsets) {
        if (opset == 0) continue;
        auto types = operand_types(domain.name, row.op, opset);
        ASSERT_TRUE(types) << domain.name << "." << row.op << " " << int{opset};
        for (const TypeConstraint& c : row.constraints) {
          if (c.parameter.empty()) continue;
          bool known = std::ranges::count(types->inputs, c.parameter) + std::ranges::count(types->outputs, c.parameter);
          EXPECT_TRUE(known) << domain.name << "." << row.op << " " << int{opset} << ": " << c.parameter;
        }
      }
    }
  }
}

TEST(TypeSet, TellsContainersApart) {
  const Kernels& row = *find_kernel(directml(), "Shape", 15)->kernels;
  const TypeSet& types = *row.types("T");
  EXPECT_TRUE(types.contains({Container::kTensor, DataType::kInt4}));
  EXPECT_TRUE(types.contains({Container::kSequence, DataType::kFloat16}));
  EXPECT_FALSE(types.contains({Container::kSequence, DataType::kInt4}));
  EXPECT_FALSE(types.contains({Container::kOptional, DataType::kFloat}));
  EXPECT_FALSE(types.contains({Container::kTensor, DataType::kBfloat16}));
  EXPECT_EQ(row.types("T2"), nullptr);
}

TEST(TypeSet, PrintsFloatsFirst) {
  EXPECT_EQ(to_string(*find_kernel(directml(), "Range", 11)->kernels->types("T")), "float32, int64, int32, int16");
  EXPECT_EQ(to_string(ValueType{Container::kOptionalSequence, DataType::kBool}), "optional(sequence(bool))");
}

TEST(OperandTypes, NamesTheParameterOfEachOperand) {
  auto concat = operand_types(kMicrosoft, "QLinearConcat", 1);
  ASSERT_TRUE(concat);
  EXPECT_EQ(concat->input(0), "TF");
  EXPECT_EQ(concat->input(7), "TV");  // all that follow
  EXPECT_EQ(concat->output(1), "");
  auto gather = operand_types("", "Gather", 13);
  EXPECT_EQ(gather->input(1), "Tind");
  EXPECT_EQ(gather->input(2), "");
  EXPECT_EQ(operand_types("", "Reshape", 13)->input(1), "tensor(int64)");
}

}  // namespace
}  // namespace thaw::ops
