#include "thaw/model/special_tokens.h"

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "thaw/core/json_file.h"

namespace thaw::model {
namespace {

using Json = nlohmann::json;

// An empty object where the checkpoint has no such file.
Json read(const std::filesystem::path& path) {
  if (!std::filesystem::exists(std::filesystem::symlink_status(path))) return Json::object();
  return read_json(path,
                   {.expected = "what a tokenizer is saved as", .next = "fetch the checkpoint's tokenizer again"});
}

const Json* member(const Json& of, std::string_view key) {
  const auto at = of.is_object() ? of.find(key) : of.end();
  return at == of.end() ? nullptr : &*at;
}

// A token is a text, or an object that has it as "content".
std::optional<std::string> text_of(const Json* token) {
  if (token && token->is_object()) token = member(*token, "content");
  return token && token->is_string() ? std::optional(token->get<std::string>()) : std::nullopt;
}

std::optional<int64_t> number_of(const Json* value) {
  return value && value->is_number_integer() ? std::optional(value->get<int64_t>()) : std::nullopt;
}

std::optional<int64_t> number_in(const Json& list, const std::string& text) {
  for (const Json& token : list)
    if (text_of(&token) == text) return number_of(member(token, "id"));
  return std::nullopt;
}

// {token: number}, or, of Unigram, [[token, score], …] in the order of the numbers.
std::optional<int64_t> number_in_vocabulary(const Json& vocabulary, const std::string& text) {
  if (vocabulary.is_object()) return number_of(member(vocabulary, text));
  int64_t number = 0;
  for (const Json& piece : vocabulary) {
    if (piece.is_array() && !piece.empty() && text_of(&piece.front()) == text) return number;
    ++number;
  }
  return std::nullopt;
}

class TokenizerFiles {
 public:
  explicit TokenizerFiles(const std::filesystem::path& folder)
      : folder_(folder),
        config_(read(folder / "tokenizer_config.json")),
        map_(read(folder / "special_tokens_map.json")) {}

  std::optional<int64_t> number(std::string_view role) {
    auto text = text_of(member(config_, role));
    if (!text) text = text_of(member(map_, role));
    return text ? number_of_text(*text) : std::nullopt;
  }

 private:
  std::optional<int64_t> number_of_text(const std::string& text) {
    if (!tokenizer_) tokenizer_ = read(folder_ / "tokenizer.json");
    if (const Json* added = member(*tokenizer_, "added_tokens"); added && added->is_array())
      if (const auto number = number_in(*added, text)) return number;
    if (const Json* model = member(*tokenizer_, "model"))
      if (const Json* vocabulary = member(*model, "vocab"))
        if (const auto number = number_in_vocabulary(*vocabulary, text)) return number;
    if (const auto number = number_in_decoder(text)) return number;
    for (const char* name : {"added_tokens.json", "vocab.json"})
      if (const auto number = number_in_vocabulary(read(folder_ / name), text)) return number;
    return std::nullopt;
  }

  // {"151643": {"content": "<|endoftext|>"}}
  std::optional<int64_t> number_in_decoder(const std::string& text) const {
    const Json* decoder = member(config_, "added_tokens_decoder");
    if (!decoder || !decoder->is_object()) return std::nullopt;
    for (const auto& [key, token] : decoder->items())
      if (text_of(&token) == text) return number_of_key(key);
    return std::nullopt;
  }

  static std::optional<int64_t> number_of_key(std::string_view key) {
    constexpr size_t kMostDigits = 18;
    const bool is_number =
        !key.empty() && key.size() <= kMostDigits && key.find_first_not_of("0123456789") == std::string_view::npos;
    return is_number ? std::optional<int64_t>(std::stoll(std::string(key))) : std::nullopt;
  }

  std::filesystem::path folder_;
  Json config_, map_;
  std::optional<Json> tokenizer_;  // large, so that it is read where a token is named
};

}  // namespace

SpecialTokens special_tokens(const std::filesystem::path& checkpoint) {
  TokenizerFiles files(checkpoint);
  return {.bos = files.number("bos_token"), .eos = files.number("eos_token"), .pad = files.number("pad_token")};
}

}  // namespace thaw::model
