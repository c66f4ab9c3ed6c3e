#include "thaw/run/device_name.h"

#include <array>
#include <charconv>

#include <dlfcn.h>

namespace thaw::run {

std::string device_name(const std::string& provider_word, const std::map<std::string, std::string>& options) {
  if (provider_word != "cuda" && provider_word != "tensorrt") return {};
  int number = 0;
  if (const auto given = options.find("device_id"); given != options.end())
    std::from_chars(given->second.data(), given->second.data() + given->second.size(), number);
  // The provider's library has loaded it. These three functions of CUDA's driver have not changed since its version 2.
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return {};
  const auto init = reinterpret_cast<int (*)(unsigned)>(::dlsym(driver, "cuInit"));
  const auto device_at = reinterpret_cast<int (*)(int*, int)>(::dlsym(driver, "cuDeviceGet"));
  const auto name_of = reinterpret_cast<int (*)(char*, int, int)>(::dlsym(driver, "cuDeviceGetName"));
  std::array<char, 256> name{};
  int device = 0;
  const bool is_known = init != nullptr && device_at != nullptr && name_of != nullptr && init(0) == 0 &&
                        device_at(&device, number) == 0 &&
                        name_of(name.data(), static_cast<int>(name.size() - 1), device) == 0;
  ::dlclose(driver);
  return is_known ? "GPU " + std::string(name.data()) : std::string();
}

}  // namespace thaw::run
