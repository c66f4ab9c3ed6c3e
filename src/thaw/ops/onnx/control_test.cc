#include <gtest/gtest.h>

#include "thaw/ops/onnx/control_state.h"
#include "thaw/ops/rule/rule_testing.h"

namespace thaw::ops {
namespace {

using ir::DataType;
using ir::GraphBuilder;
using ir::Type;
using ir::Value;

const Type kBool = ir::tensor_type(DataType::kBool, ir::Dims{});
const Type kInt = ir::tensor_type(DataType::kInt64, ir::Dims{});

TEST(If, JoinsWhatBothBranchesSay) {
  RuleModel m;
  Value* x = m.add_input("x", DataType::kFloat, {"n", "m"});
  auto branch = [&](const char* name, int64_t repeats) {
    return m.make_subgraph(
        name, [&](GraphBuilder& g) { g.add_output(g.add_node("Tile", {x, g.add_ints("", {1, repeats})})); });
  };
  Value* y =
      m.add_node("If", {m.add_input("c", kBool)}, {{"then_branch", branch("t", 2)}, {"else_branch", branch("e", 3)}});
  m.add_output(y);
  EXPECT_EQ(m.dims(), "n, ?");
}

TEST(If, TakesTheBranchThatAKnownConditionTakes) {
  RuleModel m;
  Value* x = m.add_input("x", DataType::kFloat, {"n", "m"});
  auto branch = [&](const char* name, int64_t repeats) {
    return m.make_subgraph(
        name, [&](GraphBuilder& g) { g.add_output(g.add_node("Tile", {x, g.add_ints("", {1, repeats})})); });
  };
  Value* rank = m.add_node("Size", {m.add_node("Shape", {x})});
  Value* y = m.add_node("If", {m.add_node("Equal", {rank, m.add_int("", 2)})},
                        {{"then_branch", branch("t", 2)}, {"else_branch", branch("e", 3)}});
  m.add_output(y);
  EXPECT_EQ(m.dims(), "n, 2*m");
}

// torch's squeeze(0): only the branch that runs needs an axis of 1.
TEST(If, StatesWhatABranchNeedsUnderItsCondition) {
  RuleModel m;
  Value* x = m.add_input("x", DataType::kFloat, {"n", "m"});
  auto squeezed = m.make_subgraph("t", [&](GraphBuilder& g) {
    Value* flat = g.add_node("Squeeze", {x, g.add_ints("", {0})});
    g.add_output(g.add_node("Unsqueeze", {flat, g.add_ints("", {0})}));
  });
  auto whole = m.make_subgraph("e", [&](GraphBuilder& g) { g.add_output(g.add_node("Identity", {x})); });
  Value* size = m.add_node("Gather", {m.add_node("Shape", {x}), m.add_int("", 0)});
  m.add_output(m.add_node("If", {m.add_node("Equal", {size, m.add_int("", 1)})},
                          {{"then_branch", squeezed}, {"else_branch", whole}}));
  // n where n is not 1, and 1 where it is.
  for (int64_t n : {0, 1, 2, 7}) EXPECT_EQ(m.sizes_at({{"n", n}, {"m", 3}}), (std::vector<int64_t>{n, 3}));
  EXPECT_EQ(m.obligations().find("n == 1"), std::string::npos) << m.obligations();
}

// A loop that runs `trips` times, carries x through `step`, and scans its state out.
void add_loop(RuleModel& m, Value* trips, Value* x, const std::function<Value*(GraphBuilder&, Value*)>& step,
              bool fed_condition = false) {
  auto body = m.make_subgraph("body", [&](GraphBuilder& g) {
    g.add_input("i", kInt);
    Value* condition = g.add_input("go", kBool);
    Value* state = g.add_input("state", ir::tensor_type(DataType::kFloat));
    g.add_output(g.add_node("Identity", {condition}));
    Value* next = step(g, state);
    g.add_output(next);
    g.add_output(g.add_node("Identity", {next}));
  });
  Value* condition = fed_condition ? m.add_input("c", kBool) : nullptr;
  for (Value* v : m.add_node(2, "Loop", {trips, condition, x}, {{"body", body}})) m.add_output(v);
}

TEST(Loop, ScansAsOftenAsItRuns) {
  RuleModel m;
  Value* x = m.add_input("x", DataType::kFloat, {"n", 3});
  Value* trips = m.add_node("Gather", {m.add_node("Shape", {x}), m.add_int("", 0)});
  add_loop(m, trips, x, [](GraphBuilder& g, Value* state) { return g.add_node("Relu", {state}); });
  EXPECT_EQ(m.dims(0), "n, 3");
  EXPECT_EQ(m.dims(1), "n, n, 3");
}

TEST(Loop, DoesNotSayHowOftenAFedConditionLetsItRun) {
  RuleModel m;
  Value* x = m.add_input("x", DataType::kFloat, {"n", 3});
  add_loop(m, m.add_int("", 5), x, [](GraphBuilder& g, Value* state) { return g.add_node("Relu", {state}); }, true);
  EXPECT_EQ(m.dims(0), "n, 3");
  EXPECT_EQ(m.dims(1), "Loop_1_dim0, n, 3");
}

TEST(Loop, GivesUpASizeThatGrows) {
  RuleModel m;
  Value* x = m.add_input("x", DataType::kFloat, {"n", 3});
  add_loop(m, m.add_int("", 4), x,
           [](GraphBuilder& g, Value* state) { return g.add_node("Concat", {state, state}, {{"axis", int64_t{0}}}); });
  EXPECT_EQ(m.dims(0), "?, 3");
  EXPECT_EQ(m.dims(1), "4, ?, 3");
}

TEST(Loop, KeepsTheInitialStateWhereItMayNotRun) {
  RuleModel m;
  Value* x = m.add_input("x", DataType::kFloat, {"n", 3});
  add_loop(m, m.add_input("trips", kInt), x, [](GraphBuilder& g, Value* state) {
    return g.add_node("Slice", {state, g.add_ints("", {0}), g.add_ints("", {1}), g.add_ints("", {1})});
  });
  EXPECT_EQ(m.dims(0), "n, ?");
  EXPECT_EQ(m.dims(1), "max(trips[0], 0), n, ?");
}

// What moves from value to value takes an iteration each; axes that stay are kept in all of them.
TEST(Loop, KeepsTheAxesThatStayAlongAChainOfValues) {
  RuleModel m;
  constexpr int kValues = 5;
  std::vector<Value*> inputs{m.add_int("", 4), nullptr};
  for (int i = 0; i < kValues; ++i)
    inputs.push_back(m.add_input(std::string(1, static_cast<char>('a' + i)), DataType::kFloat, {"n", i == 0 ? 2 : 1}));
  auto body = m.make_subgraph("body", [&](GraphBuilder& g) {
    g.add_input("i", kInt);
    Value* go = g.add_input("go", kBool);
    std::vector<Value*> states;
    for (int i = 0; i < kValues; ++i)
      states.push_back(g.add_input("s" + std::to_string(i), ir::tensor_type(DataType::kFloat)));
    g.add_output(g.add_node("Identity", {go}));
    for (int i = 0; i < kValues; ++i)
      g.add_output(g.add_node("Relu", {states[static_cast<size_t>(i == 0 ? 0 : i - 1)]}));
  });
  for (Value* v : m.add_node(kValues, "Loop", inputs, {{"body", body}})) m.add_output(v);
  EXPECT_EQ(m.dims(0), "n, 2");
  EXPECT_EQ(m.dims(1), "n, 2");
  for (int i = 2; i < kValues; ++i) EXPECT_EQ(m.dims(i), "n, ?") << i;
}

TEST(Scan, PutsTheLengthWhereItsAxesSay) {
  RuleModel m;
  Value* state = m.add_input("h", DataType::kFloat, {"batch", 8});
  Value* x = m.add_input("x", DataType::kFloat, {"batch", "time", 8});
  auto body = m.make_subgraph("body", [&](GraphBuilder& g) {
    Value* h = g.add_input("h_in", ir::tensor_type(DataType::kFloat));
    Value* step = g.add_input("x_in", ir::tensor_type(DataType::kFloat));
    Value* next = g.add_node("Add", {h, step});
    g.add_output(next);
    g.add_output(g.add_node("Relu", {next}));
  });
  std::vector<ir::Attribute> attributes{{"body", body}, {"num_scan_inputs", int64_t{1}}};
  attributes.push_back({"scan_input_axes", std::vector<int64_t>{1}});
  attributes.push_back({"scan_output_axes", std::vector<int64_t>{-1}});
  for (Value* v : m.add_node(2, "Scan", {state, x}, attributes)) m.add_output(v);
  EXPECT_EQ(m.dims(0), "batch, 8");
  EXPECT_EQ(m.dims(1), "batch, 8, time");
}

TEST(SequenceMap, MapsItemsThatAreKnownOneByOne) {
  RuleModel m;
  Value* x = m.add_input("x", DataType::kFloat, {"n", 5});
  Value* y = m.add_input("y", DataType::kFloat, {"m", 5});
  auto body = m.make_subgraph("body", [&](GraphBuilder& g) {
    Value* item = g.add_input("item", ir::tensor_type(DataType::kFloat));
    g.add_output(g.add_node("Transpose", {item}));
  });
  Value* mapped = m.add_node("SequenceMap", {m.add_node("SequenceConstruct", {x, y})}, {{"body", body}});
  m.add_output(m.add_node("SequenceAt", {mapped, m.add_int("", -1)}));
  m.add_output(m.add_node("ConcatFromSequence", {mapped}, {{"axis", int64_t{1}}}));
  EXPECT_EQ(m.dims(0), "5, m");
  EXPECT_EQ(m.dims(1), "5, n + m");
}

// A change that wanders along a chain of values, one a step, must not outlast the steps.
TEST(StateFixpoint, HoldsForLongChains) {
  constexpr int kLength = 40;
  std::vector<Fact> initial;
  for (int i = 0; i < kLength; ++i) initial.push_back(Fact::tensor(DataType::kFloat, Shape{i == 0 ? 2 : 1}));
  StateFixpoint fixpoint(initial);
  int steps = 0;
  auto after = [&] {  // each value becomes its neighbour's
    std::vector<Fact> next(fixpoint.state());
    for (int i = kLength - 1; i > 0; --i) next[i] = fixpoint.state()[i - 1];
    return next;
  };
  while (!fixpoint.advance(after())) ASSERT_LT(++steps, 10);
  auto next = after();
  for (int i = 0; i < kLength; ++i)
    EXPECT_TRUE(is_same_knowledge(join(fixpoint.state()[i], next[i]), fixpoint.state()[i])) << i;
}

}  // namespace
}  // namespace thaw::ops
