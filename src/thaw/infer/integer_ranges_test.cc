#include "thaw/infer/integer_ranges.h"

#include <gtest/gtest.h>

#include "thaw/ops/rule/rule_testing.h"

namespace thaw::infer {
namespace {

TEST(IntegerRanges, FollowsIdsToTheirTable) {
  ops::RuleModel m;
  ir::Value* ids = m.add_input("ids", ir::DataType::kInt64, {"n"});
  ir::Value* kinds = m.add_input("kinds", ir::DataType::kInt64, {"n"});
  ir::Value* classes = m.add_input("classes", ir::DataType::kInt64, {"n"});
  ir::Value* free = m.add_input("free", ir::DataType::kInt64, {"n"});
  ir::Value* table = m.add_zeros("table", ir::DataType::kFloat, {7, 1});
  ir::Value* small = m.add_zeros("small", ir::DataType::kFloat, {2, 3});
  ir::Value* wide = m.add_node("Cast", {ids}, {{"to", int64_t{6}}});
  ir::Value* moved = m.add_node("Reshape", {wide, m.add_ints("", {1, -1})});
  m.add_output(m.add_node("Gather", {table, moved}));
  m.add_output(m.add_node("Gather", {table, kinds}));
  m.add_output(m.add_node("Gather", {small, kinds}, {{"axis", int64_t{1}}}));
  m.add_output(m.add_node("OneHot", {classes, m.add_int("", 5), m.add_ints("", {0, 1})}));
  m.add_output(m.add_node("Neg", {free}));
  dim::Scope scope;
  EXPECT_EQ(integer_ranges(m.model(), infer(m.model(), scope)),
            (std::map<std::string, IntegerRange>{{"ids", {0, 7}}, {"kinds", {0, 3}}, {"classes", {0, 5}}}));
}

TEST(IntegerRanges, OfAScatterIsTheShortestAxis) {
  ops::RuleModel m;
  ir::Value* positions = m.add_input("places", ir::DataType::kInt64, {2, 2});
  ir::Value* anywhere = m.add_input("anywhere", ir::DataType::kInt64, {2, 2});
  ir::Value* updates = m.add_input("updates", ir::DataType::kFloat, {2, 2});
  ir::Value* data = m.add_zeros("data", ir::DataType::kFloat, {7, 3});
  ir::Value* open = m.add_input("open", ir::DataType::kFloat, {"n", 3});
  m.add_output(m.add_node("ScatterElements", {data, positions, updates}));
  m.add_output(m.add_node("ScatterElements", {open, anywhere, updates}));
  dim::Scope scope;
  EXPECT_EQ(integer_ranges(m.model(), infer(m.model(), scope)),
            (std::map<std::string, IntegerRange>{{"places", {0, 3}}, {"anywhere", {0, 1}}}));
}

TEST(IntegerRanges, OfAxesAndSizes) {
  ops::RuleModel m;
  ir::Value* x = m.add_input("x", ir::DataType::kFloat, {3, 2, 5});
  ir::Value* axes = m.add_input("axes", ir::DataType::kInt64, {2});
  ir::Value* positions = m.add_input("places", ir::DataType::kInt64, {1});
  ir::Value* sizes = m.add_input("sizes", ir::DataType::kInt64, {3});
  ir::Value* lengths = m.add_input("lengths", ir::DataType::kInt64, {2});
  m.add_output(m.add_node("ReduceSum", {x, axes}));
  m.add_output(m.add_node("Unsqueeze", {x, positions}));
  m.add_output(m.add_node("Resize", {x, nullptr, nullptr, sizes}));
  m.add_output(m.add_node("ReverseSequence", {x, lengths}, {{"batch_axis", int64_t{1}}, {"time_axis", int64_t{0}}}));
  dim::Scope scope;
  EXPECT_EQ(integer_ranges(m.model(), infer(m.model(), scope)),
            (std::map<std::string, IntegerRange>{
                {"axes", {0, 3, true}}, {"lengths", {1, 3}}, {"places", {0, 4, true}}, {"sizes", {1, std::nullopt}}}));
}

}  // namespace
}  // namespace thaw::infer
