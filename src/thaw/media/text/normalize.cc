#include "thaw/media/text/normalize.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utf8proc.h>

#include "thaw/core/error.h"
#include "thaw/core/json_file.h"

namespace thaw::media {
namespace {

using nlohmann::json;

// All but the vocabulary and the merges, which are most of the file.
json read_settings(const std::filesystem::path& path) {
  bool is_model = false;
  const auto is_kept = [&](int depth, json::parse_event_t event, const json& parsed) {
    if (event == json::parse_event_t::key && depth == 1) is_model = parsed == "model";
    return !(is_model && depth >= 1 && event != json::parse_event_t::key);
  };
  return read_json(path,
                   {.expected = "a tokenizer as the tokenizers package saves it, to tokenize the text",
                    .next = "fetch it from where the checkpoint came from"},
                   is_kept);
}

std::string_view type_of(const json& part) {
  const auto type = part.is_object() ? part.find("type") : part.end();
  return part.is_object() && type != part.end() && type->is_string() ? type->get_ref<const std::string&>()
                                                                     : std::string_view();
}

// Whether it composes; throws for what it does else.
bool composes(const json& normalizer, const std::filesystem::path& path) {
  if (normalizer.is_null()) return false;
  const std::string_view type = type_of(normalizer);
  if (type == "NFC") return true;
  if (type == "Prepend" || type == "Replace") return false;
  if (type == "Sequence" && normalizer.contains("normalizers") && normalizer["normalizers"].is_array()) {
    bool any = false;
    for (const json& part : normalizer["normalizers"]) any |= composes(part, path);
    return any;
  }
  throw Error(ErrorCode::kUnsupported,
              {.what = fmt::format("the text cannot be tokenized: its tokenizer's normalizer is '{}'", type),
               .where = path.string(),
               .expected = "none, NFC, Prepend or Replace",
               .next = "make the token ids with the tokenizers package and give them to `thaw run --input`"});
}

std::vector<std::string> tokens_as_they_are(const json& settings) {
  std::vector<std::string> contents;
  const auto added = settings.find("added_tokens");
  if (added == settings.end() || !added->is_array()) return contents;
  for (const json& token : *added) {
    if (!token.is_object() || !token.contains("content") || !token["content"].is_string()) continue;
    if (token.contains("normalized") && token["normalized"] == true) continue;
    if (!token["content"].get_ref<const std::string&>().empty()) contents.push_back(token["content"]);
  }
  // The longest first: of two that begin at one position it is the one that is found.
  std::ranges::sort(contents, std::greater{}, &std::string::size);
  return contents;
}

std::string composed(std::string_view chunk) {
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(chunk.data()), static_cast<utf8proc_ssize_t>(chunk.size()),
                   &made, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(made, &std::free);
  if (size < 0)
    throw Error(ErrorCode::kOutOfBudget, {.what = "the text is too long to be composed", .where = "--text"});
  return {reinterpret_cast<const char*>(made), static_cast<size_t>(size)};
}

void require_unicode(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    utf8proc_int32_t code = -1;
    const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
                                         static_cast<utf8proc_ssize_t>(text.size() - at), &code);
    if (length <= 0 || code == 0)
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = code == 0 ? "the text holds a NUL" : fmt::format("byte {} of the text is not UTF-8", at),
                   .where = "--text",
                   .expected = "Unicode text as UTF-8"});
    at += static_cast<size_t>(length);
  }
}

}  // namespace

std::string normalized(const std::filesystem::path& tokenizer_json, const std::string& text) {
  require_unicode(text);
  const json settings = read_settings(tokenizer_json);
  const auto normalizer = settings.find("normalizer");
  if (normalizer == settings.end() || !composes(*normalizer, tokenizer_json)) return text;
  const std::vector<std::string> tokens = tokens_as_they_are(settings);
  std::array<bool, 256> begins = {};
  for (const std::string& token : tokens) begins[static_cast<unsigned char>(token.front())] = true;
  std::string result;
  size_t from = 0;
  for (size_t at = 0; at < text.size();) {
    const std::string_view rest = std::string_view(text).substr(at);
    const auto token = begins[static_cast<unsigned char>(rest.front())]
                           ? std::ranges::find_if(tokens, [&](const std::string& t) { return rest.starts_with(t); })
                           : tokens.end();
    if (token == tokens.end()) {
      ++at;
      continue;
    }
    result += composed(std::string_view(text).substr(from, at - from)) + *token;
    from = at += token->size();
  }
  return result + composed(std::string_view(text).substr(from));
}

}  // namespace thaw::media
