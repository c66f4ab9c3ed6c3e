#include "thaw/media/text/tokenizer.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <system_error>

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "thaw/core/error.h"
#include "thaw/core/fd.h"
#include "thaw/limits.h"
#include "thaw/media/text/normalize.h"
#include "thaw/run/runtime.h"

namespace thaw::media {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGenaiLibrary = "libonnxruntime-genai.so";
constexpr const char* kGenaiVariable = "THAW_ONNXRUNTIME_GENAI";
constexpr std::array kTokenizerFiles = {"tokenizer.json", "tokenizer_config.json"};
constexpr unsigned kMostSeconds = 60;          // for a text, where Limits::timeout does not say
constexpr size_t kMostIds = size_t{64} << 20;  // bytes

std::vector<fs::path> genai_candidates(const fs::path& beside) {
  if (const char* chosen = std::getenv(kGenaiVariable); chosen != nullptr && *chosen != '\0') {
    std::error_code failed;
    return {fs::is_directory(chosen, failed) ? fs::path(chosen) / kGenaiLibrary : fs::path(chosen)};
  }
  std::vector<fs::path> paths = {beside / kGenaiLibrary};
#ifdef THAW_ONNXRUNTIME_GENAI_LIBRARY
  paths.emplace_back(THAW_ONNXRUNTIME_GENAI_LIBRARY);
#endif
  paths.emplace_back(kGenaiLibrary);
  return paths;
}

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

// What of the library's C interface is used (ort_genai_c.h): a result that is null is fine.
struct Genai {
  struct Result;
  struct Tokenizer;
  struct Sequences;
  Result* (*create)(const char* folder, Tokenizer** tokenizer) = nullptr;
  Result* (*create_sequences)(Sequences** sequences) = nullptr;
  Result* (*encode)(const Tokenizer*, const char* text, Sequences*) = nullptr;
  const char* (*error)(const Result*) = nullptr;
  size_t (*size)(const Sequences*, size_t) = nullptr;
  const int32_t* (*ids)(const Sequences*, size_t) = nullptr;
};

Genai open_genai() {
  // It looks for ONNX Runtime by the name that the loaded one has.
  run::load_runtime();
  void* handle = nullptr;
  for (const fs::path& path : genai_candidates(run::runtime_path().parent_path()))
    if (handle == nullptr) handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    throw Error(ErrorCode::kRuntimeMissing, {.what = "the tokenizer's library, libonnxruntime-genai.so, is not found",
                                             .expected = "onnxruntime-genai 0.18 or later",
                                             .next = fmt::format("set {} to its path", kGenaiVariable)});
  Genai genai;
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    if (function == nullptr)
      throw Error(ErrorCode::kRuntimeMissing, {.what = fmt::format("libonnxruntime-genai.so has no {}", name),
                                               .expected = "onnxruntime-genai 0.18 or later"});
  };
  find("OgaCreateTokenizerFromPath", genai.create);
  find("OgaCreateSequences", genai.create_sequences);
  find("OgaTokenizerEncode", genai.encode);
  find("OgaResultGetError", genai.error);
  find("OgaSequencesGetSequenceCount", genai.size);
  find("OgaSequencesGetSequenceData", genai.ids);
  return genai;
}

void write_all(int fd, const void* data, size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t count = ::write(fd, at, size);
    if (count <= 0) _exit(1);
    at += count;
    size -= static_cast<size_t>(count);
  }
}

// In the child: the ids go down the pipe behind an 'i'; behind a letter that is an error's code, its words.
[[noreturn]] void tokenize(int fd, const fs::path& folder, const std::string& text) {
  const auto fail = [&](ErrorCode code, const std::string& words) {
    const char mark = static_cast<char>(code);
    write_all(fd, &mark, 1);
    write_all(fd, words.data(), words.size());
    _exit(0);
  };
  try {
    const Genai genai = open_genai();
    Genai::Tokenizer* tokenizer = nullptr;
    Genai::Sequences* sequences = nullptr;
    const auto check = [&](Genai::Result* result) {
      if (result != nullptr) fail(ErrorCode::kRuntimeFailed, genai.error(result));
    };
    check(genai.create(folder.c_str(), &tokenizer));
    check(genai.create_sequences(&sequences));
    check(genai.encode(tokenizer, text.c_str(), sequences));
    write_all(fd, "i", 1);
    write_all(fd, genai.ids(sequences, 0), genai.size(sequences, 0) * sizeof(int32_t));
  } catch (const Error& error) {
    fail(error.code(), error.what());
  } catch (const std::exception& error) {
    fail(ErrorCode::kRuntimeFailed, error.what());
  }
  _exit(0);
}

std::string read_to_end(int fd) {
  std::string content;
  std::array<char, 4096> piece;
  while (content.size() < kMostIds) {
    const ssize_t count = ::read(fd, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    content.append(piece.data(), static_cast<size_t>(count));
  }
  return content;
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
  const std::string words = normalized(checkpoint / kTokenizerFiles[0], text);
  const LinkedFolder folder(checkpoint);
  std::array<int, 2> ends = {};
  if (::pipe(ends.data()) != 0)
    throw Error(ErrorCode::kInternal, {.what = fmt::format("no pipe can be made: {}", std::strerror(errno))});
  UniqueFd from(ends[0]), to(ends[1]);
  const pid_t child = ::fork();
  if (child < 0)
    throw Error(ErrorCode::kOutOfBudget, {.what = fmt::format("no process can be made: {}", std::strerror(errno))});
  if (child == 0) {
    from.reset();
    const double timeout = limits().timeout;
    ::signal(SIGALRM, SIG_DFL);
    ::alarm(timeout > 0 ? static_cast<unsigned>(timeout) + 1 : kMostSeconds);
    tokenize(to.get(), folder.path(), words);
  }
  to.reset();
  const std::string content = read_to_end(from.get());
  from.reset();
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (content.empty() || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw Error(ErrorCode::kRuntimeFailed,
                {.what = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "the tokenizer does not come to an end"
                                                                            : "the tokenizer's library breaks",
                 .where = (checkpoint / kTokenizerFiles[0]).string(),
                 .next = "see whether onnxruntime-genai reads this tokenizer"});
  if (content.front() != 'i')
    throw Error(static_cast<ErrorCode>(content.front()),
                {.what = "the text cannot be tokenized: " + content.substr(1), .where = checkpoint.string()});
  std::vector<int32_t> ids((content.size() - 1) / sizeof(int32_t));
  std::memcpy(ids.data(), content.data() + 1, ids.size() * sizeof(int32_t));
  // Its way to say that it found nothing.
  if (std::ranges::any_of(ids, [](int32_t id) { return id < 0; }))
    throw Error(ErrorCode::kUnsupported,
                {.what = "the text cannot be tokenized: a piece of it has no token",
                 .where = (checkpoint / kTokenizerFiles[0]).string(),
                 .expected = "a tokenizer of a kind that onnxruntime-genai reads",
                 .next = "make the token ids with the tokenizers package and give them to `thaw run --input`"});
  return {ids.begin(), ids.end()};
}

}  // namespace thaw::media
