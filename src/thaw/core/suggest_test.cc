#include "thaw/core/suggest.h"

#include <gtest/gtest.h>

namespace thaw {
namespace {

constexpr std::string_view kVerbs[] = {"inspect", "diff", "check", "fix", "verify", "run"};

TEST(Nearest, FindsWhatWasMeant) {
  EXPECT_EQ(nearest("insepct", kVerbs), "inspect");
  EXPECT_EQ(nearest("dif", kVerbs), "diff");
  EXPECT_EQ(nearest("chekc", kVerbs), "check");
  EXPECT_EQ(nearest("fxi", kVerbs), "fix");
}

TEST(Nearest, SaysNothingRatherThanNonsense) {
  EXPECT_EQ(nearest("optimize", kVerbs), "");
  EXPECT_EQ(nearest("xyz", kVerbs), "");
  EXPECT_EQ(nearest("", kVerbs), "");
  EXPECT_EQ(nearest(std::string(100000, 'i'), kVerbs), "");
}

TEST(DidYouMean, IsAClauseOrNothing) {
  EXPECT_EQ(did_you_mean("rnu", kVerbs), " (did you mean 'run'?)");
  EXPECT_EQ(did_you_mean("optimize", kVerbs), "");
}

}  // namespace
}  // namespace thaw
