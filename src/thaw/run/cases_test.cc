#include "thaw/run/cases.h"

#include <gtest/gtest.h>

namespace thaw::run {
namespace {

TEST(Cases, NumberedNamesAndFoldersAreCases) {
  const std::vector<std::string> names{"deep", "deep_0", "features", "x"};
  const std::vector<std::string> arrays{"features_0", "features_1",     "features_10", "deep_0_1",   "deep_0",
                                        "x",          "night/features", "logits_0",    "features_1b"};
  const GroupedNames grouped = group_cases(arrays, names);
  EXPECT_EQ(grouped.cases.at("0").at("features"), "features_0");
  EXPECT_EQ(grouped.cases.at("1").at("deep_0"), "deep_0_1");
  EXPECT_EQ(grouped.cases.at("").at("deep_0"), "deep_0");
  EXPECT_EQ(grouped.cases.at("").at("x"), "x");
  EXPECT_EQ(grouped.cases.at("night").at("features"), "night/features");
  EXPECT_EQ(grouped.unused, (std::vector<std::string>{"logits_0", "features_1b"}));
  EXPECT_EQ(case_order(grouped.cases), (std::vector<std::string>{"0", "1", "10", "night"}));
}

}  // namespace
}  // namespace thaw::run
