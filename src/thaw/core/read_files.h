// The files that a call reads, so that none of them is written over, and nothing is made of one that changed meanwhile:
// AtomicFile refuses to take the place of one, whatever name or link leads to it, and nothing is put in place where one is
// no longer what it was. MappedFile notes what it opens while somebody keeps the record: the command throughout, a verb of
// the library for as long as its call.
#pragma once

#include <filesystem>
#include <string>

#include "thaw/core/error.h"

namespace thaw {

class ReadFiles {
 public:
  ReadFiles();  // keeps the record; several may, and it is forgotten with the last
  ReadFiles(const ReadFiles&) = delete;
  ReadFiles& operator=(const ReadFiles&) = delete;
  ~ReadFiles();

  static void note(int fd, const std::filesystem::path& name);
  // One that the call is about, though it is not opened. Nothing where no such file is.
  static void note(const std::filesystem::path& path);
  // It is to be replaced, as --in-place says; until then it must stay as it is.
  static void release(const std::filesystem::path& path);
  // It was replaced or taken away by Thaw itself, or goes on.
  static void forget(const std::filesystem::path& path);
  static void forget(int folder, const char* name);    // an empty name: the open file itself
  static bool contains(int folder, const char* name);  // a name in an open folder; a link is not followed
  // Throws thaw::Error where one of them was written to, replaced or taken away since it was noted.
  static void require_unchanged();
  static Error changed(const std::string& name);

  // Files that this thread opens meanwhile are only looked at, to see what may be written where.
  class Pause {
   public:
    Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;
    ~Pause();
  };
  static bool is_paused();
};

}  // namespace thaw
