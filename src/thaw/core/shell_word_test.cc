#include "thaw/core/shell_word.h"

#include <gtest/gtest.h>

namespace thaw {
namespace {

TEST(ShellWord, IsQuotedWhereItHasToBe) {
  EXPECT_EQ(shell_word("dir/model-1.onnx"), "dir/model-1.onnx");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("n=1,m=2"), "'n=1,m=2'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted("plain"), "'plain'");
}

TEST(ShellWord, IsNoOptionWhereItIsAFile) {
  EXPECT_EQ(shell_path("-rf"), "./'-rf'");
  EXPECT_EQ(shell_path("a b"), "'a b'");
  EXPECT_EQ(shell_path("model.onnx"), "model.onnx");
}

}  // namespace
}  // namespace thaw
