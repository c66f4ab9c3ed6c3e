#include "thaw/error.h"

#include "thaw/core/printable.h"

namespace thaw {
namespace {

std::string sentence(const ErrorParts& parts) {
  std::string text;
  if (!parts.where.empty()) text += parts.where + ": ";
  text += parts.what;
  if (!parts.expected.empty()) text += "; expected " + parts.expected;
  if (!parts.next.empty()) text += "; " + parts.next;
  return printable(text);
}

}  // namespace

std::string_view name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kCannotRead:
      return "cannot_read";
    case ErrorCode::kCannotWrite:
      return "cannot_write";
    case ErrorCode::kInvalidFile:
      return "invalid_file";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kRuntimeMissing:
      return "runtime_missing";
    case ErrorCode::kRuntimeFailed:
      return "runtime_failed";
    case ErrorCode::kOutOfBudget:
      return "out_of_budget";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

Error::Error(ErrorCode code, ErrorParts parts)
    : std::runtime_error(sentence(parts)), code_(code), parts_(std::move(parts)) {}

}  // namespace thaw
