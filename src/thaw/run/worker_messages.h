// What Thaw asks of its worker, and what comes back.
//
// The worker runs models of strangers: what it sends is held against what it can be, sizes before all, and is a
// BadMessage or a thaw::Error otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/core/error.h"
#include "thaw/run/ort_session.h"
#include "thaw/run/providers.h"
#include "thaw/run/shared_memory.h"

namespace thaw::run {

struct LoadRequest {
  uint64_t session = 0;
  uint64_t max_memory = 0;  // bytes that the worker may hold; 0: what the system has left
  std::string path;         // absolute; empty: the model's bytes lie in the shared memory that comes along
  uint64_t bytes = 0;       // of the model in shared memory
  std::string folder;       // of external data, for a model in shared memory
  std::string where;        // for messages
  uint64_t data = 0;        // bytes of external data: mapped, not taken
  SessionOptions options;
  std::vector<ArrayView> weights = {};  // of a model in shared memory: those that lie in a memory of their own
};
std::string encode(const LoadRequest& request);
LoadRequest decode_load(std::string_view body, std::span<const std::byte> memory);

struct Ports {
  std::vector<Port> inputs, outputs;
  Runtime runtime;
  std::vector<std::string> warnings;
};
std::string encode(const Ports& ports);
Ports decode_ports(std::string_view body);

// Arrays in shared memory, each at a multiple of 64 bytes. Strings stand in the message.
uint64_t shared_bytes(std::span<const ArrayView> arrays);
void write_shared(std::span<const ArrayView> arrays, SharedFile& file);

// An input or output that stays in the worker, and what both sides call the array.
struct HeldName {
  std::string name;
  uint64_t number = 0;
};

struct RunRequest {
  uint64_t session = 0;
  uint64_t max_memory = 0;  // as above
  std::vector<std::string> wanted;
  std::vector<ArrayView> feeds;
  std::vector<HeldName> fed = {};     // inputs
  std::vector<HeldName> held = {};    // outputs, which get these numbers
  std::vector<uint64_t> let_go = {};  // that nobody holds any more
};
std::string encode(const RunRequest& request);
RunRequest decode_run(std::string_view body, std::span<const std::byte> memory);

struct Results {
  std::vector<ArrayView> arrays;
  std::vector<std::string> warnings;
};
std::string encode(const Results& results);
Results decode_results(std::string_view body, std::span<const std::byte> memory);

std::string encode(const Placement& placement);
Placement decode_placement(std::string_view body);

enum class TokenizerWork : uint8_t { kEncode, kDecode, kChatTemplate };

struct TokenizeRequest {
  uint64_t max_memory = 0;  // as above
  TokenizerWork work = TokenizerWork::kEncode;
  std::string folder, text;       // a text, or a chat's messages as JSON
  std::string chat_template;      // empty: the tokenizer's own
  std::vector<int32_t> ids = {};  // that are decoded
};
std::string encode(const TokenizeRequest& request);
TokenizeRequest decode_tokenize(std::string_view body);

struct Tokenized {
  std::vector<int32_t> ids;  // of a text
  std::string text;          // of ids, or of a chat
};
std::string encode(const Tokenized& answer);
Tokenized decode_tokenized(std::string_view body);

std::string encode(const Error& error);
Error decode_error(std::string_view body);

}  // namespace thaw::run
