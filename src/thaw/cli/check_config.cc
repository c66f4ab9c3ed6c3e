#include "thaw/cli/check_config.h"

#include <array>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "thaw/core/error.h"
#include "thaw/core/suggest.h"

namespace thaw::cli {
namespace {

constexpr std::string_view kName = "thaw.toml";
constexpr std::array<std::string_view, 3> kKeys = {"select", "ignore", "exit-zero"};

[[noreturn]] void refuse_setting(const std::filesystem::path& file, const toml::source_position& at, std::string what,
                                 std::string expected) {
  throw Error(ErrorCode::kInvalidFile, {.what = std::move(what),
                                        .where = fmt::format("{}, line {}", file.string(), at.line),
                                        .expected = std::move(expected),
                                        .next = "docs/cli.md has the settings"});
}

std::vector<std::string> codes_of(const std::filesystem::path& file, std::string_view key, const toml::node& node) {
  const std::string expected = fmt::format("{} = [\"THAW003\", \"THAW01\"]", key);
  const toml::array* list = node.as_array();
  if (list == nullptr) refuse_setting(file, node.source().begin, fmt::format("'{}' is no list", key), expected);
  std::vector<std::string> codes;
  for (const toml::node& element : *list) {
    const auto text = element.value<std::string>();
    if (!text) refuse_setting(file, element.source().begin, fmt::format("'{}' holds no text", key), expected);
    codes.push_back(*text);
  }
  return codes;
}

CheckConfig read_config(const std::filesystem::path& file) {
  CheckConfig config{.file = file, .select = {}, .ignore = {}, .exit_zero = {}};
  toml::table document;
  try {
    document = toml::parse_file(file.string());
  } catch (const toml::parse_error& error) {
    refuse_setting(file, error.source().begin, std::string(error.description()), "TOML");
  }
  for (const auto& [name, node] : document) {
    const toml::table* table = node.as_table();
    if (name.str() != "check" || table == nullptr)
      refuse_setting(file, node.source().begin, fmt::format("'{}' is no table of settings", name.str()), "[check]");
    for (const auto& [key, value] : *table) {
      if (key.str() == "select") {
        config.select = codes_of(file, key.str(), value);
      } else if (key.str() == "ignore") {
        config.ignore = codes_of(file, key.str(), value);
      } else if (key.str() == "exit-zero") {
        config.exit_zero = value.value_exact<bool>();
        if (!config.exit_zero) refuse_setting(file, value.source().begin, "'exit-zero' is no bool", "true or false");
      } else {
        refuse_setting(file, value.source().begin,
                       fmt::format("there is no setting '{}'{}", key.str(), did_you_mean(key.str(), kKeys)),
                       fmt::format("select, ignore or exit-zero"));
      }
    }
  }
  return config;
}

}  // namespace

CheckConfig config_for(const std::filesystem::path& model) {
  std::error_code failed;
  for (const std::filesystem::path& file : {model.parent_path() / kName, std::filesystem::path(kName)})
    if (std::filesystem::is_regular_file(file, failed)) return read_config(file);
  return {};
}

}  // namespace thaw::cli
