// Edits that are taken back leave the model as it was: random edits of a graph with subgraphs, undone.
#include "thaw/ir/graph/transaction.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

#include "thaw/core/error.h"
#include "thaw/ir/graph/builder.h"
#include "thaw/ir/graph/consistency_testing.h"

namespace thaw::ir {
namespace {

std::unique_ptr<Model> varied_model() {
  ModelBuilder m(21);
  Value* x = m.add_input("x", DataType::kFloat, {"n", 4});
  Value* flag = m.add_input("flag", DataType::kBool, Dims{});
  Value* w = m.add_floats("w", {4}, std::vector<float>{1, 2, 3, 4});
  Value* a = m.add_node("Add", {x, w}, {}, {.name = "add"});
  Value* b = m.add_node("Relu", {a}, {}, {.name = "relu"});
  auto branch = [&](const char* op) {
    return m.make_subgraph(op,
                           [&](GraphBuilder& g) { g.add_output(g.add_node(op, {a}), tensor_type(DataType::kFloat)); });
  };
  Value* c = m.add_node("If", {flag}, {{"then_branch", branch("Sin")}, {"else_branch", branch("Cos")}});
  Value* d = m.add_node("Mul", {b, c}, {{"note", int64_t{1}}}, {.name = "mul"});
  m.add_output(d, tensor_type(DataType::kFloat, {"n", 4}), "y");
  m.add_output(b, tensor_type(DataType::kFloat), "z");
  auto built = m.build();
  built->graph->set_value_info(built->graph->find(a->name()), tensor_type(DataType::kFloat, {"n", 4}));
  return built;
}

// All that a graph says, the order of initializers and value_info aside.
void describe(const Graph& graph, std::string& text) {
  const auto name = [](const Value* v) { return v ? v->name() : std::string("-"); };
  std::set<std::string> values;
  for (const Value* v : graph.initializers())
    values.insert("initializer " + v->name() + dims_text(Type::tensor(v->initializer()->data_type)));
  for (const Value* v : graph.value_infos()) values.insert("info " + v->name() + dims_text(v->type));
  for (const std::string& line : values) text += line + "\n";
  for (const Value* v : graph.inputs()) text += "in " + v->name() + dims_text(v->type) + "\n";
  for (const Node* node : graph.nodes()) {
    text += node->domain() + "." + node->op_type() + " '" + node->name + "'";
    for (const Value* v : node->inputs()) text += " " + name(v);
    text += " ->";
    for (const Value* v : node->outputs()) text += " " + name(v);
    for (const Attribute& a : node->attributes())
      text += " " + a.name + std::to_string(a.as<int64_t>() ? *a.as<int64_t>() : -1);
    text += "\n";
    for (const Graph* inner : node->subgraphs()) describe(*inner, text);
  }
  for (const Value* v : graph.outputs()) text += "out " + v->name() + dims_text(v->type) + "\n";
}

std::string text_of(const Model& model) {
  std::string text;
  describe(*model.graph, text);
  for (const OpsetImport& import : model.opset_imports) text += import.domain + std::to_string(import.version);
  return text;
}

// One random edit; those that the graph refuses are fine.
void edit(Model& model, std::mt19937& random) {
  Graph& main = *model.graph;
  std::vector<Graph*> graphs{&main};
  for (size_t g = 0; g < graphs.size(); ++g)
    for (Node* node : graphs[g]->nodes())
      for (Graph* inner : node->subgraphs()) graphs.push_back(inner);
  const auto pick = [&](size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random); };
  Graph& graph = *graphs[pick(graphs.size())];
  std::vector<Node*> nodes;
  for (Node* node : graph.nodes()) nodes.push_back(node);
  Node* node = nodes.empty() ? nullptr : nodes[pick(nodes.size())];
  std::vector<Value*> values(graph.inputs().begin(), graph.inputs().end());
  values.insert(values.end(), graph.initializers().begin(), graph.initializers().end());
  for (Node* n : graph.nodes())
    for (Value* v : n->outputs())
      if (v) values.push_back(v);
  Value* value = values.empty() ? nullptr : values[pick(values.size())];
  try {
    switch (pick(18)) {
      case 0:
        return void(graph.add_node("Abs", "", {value}, {graph.add_value(graph.unique_name("v"))}, "new", node));
      case 1:
        return node ? node->graph()->remove_node(node) : void();
      case 2:
        return node ? node->set_input(static_cast<int>(pick(3)), value) : void();
      case 3:
        return node ? node->set_attribute({"note", static_cast<int64_t>(pick(9))}) : void();
      case 4:
        return node && !node->attributes().empty()
                   ? node->remove_attribute(std::string(node->attributes().front().name))
                   : void();
      case 5:
        return node ? node->set_op("Exp", "") : void();
      case 6:
        return value ? graph.replace_uses(value, values[pick(values.size())]) : void();
      case 7:
        return value ? graph.rename(value, graph.unique_name("renamed")) : void();
      case 8:
        return void(graph.add_initializer(Tensor::from_int64(graph.unique_name("c"), {1}, std::vector<int64_t>{3})));
      case 9:
        return value ? graph.remove_initializer(value) : void();
      case 10:
        return value ? graph.set_value_info(value, tensor_type(DataType::kDouble, {3})) : void();
      case 11:
        return value ? graph.clear_value_info(value) : void();
      case 12:
        return void(graph.add_input(graph.unique_name("in"), tensor_type(DataType::kFloat, {"k"})));
      case 13:
        return value ? graph.add_output(value) : void();
      case 14:
        return value && !graph.outputs().empty()
                   ? graph.set_output(static_cast<int>(pick(graph.outputs().size())), value)
                   : void();
      case 15:
        return graph.outputs().size() > 1 ? graph.remove_output(0) : void();
      case 16:
        return value ? graph.remove_input(value) : void();
      default:
        return graph.sort_topologically();
    }
  } catch (const Error&) {
    // refused: nothing changed
  }
}

TEST(Transaction, TakesBackWhateverWasEdited) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    auto m = varied_model();
    const std::string before = text_of(*m);
    {
      Transaction undone(*m);
      m->opset_imports.push_back({"com.microsoft", 1, {}});
      for (int k = 0; k < 25; ++k) {
        edit(*m, random);
        ASSERT_EQ(inconsistency(*m->graph), "") << "seed " << seed;
      }
    }
    ASSERT_EQ(text_of(*m), before) << "seed " << seed;
    ASSERT_EQ(inconsistency(*m->graph), "") << "seed " << seed;
  }
}

TEST(Transaction, KeepsWhatItIsToldTo) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed), again(seed);
    auto m = varied_model(), plain = varied_model();
    Transaction kept(*m);
    for (int k = 0; k < 15; ++k) edit(*m, random);
    kept.keep();
    for (int k = 0; k < 15; ++k) edit(*plain, again);
    ASSERT_EQ(text_of(*m), text_of(*plain)) << "seed " << seed;
  }
}

TEST(Transaction, Nests) {
  auto m = varied_model();
  const std::string before = text_of(*m);
  {
    Transaction outer(*m);
    {
      Transaction inner(*m);
      m->graph->nodes().front()->set_op("Sub", "");
      inner.keep();
    }
    EXPECT_NE(text_of(*m), before);
    {
      Transaction dropped(*m);
      m->graph->nodes().front()->set_op("Div", "");
    }
    EXPECT_EQ(m->graph->nodes().front()->op_type(), "Sub");
  }
  EXPECT_EQ(text_of(*m), before);
}

TEST(Transaction, NamesWhatItTouched) {
  auto m = varied_model();
  Transaction edit(*m);
  Node* branch = nullptr;
  for (Node* node : m->graph->nodes())
    if (node->op_type() == "If") branch = node;
  branch->subgraphs()[0]->nodes().front()->set_op("Tan", "");
  EXPECT_EQ(edit.touched(), std::vector<const Node*>{branch});
}

}  // namespace
}  // namespace thaw::ir
