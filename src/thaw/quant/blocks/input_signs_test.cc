#include "thaw/quant/blocks/input_signs.h"

#include <gtest/gtest.h>

#include "thaw/ir/graph/builder.h"

namespace thaw::quantizing::blocks {
namespace {

TEST(InputSigns, AreThoseOfWhatMakesAValueAndMovesIt) {
  ir::ModelBuilder m(21);
  ir::Value* x = m.add_input("x", ir::DataType::kFloat, {"n", 8});
  ir::Value* relu = m.add_node("Relu", {x});
  ir::Value* moved = m.add_node("Transpose", {relu});
  ir::Value* sum = m.add_node("Add", {relu, m.add_node("Sigmoid", {x})});
  ir::Value* less = m.add_node("Sub", {relu, relu});
  ir::Value* transposed = m.add_node("Neg", {relu});
  ir::Value* shifted = m.add_node("Add", {relu, x});
  for (ir::Value* each : {moved, sum, less, transposed, shifted}) m.add_output(each);
  const auto model = m.build();
  const InputSigns signs(*model->graph);
  for (const ir::Value* each : {relu, moved, sum, transposed}) EXPECT_TRUE(signs.has_one_sign(each)) << each->name();
  for (const ir::Value* each : {x, less, shifted}) EXPECT_FALSE(signs.has_one_sign(each)) << each->name();
}

}  // namespace
}  // namespace thaw::quantizing::blocks
