// The registry against the official schemas, and against itself: an entry says everything.
#include "thaw/ops/rule/registry.h"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <onnx/defs/schema.h>

#include "thaw/ops/rule/context.h"

namespace thaw::ops {
namespace {

std::string full_name(const Operator& op) { return std::string(op.domain) + "." + std::string(op.name); }

TEST(Registry, HasARuleForEveryOperatorOfOnnx) {
  std::set<std::string> missing;
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    const Operator* entry = registry().find(schema.domain(), schema.Name());
    if (!entry || !entry->shape) missing.insert(schema.domain() + "." + schema.Name());
  }
  EXPECT_TRUE(missing.empty()) << testing::PrintToString(missing);
}

// A rule, or a reason why there can be none: nothing is left out by oversight.
TEST(Registry, SaysHowEachOperatorIsBatchedAndWhatBecomesOfItsAxes) {
  for (const Operator* op : registry().all()) {
    EXPECT_TRUE(op->axes.is_stated()) << full_name(*op) << " says nothing of its axes";
    EXPECT_TRUE(op->batch.is_stated()) << full_name(*op) << " says nothing of batching";
    for (const std::string_view reason : {op->axes.why_not, op->batch.why_not})
      EXPECT_TRUE(reason.empty() || reason.size() > 10) << full_name(*op);
  }
}

bool takes_floats(const onnx::OpSchema::FormalParameter& operand) {
  return std::ranges::any_of(operand.GetTypes(), [](const std::string* type) {
    return type->find("float") != std::string::npos || type->find("double") != std::string::npos ||
           type->find("complex") != std::string::npos;
  });
}

// Operands that are never floating-point beside some that may be are no data: they have a role.
TEST(Registry, HasARoleForEveryOperandThatIsNotData) {
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    const Operator* op = registry().find(schema.domain(), schema.Name());
    const auto& operands = schema.inputs();
    // The data of a quantized operator are integers.
    const bool is_quantized = op && op->operands.find(Role::kQuantScale) >= 0;
    if (!op || is_quantized || std::ranges::none_of(operands, takes_floats)) continue;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (takes_floats(operands[i])) continue;
      EXPECT_NE(op->operands[static_cast<int>(i)], Role::kData)
          << full_name(*op) << "-" << schema.since_version() << " takes '" << operands[i].GetName() << "', operand "
          << i;
    }
  }
}

// The most operands that a version of the operator takes; 0 where the schemas do not have it.
size_t most_operands(const Operator& op) {
  size_t most = 0;
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history())
    if (schema.Name() == op.name && schema.domain() == op.domain)
      most = std::max(most, static_cast<size_t>(schema.max_input()));
  return most;
}

// A pattern that does not parse throws; one that names more operands than the operator takes is about another operator.
TEST(Registry, HasNoRoleForOperandsThatDoNotExist) {
  for (const Operator* op : registry().all()) {
    if (!op->domain.empty() && op->domain != kMl) continue;
    const size_t most = most_operands(*op);
    EXPECT_TRUE(most == 0 || op->operands.size() <= most) << full_name(*op);
  }
}

TEST(Registry, SaysOfOperandsThatExistThatTheyCommuteOrCountSmall) {
  for (const Operator* op : registry().all()) {
    if (op->commutes) {
      EXPECT_GE(most_operands(*op), 2u) << full_name(*op);
    }
    if (op->counts_small >= 0) {
      EXPECT_LT(static_cast<size_t>(op->counts_small), most_operands(*op)) << full_name(*op);
      EXPECT_EQ(op->operands[op->counts_small], Role::kData) << full_name(*op);
    }
  }
}

// Numbers that are moved, converted or chosen are as large as they were.
TEST(Registry, SaysNothingOfHowLargeNumbersArePassedOn) {
  for (const Operator* op : registry().all()) {
    if (!op->passes_numbers()) continue;
    EXPECT_FALSE(op->widens || op->saturates || op->magnitude || op->counts_small >= 0) << full_name(*op);
  }
}

TEST(Registry, RefusesAnOperatorTwice) {
  Registry r;
  const Operator entry{.domain = "", .name = "Twice", .shape = [](Context&) {}};
  r.add(entry);
  EXPECT_THROW(r.add(entry), std::logic_error);
}

TEST(Registry, ListsOperatorsInOrder) {
  auto all = registry().all();
  ASSERT_GT(all.size(), 300u);
  for (size_t i = 1; i < all.size(); ++i)
    EXPECT_LT(std::tie(all[i - 1]->domain, all[i - 1]->name), std::tie(all[i]->domain, all[i]->name));
}

}  // namespace
}  // namespace thaw::ops
