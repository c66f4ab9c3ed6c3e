#include "thaw/media/text/tokenizer.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/media/text/normalize.h"
#include "thaw/run/tokenize.h"

namespace thaw::media {
namespace {

namespace fs = std::filesystem;

constexpr std::array kTokenizerFiles = {"tokenizer.json", "tokenizer_config.json"};
constexpr size_t kMostText = size_t{64} << 20;

// A folder of links that goes away: the library opens a tokenizer beside a genai_config.json, which checkpoints lack.
class LinkedFolder {
 public:
  explicit LinkedFolder(const fs::path& checkpoint) {
    std::string name = (fs::temp_directory_path() / "thaw-tokenizer-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw Error(ErrorCode::kCannotWrite,
                  {.what = fmt::format("no folder can be made: {}", std::strerror(errno)), .where = name});
    path_ = name;
    for (const char* file : kTokenizerFiles) fs::create_symlink(fs::absolute(checkpoint / file), path_ / file);
    std::ofstream(path_ / "genai_config.json")
        << R"({"model": {"type": "qwen2", "context_length": 1, "vocab_size": 1, "bos_token_id": 0, "eos_token_id": 0,)"
        << R"( "pad_token_id": 0, "decoder": {}}, "search": {}})";
  }
  LinkedFolder(const LinkedFolder&) = delete;
  LinkedFolder& operator=(const LinkedFolder&) = delete;
  ~LinkedFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::vector<int32_t> ids_of(const fs::path& checkpoint, const std::string& text) {
  const LinkedFolder folder(checkpoint);
  try {
    return run::tokenize(folder.path(), text);
  } catch (const Error& error) {
    ErrorParts parts = error.parts();
    parts.what = "the text cannot be tokenized: " + parts.what;
    parts.where = checkpoint.string();
    throw Error(error.code(), std::move(parts));
  }
}

}  // namespace

std::vector<int64_t> token_ids(const fs::path& checkpoint, const std::string& text) {
  for (const char* file : kTokenizerFiles) {
    std::error_code failed;
    if (!fs::is_regular_file(checkpoint / file, failed))
      throw Error(ErrorCode::kCannotRead, {.what = fmt::format("there is no {}", file),
                                           .where = checkpoint.string(),
                                           .expected = "a checkpoint with its tokenizer",
                                           .next = "fetch it from where the checkpoint came from"});
  }
  if (text.empty()) return {};
  if (text.size() > kMostText)
    throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("the text has {} bytes", text.size()),
                                              .where = "--text",
                                              .expected = fmt::format("{} at most", kMostText)});
  const std::vector<int32_t> ids = ids_of(checkpoint, normalized(checkpoint / kTokenizerFiles[0], text));
  // The library's way to say that it found nothing.
  if (std::ranges::any_of(ids, [](int32_t id) { return id < 0; }))
    throw Error(ErrorCode::kUnsupported,
                {.what = "the text cannot be tokenized: a piece of it has no token",
                 .where = (checkpoint / kTokenizerFiles[0]).string(),
                 .expected = "a tokenizer of a kind that onnxruntime-genai reads",
                 .next = "make the token ids with the tokenizers package and give them to `thaw run --input`"});
  return {ids.begin(), ids.end()};
}

}  // namespace thaw::media
