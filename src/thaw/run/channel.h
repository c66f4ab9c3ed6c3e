// A Unix socket over which Thaw and its worker send each other messages, with files among them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "thaw/core/fd.h"

namespace thaw::run {

using Deadline = std::optional<std::chrono::steady_clock::time_point>;  // none: as long as it takes

enum class MessageKind : uint32_t {
  kOpenChannel = 1,
  kLoad,
  kRun,
  kClose,
  kDone,
  kFailed,
  kGone,
  kTokenize,
  kOpen,
  kOpened,
  kPlacement
};

struct Message {
  MessageKind kind = MessageKind::kDone;
  std::string body;
  std::vector<UniqueFd> files;
};

enum class Sent : uint8_t {
  kDone,
  kClosed,  // the other end is gone
  kLate,    // the deadline passed
  kBroken,  // what came is no message of this version
};

class Channel {
 public:
  Channel() = default;
  explicit Channel(UniqueFd socket) : socket_(std::move(socket)) {}

  Sent send(MessageKind kind, const std::string& body, std::span<const int> files = {}, Deadline deadline = {});
  Sent receive(Message& message, Deadline deadline = {});
  int fd() const { return socket_.get(); }

 private:
  Sent wait(short events, Deadline deadline) const;
  Sent receive_bytes(char* data, size_t size, std::vector<UniqueFd>* files, Deadline deadline);

  UniqueFd socket_;
};

// Two ends, closed when another program is executed.
std::pair<UniqueFd, UniqueFd> socket_pair();

}  // namespace thaw::run
