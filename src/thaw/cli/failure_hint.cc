#include "thaw/cli/failure_hint.h"

#include <string_view>

#include <fmt/format.h>

namespace thaw::cli {
namespace {

// Words of ONNX Runtime's messages, as of 1.16 to 1.22, and what is behind them most often.
struct Symptom {
  std::string_view words, code;
};

constexpr Symptom kSymptoms[] = {
    {"re-use buffer", "THAW003"},
    {"Shape mismatch attempting", "THAW003"},
    {"existing shape differ", "THAW005"},
    {"cannot be reshaped to the requested shape", "THAW010"},
    {"Cannot split using values", "THAW011"},
    {"Attempting to broadcast an axis by a dimension other than 1", "THAW013"},
    {"incompatible dimensions", "THAW013"},
    {"Incompatible dimensions", "THAW013"},
    {"indices element out of data bounds", "THAW014"},
    {"Got invalid dimensions for input", "THAW015"},
    {"bound to different types", "THAW021"},
};

}  // namespace

Error with_rule(const Error& failure, const std::string& model) {
  ErrorParts parts = failure.parts();
  const std::string_view message = failure.what();
  std::string hint = fmt::format("`thaw check {}` looks for the cause", model);
  for (const Symptom& symptom : kSymptoms) {
    if (message.find(symptom.words) == std::string_view::npos) continue;
    hint = fmt::format("`thaw check {}` says where it comes from, `thaw rule {}` what it is", model, symptom.code);
    break;
  }
  parts.next += (parts.next.empty() ? "" : "; ") + hint;
  return {failure.code(), std::move(parts)};
}

}  // namespace thaw::cli
