// Any text as each file of JSON that somebody else may have written: a report of sensitivity, a plan, a tokenizer's file, a config.
// One thaw::Error, or what it says; in twice the memory that there may be, at most.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "format_mutator.h"
#include "held_memory.h"
#include "memory_file.h"

#include "thaw/core/error.h"
#include "thaw/core/json_file.h"
#include "thaw/limits.h"
#include "thaw/media/text/normalize.h"
#include "thaw/model/config.h"
#include "thaw/quant/plan_file.h"
#include "thaw/sensitivity/report_file.h"

namespace {

using namespace thaw;

constexpr int64_t kBudget = 4 << 20;

void require(bool holds) {
  if (!holds) std::abort();
}

int depth_of(const nlohmann::json& value) {
  int deepest = 0;
  if (value.is_structured())
    for (const nlohmann::json& part : value) deepest = std::max(deepest, 1 + depth_of(part));
  return deepest;
}

void read(uint8_t kind, const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  switch (kind % 5) {
    case 0: {
      const nlohmann::json parsed = parse_json(text, "fuzz", {});
      require(parsed.is_object() && depth_of(parsed) <= kDeepestJson);
      break;
    }
    case 1: {
      const SensitivityReport report = measuring::parse_report(text, "fuzz");
      for (const UnitError& error : report.errors)
        require(error.unit < report.units.size() && error.precision < report.precisions.size());
      static_cast<void>(measuring::report_csv(report));
      break;
    }
    case 2: {
      ConvertOptions options;
      quantizing::read_plan(thaw_fuzz::MemoryFile(data, size).path(), options);
      static_cast<void>(quantizing::plan_text(options));
      break;
    }
    case 3:
      static_cast<void>(media::normalized(thaw_fuzz::MemoryFile(data, size).path(), "a\xCC\x8A text"));
      break;
    default:
      static_cast<void>(model::Config::parse(text, "fuzz"));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  set_limits({.max_memory = kBudget});
  const thaw_fuzz::HeldMemory held(2 * kBudget);
  try {
    read(data[0], data + 1, size - 1);
  } catch (const Error&) {
  }
  return 0;
}

THAW_MUTATES_TEXTS
