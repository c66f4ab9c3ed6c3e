#include "thaw/cli/limit_options.h"

#include <memory>

#include "thaw/cli/size_option.h"
#include "thaw/limits.h"

namespace thaw::cli {
namespace {

// Of one run. Long enough for what is worth waiting for, and an end to what never ends.
constexpr double kDefaultTimeout = 600;

}  // namespace

void add_limits(CLI::App& app, Runs runs) {
  const auto limits = std::make_shared<Limits>();
  limits->timeout = kDefaultTimeout;
  if (runs == Runs::kModels) {
    app.add_option("--timeout", limits->timeout,
                   "seconds that loading a model and each run of it may take (600); 0: any")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.0, 1e9));
  }
  add_size(
      app, "--max-memory", [limits](uint64_t bytes) { limits->max_memory = bytes; }, "SIZE",
      "memory that may be taken, such as 4G or 512M (what there is)");
  app.add_option("--max-visits", limits->max_visits,
                 "work that the model may cost, in nodes looked at (1,000,000, and 500 for each that it has)")
      ->type_name("N");
  app.parse_complete_callback([limits] { set_limits(*limits); });
}

}  // namespace thaw::cli
