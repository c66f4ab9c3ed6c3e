#include "thaw/sensitivity/whole_model.h"

#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include "thaw/ir/graph/builder.h"
#include "thaw/limits.h"

namespace thaw::measuring {
namespace {

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// In memory ONNX Runtime would be handed a second copy, and make a third.
TEST(WholeModel, WeightsThatAreNotCopiedAreHeldOnce) {
  constexpr int64_t kCount = int64_t{300} << 20;
  ir::ModelBuilder builder(/*opset=*/17);
  ir::Value* at = builder.add_input("i", ir::tensor_type(ir::DataType::kInt64, {1}));
  ir::Value* weights = builder.add_tensor(ir::Tensor::from_bytes(
      "w", ir::DataType::kUint8, {kCount}, std::vector<std::byte>(static_cast<size_t>(kCount), std::byte{7})));
  builder.add_output(builder.add_node("Gather", {weights, at}), "y");
  const auto model = builder.build();
  const Limits before = limits();
  set_limits({.max_memory = uint64_t{450} << 20});
  Array got;
  {
    WholeModel whole(*model, {"y"}, {.threads = 1, .copied_weights = false, .spinning = false});
    got = whole.run({{"i", Array::from_int64(ir::DataType::kInt64, {1}, std::vector<int64_t>{kCount - 1})}}).at("y");
  }
  set_limits(before);
  EXPECT_EQ(got.bytes, std::vector<std::byte>{std::byte{7}});
}
#endif

}  // namespace
}  // namespace thaw::measuring
