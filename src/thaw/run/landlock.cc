#include "thaw/run/landlock.h"

#include <cstdint>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "thaw/core/fd.h"

namespace thaw::run {
namespace {

// Of linux/landlock.h, which is older where Thaw is built than where it runs. The calls have these numbers on every machine.
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr unsigned kAskVersion = 1;
constexpr int kPathBeneath = 1;
constexpr unsigned kNotLogged = 1;  // what is denied is no matter for the system's log: files are asked of Thaw then

struct Ruleset {
  uint64_t files;    // rights that are denied unless a rule gives them
  uint64_t network;  // since version 4
  uint64_t scoped;   // since version 6
};

struct [[gnu::packed]] PathRule {
  uint64_t allowed;
  int32_t parent;
};

constexpr uint64_t kWriteFile = 1 << 1, kReadFile = 1 << 2, kReadFolder = 1 << 3;
constexpr uint64_t kRemoveFolder = 1 << 4, kRemoveFile = 1 << 5, kMakeFolder = 1 << 7, kMakeFile = 1 << 8;
constexpr uint64_t kRefer = 1 << 13, kTruncate = 1 << 14, kIoctlDevice = 1 << 15;
constexpr uint64_t kTcp = 3;             // bind, connect
constexpr uint64_t kSocketsSignals = 3;  // abstract sockets, signals

uint64_t file_rights(int version) {
  uint64_t rights = (1 << 13) - 1;
  if (version >= 2) rights |= kRefer;  // links and renames from folder to folder
  if (version >= 3) rights |= kTruncate;
  if (version >= 5) rights |= kIoctlDevice;
  return rights;
}

bool allow(int ruleset, const std::filesystem::path& path, uint64_t rights) {
  const UniqueFd at(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status{};
  if (!at || ::fstat(at.get(), &status) != 0) return true;  // what is not there needs no rule
  if (!S_ISDIR(status.st_mode)) rights &= kReadFile | kWriteFile | kTruncate | kIoctlDevice;
  const PathRule rule{rights, at.get()};
  return ::syscall(kAddRule, ruleset, kPathBeneath, &rule, 0) == 0;
}

}  // namespace

int landlock_version() {
  const long version = ::syscall(kCreateRuleset, nullptr, 0, kAskVersion);
  return version > 0 ? static_cast<int>(version) : 0;
}

bool restrict_to(const OpenPaths& paths) {
  const int version = landlock_version();
  const uint64_t known = file_rights(version);
  const Ruleset rules{known, version >= 4 ? kTcp : 0, version >= 6 ? kSocketsSignals : 0};
  const UniqueFd ruleset(static_cast<int>(::syscall(kCreateRuleset, &rules, sizeof rules, 0)));
  if (!ruleset) return false;
  for (const std::filesystem::path& path : paths.read)
    if (!allow(ruleset.get(), path, known & (kReadFile | kReadFolder))) return false;
  for (const std::filesystem::path& path : paths.listed)
    if (!allow(ruleset.get(), path, known & kReadFolder)) return false;
  for (const std::filesystem::path& path : paths.read_and_write)
    if (!allow(ruleset.get(), path, known & (kReadFile | kReadFolder | kWriteFile | kTruncate | kIoctlDevice)))
      return false;
  for (const std::filesystem::path& path : paths.made_in)
    if (!allow(ruleset.get(), path,
               known & (kReadFile | kReadFolder | kWriteFile | kTruncate | kMakeFile | kMakeFolder | kRemoveFile |
                        kRemoveFolder | kRefer)))
      return false;
  const unsigned flags = version >= 7 ? kNotLogged : 0;
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::syscall(kRestrictSelf, ruleset.get(), flags) == 0;
}

}  // namespace thaw::run
