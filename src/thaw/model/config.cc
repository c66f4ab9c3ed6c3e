#include "thaw/model/config.h"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "thaw/core/error.h"
#include "thaw/core/json_file.h"
#include "thaw/core/mapped_file.h"

namespace thaw::model {
namespace {

constexpr int64_t kMaxSize = int64_t{1} << 31;

constexpr JsonKind kKind{.expected = "a JSON object, as transformers saves it",
                         .next = "fetch the checkpoint's config.json again"};

}  // namespace

Config Config::open(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  return parse(file->text(), path.string());
}

Config Config::parse(std::string_view text, std::string name) {
  auto root = std::make_shared<const Json>(parse_json(text, name, kKind));
  const Json* at = root.get();
  return Config(std::move(root), at, std::move(name), "");
}

const Config::Json* Config::find(Keys keys, std::string* found) const {
  for (const std::string_view key : keys) {
    const auto entry = at_->find(key);
    if (entry == at_->end() || entry->is_null()) continue;
    if (found) *found = key;
    return &*entry;
  }
  return nullptr;
}

const Config::Json& Config::need(Keys keys, std::string* found) const {
  const Json* value = find(keys, found);
  if (value) return *value;
  throw Error(ErrorCode::kInvalidFile, {.what = fmt::format("'{}' is missing", fmt::join(keys, "' or '")),
                                        .where = where(),
                                        .expected = "the key that models of this type have",
                                        .next = "fetch the checkpoint's config.json again"});
}

void Config::fail(std::string_view key, std::string what, std::string expected) const {
  throw Error(ErrorCode::kInvalidFile,
              {.what = fmt::format("'{}' {}", key, what),
               .where = where(),
               .expected = std::move(expected),
               .next = "see whether the checkpoint is whole and of a type that thaw build knows"});
}

std::string Config::where() const { return path_.empty() ? file_ : fmt::format("{}, {}", file_, path_); }

bool Config::has(std::string_view key) const { return find({key}) != nullptr; }

bool Config::empty() const { return at_->empty(); }

std::optional<Config> Config::find_object(std::string_view key) const {
  const Json* value = find({key});
  if (!value) return std::nullopt;
  if (!value->is_object()) fail(key, fmt::format("is {}", short_text(*value)), "an object");
  return Config(root_, value, file_, path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key));
}

std::optional<int64_t> Config::num_members(std::string_view key) const {
  const auto object = find_object(key);
  return object ? std::optional(static_cast<int64_t>(object->at_->size())) : std::nullopt;
}

Config Config::object(std::string_view key) const {
  std::string found;
  static_cast<void>(need({key}, &found));
  return *find_object(key);
}

Config Config::object_or_self(std::string_view key) const {
  auto inner = find_object(key);
  return inner ? *inner : *this;
}

int64_t Config::size(Keys keys) const {
  std::string key;
  const Json& value = need(keys, &key);
  if (!value.is_number_integer() || value.get<int64_t>() < 1 || value.get<int64_t>() > kMaxSize)
    fail(key, fmt::format("is {}", short_text(value)), "a whole number of 1 or more");
  return value.get<int64_t>();
}

int64_t Config::size_or(Keys keys, int64_t otherwise) const { return find(keys) ? size(keys) : otherwise; }

int64_t Config::size_or(Keys keys, int64_t otherwise, int64_t most) const {
  const int64_t given = size_or(keys, otherwise);
  std::string key;
  if (given > most && find(keys, &key)) fail(key, fmt::format("is {}", given), fmt::format("at most {}", most));
  return given;
}

int64_t Config::integer(Keys keys) const {
  std::string key;
  const Json& value = need(keys, &key);
  if (!value.is_number_integer()) fail(key, fmt::format("is {}", short_text(value)), "a whole number");
  return value.get<int64_t>();
}

int64_t Config::integer_or(Keys keys, int64_t otherwise) const { return find(keys) ? integer(keys) : otherwise; }

double Config::number(Keys keys) const {
  std::string key;
  const Json& value = need(keys, &key);
  if (!value.is_number()) fail(key, fmt::format("is {}", short_text(value)), "a number");
  return value.get<double>();
}

double Config::number_or(Keys keys, double otherwise) const { return find(keys) ? number(keys) : otherwise; }

bool Config::boolean_or(Keys keys, bool otherwise) const {
  std::string key;
  const Json* value = find(keys, &key);
  if (!value) return otherwise;
  if (!value->is_boolean()) fail(key, fmt::format("is {}", short_text(*value)), "true or false");
  return value->get<bool>();
}

std::string Config::text(Keys keys) const {
  std::string key;
  const Json& value = need(keys, &key);
  if (!value.is_string()) fail(key, fmt::format("is {}", short_text(value)), "a text");
  return value.get<std::string>();
}

std::string Config::text_or(Keys keys, std::string_view otherwise) const {
  return find(keys) ? text(keys) : std::string(otherwise);
}

template <typename Read>
auto Config::list(Keys keys, Read read) const {
  std::string key;
  const Json& value = need(keys, &key);
  if (!value.is_array()) fail(key, fmt::format("is {}", short_text(value)), "a list of numbers");
  std::vector<decltype(read(value))> out;
  for (const Json& entry : value) {
    if (!entry.is_number()) fail(key, fmt::format("is {}", short_text(value)), "a list of numbers");
    out.push_back(read(entry));
  }
  return out;
}

std::vector<int64_t> Config::integers(Keys keys) const {
  return list(keys, [&](const Json& entry) {
    constexpr double kMostExact = 0x1p53;
    const auto number = entry.get<double>();
    if (!entry.is_number_integer() && !(number == std::floor(number) && std::abs(number) <= kMostExact))
      fail(*keys.begin(), fmt::format("holds {}", short_text(entry)), "a list of integers");
    return entry.get<int64_t>();
  });
}

std::vector<int64_t> Config::integers_or(Keys keys, std::vector<int64_t> otherwise) const {
  return find(keys) ? integers(keys) : std::move(otherwise);
}

std::vector<int64_t> Config::one_or_more_integers(Keys keys) const {
  const Json* value = find(keys);
  return value && value->is_number() ? std::vector{integer(keys)} : integers(keys);
}

std::vector<double> Config::numbers(Keys keys) const {
  return list(keys, [](const Json& entry) { return entry.get<double>(); });
}

std::vector<std::string> Config::texts_or(Keys keys, std::vector<std::string> otherwise) const {
  std::string key;
  const Json* value = find(keys, &key);
  if (!value) return otherwise;
  const auto refuse = [&] { fail(key, fmt::format("is {}", short_text(*value)), "a list of texts"); };
  if (!value->is_array()) refuse();
  std::vector<std::string> out;
  for (const Json& entry : *value) {
    if (!entry.is_string()) refuse();
    out.push_back(entry.get<std::string>());
  }
  return out;
}

}  // namespace thaw::model
