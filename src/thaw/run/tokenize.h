// Token ids by the tokenizer of onnxruntime-genai, which the worker runs as it runs models: within its limits, and what a
// stranger's tokenizer breaks is not the caller's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace thaw::run {

// `folder` has tokenizer.json, tokenizer_config.json and a genai_config.json, all as onnxruntime-genai reads them. Special
// tokens in the text count as such; none is added. An id below 0 is a piece of text that no token is found for. Throws thaw::Error:
// kRuntimeMissing where a library is not there, kRuntimeFailed for a tokenizer that it does not take or breaks on,
// kOutOfBudget past Limits::timeout or max_memory.
std::vector<int32_t> tokenize(const std::filesystem::path& folder, const std::string& text);

// The text of token ids, special tokens as the library shows them. Throws as tokenize() does.
std::string detokenize(const std::filesystem::path& folder, std::vector<int32_t> ids);

// The prompt that a chat template makes of messages, JSON as transformers' apply_chat_template takes them, with the beginning of
// the answer behind them. `chat_template`: in Jinja; empty: the tokenizer's own. Throws as tokenize() does.
std::string chat(const std::filesystem::path& folder, const std::string& messages, const std::string& chat_template);

}  // namespace thaw::run
