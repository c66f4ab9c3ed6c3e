// What the worker's sandbox leaves to execution providers: devices, caches of compiled kernels, the libraries that they are. With the CPU
// alone it is nothing, so that models which run there find the sandbox as tight as ever. docs/guide/providers.md has the table.
// Internal to run/.
#pragma once

#include <compare>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/run/landlock.h"
#include "thaw/run/providers.h"

namespace thaw::run {

// By it a worker that has what a session needs is found again.
struct ProviderAccess {
  std::vector<std::string> words;                     // of the providers, in alphabetical order
  std::vector<std::filesystem::path> libraries;       // that their options name, absolute
  std::vector<std::filesystem::path> files, folders;  // of other options: files are read, in folders files are made

  bool operator==(const ProviderAccess&) const = default;
};

// What these providers, of a session's settled options, need.
ProviderAccess access_of(std::span<const Provider> providers);

// As arguments of the worker's program, and back.
std::vector<std::string> to_arguments(const ProviderAccess& access);
ProviderAccess access_in(std::span<char* const> arguments);

// What is opened for them, where it is there, with `sites` the folders that ONNX Runtime's package lies in.
OpenPaths paths_of(const ProviderAccess& access, std::span<const std::filesystem::path> sites);

// Whether the driver of one of them opens a Unix socket, to which nothing has to connect.
bool has_socket(const ProviderAccess& access);

// Whether a variable of the environment is about one of them.
bool is_kept_for(const ProviderAccess& access, std::string_view variable);

// Folders of libraries that the wheels of their makers have beside ONNX Runtime's, which the system's loader does not know.
std::vector<std::filesystem::path> library_folders_of(const ProviderAccess& access,
                                                      std::span<const std::filesystem::path> sites);

// The library of a provider that has one of its own in a package beside ONNX Runtime's: "onnxruntime_ep_openvino". Empty where there is
// none.
std::filesystem::path provider_library(const std::string& word, std::span<const std::filesystem::path> sites);

}  // namespace thaw::run
