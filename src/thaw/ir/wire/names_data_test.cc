#include "thaw/ir/wire/names_data.h"

#include <string>

#include <gtest/gtest.h>

#include "thaw/core/temp_folder_testing.h"

namespace thaw::ir {
namespace {

// A field of fewer than 128 bytes.
std::string field(char number, const std::string& content) {
  const std::string tag = number < 16
                              ? std::string(1, static_cast<char>(number << 3 | 2))
                              : std::string{static_cast<char>(0x82 | number << 3), static_cast<char>(number >> 4)};
  return tag + static_cast<char>(content.size()) + content;
}

bool names_data(const std::string& content) {
  TempFolder folder;
  folder.write("m.onnx", content);
  return may_name_data_files(folder / "m.onnx");
}

const std::string kInside =
    field(8, "w") + field(9, std::string("\x70\x01\x6a", 3));  // raw data that looks like fields
const std::string kElsewhere = kInside + std::string("\x70\x01", 2);

TEST(NamesData, WhereverTensorsStand) {
  const auto in_graph = [](const std::string& graph) { return field(7, graph); };
  const auto in_node = [](const std::string& attribute) {
    return field(1, field(4, "Constant") + field(5, attribute));
  };
  for (const std::string& tensor : {kInside, kElsewhere, kInside + field(13, field(1, "location"))}) {
    const bool expected = tensor != kInside;
    const std::string branch = field(6, in_node(field(5, tensor)));
    EXPECT_EQ(names_data(in_graph(field(5, tensor))), expected) << "initializer";
    EXPECT_EQ(names_data(in_graph(field(15, field(1, tensor)))), expected) << "sparse initializer";
    EXPECT_EQ(names_data(in_graph(in_node(field(5, tensor)))), expected) << "attribute";
    EXPECT_EQ(names_data(in_graph(in_node(field(10, tensor)))), expected) << "list of tensors";
    EXPECT_EQ(names_data(in_graph(in_node(field(22, field(2, tensor))))), expected) << "sparse attribute";
    EXPECT_EQ(names_data(in_graph(in_node(branch))), expected) << "branch";
    EXPECT_EQ(names_data(in_graph(in_node(field(6, in_node(branch))))), expected) << "branch of a branch";
    EXPECT_EQ(names_data(field(25, field(7, field(5, field(5, tensor))))), expected) << "function";
    EXPECT_EQ(names_data(field(25, field(11, field(5, tensor)))), expected) << "default of a function";
  }
}

TEST(NamesData, WhatCannotBeReadMay) {
  EXPECT_TRUE(names_data("\xff\xff"));
  EXPECT_TRUE(names_data(field(7, field(5, "\x4a\x7f"))));  // a tensor whose data ends too early
  EXPECT_TRUE(may_name_data_files("no/such/file.onnx"));
  EXPECT_FALSE(names_data(""));
}

}  // namespace
}  // namespace thaw::ir
