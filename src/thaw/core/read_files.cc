#include "thaw/core/read_files.h"

#include <map>
#include <mutex>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>

#include "thaw/core/file_state.h"
#include "thaw/core/fork_mutex.h"
#include "thaw/core/mapped_file.h"

namespace thaw {
namespace {

struct Read {
  FileState state;
  std::filesystem::path name;  // that it was opened by first
  bool may_be_replaced = false;
};

struct Record {
  ForkMutex mutex;
  int keepers = 0;
  std::map<FileIdentity, Read> files;
};

Record& record() {
  static Record* const all = new Record;  // never destroyed: files may be opened until the process ends
  return *all;
}

thread_local int pauses = 0;

void add(const std::optional<FileState>& file, const std::filesystem::path& name) {
  if (pauses > 0 || !file) return;
  Record& all = record();
  const std::lock_guard lock(all.mutex);
  if (all.keepers > 0) all.files.try_emplace(file->identity, Read{*file, std::filesystem::absolute(name)});
}

void erase(const std::optional<FileState>& file) {
  Record& all = record();
  const std::lock_guard lock(all.mutex);
  if (file) all.files.erase(file->identity);
}

}  // namespace

ReadFiles::ReadFiles() {
  Record& all = record();
  const std::lock_guard lock(all.mutex);
  ++all.keepers;
}

ReadFiles::~ReadFiles() {
  Record& all = record();
  const std::lock_guard lock(all.mutex);
  if (--all.keepers == 0) all.files.clear();
}

ReadFiles::Pause::Pause() { ++pauses; }
ReadFiles::Pause::~Pause() { --pauses; }
bool ReadFiles::is_paused() { return pauses > 0; }

void ReadFiles::note(int fd, const std::filesystem::path& name) { add(state_of(fd, "", AT_EMPTY_PATH), name); }

void ReadFiles::note(const std::filesystem::path& path) { add(state_of(AT_FDCWD, path.c_str(), 0), path); }

void ReadFiles::release(const std::filesystem::path& path) {
  const std::optional<FileState> file = state_of(AT_FDCWD, path.c_str(), 0);
  Record& all = record();
  const std::lock_guard lock(all.mutex);
  const auto found = file ? all.files.find(file->identity) : all.files.end();
  if (found != all.files.end()) found->second.may_be_replaced = true;
}

void ReadFiles::forget(const std::filesystem::path& path) { erase(state_of(AT_FDCWD, path.c_str(), 0)); }

void ReadFiles::forget(int folder, const char* name) {
  erase(state_of(folder, name, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH));
}

bool ReadFiles::contains(int folder, const char* name) {
  const std::optional<FileState> file = state_of(folder, name, AT_SYMLINK_NOFOLLOW);
  Record& all = record();
  const std::lock_guard lock(all.mutex);
  const auto found = file ? all.files.find(file->identity) : all.files.end();
  return found != all.files.end() && !found->second.may_be_replaced;
}

void ReadFiles::require_unchanged() {
  require_mapped_unchanged();
  Record& all = record();
  const std::lock_guard lock(all.mutex);
  for (const auto& [identity, read] : all.files)
    if (state_of(AT_FDCWD, read.name.c_str(), 0) != read.state) throw changed(read.name.string());
}

Error ReadFiles::changed(const std::string& name) {
  return Error(ErrorCode::kCannotRead, {.what = "has changed since it was read",
                                        .where = name,
                                        .expected = "a file that nobody writes to or replaces meanwhile",
                                        .next = "call again once nothing changes it"});
}

}  // namespace thaw
