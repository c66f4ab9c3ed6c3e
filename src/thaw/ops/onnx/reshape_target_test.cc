#include "thaw/ops/onnx/reshape_target.h"

#include <gtest/gtest.h>

#include "thaw/dim/text/text.h"

namespace thaw::ops {
namespace {

using LiteralTarget = std::vector<int64_t>;
using DimList = std::vector<dim::Dim>;

class ReshapeTarget : public testing::Test {
 protected:
  std::vector<dim::Dim> dims(std::initializer_list<const char*> texts) {
    std::vector<dim::Dim> out;
    for (const char* text : texts) out.push_back(dim::parse(text, scope));
    return out;
  }
  // Sizes that are numbers are literal.
  LiteralTarget target(std::initializer_list<const char*> in, std::initializer_list<const char*> out) {
    const auto to = dims(out);
    return reshape_target(dims(in), to, to).value_or(LiteralTarget());
  }
  dim::Scope scope;
};

TEST_F(ReshapeTarget, KeepsAxesInPlaceWithZero) {
  EXPECT_EQ(target({"b", "s", "64"}, {"b", "s", "4", "16"}), (LiteralTarget{0, 0, 4, 16}));
}

TEST_F(ReshapeTarget, LeavesOneAxisToMinusOne) {
  EXPECT_EQ(target({"b", "4", "s", "16"}, {"b", "s", "64"}), (LiteralTarget{0, -1, 64}));
  // `h` stands at another axis than before, so that both would have to be -1.
  EXPECT_TRUE(target({"b", "c", "h"}, {"b*c", "h"}).empty());
}

TEST_F(ReshapeTarget, HasNoneForTwoNewAxes) { EXPECT_TRUE(target({"b*s", "64"}, {"b", "s", "64"}).empty()); }

TEST_F(ReshapeTarget, HasNoneWhereElementsDoNotAgree) { EXPECT_TRUE(target({"b", "s"}, {"b", "floor(s/2)"}).empty()); }

TEST_F(ReshapeTarget, HasNoneForAnEmptyAxis) { EXPECT_TRUE(target({"b", "0"}, {"0", "b"}).empty()); }

TEST_F(ReshapeTarget, WritesNoNumberThatIsNotLiteral) {
  const auto in = dims({"b", "660", "64"}), out = dims({"b", "660", "4", "16"});
  EXPECT_EQ(reshape_target(in, out, DimList{{}, {}, 4, 16}), (LiteralTarget{0, 0, 4, 16}));
  EXPECT_EQ(reshape_target(in, dims({"b", "4", "660", "16"}), DimList{{}, 4, {}, 16}), (LiteralTarget{0, 4, -1, 16}));
  EXPECT_FALSE(reshape_target(in, dims({"4", "660", "b*16"}), DimList(3)));
}

}  // namespace
}  // namespace thaw::ops
