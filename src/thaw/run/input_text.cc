#include "thaw/run/input_text.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "thaw/core/error.h"
#include "thaw/run/npz.h"

namespace thaw::run {
namespace {

[[noreturn]] void refuse_option(std::string_view option, std::string_view text, const std::string& what,
                                const std::string& expected) {
  throw Error(ErrorCode::kInvalidArgument,
              {.what = what, .where = std::string(option) + " '" + std::string(text) + "'", .expected = expected});
}

std::string trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\n") - first + 1));
}

std::vector<std::string> split(std::string_view text, std::string_view separators) {
  std::vector<std::string> parts;
  while (true) {
    const size_t at = text.find_first_of(separators);
    parts.push_back(trim(text.substr(0, at)));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// NAME and what follows its '='. Both must be there.
std::pair<std::string, std::string> name_and_rest(std::string_view option, std::string_view text,
                                                  const std::string& expected) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) refuse_option(option, text, "there is no '='", expected);
  std::pair<std::string, std::string> pair{trim(text.substr(0, equals)), trim(text.substr(equals + 1))};
  if (pair.first.empty() || pair.second.empty()) refuse_option(option, text, "one side of '=' is empty", expected);
  return pair;
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// "a=1,2;b=3" and "a=1,2,b=3" alike: what has an '=' begins another entry.
std::vector<std::string> entries(std::string_view text) {
  std::vector<std::string> found;
  for (const std::string& part : split(text, ";")) {
    std::string* last = nullptr;
    for (const std::string& chunk : split(part, ",")) {
      if (last == nullptr || chunk.find('=') != std::string::npos)
        last = &found.emplace_back(chunk);
      else
        *last += "," + chunk;
    }
  }
  return found;
}

Array read_one(const std::string& name, const std::string& file, const std::vector<InputSpec>& inputs) {
  const NpyCheck check = shape_check(require_input(inputs, name), file);
  if (!file.ends_with(".npz")) return read_npy_file(file, check);
  NpzReader reader(file);
  if (reader.contains(name)) return reader.read(name, check);
  if (reader.names().size() == 1) return reader.read(reader.names().front(), check);
  throw Error(ErrorCode::kInvalidArgument,
              {.what = "has no array '" + name + "' among its " + std::to_string(reader.names().size()),
               .where = file,
               .expected = "an array of that name, or one array alone"});
}

}  // namespace

void add_input_files(std::span<const std::string> texts, FeedOptions& feeds,
                     std::vector<std::filesystem::path>& archives, const std::vector<InputSpec>& inputs) {
  const std::string expected = "NAME=FILE.npy, NAME=FILE.npz or FILE.npz";
  for (const std::string& text : texts) {
    if (!text.ends_with(".npy") && !text.ends_with(".npz"))
      refuse_option("--input", text, "is not a file of arrays", expected);
    std::error_code error;
    if (text.ends_with(".npz") && (text.find('=') == std::string::npos || std::filesystem::exists(text, error))) {
      archives.emplace_back(text);
      continue;
    }
    const auto [name, file] = name_and_rest("--input", text, expected);
    if (!feeds.arrays.emplace(name, read_one(name, file, inputs)).second)
      refuse_option("--input", text, "is the second for its input", expected);
  }
}

void add_values(std::span<const std::string> texts, FeedOptions& feeds) {
  const std::string expected = "NAME=1,22,30";
  for (const std::string& text : texts) {
    for (const std::string& part : entries(text)) {
      const auto [name, values] = name_and_rest("--values", part, expected);
      if (!feeds.values.emplace(name, split(values, ",")).second)
        refuse_option("--values", part, "is the second for its input", expected);
    }
  }
}

void add_value_ranges(std::span<const std::string> texts, FeedOptions& feeds) {
  const std::string expected = "NAME=0..511";
  for (const std::string& text : texts) {
    for (const std::string& part : split(text, ";,")) {
      const auto [name, range] = name_and_rest("--value-range", part, expected);
      const size_t dots = range.find("..");
      const auto lowest =
          dots == std::string::npos ? std::nullopt : number(trim(std::string_view(range).substr(0, dots)));
      const auto highest =
          dots == std::string::npos ? std::nullopt : number(trim(std::string_view(range).substr(dots + 2)));
      if (!lowest || !highest || !(*lowest <= *highest))
        refuse_option("--value-range", part, "is not a range", expected);
      if (!feeds.ranges.emplace(name, ValueRange{*lowest, *highest}).second) {
        refuse_option("--value-range", part, "is the second for its input", expected);
      }
    }
  }
}

std::map<std::string, std::string> parse_names(std::span<const std::string> texts) {
  const std::string expected = "MODEL_NAME=REFERENCE_NAME";
  std::map<std::string, std::string> names;
  for (const std::string& text : texts) {
    for (const std::string& part : split(text, ";,")) {
      if (!names.insert(name_and_rest("--map", part, expected)).second)
        refuse_option("--map", part, "maps a name twice", expected);
    }
  }
  return names;
}

}  // namespace thaw::run
