#include "thaw/verbs/texts.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/ascii.h"
#include "thaw/core/error.h"
#include "thaw/dim/text/range_spec.h"
#include "thaw/lift/align/values.h"
#include "thaw/lift/onetrace/sizes.h"
#include "thaw/ops/target/target.h"
#include "thaw/rewrite/rename_sizes.h"
#include "thaw/run/input_text.h"
#include "thaw/targets.h"
#include "thaw/texts.h"

namespace thaw::verbs {
namespace {

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? std::string() : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

constexpr size_t kMostPoints = 64;    // of models that are asked for
constexpr size_t kMostGroups = 4096;  // of sizes to run at

[[noreturn]] void refuse_points(std::string what, const std::string& option) {
  throw Error(ErrorCode::kInvalidArgument,
              {.what = std::move(what),
               .where = option,
               .expected = "numbers, such as 'h=320|640,w=480' or 'h=320,w=480; h=640,w=960'",
               .next = {}});
}

// "h=320|640", "h=320..640:160".
std::vector<int64_t> values_of(const dim::SpecEntry& entry, const std::string& option) {
  if (!entry.is_range()) refuse_points(fmt::format("'{}' is no list of numbers", dim::to_string(entry)), option);
  std::vector<int64_t> values;
  for (const dim::Range& range : entry.ranges) {
    if (range.count().value_or(kMostPoints + 1) > kMostPoints)
      refuse_points(fmt::format("'{}' names more than {} sizes", entry.name, kMostPoints), option);
    for (uint64_t i = 0; i < *range.count(); ++i) values.push_back(range.first + static_cast<int64_t>(i) * range.step);
  }
  return values;
}

void add_points(const dim::SpecGroup& group, const std::string& option, std::vector<NamedSizes>& points) {
  std::vector<NamedSizes> found(1);
  for (const dim::SpecEntry& entry : group) {
    std::vector<NamedSizes> longer;
    for (const NamedSizes& point : found) {
      for (const int64_t value : values_of(entry, option)) {
        longer.push_back(point);
        longer.back().emplace_back(entry.name, value);
        if (points.size() + longer.size() > kMostPoints)
          refuse_points(fmt::format("more than {} points are asked for", kMostPoints), option);
      }
    }
    found = std::move(longer);
  }
  points.insert(points.end(), found.begin(), found.end());
}

std::string text_of(const dim::SpecGroup& group) {
  std::vector<std::string> entries;
  for (const dim::SpecEntry& entry : group) entries.push_back(dim::to_string(entry));
  return fmt::format("{}", fmt::join(entries, ","));
}

bool has_one_value(const dim::SpecEntry& entry) {
  return !entry.is_relation() && entry.ranges.size() == 1 && entry.ranges.front().is_single();
}

}  // namespace

std::vector<NamedSizes> parse_points(std::span<const std::string> texts, const std::string& option) {
  std::vector<NamedSizes> points;
  for (const std::string& text : texts)
    for (const dim::SpecGroup& group : dim::parse_range_spec(text)) add_points(group, option, points);
  if (points.empty()) points.emplace_back();
  return points;
}

void add_sizes(std::span<const std::string> texts, VerifyOptions& options) {
  std::vector<std::string> groups;  // each of one text with each of the others
  for (const std::string& text : texts) {
    std::vector<std::string> longer;
    for (const dim::SpecGroup& group : dim::parse_range_spec(text)) {
      if (groups.empty()) longer.push_back(text_of(group));
      for (const std::string& before : groups) longer.push_back(fmt::format("{},{}", before, text_of(group)));
      if (longer.size() > kMostGroups)
        refuse_points(fmt::format("more than {} sets are asked for", kMostGroups), "--sizes");
    }
    groups = std::move(longer);
  }
  if (groups.empty()) return;
  const std::string whole = fmt::format("{}", fmt::join(groups, ";"));
  const std::vector<dim::SpecGroup> read = dim::parse_range_spec(whole);
  if (read.size() == 1 && std::ranges::all_of(read.front(), has_one_value))
    options.sizes = parse_sizes(whole, "--sizes");
  else
    options.sweep = whole;
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(',', start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

NamedSizes parse_sizes(const std::string& text, const std::string& option) {
  NamedSizes sizes;
  if (text.empty()) return sizes;
  const std::vector<dim::SpecGroup> groups = dim::parse_range_spec(text);
  for (const dim::SpecEntry& entry : groups.front()) {
    if (groups.size() > 1 || entry.ranges.size() != 1 || !entry.ranges.front().is_single()) {
      const std::string& shown = entry.is_relation() ? entry.left : entry.name;
      throw Error(ErrorCode::kInvalidArgument, {.what = "'" + shown + "' is given more than one value",
                                                .where = option,
                                                .expected = "one number for each size, such as h=640,w=480",
                                                .next = {}});
    }
    sizes.emplace_back(entry.name, entry.ranges.front().first);
  }
  return sizes;
}

SizeRenames parse_renames(std::span<const std::string> texts) {
  SizeRenames renames;
  for (const std::string& text : texts) {
    for (const std::string& part : split_at_commas(text)) {
      const size_t equals = part.rfind('=');
      if (equals == std::string::npos || equals == 0)
        throw Error(ErrorCode::kInvalidArgument,
                    {.what = "'" + part + "' does not say what is to be called what",
                     .where = "--rename",
                     .expected = "SIZE=NAME, such as 'input.1_dim2=height' or 'input.1[2]=height'"});
      renames.emplace_back(trimmed(part.substr(0, equals)), trimmed(part.substr(equals + 1)));
    }
  }
  rewrite::require_renames(renames);
  return renames;
}

void add_values(std::span<const std::string> texts, FeedOptions& feeds) { run::add_values(texts, feeds); }
void add_value_ranges(std::span<const std::string> texts, FeedOptions& feeds) { run::add_value_ranges(texts, feeds); }
std::map<std::string, std::string> parse_names(std::span<const std::string> texts) { return run::parse_names(texts); }
AddedInput parse_added_input(const std::string& text) { return lifting::parse_added_input(text); }

Provider parse_provider(const std::string& text) {
  const size_t colon = std::min(text.find(':'), text.size());
  Provider provider{.name = text.substr(0, colon)};
  const auto refuse = [&](std::string_view what) {
    throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("the provider '{}' {}", text, what),
                                              .where = "--provider",
                                              .expected = "NAME or NAME:OPTION=VALUE,…, such as cuda:device_id=1",
                                              .next = {}});
  };
  if (provider.name.empty()) refuse("has no name");
  if (colon + 1 == text.size()) refuse("has no option behind its ':'");
  const auto is_of_name = [](char c) {
    return ascii::is_letter_or_digit(static_cast<unsigned char>(c)) || c == '_' || c == '.';
  };
  std::string* value = nullptr;
  for (const std::string& part :
       colon < text.size() ? split_at_commas(text.substr(colon + 1)) : std::vector<std::string>()) {
    // Values have commas too, such as the shapes of TensorRT's profiles: "x:1x3,y:2x3".
    const size_t equals = std::min(part.find('='), part.size());
    const std::string name = part.substr(0, equals);
    const bool begins = equals < part.size() && !name.empty() && std::ranges::all_of(name, is_of_name);
    if (!begins && value == nullptr) refuse(fmt::format("cannot be read, as '{}' is no option", part));
    if (!begins) {
      *value += "," + part;
      continue;
    }
    const auto [at, is_new] = provider.options.try_emplace(name, part.substr(equals + 1));
    if (!is_new) refuse(fmt::format("names {} twice", name));
    value = &at->second;
  }
  return provider;
}
std::map<std::string, std::vector<int64_t>> parse_at(std::span<const std::string> texts) {
  return lifting::onetrace::parse_at(texts);
}

std::vector<int64_t> parse_tokens(const std::string& text) {
  std::vector<int64_t> ids;
  for (const std::string& one : split_at_commas(text)) {
    int64_t id = -1;
    const auto [end, failed] = std::from_chars(one.data(), one.data() + one.size(), id);
    if (failed != std::errc() || end != one.data() + one.size() || id < 0)
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = fmt::format("'{}' is no token", one), .where = "--tokens", .expected = "ids, as 1,22,333"});
    ids.push_back(id);
  }
  return ids;
}

std::vector<std::string> parse_cut(const std::string& text) {
  std::vector<std::string> names = split_at_commas(text);
  for (std::string& name : names) name = trimmed(name);
  std::erase(names, std::string());
  if (names.empty())
    throw Error(ErrorCode::kInvalidArgument,
                {.what = "names no tensor", .where = "--at", .expected = "--at TENSOR or --at TENSOR,TENSOR"});
  return names;
}

}  // namespace thaw::verbs

namespace thaw {

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const std::string_view name : ops::target_names()) names.emplace_back(name);
  return names;
}

NamedSizes parse_sizes(const std::string& text) { return verbs::parse_sizes(text, "sizes"); }
std::vector<NamedSizes> parse_points(const std::string& text) {
  return verbs::parse_points(std::span(&text, text.empty() ? 0 : 1), "sizes");
}
void set_sizes(const std::string& text, VerifyOptions& options) {
  verbs::add_sizes(std::span(&text, text.empty() ? 0 : 1), options);
}
AddedInput parse_added_input(const std::string& text) { return verbs::parse_added_input(text); }
Provider parse_provider(const std::string& text) { return verbs::parse_provider(text); }

}  // namespace thaw
