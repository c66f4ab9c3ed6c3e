#include "thaw/verbs/texts.h"

#include <charconv>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/dim/text/range_spec.h"
#include "thaw/lift/align/values.h"
#include "thaw/lift/onetrace/sizes.h"
#include "thaw/ops/target/target.h"
#include "thaw/rewrite/rename_sizes.h"
#include "thaw/run/input_text.h"

namespace thaw::verbs {
namespace {

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? std::string() : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

}  // namespace

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

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const ops::Target& target : ops::targets()) names.emplace_back(target.name);
  return names;
}

}  // namespace thaw::verbs
