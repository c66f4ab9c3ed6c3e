#include "thaw/lift/recurrence/unrolled_body.h"

#include <gmock/gmock.h>

#include "thaw/ir/graph/builder.h"

namespace thaw::lifting {
namespace {

using ir::DataType;
using ir::Value;

// h = tanh(h * decay) + x[:, t], for each t, with what is written of each step into one row.
struct Written {
  explicit Written(int64_t steps) : m(18) {
    x = m.add_input("x", DataType::kFloat, {2, steps, 3});
    decay = m.add_floats("decay", {3}, std::vector<float>{0.5F, 0.25F, 1.5F});
    zeros = m.add_zeros("zeros", DataType::kFloat, {2, 3});
  }

  Value* row(int64_t t) { return m.add_node("Gather", {x, m.add_int({}, t)}, {{"axis", int64_t{1}}}); }
  Value* step(Value* h, Value* row, const char* op = "Add") {
    return m.add_node(op, {m.add_node("Tanh", {m.add_node("Mul", {h, decay})}), row});
  }
  // The states of as many steps from zeros on.
  std::vector<Value*> states(int64_t steps) {
    std::vector<Value*> all;
    for (int64_t t = 0; t < steps; ++t) all.push_back(step(t == 0 ? zeros : all.back(), row(t)));
    return all;
  }
  Value* stacked(const std::vector<Value*>& values) {
    std::vector<Value*> parts;
    for (Value* value : values) parts.push_back(m.add_node("Unsqueeze", {value, m.add_ints({}, {1})}));
    return m.add_node("Concat", parts, {{"axis", int64_t{1}}});
  }

  // The body of the only recurrence; empty with the reason in `why`.
  std::optional<UnrolledBody> fold() {
    model = m.build();
    strands = find_strands(*model->graph);
    if (strands.size() != 1) return std::nullopt;
    return fold_steps(strands.front(), infer::infer(*model, scope), why);
  }

  ir::ModelBuilder m;
  Value *x, *decay, *zeros;
  std::unique_ptr<ir::Model> model;
  dim::Scope scope;
  std::vector<Strands> strands;
  std::string why;
};

TEST(FoldSteps, FindsTheStateWhatIsFedAndWhatIsJoined) {
  Written w(5);
  const std::vector<Value*> results = w.states(5);
  w.m.add_output(w.stacked(results), "y");
  w.m.add_output(results.back(), "last");
  const auto body = w.fold();
  ASSERT_TRUE(body) << w.why;
  EXPECT_EQ(body->count, 5);
  EXPECT_EQ(body->nodes.size(), 4U);  // Mul, Tanh, Add, Unsqueeze
  ASSERT_EQ(body->feeds.size(), 1U);
  EXPECT_EQ(body->feeds[0].whole, w.x);
  EXPECT_EQ(body->feeds[0].begin, 0);
  EXPECT_EQ(body->feeds[0].step, 1);
  EXPECT_FALSE(body->feeds[0].keeps_axis);
  ASSERT_EQ(body->states.size(), 1U);
  EXPECT_EQ(body->states[0].initial, w.zeros);
  EXPECT_FALSE(body->may_be_empty);
  EXPECT_EQ(body->results.size(), 2U);
}

TEST(FoldSteps, GoesBackwardsAndBeginsAnywhere) {
  Written w(6);
  std::vector<Value*> results;
  Value* h = w.row(5);
  for (int64_t t = 4; t >= 0; --t) results.insert(results.begin(), h = w.step(h, w.row(t)));
  w.m.add_output(w.stacked(results), "y");
  const auto body = w.fold();
  ASSERT_TRUE(body) << w.why;
  EXPECT_EQ(body->count, 5);
  EXPECT_EQ(body->feeds[0].begin, 4);
  EXPECT_EQ(body->feeds[0].step, -1);
  EXPECT_TRUE(body->may_be_empty);
  ASSERT_EQ(body->results.size(), 1U);
  ASSERT_EQ(body->results[0].joins.size(), 1U);
  EXPECT_TRUE(body->results[0].joins[0].backwards);
}

TEST(FoldSteps, CarriesAStateForTwoSteps) {
  Written w(6);
  std::vector<Value*> results;
  Value *before = w.zeros, *h = w.m.add_zeros("more", DataType::kFloat, {2, 3});
  for (int64_t t = 0; t < 6; ++t) {
    Value* now = w.step(before, w.row(t));
    before = h;
    results.push_back(h = now);
  }
  w.m.add_output(w.stacked(results), "y");
  const auto body = w.fold();
  ASSERT_TRUE(body) << w.why;
  EXPECT_EQ(body->states.size(), 2U);
}

TEST(FoldSteps, RefusesOneStepThatIsAnother) {
  Written w(7);
  std::vector<Value*> results;
  Value* h = w.zeros;
  for (int64_t t = 0; t < 7; ++t) results.push_back(h = w.step(h, w.row(t), t == 3 ? "Sub" : "Add"));
  w.m.add_output(w.stacked(results), "y");
  EXPECT_FALSE(w.fold());
}

TEST(FoldSteps, RefusesAResultOfTheMiddle) {
  Written w(7);
  const std::vector<Value*> results = w.states(7);
  w.m.add_output(w.stacked(results), "y");
  w.m.add_output(w.m.add_node("Neg", {results[3]}), "middle");
  EXPECT_FALSE(w.fold());
  EXPECT_THAT(w.why, testing::HasSubstr("is read by Neg"));
}

TEST(FoldSteps, RefusesRowsInAnotherOrder) {
  Written w(5);
  std::vector<Value*> results;
  Value* h = w.zeros;
  for (const int64_t t : {0, 1, 3, 2, 4}) results.push_back(h = w.step(h, w.row(t)));
  w.m.add_output(w.stacked(results), "y");
  const auto body = w.fold();
  // The places are a table then, which says nothing of how many there are.
  EXPECT_FALSE(body);
}

TEST(FoldSteps, DrawsOtherNumbersInEachStep) {
  Written w(5);
  std::vector<Value*> results;
  Value* h = w.zeros;
  for (int64_t t = 0; t < 5; ++t) {
    Value* drawn = w.m.add_node("RandomNormal", {}, {{"shape", std::vector<int64_t>{2, 3}}});
    results.push_back(h = w.step(h, w.m.add_node("Mul", {w.row(t), drawn})));
  }
  w.m.add_output(w.stacked(results), "y");
  const auto body = w.fold();
  ASSERT_TRUE(body) << w.why;
  EXPECT_EQ(body->nodes.size(), 6U);  // the RandomNormal too
}

TEST(FindStrands, LeavesWhatCarriesNothing) {
  Written w(5);
  std::vector<Value*> results;
  for (int64_t t = 0; t < 5; ++t) results.push_back(w.step(w.row(t), w.row(t)));
  w.m.add_output(w.stacked(results), "y");
  w.model = w.m.build();
  EXPECT_TRUE(find_strands(*w.model->graph).empty());
}

// Two states that begin alike share a node of the first step: exporters write equal nodes once.
TEST(FindStrands, PartsWhatTheFirstStepShares) {
  Written w(5);
  Value *a = w.zeros, *b = w.zeros;
  std::vector<Value*> results;
  for (int64_t t = 0; t < 5; ++t) {
    Value *left = w.m.add_node("Mul", {a, w.decay}), *right = t == 0 ? left : w.m.add_node("Mul", {b, w.decay});
    a = w.m.add_node("Add", {left, w.row(t)});
    b = w.m.add_node("Sub", {right, w.row(t)});
    results.push_back(w.m.add_node("Max", {a, b}));
  }
  w.m.add_output(w.stacked(results), "y");
  const auto body = w.fold();
  ASSERT_TRUE(body) << w.why;
  EXPECT_EQ(body->states.size(), 2U);
  EXPECT_EQ(body->count, 5);
}

}  // namespace
}  // namespace thaw::lifting
