#include "thaw/report/json_writer.h"

#include <cmath>

#include <fmt/format.h>

#include "thaw/report/printable.h"

namespace thaw::report {

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
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
      ++i;
      continue;
    }
    const size_t length = utf8_length(text.substr(i));
    if (length > 1) {
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
