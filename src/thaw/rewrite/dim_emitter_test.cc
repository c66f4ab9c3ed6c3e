// What is emitted must compute the expression: inference over the emitted nodes returns the expression.
#include "thaw/rewrite/dim_emitter.h"

#include <unordered_map>

#include <gtest/gtest.h>

#include "thaw/core/error.h"
#include "thaw/dim/text/text.h"
#include "thaw/infer/infer.h"
#include "thaw/ir/graph/builder.h"

namespace thaw::rewrite {
namespace {

// A model with an input [n, 3, h, w], and the symbols of its inference.
class EmitDim : public testing::Test {
 protected:
  EmitDim() {
    ir::ModelBuilder m(/*opset=*/17);
    ir::Value* x = m.add_input("x", ir::DataType::kFloat, {"n", 3, "h", "w"});
    m.add_output(m.add_node("Relu", {x}), "y");
    model = m.build();
    result = infer::infer(*model, scope);
    shapes[model->graph->inputs()[0]] = *result.fact(model->graph->inputs()[0]).shape;
  }

  dim::Dim parse(std::string_view text) { return dim::parse(text, scope); }

  // The expression that inference finds behind what was emitted for `text`.
  std::string emitted(std::string_view text) {
    Emitter nodes(*model, "thaw");
    DimEmitter emitter(nodes, *model, shapes);
    ir::Value* value = emitter.emit(parse(text));
    model->graph->add_output(value);
    infer::Result after = infer::infer(*model, scope);
    const ops::Fact& fact = after.fact(value);
    if (!fact.elements || fact.elements->size() != 1) return "not followed";
    EXPECT_TRUE(after.problems().empty());
    EXPECT_EQ(fact.dtype, ir::DataType::kInt64);
    return dim::to_string(fact.elements->front().as_dim());
  }

  std::unique_ptr<ir::Model> model;
  dim::Scope scope;
  infer::Result result;
  std::unordered_map<const ir::Value*, ops::Shape> shapes;
};

class EmitDimExpression : public EmitDim, public testing::WithParamInterface<const char*> {};

TEST_P(EmitDimExpression, ComesBack) { EXPECT_EQ(emitted(GetParam()), dim::to_string(parse(GetParam()))); }

INSTANTIATE_TEST_SUITE_P(Expressions, EmitDimExpression,
                         testing::Values("h", "h + 3", "h - w", "2*h*w - 5", "n*h*h", "floor(h/14)", "floor((h - 3)/2)",
                                         "ceil(w/32)*2", "h % 5", "min(h, w)", "max(h - 7, 0)", "floor(h/2)*floor(w/2)",
                                         "floor(h/n)", "max(h, w, 11)"));

TEST_F(EmitDim, SharesWhatItHasEmitted) {
  Emitter nodes(*model, "thaw");
  DimEmitter emitter(nodes, *model, shapes);
  emitter.emit(parse("floor(h/14)*w"));
  const size_t before = nodes.num_nodes();
  emitter.emit(parse("floor(h/14)*w"));
  EXPECT_EQ(nodes.num_nodes(), before);
  emitter.emit(parse("floor(h/14)*w + 1"));
  EXPECT_EQ(nodes.num_nodes(), before + 1);
}

TEST_F(EmitDim, ShapeOfConstantsIsAConstant) {
  Emitter nodes(*model, "thaw");
  DimEmitter emitter(nodes, *model, shapes);
  ir::Value* fixed = emitter.emit_shape({2, 3, 5});
  ASSERT_NE(fixed->constant(), nullptr);
  EXPECT_EQ(fixed->constant()->to_int64(), (std::vector<int64_t>{2, 3, 5}));
  EXPECT_EQ(nodes.num_nodes(), 0u);
}

TEST_F(EmitDim, CannotEmitWhatOnlyRunningTells) {
  Emitter nodes(*model, "thaw");
  DimEmitter emitter(nodes, *model, shapes);
  EXPECT_FALSE(emitter.can_emit(scope.fresh("count", dim::SymbolKind::kDataDependent)));
  EXPECT_FALSE(emitter.can_emit(dim::Dim()));
  EXPECT_THROW(emitter.emit(dim::Dim()), Error);
  EXPECT_TRUE(emitter.can_emit(parse("floor(h/2)")));
}

TEST_F(EmitDim, RefusesOldOpsets) {
  model->opset_imports[0].version = 11;
  Emitter nodes(*model, "thaw");
  EXPECT_THROW(DimEmitter(nodes, *model, shapes), Error);
  const DimEmitter some(nodes, *model, shapes, DimEmitter::kOpsetOfSome);
  EXPECT_TRUE(some.can_emit(parse("floor((h + 1)/2)*w")));
  EXPECT_FALSE(some.can_emit(parse("floor(max(h, w)/2)")));
}

}  // namespace
}  // namespace thaw::rewrite
