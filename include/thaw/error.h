// The exception type of Thaw.
//
// what() is one sentence: what was wrong, where (file, node, tensor), what was expected and what to do next. parts() has these
// separately, as JSON has them. The code is for programs; docs/library.md says what to do about each.
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
  kUnsupported = 5,      // the file is valid, and has something that this function does not support
  kRuntimeMissing = 6,   // ONNX Runtime is missing or too old
  kRuntimeFailed = 7,    // ONNX Runtime does not load the model, or fails at run time
  kOutOfBudget = 8,      // more memory, time or work than there is or than thaw/limits.h allows
  kInternal = 9,         // a bug in Thaw
};

// "invalid_argument", "cannot_read", …: as in JSON.
THAW_API std::string_view name_of(ErrorCode code);

// The parts of a message. All but `what` may be empty.
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
