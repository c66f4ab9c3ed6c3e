#include "thaw/run/tokenize.h"

#include <system_error>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/run/message.h"
#include "thaw/run/runtime.h"
#include "thaw/run/worker.h"
#include "thaw/run/worker_messages.h"

namespace thaw::run {
namespace {

constexpr int kMostAttempts = 3;  // where the worker ended for another's sake

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code failed;
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    files.push_back(at->path());
  return files;
}

Tokenized ask_tokenizer(const TokenizeRequest& request) {
  require_time(request.folder);
  const std::shared_ptr<Worker> worker = Worker::current(access_of(process_providers()));
  std::unique_ptr<Worker::Line> line = worker->take_line();
  const HandedFiles files(files_in(request.folder));
  const Message answer = worker->ask(*line, MessageKind::kTokenize, encode(request), {}, deadline_of_request(), files);
  worker->give_back(std::move(line));
  if (answer.kind != MessageKind::kFailed) return decode_tokenized(answer.body);
  const Error refused = with_sandbox_named(decode_error(answer.body));
  if (!is_runtime_missing(refused)) throw refused;
  worker->look_further(refused);
  return ask_tokenizer(request);
}

Tokenized work_of_tokenizer(TokenizeRequest request) {
  request.max_memory = memory_of_request();
  for (int attempt = 1;; ++attempt) {
    try {
      return ask_tokenizer(request);
    } catch (const WorkerEnd& end) {
      if (end.for_other && attempt < kMostAttempts) continue;
      if (end.late) {
        const PastTime past = past_time();
        throw Error(ErrorCode::kOutOfBudget,
                    {.what = "the tokenizer was stopped " + past.after,
                     .expected = past.expected,
                     .next = "allow more with --timeout (thaw::Limits::timeout), or give a shorter text"});
      }
      throw Error(ErrorCode::kRuntimeFailed, {.what = "the tokenizer's library breaks",
                                              .expected = "a tokenizer that onnxruntime-genai reads",
                                              .next = "see whether onnxruntime-genai reads this one"});
    } catch (const BadMessage& error) {
      throw Error(ErrorCode::kRuntimeFailed,
                  {.what = std::string("the tokenizer's process gave an impossible answer: ") + error.what()});
    }
  }
}

}  // namespace

std::vector<int32_t> tokenize(const std::filesystem::path& folder, const std::string& text) {
  return work_of_tokenizer({.folder = folder.string(), .text = text}).ids;
}

std::string detokenize(const std::filesystem::path& folder, std::vector<int32_t> ids) {
  return work_of_tokenizer({.work = TokenizerWork::kDecode, .folder = folder.string(), .ids = std::move(ids)}).text;
}

std::string chat(const std::filesystem::path& folder, const std::string& messages, const std::string& chat_template) {
  return work_of_tokenizer({.work = TokenizerWork::kChatTemplate,
                            .folder = folder.string(),
                            .text = messages,
                            .chat_template = chat_template})
      .text;
}

}  // namespace thaw::run
