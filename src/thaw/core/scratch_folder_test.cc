#include "thaw/core/scratch_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/core/atomic_file.h"
#include "thaw/core/error.h"
#include "thaw/core/temp_folder_testing.h"

namespace thaw {
namespace {

namespace fs = std::filesystem;

TEST(ScratchFolder, GoesWithWhatIsInIt) {
  const TempFolder folder;
  fs::path path;
  {
    const ScratchFolder scratch(folder.path());
    path = scratch.path();
    EXPECT_EQ(path.parent_path(), folder.path());
    write_whole(path / "a", std::string_view("text"));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(ScratchFolder, ReservesANameOnce) {
  const TempFolder folder;
  const ScratchFolder first(folder.path());
  EXPECT_TRUE(first.reserve("weights"));
  {
    const ScratchFolder second(folder.path());
    EXPECT_FALSE(second.reserve("weights"));
    EXPECT_TRUE(second.reserve("other weights"));
    EXPECT_FALSE(first.reserve("other weights"));
  }
  EXPECT_TRUE(first.reserve("other weights"));
}

TEST(ScratchFolder, SaysWhereNoneCanBeMade) { EXPECT_THROW(ScratchFolder("/proc/self"), Error); }

TEST(AtomicFile, HasItsNameInAnotherFolderUntilItIsPublished) {
  const TempFolder folder;
  const fs::path path = folder / "model.onnx";
  write_whole(path, std::string_view("before"));
  AtomicFile file(path);
  const std::string_view text = "after";
  file.write(std::as_bytes(std::span(text)));
  file.flush();
  {
    const ScratchFolder scratch(folder.path());
    ASSERT_TRUE(file.name_in(scratch.path()));
    EXPECT_EQ(content_of(scratch.path() / "model.onnx"), "after");
    EXPECT_EQ(content_of(path), "before");
    file.publish();
    EXPECT_TRUE(fs::is_empty(scratch.path()));
  }
  EXPECT_EQ(fs::hard_link_count(path), 1);
  EXPECT_EQ(content_of(path), "after");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace thaw
