#include "thaw/run/profile.h"

#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <unistd.h>

#include "thaw/core/error.h"
#include "thaw/core/fd.h"

namespace thaw::run {
namespace {

constexpr double kMicroseconds = 1e-6;
constexpr std::string_view kOfKernel = "_kernel_time";
constexpr std::string_view kOfDevice = "Kernel";  // the category of what a device's own profiler recorded

// Never destroyed: threads are at work when the worker ends.
struct Profiles {
  std::mutex mutex;
  std::map<std::string, UniqueFd, std::less<>> files;  // by path; guarded by mutex
};

Profiles& profiles() {
  static auto& all = *new Profiles;
  return all;
}

std::string text_of(const nlohmann::json& event, const char* name) {
  const auto found = event.find(name);
  return found != event.end() && found->is_string() ? found->get<std::string>() : std::string();
}

double seconds_of(const nlohmann::json& event) {
  const auto found = event.find("dur");
  return found != event.end() && found->is_number() ? found->get<double>() * kMicroseconds : 0;
}

// Nodes that ONNX Runtime inserts.
bool is_copy_node(std::string_view op_type) { return op_type == "MemcpyToHost" || op_type == "MemcpyFromHost"; }

// As the CUDA provider names what CUPTI records: "MemcpyHostToDevice", "MemcpyDeviceArrayToHost". One within a device is none.
bool is_copy_between_devices(std::string_view name) {
  return name.starts_with("MemcpyHostToDevice") || (name.starts_with("MemcpyDevice") && name.ends_with("ToHost"));
}

}  // namespace

int profile_memory(const char* path) noexcept {
  try {
    if (path == nullptr || !std::string_view(path).starts_with(kProfileFolder)) return -1;
    UniqueFd memory(::memfd_create("profile", MFD_CLOEXEC));
    if (!memory) return -1;
    const int given = ::fcntl(memory.get(), F_DUPFD_CLOEXEC, 0);
    const std::lock_guard lock(profiles().mutex);
    profiles().files.insert_or_assign(path, std::move(memory));
    return given;
  } catch (const std::exception&) {  // no memory
    return -1;
  }
}

std::string take_profile(const std::string& path) {
  UniqueFd memory;
  {
    const std::lock_guard lock(profiles().mutex);
    const auto found = profiles().files.find(path);
    if (found == profiles().files.end()) return {};
    memory = std::move(found->second);
    profiles().files.erase(found);
  }
  std::string text;
  constexpr size_t kStep = size_t{1} << 16;
  for (size_t size = 0;;) {
    text.resize(size + kStep);
    const ssize_t got = ::pread(memory.get(), text.data() + size, kStep, static_cast<off_t>(size));
    size += got > 0 ? static_cast<size_t>(got) : 0;
    if (got <= 0) {
      text.resize(size);
      return text;
    }
  }
}

void add_profile(std::string_view text, const std::string& where, thaw::Placement& placement) {
  const nlohmann::json events = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!events.is_array())
    throw Error(ErrorCode::kRuntimeFailed, {.what = "ONNX Runtime wrote a profile that cannot be read",
                                            .where = where,
                                            .expected = "a list of events, as JSON",
                                            .next = "names of nodes that have quotes or backslashes make it none"});
  std::map<std::tuple<std::string, std::string, std::string>, size_t> known;
  const auto add = [&](thaw::TimedNode node) {
    const auto [at, is_new] = known.try_emplace({node.name, node.op_type, node.provider}, placement.timed.size());
    if (is_new)
      placement.timed.push_back(std::move(node));
    else
      placement.timed[at->second].seconds += node.seconds;
  };
  for (const nlohmann::json& event : events) {
    if (!event.is_object()) continue;
    const std::string kind = text_of(event, "cat");
    std::string name = text_of(event, "name");
    if (kind == "Session" && name == "model_run") {
      ++placement.runs;
      placement.seconds += seconds_of(event);
    }
    const auto arguments = event.find("args");
    if (kind == kOfDevice && is_copy_between_devices(name) &&
        (arguments == event.end() || !is_copy_node(text_of(*arguments, "op_name")))) {
      add({.name = "", .op_type = std::move(name), .provider = "", .seconds = seconds_of(event), .is_copy = true});
      continue;
    }
    if (kind != "Node" || !name.ends_with(kOfKernel) || arguments == event.end() || !arguments->is_object()) continue;
    name.resize(name.size() - kOfKernel.size());
    thaw::TimedNode node{.name = std::move(name),
                         .op_type = text_of(*arguments, "op_name"),
                         .provider = text_of(*arguments, "provider"),
                         .seconds = seconds_of(event)};
    node.is_copy = is_copy_node(node.op_type);
    add(std::move(node));
  }
}

}  // namespace thaw::run
