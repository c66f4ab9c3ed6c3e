#include "thaw/confirm/beside.h"

#include <optional>

#include "thaw/confirm/model_inputs.h"
#include "thaw/core/error.h"
#include "thaw/run/chosen_sizes.h"
#include "thaw/run/session.h"

namespace thaw::confirm {

Beside run_beside(const ir::Model& drawn, const FeedOptions& feeds, int points, const Runner& wanted,
                  const Runner& got) {
  Beside found;
  if (std::string reason = lacks_memory(drawn); !reason.empty()) {
    found.uncompared.push_back("nothing was compared: " + reason);
    return found;
  }
  dim::Scope scope;
  const ModelInputs known = look_at_inputs(drawn, scope);
  const run::Feeder feeder(known.inputs, scope, feeds);
  const run::SizeConditions conditions(known.conditions);
  run::ChosenSizes choice(feeder, scope, conditions, {});
  const bool is_free = choice.has_choice();
  std::string failure;
  std::optional<run::Point> point = is_free ? choice.next() : run::Point();
  while (point && static_cast<int>(found.checks.size()) < points) {
    Arrays fed, results;
    bool runs = true;
    try {
      fed = feeder.make(*point);
      results = wanted(fed);
    } catch (const run::RunTimedOut& error) {
      failure = error.what();
      break;
    } catch (const Error& error) {
      if (failure.empty()) failure = error.what();
      runs = false;
    }
    if (runs) {
      RunCheck check;
      check.name = point->sizes.empty() ? "the model's sizes" : run::describe(*point);
      note_inputs(fed, check);
      try {
        compare_outputs(results, got(fed), check);
      } catch (const Error& error) {
        fail_check(check, error.what());
      }
      found.checks.push_back(std::move(check));
    }
    if (is_free) choice.tell(runs);
    point = is_free ? choice.next() : std::nullopt;
  }
  if (found.checks.empty())
    found.uncompared.push_back("nothing was compared: the model itself does not run here: " + failure);
  return found;
}

}  // namespace thaw::confirm
