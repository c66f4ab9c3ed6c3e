#include "thaw/core/type_word.h"

#include <gtest/gtest.h>

namespace thaw {
namespace {

TEST(TypeWord, AsPeopleWriteThem) {
  for (const char* text : {"f16", "F16", "fp16", "FP16", "float16", "Float16", "half"})
    EXPECT_EQ(type_word(text), "f16") << text;
  for (const char* text : {"bf16", "BF16", "bfloat16"}) EXPECT_EQ(type_word(text), "bf16") << text;
  for (const char* text : {"int8", "INT8", "i8"}) EXPECT_EQ(type_word(text), "int8") << text;
  EXPECT_EQ(type_word("INT8_BLOCKS"), "int8-blocks");
  EXPECT_EQ(type_word("int4_fp16"), "int4-f16");
}

TEST(TypeWord, OthersStayWhatTheyAre) {
  EXPECT_EQ(type_word("directml"), "directml");
  EXPECT_EQ(type_word("fp8"), "fp8");
  EXPECT_EQ(type_word(""), "");
}

}  // namespace
}  // namespace thaw
