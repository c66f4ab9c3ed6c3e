#include "thaw/core/new_folder.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/core/error_testing.h"
#include "thaw/core/temp_folder_testing.h"

namespace thaw {
namespace {

namespace fs = std::filesystem;

TEST(NewFolder, RemovesWhatIsLeftEmpty) {
  TempFolder folder;
  for (const char* name : {"a/b/c", "a/b/c/", "a//b/./c"}) {
    {
      const NewFolder made(folder / name);
      EXPECT_TRUE(fs::is_directory(folder / "a/b/c")) << name;
    }
    EXPECT_FALSE(fs::exists(folder / "a")) << name;
  }
}

TEST(NewFolder, KeepsWhatHasAFile) {
  TempFolder folder;
  {
    const NewFolder made(folder / "a/b");
    folder.write("a/file", "text");
  }
  EXPECT_TRUE(fs::exists(folder / "a/file"));
  EXPECT_FALSE(fs::exists(folder / "a/b"));
}

TEST(NewFolder, KeepsWhatWasThere) {
  TempFolder folder;
  fs::create_directory(folder / "a");
  {
    const NewFolder made(folder / "a");
  }
  {
    const NewFolder made(folder / "a/b");
  }
  {
    const NewFolder made("");
  }
  EXPECT_TRUE(fs::is_empty(folder / "a"));
}

TEST(NewFolder, SaysWhereNoneCanBeMade) {
  TempFolder folder;
  folder.write("file", "text");
  EXPECT_THAT(error_of([&] { NewFolder made(folder / "file/a"); }), testing::HasSubstr("cannot be made"));
}

}  // namespace
}  // namespace thaw
