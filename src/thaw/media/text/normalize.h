// What a tokenizer does to a text before it looks for tokens in it: the part of tokenizer.json that onnxruntime-extensions
// leaves out.
#pragma once

#include <filesystem>
#include <string>

namespace thaw::media {

// `text`, UTF-8, composed (Unicode's NFC, by utf8proc) where the tokenizer's "normalizer" says so. As in the tokenizers
// package, tokens that are taken as they are ("added_tokens" with "normalized": false) are found first, and what stands
// between them is composed piece by piece. "Prepend" and "Replace" are the library's own, and are left to it.
// Throws thaw::Error: kInvalidFile for a file that is no tokenizer's, kUnsupported for a normalizer of another kind,
// kInvalidArgument for a text that is not UTF-8 or holds a NUL.
std::string normalized(const std::filesystem::path& tokenizer_json, const std::string& text);

}  // namespace thaw::media
