#include "thaw/core/atomic_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "thaw/core/error_testing.h"
#include "thaw/core/mapped_file.h"
#include "thaw/core/temp_folder_testing.h"

namespace thaw {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

void write(AtomicFile& file, std::string_view text) { file.write(std::as_bytes(std::span(text))); }

size_t entries_of(const TempFolder& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()));
}

TEST(AtomicFile, AppearsWhenPublished) {
  TempFolder folder;
  const fs::path path = folder.write("f", "before");
  {
    AtomicFile file(path);
    write(file, "af");
    write(file, "ter");
    EXPECT_EQ(file.size(), 5u);
    EXPECT_EQ(content_of(path), "before");
    file.publish();
  }
  EXPECT_EQ(content_of(path), "after");
  EXPECT_EQ(entries_of(folder), 1u);
}

TEST(AtomicFile, LeavesNothingWhenNotPublished) {
  TempFolder folder;
  {
    AtomicFile file(folder / "f");
    write(file, "text");
    EXPECT_LE(entries_of(folder), 1u);  // none where the file system has nameless files
  }
  EXPECT_EQ(entries_of(folder), 0u);
}

TEST(AtomicFile, RefusesWhatCameBetween) {
  TempFolder folder;
  AtomicFile first(folder / "f", Existing::kRefuse), second(folder / "f", Existing::kRefuse);
  write(first, "first");
  first.publish();
  EXPECT_THAT(error_of([&] { second.publish(); }), HasSubstr("somebody else has made a file of that name"));
  EXPECT_EQ(content_of(folder / "f"), "first");
  EXPECT_EQ(entries_of(folder), 1u);
}

TEST(AtomicFile, IsMadeOfNothingThatWasWrittenToMeanwhile) {
  TempFolder folder;
  const fs::path source = folder.write("source", "text");
  const auto mapped = MappedFile::open(source);
  write_whole(folder / "f", std::string_view("one"));
  folder.write("source", "textual");
  EXPECT_THAT(error_of([&] { write_whole(folder / "f", std::string_view("two")); }),
              HasSubstr("has changed since it was read"));
  EXPECT_EQ(content_of(folder / "f"), "one");
}

// A text of that length that repeats at no power of two.
std::string long_text(size_t size) {
  std::string text(size, ' ');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i % 23);
  return text;
}

TEST(AtomicFile, WritesInBulkWhatItWritesOtherwise) {
  TempFolder folder;
  const std::string source = long_text(10007);
  const auto copied = MappedFile::open(folder.write("source", source));
  for (const size_t size : {size_t{0}, size_t{5}, size_t{4096}, (size_t{8} << 20) - 1, (size_t{17} << 20) + 123}) {
    const std::string text = long_text(size);
    for (const bool bulk : {false, true}) {
      AtomicFile file(folder / (bulk ? "bulk" : "plain"));
      if (bulk) file.expect_bulk();
      // Pieces of a prime length, then padding, then more, then a range of another file.
      for (size_t at = 0; at < size; at += 100003) write(file, std::string_view(text).substr(at, 100003));
      file.pad_to(4096);
      write(file, "tail");
      EXPECT_EQ(file.size(), (size + 4095) / 4096 * 4096 + 4);
      if (size % 2 == 0) file.append(copied->fd(), 11, 9001, "source");
      // In bulk once more, from where the range ended.
      file.pad_to(4096);
      if (bulk) file.expect_bulk();
      write(file, std::string_view(text).substr(0, 5000));
      file.publish();
    }
    EXPECT_TRUE(content_of(folder / "bulk") == content_of(folder / "plain")) << size;
  }
}

TEST(AtomicFile, KeepsPermissions) {
  TempFolder folder;
  const fs::path path = folder.write("f", "x");
  ASSERT_EQ(::chmod(path.c_str(), 0604), 0);
  AtomicFile file(path);
  file.publish();
  struct stat info{};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0604u);
}

TEST(AtomicFile, RefusesToReplaceWhatRunsAsAnother) {
  TempFolder folder;
  const fs::path path = folder.write("f", "kept");
  for (const mode_t bit : {S_ISUID, S_ISGID}) {
    ASSERT_EQ(::chmod(path.c_str(), 0755 | bit), 0);
    EXPECT_THAT(error_of([&] { AtomicFile file(path); }), HasSubstr("set-user-id"));
  }
  ASSERT_EQ(::chmod(path.c_str(), 01755), 0);
  AtomicFile(path).publish();
  struct stat info{};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0755u);
}

TEST(AtomicFile, NeverWritesThroughLinks) {
  TempFolder folder;
  const fs::path target = folder.write("target", "kept");
  fs::create_symlink(target, folder / "link");
  fs::create_symlink(folder / "nowhere", folder / "broken");
  EXPECT_THAT(error_of([&] { AtomicFile file(folder / "link"); }), HasSubstr("symbolic link"));
  EXPECT_THAT(error_of([&] { AtomicFile file(folder / "broken"); }), HasSubstr("symbolic link"));
  EXPECT_THAT(error_of([&] { AtomicFile file(folder.path()); }), HasSubstr("not a regular file"));
  EXPECT_THAT(error_of([&] { AtomicFile file(folder / "no/such/f"); }), HasSubstr("cannot be opened"));
  // A hard link is replaced, not written through.
  fs::create_hard_link(target, folder / "hard");
  AtomicFile file(folder / "hard");
  write(file, "new");
  file.publish();
  EXPECT_EQ(content_of(target), "kept");
}

TEST(AtomicFile, PadsAndAppendsRangesOfOtherFiles) {
  TempFolder folder;
  const fs::path source = folder.write("source", "0123456789");
  fs::resize_file(source, 3'000'000);  // a hole at the end
  const int fd = ::open(source.c_str(), O_RDONLY);
  AtomicFile file(folder / "f");
  write(file, "abc");
  file.pad_to(8);
  file.append(fd, 4, 5, "source");
  file.append(fd, 8, 2'000'003, "source");
  file.append(fd, 2'500'000, 7, "source");
  write(file, "end");
  file.publish();
  ::close(fd);
  const std::string text = content_of(folder / "f");
  EXPECT_EQ(text, std::string("abc\0\0\0\0\0", 8) + "45678" + "89" + std::string(2'000'001 + 7, '\0') + "end");
}

TEST(AtomicFile, SaysWhenTheSourceIsTooShort) {
  TempFolder folder;
  const fs::path source = folder.write("source", "0123456789");
  const int fd = ::open(source.c_str(), O_RDONLY);
  AtomicFile file(folder / "f");
  EXPECT_THAT(error_of([&] { file.append(fd, 4, 7, "source"); }), HasSubstr("shorter"));
  EXPECT_THAT(error_of([&] { file.append(fd, UINT64_MAX - 2, 5, "source"); }), HasSubstr("shorter"));
  file.append(fd, 4, 6, "source");
  EXPECT_EQ(file.size(), 6u);
  ::close(fd);
}

TEST(MappedFile, MapsRegularFilesOnly) {
  TempFolder folder;
  const auto file = MappedFile::open(folder.write("f", "text"));
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()), "text");
  EXPECT_EQ(MappedFile::open(folder.write("empty", ""))->bytes().size(), 0u);
  EXPECT_THAT(error_of([&] { MappedFile::open(folder.path()); }), HasSubstr("folder"));
  EXPECT_THAT(error_of([&] { MappedFile::open(folder / "none"); }), HasSubstr("cannot be opened"));
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(error_of([&] { MappedFile::open(folder / "pipe"); }), HasSubstr("not a regular file"));
}

TEST(MappedFile, ReleasedPagesAreReadAgain) {
  TempFolder folder;
  const std::string text(100'003, 'x');
  const auto file = MappedFile::open(folder.write("f", text));
  EXPECT_EQ(file->bytes()[70'001], std::byte{'x'});
  release_pages(file->bytes());
  EXPECT_EQ(file->bytes()[70'001], std::byte{'x'});
  // Memory that is no mapped file stays as it is.
  std::string owned = text;
  release_pages(std::as_bytes(std::span(owned)));
  EXPECT_EQ(owned, text);
}

}  // namespace
}  // namespace thaw
