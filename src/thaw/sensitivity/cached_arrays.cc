#include "thaw/sensitivity/cached_arrays.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "thaw/core/error.h"

namespace thaw::measuring {
namespace {

[[noreturn]] void fail(const char* what) {
  throw Error(ErrorCode::kCannotWrite, {.what = std::string(what) + ": " + std::strerror(errno),
                                        .where = std::filesystem::temp_directory_path().string(),
                                        .expected = "room for the activations that --max-memory does not hold",
                                        .next = "TMPDIR names another folder"});
}

UniqueFd open_nameless() {
  const std::string folder = std::filesystem::temp_directory_path().string();
  const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return UniqueFd(fd);
  std::string name = folder + "/thaw-activations-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named < 0) fail("no temporary file can be made");
  ::unlink(name.c_str());
  return UniqueFd(named);
}

}  // namespace

CachedArrays::~CachedArrays() { memory_.left += held_; }

void CachedArrays::put(size_t sample, const std::string& name, Array array) {
  const std::lock_guard lock(mutex_);
  if (sample >= samples_.size()) samples_.resize(sample + 1);
  Entry& entry = samples_[sample][name];
  entry.array = std::move(array);
  entry.size = entry.array.bytes.size();
  if (entry.size <= memory_.left) {
    memory_.left -= entry.size;
    held_ += entry.size;
  } else {
    spill(entry);
  }
}

void CachedArrays::spill(Entry& entry) {
  if (!file_) file_ = open_nameless();
  entry.offset = end_;
  const std::byte* from = entry.array.bytes.data();
  for (uint64_t written = 0; written < entry.size;) {
    const ssize_t count =
        ::pwrite(file_.get(), from + written, entry.size - written, static_cast<off_t>(entry.offset + written));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail("activations cannot be written");
    written += static_cast<uint64_t>(count);
  }
  end_ += entry.size;
  entry.is_in_file = true;
  std::vector<std::byte>().swap(entry.array.bytes);
}

bool CachedArrays::has(size_t sample, const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return sample < samples_.size() && samples_[sample].contains(name);
}

uint64_t CachedArrays::bytes(size_t sample) const {
  const std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  if (sample < samples_.size())
    for (const auto& [name, entry] : samples_[sample]) bytes += entry.size;
  return bytes;
}

uint64_t CachedArrays::bytes(size_t sample, const std::string& name) const {
  const std::lock_guard lock(mutex_);
  if (sample >= samples_.size()) return 0;
  const auto found = samples_[sample].find(name);
  return found == samples_[sample].end() ? 0 : found->second.size;
}

Array CachedArrays::get(size_t sample, const std::string& name) const {
  const Entry* found = nullptr;  // where it stays
  {
    const std::lock_guard lock(mutex_);
    found = &samples_[sample].at(name);
  }
  const Entry& entry = *found;
  Array array = entry.array;
  if (!entry.is_in_file) return array;
  array.bytes.resize(entry.size);
  for (uint64_t read = 0; read < entry.size;) {
    const ssize_t count =
        ::pread(file_.get(), array.bytes.data() + read, entry.size - read, static_cast<off_t>(entry.offset + read));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail("activations cannot be read back");
    read += static_cast<uint64_t>(count);
  }
  return array;
}

}  // namespace thaw::measuring
