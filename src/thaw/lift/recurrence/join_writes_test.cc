#include "thaw/lift/recurrence/join_writes.h"

#include <gtest/gtest.h>

#include "thaw/ir/graph/builder.h"

namespace thaw::lifting {
namespace {

using ir::DataType;
using ir::Value;

// Rows of a buffer [2, 4, 3] at these places, one after the other.
int joined(const std::vector<int64_t>& places, bool by_rows, const ir::Model** written = nullptr) {
  static std::unique_ptr<ir::Model> model;
  ir::ModelBuilder m(18);
  Value* buffer = m.add_zeros("buffer", DataType::kFloat, {2, 4, 3});
  for (size_t i = 0; i < places.size(); ++i) {
    Value* row = m.add_input("row" + std::to_string(i), DataType::kFloat, {2, 3});
    if (by_rows) {
      Value* where = m.add_tensor(ir::Tensor::from_int64({}, {2, 2}, std::vector<int64_t>{0, places[i], 1, places[i]}));
      buffer = m.add_node("ScatterND", {buffer, where, row});
    } else {
      Value* where = m.add_tensor(ir::Tensor::from_int64({}, {2, 1, 3}, std::vector<int64_t>(6, places[i])));
      Value* piece = m.add_node("Unsqueeze", {row, m.add_ints({}, {1})});
      buffer = m.add_node("ScatterElements", {buffer, where, piece}, {{"axis", int64_t{1}}});
    }
  }
  m.add_output(buffer, "y");
  model = m.build();
  dim::Scope scope;
  const int count = join_writes(*model, infer::infer(*model, scope));
  if (written) *written = model.get();
  return count;
}

TEST(JoinWrites, JoinsWhatIsWrittenWhole) {
  for (const bool by_rows : {true, false}) {
    EXPECT_EQ(joined({0, 1, 2, 3}, by_rows), 1);
    EXPECT_EQ(joined({3, 2, 1, 0}, by_rows), 1);
    EXPECT_EQ(joined({-4, -3, -2, -1}, by_rows), 1);
  }
}

TEST(JoinWrites, LeavesABufferOfWhichSomethingStays) {
  for (const bool by_rows : {true, false}) {
    EXPECT_EQ(joined({0, 1, 2}, by_rows), 0);
    EXPECT_EQ(joined({0, 1, 1, 3}, by_rows), 0);
  }
}

TEST(JoinWrites, TheLastWriteToAPlaceStays) {
  const ir::Model* model = nullptr;
  ASSERT_EQ(joined({0, 1, 2, 0, 3}, true, &model), 1);
  const Value* y = model->graph->outputs().front();
  ASSERT_EQ(y->producer()->op_type(), "Concat");
  const Value* first = y->producer()->input(0)->producer()->input(0);
  EXPECT_EQ(first->name(), "row3");
}

}  // namespace
}  // namespace thaw::lifting
