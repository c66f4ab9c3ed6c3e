// The one exception type of Thaw.
//
// An Error is one sentence that says what was wrong, where (file, node, tensor), what was expected and what to do next.
// The pieces are kept apart so that a JSON report can carry them as fields; `what()` is the sentence.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace thaw {

// The parts of an error message. `what` is required, the others may be empty.
struct ErrorParts {
  std::string what;           // what was wrong: "external data ends at byte 812, past the file's 640 bytes"
  std::string where = {};     // file, node or tensor: "model.onnx, initializer 'conv1.weight'"
  std::string expected = {};  // what would have been right: "offset + length within the file"
  std::string next = {};      // what to do: "fetch the data file again"
};

class Error : public std::runtime_error {
 public:
  explicit Error(ErrorParts parts) : std::runtime_error(sentence(parts)), parts_(std::move(parts)) {}

  const ErrorParts& parts() const { return parts_; }

 private:
  static std::string sentence(const ErrorParts& parts) {
    std::string text;
    if (!parts.where.empty()) text += parts.where + ": ";
    text += parts.what;
    if (!parts.expected.empty()) text += "; expected " + parts.expected;
    if (!parts.next.empty()) text += "; " + parts.next;
    return on_one_line(text);
  }

  // Names come from files: control characters in them must not end the line, cut the text or reach the terminal.
  static std::string on_one_line(const std::string& text) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string shown;
    shown.reserve(text.size());
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte >= 0x20 && byte != 0x7f) {
        shown += c;
      } else {
        shown += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
      }
    }
    return shown;
  }

  ErrorParts parts_;
};

}  // namespace thaw
