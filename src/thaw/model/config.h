// config.json, read with errors that name the key.
//
// A Config is one object of the file and knows where it stands, so that a message can say "text_config.hidden_size".
// Keys may be given as alternatives ("in_channels", "in_chans"): the first that is there counts; null counts as absent.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace thaw::model {

class Config {
 public:
  using Keys = std::initializer_list<std::string_view>;

  // Throws thaw::Error where the file is missing, is no JSON, or holds no object.
  static Config open(const std::filesystem::path& path);
  // The same from text; `name` is for messages.
  static Config parse(std::string_view text, std::string name);

  bool has(std::string_view key) const;
  bool empty() const;
  // An object inside this one; throws where it is missing.
  Config object(std::string_view key) const;
  // The object if it is there, else this one: for configs that are flat in one style and nested in another.
  Config object_or_self(std::string_view key) const;
  std::optional<Config> find_object(std::string_view key) const;
  // How many members such an object has.
  std::optional<int64_t> num_members(std::string_view key) const;

  // Throw thaw::Error where no key is there or the value has another type. Integers are sizes: 1 to 2^31.
  int64_t size(Keys keys) const;
  int64_t size_or(Keys keys, int64_t otherwise) const;
  int64_t size_or(Keys keys, int64_t otherwise, int64_t most) const;  // where no model has more, and tables are as long
  int64_t integer(Keys keys) const;                                   // any integer
  int64_t integer_or(Keys keys, int64_t otherwise) const;             // any integer
  double number(Keys keys) const;
  double number_or(Keys keys, double otherwise) const;
  bool boolean_or(Keys keys, bool otherwise) const;
  std::string text(Keys keys) const;
  std::string text_or(Keys keys, std::string_view otherwise) const;
  std::vector<int64_t> integers(Keys keys) const;
  std::vector<int64_t> integers_or(Keys keys, std::vector<int64_t> otherwise) const;
  // A list, or one number that stands for a list of one.
  std::vector<int64_t> one_or_more_integers(Keys keys) const;
  std::vector<double> numbers(Keys keys) const;
  std::vector<std::string> texts_or(Keys keys, std::vector<std::string> otherwise) const;

  // "config.json, vision_config"
  std::string where() const;
  // Throws an Error about a key of this object.
  [[noreturn]] void fail(std::string_view key, std::string what, std::string expected) const;

 private:
  using Json = nlohmann::json;
  Config(std::shared_ptr<const Json> root, const Json* at, std::string file, std::string path)
      : root_(std::move(root)), at_(at), file_(std::move(file)), path_(std::move(path)) {}
  const Json* find(Keys keys, std::string* found = nullptr) const;
  const Json& need(Keys keys, std::string* found) const;
  template <typename Read>
  auto list(Keys keys, Read read) const;

  std::shared_ptr<const Json> root_;
  const Json* at_;
  std::string file_, path_;
};

}  // namespace thaw::model
