// The one exception type of Thaw.
//
// An Error is one sentence that says what was wrong, where (file, node, tensor), what was expected and what to do next.
// The pieces are kept apart so that a JSON report can carry them as fields; `what()` is the sentence. The code is for
// programs: docs/library.md has what each means, and what to do about it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "thaw/export.h"

namespace thaw {

// The numbers never change; new ones are added at the end.
enum class ErrorCode : uint8_t {
  kInvalidArgument = 1,  // the call is wrong: an option, a name or a size that the model does not have
  kCannotRead = 2,       // a file or folder is not there or cannot be read
  kCannotWrite = 3,      // a file cannot be written; what was there before still is
  kInvalidFile = 4,      // a file is not what it should be: truncated, malformed, outside its folder
  kUnsupported = 5,      // the file is valid, and has something that this verb cannot treat
  kRuntimeMissing = 6,   // ONNX Runtime is not there or too old
  kRuntimeFailed = 7,    // ONNX Runtime refuses the model or stops while it runs
  kOutOfBudget = 8,      // more memory or work than there is or than was allowed
  kInternal = 9,         // a bug in Thaw
};

// "invalid-argument", "cannot-read", …: the word that --format json carries.
THAW_API std::string_view name_of(ErrorCode code);

// The parts of an error message. `what` is required, the others may be empty.
struct ErrorParts {
  std::string what;           // what was wrong: "external data ends at byte 812, past the file's 640 bytes"
  std::string where = {};     // file, node or tensor: "model.onnx, initializer 'conv1.weight'"
  std::string expected = {};  // what would have been right: "offset + length within the file"
  std::string next = {};      // what to do: "fetch the data file again"
};

class THAW_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, ErrorParts parts);

  ErrorCode code() const { return code_; }
  const ErrorParts& parts() const { return parts_; }

 private:
  ErrorCode code_;
  ErrorParts parts_;
};

// {"schema", "error": {"code", "what", "where", "expected", "next"}}, as every verb prints it with --format json.
THAW_API std::string to_json(const Error& error);

}  // namespace thaw
