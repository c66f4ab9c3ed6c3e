#include "thaw/run/input_text.h"

#include <gtest/gtest.h>

#include "thaw/core/error.h"
#include "thaw/core/temp_folder_testing.h"
#include "thaw/run/npz.h"

namespace thaw::run {
namespace {

TEST(InputText, ValuesAndRanges) {
  FeedOptions feeds;
  add_values(std::vector<std::string>{"grid_thw=1, 22,30;flag=true", "texts=a,b"}, feeds);
  EXPECT_EQ(feeds.values.at("grid_thw"), (ValueTexts{"1", "22", "30"}));
  EXPECT_EQ(feeds.values.at("flag"), (ValueTexts{"true"}));
  EXPECT_EQ(feeds.values.at("texts"), (ValueTexts{"a", "b"}));
  add_value_ranges(std::vector<std::string>{"ids=0..511,x=-1.5..2"}, feeds);
  EXPECT_EQ(feeds.ranges.at("ids").highest, 511);
  EXPECT_EQ(feeds.ranges.at("x").lowest, -1.5);
  EXPECT_THROW(add_values(std::vector<std::string>{"grid_thw=1"}, feeds), Error);
  EXPECT_THROW(add_values(std::vector<std::string>{"nothing"}, feeds), Error);
  EXPECT_THROW(add_value_ranges(std::vector<std::string>{"y=3"}, feeds), Error);
  EXPECT_THROW(add_value_ranges(std::vector<std::string>{"y=3..1"}, feeds), Error);
}

TEST(InputText, NamesOfTheReference) {
  EXPECT_EQ(parse_names(std::vector<std::string>{"a=b,c=d", "e=f"}),
            (std::map<std::string, std::string>{{"a", "b"}, {"c", "d"}, {"e", "f"}}));
  EXPECT_THROW(parse_names(std::vector<std::string>{"a=b,a=c"}), Error);
  EXPECT_THROW(parse_names(std::vector<std::string>{"a="}), Error);
}

TEST(InputText, FilesOfArrays) {
  const TempFolder folder;
  const Array array = Array::from_int64(ir::DataType::kInt64, {2}, std::vector<int64_t>{3, 4});
  write_npy_file(folder / "x.npy", array);
  write_npz_file(folder / "two.npz", {{"y", array}, {"z", array}});
  FeedOptions feeds;
  std::vector<std::filesystem::path> archives;
  const std::vector<InputSpec> inputs{{.name = "w"}, {.name = "x"}, {.name = "y"}};
  const auto text = [&](const std::string& name, const char* file) { return name + (folder / file).string(); };
  add_input_files(std::vector<std::string>{text("x=", "x.npy"), text("y=", "two.npz"), text("", "two.npz")}, feeds,
                  archives, inputs);
  EXPECT_EQ(feeds.arrays.at("x"), array);
  EXPECT_EQ(feeds.arrays.at("y"), array);
  EXPECT_EQ(archives.size(), 1U);
  EXPECT_THROW(add_input_files(std::vector<std::string>{text("w=", "two.npz")}, feeds, archives, inputs), Error);
  EXPECT_THROW(add_input_files(std::vector<std::string>{text("x=", "x.npy")}, feeds, archives, inputs), Error);
  EXPECT_THROW(add_input_files(std::vector<std::string>{text("", "x.npy")}, feeds, archives, inputs), Error);
  EXPECT_THROW(add_input_files(std::vector<std::string>{text("v=", "x.npy")}, feeds, archives, inputs), Error);
  EXPECT_THROW(add_input_files(std::vector<std::string>{"x=model.onnx"}, feeds, archives, inputs), Error);
}

}  // namespace
}  // namespace thaw::run
