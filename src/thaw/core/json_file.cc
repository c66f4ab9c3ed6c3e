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

namespace {

// Counts what a text holds before any of it is held.
class Counted {
 public:
  Counted(std::string_view text, const std::string& where, const JsonKind& kind)
      : text_(text), where_(where), kind_(kind) {}

  void nested(int depth) const {
    if (depth > kDeepestJson)
      refuse_json(fmt::format("the JSON nests more than {} levels", kDeepestJson), where_, kind_);
  }
  void add() {
    if (++values_ > kMostJsonValues)
      refuse_json(fmt::format("the JSON holds more than {} values", kMostJsonValues), where_, kind_);
    if (most_ != 0 && values_ * kBytesOfValue + text_.size() > most_)
      throw Error(ErrorCode::kOutOfBudget,
                  {.what = fmt::format("the JSON takes more than the {} bytes of memory that it may", most_),
                   .where = where_,
                   .expected = "a smaller file",
                   .next = "give --max-memory a larger size"});
  }

 private:
  std::string_view text_;
  const std::string& where_;
  const JsonKind& kind_;
  const uint64_t most_ = limits().max_memory;
  uint64_t values_ = 0;
};

// The events of a text that is only counted.
class Counter final : public nlohmann::json_sax<json> {
 public:
  explicit Counter(Counted& counted) : counted_(counted) {}
  bool null() override { return add(); }
  bool boolean(bool /*value*/) override { return add(); }
  bool number_integer(number_integer_t /*value*/) override { return add(); }
  bool number_unsigned(number_unsigned_t /*value*/) override { return add(); }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return add(); }
  bool string(string_t& /*value*/) override { return add(); }
  bool binary(binary_t& /*value*/) override { return add(); }
  bool key(string_t& /*name*/) override { return add(); }
  bool start_object(std::size_t /*count*/) override { return begin(); }
  bool start_array(std::size_t /*count*/) override { return begin(); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/, const json::exception& /*error*/) override {
    return false;
  }

 private:
  bool add() {
    counted_.nested(depth_);
    counted_.add();
    return true;
  }
  bool begin() {
    add();
    ++depth_;
    return true;
  }
  bool end() {
    --depth_;
    return true;
  }

  Counted& counted_;
  int depth_ = 0;
};

}  // namespace

json parse_json(std::string_view text, const std::string& where, const JsonKind& kind, const JsonFilter& is_kept) {
  const auto refuse = [&](std::string what) { refuse_json(std::move(what), where, kind); };
  if (text.size() > kMostJsonBytes)
    refuse(fmt::format("the JSON is of {} bytes, more than {} MiB", text.size(), kMostJsonBytes >> 20));
  Counted counted(text, where, kind);
  json parsed;
  // The parser recurses on nothing, but writing and freeing do.
  if (is_kept) {
    const auto watch = [&](int depth, json::parse_event_t event, json& value) {
      counted.nested(depth);
      if (!is_kept(depth, event, value)) return false;
      if (event != json::parse_event_t::object_end && event != json::parse_event_t::array_end) counted.add();
      return true;
    };
    parsed = json::parse(text.begin(), text.end(), watch, /*allow_exceptions=*/false);
  } else {
    // nlohmann's parser with a callback takes quadratic time for a list of objects: what is kept whole is counted first.
    Counter counter(counted);
    if (!json::sax_parse(text.begin(), text.end(), &counter)) refuse("the file is not JSON");
    parsed = json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  }
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
