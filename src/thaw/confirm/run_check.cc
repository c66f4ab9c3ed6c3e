#include "thaw/confirm/run_check.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/core/memory.h"
#include "thaw/run/compare.h"
#include "thaw/run/elements.h"
#include "thaw/run/session.h"
#include "thaw/run/summary.h"

namespace thaw::confirm {
namespace {

constexpr double kAgreesIn16Bits = 1e-2;

double largest_of(const Array& array) {
  const run::Summary summary = run::summarize(array);
  return std::max(std::abs(summary.lowest.value_or(0)), std::abs(summary.highest.value_or(0)));
}

}  // namespace

uint64_t weight_bytes(const ir::Model& model) {
  uint64_t bytes = 0;
  for (const ir::Value* value : model.graph->initializers()) bytes += value->initializer()->num_bytes();
  return bytes;
}

std::string lacks_memory(const ir::Model& model) {
  const uint64_t weights = weight_bytes(model);
  const auto left = memory_to_take();
  // ONNX Runtime holds weights as they are and as its kernels want them.
  if (!left || weights <= *left / 2) return {};
  constexpr double kGigabyte = 1e9;
  return fmt::format("running it takes about twice the {:.1f} GB of its weights, and {:.1f} GB of memory are left",
                     static_cast<double>(weights) / kGigabyte, static_cast<double>(*left) / kGigabyte);
}

SessionOptions check_session() { return {.memory_pattern = false, .memory_arena = false, .spinning = false}; }

void note_inputs(const Arrays& feeds, RunCheck& check) {
  for (const auto& [name, array] : feeds) check.inputs.emplace_back(name, run::describe(array));
  check.runtime = run::last_runtime();
}

void fail_check(RunCheck& check, std::string message) {
  check.agrees = false;
  check.max_abs_diff = std::numeric_limits<double>::infinity();
  if (check.message.empty()) check.message = std::move(message);
}

Closeness closeness_of(const ir::Model& model) {
  Closeness closeness;
  for (const ir::Value* value : model.graph->initializers()) {
    const ir::DataType type = value->initializer()->data_type;
    if (ir::is_floating(type) && ir::bits_of(type) <= 16 && value->initializer()->dims.size() > 1)
      closeness.share = kAgreesIn16Bits;
  }
  return closeness;
}

void compare_output(const std::string& name, const Array& wanted, const Array& got, RunCheck& check,
                    const Closeness& closeness) {
  const run::Comparison result = run::compare(got, wanted, {});
  if (result.comparable) check.elements += static_cast<uint64_t>(wanted.num_elements());
  if (!result.comparable) return fail_check(check, fmt::format("output '{}' {}", name, result.reason));
  if (wanted.is_string() || run::is_complex(wanted.dtype) || result.not_finite > 0) {
    if (!result.agrees) return fail_check(check, fmt::format("output '{}': {}", name, result.reason));
    check.max_abs_diff = std::max(check.max_abs_diff, result.max_abs_diff);
    return;
  }
  const double largest = largest_of(wanted);
  if (result.max_abs_diff >= check.max_abs_diff) {
    check.max_abs_expected =
        result.max_abs_diff > check.max_abs_diff ? largest : std::max(check.max_abs_expected, largest);
    check.max_abs_diff = result.max_abs_diff;
  }
  const double share =
      ir::is_floating(wanted.dtype) && ir::bits_of(wanted.dtype) <= 16 ? kAgreesIn16Bits : closeness.share;
  if (result.max_abs_diff <= share * std::max(largest, closeness.least_scale)) return;
  check.agrees = false;
  if (check.message.empty())
    check.message = fmt::format("output '{}' differs: max abs diff {:.3g} (max |output| {:.3g})", name,
                                result.max_abs_diff, largest);
}

void compare_outputs(const Arrays& wanted, const Arrays& got, RunCheck& check, const Closeness& closeness) {
  for (const auto& [name, array] : wanted) {
    if (const auto other = got.find(name); other != got.end()) {
      compare_output(name, array, other->second, check, closeness);
    } else {
      fail_check(check, fmt::format("there is no output '{}'", name));
    }
  }
}

bool all_agree(const std::vector<RunCheck>& checks) {
  return std::all_of(checks.begin(), checks.end(), [](const RunCheck& check) { return check.agrees; });
}

}  // namespace thaw::confirm
