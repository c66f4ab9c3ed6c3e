#include "thaw/core/scratch_folder.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/core/atomic_file.h"
#include "thaw/core/error.h"
#include "thaw/core/temp_folder_testing.h"

namespace thaw {
namespace {

namespace fs = std::filesystem;

void age(const fs::path& folder) {
  fs::last_write_time(folder, fs::file_time_type::clock::now() - std::chrono::hours(1));
}

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

TEST(ScratchFolder, TakesAwayThoseThatNobodyHolds) {
  const TempFolder folder;
  const ScratchFolder held(folder.path());
  age(held.path());
  const fs::path abandoned = folder / ".thaw-0123456789abcdef.tmp", fresh = folder / ".thaw-0123456789abcde0.tmp",
                 foreign = folder / ".thaw-notes.tmp";
  for (const fs::path& path : {abandoned, fresh, foreign}) {
    fs::create_directory(path);
    write_whole(path / "weights", std::string_view("left behind"));
  }
  age(abandoned);
  age(foreign);
  remove_abandoned_folders(folder.path());
  EXPECT_FALSE(fs::exists(abandoned));
  EXPECT_TRUE(fs::exists(fresh));
  EXPECT_TRUE(fs::exists(foreign));
  EXPECT_TRUE(fs::exists(held.path()));
}

TEST(ScratchFolder, LeavesWhatALinkNames) {
  const TempFolder folder, elsewhere;
  write_whole(elsewhere / "kept", std::string_view("text"));
  fs::create_directory_symlink(elsewhere.path(), folder / ".thaw-0123456789abcdef.tmp");
  remove_abandoned_folders(folder.path());
  EXPECT_TRUE(fs::exists(elsewhere / "kept"));
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
