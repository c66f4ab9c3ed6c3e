#include "thaw/ir/data/external_data.h"

#include <cerrno>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "thaw/core/error.h"

namespace thaw::ir {
namespace {

constexpr uint64_t kMaxFileSize = INT64_MAX;

// The names on the way, without "." and empty ones.
std::vector<std::string> components_of(std::string_view location) {
  std::vector<std::string> parts;
  while (!location.empty()) {
    const size_t slash = std::min(location.find('/'), location.size());
    const std::string_view part = location.substr(0, slash);
    location.remove_prefix(std::min(slash + 1, location.size()));
    if (!part.empty() && part != ".") parts.emplace_back(part);
  }
  return parts;
}

struct stat examine(const UniqueFd& fd, std::string_view location, const std::string& where) {
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) {
    throw Error(ErrorCode::kCannotRead,
                {.what = fmt::format("external data file '{}' cannot be examined: {}", location, std::strerror(errno)),
                 .where = where});
  }
  if (!S_ISREG(info.st_mode)) {
    throw Error(ErrorCode::kInvalidFile,
                {.what = fmt::format("external data file '{}' is not a regular file", location),
                 .where = where,
                 .expected = "a regular file in the model's folder",
                 .next = "fetch the model's data again"});
  }
  if (info.st_nlink > 1) {
    throw Error(ErrorCode::kInvalidFile,
                {.what = fmt::format("external data file '{}' has {} hard links", location, info.st_nlink),
                 .where = where,
                 .expected = "a file of the model's own, that no other name leads to",
                 .next = "copy the file in place of the link"});
  }
  return info;
}

int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

void check_range(const ExternalLocation& location, uint64_t size, uint64_t file_size, const std::string& where) {
  // No overflow: check_location_text's callers keep offset + size below 2^63.
  if (location.offset > file_size || size > file_size - location.offset) {
    throw Error(ErrorCode::kInvalidFile,
                {.what = fmt::format("external data takes {} bytes at offset {} of '{}', which has {}", size,
                                     location.offset, location.location, file_size),
                 .where = where,
                 .expected = "a range inside the file",
                 .next = "fetch the data file again"});
  }
}

}  // namespace

void check_location_text(std::string_view location, const std::string& where) {
  const auto refuse = [&](const char* why) {
    throw Error(ErrorCode::kInvalidFile, {.what = fmt::format("external data location '{}' {}", location, why),
                                          .where = where,
                                          .expected = "a relative path inside the model's folder",
                                          .next = "move the data file beside the model and name it so"});
  };
  if (location.find('\0') != std::string_view::npos) refuse("has a zero byte in it");
  if (!location.empty() && location.front() == '/') refuse("is an absolute path");
  bool any = false;
  for (const std::string& part : components_of(location)) {
    if (part == "..") refuse("leaves the model's folder");
    any = true;
  }
  if (!any) refuse("names no file");
}

UniqueFd open_below(const std::filesystem::path& folder, std::string_view location, const std::string& where) {
  check_location_text(location, where);
  const std::filesystem::path base = folder.empty() ? std::filesystem::path(".") : folder;
  UniqueFd at(::open(base.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!at) {
    if (errno == ENOENT) return {};
    throw Error(ErrorCode::kCannotRead,
                {.what = fmt::format("the folder '{}' cannot be opened: {}", base.string(), std::strerror(errno)),
                 .where = where,
                 .expected = "the model's folder",
                 .next = "check its permissions"});
  }
  const std::vector<std::string> parts = components_of(location);
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool last = i + 1 == parts.size();
    // O_NONBLOCK: a named pipe must not make us wait; examine() refuses it.
    const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | (last ? O_NONBLOCK : O_DIRECTORY);
    UniqueFd next(::openat(at.get(), parts[i].c_str(), flags));
    if (!next) {
      const int error = errno;
      if (error == ENOENT) return {};
      struct stat info{};
      const bool link = ::fstatat(at.get(), parts[i].c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode);
      throw Error(
          ErrorCode::kInvalidFile,
          {.what = link ? fmt::format("external data location '{}' leads through the symbolic link '{}'", location,
                                      parts[i])
                        : fmt::format("external data file '{}' cannot be opened: {}", location, std::strerror(error)),
           .where = where,
           .expected = "a regular file in the model's folder",
           .next = link ? "copy the file in place of the link" : "check its permissions"});
    }
    at = std::move(next);
  }
  examine(at, location, where);
  return at;
}

ExternalFolder::Seen& ExternalFolder::look_at(const std::string& location, const std::string& where) {
  const auto found = seen_.find(location);
  if (found != seen_.end()) return found->second;
  Seen seen;
  if (const UniqueFd fd = open_below(folder_, location, where)) {
    const struct stat info = examine(fd, location, where);
    seen.device = info.st_dev;
    seen.inode = info.st_ino;
    seen.size = static_cast<uint64_t>(info.st_size);
    seen.modified = nanoseconds(info.st_mtim);
  } else {
    seen.missing = true;
  }
  return seen_.emplace(location, std::move(seen)).first->second;
}

void ExternalFolder::check(const ExternalLocation& location, uint64_t size, const std::string& where) {
  check_location_text(location.location, where);
  if (location.offset > kMaxFileSize || size > kMaxFileSize - location.offset) {
    throw Error(ErrorCode::kInvalidFile,
                {.what = fmt::format("external data takes {} bytes at offset {}", size, location.offset),
                 .where = where,
                 .expected = "a range below 2^63",
                 .next = "export the model again"});
  }
  if (folder_.empty()) return;
  std::lock_guard lock(mutex_);
  const Seen& seen = look_at(location.location, where);
  if (!seen.missing) check_range(location, size, seen.size, where);
}

UniqueFd ExternalFolder::reopen(const Seen& seen, const std::string& location, const std::string& where) {
  UniqueFd fd = open_below(folder_, location, where);
  if (!fd || seen.missing) return fd;
  const struct stat info = examine(fd, location, where);
  if (seen.device != info.st_dev || seen.inode != info.st_ino || seen.size != static_cast<uint64_t>(info.st_size) ||
      seen.modified != nanoseconds(info.st_mtim)) {
    throw Error(ErrorCode::kInvalidFile,
                {.what = fmt::format("external data file '{}' has changed since the model was loaded", location),
                 .where = where,
                 .expected = "the file that was there then",
                 .next = "load the model again"});
  }
  return fd;
}

void ExternalFolder::require_unchanged(const ExternalLocation& location, const std::string& where) {
  check_location_text(location.location, where);
  if (folder_.empty()) return;
  std::lock_guard lock(mutex_);
  const Seen& seen = look_at(location.location, where);
  if (reopen(seen, location.location, where) || seen.missing) return;
  throw Error(ErrorCode::kInvalidFile,
              {.what = fmt::format("external data file '{}' has changed since the model was loaded: it is gone",
                                   location.location),
               .where = where,
               .expected = "the file that was there then",
               .next = "load the model again"});
}

std::shared_ptr<const MappedFile> ExternalFolder::file(const ExternalLocation& location, const std::string& where) {
  check_location_text(location.location, where);
  if (folder_.empty()) {
    throw Error(
        ErrorCode::kCannotRead,
        {.what = fmt::format("external data in '{}' cannot be read: the model is not in a folder", location.location),
         .where = where,
         .expected = "a model that was loaded from a file",
         .next = "name the folder when the model is parsed"});
  }
  std::lock_guard lock(mutex_);
  Seen& seen = look_at(location.location, where);
  if (seen.mapped) return seen.mapped;
  UniqueFd fd = reopen(seen, location.location, where);
  if (!fd) {
    throw Error(ErrorCode::kCannotRead, {.what = fmt::format("external data file '{}' is missing", location.location),
                                         .where = where,
                                         .expected = fmt::format("the file in '{}'", folder_.string()),
                                         .next = "put the model's data file beside the model"});
  }
  seen.mapped = MappedFile::map(std::move(fd), (folder_ / location.location).string());
  return seen.mapped;
}

std::span<const std::byte> ExternalFolder::view(const ExternalLocation& location, uint64_t size,
                                                const std::string& where, std::shared_ptr<const void>& owner) {
  const std::shared_ptr<const MappedFile> mapped = file(location, where);
  check(location, size, where);
  check_range(location, size, mapped->bytes().size(), where);
  owner = mapped;
  return mapped->bytes().subspan(location.offset, size);
}

}  // namespace thaw::ir
