// What a list of passes does with its passes, and a context with what is known of its model.
#include "thaw/rewrite/pass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/ir/graph/builder.h"
#include "thaw/rewrite/patch.h"

namespace thaw::rewrite {
namespace {

using ir::DataType;
using ir::Value;
using testing::ElementsAre;

// y = Relu(Neg(x)), x [n, 4]
std::unique_ptr<ir::Model> two_nodes(int64_t ir_version = 10) {
  ir::ModelBuilder m(21, ir_version);
  Value* x = m.add_input("x", DataType::kFloat, {"n", 4});
  m.add_output(m.add_node("Relu", {m.add_node("Neg", {x})}), ir::tensor_type(DataType::kFloat, {"n", 4}), "y");
  return m.build();
}

ir::Node* node_of(const ir::Model& model, std::string_view op) {
  for (ir::Node* node : model.graph->nodes())
    if (node->op_type() == op) return node;
  return nullptr;
}

int note(PassContext& context, std::string kind) {
  context.changes.made.push_back({.kind = std::move(kind), .location = "here"});
  return 1;
}

TEST(Passes, RunInOrderAndThoseThatDidSomethingAreNotedOnce) {
  const auto model = two_nodes();
  PassContext context(*model);
  std::vector<int> seen;
  const auto counting = [&](int count) {
    return [&seen, count](PassContext& c) {
      seen.push_back(c.done);
      return count;
    };
  };
  const Pass passes[] = {{"first", "", counting(2)}, {"idle", "", counting(0)}, {"last", "", counting(3)}};
  EXPECT_EQ(run(passes, context), 5);
  EXPECT_THAT(seen, ElementsAre(0, 2, 2));
  EXPECT_EQ(run(passes, context), 5);
  EXPECT_THAT(context.changes.passes, ElementsAre("first", "last"));
}

TEST(Passes, OneThatAGraphRefusesIsNamed) {
  const auto model = two_nodes();
  PassContext context(*model);
  const Pass passes[] = {{"sound", "", [](PassContext& c) { return note(c, "sound"); }},
                         {"taking", "", [](PassContext& c) {
                            ir::Graph& graph = *c.model.graph;
                            graph.rename(graph.outputs()[0], "x");
                            return 1;
                          }}};
  try {
    run(passes, context);
    FAIL() << "the name is taken";
  } catch (const PassFailed& failed) {
    EXPECT_EQ(failed.pass, "taking");
    EXPECT_THAT(failed.what(), testing::HasSubstr("--skip taking"));
  }
  // What is wrong with the model is no fault of a pass.
  const Pass refusing[] = {
      {"refusing", "", [](PassContext&) -> int { throw Error(ErrorCode::kUnsupported, {.what = "it is so"}); }}};
  EXPECT_THROW(
      {
        try {
          run(refusing, context);
        } catch (const PassFailed&) {
          FAIL() << "as it was thrown";
        }
      },
      Error);
}

TEST(Passes, OneThatWaitsRunsOnceNothingBeforeItDoesAnything) {
  const auto model = two_nodes();
  PassContext context(*model);
  int left = 1;
  const Pass passes[] = {
      {"first", "", [&](PassContext&) { return left-- > 0 ? 1 : 0; }},
      {"waits", "", once_settled([](PassContext& c) { return note(c, "waited"); })},
  };
  EXPECT_EQ(run(passes, context), 1);
  EXPECT_FALSE(context.changes.modified());
  EXPECT_EQ(run(passes, context), 1);
  EXPECT_TRUE(context.changes.modified());
}

TEST(Passes, SeveralInTurnAreOne) {
  const auto model = two_nodes();
  PassContext context(*model);
  const auto both =
      in_sequence([](PassContext& c) { return note(c, "a"); }, [](PassContext& c) { return note(c, "b"); });
  EXPECT_EQ(both(context), 2);
  EXPECT_EQ(context.changes.made.front().kind, "a");
}

TEST(Passes, APassThatNeedsNothingMoreRunsOnAContextThatHasMore) {
  struct Larger : PassContext {
    using PassContext::PassContext;
    int more = 7;
  };
  const auto model = two_nodes();
  Larger context(*model);
  const PassOn<Larger> passes[] = {{"plain", "", [](PassContext& c) { return note(c, "plain"); }},
                                   {"own", "", [](Larger& c) { return c.more; }}};
  EXPECT_EQ(run(passes, context), 8);
}

TEST(PassContext, FactsAreInferredWhenTheyAreAskedForAndGoAlongWithEdits) {
  const auto model = two_nodes();
  PassContext context(*model);
  ir::Node* relu = node_of(*model, "Relu");
  edit_as_one(context, [&] {
    node_of(*model, "Neg")->name = "renamed";
    return 1;
  });
  EXPECT_FALSE(context.has_facts());
  const Value* neg = relu->input(0);
  EXPECT_EQ(context.facts().fact(neg).rank(), 2);
  EXPECT_TRUE(context.has_facts());
  Patch patch(*model, "new");
  Value* abs = patch.before(relu).emit("Abs", {relu->input(0)});
  relu->set_input(0, abs);
  patch.apply(context.facts());
  EXPECT_EQ(context.facts().fact(abs).rank(), 2);
  context.forget_facts();
  EXPECT_FALSE(context.has_facts());
}

TEST(PassContext, NewConstantsAreListedAsTheFileListsThem) {
  for (const int64_t ir_version : {3, 10}) {
    const auto model = two_nodes(ir_version);
    PassContext context(*model);
    model->graph->add_initializer(ir::Tensor::from_int64("new", {1}, std::vector<int64_t>{1}));
    context.finish();
    EXPECT_EQ(model->graph->find("new")->is_input(), ir_version < 4);
  }
}

}  // namespace
}  // namespace thaw::rewrite
