#include "thaw/cli/size_option.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace thaw::cli {
namespace {

constexpr double kMostBytes = 0x1p62;

std::optional<uint64_t> parse_size(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  std::string unit(end);
  std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::erase(unit, ' ');
  if (unit.ends_with('b')) unit.pop_back();
  if (unit.size() == 2 && unit.ends_with('i')) unit.pop_back();
  const size_t power = unit.empty() ? 0 : std::string_view("kmgt").find(unit) + 1;
  if (end == text.c_str() || unit.size() > 1 || (power == 0 && !unit.empty())) return std::nullopt;
  const double bytes = number * std::pow(1024.0, static_cast<double>(power));
  if (!(bytes >= 0 && bytes <= kMostBytes)) return std::nullopt;
  return static_cast<uint64_t>(bytes);
}

}  // namespace

CLI::Option* add_size(CLI::App& app, const std::string& name, const std::function<void(uint64_t)>& set,
                      const std::string& type, const std::string& help) {
  const auto take = [name, set](const std::string& text) {
    const std::optional<uint64_t> bytes = parse_size(text);
    if (!bytes)
      throw CLI::ValidationError(fmt::format("{} takes a number of bytes, such as 64mb or 1.5G, not '{}'", name, text),
                                 CLI::ExitCodes::ValidationError);
    set(*bytes);
  };
  return app.add_option_function<std::string>(name, take, help)->type_name(type);
}

}  // namespace thaw::cli
