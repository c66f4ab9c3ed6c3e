// The protobuf wire format, read: fields one after the other, every length checked.
//
// A Reader walks the fields of one message. Known fields are recognized by their tag (number and wire type together), so that
// a known number with another wire type falls among the unknown ones, as protobuf does it; `whole` keeps such fields as
// they are. Malformed bytes throw wire::Malformed, which the model reader turns into a thaw::Error with file and
// offset.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace thaw::ir::wire {

enum WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kGroupStart = 3, kGroupEnd = 4, kFixed32 = 5 };

constexpr uint32_t tag(uint32_t number, WireType type) { return number << 3 | type; }
constexpr uint32_t varint_tag(uint32_t number) { return tag(number, kVarint); }
constexpr uint32_t bytes_tag(uint32_t number) { return tag(number, kBytes); }
constexpr uint32_t fixed32_tag(uint32_t number) { return tag(number, kFixed32); }

struct Malformed {
  std::string what;
  const char* at;  // where in the bytes
};

struct Field {
  uint32_t tag = 0;
  uint64_t number_value = 0;  // varint and fixed fields; float and double as their bits
  std::string_view bytes;     // length-delimited fields: the content
  std::string_view whole;     // the field with its tag

  int64_t as_int64() const { return static_cast<int64_t>(number_value); }
  int32_t as_int32() const { return static_cast<int32_t>(number_value); }
  float as_float() const {
    const auto bits = static_cast<uint32_t>(number_value);
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
};

inline constexpr int kMaxGroupDepth = 100;

class Reader {
 public:
  explicit Reader(std::string_view message) : at_(message.data()), end_(message.data() + message.size()) {}

  // The next field; false at the end of the message.
  bool next(Field& field) {
    if (at_ == end_) return false;
    const char* begin = at_;
    const uint64_t tag = varint();
    if (tag >> 3 == 0 || tag >> 32 != 0) throw Malformed{"field number out of range", begin};
    field.tag = static_cast<uint32_t>(tag);
    switch (tag & 7) {
      case kVarint:
        field.number_value = varint();
        break;
      case kFixed64:
        field.number_value = fixed<uint64_t>();
        break;
      case kFixed32:
        field.number_value = fixed<uint32_t>();
        break;
      case kBytes: {
        const uint64_t size = varint();
        if (size > left()) too_long(tag, size, begin);
        field.bytes = {at_, static_cast<size_t>(size)};
        at_ += size;
        break;
      }
      case kGroupStart:
        skip_group(static_cast<uint32_t>(tag >> 3));
        break;
      default:
        throw Malformed{"wire type " + std::to_string(tag & 7) + " where a field should begin", begin};
    }
    field.whole = {begin, static_cast<size_t>(at_ - begin)};
    return true;
  }

  bool done() const { return at_ == end_; }
  uint64_t left() const { return static_cast<uint64_t>(end_ - at_); }

  uint64_t varint() {
    // Most numbers, lengths and tags take one byte.
    if (at_ != end_ && static_cast<uint8_t>(*at_) < 0x80) return static_cast<uint8_t>(*at_++);
    return long_varint();
  }

  template <typename T>
  T fixed() {
    if (left() < sizeof(T)) throw Malformed{"truncated inside a number", at_};
    T value;
    std::memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

 private:
  uint64_t long_varint() {
    const char* begin = at_;
    uint64_t value = 0;
    for (int shift = 0; shift <= 63; shift += 7) {
      if (at_ == end_) throw Malformed{"truncated inside a number", begin};
      const auto byte = static_cast<uint8_t>(*at_++);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) {
        if (shift == 63 && byte > 1) break;
        return value;
      }
    }
    throw Malformed{"number of more than 64 bits", begin};
  }

  [[noreturn]] void too_long(uint64_t tag, uint64_t size, const char* begin) const {
    throw Malformed{"field " + std::to_string(tag >> 3) + " says it has " + std::to_string(size) + " bytes, but " +
                        std::to_string(left()) + " are left",
                    begin};
  }

  // Steps over a group's fields to its end tag; groups nest, and their numbers must match.
  void skip_group(uint32_t number) {
    uint32_t open[kMaxGroupDepth];
    int depth = 0;
    open[depth++] = number;
    while (depth > 0) {
      if (at_ == end_) throw Malformed{"group without end", at_};
      const char* begin = at_;
      const uint64_t tag = varint();
      if (tag >> 3 == 0 || tag >> 32 != 0) throw Malformed{"field number out of range", begin};
      switch (tag & 7) {
        case kVarint:
          varint();
          break;
        case kFixed64:
          fixed<uint64_t>();
          break;
        case kFixed32:
          fixed<uint32_t>();
          break;
        case kBytes: {
          const uint64_t size = varint();
          if (size > left()) throw Malformed{"truncated inside a group", begin};
          at_ += size;
          break;
        }
        case kGroupStart:
          if (depth == kMaxGroupDepth) throw Malformed{"groups nest too deeply", begin};
          open[depth++] = static_cast<uint32_t>(tag >> 3);
          break;
        case kGroupEnd:
          if (open[--depth] != tag >> 3) throw Malformed{"group ends that did not begin", begin};
          break;
        default:
          throw Malformed{"unknown wire type", begin};
      }
    }
  }

  const char* at_;
  const char* end_;
};

}  // namespace thaw::ir::wire
