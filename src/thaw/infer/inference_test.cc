// Facts after edits are those of the model as it is: random edits, compared with inference from nothing.
#include "thaw/infer/inference.h"

#include <random>

#include <gtest/gtest.h>

#include "thaw/dim/text/text.h"
#include "thaw/ir/graph/builder.h"
#include "thaw/ir/graph/transaction.h"

namespace thaw::infer {
namespace {

using ir::DataType;

// A chain of operators over [n, 4] with a computed Reshape and an If.
std::unique_ptr<ir::Model> model() {
  ir::ModelBuilder m(21);
  ir::Value* x = m.add_input("x", DataType::kFloat, {"n", 4});
  ir::Value* flag = m.add_input("flag", DataType::kBool, ir::Dims{});
  ir::Value* y = x;
  for (int k = 0; k < 6; ++k) y = m.add_node(k % 2 == 0 ? "Relu" : "Neg", {y});
  ir::Value* rows = m.add_node("Gather", {m.add_node("Shape", {y}), m.add_ints("", {0})});
  ir::Value* flat =
      m.add_node("Reshape", {y, m.add_node("Concat", {rows, m.add_ints("", {2, 2})}, {{"axis", int64_t{0}}})});
  auto branch = [&](const char* op) {
    return m.make_subgraph(
        op, [&](ir::GraphBuilder& g) { g.add_output(g.add_node(op, {flat}), ir::tensor_type(DataType::kFloat)); });
  };
  ir::Value* chosen = m.add_node("If", {flag}, {{"then_branch", branch("Sin")}, {"else_branch", branch("Cos")}});
  ir::Value* z = m.add_node("Add", {chosen, m.add_zeros("bias", DataType::kFloat, {2})});
  for (int k = 0; k < 4; ++k) z = m.add_node("Transpose", {z}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  m.add_output(z, "out");
  return m.build();
}

std::string text_of(const ops::Fact& fact) {
  if (!fact.is_tensor() || !fact.shape) return "?";
  std::string text(ir::name_of(fact.dtype));
  for (const dim::Dim d : *fact.shape) text += " " + (d.is_known() ? dim::to_string(d) : std::string("?"));
  if (fact.elements)
    for (const ops::Element& e : *fact.elements)
      text += " = " + (e.as_dim().is_known() ? dim::to_string(e.as_dim()) : std::string("?"));
  return text;
}

// All that is known of the main graph: facts, then what was stated and what cannot run.
std::string text_of(const ir::Model& model, const Result& result) {
  std::string text;
  for (const ir::Node* node : model.graph->nodes())
    for (const ir::Value* v : node->outputs()) text += v->name() + ": " + text_of(result.fact(v)) + "\n";
  for (const ops::Obligation& o : result.obligations())
    text += o.node->describe() + " " + dim::to_string(o.a) + " " + dim::to_string(o.b) + "\n";
  for (const Problem& p : result.problems()) text += (p.node ? p.node->describe() : "") + " " + p.message + "\n";
  return text;
}

void edit(ir::Model& model, std::mt19937& random) {
  ir::Graph& graph = *model.graph;
  const auto pick = [&](size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random); };
  std::vector<ir::Node*> nodes(graph.nodes().begin(), graph.nodes().end());
  ir::Node* node = nodes[pick(nodes.size())];
  switch (pick(5)) {
    case 0: {  // a node more
      ir::Value* from = node->output(0);
      ir::Value* made = graph.add_value(graph.unique_name("made"));
      ir::Value* to = graph.add_value(graph.unique_name("stand_in"));
      graph.replace_uses(from, to);
      graph.add_node("Unsqueeze", "",
                     {from, graph.add_initializer(
                                ir::Tensor::from_int64(graph.unique_name("axes"), {1}, std::vector<int64_t>{0}))},
                     {made}, "", graph.next(node));
      graph.replace_uses(to, made);
      return graph.remove_value(to);
    }
    case 1:  // a node less
      if (node->inputs().size() != 1 || node->output(0)->is_output()) return;
      graph.replace_uses(node->output(0), node->input(0));
      return graph.remove_node(node);
    case 2:
      return node->op_type() == "Transpose" ? node->set_attribute({"perm", std::vector<int64_t>{1, 0, 2}}) : void();
    case 3:
      for (ir::Graph* inner : node->subgraphs()) inner->nodes().front()->set_op(pick(2) == 0 ? "Shape" : "Exp", "");
      return;
    default:
      return graph.inputs()[0]->set_dim(pick(2), {std::nullopt, "k" + std::to_string(pick(3)), {}});
  }
}

TEST(Inference, AfterEditsIsThatOfTheModelAsItIs) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    auto m = model();
    dim::Scope scope;
    Inference facts(*m, scope);
    for (int k = 0; k < 8; ++k) {
      ir::Transaction made(*m);
      edit(*m, random);
      facts.update(made.touched(), made.declared());
      made.keep();
      const Result fresh = infer(*m, scope);
      ASSERT_EQ(text_of(*m, facts.result()), text_of(*m, fresh)) << "seed " << seed << ", edit " << k;
    }
  }
}

TEST(Inference, StopsWhereFactsStayTheSame) {
  auto m = model();
  dim::Scope scope;
  Inference facts(*m, scope);
  ir::Transaction made(*m);
  m->graph->nodes().front()->set_op("Abs", "");
  EXPECT_EQ(facts.update(made.touched()), 1u);
  m->graph->nodes().front()->set_op("Shape", "");
  EXPECT_GT(facts.update(made.touched()), 5u);
  made.keep();
}

TEST(Inference, GivesSizesThatNoRuleTellsANameWhereAskedTo) {
  ir::ModelBuilder m(21);
  ir::Value* x = m.add_input("x", DataType::kFloat, {"n", 12});
  ir::Value* ends = m.add_input("ends", DataType::kInt64, {"k"});
  ir::Value* end = m.add_node("ReduceMax", {ends}, {{"keepdims", int64_t{1}}});
  ir::Value* cut = m.add_node("Slice", {x, m.add_ints("", {0}), end});
  ir::Value* rows = m.add_node("Gather", {m.add_node("Shape", {cut}), m.add_ints("", {0})});
  ir::Value* apart =
      m.add_node("Reshape", {cut, m.add_node("Concat", {rows, m.add_ints("", {3, -1})}, {{"axis", int64_t{0}}})});
  m.add_output(apart, "out");
  const auto built = m.build();
  dim::Scope plain, naming;
  EXPECT_EQ(text_of(Inference(*built, plain).fact(apart)), "float32 ? 3 ?");
  const Inference named(*built, naming, UnknownSizes::kNamed);
  EXPECT_TRUE(named.fact(apart).dim(2).is_constant(4));
  EXPECT_TRUE(dim::same(named.fact(apart).dim(0), named.fact(cut).dim(0)));
  EXPECT_FALSE(dim::same(named.fact(cut).dim(0), named.fact(x).dim(0)));
}

}  // namespace
}  // namespace thaw::infer
