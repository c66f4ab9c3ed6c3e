// Writes JSON straight into a string: no tree in between, so that a report of 100,000 values costs what its text costs.
//
// Objects and arrays are laid out one member a line, indented by two, unless they (or one around them) were begun with
// kLine: then they stand on one line. The caller keeps the nesting right; text that is not valid UTF-8 (names in a
// hostile model) is written with U+FFFD in place of each bad byte, so that the result is always valid JSON.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thaw::report {

class JsonWriter {
 public:
  enum class Layout : uint8_t { kLines, kLine };

  explicit JsonWriter(std::string& out) : out_(out) {}

  void begin_object(Layout layout = Layout::kLines) { begin('{', layout); }
  void end_object() { end('}'); }
  void begin_array(Layout layout = Layout::kLines) { begin('[', layout); }
  void end_array() { end(']'); }

  void key(std::string_view name);
  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(const std::string& text) { value(std::string_view(text)); }
  void value(std::same_as<bool> auto flag) { raw(flag ? "true" : "false"); }
  void value(std::integral auto number)
    requires(!std::same_as<decltype(number), bool>)
  {
    raw(std::to_string(number));
  }
  void value(double number);  // shortest text that reads back as the same number; null for NaN and infinities
  void null() { raw("null"); }
  void raw(std::string_view json);  // a value that is JSON already

  template <typename T>
  void member(std::string_view name, const T& item) {
    key(name);
    value(item);
  }
  // The member, unless its text is empty.
  void optional_member(std::string_view name, std::string_view text) {
    if (!text.empty()) member(name, text);
  }
  void member_object(std::string_view name, Layout layout = Layout::kLines) {
    key(name);
    begin_object(layout);
  }
  void member_array(std::string_view name, Layout layout = Layout::kLines) {
    key(name);
    begin_array(layout);
  }

 private:
  struct Level {
    bool line;   // all on one line
    bool empty;  // nothing written in it yet
  };
  void begin(char bracket, Layout layout);
  void end(char bracket);
  void before_item();
  void quoted(std::string_view text);

  std::string& out_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

inline constexpr auto kLine = JsonWriter::Layout::kLine;

}  // namespace thaw::report
