#include "thaw/run/provider_access.h"

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include <glob.h>

namespace thaw::run {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWordArgument = "provider=", kLibraryArgument = "library=", kFileArgument = "file=",
                           kFolderArgument = "folder=";
// Of the packages that hold a provider's library, without the provider: "onnxruntime_ep_openvino", "onnxruntime_qnn".
constexpr std::string_view kPluginPackage = "onnxruntime_ep_", kAnyPackage = "onnxruntime_";

// Patterns as for a shell; those that begin with '~' are of the user's home.
struct DeviceAccess {
  std::vector<std::string_view> providers;
  std::vector<const char*> read;
  std::vector<const char*> devices;
  std::vector<const char*> caches;      // folders, where they are there
  std::vector<std::string_view> names;  // of variables; the first letters
  bool has_socket = false;              // its driver listens at one, and ends where it cannot
};

const std::vector<DeviceAccess>& device_accesses() {
  static const auto& all = *new std::vector<DeviceAccess>{
      {{"cuda", "tensorrt", "nvtensorrtrtx"},
       {"/proc/driver/nvidia", "/proc/devices", "/proc/modules", "/sys/bus/pci", "/sys/devices", "/sys/module"},
       {"/dev/nvidia*", "/dev/nvidia-caps/*", "/proc/self/task"},  // the last: names of its threads
       {"~/.nv/ComputeCache"},
       {"CUDA_", "NVIDIA_", "CUDNN_", "CUBLAS_", "ORT_CUDA_", "ORT_TENSORRT_", "HOME"},
       /*has_socket=*/true},
      {{"migraphx", "rocm"},
       {"/sys/class/kfd", "/sys/class/drm", "/sys/bus/pci", "/sys/devices", "/sys/module", "/opt/rocm*"},
       {"/dev/kfd", "/dev/dri/*"},
       {},
       {"HIP_", "HSA_", "ROCR_", "ROCM_", "MIOPEN_", "MIGRAPHX_", "ORT_MIGRAPHX_"}},
      {{"openvino"},
       {"/sys/class/drm", "/sys/class/accel", "/sys/bus/pci", "/sys/devices", "/sys/module", "/etc/OpenCL"},
       {"/dev/dri/*", "/dev/accel/*"},
       {},
       {"OPENVINO_", "ZE_", "OCL_"}},
      {{"webgpu"},
       {"/etc/vulkan", "/usr/share/vulkan", "/sys/class/drm", "/sys/bus/pci", "/sys/devices", "/sys/module"},
       {"/dev/dri/*", "/dev/nvidia*"},
       {},
       {"VK_", "MESA_"}},
      {{"qnn"},
       {"/sys/class/drm", "/sys/devices"},
       {"/dev/fastrpc-*", "/dev/adsprpc*"},
       {},
       {"ADSP_LIBRARY_PATH", "QNN_"}},
      {{"cann"},
       {"/sys/devices", "/usr/local/Ascend"},
       {"/dev/davinci*", "/dev/devmm_svm", "/dev/hisi_hdc"},
       {},
       {"ASCEND_"}},
  };
  return all;
}

bool is_about(const DeviceAccess& devices, const ProviderAccess& access) {
  return std::ranges::any_of(devices.providers, [&](std::string_view word) {
    return std::ranges::find(access.words, word) != access.words.end();
  });
}

void add_matches(std::string pattern, std::vector<fs::path>& paths) {
  if (pattern.starts_with('~')) {
    const char* const home = std::getenv("HOME");
    if (home == nullptr) return;
    pattern.replace(0, 1, home);
  }
  glob_t found{};
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
}

// Folders in `site` whose names begin so, in alphabetical order.
std::vector<fs::path> folders_in(const fs::path& site, std::string_view begin) {
  std::vector<fs::path> found;
  std::error_code failed;
  for (fs::directory_iterator at(site, failed), end; !failed && at != end; at.increment(failed))
    if (at->path().filename().string().starts_with(begin) && at->is_directory(failed)) found.push_back(at->path());
  std::ranges::sort(found);
  return found;
}

bool is_of_package(const fs::path& folder, std::string_view begin, const std::string& word) {
  const std::string name = folder.filename().string();
  return name.starts_with(begin) && provider_word(std::string_view(name).substr(begin.size())).starts_with(word);
}

// "libonnxruntime_providers_openvino_plugin.so", "libonnxruntime_ggml.so", and not the link or copy with a version.
fs::path provider_library_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with("libonnxruntime_") && name.ends_with(".so")) found.push_back(at->path());
  }
  return found.empty() ? fs::path() : *std::ranges::min_element(found);
}

std::vector<fs::path> provider_packages(const std::string& word, std::span<const fs::path> sites) {
  std::vector<fs::path> packages;
  for (const fs::path& site : sites)
    for (const std::string_view begin : {kPluginPackage, kAnyPackage})
      for (const fs::path& folder : folders_in(site, begin))
        if (is_of_package(folder, begin, word) && folder.extension() != ".libs" && folder.extension() != ".dist-info")
          packages.push_back(folder);
  return packages;
}

}  // namespace

ProviderAccess access_of(std::span<const Provider> providers) {
  ProviderAccess access;
  for (const Provider& provider : providers) {
    access.words.push_back(provider_word(provider.name));
    for (const auto& [name, value] : provider.options) {
      std::error_code failed;
      if (name == kLibraryOption)
        access.libraries.push_back(fs::absolute(value, failed));
      else if (value.find('/') == std::string::npos)
        continue;
      else if (fs::is_directory(value, failed))
        access.folders.push_back(fs::absolute(value, failed));
      else if (fs::exists(value, failed))
        access.files.push_back(fs::absolute(value, failed));
    }
  }
  std::ranges::sort(access.words);
  for (auto* const paths : {&access.libraries, &access.files, &access.folders}) std::ranges::sort(*paths);
  return access;
}

std::vector<std::string> to_arguments(const ProviderAccess& access) {
  std::vector<std::string> arguments;
  const auto add = [&](std::string_view kind, const std::string& text) {
    arguments.push_back(std::string(kind) + text);
  };
  for (const std::string& word : access.words) add(kWordArgument, word);
  for (const fs::path& path : access.libraries) add(kLibraryArgument, path.string());
  for (const fs::path& path : access.files) add(kFileArgument, path.string());
  for (const fs::path& path : access.folders) add(kFolderArgument, path.string());
  return arguments;
}

ProviderAccess access_in(std::span<char* const> arguments) {
  ProviderAccess access;
  for (const std::string_view argument : arguments) {
    const auto rest = [&](std::string_view kind) { return std::string(argument.substr(kind.size())); };
    if (argument.starts_with(kWordArgument)) access.words.push_back(rest(kWordArgument));
    if (argument.starts_with(kLibraryArgument)) access.libraries.emplace_back(rest(kLibraryArgument));
    if (argument.starts_with(kFileArgument)) access.files.emplace_back(rest(kFileArgument));
    if (argument.starts_with(kFolderArgument)) access.folders.emplace_back(rest(kFolderArgument));
  }
  return access;
}

OpenPaths paths_of(const ProviderAccess& access, std::span<const fs::path> sites) {
  OpenPaths paths;
  for (const DeviceAccess& devices : device_accesses()) {
    if (!is_about(devices, access)) continue;
    for (const char* const pattern : devices.read) add_matches(pattern, paths.read);
    for (const char* const pattern : devices.devices) add_matches(pattern, paths.read_and_write);
    for (const char* const pattern : devices.caches) add_matches(pattern, paths.made_in);
    const char* const cache = std::getenv("CUDA_CACHE_PATH");
    if (cache != nullptr && std::ranges::find(devices.names, "CUDA_") != devices.names.end())
      paths.made_in.emplace_back(cache);
  }
  // A provider's package is opened whole: it has tables beside its libraries, and libraries of others in a folder of their own.
  for (const std::string& word : access.words)
    for (const fs::path& package : provider_packages(word, sites)) {
      paths.read.push_back(package);
      paths.read.emplace_back(package.string() + ".libs");
    }
  const std::vector<fs::path> folders = library_folders_of(access, sites);
  paths.read.insert(paths.read.end(), folders.begin(), folders.end());
  paths.read.insert(paths.read.end(), access.files.begin(), access.files.end());
  paths.made_in.insert(paths.made_in.end(), access.folders.begin(), access.folders.end());
  return paths;
}

bool has_socket(const ProviderAccess& access) {
  return std::ranges::any_of(
      device_accesses(), [&](const DeviceAccess& devices) { return devices.has_socket && is_about(devices, access); });
}

bool is_kept_for(const ProviderAccess& access, std::string_view variable) {
  return std::ranges::any_of(device_accesses(), [&](const DeviceAccess& devices) {
    return is_about(devices, access) &&
           std::ranges::any_of(devices.names, [&](std::string_view begin) { return variable.starts_with(begin); });
  });
}

std::vector<fs::path> library_folders_of(const ProviderAccess& access, std::span<const fs::path> sites) {
  std::vector<fs::path> folders;
  if (!is_about(device_accesses().front(), access)) return folders;
  for (const fs::path& site : sites)
    for (const std::string& pattern : {(site / "nvidia/*/lib").string(), (site / "tensorrt_libs").string()})
      add_matches(pattern, folders);
  return folders;
}

fs::path provider_library(const std::string& word, std::span<const fs::path> sites) {
  for (const fs::path& package : provider_packages(word, sites))
    if (fs::path library = provider_library_in(package); !library.empty()) return library;
  return {};
}

}  // namespace thaw::run
