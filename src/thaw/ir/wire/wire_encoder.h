// The protobuf wire format, written in one pass after one that measures.
//
// A nested message is preceded by its length, which is only known once it has been walked. The same code therefore runs
// twice over one Encoder: first measuring, which notes the length of each nested message in order, then writing, which
// takes them up in the same order. Nothing is buffered but those lengths.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "thaw/ir/wire/wire.h"

namespace thaw::ir::wire {

// Where the written bytes go. Small chunks are gathered before they are passed on; call flush() at the end.
class Sink {
 public:
  virtual ~Sink() = default;

  void write(std::string_view bytes) {
    if (bytes.size() > sizeof buffer_ - used_) {
      flush();
      if (bytes.size() >= sizeof buffer_) {
        pass_on(bytes);
        return;
      }
    }
    std::memcpy(buffer_ + used_, bytes.data(), bytes.size());
    used_ += bytes.size();
  }
  void flush() {
    if (used_ != 0) pass_on({buffer_, used_});
    used_ = 0;
  }

 protected:
  virtual void pass_on(std::string_view bytes) = 0;

 private:
  char buffer_[1 << 16];
  size_t used_ = 0;
};

constexpr int varint_size(uint64_t value) {
  int size = 1;
  while (value >= 0x80) {
    value >>= 7;
    ++size;
  }
  return size;
}

class Encoder {
 public:
  // Measures until write_to is called.
  bool measuring() const { return sink_ == nullptr; }
  uint64_t size() const { return size_; }
  void write_to(Sink& sink) {
    sink_ = &sink;
    next_length_ = 0;
  }
  Sink& sink() { return *sink_; }

  void raw(std::string_view bytes) {
    if (sink_) {
      if (!bytes.empty()) sink_->write(bytes);
    } else {
      size_ += bytes.size();
    }
  }

  void varint(uint64_t value) {
    if (!sink_) {
      size_ += static_cast<uint64_t>(varint_size(value));
      return;
    }
    char buffer[10];
    size_t n = 0;
    for (; value >= 0x80; value >>= 7) buffer[n++] = static_cast<char>(value | 0x80);
    buffer[n++] = static_cast<char>(value);
    sink_->write({buffer, n});
  }

  void integer(uint32_t number, int64_t value) {
    varint(varint_tag(number));
    varint(static_cast<uint64_t>(value));
  }
  void real(uint32_t number, float value) {
    varint(fixed32_tag(number));
    char bits[sizeof value];
    std::memcpy(bits, &value, sizeof value);
    raw({bits, sizeof bits});
  }
  void bytes(uint32_t number, std::string_view value) {
    header(number, value.size());
    raw(value);
  }
  // An optional text field: not written when empty (an explicitly empty one is among the kept bytes).
  void text(uint32_t number, std::string_view value) {
    if (!value.empty()) bytes(number, value);
  }
  // Tag and length of a length-delimited field whose content follows.
  void header(uint32_t number, uint64_t size) {
    varint(bytes_tag(number));
    varint(size);
  }

  template <typename Body>
  void message(uint32_t number, Body&& body) {
    if (sink_) {
      header(number, lengths_[next_length_++]);
      body();
      return;
    }
    const size_t slot = lengths_.size();
    lengths_.push_back(0);
    const uint64_t before = size_;
    body();
    lengths_[slot] = size_ - before;
    header(number, lengths_[slot]);
  }

  // Content that is measured without being at hand: counts when measuring.
  void add_size(uint64_t bytes) { size_ += bytes; }

 private:
  Sink* sink_ = nullptr;
  uint64_t size_ = 0;
  std::vector<uint64_t> lengths_;
  size_t next_length_ = 0;
};

}  // namespace thaw::ir::wire
