#include "thaw/core/confined.h"

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>

#include "thaw/core/error.h"
#include "thaw/core/scratch_folder.h"

namespace thaw {
namespace {

namespace fs = std::filesystem;

std::optional<Confinement> confinement_of_process;  // set once, before there are threads

bool is_below(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

bool is_in_scratch(const fs::path& path) {
  return std::ranges::any_of(path, [](const fs::path& part) { return is_temporary_name(part.string()); });
}

[[noreturn]] void refuse_outside(const fs::path& name) {
  std::string folders;
  for (const fs::path& folder : confinement_of_process->folders)
    folders += (folders.empty() ? "" : " or ") + folder.string();
  throw Error(ErrorCode::kInvalidArgument, {.what = "is outside of the folders that this call may use",
                                            .where = name.string(),
                                            .expected = "a path in " + folders,
                                            .next = "name one, or start `thaw mcp` with another --root"});
}

// Where an open file is; empty where the system does not say.
fs::path place_of(int fd) {
  std::error_code failed;
  return fs::read_symlink("/proc/self/fd/" + std::to_string(fd), failed);
}

void require_real_inside(const fs::path& real, const fs::path& name) {
  const auto& folders = confinement_of_process->folders;
  const bool is_inside = std::ranges::any_of(folders, [&](const fs::path& folder) { return is_below(real, folder); });
  if (real.empty() || (!is_inside && !is_in_scratch(real))) refuse_outside(name);
}

void refuse_to_write(const fs::path& name) {
  throw Error(ErrorCode::kInvalidArgument, {.what = "would be written, and this call writes nothing",
                                            .where = name.string(),
                                            .expected = "a call without an output",
                                            .next = "start `thaw mcp` with --write to allow outputs"});
}

// With links followed as far as there is something.
fs::path real_path(const fs::path& path) {
  std::error_code failed;
  fs::path real = fs::weakly_canonical(fs::absolute(path, failed), failed);
  if (failed) return {};
  // Links that are left lead to what is not there: no place to judge.
  for (fs::path part = real; part.has_relative_path(); part = part.parent_path())
    if (fs::is_symlink(fs::symlink_status(part, failed))) return {};
  return real;
}

}  // namespace

fs::path real_folder(const fs::path& folder) {
  std::error_code failed;
  fs::path real = fs::canonical(folder, failed);
  if (!failed && fs::is_directory(real, failed)) return real;
  throw Error(ErrorCode::kCannotRead, {.what = "is no folder that can be used",
                                       .where = folder.string(),
                                       .expected = "a folder",
                                       .next = "check the path"});
}

void confine(const Confinement& confinement) {
  Confinement settled{.folders = {}, .may_write = confinement.may_write};
  for (const fs::path& folder : confinement.folders) settled.folders.push_back(real_folder(folder));
  confinement_of_process = std::move(settled);
}

bool is_confined() { return confinement_of_process.has_value(); }

void require_inside(int fd, const fs::path& name) {
  if (is_confined()) require_real_inside(place_of(fd), name);
}

void require_inside(const fs::path& path) {
  if (is_confined()) require_real_inside(real_path(path), path);
}

void require_may_write(int folder, const fs::path& name) {
  if (!is_confined()) return;
  const fs::path place = place_of(folder);
  require_real_inside(place, name);
  if (!confinement_of_process->may_write && !is_in_scratch(place)) refuse_to_write(name);
}

void require_may_write(const fs::path& path) {
  if (!is_confined()) return;
  require_inside(path);
  if (!confinement_of_process->may_write) refuse_to_write(path);
}

}  // namespace thaw
