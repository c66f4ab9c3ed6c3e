#include "thaw/ops/target/target.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "thaw/core/error.h"
#include "thaw/ir/graph/schema.h"
#include "thaw/ops/rule/operand_types.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/target/table.h"

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
  for (const std::string_view name : target_names()) {
    ASSERT_NE(find_target(name), nullptr) << name;
    EXPECT_EQ(find_target(name), find_target(name));
    EXPECT_EQ(find_target(name)->name, name);
    EXPECT_FALSE(find_target(name)->title.empty()) << name;
  }
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
  for (const std::string_view name : target_names()) {
    for (const TargetDomain& domain : find_target(name)->domains) {
      EXPECT_TRUE(std::ranges::is_sorted(domain.kernels, {}, &Kernels::op)) << name << " " << domain.name;
      EXPECT_TRUE(std::ranges::is_sorted(domain.operators)) << name << " " << domain.name;
      EXPECT_LE(domain.oldest, domain.newest) << name << " " << domain.name;
      for (const Kernels& row : domain.kernels) {
        EXPECT_FALSE(row.opsets.empty()) << name << " " << row.op;
        EXPECT_TRUE(std::ranges::is_sorted(row.opsets, {}, &OpsetRange::first)) << name << " " << row.op;
        for (const OpsetRange& opsets : row.opsets)
          EXPECT_TRUE(opsets.last == 0 || opsets.first <= opsets.last) << name << " " << row.op;
      }
    }
  }
}

// Two rows for one opset would make the second mute.
TEST(Target, OneKernelServesAnOpset) {
  for (const std::string_view name : target_names()) {
    for (const TargetDomain& domain : find_target(name)->domains) {
      std::map<std::string_view, std::vector<OpsetRange>> by_op;
      for (const Kernels& row : domain.kernels) std::ranges::copy(row.opsets, std::back_inserter(by_op[row.op]));
      for (auto& [op, opsets] : by_op) {
        std::ranges::sort(opsets, {}, &OpsetRange::first);
        for (size_t i = 1; i < opsets.size(); ++i)
          EXPECT_TRUE(opsets[i - 1].last < opsets[i].first && opsets[i - 1].first < opsets[i].first)
              << name << " " << domain.name << "." << op << " " << opsets[i].first;
      }
    }
  }
}

// Else a constraint would be looked up under a name that no operand has, and never trip.
TEST(Target, EveryTypeParameterIsOneOfTheOperators) {
  size_t looked_at = 0;
  for (const std::string_view name : target_names()) {
    for (const TargetDomain& domain : find_target(name)->domains) {
      for (const Kernels& row : domain.kernels) {
        for (const OpsetRange& opsets : row.opsets) {
          const auto types = operand_types(domain.name, row.op, opsets.first);
          if (!types) continue;  // an operator that no schema tells the operands of
          for (const TypeConstraint& c : row.types) {
            if (c.operands == "*" || c.operands.starts_with("input ")) continue;
            ++looked_at;
            EXPECT_GT(std::ranges::count(types->inputs, c.operands) + std::ranges::count(types->outputs, c.operands), 0)
                << name << ": " << domain.name << "." << row.op << " " << opsets.first << ": " << c.operands;
          }
        }
      }
    }
  }
  EXPECT_GT(looked_at, 2000u);
}

// An operator's name, the attributes and the inputs that a condition speaks of are those of the schema.
TEST(Target, ConditionsSpeakOfWhatTheOperatorsHave) {
  using Kind = KernelCondition::Kind;
  size_t looked_at = 0;
  for (const std::string_view name : target_names()) {
    for (const TargetDomain& domain : find_target(name)->domains) {
      if (!domain.name.empty()) continue;
      for (const Kernels& row : domain.kernels) {
        for (const KernelCondition& condition : row.conditions) {
          bool known = !ir::first_opset("", row.op);  // an operator that no schema has is taken as it is
          for (int64_t opset = 1; opset <= ir::newest_opset(); ++opset) {
            const auto schema = ir::find_schema("", row.op, opset);
            if (!schema) continue;
            if (condition.kind == Kind::kAttribute)
              known |= schema->has_attribute(condition.name);
            else if (condition.kind == Kind::kConstant || condition.kind == Kind::kAbsent)
              known |= condition.numbers.front() < schema->max_inputs;
            else
              known = true;
          }
          ++looked_at;
          EXPECT_TRUE(known) << name << ": " << row.op << " " << condition.name;
        }
      }
    }
  }
  EXPECT_GT(looked_at, 300u);
}

TEST(Target, RefusesATableThatItDoesNotUnderstand) {
  const auto reads = [](std::string_view text) {
    try {
      read_table({.name = "made", .text = text});
      return std::string();
    } catch (const Error& error) {
      return error.parts().where + ": " + error.parts().what;
    }
  };
  EXPECT_EQ(reads("title: Made\nopsets: 7-20\n\n[ai.onnx]\nAbs\t6-\tT=floats\n"), "");
  EXPECT_EQ(reads("titel: Made\n"), "the table of made, line 1: 'titel' is not understood");
  EXPECT_EQ(reads("[ai.onnx]\nAbs\t6-\tT=flaots\n"), "the table of made, line 2: 'flaots' is not understood");
  EXPECT_EQ(reads("[ai.onnx]\nAbs\tsix\n"), "the table of made, line 2: 'six' is not understood");
  EXPECT_EQ(reads("[ai.onnx]\nAbs\t6-\tconstants 1\n"), "the table of made, line 2: 'constants 1' is not understood");
}

TEST(TypeSet, TellsContainersApart) {
  const Kernels& row = *find_kernel(directml(), "Shape", 15)->kernels;
  const TypeSet& types = *row.types_of("T");
  EXPECT_TRUE(types.contains({Container::kTensor, DataType::kInt4}));
  EXPECT_TRUE(types.contains({Container::kSequence, DataType::kFloat16}));
  EXPECT_FALSE(types.contains({Container::kSequence, DataType::kInt4}));
  EXPECT_FALSE(types.contains({Container::kOptional, DataType::kFloat}));
  EXPECT_FALSE(types.contains({Container::kTensor, DataType::kBfloat16}));
  EXPECT_EQ(row.types_of("T2"), nullptr);
}

TEST(TypeSet, PrintsFloatsFirst) {
  EXPECT_EQ(to_string(*find_kernel(directml(), "Range", 11)->kernels->types_of("T")), "float32, int64, int32, int16");
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
