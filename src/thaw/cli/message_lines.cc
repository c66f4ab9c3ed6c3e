#include "thaw/cli/message_lines.h"

#include <array>
#include <cerrno>
#include <utility>

#include <unistd.h>

namespace thaw::cli {

void MessageLines::read() {
  std::array<char, size_t{64} << 10> buffer;
  const ssize_t got = ::read(fd_, buffer.data(), buffer.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  is_at_end_ = got <= 0;
  std::string_view text(buffer.data(), got > 0 ? static_cast<size_t>(got) : 0);
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    add(text.substr(0, end));
    end_line();
    text.remove_prefix(end + 1);
  }
  add(text);
  if (is_at_end_) end_line();
}

void MessageLines::add(std::string_view text) {
  is_too_long_ |= line_.size() + text.size() > kLongest;
  if (is_too_long_)
    line_.clear();
  else
    line_ += text;
}

void MessageLines::end_line() {
  const std::string line = std::exchange(line_, {});
  if (std::exchange(is_too_long_, false)) return refuse_();
  if (line.find_first_not_of(" \t\r") != std::string::npos) take_(line);
}

}  // namespace thaw::cli
