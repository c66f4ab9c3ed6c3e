#include "thaw/core/replace_files.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "thaw/core/error.h"
#include "thaw/core/file_state.h"
#include "thaw/core/folder_lock.h"
#include "thaw/core/folder_of.h"
#include "thaw/core/hold_signals.h"
#include "thaw/core/read_files.h"
#include "thaw/core/scratch_folder.h"

namespace thaw {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNew = "new";    // of a scratch folder: files on the way to their places
constexpr const char* kOld = "old";    // entries that were set aside
constexpr const char* kList = "list";  // what is put in place, and what goes
constexpr uintmax_t kLongestList = uintmax_t{16} << 20;
constexpr size_t kMostCarried = 256;  // files of others that a new folder is given

std::optional<FileState> state_at(const fs::path& path) {
  return state_of(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW);
}

// A file that a call puts in place or that goes with what it replaces: by its name in the folder, and by what it is, so that
// another of that name is left alone.
struct Listed {
  // Data goes unless it is in use. Entries that come, and those that are set aside for them.
  enum class Kind : char { kData = 'd', kComes = 'c', kGoes = 'g' };
  Kind kind;
  FileState state;
  std::string name;

  bool is_at(const fs::path& folder) const { return state_at(folder / name) == state; }
};

void write_list(const fs::path& path, const std::vector<Listed>& files) {
  AtomicFile list(path);
  for (const Listed& file : files) {
    const FileIdentity& is = file.state.identity;
    std::string line(1, static_cast<char>(file.kind));
    const auto put = [&](auto number) { line += ' ' + std::to_string(number); };
    put(is.major), put(is.minor), put(is.number), put(is.birth), put(file.state.size), put(file.state.modified);
    line += ' ' + file.name + '\0';
    list.write(line);
  }
  list.flush();
  list.place();
  list.flush_folder();
}

std::optional<Listed> read_line(std::string_view line) {
  if (line.size() < 2 || std::string_view("dcg").find(line[0]) == std::string_view::npos || line[1] != ' ')
    return std::nullopt;
  Listed file{.kind = static_cast<Listed::Kind>(line[0]), .state = {}, .name = {}};
  line.remove_prefix(2);
  const auto take = [&](auto& number) {
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    if (error != std::errc() || end == line.data() + line.size() || *end != ' ') return false;
    line.remove_prefix(static_cast<size_t>(end + 1 - line.data()));
    return true;
  };
  FileIdentity& is = file.state.identity;
  if (!take(is.major) || !take(is.minor) || !take(is.number) || !take(is.birth) || !take(file.state.size) ||
      !take(file.state.modified))
    return std::nullopt;
  file.name = line;
  if (file.name.empty() || file.name.find('/') != std::string::npos) return std::nullopt;
  return file;
}

std::vector<Listed> read_list(const fs::path& path) {
  std::vector<Listed> files;
  std::error_code none;
  if (!fs::is_regular_file(fs::symlink_status(path, none)) || fs::file_size(path, none) > kLongestList) return files;
  std::ifstream stream(path, std::ios::binary);
  for (std::string line; std::getline(stream, line, '\0');)
    if (std::optional<Listed> file = read_line(line)) files.push_back(std::move(*file));
  return files;
}

// False where one that should go is still there.
bool drop_data(const std::vector<Listed>& files, const fs::path& folder, const InUse& in_use,
               const std::vector<fs::path>& mine = {}) {
  bool all = true;
  for (const Listed& file : files) {
    const fs::path path = folder / file.name;
    if (file.kind != Listed::Kind::kData || !file.is_at(folder)) continue;
    if (!in_use) {
      all = false;
      continue;
    }
    if (in_use(path)) continue;
    if (is_held(folder, file.name, mine)) {  // who holds it may come to no end either
      all = false;
      continue;
    }
    ReadFiles::forget(path);
    all = ::unlink(path.c_str()) == 0 && all;
  }
  return all;
}

bool move_if_free(int from, const char* name, int to) {
  return ::renameat2(from, name, to, name, RENAME_NOREPLACE) == 0;
}

UniqueFd open_folder(const fs::path& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) names.push_back(entry.path().filename().string());
  return names;
}

// Puts back the entries that were set aside, unless all new ones have come. False where one is kept from its place by something
// other than a file that somebody has made there since.
bool put_back(const fs::path& scratch, const fs::path& folder, const std::vector<Listed>& files) {
  std::vector<const Listed*> placed;
  size_t entries = 0;
  for (const Listed& file : files) {
    if (file.kind != Listed::Kind::kComes) continue;
    ++entries;
    if (file.is_at(folder)) placed.push_back(&file);
  }
  if (placed.size() == entries) return true;
  bool all = true;
  for (const Listed* file : placed) all = ::unlink((folder / file->name).c_str()) == 0 && all;
  const UniqueFd from = open_folder(scratch / kOld), to(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (const Listed& file : files)
    if (file.kind == Listed::Kind::kGoes && file.is_at(scratch / kOld))
      all = (move_if_free(from.get(), file.name.c_str(), to.get()) || errno == EEXIST) && all;
  return all;
}

// Of a call that came to no end. False where something of it must stay.
bool undo(const fs::path& scratch, const fs::path& folder, const InUse& in_use,
          const std::vector<fs::path>& mine = {}) {
  const std::vector<Listed> files = read_list(scratch / kList);
  return put_back(scratch, folder, files) && drop_data(files, folder, in_use, mine);
}

bool is_ours(std::string_view name) {
  return is_temporary_name(name) || is_temporary_name(name, Temporary::kFolderToBe);
}

// A folder that was to take the place of another, or that other one, whose files are linked in the new one or replaced. Folders
// in it would be somebody else's.
void remove_flat(const fs::path& folder) {
  std::error_code none;
  for (const std::string& name : names_in(folder)) {
    ::unlink((folder / name).c_str());
    if (is_ours(name)) fs::remove_all(folder / name, none);
  }
  ::rmdir(folder.c_str());
}

void clear(const fs::path& path, const InUse& in_use) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info{};
  if (!file || ::fstat(file.get(), &info) != 0 || info.st_uid != ::geteuid() || !lock_now(file.get())) return;
  if (S_ISREG(info.st_mode)) {
    ::unlink(path.c_str());
  } else if (is_temporary_name(path.filename().string(), Temporary::kFolderToBe)) {
    remove_flat(path);
  } else if (S_ISDIR(info.st_mode) && undo(path, path.parent_path(), in_use)) {
    std::error_code none;
    fs::remove_all(path, none);
  }
}

// The name of one of the files, or of data that goes with the old ones.
std::set<std::string> names_of(const Replacement& with, const std::vector<fs::path>& obsolete) {
  std::set<std::string> names;
  for (const AtomicFile* file : with.entries) names.insert(file->name());
  for (const fs::path& path : obsolete) names.insert(path.filename().string());
  return names;
}

// What else is in the folder, which a folder in its place must have too; none where that cannot be, as there is a
// folder or another model (its data must have one name only), another call is at work, or there is much of it.
std::optional<std::vector<std::string>> others_in(const fs::path& folder, const Replacement& with,
                                                  const std::set<std::string>& known) {
  std::vector<std::string> others;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    std::string name = entry.path().filename().string();
    const bool is_scratch =
        std::ranges::any_of(with.scratch, [&](const fs::path& path) { return path.filename() == name; });
    const fs::file_type type = entry.symlink_status(failed).type();
    if (known.contains(name) && type != fs::file_type::regular) return std::nullopt;
    if (known.contains(name) || name == kLockFile || is_scratch) continue;
    if (is_ours(name) || entry.path().extension() == ".onnx" || others.size() == kMostCarried ||
        (type != fs::file_type::regular && type != fs::file_type::symlink))
      return std::nullopt;
    others.push_back(std::move(name));
  }
  if (failed) return std::nullopt;
  std::ranges::sort(others);
  return others;
}

bool is_within(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

// As far as one has any: no lists of who may do what, the label that the system gives, the flags that chattr shows.
bool have_same_attributes(int made, int there) {
  constexpr std::string_view kLabel("security.selinux\0", 17);
  char names[256], label[256], wanted[256];
  const ssize_t size = ::flistxattr(there, names, sizeof names);
  if (size < 0 && errno != ENOTSUP) return false;
  if (size > 0 && std::string_view(names, static_cast<size_t>(size)) != kLabel) return false;
  const ssize_t is = ::fgetxattr(made, kLabel.data(), label, sizeof label),
                was = ::fgetxattr(there, kLabel.data(), wanted, sizeof wanted);
  if (is != was || (is > 0 && std::memcmp(label, wanted, static_cast<size_t>(is)) != 0)) return false;
  int flags = 0, wanted_flags = 0;
  constexpr int kOfItsSize = FS_INDEX_FL;
  const bool has_flags = ::ioctl(there, FS_IOC_GETFLAGS, &wanted_flags) == 0;
  return !has_flags || (::ioctl(made, FS_IOC_GETFLAGS, &flags) == 0 && ((flags ^ wanted_flags) & ~kOfItsSize) == 0);
}

// Whether a folder that is made now can be what this one is to all who may use it.
bool can_stand_for(int made, int there) {
  struct stat is{}, was{};
  if (::fstat(made, &is) != 0 || ::fstat(there, &was) != 0 || is.st_uid != was.st_uid || is.st_dev != was.st_dev)
    return false;
  return have_same_attributes(made, there) &&
         (is.st_gid == was.st_gid || ::fchown(made, static_cast<uid_t>(-1), was.st_gid) == 0) &&
         ::fchmod(made, was.st_mode & 07777) == 0;
}

// The files are in place, those of others are moved or linked: what is left of the old folder goes.
void decompose(const fs::path& path, int old, const fs::path& now, const std::set<std::string>& known,
               const std::vector<std::string>& carried, const Replacement& with) {
  const UniqueFd folder = open_folder(now);
  std::error_code none;
  for (const fs::path& scratch : with.scratch) fs::remove_all(path / scratch.filename(), none);
  for (const std::string& name : names_in(path)) {
    const bool goes = known.contains(name) || name == kLockFile || std::ranges::binary_search(carried, name);
    if (goes) {
      ::unlinkat(old, name.c_str(), 0);
    } else {
      move_if_free(old, name.c_str(), folder.get());  // came while this went on
    }
  }
  ::rmdir(path.c_str());
}

enum class Swapped : uint8_t { kNo, kYes, kNotFlushed };

// A folder with the files takes the place of the one that is there; or it does not, for whatever is in the way.
class FolderSwap {
 public:
  FolderSwap(const Replacement& with, const std::vector<fs::path>& obsolete)
      : with_(with), known_(names_of(with, obsolete)) {}

  Swapped try_it(const fs::path& folder) {
    std::optional<ScratchFolder> made;  // outlives what is caught: it holds the files until they are taken back
    Swapped swapped = Swapped::kNo;
    try {
      const fs::path there = fs::canonical(folder);
      clear_leftovers(there.parent_path(), with_.in_use);
      if (!there.has_relative_path() || is_within(fs::current_path(), there)) return Swapped::kNo;
      swapped = swap(made.emplace(there.parent_path(), Temporary::kFolderToBe), there);
    } catch (const Error&) {
    } catch (const fs::filesystem_error&) {
    }
    if (swapped == Swapped::kNo && moved_) take_back(folder);
    return swapped;
  }

 private:
  Swapped swap(ScratchFolder& made, const fs::path& there) {
    const UniqueFd old = open_folder(there);
    if (!old || !can_stand_for(made.fd(), old.get())) return Swapped::kNo;
    const auto others = others_in(there, with_, known_);
    if (!others) return Swapped::kNo;
    const auto carry = [&](const std::string& name) {
      return ::linkat(old.get(), name.c_str(), made.fd(), name.c_str(), 0) == 0;
    };
    const auto move = [&](AtomicFile* file) { return file->name_in(made.path()); };
    if (!std::ranges::all_of(*others, carry)) return Swapped::kNo;
    moved_ = true;
    if (!std::ranges::all_of(with_.data, move) || !std::ranges::all_of(with_.entries, move)) return Swapped::kNo;
    const FolderLock until_apart(made.path());  // for who comes while the old one is taken apart
    if (::fsync(made.fd()) != 0 || others_in(there, with_, known_) != others) return Swapped::kNo;
    lock_now(old.get());  // nor is it a leftover
    const HoldSignals hold;
    if (::renameat2(AT_FDCWD, made.path().c_str(), AT_FDCWD, there.c_str(), RENAME_EXCHANGE) != 0) return Swapped::kNo;
    made.leave();
    for (AtomicFile* file : with_.data) file->came_with_folder();
    for (AtomicFile* file : with_.entries) file->came_with_folder();
    for (const std::string& name : known_) ReadFiles::forget(old.get(), name.c_str());
    decompose(made.path(), old.get(), there, known_, *others, with_);
    const UniqueFd parent = open_folder(there.parent_path());
    return ::fsync(parent.get()) == 0 || errno == EINVAL ? Swapped::kYes : Swapped::kNotFlushed;
  }

  // From the folder that did not come about.
  void take_back(const fs::path& folder) {
    back_.emplace(folder);
    const fs::path names = back_->folder(kNew);
    for (AtomicFile* file : with_.data) file->name_in(names);
    for (AtomicFile* file : with_.entries) file->name_in(names);
  }

  const Replacement& with_;
  std::set<std::string> known_;
  std::optional<ScratchFolder> back_;
  bool moved_ = false;
};

[[noreturn]] void not_flushed(const fs::path& folder) {
  throw Error(ErrorCode::kCannotWrite,
              {.what = "the files are in place, but their folder cannot be flushed to the disk",
               .where = folder.string(),
               .expected = "a disk that can be written to",
               .next = "check the disk, and write them again"});
}

// Where the entries that are there stand until all new ones have come.
void set_aside(const Replacement& with, const fs::path& folder, const fs::path& scratch) {
  const UniqueFd from(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), to = open_folder(scratch / kOld);
  for (const AtomicFile* file : with.entries) {
    const std::string name = file->name();
    struct stat info{};
    if (::fstatat(from.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) continue;
    } else if (!S_ISREG(info.st_mode)) {
      errno = S_ISDIR(info.st_mode) ? EISDIR : EINVAL;  // somebody has made it meanwhile
    } else {
      ReadFiles::forget(from.get(), name.c_str());
      if (move_if_free(from.get(), name.c_str(), to.get())) continue;
    }
    throw Error(ErrorCode::kCannotWrite, {.what = std::string("cannot be replaced: ") + std::strerror(errno),
                                          .where = file->path().string(),
                                          .expected = "a folder that can be written to, with room for the files",
                                          .next = "check the folder and its permissions"});
  }
}

// Data first, then the entries. Wherever it ends, what was done is undone by the list.
void replace_in_order(const Replacement& with, const fs::path& folder, const std::vector<fs::path>& obsolete) {
  std::vector<Listed> files, goes;
  for (const fs::path& path : obsolete)
    if (const auto state = state_at(path)) goes.push_back({Listed::Kind::kData, *state, path.filename().string()});
  files = goes;
  for (const AtomicFile* file : with.data) files.push_back({Listed::Kind::kData, file->state(), file->name()});
  const bool several = with.entries.size() > 1;
  for (const AtomicFile* file : with.entries) {
    if (!several) break;  // it takes the place of the other in one step
    files.push_back({Listed::Kind::kComes, file->state(), file->name()});
    if (const auto state = state_at(folder / file->name()))
      files.push_back({Listed::Kind::kGoes, *state, file->name()});
  }
  if (files.empty()) {
    with.entries.front()->place();
    return with.entries.front()->flush_folder();
  }
  ScratchFolder scratch(folder);
  if (several) scratch.folder(kOld);
  write_list(scratch.path() / kList, files);
  const HoldSignals hold;
  try {
    for (AtomicFile* file : with.data) file->place();
    if (!with.data.empty()) with.data.back()->flush_folder();
    if (several) set_aside(with, folder, scratch.path());
    for (AtomicFile* file : with.entries) file->place();
  } catch (...) {
    if (!undo(scratch.path(), folder, with.in_use, with.scratch)) scratch.leave();
    throw;
  }
  try {
    with.entries.back()->flush_folder();
  } catch (...) {
    scratch.leave();  // after a power cut it may be needed
    throw;
  }
  if (!drop_data(goes, folder, with.in_use, with.scratch)) scratch.leave();
}

}  // namespace

void replace_files(const Replacement& with) {
  for (AtomicFile* file : with.data) file->flush();
  for (AtomicFile* file : with.entries) file->flush();
  const fs::path folder = folder_of(with.entries.front()->path());
  const FolderLock alone(folder);
  clear_leftovers(folder, with.in_use);
  ReadFiles::require_unchanged();
  const std::vector<fs::path> obsolete = with.obsolete ? with.obsolete() : std::vector<fs::path>();
  if (with.entries.size() > 1) {
    FolderSwap swap(with, obsolete);
    const Swapped swapped = swap.try_it(folder);
    if (swapped == Swapped::kNotFlushed) not_flushed(folder);
    if (swapped == Swapped::kYes) return;
    replace_in_order(with, folder, obsolete);  // while the swap holds the files
  } else {
    replace_in_order(with, folder, obsolete);
  }
  // What others left, as these files might have been made with it. Nothing is held any more, and that is to be seen by who comes
  // next: it clears the same, and each of two would leave it for the other's sake.
  std::error_code none;
  for (const fs::path& scratch : with.scratch) fs::remove_all(scratch, none);
  clear_leftovers(folder, with.in_use);
}

void clear_leftovers(const fs::path& folder, const InUse& in_use) {
  const fs::path there = folder.empty() ? fs::path(".") : folder;
  for (const std::string& name : names_in(there))
    if (is_ours(name) || name == kLockFile) clear(there / name, in_use);
}

}  // namespace thaw
