#include "thaw/verbs/failure_hint.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace thaw::verbs {
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

// What ONNX Runtime lacks, and where to go.
struct Lack {
  std::string_view words, expected, next;
};

constexpr std::string_view kOperators = "operators that ONNX Runtime knows by itself";
constexpr std::string_view kWithoutThem =
    "run it where a library registers them; inspect, check, and fix and batch with --no-check do without ONNX Runtime";
constexpr std::string_view kKernels = "operators that ONNX Runtime has kernels for, in this opset and of these types";
constexpr std::string_view kOtherKernels = "convert the model to supported types or another opset";

constexpr Lack kLacks[] = {
    {"is not a registered function/op", kOperators, kWithoutThem},
    {"No opset import for domain", kOperators, kWithoutThem},
    {"Could not find an implementation", kKernels, kOtherKernels},
    {"Failed to find kernel", kKernels, kOtherKernels},
};

}  // namespace

Error with_rule(const Error& failure, const std::string& model) {
  ErrorParts parts = failure.parts();
  const std::string_view message = failure.what();
  const auto says = [&](std::string_view words) { return message.find(words) != std::string_view::npos; };
  const auto* lack = std::ranges::find_if(kLacks, says, &Lack::words);
  if (parts.expected.empty())
    parts.expected =
        lack != std::end(kLacks) ? lack->expected : "a model that runs in ONNX Runtime with what it is fed";
  if (lack != std::end(kLacks)) {
    if (parts.next.empty()) parts.next = lack->next;
    return {failure.code(), std::move(parts)};
  }
  std::string hint = fmt::format("`thaw check {}` looks for the cause", model);
  for (const Symptom& symptom : kSymptoms) {
    if (!says(symptom.words)) continue;
    hint = fmt::format("`thaw check {}` says where it comes from, `thaw rule {}` what it is", model, symptom.code);
    break;
  }
  parts.next += (parts.next.empty() ? "" : "; ") + hint;
  return {failure.code(), std::move(parts)};
}

}  // namespace thaw::verbs
