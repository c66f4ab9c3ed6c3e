#include "thaw/sensitivity/room.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/core/error_testing.h"
#include "thaw/core/temp_folder_testing.h"
#include "thaw/ir/data/tensor_source.h"
#include "thaw/ir/graph/builder.h"

namespace thaw::measuring {
namespace {

using ::testing::HasSubstr;

// Numbers that nobody may ask for.
class Unread : public ir::TensorSource {
 public:
  void write(const Sink&) const override { ADD_FAILURE() << "the weights are read"; }
};

constexpr int64_t kSide = int64_t{1} << 20;  // weights of 4 TiB

std::unique_ptr<ir::Model> products(int count) {
  ir::ModelBuilder builder(/*opset=*/21);
  ir::Value* at = builder.add_input("x", ir::tensor_type(ir::DataType::kFloat, {1, kSide}));
  for (int i = 0; i < count; ++i) {
    ir::Value* weight = builder.add_tensor(
        ir::Tensor::made("w" + std::to_string(i), ir::DataType::kFloat, {kSide, kSide}, std::make_shared<Unread>()));
    at = builder.add_node("MatMul", {at, weight});
    at->producer()->name = "m" + std::to_string(i);
  }
  builder.add_output(at, "y");
  return builder.build();
}

TEST(Room, IsToldFromShapes) {
  const auto model = products(3);
  constexpr uint64_t kWeight = uint64_t{4} * kSide * kSide;
  const auto at_least = [&](const std::vector<std::string>& nodes, NumberFormat to) {
    return converted_bytes_at_least(*model, nodes, {.to = to}).all;
  };
  EXPECT_EQ(at_least({}, NumberFormat::kInt4), 3 * kWeight);
  EXPECT_EQ(at_least({"m1"}, NumberFormat::kInt4), 2 * kWeight + kWeight / 8);
  EXPECT_EQ(at_least({"m0", "m1", "m2"}, NumberFormat::kInt8), 3 * kWeight / 4);
  EXPECT_EQ(converted_bytes_at_least(*model, {"m1"}, {.to = NumberFormat::kInt4}).converted, kWeight / 8);
  // Of 16 bits all of the model is.
  EXPECT_EQ(at_least({"m0", "m2"}, NumberFormat::kFloat16), 3 * kWeight / 2);
}

TEST(Room, IsRefusedWhereTheDiskHasNone) {
  TempFolder folder;
  const auto room = std::filesystem::space(folder.path()).available;
  EXPECT_EQ(error_of([&] { require_room(room / 2, folder.path(), "m.onnx"); }), "no error");
  const std::string refused = error_of([&] { require_room(room * 2 + 1, folder.path(), "m.onnx"); });
  EXPECT_THAT(refused, HasSubstr("m.onnx: the converted model takes at least"));
  EXPECT_THAT(refused, HasSubstr("TMPDIR"));
  // What cannot be told is not refused.
  EXPECT_EQ(error_of([&] { require_room(room * 2 + 1, folder / "nowhere", "m.onnx"); }), "no error");
}

}  // namespace
}  // namespace thaw::measuring
