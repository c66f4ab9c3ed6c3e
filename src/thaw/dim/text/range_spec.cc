#include "thaw/dim/text/range_spec.h"

#include <algorithm>
#include <charconv>

#include "thaw/core/error.h"

namespace thaw::dim {
namespace {

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

// Parts between separators that stand outside parentheses and brackets.
std::vector<std::string_view> split_outside_brackets(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[') ++depth;
    if (text[i] == ')' || text[i] == ']') --depth;
    if (text[i] != separator || depth > 0) continue;
    parts.push_back(trim(text.substr(start, i - start)));
    start = i + 1;
  }
  parts.push_back(trim(text.substr(start)));
  return parts;
}

[[noreturn]] void fail(std::string_view entry, const std::string& what) {
  throw Error(
      ErrorCode::kInvalidArgument,
      {.what = what,
       .where = "sizes '" + std::string(entry) + "'",
       .expected = "NAME=7, NAME=1|2|7, NAME=64..1024:32, NAME=expression or A<=B, separated by ','; groups by ';'"});
}

std::optional<int64_t> integer(std::string_view text) {
  text = trim(text);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// "64-1024", "64-1024:32" and "64…1024": a range as others write it, which would be an expression of one negative value.
void refuse_other_ranges(std::string_view text, std::string_view entry) {
  constexpr std::string_view kSeparators[] = {"-", "–", "…", ":"};
  const std::string_view ends = text.substr(0, text.find(':', 1));
  for (const std::string_view separator : kSeparators) {
    const std::string_view of = separator == ":" ? text : ends;
    const size_t at = of.find(separator, 1);
    if (at == std::string_view::npos) continue;
    const auto first = integer(of.substr(0, at)), last = integer(of.substr(at + separator.size()));
    if (!first || !last || *first < 0 || *last < 0) continue;
    fail(entry, "'" + std::string(trim(text)) + "' is no range: write " + std::to_string(*first) + ".." +
                    std::to_string(*last));
  }
}

// nullopt where the text is not an integer or a range at all: it may be an expression.
std::optional<Range> parse_range(std::string_view text, std::string_view entry) {
  const size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    const auto value = integer(text);
    if (!value) refuse_other_ranges(text, entry);
    if (!value) return std::nullopt;
    return Range{*value, value, 1};
  }
  Range range;
  std::string_view rest = text.substr(dots + 2);
  if (const size_t colon = rest.find(':'); colon != std::string_view::npos) {
    const auto step = integer(rest.substr(colon + 1));
    if (!step || *step < 1) fail(entry, "the step after ':' is not a positive integer");
    range.step = *step;
    rest = rest.substr(0, colon);
  }
  const auto first = integer(text.substr(0, dots));
  if (!first) fail(entry, "the range does not start with an integer");
  range.first = *first;
  if (!trim(rest).empty()) {
    const auto last = integer(rest);
    if (!last) fail(entry, "the range does not end with an integer");
    if (*last < *first) fail(entry, "the range runs backwards");
    // The last value that the steps hit, without overflow for ranges wider than int64.
    const uint64_t width = static_cast<uint64_t>(*last) - static_cast<uint64_t>(*first);
    range.last = *last - static_cast<int64_t>(width % static_cast<uint64_t>(range.step));
  }
  return range;
}

// "A<=B", "A>=B" and "A==B"; nullopt for other entries.
std::optional<SpecEntry> parse_relation(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  const bool at_most = equals > 0 && text[equals - 1] == '<', at_least = equals > 0 && text[equals - 1] == '>';
  const bool same = text.substr(equals, 2) == "==";
  if (!at_most && !at_least && !same) return std::nullopt;
  std::string_view left = trim(text.substr(0, same ? equals : equals - 1));
  std::string_view right = trim(text.substr(equals + (same ? 2 : 1)));
  if (left.empty() || right.empty()) fail(text, "a side of the relation is missing");
  if (at_least) std::swap(left, right);
  SpecEntry entry;
  entry.expression = right;
  entry.left = left;
  entry.is_equal = same;
  return entry;
}

SpecEntry parse_entry(std::string_view text) {
  if (auto relation = parse_relation(text)) return std::move(*relation);
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) fail(text, "there is no '='");
  SpecEntry entry;
  entry.name = trim(text.substr(0, equals));
  const std::string_view values = trim(text.substr(equals + 1));
  if (entry.name.empty()) fail(text, "there is no name before '='");
  if (values.empty()) fail(text, "there is no value after '='");
  const std::vector<std::string_view> parts = split_outside_brackets(values, '|');
  for (std::string_view part : parts) {
    if (const auto range = parse_range(part, text)) entry.ranges.push_back(*range);
  }
  if (entry.ranges.size() == parts.size()) return entry;
  if (parts.size() > 1) fail(text, "not every value between '|' is an integer or a range");
  entry.expression = values;
  return entry;
}

}  // namespace

std::optional<uint64_t> Range::count() const {
  if (!last) return std::nullopt;
  return (static_cast<uint64_t>(*last) - static_cast<uint64_t>(first)) / static_cast<uint64_t>(step) + 1;
}

std::string to_string(const SpecEntry& entry) {
  if (entry.is_relation()) return entry.left + (entry.is_equal ? "==" : "<=") + entry.expression;
  std::string text = entry.name + "=" + entry.expression;
  for (size_t i = 0; i < entry.ranges.size(); ++i) {
    const Range& range = entry.ranges[i];
    text += (i == 0 ? "" : "|") + std::to_string(range.first);
    if (range.is_single()) continue;
    text += ".." + (range.last ? std::to_string(*range.last) : "");
    if (range.step > 1) text += ":" + std::to_string(range.step);
  }
  return text;
}

std::vector<SpecGroup> parse_range_spec(std::string_view text) {
  std::vector<SpecGroup> groups;
  for (std::string_view group_text : split_outside_brackets(text, ';')) {
    SpecGroup group;
    for (std::string_view entry_text : split_outside_brackets(group_text, ',')) {
      SpecEntry entry = parse_entry(entry_text);
      const auto same_name = [&](const SpecEntry& other) { return !entry.is_relation() && other.name == entry.name; };
      if (std::any_of(group.begin(), group.end(), same_name)) fail(entry_text, "the name is twice in one group");
      group.push_back(std::move(entry));
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace thaw::dim
