#include "thaw/infer/shape_chain.h"

#include <gtest/gtest.h>

#include "thaw/dim/text/text.h"

namespace thaw::infer {
namespace {

using Target = std::vector<int64_t>;

class ConstantTarget : public testing::Test {
 protected:
  std::vector<dim::Dim> dims(std::initializer_list<const char*> texts) {
    std::vector<dim::Dim> out;
    for (const char* text : texts) out.push_back(dim::parse(text, scope));
    return out;
  }
  dim::Scope scope;
};

TEST_F(ConstantTarget, KeepsAxesInPlaceWithZero) {
  EXPECT_EQ(constant_target(dims({"b", "s", "64"}), dims({"b", "s", "4", "16"})), (Target{0, 0, 4, 16}));
}

TEST_F(ConstantTarget, LeavesOneAxisToMinusOne) {
  EXPECT_EQ(constant_target(dims({"b", "4", "s", "16"}), dims({"b", "s", "64"})), (Target{0, -1, 64}));
  // `h` stands at another axis than before, so that both would have to be -1.
  EXPECT_TRUE(constant_target(dims({"b", "c", "h"}), dims({"b*c", "h"})).empty());
}

TEST_F(ConstantTarget, HasNoneForTwoNewAxes) {
  EXPECT_TRUE(constant_target(dims({"b*s", "64"}), dims({"b", "s", "64"})).empty());
}

TEST_F(ConstantTarget, HasNoneWhereElementsDoNotAgree) {
  EXPECT_TRUE(constant_target(dims({"b", "s"}), dims({"b", "floor(s/2)"})).empty());
}

TEST_F(ConstantTarget, HasNoneForAnEmptyAxis) {
  EXPECT_TRUE(constant_target(dims({"b", "0"}), dims({"0", "b"})).empty());
}

}  // namespace
}  // namespace thaw::infer
