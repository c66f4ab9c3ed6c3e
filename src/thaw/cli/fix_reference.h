// `fix --reference`: which of one trace's integers are sizes, confirmed by the numbers of the true model.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "thaw/cli/options.h"
#include "thaw/cli/save_options.h"
#include "thaw/fix/fix.h"
#include "thaw/ir/graph/model.h"
#include "thaw/run/compare.h"

namespace thaw::cli {

struct ReferenceOptions {
  std::string reference;
  std::vector<std::string> at, added, cases;
  int tries = 200;
  Tolerance tolerance;
};

void add_reference_options(CLI::App& app, ReferenceOptions& options);
// Throws thaw::Error for options that mean nothing without --reference.
void check_without_reference(const ReferenceOptions& options);

// What fix does with the result.
struct FixCall {
  std::string model, output;  // output empty: a dry run
  FixOptions fix;
  ExternalPolicy external = ExternalPolicy::kKeep;
  SaveArguments saving;
  bool all = false;
  Format format = Format::kText;
};

// Thaws, prints, writes where everything is confirmed. Returns the exit code: 1 where the model is still wrong.
int fix_with_reference(const FixCall& call, const ReferenceOptions& options);

}  // namespace thaw::cli
