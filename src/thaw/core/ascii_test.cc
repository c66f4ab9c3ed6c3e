#include "thaw/core/ascii.h"

#include <cctype>
#include <limits>

#include <gtest/gtest.h>

namespace thaw::ascii {
namespace {

TEST(Ascii, IsWhatTheStandardLibrarySaysWithoutALocale) {
  for (int i = 0; i <= std::numeric_limits<unsigned char>::max(); ++i) {
    const auto c = static_cast<unsigned char>(i);
    EXPECT_EQ(is_lower(c), std::islower(c) != 0) << i;
    EXPECT_EQ(is_upper(c), std::isupper(c) != 0) << i;
    EXPECT_EQ(is_digit(c), std::isdigit(c) != 0) << i;
    EXPECT_EQ(is_letter(c), std::isalpha(c) != 0) << i;
    EXPECT_EQ(is_letter_or_digit(c), std::isalnum(c) != 0) << i;
    EXPECT_EQ(to_lower(static_cast<char>(c)), static_cast<char>(std::tolower(c))) << i;
    EXPECT_EQ(to_upper(static_cast<char>(c)), static_cast<char>(std::toupper(c))) << i;
  }
  EXPECT_EQ(to_lower("INT64_x"), "int64_x");
}

}  // namespace
}  // namespace thaw::ascii
