#include "thaw/error.h"

namespace thaw {
namespace {

// Names come from files: control characters in them must not end the line, cut the text or reach the terminal.
std::string on_one_line(const std::string& text) {
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

std::string sentence(const ErrorParts& parts) {
  std::string text;
  if (!parts.where.empty()) text += parts.where + ": ";
  text += parts.what;
  if (!parts.expected.empty()) text += "; expected " + parts.expected;
  if (!parts.next.empty()) text += "; " + parts.next;
  return on_one_line(text);
}

}  // namespace

std::string_view name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid-argument";
    case ErrorCode::kCannotRead:
      return "cannot-read";
    case ErrorCode::kCannotWrite:
      return "cannot-write";
    case ErrorCode::kInvalidFile:
      return "invalid-file";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kRuntimeMissing:
      return "runtime-missing";
    case ErrorCode::kRuntimeFailed:
      return "runtime-failed";
    case ErrorCode::kOutOfBudget:
      return "out-of-budget";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

Error::Error(ErrorCode code, ErrorParts parts)
    : std::runtime_error(sentence(parts)), code_(code), parts_(std::move(parts)) {}

}  // namespace thaw
