#include "thaw/core/json_file.h"

#include <utility>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/core/mapped_file.h"
#include "thaw/limits.h"

namespace thaw {
namespace {

using nlohmann::json;

// What nlohmann::json takes of a value in a list or an object, with its allocation.
constexpr uint64_t kBytesOfValue = 64;

}  // namespace

void refuse_json(std::string what, std::string where, const JsonKind& kind) {
  throw Error(ErrorCode::kInvalidFile, {.what = std::move(what),
                                        .where = std::move(where),
                                        .expected = std::string(kind.expected),
                                        .next = std::string(kind.next)});
}

json parse_json(std::string_view text, const std::string& where, const JsonKind& kind, const JsonFilter& is_kept) {
  const auto refuse = [&](std::string what) { refuse_json(std::move(what), where, kind); };
  if (text.size() > kMostJsonBytes)
    refuse(fmt::format("the JSON is of {} bytes, more than {} MiB", text.size(), kMostJsonBytes >> 20));
  const uint64_t most = limits().max_memory;
  uint64_t values = 0;
  // The parser recurses on nothing, but writing and freeing do.
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > kDeepestJson) refuse(fmt::format("the JSON nests more than {} levels", kDeepestJson));
    if (is_kept && !is_kept(depth, event, parsed)) return false;
    if (event == json::parse_event_t::object_end || event == json::parse_event_t::array_end) return true;
    if (++values > kMostJsonValues) refuse(fmt::format("the JSON holds more than {} values", kMostJsonValues));
    if (most != 0 && values * kBytesOfValue + text.size() > most)
      throw Error(ErrorCode::kOutOfBudget,
                  {.what = fmt::format("the JSON takes more than the {} bytes of memory that it may", most),
                   .where = where,
                   .expected = "a smaller file",
                   .next = "give --max-memory a larger size"});
    return true;
  };
  json parsed = json::parse(text.begin(), text.end(), watch, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) refuse("the file is not JSON");
  if (!parsed.is_object()) refuse("the file does not hold a JSON object");
  return parsed;
}

json read_json(const std::filesystem::path& path, const JsonKind& kind, const JsonFilter& is_kept) {
  const auto file = MappedFile::open(path);
  return parse_json(file->text(), path.string(), kind, is_kept);
}

std::string short_text(const json& value) {
  constexpr size_t kLongest = 60;
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest - 3) + "...";
  return text;
}

std::optional<int64_t> integer_of(const json& value) {
  const bool fits = !value.is_number_unsigned() || std::in_range<int64_t>(value.get<uint64_t>());
  return value.is_number_integer() && fits ? std::optional(value.get<int64_t>()) : std::nullopt;
}

}  // namespace thaw
