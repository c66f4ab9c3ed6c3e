// The grammar: what is read, what is refused and where, and that what is printed reads back.
#include "thaw/dim/text/text.h"

#include <gtest/gtest.h>

#include "thaw/core/error.h"
#include "thaw/dim/expr/dim_testing.h"

namespace thaw::dim {
namespace {

class Text : public ::testing::Test {
 protected:
  Dim dim(std::string_view text) { return parse(text, scope_); }

  // The message, or "" where the text is read.
  std::string refusal(std::string_view text) {
    try {
      parse(text, scope_);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }

  Scope scope_;
};

TEST_F(Text, PrecedenceIsThatOfPython) {
  EXPECT_TRUE(same(dim("1 + 2*n"), 1 + 2 * dim("n")));
  EXPECT_TRUE(dim("2 + 3*4 - 1").is_constant(13));
  EXPECT_TRUE(dim("7 * 5 % 3").is_constant(2));
  EXPECT_TRUE(dim("7 * (5 % 3)").is_constant(14));
  EXPECT_TRUE(dim("10 - 4 - 3").is_constant(3));
  EXPECT_TRUE(dim("-7 % 4").is_constant(1));
  EXPECT_TRUE(dim("--7").is_constant(7));
  EXPECT_TRUE(dim("7 // 2 * 2").is_constant(6));
  EXPECT_TRUE(dim("-7 // 2").is_constant(-4));
  EXPECT_TRUE(dim("floor(7/2) + ceil(7/2)").is_constant(7));
  EXPECT_TRUE(dim("min(4, 2, 9) + max(4, 2, 9)").is_constant(11));
  EXPECT_TRUE(same(dim(" floor ( n + 1 / 2 ) "), floor_div(dim("n") + 1, 2)));
}

TEST_F(Text, NamesMayHoldDotsAndColons) {
  EXPECT_EQ(to_string(dim("input.1:0_dim0*2")), "2*input.1:0_dim0");
  EXPECT_EQ(to_string(dim("floor(h/2)")), "floor(h/2)");
  EXPECT_TRUE(same(dim("min"), scope_.symbol("min")));
  EXPECT_EQ(to_string(dim("min*max(min, floor)")), "min*max(min, floor)");
  EXPECT_EQ(to_string(dim("x[12]*x[0]")), "x[12]*x[0]");
}

TEST_F(Text, ErrorsNameTheColumn) {
  EXPECT_NE(refusal("").find("column 1"), std::string::npos);
  EXPECT_NE(refusal("n +").find("column 4"), std::string::npos);
  EXPECT_NE(refusal("n + )").find("column 5"), std::string::npos);
  EXPECT_NE(refusal("n m").find("column 3"), std::string::npos);
  EXPECT_NE(refusal("n / 2").find("unexpected '/'"), std::string::npos);
  EXPECT_NE(refusal("floor(n)").find("expected '/'"), std::string::npos);
  EXPECT_NE(refusal("min(n)").find("expected ','"), std::string::npos);
  EXPECT_NE(refusal("sqrt(n)").find("no function is called 'sqrt'"), std::string::npos);
  EXPECT_NE(refusal("x[n]").find("expected a number"), std::string::npos);
  EXPECT_NE(refusal("x[1").find("expected ']'"), std::string::npos);
  EXPECT_NE(refusal("99999999999999999999").find("64 bits"), std::string::npos);
  EXPECT_NE(refusal("n % 0").find("column 3"), std::string::npos);
  EXPECT_NE(refusal("9223372036854775807 + 1").find("overflows"), std::string::npos);
  EXPECT_NE(refusal("h\x01w").find("column 2"), std::string::npos);
  EXPECT_NE(refusal("?").find("unexpected '?'"), std::string::npos);
}

TEST_F(Text, DepthAndLengthAreBounded) {
  EXPECT_NE(refusal(std::string(100000, '(')).find("longer"), std::string::npos);
  EXPECT_NE(refusal(std::string(1000, '(') + "n" + std::string(1000, ')')).find("nested"), std::string::npos);
  EXPECT_EQ(refusal(std::string(100, '(') + "n" + std::string(100, ')')), "");
  EXPECT_EQ(refusal(std::string(60000, '-') + "n"), "");
  std::string calls = "n";
  for (int i = 0; i < 300; ++i) calls.insert(0, "min(").append(", 3)");
  EXPECT_NE(refusal(calls).find("nested"), std::string::npos);
}

TEST_F(Text, KnownNamesLimitWhatIsRead) {
  const auto known = [](std::string_view name) { return name == "n" || name == "x[2]"; };
  EXPECT_TRUE(try_parse("n*2", scope_, known).has_value());
  EXPECT_TRUE(try_parse("x[2] + n", scope_, known).has_value());
  EXPECT_FALSE(try_parse("x[1]", scope_, known).has_value());
  EXPECT_FALSE(try_parse("m + n", scope_, known).has_value());
  EXPECT_FALSE(scope_.find("m").has_value());
  EXPECT_FALSE(try_parse("n +", scope_).has_value());
}

TEST_F(Text, PrintingIsInAFixedOrder) {
  // Whatever was built before, and in whatever order, the text is the same.
  Scope one, two;
  for (Scope* scope : {&one, &two}) {
    scope->symbol("h");
    scope->symbol("w");
  }
  parse("max(w, 7) + floor(w/3) + floor(h/5)", two);
  const char* text = "floor(w/3) + h*w - 4 + h + min(h, w) + floor(h/5)";
  EXPECT_EQ(to_string(parse(text, one)), to_string(parse(text, two)));
  EXPECT_EQ(to_string(parse(text, one)), "h*w + h + floor(h/5) + floor(w/3) + min(h, w) - 4");
  EXPECT_EQ(to_string(Dim()), "?");
  EXPECT_EQ(to_string(-17), "-17");
  EXPECT_EQ(to_string(parse("0 - h*w", one)), "-h*w");
  EXPECT_EQ(to_string(parse("3 - h", one)), "3 - h");
  EXPECT_EQ(to_string(parse("h*h*2 - w", one)), "2*h*h - w");
  EXPECT_EQ(to_string(parse("(h + 1)*(h % 3)", one)).empty(), false);
}

}  // namespace
}  // namespace thaw::dim
