#include "thaw/media/text/tokenizer.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "thaw/core/atomic_file.h"
#include "thaw/core/confined.h"
#include "thaw/core/error.h"
#include "thaw/core/json_file.h"
#include "thaw/core/mapped_file.h"
#include "thaw/core/replace_files.h"
#include "thaw/core/scratch_folder.h"
#include "thaw/media/text/normalize.h"
#include "thaw/run/tokenize.h"

namespace thaw::media {
namespace {

namespace fs = std::filesystem;

constexpr std::array kTokenizerFiles = {"tokenizer.json", "tokenizer_config.json"};
constexpr size_t kMostText = size_t{64} << 20;
constexpr size_t kLongestTemplate = size_t{1} << 20;
constexpr JsonKind kSettings{.expected = "settings of a tokenizer as transformers saves them",
                             .next = "fetch it from where the checkpoint came from"};

template <typename Work>
auto said_of(const fs::path& checkpoint, const char* what, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kRuntimeMissing) throw;  // it is not about the checkpoint
    ErrorParts parts = error.parts();
    parts.what = std::string(what) + ": " + parts.what;
    parts.where = checkpoint.string();
    throw Error(error.code(), std::move(parts));
  }
}

// Empty where it stands in tokenizer_config.json, or nowhere.
std::string chat_template_of(const fs::path& checkpoint) {
  std::error_code failed;
  const fs::path jinja = checkpoint / "chat_template.jinja", saved = checkpoint / "chat_template.json";
  if (fs::exists(jinja, failed)) {
    const auto file = MappedFile::open(jinja);
    if (file->bytes().size() > kLongestTemplate)
      throw Error(ErrorCode::kInvalidFile, {.what = fmt::format("the file is of {} bytes", file->bytes().size()),
                                            .where = jinja.string(),
                                            .expected = "a chat template of 1 MiB at most",
                                            .next = "fetch it from where the checkpoint came from"});
    return std::string(file->text());
  }
  if (!fs::exists(saved, failed)) return {};
  const nlohmann::json parsed = read_json(saved, kSettings);
  const auto at = parsed.find("chat_template");
  return at != parsed.end() && at->is_string() ? at->get<std::string>() : "";
}

bool has_own_template(const fs::path& checkpoint) {
  return read_json(checkpoint / kTokenizerFiles[1], kSettings).contains("chat_template");
}

}  // namespace

// A folder of links that goes away: the library opens a tokenizer beside a genai_config.json, which checkpoints lack.
class Tokenizer::LinkedFolder {
 public:
  explicit LinkedFolder(const fs::path& checkpoint) : scratch_(cleared_temporary_folder()) {
    for (const char* file : kTokenizerFiles) {
      require_inside(checkpoint / file);  // it is another process that opens it
      fs::create_symlink(fs::absolute(checkpoint / file), path() / file);
    }
    AtomicFile config(path() / "genai_config.json");
    config.write(
        R"({"model": {"type": "qwen2", "context_length": 1, "vocab_size": 1, "bos_token_id": 0, "eos_token_id": 0,)"
        R"( "pad_token_id": 0, "decoder": {}}, "search": {}})");
    config.place();
  }
  const fs::path& path() const { return scratch_.path(); }

 private:
  static fs::path cleared_temporary_folder() {
    fs::path folder = fs::temp_directory_path();
    clear_leftovers(folder);
    return folder;
  }

  ScratchFolder scratch_;
};

Tokenizer::Tokenizer(fs::path checkpoint) : checkpoint_(std::move(checkpoint)) {
  for (const char* file : kTokenizerFiles) {
    std::error_code failed;
    if (!fs::is_regular_file(checkpoint_ / file, failed))
      throw Error(ErrorCode::kCannotRead, {.what = fmt::format("there is no {}", file),
                                           .where = checkpoint_.string(),
                                           .expected = "a checkpoint with its tokenizer",
                                           .next = "fetch it from where the checkpoint came from"});
  }
  folder_ = std::make_unique<LinkedFolder>(checkpoint_);
}

Tokenizer::~Tokenizer() = default;

std::vector<int64_t> Tokenizer::ids(const std::string& text) const {
  if (text.empty()) return {};
  if (text.size() > kMostText)
    throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("the text has {} bytes", text.size()),
                                              .where = "--text",
                                              .expected = fmt::format("{} at most", kMostText)});
  const std::string same = normalized(checkpoint_ / kTokenizerFiles[0], text);
  const std::vector<int32_t> ids =
      said_of(checkpoint_, "the text cannot be tokenized", [&] { return run::tokenize(folder_->path(), same); });
  // The library's way to say that it found nothing.
  if (std::ranges::any_of(ids, [](int32_t id) { return id < 0; }))
    throw Error(ErrorCode::kUnsupported,
                {.what = "the text cannot be tokenized: a piece of it has no token",
                 .where = (checkpoint_ / kTokenizerFiles[0]).string(),
                 .expected = "a tokenizer of a kind that onnxruntime-genai reads",
                 .next = "make the token ids with the tokenizers package and give them to `thaw run --input`"});
  return {ids.begin(), ids.end()};
}

std::string Tokenizer::text(const std::vector<int64_t>& ids) const {
  return said_of(checkpoint_, "the tokens have no text",
                 [&] { return run::detokenize(folder_->path(), {ids.begin(), ids.end()}); });
}

std::string Tokenizer::prompt(const std::string& words, const std::vector<std::string>& files) const {
  const std::string own = chat_template_of(checkpoint_);
  if (own.empty() && !has_own_template(checkpoint_))
    throw Error(ErrorCode::kCannotRead, {.what = "the checkpoint has no chat template",
                                         .where = checkpoint_.string(),
                                         .expected = "chat_template.jinja, or chat_template in tokenizer_config.json",
                                         .next = "give the whole prompt with --text"});
  nlohmann::json content = words;
  if (!files.empty()) {
    content = nlohmann::json::array();
    for (const std::string& kind : files) content.push_back({{"type", kind}});
    if (!words.empty()) content.push_back({{"type", "text"}, {"text", words}});
  }
  const nlohmann::json messages = nlohmann::json::array({{{"role", "user"}, {"content", content}}});
  return said_of(checkpoint_, "the chat template cannot be followed", [&] {
    return run::chat(folder_->path(), messages.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), own);
  });
}

}  // namespace thaw::media
