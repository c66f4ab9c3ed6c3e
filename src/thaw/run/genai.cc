#include "thaw/run/genai.h"

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <system_error>
#include <type_traits>

#include <dlfcn.h>
#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/run/python.h"
#include "thaw/run/runtime.h"

namespace thaw::run {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGenaiLibrary = "libonnxruntime-genai.so";
constexpr const char* kGenaiPackage = "onnxruntime_genai";
constexpr const char* kGenaiVariable = "THAW_ONNXRUNTIME_GENAI";

}  // namespace

std::vector<fs::path> genai_candidates(const std::vector<fs::path>& runtimes) {
  if (const char* chosen = std::getenv(kGenaiVariable); chosen != nullptr && *chosen != '\0') {
    std::error_code failed;
    return {fs::is_directory(chosen, failed) ? fs::path(chosen) / kGenaiLibrary : fs::path(chosen)};
  }
  std::vector<fs::path> paths;
  for (const fs::path& runtime : runtimes) {
    if (!runtime.has_parent_path()) continue;
    const fs::path folder = runtime.parent_path();
    paths.push_back(folder / kGenaiLibrary);
    // Of wheels: onnxruntime/capi/, and onnxruntime_genai/ beside it.
    if (folder.filename() == "capi")
      paths.push_back(folder.parent_path().parent_path() / kGenaiPackage / kGenaiLibrary);
  }
  const auto site = own_site();
  if (site) paths.push_back(*site / kGenaiPackage / kGenaiLibrary);
  paths.emplace_back(kGenaiLibrary);
  return paths;
}

namespace {

// What of the library's C interface is used (ort_genai_c.h): a result that is null is fine.
struct Genai {
  struct Result;
  struct Tokenizer;
  struct Sequences;
  Result* (*create)(const char* folder, Tokenizer** tokenizer) = nullptr;
  Result* (*create_sequences)(Sequences** sequences) = nullptr;
  Result* (*encode)(const Tokenizer*, const char* text, Sequences*) = nullptr;
  Result* (*decode)(const Tokenizer*, const int32_t* ids, size_t count, const char** text) = nullptr;
  Result* (*chat)(const Tokenizer*, const char* chat_template, const char* messages, const char* tools,
                  bool adds_answer, const char** text) = nullptr;
  void (*destroy_string)(const char*) = nullptr;
  const char* (*error)(const Result*) = nullptr;
  size_t (*size)(const Sequences*, size_t) = nullptr;
  const int32_t* (*ids)(const Sequences*, size_t) = nullptr;
  void (*destroy_result)(Result*) = nullptr;
  void (*destroy_tokenizer)(Tokenizer*) = nullptr;
  void (*destroy_sequences)(Sequences*) = nullptr;
};

Genai open_genai() {
  // It looks for ONNX Runtime by the name that the loaded one has.
  load_runtime();
  void* handle = nullptr;
  std::string places;
  for (const fs::path& path : genai_candidates({runtime_path()})) {
    if (handle == nullptr) handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    places += (places.empty() ? "" : ", ") + path.string();
  }
  if (handle == nullptr)
    throw Error(ErrorCode::kRuntimeMissing,
                {.what = "the tokenizer's library, libonnxruntime-genai.so, is not found",
                 .where = places,
                 .expected = "onnxruntime-genai 0.18 or later",
                 .next = fmt::format("pip install onnxruntime-genai, or set {} to its path", kGenaiVariable)});
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
  find("OgaTokenizerDecode", genai.decode);
  find("OgaTokenizerApplyChatTemplate", genai.chat);
  find("OgaDestroyString", genai.destroy_string);
  find("OgaResultGetError", genai.error);
  find("OgaSequencesGetSequenceCount", genai.size);
  find("OgaSequencesGetSequenceData", genai.ids);
  find("OgaDestroyResult", genai.destroy_result);
  find("OgaDestroyTokenizer", genai.destroy_tokenizer);
  find("OgaDestroySequences", genai.destroy_sequences);
  return genai;
}

const Genai& genai() {
  static const Genai functions = open_genai();
  return functions;
}

void check(Genai::Result* result) {
  if (result == nullptr) return;
  const std::string words = genai().error(result);
  genai().destroy_result(result);
  throw Error(ErrorCode::kRuntimeFailed, {.what = "onnxruntime-genai: " + words});
}

std::shared_ptr<Genai::Tokenizer> tokenizer_of(const std::string& folder) {
  static std::mutex mutex;
  static std::string known_folder;
  static std::shared_ptr<Genai::Tokenizer> known;
  const std::lock_guard lock(mutex);
  if (known && known_folder == folder) return known;
  Genai::Tokenizer* opened = nullptr;
  check(genai().create(folder.c_str(), &opened));
  known.reset(opened, genai().destroy_tokenizer);
  known_folder = folder;
  return known;
}

std::string taken(const char* text) {
  const std::unique_ptr<const char, void (*)(const char*)> owner(text, genai().destroy_string);
  return text == nullptr ? "" : text;
}

}  // namespace

Tokenized genai_tokenize(const TokenizeRequest& request) {
  const std::shared_ptr<Genai::Tokenizer> tokenizer = tokenizer_of(request.folder);
  const char* text = nullptr;
  switch (request.work) {
    case TokenizerWork::kDecode:
      check(genai().decode(tokenizer.get(), request.ids.data(), request.ids.size(), &text));
      return {.ids = {}, .text = taken(text)};
    case TokenizerWork::kChatTemplate: {
      const char* own = request.chat_template.empty() ? nullptr : request.chat_template.c_str();
      check(genai().chat(tokenizer.get(), own, request.text.c_str(), nullptr, /*adds_answer=*/true, &text));
      return {.ids = {}, .text = taken(text)};
    }
    default:
      break;
  }
  Genai::Sequences* sequences = nullptr;
  check(genai().create_sequences(&sequences));
  const std::unique_ptr<Genai::Sequences, void (*)(Genai::Sequences*)> made(sequences, genai().destroy_sequences);
  check(genai().encode(tokenizer.get(), request.text.c_str(), sequences));
  const int32_t* ids = genai().ids(sequences, 0);
  return {.ids = {ids, ids + genai().size(sequences, 0)}, .text = {}};
}

}  // namespace thaw::run
