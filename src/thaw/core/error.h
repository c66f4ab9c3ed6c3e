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
    return text;
  }

  ErrorParts parts_;
};

}  // namespace thaw
