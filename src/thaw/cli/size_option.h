// Options that take a number of bytes, with or without a unit.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <CLI/CLI.hpp>

namespace thaw::cli {

// "400000000", "1e5", "64mb", "1.5 GiB": K is 1024 however it is spelled. `set` is called with the bytes; what is no such number
// is an error of the command line that names the option.
CLI::Option* add_size(CLI::App& app, const std::string& name, const std::function<void(uint64_t)>& set,
                      const std::string& type, const std::string& help);

}  // namespace thaw::cli
