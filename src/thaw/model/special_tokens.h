// Which tokens begin, end and pad a text, as the tokenizer's files of a checkpoint say.
//
// A token is named by tokenizer_config.json, else by special_tokens_map.json. Its number is tokenizer.json's, by which texts are
// taken apart, else that of tokenizer_config.json's added_tokens_decoder, of added_tokens.json or of vocab.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace thaw::model {

struct SpecialTokens {
  std::optional<int64_t> bos, eos, pad;
};

// None of a token that no file names, or that none has a number for. Throws thaw::Error for a file that is no JSON.
SpecialTokens special_tokens(const std::filesystem::path& checkpoint);

}  // namespace thaw::model
