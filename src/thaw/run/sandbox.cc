#include "thaw/run/sandbox.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <glob.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "thaw/core/sanitized.h"
#include "thaw/run/genai.h"
#include "thaw/run/runtime.h"
#include "thaw/run/seccomp.h"

namespace thaw::run {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostLibraries = 4096;  // beside one that is opened
constexpr int kMostIncludes = 64;        // of lists of folders in lists of folders

// Where systems keep libraries, whole folders: nothing in them is a secret. The last two are those of Nix and Guix.
constexpr std::array kLibraryFolders = {"/lib",           "/lib64",           "/usr/lib",   "/usr/lib64",
                                        "/usr/local/lib", "/usr/local/lib64", "/nix/store", "/gnu/store"};
constexpr std::array kSystemFiles = {"/etc/ld.so.cache", "/etc/localtime", "/dev/null", "/dev/urandom"};
// What ONNX Runtime and the C library ask of the processor and of memory.
constexpr std::array kProcessor = {"/proc/self",
                                   "/proc/cpuinfo",
                                   "/proc/meminfo",
                                   "/proc/stat",
                                   "/proc/sys/vm",
                                   "/sys/devices/system/cpu",
                                   "/sys/devices/system/node",
                                   "/sys/kernel/mm/transparent_hugepage",
                                   "/sys/kernel/mm/hugepages"};

constexpr auto kKeptVariables = std::to_array<std::string_view>(
    {// Where libraries are.
     "LD_LIBRARY_PATH", "LD_PRELOAD", "THAW_ONNXRUNTIME", "THAW_ONNXRUNTIME_GENAI",
     // How they run.
     "ORT_DISABLE_TELEMETRY", "OMP_NUM_THREADS", "OMP_WAIT_POLICY", "KMP_AFFINITY", "KMP_BLOCKTIME", "MKL_NUM_THREADS",
     "OPENBLAS_NUM_THREADS", "GLIBC_TUNABLES", "MALLOC_ARENA_MAX",
     // How they write text.
     "LANG", "LANGUAGE", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME",
     "TZ",
     // What sanitizers are told.
     "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"});

// libx.so or libx.so.1.2.
bool is_library(const fs::path& path) {
  constexpr std::string_view kEnding = ".so";
  const std::string name = path.filename().string();
  const size_t at = name.rfind(kEnding);
  if (at == std::string::npos) return false;
  const std::string_view version = std::string_view(name).substr(at + kEnding.size());
  return version.empty() || (version.size() > 1 && version.front() == '.' &&
                             version.find_first_not_of(".0123456789") == std::string_view::npos);
}

bool lies_in_library_folder(const fs::path& folder) {
  const std::string name = folder.string() + "/";
  return std::ranges::any_of(kLibraryFolders,
                             [&](const char* whole) { return name.starts_with(std::string(whole) + "/"); });
}

// The libraries of a folder, and not what else a user keeps there.
void add_libraries_in(const fs::path& folder, std::vector<fs::path>& paths) {
  std::error_code failed;
  size_t found = 0;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end && found < kMostLibraries;
       at.increment(failed)) {
    if (!is_library(at->path())) continue;
    paths.push_back(at->path());
    ++found;
  }
}

// The folders that the system's loader looks in besides its own (ldconfig(8)).
void add_configured_folders(const std::string& file, int& files_left, std::vector<fs::path>& paths) {
  if (--files_left < 0) return;
  std::ifstream list(file);
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    if (!(words >> word)) continue;
    if (word != "include") {
      if (word.starts_with('/')) paths.emplace_back(word.substr(0, word.find('=')));
      continue;
    }
    while (words >> word) {
      if (!word.starts_with('/')) word = fs::path(file).parent_path() / word;
      glob_t found{};
      if (::glob(word.c_str(), 0, nullptr, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; ++i) add_configured_folders(found.gl_pathv[i], files_left, paths);
      ::globfree(&found);
    }
  }
}

void add_folders_of_variable(const char* name, std::vector<fs::path>& paths) {
  const char* value = std::getenv(name);
  std::istringstream folders(value != nullptr ? value : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (!folder.empty()) add_libraries_in(folder, paths);
}

OpenPaths paths_of_worker(const ProviderAccess& access) {
  const std::vector<fs::path> sites = access.words.empty() ? std::vector<fs::path>() : sites_of_runtime();
  OpenPaths paths = paths_of(access, sites);
  paths.read.insert(paths.read.end(), kLibraryFolders.begin(), kLibraryFolders.end());
  paths.read.insert(paths.read.end(), kSystemFiles.begin(), kSystemFiles.end());
  paths.read.insert(paths.read.end(), kProcessor.begin(), kProcessor.end());
  int files_left = kMostIncludes;
  add_configured_folders("/etc/ld.so.conf", files_left, paths.read);
  add_folders_of_variable("LD_LIBRARY_PATH", paths.read);
  std::vector<fs::path> opened = runtime_candidates();
  const std::vector<fs::path> tokenizers = genai_candidates(opened);
  opened.insert(opened.end(), tokenizers.begin(), tokenizers.end());
  opened.insert(opened.end(), access.libraries.begin(), access.libraries.end());
  std::vector<fs::path> folders;
  std::error_code failed;
  for (const fs::path& library : opened) {
    if (!library.has_parent_path() || !fs::exists(library, failed)) continue;
    paths.read.push_back(library);
    // Of a link, the library's own folder too: it looks for others beside itself.
    folders.push_back(library.parent_path());
    folders.push_back(fs::canonical(library, failed).parent_path());
  }
  std::ranges::sort(folders);
  folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
  for (const fs::path& folder : folders) {
    if (lies_in_library_folder(folder)) continue;
    add_libraries_in(folder, paths.read);
    // OpenVINO looks there for what it is made of.
    if (!access.words.empty()) paths.listed.push_back(folder);
  }
  return paths;
}

// A worker of root has its rights to read what others own, and no other.
bool drop_rights() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> rights{};
  if (::syscall(SYS_capget, &header, rights.data()) != 0) return false;
  constexpr uint32_t kKept = (1U << CAP_DAC_OVERRIDE) | (1U << CAP_DAC_READ_SEARCH);
  for (size_t i = 0; i < rights.size(); ++i) {
    const uint32_t kept = i == 0 ? kKept : 0;
    rights[i] = {rights[i].effective & kept, rights[i].permitted & kept, 0};
  }
  return ::syscall(SYS_capset, &header, rights.data()) == 0;
}

}  // namespace

SandboxTier sandbox_tier() { return {.landlock = landlock_version(), .seccomp = can_filter_calls()}; }

std::vector<std::string> worker_environment(const ProviderAccess& access) {
  std::vector<std::string> kept;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view entry = *at;
    const std::string_view name = entry.substr(0, entry.find('='));
    if (std::ranges::find(kKeptVariables, name) != kKeptVariables.end() || is_kept_for(access, name))
      kept.emplace_back(entry);
  }
  return kept;
}

std::string sandbox_text() {
  const SandboxTier tier = sandbox_tier();
  if (kSanitized) return "sandbox of ONNX Runtime's process: none, as this Thaw is built with a sanitizer\n";
  std::string text = "sandbox of ONNX Runtime's process:\n";
  const auto line = [&](std::string_view what, std::string_view how) {
    text += fmt::format("  {:<12}{}\n", what, how);
  };
  const std::string landlock = fmt::format("Landlock {}", tier.landlock);
  const bool filtered = tier.seccomp;
  line("files", tier.landlock > 0 ? fmt::format("libraries are read, nothing is written ({}{})", landlock,
                                                filtered ? ", seccomp" : "")
                : filtered        ? "all that this user may read is read; nothing is written (seccomp; no Landlock)"
                                  : "open: this kernel has neither Landlock nor seccomp");
  line("network", filtered             ? std::string("none (seccomp)")
                  : tier.landlock >= 4 ? fmt::format("no TCP ({}; no seccomp)", landlock)
                                       : "open: seccomp, or Landlock 4, is not there");
  line("programs", filtered            ? std::string("none is run (seccomp)")
                   : tier.landlock > 0 ? fmt::format("none is run ({})", landlock)
                                       : "open: seccomp is not there");
  line("processes", filtered             ? std::string("none is seen into or signaled (seccomp)")
                    : tier.landlock >= 6 ? fmt::format("none is traced or signaled ({}; no seccomp)", landlock)
                    : tier.landlock > 0  ? fmt::format("none is traced ({}; no seccomp)", landlock)
                                         : "open: seccomp is not there");
  line("kernel", filtered ? "bpf, io_uring, mounts, keys, clocks and modules are denied (seccomp)"
                          : "open: seccomp is not there");
  line("environment", "a few names");
  return text;
}

bool enter_sandbox(const ProviderAccess& access) {
  const SandboxTier tier = sandbox_tier();
  if (!drop_rights()) return false;
  const OpenPaths paths = paths_of_worker(access);
  if (tier.landlock > 0 && !restrict_to(paths)) return false;
  const bool writes_nothing = paths.read_and_write.empty() && paths.made_in.empty();
  // Landlock says where files are made, and drivers take its answers; without it none are made.
  const Writes writes = writes_nothing      ? Writes::kNothing
                        : tier.landlock > 0 ? Writes::kNewFiles
                                            : Writes::kOpenedFiles;
  return !tier.seccomp || filter_calls(writes, has_socket(access) ? Sockets::kOwn : Sockets::kNone);
}

}  // namespace thaw::run
