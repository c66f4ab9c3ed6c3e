// A file that appears whole or not at all.
//
// What is written goes to a file without a name in the target's folder (O_TMPFILE), so that nothing is left where the
// process is killed; where the file system knows no such files, to one with a temporary name, which the next that writes there
// takes away (replace_files.h): it is locked while the process lives. publish() flushes it to the disk and puts it in place. Until then, and when the AtomicFile dies unpublished, the target is as it was. A target
// that is a symbolic link, no regular file, one that the call reads (read_files.h) or has a set-user-id or set-group-id bit
// is refused; an existing file's
// permissions are kept. All failures throw thaw::Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "thaw/core/direct_writer.h"
#include "thaw/core/fd.h"
#include "thaw/core/file_state.h"

namespace thaw {

// What publish() does with a file that is at the target: takes its place, or fails.
enum class Existing : uint8_t { kReplace, kRefuse };

class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path, Existing existing = Existing::kReplace);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  const std::filesystem::path& path() const { return path_; }
  uint64_t size() const { return size_; }
  // Says that much follows that is not read again soon: it goes to the disk past the system's cache where that is
  // possible (direct_writer.h), until append(). The file's size must be a multiple of DirectWriter::kAlignment.
  void expect_bulk();
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void pad_to(uint64_t alignment);  // with zeros, which take no place on the disk where the file system can leave holes
  // Appends a range of another file, holes as holes, without it passing through this process where the system can do
  // so.
  void append(int fd, uint64_t offset, uint64_t size, const std::string& source);

  void flush();  // to the disk
  // Throws where a file that the call reads has changed, too.
  void publish();
  // The steps of it, for files that belong together (replace_files.h): its name, whole or not at all, and what comes after the last.
  void place();
  void flush_folder() const;
  // For a look at it before it is published: its own name in another folder of the file system, which goes with publish(); false
  // where it cannot have one. Or a temporary name beside its own.
  bool name_in(const std::filesystem::path& folder);
  std::filesystem::path sibling_name();
  // The folder in which it has its name was given the name of its own (replace_files.h).
  void came_with_folder() { temporary_.clear(); }
  std::string name() const { return path_.filename().string(); }
  FileState state() const;

 private:
  [[noreturn]] void fail(const char* what) const;
  [[noreturn]] void refuse_place() const;
  void copy(int fd, uint64_t offset, uint64_t size, const std::string& source);
  void seek_end();
  void end_bulk();
  int folder_of_temporary() const { return elsewhere_ ? elsewhere_.get() : folder_.get(); }
  void open_named(unsigned mode);
  bool link_as(int folder, const std::string& name) const;
  void give_name();
  void find_folder();
  void move_to(const std::string& name);

  std::filesystem::path path_;
  Existing existing_;
  std::string temporary_;  // its name in a folder; empty while it has none, and once published
  UniqueFd folder_, fd_;
  UniqueFd elsewhere_;  // the folder of the temporary name, where that is another
  uint64_t size_ = 0;
  std::unique_ptr<DirectWriter> bulk_;  // between expect_bulk and the end of what it was for
  bool flushed_ = false;
};

// A file of just this. Throws as AtomicFile does.
void write_whole(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_whole(const std::filesystem::path& path, std::string_view text);

// Makes a folder, and those above it, where it is not there. Throws thaw::Error (kCannotWrite).
void make_folder(const std::filesystem::path& folder);

}  // namespace thaw
