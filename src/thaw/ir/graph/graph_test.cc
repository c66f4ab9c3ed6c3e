#include "thaw/ir/graph/graph.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/core/error_testing.h"
#include "thaw/ir/graph/builder.h"
#include "thaw/ir/graph/consistency_testing.h"

namespace thaw::ir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node* node : graph.nodes()) names.push_back(node->name);
  return names;
}

// x -> Relu a -> Neg b -> y, and Add(a, b) -> c
struct Chain : testing::Test {
  ModelBuilder m;
  Value* x = m.add_input("x", DataType::kFloat, {"n", 3});
  Value* a = m.add_node("Relu", {x}, {}, {.outputs = {"a"}});
  Value* b = m.add_node("Neg", {a}, {}, {.outputs = {"b"}});
  Value* c = m.add_node("Add", {a, b}, {}, {.outputs = {"c"}});
  Graph& g = m.graph();
  void SetUp() override { m.add_output(c); }
  void TearDown() override { EXPECT_EQ(inconsistency(g), ""); }
};

TEST_F(Chain, KnowsProducersAndUses) {
  EXPECT_EQ(b->producer()->op_type(), "Neg");
  EXPECT_EQ(a->uses().size(), 2u);
  EXPECT_EQ(g.find("a"), a);
  EXPECT_EQ(g.find("nothing"), nullptr);
  EXPECT_TRUE(c->is_output());
  EXPECT_TRUE(x->is_input());
  EXPECT_EQ(c->producer()->describe(), "Add 'c'");
}

TEST_F(Chain, ReplacesUsesInNodesAndOutputs) {
  c->set_type(tensor_type(DataType::kFloat, {"n", 3}));
  g.replace_uses(c, b);
  EXPECT_THAT(g.outputs(), ElementsAre(b));
  EXPECT_EQ(b->type, tensor_type(DataType::kFloat, {"n", 3}));  // an output keeps what was declared
  g.remove_node(c->producer());
  g.replace_uses(a, x);
  EXPECT_EQ(b->producer()->input(0), x);
  EXPECT_TRUE(a->uses().empty());
  g.rename(b, "result");
  EXPECT_EQ(g.find("result"), b);
  EXPECT_EQ(g.find("b"), nullptr);
}

TEST_F(Chain, RefusesToRemoveWhatIsInUse) {
  EXPECT_THAT(error_of([&] { g.remove_node(b->producer()); }), HasSubstr("'b' is in use"));
  EXPECT_THAT(error_of([&] { g.remove_node(c->producer()); }), HasSubstr("'c' is in use"));
  EXPECT_THAT(error_of([&] { g.remove_input(x); }), HasSubstr("'x' is in use"));
  EXPECT_THAT(error_of([&] { g.remove_value(a); }), HasSubstr("in use"));
}

TEST_F(Chain, RefusesNamesThatAreTaken) {
  EXPECT_THAT(error_of([&] { g.add_value("a"); }), HasSubstr("'a' is taken"));
  EXPECT_THAT(error_of([&] { g.rename(a, "b"); }), HasSubstr("taken"));
  EXPECT_THAT(error_of([&] { g.add_node("Neg", "", {x}, {b}); }), HasSubstr("made elsewhere"));
  EXPECT_EQ(g.unique_name("a"), "a_1");
  EXPECT_EQ(g.unique_name("a"), "a_2");
  EXPECT_EQ(g.unique_name("z"), "z");
}

TEST_F(Chain, InsertsBefore) {
  Value* d = g.add_value("d");
  g.add_node("Abs", "", {x}, {d}, "d", b->producer());
  EXPECT_THAT(names_of(g), ElementsAre("a", "d", "b", "c"));
}

TEST_F(Chain, ReleasedOutputCanBeMadeByAnotherNode) {
  Node* old = b->producer();
  EXPECT_EQ(g.release_output(old, 0), b);
  g.add_node("Abs", "", {a}, {b}, "new", old);
  g.remove_node(old);
  EXPECT_THAT(names_of(g), ElementsAre("a", "new", "c"));
  EXPECT_EQ(c->producer()->input(1)->producer()->op_type(), "Abs");
}

TEST_F(Chain, WalkSurvivesEdits) {
  // While walking: what stands under the walk is removed, and a node is put after it.
  std::vector<std::string> seen;
  for (Node* node : g.nodes()) {
    seen.push_back(node->name);
    if (node->name == "b") {
      g.add_node("Abs", "", {a}, {g.add_value("after")}, "after", g.next(node));
      g.replace_uses(b, a);
      g.remove_node(node);
    }
  }
  EXPECT_THAT(seen, ElementsAre("a", "b", "after", "c"));
}

TEST_F(Chain, WalkSurvivesRemovalOfWhatComesNext) {
  g.set_output(0, b);
  std::vector<std::string> seen;
  for (Node* node : g.nodes()) {
    seen.push_back(node->name);
    if (node->name == "a") g.remove_node(c->producer());
  }
  EXPECT_THAT(seen, ElementsAre("a", "b"));
}

TEST_F(Chain, ValueInfoIsKeptInOrderAndRemovedAlone) {
  g.set_value_info(a, tensor_type(DataType::kFloat, {"n", 3}));
  g.set_value_info(b, tensor_type(DataType::kFloat, {"n", 5}));
  EXPECT_THAT(g.value_infos(), ElementsAre(a, b));
  g.clear_value_info(a);
  EXPECT_THAT(g.value_infos(), ElementsAre(b));
  EXPECT_EQ(a->type.kind, Type::Kind::kNone);
  g.set_value_info(c, tensor_type(DataType::kFloat, {"n", 7}));
  EXPECT_THAT(g.value_infos(), ElementsAre(b));  // outputs are declared as outputs
  EXPECT_EQ((*c->type.shape)[1].value, 7);
}

TEST_F(Chain, InitializersComeAndGo) {
  Value* w = m.add_ints("w", {2, 3});
  Value* v = m.add_ints("v", {5});
  EXPECT_THAT(w->constant()->to_int64(), ElementsAre(2, 3));
  b->producer()->set_input(0, w);
  EXPECT_THAT(error_of([&] { g.remove_initializer(w); }), HasSubstr("in use"));
  g.remove_initializer(v);
  EXPECT_THAT(g.initializers(), ElementsAre(w));
  g.replace_initializer(w, Tensor::from_int64("ignored", {1}, std::vector<int64_t>{7}));
  EXPECT_THAT(w->constant()->to_int64(), ElementsAre(7));
  EXPECT_EQ(w->initializer()->name, "w");
  g.rename(w, "weight");
  EXPECT_EQ(w->initializer()->name, "weight");
}

TEST_F(Chain, ConstantNodesAreConstants) {
  Value* k = m.add_node("Constant", {}, {{"value_ints", std::vector<int64_t>{3, 5}}});
  EXPECT_THAT(k->constant()->to_int64(), ElementsAre(3, 5));
  k->producer()->remove_attribute("value_ints");
  EXPECT_EQ(k->constant(), nullptr);
  k->producer()->set_attribute({"value_float", 1.5F});
  EXPECT_THAT(k->constant()->to_double(), ElementsAre(1.5));
  EXPECT_EQ(a->constant(), nullptr);
}

TEST_F(Chain, SortsStably) {
  Node* first = a->producer();
  g.add_node("Abs", "", {b}, {g.add_value("e")}, "e", first);
  g.add_node("Abs", "", {x}, {g.add_value("d")}, "d", first);
  EXPECT_THAT(names_of(g), ElementsAre("e", "d", "a", "b", "c"));
  g.sort_topologically();
  EXPECT_THAT(names_of(g), ElementsAre("d", "a", "b", "e", "c"));
}

TEST_F(Chain, NamesTheCycle) {
  a->producer()->set_input(0, b);
  const std::string error = error_of([&] { g.sort_topologically(); });
  EXPECT_THAT(error, HasSubstr("cycle"));
  EXPECT_THAT(error, HasSubstr("Relu 'a'"));
  EXPECT_THAT(error, HasSubstr("Neg 'b'"));
  EXPECT_THAT(error, testing::Not(HasSubstr("Add")));  // reads the cycle, but is not on it
}

struct Captures : Chain {
  Value* cond = m.add_input("cond", DataType::kBool, {});
  std::shared_ptr<Graph> branch(const std::string& name) {
    return m.make_subgraph(name, [&](GraphBuilder& body) { body.add_output(body.add_node("Neg", {a})); });
  }
  Value* r = m.add_node("If", {cond}, {{"then_branch", branch("then")}, {"else_branch", branch("else")}});
};

TEST_F(Captures, SubgraphsUseOuterValues) {
  EXPECT_EQ(a->uses().size(), 4u);
  const Graph* then_branch = r->producer()->subgraphs()[0];
  EXPECT_EQ(then_branch->parent(), &g);
  EXPECT_EQ(then_branch->find("a"), nullptr);
  EXPECT_EQ(then_branch->find_visible("a"), a);
  g.replace_uses(a, x);
  EXPECT_EQ(then_branch->nodes().front()->input(0), x);
  EXPECT_TRUE(a->uses().empty());
}

TEST_F(Captures, RemovingTheNodeTakesItsUsesBack) {
  g.remove_node(r->producer());
  EXPECT_EQ(a->uses().size(), 2u);
}

TEST_F(Captures, SubgraphMovesToAnotherNode) {
  Node* old = r->producer();
  Value* other = g.add_value("other");
  Node* made = g.add_node("If", "", {cond}, {other}, "other");
  for (const Attribute& attribute : std::vector<Attribute>(old->attributes().begin(), old->attributes().end())) {
    made->set_attribute(attribute);
  }
  g.remove_node(old);
  EXPECT_EQ(a->uses().size(), 4u);
  EXPECT_EQ(made->subgraphs()[0]->parent_node(), made);
}

TEST_F(Captures, DetachedSubgraphTakesItsUsesAlong) {
  const auto kept = *r->producer()->attribute("then_branch")->as<std::shared_ptr<Graph>>();
  g.remove_node(r->producer());
  EXPECT_EQ(a->uses().size(), 2u);
  Value* other = m.add_node("If", {cond}, {{"then_branch", kept}, {"else_branch", branch("again")}});
  EXPECT_EQ(a->uses().size(), 4u);
  g.remove_node(other->producer());
}

TEST_F(Captures, RemovedAttributeTakesItsUsesBack) {
  r->producer()->remove_attribute("then_branch");
  EXPECT_EQ(a->uses().size(), 3u);
  r->producer()->set_attribute({"else_branch", int64_t{1}});
  EXPECT_EQ(a->uses().size(), 2u);
}

TEST_F(Captures, UniqueNamesAvoidSubgraphs) {
  const std::string inner = r->producer()->subgraphs()[0]->nodes().front()->output(0)->name();
  EXPECT_NE(g.unique_name(inner), inner);
}

TEST_F(Captures, RenamingMustNotBeHiddenBySubgraph) {
  const std::string inner = r->producer()->subgraphs()[0]->nodes().front()->output(0)->name();
  EXPECT_THAT(error_of([&] { g.rename(a, inner); }), HasSubstr("subgraph that reads it"));
}

TEST_F(Captures, GraphSharedPastTheModelIsSafe) {
  const auto kept = *r->producer()->attribute("then_branch")->as<std::shared_ptr<Graph>>();
  {
    ModelBuilder other;
    Value* v = other.add_input("v", DataType::kBool, {});
    auto body = other.make_subgraph("body", [&](GraphBuilder& b2) { b2.add_output(b2.add_node("Not", {v})); });
    other.add_node("If", {v}, {{"then_branch", body}});
  }
  EXPECT_EQ(kept->nodes().size(), 1u);
}

TEST_F(Captures, SubgraphMayReturnOuterValue) {
  auto body = m.make_subgraph("returns", [&](GraphBuilder& inner) { inner.add_output(b); });
  Value* s = m.add_node("If", {cond}, {{"then_branch", body}});
  EXPECT_TRUE(b->is_used());
  g.replace_uses(b, a);
  EXPECT_THAT(body->outputs(), ElementsAre(a));
  EXPECT_FALSE(b->is_used());
  g.remove_node(s->producer());
}

TEST_F(Captures, UsesInGraphsInsideComeInTheOrderOfTheirNodes) {
  constexpr size_t kNodes = 12;
  const size_t before = x->uses().size();
  const auto outer = m.make_subgraph("outer", [&](GraphBuilder& body) {
    for (size_t i = 0; i < kNodes; ++i) {
      const auto reads =
          body.make_subgraph("", [&](GraphBuilder& inner) { inner.add_output(inner.add_node("Neg", {x})); });
      body.add_output(body.add_node("If", {cond}, {{"then_branch", reads}}));
    }
  });
  m.add_node("If", {cond}, {{"then_branch", outer}});
  std::vector<const Node*> readers, nodes;
  for (const Use& use : x->uses().subspan(before)) readers.push_back(use.node->graph()->parent_node());
  for (const Node* node : outer->nodes()) nodes.push_back(node);
  EXPECT_EQ(readers, nodes);
  EXPECT_EQ(readers.size(), kNodes);
}

TEST_F(Captures, SortsByWhatSubgraphsRead) {
  Node* made = g.add_node("If", "", {cond}, {g.add_value("other")}, "other", a->producer());
  made->set_attribute({"then_branch", branch("again")});
  EXPECT_EQ(names_of(g).front(), "other");
  g.sort_topologically();
  EXPECT_EQ(names_of(g).front(), "a");
}

// Random edits, checked against what a graph says of itself.
TEST(GraphEdits, StayConsistent) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    ModelBuilder m;
    Graph& g = m.graph();
    std::vector<Value*> values = {m.add_input("x", DataType::kFloat, {"n"}), m.add_input("y", DataType::kFloat, {"n"})};
    const auto any = [&] { return values[random() % values.size()]; };
    for (int step = 0; step < 300; ++step) {
      switch (random() % 8) {
        case 0:
        case 1:
        case 2:
          values.push_back(m.add_node("Add", {any(), any()}));
          break;
        case 3: {
          Value* value = any();
          if (value->producer())
            value->producer()->set_input(static_cast<int>(random() % 3), random() % 4 ? any() : nullptr);
          break;
        }
        case 4:
          g.replace_uses(any(), any());
          break;
        case 5: {
          Value* value = any();
          if (!value->producer() || value->is_used()) break;
          std::erase(values, value);
          g.remove_node(value->producer());
          break;
        }
        case 6:
          g.rename(any(), g.unique_name("renamed"));
          break;
        default:
          if (random() % 2 || g.outputs().empty()) {
            g.add_output(any());
          } else {
            g.remove_output(static_cast<int>(random() % g.outputs().size()));
          }
      }
      if (step % 30 == 0) {
        ASSERT_EQ(inconsistency(g), "") << "seed " << seed << ", step " << step;
      }
    }
    ASSERT_EQ(inconsistency(g), "") << "seed " << seed;
  }
}

// Many edits of each kind on one hot value: nothing may take time in its square.
TEST(GraphEdits, ManyUsesOfOneValueAreCheap) {
  ModelBuilder m;
  Graph& g = m.graph();
  Value* x = m.add_input("x", DataType::kFloat, {"n"});
  constexpr int kMany = 50'000;
  std::vector<Value*> made;
  for (int i = 0; i < kMany; ++i) made.push_back(m.add_node("Relu", {x}, {}, {.outputs = {"v" + std::to_string(i)}}));
  for (Value* value : made) g.remove_node(value->producer());
  EXPECT_TRUE(g.nodes().empty());
  EXPECT_TRUE(x->uses().empty());
}

}  // namespace
}  // namespace thaw::ir
