#include "thaw/run/reference.h"

#include <gtest/gtest.h>

#include "thaw/core/error.h"
#include "thaw/run/relax.h"
#include "thaw/run/run_testing.h"

namespace thaw::run {
namespace {

using ir::DataType;

Array counting(std::vector<int64_t> dims) {
  std::vector<double> values(static_cast<size_t>(element_count(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  return Array::from_doubles(DataType::kFloat, std::move(dims), values);
}

InputSpec spec(std::string name, std::vector<dim::Dim> dims, DataType dtype = DataType::kFloat) {
  InputSpec input;
  input.name = std::move(name);
  input.dtype = dtype;
  input.dims = std::move(dims);
  return input;
}

TEST(AssembleRows, StacksWhereThatGivesTheShape) {
  const std::vector<Array> rows_of_one{counting({1, 3}), counting({1, 3})};
  EXPECT_EQ(assemble_rows(rows_of_one, nullptr).dims, (std::vector<int64_t>{2, 3}));
  const Array like = Array::zeros(DataType::kFloat, {2, 1, 3});
  EXPECT_EQ(assemble_rows(rows_of_one, &like).dims, (std::vector<int64_t>{2, 1, 3}));
  const std::vector<Array> ragged{counting({2, 3}), counting({5, 3})};
  EXPECT_EQ(assemble_rows(ragged, &like).dims, (std::vector<int64_t>{7, 3}));
  const std::vector<Array> scalars{counting({}), counting({})};
  EXPECT_EQ(assemble_rows(scalars, nullptr).dims, (std::vector<int64_t>{2}));
}

TEST(Reference, RunsRowByRowAndFeedsWhatHasNoBatchWhole) {
  const ModelFolder folder;
  const auto path = folder.write_model("single", R"(g (float[1,3] x, float[3] w) => (float[1,3] y) { y = Mul(x, w) })");
  dim::Scope scope;
  const dim::Dim n = scope.symbol("n");
  const std::vector<InputSpec> inputs{spec("x", {n, 3}), spec("w", {3})};
  Reference reference(path, inputs, {.per_sample = true});
  const Arrays feeds{{"x", counting({5, 3})}, {"w", counting({3})}};
  const std::vector<std::string> outputs{"y"};
  const Array y = reference.run(feeds, outputs, {}).at("y");
  EXPECT_EQ(y.dims, (std::vector<int64_t>{5, 3}));
  EXPECT_EQ(to_doubles(y)[14], 14 * 2);
}

TEST(Reference, InputsAreMatchedByNameAndType) {
  const ModelFolder folder;
  const auto path = folder.write_model("m", R"(g (float[n] x) => (float[n] y) { y = Relu(x) })");
  dim::Scope scope;
  const dim::Dim n = scope.symbol("n");
  const std::vector<InputSpec> other_name{spec("input", {n})};
  EXPECT_THROW(Reference(path, other_name, {}), Error);
  Reference renamed(path, other_name, {.names = {{"input", "x"}, {"out", "y"}}});
  EXPECT_TRUE(renamed.has_output("out"));
  const std::vector<std::string> outputs{"out"};
  EXPECT_EQ(renamed.run({{"input", counting({4})}}, outputs, {}).at("out"), counting({4}));
  const std::vector<InputSpec> half{spec("x", {n}, DataType::kFloat16)};
  EXPECT_THROW(Reference(path, half, {}), Error);
  Reference cast_to(path, half, {.cast = true});
  Arrays feeds{{"x", Array::from_doubles(DataType::kFloat16, {1}, std::vector<double>{1.0 / 3})}};
  cast_to.equalize(feeds);
  EXPECT_EQ(feeds.at("x").dtype, DataType::kFloat16);
  const std::vector<std::string> y{"y"};
  EXPECT_EQ(cast_to.run(feeds, y, {}).at("y").dtype, DataType::kFloat);
}

TEST(Reference, WithoutDeclaredSizesAModelComputesTheSame) {
  const ModelFolder folder;
  const auto path = folder.write_model(
      "m", R"(g (float["?","?"] x) => (float["?","?"] z) <float["?","?"] y> { y = Relu(x) z = Neg(y) })");
  const auto model = ir::load(path);
  drop_declared_sizes(*model);
  EXPECT_TRUE(model->graph->value_infos().empty());
  EXPECT_FALSE(model->graph->outputs()[0]->type.shape.has_value());
  for (const ir::DeclaredDim& dim : *model->graph->inputs()[0]->type.shape) EXPECT_TRUE(dim.param.empty());
  Session session(*model);
  EXPECT_EQ(to_doubles(session.run({{"x", counting({2, 3})}}).at("z"))[5], -5);
}

}  // namespace
}  // namespace thaw::run
