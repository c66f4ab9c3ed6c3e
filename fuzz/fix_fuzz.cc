// Any model mended: a thaw::Error, or a model that can be written and read, whose nodes run as far as inference can tell
// and in which a second fix changes nothing. The reports on it, as text, JSON, SARIF and a page, are made too.
#include <cstddef>
#include <cstdint>

#include "model_mutator.h"
#include "verbs.h"

#include "thaw/check/check.h"
#include "thaw/fix/fix.h"
#include "thaw/report/inspection.h"

namespace {

using namespace thaw;

void look_at(const ir::Model& model) {
  ir::begin_run(model);
  const report::Inspection seen = report::inspect(model, {});
  try {
    static_cast<void>(report::inspection_json(seen, {.values = true, .weights = true, .only = {}}));
    static_cast<void>(
        report::inspection_text(seen, {.values = true, .weights = true, .only = {}}, report::Style(false)));
  } catch (const Error&) {  // a weight whose bytes cannot be counted
  }
  CheckOptions options;
  for (const dim::SymbolInfo& symbol : seen.scope->symbols()) {
    if (symbol.kind != dim::SymbolKind::kInputDim) continue;
    options.sizes = symbol.name + "=1..16";
    break;
  }
  ir::begin_run(model);
  try {
    const CheckReport report = checking::check(model, options);
    static_cast<void>(to_json(report));
    static_cast<void>(to_text(report));
    static_cast<void>(to_html(report));
    static_cast<void>(to_sarif(report));
    static_cast<void>(to_github(report));
  } catch (const Error&) {  // a name of a size that the grammar of --sizes has no place for
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto model = thaw_fuzz::read_model({data, size});
  if (!model) return 0;
  look_at(*model);
  const int problems = thaw_fuzz::count_problems(*model);
  ir::begin_run(*model);
  try {
    fixing::fix(*model, {});
  } catch (const Error&) {
    return 0;
  }
  thaw_fuzz::require_sound(*model, problems);
  const std::string once = ir::serialize(*model);
  ir::begin_run(*model);
  try {
    fixing::fix(*model, {});
  } catch (const Error& error) {
    thaw_fuzz::require(error.code() == ErrorCode::kOutOfBudget, error.what());
    return 0;
  }
  thaw_fuzz::require_same(once, ir::serialize(*model), "a second fix changes nothing");
  return 0;
}

THAW_MUTATES_MODELS
