#include "thaw/report/json_writer.h"

#include <array>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "thaw/report/printable.h"

namespace thaw::report {
namespace {

// Which bytes stand for themselves between quotes.
constexpr auto kPlain = [] {
  std::array<bool, 256> plain{};
  for (size_t c = 0x20; c < 0x7f; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

bool is_plain(uint64_t word) {
  constexpr uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;
  // Sets the high bit of a byte that is zero, and at most of some above it: enough to tell that there is one.
  const auto zeros = [](uint64_t bytes) { return (bytes - kOnes) & ~bytes; };
  const uint64_t odd =
      word | (word - 0x20 * kOnes) | (word + kOnes) | zeros(word ^ '"' * kOnes) | zeros(word ^ '\\' * kOnes);
  return (odd & kHighs) == 0;
}

// How many bytes at the start of `text` stand for themselves: nearly always all of them, so eight are tried at a time.
size_t plain_length(std::string_view text) {
  const auto plain_at = [&](size_t i) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, sizeof word);
    return is_plain(word);
  };
  size_t i = 0;
  if (text.size() >= 8) {
    const size_t last = text.size() - 8;
    while (i < last && plain_at(i)) i += 8;
    if (i >= last && plain_at(last)) return text.size();
  }
  while (i < text.size() && kPlain[static_cast<unsigned char>(text[i])]) ++i;
  return i;
}

}  // namespace

void JsonWriter::before_item() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (levels_.empty()) return;
  Level& level = levels_.back();
  if (!level.empty) out_ += level.line ? ", " : ",";
  if (!level.line) out_.append("\n").append(2 * levels_.size(), ' ');
  level.empty = false;
}

void JsonWriter::begin(char bracket, Layout layout) {
  before_item();
  out_ += bracket;
  levels_.push_back({layout == Layout::kLine || (!levels_.empty() && levels_.back().line), true});
}

void JsonWriter::end(char bracket) {
  const Level level = levels_.back();
  levels_.pop_back();
  if (!level.line && !level.empty) out_.append("\n").append(2 * levels_.size(), ' ');
  out_ += bracket;
}

void JsonWriter::key(std::string_view name) {
  before_item();
  quoted(name);
  out_ += ": ";
  after_key_ = true;
}

void JsonWriter::value(std::string_view text) {
  before_item();
  quoted(text);
}

void JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  raw(fmt::format("{}", number));
}

void JsonWriter::raw(std::string_view json) {
  before_item();
  out_ += json;
}

void JsonWriter::quoted(std::string_view text) {
  out_ += '"';
  size_t done = 0;
  for (size_t i = plain_length(text); i < text.size(); i += plain_length(text.substr(i))) {
    const auto c = static_cast<unsigned char>(text[i]);
    const size_t length = utf8_length(text.substr(i));
    if (length > 1) {
      if (const uint32_t hidden = hidden_code(text.substr(i)); hidden != 0) {
        out_.append(text, done, i - done);
        out_ += json_escape(hidden);
        done = i + length;
      }
      i += length;
      continue;
    }
    out_.append(text, done, i - done);
    if (length == 0) {
      out_ += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      out_ += '\\';
      out_ += text[i];
    } else if (c == '\n') {
      out_ += "\\n";
    } else if (c == '\t') {
      out_ += "\\t";
    } else {
      out_ += fmt::format("\\u{:04x}", c);
    }
    done = ++i;
  }
  out_.append(text, done);
  out_ += '"';
}

}  // namespace thaw::report
