#include "thaw/core/replace_files.h"

#include <algorithm>
#include <mutex>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/core/error.h"
#include "thaw/core/error_testing.h"
#include "thaw/core/folder_lock.h"
#include "thaw/core/read_files.h"
#include "thaw/core/scratch_folder.h"
#include "thaw/core/temp_folder_testing.h"

namespace thaw {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The files of a folder with what they hold, as "name: content".
std::vector<std::string> files_of(const fs::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      files.push_back(entry.path().lexically_relative(folder).string() + ": " + content_of(entry.path()));
  std::ranges::sort(files);
  return files;
}

std::vector<std::string> names_of(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

// Entries a and b, and data d.
struct Set {
  AtomicFile data, a, b;

  Set(const fs::path& folder, std::string_view text)
      : data(folder / "d", Existing::kRefuse), a(folder / "a"), b(folder / "b") {
    for (AtomicFile* file : {&data, &a, &b}) file->write(text);
  }
  Replacement replacement() {
    return {.data = {&data}, .entries = {&a, &b}, .in_use = [](const fs::path&) { return false; }};
  }
};

TEST(ReplaceFiles, TakesThePlaceOfTheFolder) {
  const TempFolder above;
  const fs::path folder = above / "out";
  fs::create_directory(folder);
  fs::permissions(folder, fs::perms(0750));
  write_whole(folder / "a", std::string_view("old"));
  write_whole(folder / "notes", std::string_view("mine"));
  fs::create_symlink("notes", folder / "link");
  const UniqueFd before(::open(folder.c_str(), O_RDONLY | O_DIRECTORY));
  Set set(folder, "new");
  replace_files(set.replacement());
  EXPECT_THAT(files_of(folder), ElementsAre("a: new", "b: new", "d: new", "link: mine", "notes: mine"));
  EXPECT_THAT(names_of(folder), ElementsAre("a", "b", "d", "link", "notes"));
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(fs::hard_link_count(folder / "notes"), 1);
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms(0750));
  EXPECT_THAT(names_of(above.path()), ElementsAre("out"));
  EXPECT_NE(state_of(before.get(), "", AT_EMPTY_PATH)->identity.number,
            state_of(AT_FDCWD, folder.c_str(), 0)->identity.number);
}

TEST(ReplaceFiles, LeavesAFolderThatHoldsMoreInItsPlace) {
  const TempFolder above;
  const fs::path folder = above / "out";
  fs::create_directories(folder / "inner");
  write_whole(folder / "inner" / "notes", std::string_view("mine"));
  write_whole(folder / "b", std::string_view("old"));
  const uint64_t before = state_of(AT_FDCWD, folder.c_str(), 0)->identity.number;
  Set set(folder, "new");
  replace_files(set.replacement());
  EXPECT_THAT(files_of(folder), ElementsAre("a: new", "b: new", "d: new", "inner/notes: mine"));
  EXPECT_EQ(state_of(AT_FDCWD, folder.c_str(), 0)->identity.number, before);
  EXPECT_THAT(names_of(above.path()), ElementsAre("out"));
  EXPECT_THAT(names_of(folder), ElementsAre("a", "b", "d", "inner"));
}

TEST(ReplaceFiles, PutsBackWhatItHadSetAside) {
  for (const bool inner : {false, true}) {
    const TempFolder above;
    const fs::path folder = above / "out";
    fs::create_directory(folder);
    if (inner) fs::create_directory(folder / "inner");
    write_whole(folder / "a", std::string_view("old a"));
    write_whole(folder / "b", std::string_view("old b"));
    Set set(folder, "new");
    fs::remove(folder / "b");
    fs::create_directory(folder / "b");  // nothing can take its place
    write_whole(folder / "b" / "notes", std::string_view("mine"));
    EXPECT_THAT(error_of([&] { replace_files(set.replacement()); }), HasSubstr("b"));
    EXPECT_THAT(files_of(folder), ElementsAre("a: old a", "b/notes: mine"));
    EXPECT_THAT(names_of(folder), inner ? testing::Matcher<std::vector<std::string>>(ElementsAre("a", "b", "inner"))
                                        : ElementsAre("a", "b"));
    EXPECT_THAT(names_of(above.path()), ElementsAre("out"));
  }
}

TEST(ReplaceFiles, MakesNothingOfWhatHasChanged) {
  const TempFolder folder, sources;
  const fs::path source = sources.write("source", "text");
  const ReadFiles reading;
  ReadFiles::note(source);
  Set set(folder.path(), "new");
  write_whole(sources / "other", std::string_view("text"));
  fs::rename(sources / "other", source);
  EXPECT_THAT(error_of([&] { replace_files(set.replacement()); }), HasSubstr("has changed since it was read"));
  EXPECT_THAT(names_of(folder.path()), IsEmpty());
}

TEST(ReplaceFiles, WhatItReplacesMayHaveBeenRead) {
  const TempFolder folder;
  const fs::path path = folder.write("a", "old");
  const ReadFiles reading;
  ReadFiles::note(path);
  ReadFiles::release(path);
  Set set(folder.path(), "new");
  replace_files(set.replacement());
  write_whole(folder / "report", std::string_view("text"));  // nor is that a change
  EXPECT_THAT(files_of(folder.path()), ElementsAre("a: new", "b: new", "d: new", "report: text"));
}

TEST(ReplaceFiles, MayBeLookedAtBefore) {
  for (const bool exchanged : {false, true}) {
    const TempFolder above;
    const fs::path folder = above / "out";
    fs::create_directories(exchanged ? folder : folder / "inner");
    const ReadFiles reading;
    Set set(folder, "new");
    {
      const ScratchFolder scratch(folder);
      ASSERT_TRUE(set.a.name_in(scratch.path()));
      ReadFiles::note(scratch.path() / "a");
      Replacement with = set.replacement();
      with.scratch.push_back(scratch.path());
      replace_files(with);
    }
    write_whole(folder / "report", std::string_view("text"));
    EXPECT_EQ(content_of(folder / "a"), "new");
  }
}

TEST(Leftovers, OnlyWhatNobodyHoldsAndHasSuchAName) {
  const TempFolder folder, elsewhere;
  const ScratchFolder held(folder.path());
  const AtomicFile file(folder / "f");
  write_whole(elsewhere / "kept", std::string_view("text"));
  fs::create_directory_symlink(elsewhere.path(), folder / ".thaw-0123456789abcde0.tmp");
  for (const char* name : {".thaw-0123456789abcdef.tmp", ".thaw-set-0123456789abcdef.tmp", ".thaw-notes.tmp"}) {
    fs::create_directory(folder / name);
    write_whole(folder / name / "weights", std::string_view("left behind"));
  }
  fs::create_directory(folder / ".thaw-set-0123456789abcdef.tmp/inner");
  folder.write(".thaw-00000000000000ff.tmp", "left behind");
  folder.write(".thaw-00000000000000FF.tmp", "somebody's");
  clear_leftovers(folder.path());
  EXPECT_THAT(
      names_of(folder.path()),
      testing::UnorderedElementsAre(".thaw-0123456789abcde0.tmp", ".thaw-notes.tmp", ".thaw-00000000000000FF.tmp",
                                    ".thaw-set-0123456789abcdef.tmp", held.path().filename().string()));
  EXPECT_TRUE(fs::exists(elsewhere / "kept"));
  EXPECT_THAT(names_of(folder / ".thaw-set-0123456789abcdef.tmp"), ElementsAre("inner"));
}

TEST(FolderLock, HoldsOneAtATime) {
  const TempFolder folder;
  int inside = 0, most = 0, done = 0;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 25; ++k) {
        const FolderLock lock(folder.path());
        {
          const std::lock_guard guard(mutex);
          most = std::max(most, ++inside);
        }
        std::this_thread::yield();
        const std::lock_guard guard(mutex);
        --inside;
        ++done;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(done, 100);
  EXPECT_THAT(names_of(folder.path()), IsEmpty());
}

TEST(FolderLock, TakesOverWhatAKilledProcessLeft) {
  const TempFolder folder;
  folder.write(kLockFile, "");
  {
    const FolderLock lock(folder.path());
  }
  EXPECT_THAT(names_of(folder.path()), IsEmpty());
}

}  // namespace
}  // namespace thaw
