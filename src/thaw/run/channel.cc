#include "thaw/run/channel.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <poll.h>
#include <sys/socket.h>

#include "thaw/core/cancel.h"
#include "thaw/core/error.h"
#include "thaw/version.h"

namespace thaw::run {
namespace {

constexpr size_t kMostFiles = 2;
constexpr int kBetweenLooks = 100;                  // milliseconds, at whether calls are cancelled
constexpr uint64_t kMostBytes = uint64_t{1} << 28;  // arrays do not travel in messages, strings do

// FNV-1a of the version: messages are understood by the same build only.
constexpr uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

struct MessageHeader {
  uint64_t version;
  uint64_t size;  // of the body
  uint32_t kind;
  uint32_t files;
};

constexpr uint64_t kProtocol = 4;  // counts changes of what messages hold
const uint64_t kVersionOfMessages = hash_of(kVersion) + kProtocol;

int milliseconds_left(const Deadline& deadline) {
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30));
}

}  // namespace

std::pair<UniqueFd, UniqueFd> socket_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw Error(ErrorCode::kRuntimeFailed,
                {.what = std::string("a socket to ONNX Runtime's process cannot be made: ") + std::strerror(errno)});
  }
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Sent Channel::wait(short events, Deadline deadline) const {
  while (true) {
    pollfd one{socket_.get(), events, 0};
    const int left = milliseconds_left(deadline);
    const int ready = ::poll(&one, 1, left < 0 ? kBetweenLooks : std::min(left, kBetweenLooks));
    if (ready > 0) return Sent::kDone;
    if (is_cancelled() || (ready == 0 && milliseconds_left(deadline) == 0)) return Sent::kLate;
    if (ready < 0 && errno != EINTR && errno != EAGAIN) return Sent::kClosed;
  }
}

Sent Channel::send(MessageKind kind, const std::string& body, std::span<const int> files, Deadline deadline) {
  if (body.size() > kMostBytes || files.size() > kMostFiles) return Sent::kBroken;
  const MessageHeader header{kVersionOfMessages, body.size(), static_cast<uint32_t>(kind),
                             static_cast<uint32_t>(files.size())};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes += body;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostFiles * sizeof(int))> space{};
  size_t done = 0;
  while (done < bytes.size()) {
    iovec part{bytes.data() + done, bytes.size() - done};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (done == 0 && !files.empty()) {
      message.msg_control = space.data();
      message.msg_controllen = CMSG_SPACE(files.size_bytes());
      cmsghdr* control = CMSG_FIRSTHDR(&message);
      control->cmsg_level = SOL_SOCKET;
      control->cmsg_type = SCM_RIGHTS;
      control->cmsg_len = CMSG_LEN(files.size_bytes());
      std::memcpy(CMSG_DATA(control), files.data(), files.size_bytes());
    }
    const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      done += static_cast<size_t>(sent);
    } else if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (const Sent waited = wait(POLLOUT, deadline); waited != Sent::kDone) return waited;
    } else if (sent < 0 && errno != EINTR) {
      return Sent::kClosed;
    }
  }
  return Sent::kDone;
}

Sent Channel::receive_bytes(char* data, size_t size, std::vector<UniqueFd>* files, Deadline deadline) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostFiles * sizeof(int))> space{};
  while (size > 0) {
    iovec part{data, size};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = space.data();
    message.msg_controllen = space.size();
    const ssize_t got = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (const Sent waited = wait(POLLIN, deadline); waited != Sent::kDone) return waited;
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Sent::kClosed;
    for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr; control = CMSG_NXTHDR(&message, control)) {
      if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
      const size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(control) + i * sizeof(int), sizeof(int));
        UniqueFd owned(fd);  // closed where nobody asked for it
        if (files != nullptr) files->push_back(std::move(owned));
      }
    }
    data += got;
    size -= static_cast<size_t>(got);
  }
  return Sent::kDone;
}

Sent Channel::receive(Message& message, Deadline deadline) {
  message = {};
  MessageHeader header{};
  const Sent begun = receive_bytes(reinterpret_cast<char*>(&header), sizeof header, &message.files, deadline);
  if (begun != Sent::kDone) return begun;
  if (header.version != kVersionOfMessages || header.size > kMostBytes || header.files != message.files.size())
    return Sent::kBroken;
  message.kind = static_cast<MessageKind>(header.kind);
  message.body.resize(header.size);
  return receive_bytes(message.body.data(), message.body.size(), nullptr, deadline);
}

}  // namespace thaw::run
