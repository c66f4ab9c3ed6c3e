#include "thaw/cli/check_config.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include "thaw/core/error.h"
#include "thaw/core/mapped_file.h"
#include "thaw/core/suggest.h"

namespace thaw::cli {
namespace {

constexpr std::string_view kName = "thaw.toml";
constexpr std::array<std::string_view, 4> kKeys = {"target", "select", "ignore", "exit-zero"};
// The parser bounds how deep values nest, but not keys: a.a.a takes stack for each, two bytes of text.
constexpr size_t kMostSettings = size_t{16} << 10;

[[noreturn]] void refuse_setting(const std::string& file, const toml::source_position& at, std::string what,
                                 std::string expected) {
  throw Error(ErrorCode::kInvalidFile, {.what = std::move(what),
                                        .where = fmt::format("{}, line {}", file, at.line),
                                        .expected = std::move(expected),
                                        .next = "docs/cli.md has the settings"});
}

void require_rule(const std::string& file, const toml::node& at, const std::string& code) {
  const std::vector<RuleInfo> all = rules();
  if (!code.empty() && std::ranges::any_of(all, [&](const RuleInfo& rule) { return rule.code.starts_with(code); }))
    return;
  std::vector<std::string_view> known;
  for (const RuleInfo& rule : all) known.push_back(rule.code);
  refuse_setting(file, at.source().begin, fmt::format("there is no rule '{}'{}", code, did_you_mean(code, known)),
                 "a code such as THAW003, or what several begin with: THAW03");
}

std::vector<std::string> codes_of(const std::string& file, std::string_view key, const toml::node& node) {
  const std::string expected = fmt::format("{} = [\"THAW003\", \"THAW01\"]", key);
  const toml::array* list = node.as_array();
  if (list == nullptr) refuse_setting(file, node.source().begin, fmt::format("'{}' is no list", key), expected);
  std::vector<std::string> codes;
  for (const toml::node& element : *list) {
    const auto text = element.value_exact<std::string>();
    if (!text) refuse_setting(file, element.source().begin, fmt::format("'{}' holds no text", key), expected);
    require_rule(file, element, *text);
    codes.push_back(*text);
  }
  return codes;
}

std::string shown(std::string_view key, const std::vector<std::string>& codes) {
  std::vector<std::string> quoted;
  for (const std::string& code : codes) quoted.push_back(fmt::format("\"{}\"", code));
  return fmt::format("{} = [{}]", key, fmt::join(quoted, ", "));
}

class Reader {
 public:
  Reader(std::string file, bool is_named) : file_(std::move(file)), is_named_(is_named) {}

  CheckConfig read() {
    config_.settings.file = file_;
    const auto mapped = MappedFile::open(file_);
    if (mapped->bytes().size() > kMostSettings)
      throw Error(ErrorCode::kInvalidFile, {.what = fmt::format("holds {} bytes", mapped->bytes().size()),
                                            .where = file_,
                                            .expected = fmt::format("settings of {} KiB at most", kMostSettings >> 10),
                                            .next = "docs/cli.md has the settings"});
    toml::table document;
    try {
      document = toml::parse(mapped->text());
    } catch (const toml::parse_error& error) {
      refuse_setting(file_, error.source().begin, std::string(error.description()), "TOML");
    }
    for (const auto& [name, node] : document) {
      const toml::table* table = node.as_table();
      if (name.str() != "check" || table == nullptr)
        refuse_setting(file_, node.source().begin, fmt::format("'{}' is no table of settings", name.str()), "[check]");
      for (const auto& [key, value] : *table) take(key.str(), value);
    }
    return std::move(config_);
  }

 private:
  void take(std::string_view key, const toml::node& value) {
    if (key == "target") {
      const auto target = value.value_exact<std::string>();
      if (!target) refuse_setting(file_, value.source().begin, "'target' is no text", "target = \"directml\"");
      config_.target = *target;
      config_.settings.applied.push_back(fmt::format("target = \"{}\"", *target));
    } else if (key == "select" || key == "ignore") {
      std::vector<std::string> codes = codes_of(file_, key, value);
      if (turns_off(shown(key, codes)))
        (key == "select" ? config_.counting.only : config_.counting.ignore) = std::move(codes);
    } else if (key == "exit-zero") {
      const auto flag = value.value_exact<bool>();
      if (!flag) refuse_setting(file_, value.source().begin, "'exit-zero' is no bool", "true or false");
      if (*flag && turns_off("exit-zero = true")) config_.exit_zero = true;
    } else {
      refuse_setting(file_, value.source().begin,
                     fmt::format("there is no setting '{}'{}", key, did_you_mean(key, kKeys)),
                     fmt::format("{}", fmt::join(kKeys, ", ")));
    }
  }

  // Notes a setting that lets something pass, and whether it is obeyed.
  bool turns_off(const std::string& setting) {
    if (is_named_)
      config_.settings.applied.push_back(setting);
    else
      config_.settings.ignored.push_back(fmt::format(
          "{} of {} is ignored, as the call does not name the file: add --config {}", setting, file_, file_));
    return is_named_;
  }

  std::string file_;
  bool is_named_;
  CheckConfig config_;
};

// Whether there is anything of that name, also what cannot be read. A folder is none of settings.
bool is_there(const std::filesystem::path& file) {
  std::error_code failed;
  const std::filesystem::file_status status = std::filesystem::symlink_status(file, failed);
  return std::filesystem::exists(status) && !std::filesystem::is_directory(file, failed);
}

}  // namespace

CheckConfig read_config(const std::string& named) {
  if (!named.empty()) return Reader(named, /*is_named=*/true).read();
  if (is_there(kName)) return Reader(std::string(kName), /*is_named=*/false).read();
  return {};
}

std::vector<std::string> skipped(const std::vector<std::string>& models, const std::string& read) {
  std::vector<std::string> clauses;
  std::set<std::filesystem::path> seen;
  for (const std::string& model : models) {
    const std::filesystem::path file = std::filesystem::path(model).parent_path() / kName;
    std::error_code failed;
    if (!seen.insert(file).second || !is_there(file)) continue;
    if (!read.empty() && std::filesystem::equivalent(file, read, failed)) continue;
    clauses.push_back(fmt::format("{} is ignored, as only the working folder is searched for it: add --config {}",
                                  file.string(), file.string()));
  }
  return clauses;
}

}  // namespace thaw::cli
