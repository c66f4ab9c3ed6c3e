#include "thaw/sensitivity/kept_arrays.h"

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

KeptArrays::~KeptArrays() { memory_.left += held_; }

void KeptArrays::put(size_t sample, const std::string& name, Array array) {
  const std::lock_guard lock(mutex_);
  if (sample >= samples_.size()) samples_.resize(sample + 1);
  Place& place = samples_[sample][name];
  place.array = std::move(array);
  place.size = place.array.bytes.size();
  if (place.size <= memory_.left) {
    memory_.left -= place.size;
    held_ += place.size;
  } else {
    spill(place);
  }
}

void KeptArrays::spill(Place& place) {
  if (!file_) file_ = open_nameless();
  place.offset = end_;
  const std::byte* from = place.array.bytes.data();
  for (uint64_t written = 0; written < place.size;) {
    const ssize_t count =
        ::pwrite(file_.get(), from + written, place.size - written, static_cast<off_t>(place.offset + written));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail("activations cannot be written");
    written += static_cast<uint64_t>(count);
  }
  end_ += place.size;
  place.is_in_file = true;
  std::vector<std::byte>().swap(place.array.bytes);
}

bool KeptArrays::has(size_t sample, const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return sample < samples_.size() && samples_[sample].contains(name);
}

uint64_t KeptArrays::bytes(size_t sample) const {
  const std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  if (sample < samples_.size())
    for (const auto& [name, place] : samples_[sample]) bytes += place.size;
  return bytes;
}

Array KeptArrays::get(size_t sample, const std::string& name) const {
  const Place* found = nullptr;  // where it stays
  {
    const std::lock_guard lock(mutex_);
    found = &samples_[sample].at(name);
  }
  const Place& place = *found;
  Array array = place.array;
  if (!place.is_in_file) return array;
  array.bytes.resize(place.size);
  for (uint64_t read = 0; read < place.size;) {
    const ssize_t count =
        ::pread(file_.get(), array.bytes.data() + read, place.size - read, static_cast<off_t>(place.offset + read));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail("activations cannot be read back");
    read += static_cast<uint64_t>(count);
  }
  return array;
}

}  // namespace thaw::measuring
