// Messages of a line each, from a descriptor that is read when there is something.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace thaw::cli {

class MessageLines {
 public:
  static constexpr size_t kLongest = size_t{4} << 20;

  // `take`: called with each line that is not empty. `refuse`: called in place of it for one that is too long, of which nothing is kept.
  MessageLines(int fd, std::function<void(const std::string&)> take, std::function<void()> refuse)
      : fd_(fd), take_(std::move(take)), refuse_(std::move(refuse)) {}

  // Reads once. A last line needs no line break.
  void read();
  bool is_at_end() const { return is_at_end_; }

 private:
  void add(std::string_view text);
  void end_line();

  int fd_;
  std::function<void(const std::string&)> take_;
  std::function<void()> refuse_;
  std::string line_;
  bool is_at_end_ = false, is_too_long_ = false;
};

}  // namespace thaw::cli
