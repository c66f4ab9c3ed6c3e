// What a message between Thaw and its worker is made of: numbers and texts, one after the other. Both run on one machine
// and are built from one source, so that numbers are as they lie in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace thaw::run {

// A message that is cut off or claims what cannot be.
struct BadMessage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class MessageWriter {
 public:
  template <typename T>
  void put(T value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    std::memcpy(bytes_.data() + at, &value, sizeof(T));
  }
  void text(std::string_view text) {
    put<uint64_t>(text.size());
    bytes_.append(text);
  }
  template <typename T>
  void numbers(std::span<const T> values) {
    put<uint64_t>(values.size());
    for (const T value : values) put(value);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T take() {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    T value;
    std::memcpy(&value, raw(sizeof(T)).data(), sizeof(T));
    return value;
  }
  bool flag() { return take<uint8_t>() != 0; }
  std::string text() { return std::string(raw(take<uint64_t>())); }
  template <typename T>
  std::vector<T> numbers() {
    std::vector<T> values(count(sizeof(T)));
    for (T& value : values) value = take<T>();
    return values;
  }
  // How many things follow that take `least` bytes or more each: no more than there is room for.
  size_t count(size_t least) {
    const auto count = take<uint64_t>();
    if (count > bytes_.size() / least) throw BadMessage("a count is larger than its message");
    return count;
  }
  // Throws unless all was read.
  void end() const {
    if (!bytes_.empty()) throw BadMessage("a message is longer than what it says");
  }

 private:
  std::string_view raw(uint64_t size) {
    if (size > bytes_.size()) throw BadMessage("a message is cut off");
    const std::string_view part = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return part;
  }
  std::string_view bytes_;
};

}  // namespace thaw::run
