// The files that a call reads, so that none of them is written over: AtomicFile refuses to take the place of one, whatever name
// or link leads to it. MappedFile notes what it opens while somebody keeps the record: the command throughout, a verb of
// the library for as long as its call.
#pragma once

#include <filesystem>

namespace thaw {

class ReadFiles {
 public:
  ReadFiles();  // keeps the record; several may, and it is forgotten with the last
  ReadFiles(const ReadFiles&) = delete;
  ReadFiles& operator=(const ReadFiles&) = delete;
  ~ReadFiles();

  static void note(int fd);
  // One that the call is about, though it is not opened. Nothing where no such file is.
  static void note(const std::filesystem::path& path);
  // It is to be replaced: as --in-place says, or as a file of Thaw's own that goes on.
  static void release(const std::filesystem::path& path);
  static bool contains(int folder, const char* name);  // a name in an open folder; a link is not followed

  // Files that this thread opens meanwhile are only looked at, to see what may be written where.
  class Pause {
   public:
    Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;
    ~Pause();
  };
};

}  // namespace thaw
